import { lookup } from 'node:dns/promises';
import { type AddressInfo, type Server as NetServer, createServer } from 'node:net';
import type { FastifyInstance } from 'fastify';
import type { Config } from '../config.ts';

/** Address to listen on, with the names of the settings that define it, for error messages. */
interface ListenAddress {
  setting: string;
  host: string;
  portSetting: string;
}

/** Host names that a service on a loopback address accepts. */
export function knownHosts(config: Config, localUrl: string): ReadonlySet<string> {
  const urls = [localUrl, config.baseUrl, config.checkoutUrl, config.dashboard.url].filter((url) => url !== undefined);
  return new Set(['localhost', '127.0.0.1', '[::1]', ...urls.map((url) => new URL(url).hostname)]);
}

/** URLs of the API and of the hosted pages, without a trailing slash. */
export function urlsOf({ baseUrl, checkoutUrl }: Pick<Config, 'baseUrl' | 'checkoutUrl'>, localUrl: string) {
  const base = baseUrl ?? localUrl;
  return { base, checkout: checkoutUrl ?? base };
}

/** Host for a URL: an IPv6 address in brackets. */
export function hostInUrl(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}

// Lowest candidate for a free port. All candidates are below the range from which systems assign ports to programs, because
// another program could get such a port before the service listens.
const FIRST_FREE_PORT = 20_000;
const FREE_PORTS = 12_000;
const MOST_PROBES = 100;
/** Length of the accept queue. With Node's default of 511, the kernel drops connections of a burst; clients retry after 1 s. */
const BACKLOG = 4096;

/** Address with a reserved port. The port stays reserved until the service listens, so that no other service takes the port. */
interface ReservedAddress extends ListenAddress, AsyncDisposable {
  port: number;
}

/** Determines the port before the service listens, because URLs contain it; reserves a free port for 0. Throws like {@link listenAt}. */
export async function reservePort(
  { host, port: wanted }: Pick<Config, 'host' | 'port'>,
  randomBytes: (count: number) => Uint8Array,
): Promise<ReservedAddress> {
  const address = { setting: 'HOST', host, portSetting: 'PORT' };
  if (wanted !== 0) return { ...address, port: wanted, [Symbol.asyncDispose]: () => Promise.resolve() };
  let last: Error | undefined;
  for (let probes = 0; probes < MOST_PROBES; probes++) {
    const port = FIRST_FREE_PORT + (Buffer.from(randomBytes(4)).readUInt32BE() % FREE_PORTS);
    const holder = createServer((socket) => socket.destroy());
    const fault = await faultAt(holder, host, port);
    const release = () => new Promise<void>((resolve) => holder.close(() => resolve()));
    if (!fault) return { ...address, port, [Symbol.asyncDispose]: release };
    last = listenError(address, port, fault);
    if (fault.code !== 'EADDRINUSE') throw last;
  }
  throw last!;
}

/** Listens; resolves with the error, or with undefined when the server listens. */
function faultAt(server: NetServer, host: string, port: number): Promise<NodeJS.ErrnoException | undefined> {
  return new Promise((resolve) => {
    server.once('error', resolve);
    server.listen(port, host, () => resolve(undefined));
  });
}

/** Listens, and returns the port. If that fails, throws an error that names the setting to change. */
export async function listenAt(
  app: FastifyInstance,
  address: ListenAddress & { port: number } & Partial<AsyncDisposable>,
): Promise<number> {
  const { host, port } = address;
  try {
    const listened = await addressOf(host);
    await address[Symbol.asyncDispose]?.();
    await app.listen({ host: listened, port, backlog: BACKLOG });
    return (app.server.address() as AddressInfo).port;
  } catch (error) {
    throw listenError(address, port, error as Error);
  }
}

/** Address to listen on; for `localhost` only its first address, because Fastify starts servers for the others without our limits. */
async function addressOf(host: string): Promise<string> {
  return host === 'localhost' ? (await lookup(host)).address : host;
}

function listenError(
  { setting, host, portSetting }: ListenAddress,
  port: number,
  cause: Error & { code?: string },
): Error {
  const where = `${hostInUrl(host)}:${port}`;
  if (cause.code === 'EADDRINUSE') {
    return new Error(`${portSetting} must be a free port: another program listens at ${where}`, { cause });
  }
  return new Error(`${setting} must be an address or name of this machine, not ${host}: ${cause.message}`, {
    cause,
  });
}
