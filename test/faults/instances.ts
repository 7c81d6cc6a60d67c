import { settingsOf } from '../support/database.ts';
import { startReceiver } from './pair.ts';
import type { DatabaseSettings } from '../../src/store/open.ts';
import { type Program, SERVICE, freePort, startUntilReady } from '../process/program.ts';

/** An instance of the service, which has the same port after each restart. */
export interface Instance {
  url: string;
  /** False from the moment before it is killed until it is ready again. */
  isUp(): boolean;
  /** Number of kills. */
  deaths(): number;
  /** The end of its output. */
  lastWords(): string;
  start(): Promise<void>;
  kill(): Promise<void>;
}

/** Instances of the service over one database, and the merchant that receives their events. */
export interface Rig extends AsyncDisposable {
  settings: DatabaseSettings;
  instances: readonly Instance[];
  /** Number of attempts that the merchant has received, by event id. */
  events: ReadonlyMap<string, number>;
  /** Starts another instance whose clock is two minutes ahead, so that the leases of killed instances have expired. */
  startLater(): Promise<Instance>;
}

export interface RigOptions {
  /** The database itself. */
  databaseUrl: string;
  /** URL of the database for each instance, such as that of a proxy. */
  ways: readonly string[];
  /** A server with an injected fault, in place of the service. */
  entry?: URL;
}

const LAST_WORDS = 1000;

const LATER = new URL('./servers/later.ts', import.meta.url);

/** Starts the instances and waits until all are ready. `await using` ends them. */
export async function startRig({ databaseUrl, ways, entry = SERVICE }: RigOptions): Promise<Rig> {
  await using stack = new AsyncDisposableStack();
  const merchant = stack.use(await startReceiver(() => 200));
  const variables = { LOG_LEVEL: 'error', ...merchant.variables };
  const prepare = async (file: URL, way: string): Promise<Instance> => {
    const instance = await createInstance(file, { ...variables, DATABASE_URL: way });
    stack.defer(() => instance.kill());
    return instance;
  };
  const instances = await Promise.all(ways.map((way) => prepare(entry, way)));
  await Promise.all(instances.map((instance) => instance.start()));
  const later = await prepare(LATER, databaseUrl);
  const owned = stack.move();
  return {
    settings: settingsOf(databaseUrl),
    instances,
    events: merchant.arrived,
    async startLater() {
      await later.start();
      return later;
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** The URL of a database through a proxy. */
export function through(proxyPort: number, databaseUrl: string): string {
  return Object.assign(new URL(databaseUrl), { port: String(proxyPort) }).href;
}

async function createInstance(file: URL, variables: Record<string, string>): Promise<Instance> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  let starting: Promise<Program> | undefined;
  let program: Program | undefined;
  let up = false;
  let deaths = 0;
  return {
    url,
    isUp: () => up,
    deaths: () => deaths,
    lastWords: () => `${program?.stdout()}${program?.stderr()}`.slice(-LAST_WORDS),
    async start() {
      starting = startUntilReady(file, { ...variables, PORT: String(port) }, url);
      program = await starting;
      up = true;
    },
    async kill() {
      up = false;
      deaths++;
      // An instance that is still starting must not be left behind.
      const started = await starting?.catch(() => undefined);
      up = false;
      started?.signal('SIGKILL');
      await started?.exited;
    },
  };
}
