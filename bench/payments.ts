import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { type SQLInputValue, StatementSync } from 'node:sqlite';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { readConfig } from '../src/config.ts';
import { createRandomBytes, systemClock } from '../src/runtime.ts';
import { startService } from '../src/service.ts';
import { openStore } from '../src/store/open.ts';
import { startPostgres } from '../test/support/postgres.ts';
import { NO_RATE_LIMITS } from '../test/support/rate-limits.ts';
import { type Merchant, payWith, startMerchant } from './support/buyers.ts';
import type { Measured } from './support/goals.ts';
import { httpRequest, median, runLoad } from './support/load.ts';
import { cpuMsOfBackends, launchServer } from './support/process.ts';
import { sessionBody } from './support/session-body.ts';

const ROUNDS = Number(process.env['BENCH_ROUNDS'] ?? 8);
const SLICE_MS = 1000;
const WARM_UP_MS = 4000;
const ECHO_CONNECTIONS = 16;
const COUNTED = 100;

type Cost = { service: number; database: number };

/**
 * Measures the processor time of a whole payment by 16 buyers at once and by one alone, on SQLite and on PostgreSQL, in requests to
 * `echo`, a server that only parses and validates the body of a session. Counts the statements and the written bytes of a payment.
 */
export async function benchmarkPayments(): Promise<Measured[]> {
  const folder = mkdtempSync(join(tmpdir(), 'tillway-bench-'));
  await using merchant = await startMerchant();
  await using postgres = await startPostgres();
  const variables = { WEBHOOK_URL: merchant.url, WEBHOOK_SECRET: merchant.secret };
  const serve = (url: string) =>
    launchServer(new URL('../src/main.ts', import.meta.url), { ...variables, DATABASE_URL: url });
  const sqlite = await serve(`sqlite:${join(folder, 'bench.db')}`);
  const onPostgres = await serve(postgres.url(await postgres.createDatabase()));
  const echo = await launchServer(new URL('./support/echo-server.ts', import.meta.url), {});
  const twin = await launchServer(new URL('./support/echo-server.ts', import.meta.url), {});
  const measured: Measured[] = [];

  async function costOf(server: typeof sqlite, buyers: number, durationMs: number): Promise<Cost> {
    const isPostgres = server === onPostgres;
    const before = { service: server.cpuMs(), database: isPostgres ? cpuMsOfBackends(postgres) : 0 };
    const end = performance.now() + durationMs;
    const payments = await payWith(buyers, server, merchant, () => performance.now() > end);
    const database = isPostgres ? (cpuMsOfBackends(postgres) - before.database) / payments : 0;
    return { service: (server.cpuMs() - before.service) / payments, database };
  }

  async function costOfBare(bare: typeof echo, durationMs: number): Promise<number> {
    const before = bare.cpuMs();
    const nextRequest = () => httpRequest('POST', '/api/gateway/sessions', JSON.stringify(sessionBody()));
    const { rate } = await runLoad({ port: bare.port, connections: ECHO_CONNECTIONS, durationMs, nextRequest });
    return (bare.cpuMs() - before) / ((rate * durationMs) / 1000);
  }

  try {
    for (const bare of [echo, twin]) await costOfBare(bare, WARM_UP_MS / 2);
    for (const server of [sqlite, onPostgres]) await costOf(server, 16, WARM_UP_MS);
    print(`\nA whole payment, ${ROUNDS} rounds of ${SLICE_MS} ms: processor time of the service in requests to echo`);
    for (const [name, server, buyers] of [
      ['SQLite, 16 buyers', sqlite, 16],
      ['SQLite, one buyer', sqlite, 1],
      ['PostgreSQL, 16 buyers', onPostgres, 16],
    ] as const) {
      const costs: Cost[] = [];
      const millis: number[] = [];
      const twins: number[] = [];
      for (let round = 0; round < ROUNDS; round++) {
        const bare = await costOfBare(echo, SLICE_MS / 2);
        twins.push((await costOfBare(twin, SLICE_MS / 2)) / bare);
        const { service, database } = await costOf(server, buyers, SLICE_MS);
        costs.push({ service: service / bare, database: database / bare });
        millis.push(service);
      }
      const [service, database] = [median(costs.map((cost) => cost.service)), median(costs.map((c) => c.database))];
      measured.push({ name: `Payment, ${name}, service`, value: service, twin: median(twins) });
      if (name === 'PostgreSQL, 16 buyers') {
        measured.push({ name: `Payment, ${name}, database`, value: database, twin: median(twins) });
      }
      print(
        `  ${name.padEnd(22)} service ${service.toFixed(0)}  database ${database.toFixed(0)}  (${median(millis).toFixed(2)} ms)`,
      );
    }
  } finally {
    await Promise.all([sqlite, onPostgres, echo, twin].map((server) => server.stop()));
    measured.push(...(await countOne(join(folder, 'counted.db'), merchant)));
    rmSync(folder, { recursive: true, force: true });
  }
  return measured;
}

/** Counts, in this process, the SELECTs, the commits and the bytes that SQLite writes for each payment of one buyer alone. */
async function countOne(path: string, merchant: Merchant): Promise<Measured[]> {
  const counts = { selects: 0, commits: 0 };
  const { all } = StatementSync.prototype;
  StatementSync.prototype.all = function counted(this: StatementSync, ...params: SQLInputValue[]) {
    counts.selects++;
    return all.apply(this, params as never);
  } as typeof all;
  const variables = {
    ...NO_RATE_LIMITS,
    PORT: '0',
    DATABASE_URL: `sqlite:${path}`,
    WEBHOOK_URL: merchant.url,
    WEBHOOK_SECRET: merchant.secret,
  };
  const service = await startService(readConfig(variables), {
    clock: systemClock,
    randomBytes: createRandomBytes(),
    log: pino({ level: 'warn' }),
    openStore: (target, options) => openStore(target, { ...options, onBatch: () => void counts.commits++ }),
    background: true,
    onFatal(error) {
      throw error;
    },
  });
  const port = Number(new URL(service.url).port);
  const pay = async (times: number) => {
    let paid = 0;
    await payWith(1, { port }, merchant, () => paid++ >= times);
  };
  await pay(COUNTED / 2);
  const before = { ...counts, bytes: bytesWritten() };
  await pay(COUNTED);
  const [selects, commits] = [(counts.selects - before.selects) / COUNTED, (counts.commits - before.commits) / COUNTED];
  const kilobytes = (bytesWritten() - before.bytes) / COUNTED / 1000;
  StatementSync.prototype.all = all;
  print(
    `  One buyer, SQLite, each payment: ${selects.toFixed(1)} SELECTs, ${commits.toFixed(1)} commits, ${kilobytes.toFixed(0)} KB written`,
  );
  await service.stop();
  return [
    { name: 'Payment, one buyer: SELECTs', value: selects },
    { name: 'Payment, one buyer: commits', value: commits },
    { name: 'Payment, one buyer: KB written', value: kilobytes },
  ];
}

function bytesWritten(): number {
  return Number(/^write_bytes: (\d+)/m.exec(readFileSync('/proc/self/io', 'utf8'))![1]);
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

if (import.meta.main) await benchmarkPayments();
