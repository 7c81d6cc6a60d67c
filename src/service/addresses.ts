import { lookup } from 'node:dns/promises';
import type { Server } from 'node:http';
import { type AddressInfo, type Server as NetServer, createServer } from 'node:net';
import type { FastifyBaseLogger, FastifyInstance } from 'fastify';
import type { Config } from '../config.ts';

/** Where to listen, and the setting that says so. */
interface Place {
  setting: string;
  host: string;
  portSetting: string;
}

/** The names under which a service on a loopback address is called. */
export function knownHosts(config: Config, localUrl: string): ReadonlySet<string> {
  const urls = [localUrl, config.baseUrl, config.checkoutUrl].filter((url) => url !== undefined);
  return new Set(['localhost', '127.0.0.1', '[::1]', ...urls.map((url) => new URL(url).hostname)]);
}

export function hostInUrl(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}

// Below those that systems hand out: one of those could be another program's before the service listens.
const FIRST_FREE_PORT = 20_000;
const FREE_PORTS = 12_000;
const MOST_PROBES = 100;
/** Connections that may wait to be accepted. Node's 511 make the kernel drop some of a burst; they try again after 1 s. */
const BACKLOG = 4096;

/** Its port is held until just before the service listens there: another one that starts could find it free, too. */
export interface HeldPlace extends Place, AsyncDisposable {
  port: number;
}

/** Where the service is to listen, on a free port if need be: its own URLs must be known before. Throws as {@link listenAt}. */
export async function holdPlace(
  { host, port: wanted }: Pick<Config, 'host' | 'port'>,
  randomBytes: (count: number) => Uint8Array,
): Promise<HeldPlace> {
  const place = { setting: 'HOST', host, portSetting: 'PORT' };
  if (wanted !== 0) return { ...place, port: wanted, [Symbol.asyncDispose]: () => Promise.resolve() };
  let last: Error | undefined;
  for (let probes = 0; probes < MOST_PROBES; probes++) {
    const port = FIRST_FREE_PORT + (Buffer.from(randomBytes(4)).readUInt32BE() % FREE_PORTS);
    const holder = createServer((socket) => socket.destroy());
    const fault = await faultAt(holder, host, port);
    const letGo = () => new Promise<void>((resolve) => holder.close(() => resolve()));
    if (!fault) return { ...place, port, [Symbol.asyncDispose]: letGo };
    last = placeFault(place, port, fault);
    if (fault.code !== 'EADDRINUSE') throw last;
  }
  throw last!;
}

/** Why nothing can listen there; undefined where the server does now. */
function faultAt(server: NetServer, host: string, port: number): Promise<NodeJS.ErrnoException | undefined> {
  return new Promise((resolve) => {
    server.once('error', resolve);
    server.listen(port, host, () => resolve(undefined));
  });
}

/**
 * Has an app listen, at a place that is let go for it if it was held; answers its port, which is any where 0 was asked for.
 * Throws, by the name of the setting, where its host is none of this machine or its port not to be had.
 */
export async function listenAt(
  app: FastifyInstance,
  place: Place & { port: number } & Partial<AsyncDisposable>,
): Promise<number> {
  const { host, port } = place;
  try {
    const [first, ...others] = await addressesOf(host);
    await place[Symbol.asyncDispose]?.();
    await app.listen({ host: first!, port, backlog: BACKLOG });
    const { port: bound } = app.server.address() as AddressInfo;
    for (const address of others) await listenBeside(app.server, address, bound, app.log);
    return bound;
  } catch (error) {
    throw placeFault(place, port, error as Error);
  }
}

/** Of `localhost` all: programs differ in which of them they take. */
async function addressesOf(host: string): Promise<string[]> {
  if (host !== 'localhost') return [host];
  return (await lookup(host, { all: true })).map(({ address }) => address);
}

/** Has one more address lead to a server that listens. Fastify would start another for it, which none of our limits is on. */
export async function listenBeside(
  served: Server,
  address: string,
  port: number,
  log: Pick<FastifyBaseLogger, 'warn'>,
): Promise<void> {
  const door = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => served.emit('connection', socket));
  door.maxConnections = served.maxConnections;
  await new Promise<void>((resolve) => {
    door.once('error', (err) => {
      log.warn({ err, address }, 'nobody listens at this address of localhost');
      resolve();
    });
    door.listen({ port, host: address, backlog: BACKLOG }, resolve);
  });
  served.once('close', () => door.close());
}

function placeFault({ setting, host, portSetting }: Place, port: number, cause: Error & { code?: string }): Error {
  const where = `${hostInUrl(host)}:${port}`;
  if (cause.code === 'EADDRINUSE') {
    return new Error(`${portSetting} must be a port that is free: another program listens at ${where}`, { cause });
  }
  if (cause.code === 'EACCES') {
    return new Error(`${portSetting} must be a port that this user may listen on, not ${port}: ${cause.message}`, {
      cause,
    });
  }
  return new Error(`${setting} must be an address or a name of this machine, not ${host}: ${cause.message}`, { cause });
}

/** Where it listens at every address, that one opens nowhere: somebody has to say which one buyers are sent to. */
export function warnOfNoAddress(
  { host, baseUrl }: Pick<Config, 'host' | 'baseUrl'>,
  localUrl: string,
  log: Pick<FastifyBaseLogger, 'warn'>,
): void {
  const isEvery = ['0.0.0.0', '[::]'].includes(new URL(localUrl).hostname);
  if (baseUrl !== undefined || !isEvery) return;
  log.warn(`HOST=${host} is no address to open, and links say ${localUrl}: set BASE_URL to the one that others see`);
}
