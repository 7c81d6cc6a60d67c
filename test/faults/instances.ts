import { settingsOf } from '../support/database.ts';
import { startReceiver } from './pair.ts';
import type { DatabaseSettings } from '../../src/store/open.ts';
import { type Program, SERVICE, freePort, startUntilReady } from '../process/program.ts';

/** One place where the service runs: at the same port in every life. */
export interface Instance {
  url: string;
  /** Whether it can be asked: no more from the moment before it is killed. */
  isUp(): boolean;
  /** How often it was killed. */
  deaths(): number;
  /** The last of what it has said. */
  lastWords(): string;
  start(): Promise<void>;
  kill(): Promise<void>;
}

/** Instances of the service over one database, and the merchant whom they tell what was paid. */
export interface Rig extends AsyncDisposable {
  settings: DatabaseSettings;
  instances: readonly Instance[];
  /** The events that the merchant has received, by id, and how often. */
  events: ReadonlyMap<string, number>;
  /** Starts one more, two minutes later: what a killed one had claimed is free to be taken up again. */
  startLater(): Promise<Instance>;
}

export interface RigOptions {
  /** The database itself. */
  databaseUrl: string;
  /** How each instance reaches it. */
  ways: readonly string[];
  /** A server with a injected fault, in place of the service. */
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

/** The way to a database through a proxy. */
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
      // One that is still about to start is not to be left behind.
      const started = await starting?.catch(() => undefined);
      up = false;
      started?.signal('SIGKILL');
      await started?.exited;
    },
  };
}
