import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Postgres, startPostgres } from '../test/support/postgres.ts';
import type { Measured } from './support/goals.ts';
import { httpRequest, median, runLoad } from './support/load.ts';
import { type ServerProcess, cpuMsOfBackends, launchServer } from './support/process.ts';
import { sessionBody } from './support/session-body.ts';

const ROUNDS = Number(process.env['BENCH_ROUNDS'] ?? 8);
const SLICE_MS = 1000;
const WARM_UP_MS = 2000;
const CONNECTIONS = 64;

const NAMES = ['echo', 'twin', 'sqlite', 'postgres', 'postgres x2'] as const;
type Name = (typeof NAMES)[number];
/** For each measured configuration, the servers that share the load. */
type Targets = Record<Name, ServerProcess[]>;
type Slice = Awaited<ReturnType<typeof slice>>;

/**
 * Measures POST sessions on PostgreSQL, through one instance and through two instances with one database. Compares with SQLite
 * and with `echo`, a server that only parses and validates the same body. `twin` is a second echo server, which shows the noise.
 */
export async function benchmarkPostgres(): Promise<Measured[]> {
  const folder = mkdtempSync(join(tmpdir(), 'tillway-bench-'));
  await using postgres = await startPostgres();
  const servers: ServerProcess[] = [];
  const start = async (file: string, variables: Record<string, string> = {}): Promise<ServerProcess> => {
    const server = await launchServer(new URL(file, import.meta.url), variables);
    servers.push(server);
    return server;
  };
  try {
    const shared = { DATABASE_URL: postgres.url(await postgres.createDatabase()) };
    const first = await start('../src/main.ts', shared);
    return await compare(postgres, {
      echo: [await start('./support/echo-server.ts')],
      twin: [await start('./support/echo-server.ts')],
      sqlite: [await start('../src/main.ts', { DATABASE_URL: `sqlite:${join(folder, 'bench.db')}` })],
      postgres: [first],
      'postgres x2': [first, await start('../src/main.ts', shared)],
    });
  } finally {
    await Promise.all(servers.map((server) => server.stop()));
    rmSync(folder, { recursive: true, force: true });
  }
}

async function compare(postgres: Postgres, targets: Targets): Promise<Measured[]> {
  const results: Record<Name, Slice[]> = { echo: [], twin: [], sqlite: [], postgres: [], 'postgres x2': [] };
  for (const name of NAMES) await slice(postgres, targets[name], WARM_UP_MS);
  for (let round = 0; round < ROUNDS; round++) {
    const order = round % 2 === 0 ? NAMES : NAMES.toReversed();
    for (const name of order) results[name].push(await slice(postgres, targets[name], SLICE_MS));
  }
  process.stdout.write(
    `\nPOST sessions, ${CONNECTIONS} connections in all, ${ROUNDS} rounds of ${SLICE_MS} ms, alternating\n`,
  );
  for (const name of NAMES) {
    const of = (value: (slice: Slice, round: number) => number) => median(results[name].map(value));
    const columns = [
      name.padEnd(12),
      `rate / echo ${of(({ rate }, round) => rate / results.echo[round]!.rate).toFixed(2)}`,
      `rate / sqlite ${of(({ rate }, round) => rate / results.sqlite[round]!.rate).toFixed(2)}`,
      `p50 ${of(({ p50Ms }) => p50Ms).toFixed(2)} ms`,
      `p99 ${of(({ p99Ms }) => p99Ms).toFixed(2)} ms`,
      `p99 / echo ${of(({ p99Ms }, round) => p99Ms / results.echo[round]!.p99Ms).toFixed(2)}`,
      `cpu ${of(({ cpuMicros }) => cpuMicros).toFixed(0)} us/request`,
      `cpu of PostgreSQL ${of(({ databaseMicros }) => databaseMicros).toFixed(0)} us/request`,
    ];
    process.stdout.write(`  ${columns.join('  ')}\n`);
  }
  const ratioOf = (name: Name) => median(results[name].map(({ rate }, round) => rate / results.echo[round]!.rate));
  return [{ name: 'POST sessions on PostgreSQL', value: ratioOf('postgres'), twin: ratioOf('twin') }];
}

/** Puts equal load on all `servers` at the same time. The latencies are those of the slower server. */
async function slice(postgres: Postgres, servers: ServerProcess[], durationMs: number) {
  const connections = CONNECTIONS / servers.length;
  const nextRequest = () => httpRequest('POST', '/api/gateway/sessions', JSON.stringify(sessionBody()));
  const cpuOfServers = () => servers.reduce((sum, server) => sum + server.cpuMs(), 0);
  const before = { cpu: cpuOfServers(), database: cpuMsOfBackends(postgres) };
  const shares = await Promise.all(servers.map(({ port }) => runLoad({ port, connections, durationMs, nextRequest })));
  const failures = shares.reduce((sum, share) => sum + share.failures, 0);
  if (failures > 0) throw new Error(`${failures} requests failed`);
  const rate = shares.reduce((sum, share) => sum + share.rate, 0);
  const perRequest = 1000 / ((rate * durationMs) / 1000);
  return {
    rate,
    p50Ms: Math.max(...shares.map(({ p50Ms }) => p50Ms)),
    p99Ms: Math.max(...shares.map(({ p99Ms }) => p99Ms)),
    cpuMicros: (cpuOfServers() - before.cpu) * perRequest,
    databaseMicros: (cpuMsOfBackends(postgres) - before.database) * perRequest,
  };
}

if (import.meta.main) await benchmarkPostgres();
