import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../src/runtime.ts';
import { openSqlite } from '../src/store/sqlite.ts';
import type { Page } from '../src/store/list-page.ts';
import type { Store } from '../src/store/store.ts';
import type { PaymentFilter } from '../src/store/tables/payment-lists.ts';
import { type FilledDatabase, fillPayments } from './support/fill.ts';
import { median } from './support/load.ts';

const SMALL = 10_000;
const LARGE = Number(process.env['BENCH_ROWS'] ?? 2_000_000);
const ROUNDS = 15;
const CALLS = 40;

interface Query {
  name: string;
  filter: PaymentFilter;
  page: Page;
}

/** Measures the time to read a page of payments from a large table, relative to the same page of a small table. */
export async function benchmarkLists(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'tillway-bench-'));
  try {
    const small = await prepare(join(folder, 'small.db'), SMALL);
    const large = await prepare(join(folder, 'large.db'), LARGE);
    process.stdout.write(`\nLists: ${LARGE} payments against ${SMALL}, 20 a page, medians of ${ROUNDS} rounds\n`);
    for (const [index, query] of small.queries.entries()) {
      const times = { small: [] as number[], large: [] as number[] };
      for (let round = 0; round < ROUNDS; round++) {
        times.small.push(await time(small.store, query));
        times.large.push(await time(large.store, large.queries[index]!));
      }
      const ratio = median(times.large) / median(times.small);
      process.stdout.write(`  ${query.name.padEnd(44)} ratio ${ratio.toFixed(2)}\n`);
    }
    await small.store.close();
    await large.store.close();
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function prepare(path: string, count: number): Promise<{ store: Store; queries: Query[] }> {
  const filled = await fillPayments(path, count);
  const store = await openSqlite({
    path,
    clock: systemClock,
    log: { info: () => undefined, warn: () => undefined },
    onFatal(error) {
      throw error;
    },
  });
  return { store, queries: queriesOf(filled) };
}

function queriesOf({ bigCustomer, ordinaryCustomer, middle }: FilledDatabase): Query[] {
  const first = { limit: 20 };
  const deep = { limit: 20, startingAfter: middle };
  return [
    { name: 'first page', filter: {}, page: first },
    { name: 'deep page', filter: {}, page: deep },
    { name: 'status=pending, first page', filter: { status: 'pending' }, page: first },
    { name: 'status=pending, deep page', filter: { status: 'pending' }, page: deep },
    { name: 'environment=production, deep page', filter: { environment: 'production' }, page: deep },
    { name: 'big customer, deep page', filter: { customerId: bigCustomer }, page: deep },
    { name: 'usual customer', filter: { customerId: ordinaryCustomer }, page: first },
    {
      name: 'big customer and a status without a match',
      filter: { customerId: bigCustomer, status: 'pending' },
      page: first,
    },
  ];
}

async function time(store: Store, { filter, page }: Query): Promise<number> {
  const started = performance.now();
  for (let call = 0; call < CALLS; call++) await store.listPayments(filter, page);
  return (performance.now() - started) / CALLS;
}

if (import.meta.main) await benchmarkLists();
