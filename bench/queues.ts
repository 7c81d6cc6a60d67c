import { createRequire } from 'node:module';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { Pool as PostgresPool } from 'pg';
import { Pool } from 'undici';
import { openPostgres } from '../src/store/postgres.ts';
import { type Postgres, startPostgres } from '../test/support/postgres.ts';
import { installTools } from '../test/support/tools.ts';
import {
  CONCURRENCY,
  type Sender,
  bareLoopTo,
  dispatcherOn,
  newEvent,
  post,
  rateOf,
  startReceiver,
} from './support/deliveries.ts';
import type { Measured } from './support/goals.ts';
import { median } from './support/load.ts';

const ROUNDS = Number(process.env['BENCH_ROUNDS'] ?? 8);
const EVENTS = 3000;
const WARM_UP = 2000;
const POOL_SIZE = 10;
const GRAPHILE_CONCURRENCY = 50;
const LOOK_MS = 5;

const TOOLS = new URL('./tools/', import.meta.url);

type SentEvent = ReturnType<typeof newEvent>;

/** The parts of pg-boss and graphile-worker that this benchmark uses. They are not installed with the service. */
interface PgBossModule {
  PgBoss: new (options: { connectionString: string; max: number }) => {
    on(event: 'error', listener: (error: Error) => void): void;
    start(): Promise<unknown>;
    stop(): Promise<void>;
    createQueue(name: string): Promise<void>;
    insert(name: string, jobs: { data: SentEvent }[]): Promise<unknown>;
    work(name: string, settings: object, handle: (jobs: { data: SentEvent }[]) => Promise<void>): Promise<string>;
    offWork(name: string, options: { wait: boolean }): Promise<void>;
  };
}

interface GraphileModule {
  Logger: new (factory: () => () => void) => object;
  runMigrations(options: { pgPool: PostgresPool }): Promise<void>;
  run(options: object): Promise<{ stop(): Promise<void> }>;
}

/** Loads a module from the folder of tools. */
async function toolOf(name: string): Promise<unknown> {
  await installTools(fileURLToPath(TOOLS));
  return import(pathToFileURL(createRequire(TOOLS).resolve(name)).href);
}

/**
 * Measures the deliveries per second of the dispatcher on PostgreSQL, beside pg-boss and graphile-worker with their fast settings. Each
 * sends the same signed event to the same receiver from a database of its own on the same server, and has stored every outcome at
 * the end. The rounds alternate.
 */
export async function benchmarkQueues(): Promise<Measured[]> {
  await using receiver = await startReceiver();
  await using postgres = await startPostgres();
  const open = async () => postgres.url(await postgres.createDatabase());
  const log = { info: () => undefined, warn: () => undefined };
  const store = await openPostgres({ url: await open(), poolSize: POOL_SIZE, random: Math.random, log });
  await using bare = bareLoopTo(receiver.url);
  await using tillway = await dispatcherOn(store, receiver.url);
  await using boss = await pgBoss(await open(), receiver.url);
  await using graphile = await graphileWorker(await open(), receiver.url);
  const senders: Record<string, Sender> = { bare, twin: bare, tillway, 'pg-boss': boss, 'graphile-worker': graphile };
  const rates: Record<string, number[]> = {};
  for (const [name, sender] of Object.entries(senders)) {
    rates[name] = [];
    await rateOf(sender, WARM_UP);
  }
  for (let round = 0; round < ROUNDS; round++) {
    const entries = Object.entries(senders);
    for (const [name, sender] of round % 2 === 0 ? entries : entries.toReversed()) {
      await vacuum(postgres);
      rates[name]!.push(await rateOf(sender, EVENTS));
    }
  }
  process.stdout.write(`\nWebhook deliveries on PostgreSQL, ${ROUNDS} rounds of ${EVENTS} events, alternating\n`);
  const ratioOf = (name: string, to: string) => median(rates[name]!.map((rate, round) => rate / rates[to]![round]!));
  for (const name of ['bare', 'pg-boss', 'graphile-worker']) {
    process.stdout.write(`  ratio ${ratioOf('tillway', name).toFixed(2)} to ${name}\n`);
  }
  const twin = ratioOf('twin', 'bare');
  return [
    { name: 'Webhook deliveries, relative to graphile-worker', value: ratioOf('tillway', 'graphile-worker'), twin },
    { name: 'Webhook deliveries, relative to pg-boss', value: ratioOf('tillway', 'pg-boss'), twin },
  ];
}

/** Vacuums the databases: without that, the rate of pg-boss falls from round to round. */
async function vacuum(postgres: Postgres): Promise<void> {
  const found = await postgres.query('postgres', 'SELECT datname FROM pg_database WHERE NOT datistemplate');
  for (const { datname } of found) await postgres.query(String(datname), 'VACUUM ANALYZE');
}

function rethrow(error: Error): never {
  throw error;
}

async function pgBoss(url: string, target: string): Promise<Sender> {
  const { PgBoss } = (await toolOf('pg-boss')) as PgBossModule;
  const boss = new PgBoss({ connectionString: url, max: POOL_SIZE });
  boss.on('error', rethrow);
  await boss.start();
  const pool = new Pool(new URL(target).origin, { connections: CONCURRENCY, pipelining: 1 });
  const queue = 'deliveries';
  await boss.createQueue(queue);
  const settings = { batchSize: 50, pollingIntervalSeconds: 0.5, burstWhenBatchFull: true };
  return {
    async prepare(count) {
      const event = newEvent();
      await boss.insert(
        queue,
        Array.from({ length: count }, () => ({ data: event })),
      );
    },
    async send(count) {
      let sent = 0;
      await boss.work(queue, settings, async (jobs) => {
        await Promise.all(jobs.map(({ data }) => post(pool, data)));
        sent += jobs.length;
      });
      while (sent < count) await sleep(LOOK_MS);
      // Waits until the outcomes of the last jobs are stored.
      await boss.offWork(queue, { wait: true });
    },
    async [Symbol.asyncDispose]() {
      await boss.stop();
      await pool.close();
    },
  };
}

async function graphileWorker(url: string, target: string): Promise<Sender> {
  const { Logger, run, runMigrations } = (await toolOf('graphile-worker')) as GraphileModule;
  const pgPool = new PostgresPool({ connectionString: url, max: GRAPHILE_CONCURRENCY });
  pgPool.on('error', rethrow);
  pgPool.on('connect', (client) => client.on('error', rethrow));
  const pool = new Pool(new URL(target).origin, { connections: CONCURRENCY, pipelining: 1 });
  await runMigrations({ pgPool });
  return {
    async prepare(count) {
      const payload = JSON.stringify(newEvent());
      await pgPool.query(
        "SELECT graphile_worker.add_job('deliver', $1::json) FROM generate_series(1, $2::int) AS job",
        [payload, count],
      );
    },
    async send(count) {
      let sent = 0;
      const runner = await run({
        pgPool,
        concurrency: GRAPHILE_CONCURRENCY,
        noHandleSignals: true,
        logger: new Logger(() => () => undefined),
        preset: { worker: { localQueue: { size: 500 }, completeJobBatchDelay: 0, failJobBatchDelay: 0 } },
        taskList: {
          async deliver(event: SentEvent) {
            await post(pool, event);
            sent++;
          },
        },
      });
      while (sent < count) await sleep(LOOK_MS);
      // Waits until the outcomes of the last jobs are stored.
      await runner.stop();
      const { rows } = await pgPool.query('SELECT 1 FROM graphile_worker._private_jobs LIMIT 1');
      if (rows.length > 0) throw new Error('graphile-worker left jobs');
    },
    async [Symbol.asyncDispose]() {
      await pool.close();
      await pgPool.end();
    },
  };
}

if (import.meta.main) await benchmarkQueues();
