import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { type FilledSale, fillSales } from './support/fill-sales.ts';
import { httpRequest, median, runLoad } from './support/load.ts';
import { type ServerProcess, launchServer } from './support/process.ts';
import { sessionBody } from './support/session-body.ts';

const SMALL = 10_000;
const LARGE = Number(process.env['BENCH_ROWS'] ?? 1_000_000);
const ROUNDS = 8;
const SLICE_MS = 500;
const WARM_UP_MS = 500;
const CATCH_UP_POLL_MS = 1000;
/** After the workers have caught up, the writer still copies its log into the file. */
const SETTLE_MS = 15_000;
/** The workers' cursors: the pages show only the last rows as not counted, and a search also reads the last rows without terms. */
const IS_SUMMED = `SELECT COUNT(*) = 2 AS done FROM sales_cursors
  WHERE until > (SELECT created FROM sessions ORDER BY id DESC LIMIT 1) - CASE name WHEN 'days' THEN 86400000 * 2 ELSE 0 END`;
const IS_INDEXED = `SELECT COUNT(*) = 2 AS done FROM search_cursors WHERE position =
  CASE source WHEN 'sessions' THEN (SELECT MAX(id) FROM sessions) ELSE (SELECT MAX(id) FROM payments) END`;
/** Old sales that a service counts while buyers create sessions, and the length of a measurement. */
const UNCOUNTED = 200_000;
const BUYERS_MS = 4000;
const MOST_GROWTH = 1.15;
const MOST_GROWTH_OF_OVERVIEW = 1.3;

interface MeasuredPage {
  name: string;
  /** Address below /dashboard/sandbox. */
  path(sale: FilledSale): string;
  /** Highest ratio to a bare server's page of the same size, as in docs/benchmarks.md. */
  limit: number;
  growth: number;
}

const PAGES: readonly MeasuredPage[] = [
  { name: 'search', path: ({ amount }) => `/search?q=${amount / 100}`, limit: 8, growth: MOST_GROWTH },
  { name: 'list of payments', path: () => '/payments', limit: 12, growth: MOST_GROWTH },
  { name: 'payment', path: ({ sessionId }) => `/payments/${sessionId}`, limit: 15, growth: MOST_GROWTH },
  { name: 'overview, 7 days', path: () => '?days=7', limit: 15, growth: MOST_GROWTH_OF_OVERVIEW },
  { name: 'overview, 365 days', path: () => '?days=365', limit: 40, growth: MOST_GROWTH_OF_OVERVIEW },
];

interface Filled {
  server: ServerProcess;
  sale: FilledSale;
}

/** Measures the pages of the dashboard against a bare server that sends ready-made pages of the same size, and against a small database. */
export async function benchmarkDashboard(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'tillway-bench-'));
  const servers: ServerProcess[] = [];
  try {
    const bare = await launchServer(new URL('./support/page-server.ts', import.meta.url), {});
    servers.push(bare);
    const filled: Filled[] = [];
    for (const count of [SMALL, LARGE]) {
      filled.push(await serveFilled(join(folder, `${count}.db`), count));
      servers.push(filled.at(-1)!.server);
    }
    process.stdout.write(
      `\nDashboard: ${LARGE} payments, one connection, medians of ${ROUNDS} rounds, ratio of latencies to a bare page of that size; growth from ${SMALL} payments\n`,
    );
    await sleep(SETTLE_MS);
    for (const page of PAGES) await measure(page, bare, filled[0]!, filled[1]!);
    await measureCostToBuyers(folder, filled[0]!.server);
  } finally {
    await Promise.all(servers.map((server) => server.stop()));
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Starts a service on a filled database, and waits until its workers have summed and indexed all rows. */
async function serveFilled(path: string, count: number): Promise<Filled> {
  const sale = fillSales(path, count);
  const server = await launchServer(new URL('../src/main.ts', import.meta.url), { DATABASE_URL: `sqlite:${path}` });
  const database = new DatabaseSync(path, { readOnly: true });
  const seconds = await Promise.all([IS_SUMMED, IS_INDEXED].map((sql) => secondsUntil(database, sql)));
  database.close();
  process.stdout.write(`  ${count} payments: summed in ${seconds[0]} s, indexed for the search in ${seconds[1]} s\n`);
  return { server, sale };
}

async function secondsUntil(database: DatabaseSync, sql: string): Promise<number> {
  const began = performance.now();
  while (database.prepare(sql).get()!['done'] !== 1) await sleep(CATCH_UP_POLL_MS);
  return Math.round((performance.now() - began) / 1000);
}

async function measure(page: MeasuredPage, bare: ServerProcess, small: Filled, large: Filled): Promise<void> {
  const path = ({ sale }: Filled) => `/dashboard/sandbox${page.path(sale)}`;
  const answer = await fetch(`http://127.0.0.1:${large.server.port}${path(large)}`);
  const bytes = (await answer.arrayBuffer()).byteLength;
  const ratios: number[] = [];
  const growths: number[] = [];
  for (const { server } of [small, large])
    await latency(server, path(server === small.server ? small : large), WARM_UP_MS);
  await latency(bare, `/page/${bytes}`, WARM_UP_MS);
  for (let round = 0; round < ROUNDS; round++) {
    const ours = await latency(large.server, path(large), SLICE_MS);
    const baseline = await latency(bare, `/page/${bytes}`, SLICE_MS);
    const little = await latency(small.server, path(small), SLICE_MS);
    ratios.push(ours / baseline);
    growths.push(ours / little);
  }
  process.stdout.write(
    `  ${page.name.padEnd(20)} ratio ${median(ratios).toFixed(1)} (at most ${page.limit})  growth ${median(growths).toFixed(2)} (at most ${page.growth})  ${Math.round(bytes / 1024)} KiB\n`,
  );
}

/** Measures POST sessions of a service that counts old sales, against one that has counted all. Only one of them runs at a time. */
async function measureCostToBuyers(folder: string, idle: ServerProcess): Promise<void> {
  const path = join(folder, 'uncounted.db');
  fillSales(path, UNCOUNTED);
  const busy = await launchServer(new URL('../src/main.ts', import.meta.url), { DATABASE_URL: `sqlite:${path}` });
  const nextRequest = () => httpRequest('POST', '/api/gateway/sessions', JSON.stringify(sessionBody()));
  const rate = async (server: ServerProcess, durationMs: number) => {
    server.process.kill('SIGCONT');
    const { rate, failures } = await runLoad({ port: server.port, connections: 8, durationMs, nextRequest });
    server.process.kill('SIGSTOP');
    if (failures > 0) throw new Error(`POST sessions: ${failures} requests failed`);
    return rate;
  };
  try {
    for (const server of [busy, idle]) await rate(server, BUYERS_MS);
    const ratios: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const counted = await rate(idle, BUYERS_MS);
      ratios.push((await rate(busy, BUYERS_MS)) / counted);
    }
    process.stdout.write(
      `  POST sessions while old sales are counted: ratio ${median(ratios).toFixed(2)} (at least 0.97)\n`,
    );
  } finally {
    await busy.stop();
  }
}

async function latency({ port }: ServerProcess, path: string, durationMs: number): Promise<number> {
  const request = httpRequest('GET', path);
  const { p50Ms, failures } = await runLoad({ port, connections: 1, durationMs, nextRequest: () => request });
  if (failures > 0) throw new Error(`${path}: ${failures} requests failed`);
  return p50Ms;
}

if (import.meta.main) await benchmarkDashboard();
