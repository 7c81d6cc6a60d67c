import { setTimeout as sleep } from 'node:timers/promises';
import { startPostgres } from '../test/support/postgres.ts';
import { type Counts, type TcpProxy, startProxy } from '../test/support/tcp-proxy.ts';
import { median } from './support/load.ts';
import { launchServer } from './support/process.ts';
import { sessionBody } from './support/session-body.ts';
import { type BenchService, startBenchService } from './support/shop.ts';

const TIMES = 40;
const CONCURRENCY = 64;
const IDLE_MS = 5000;
const SETTLE_MS = 1500;
const CLOSE_MS = 200;

/**
 * Counts the statements and round trips of each operation on the connection to PostgreSQL. The workers of the service are
 * stopped; the statements of an idle instance are counted separately.
 */
export async function benchmarkRoundTrips(): Promise<void> {
  await using postgres = await startPostgres();
  await using proxy = await startProxy(postgres.port);
  const url = postgres.url(await postgres.createDatabase(), proxy.port);
  {
    await using shop = await startBenchService(url);
    // Opens every connection of the pool and creates the buyer that most operations use.
    await Promise.all(Array.from({ length: CONCURRENCY }, () => shop.create()));
    await shop.pay();
    await countOperations(shop, proxy);
    await countConcurrent(shop, proxy);
  }
  await countIdle(url, proxy);
}

async function countOperations(shop: BenchService, proxy: TcpProxy): Promise<void> {
  print(`\nOperations, one at a time, medians of ${TIMES}`.padEnd(64), 'statements', 'round trips');
  const customer = 'buyer1@example.com';
  let id = '';
  let payment = '';
  const count = async (name: string, operation: () => Promise<unknown>, prepare?: () => Promise<unknown>) => {
    const counts: Counts[] = [];
    for (let time = 0; time < TIMES; time++) {
      await prepare?.();
      proxy.takeCounts();
      await operation();
      counts.push(proxy.takeCounts());
    }
    report(
      name,
      median(counts.map(({ statements }) => statements)),
      median(counts.map(({ roundTrips }) => roundTrips)),
    );
  };
  const created = async () => (id = await shop.create({ customer }));
  const started = async () => {
    await created();
    await shop.start(id);
  };
  let buyers = 0;
  await count('create a session, known buyer', () => shop.create({ customer }));
  await count('create a session, new buyer', () => shop.create({ customer: `new${buyers++}@example.com` }));
  const body = { ...sessionBody(), customer };
  await shop.create(body);
  await count('create the same session again with the same idempotency key', () => shop.create(body));
  await count('GET session', () => shop.get(`/api/gateway/sessions/${id}`), created);
  await count('open the checkout page', () => shop.get(`/checkout/${id}`), created);
  await count("ask for the page's live status", () => shop.get(`/checkout/${id}/status`), created);
  await count('start a payment: durable attempt, handoff, outcome', () => shop.start(id), created);
  await count('deliver one event to one endpoint', () => shop.deliver(), started);
  const reported = async () => (payment = await shop.reportPaid(id));
  await count("process the provider's callback of a paid payment", reported, async () => {
    await started();
    await shop.deliver();
  });
  await count('GET payment', () => shop.get(`/api/gateway/payments/${payment}`));
  await count('list 20 payments', () => shop.get('/api/gateway/payments?limit=20'));
  await count('a whole payment: create, page, start, callback, two events', () => shop.pay());
}

async function countConcurrent(shop: BenchService, proxy: TcpProxy): Promise<void> {
  print(`\n${CONCURRENCY} at once`.padEnd(64), 'statements', 'round trips');
  const pays = async () => {
    const ids = await Promise.all(Array.from({ length: CONCURRENCY }, () => shop.create()));
    await Promise.all(ids.map((id) => shop.start(id)));
    await shop.deliver();
    return ids;
  };
  const buyers = Array.from({ length: CONCURRENCY }, (_, index) => `buyer-at-once-${index}@example.com`);
  const createAll = () => Promise.all(buyers.map((customer) => shop.create({ customer })));
  await createAll();
  const ids = await pays();
  const steps: [string, () => Promise<unknown>][] = [
    ['create a session, known buyers', createAll],
    ["process the provider's callback of a paid payment", () => Promise.all(ids.map((id) => shop.reportPaid(id)))],
    ['deliver one event of each payment to one endpoint', () => shop.deliver()],
  ];
  for (const [name, step] of steps) {
    proxy.takeCounts();
    await step();
    const { statements, roundTrips } = proxy.takeCounts();
    report(name, statements, roundTrips);
  }
}

/** Counts the statements of a service process with all its workers and without due work. */
async function countIdle(url: string, proxy: TcpProxy): Promise<void> {
  const server = await launchServer(new URL('../src/main.ts', import.meta.url), { DATABASE_URL: url });
  await sleep(SETTLE_MS);
  proxy.takeCounts();
  await sleep(IDLE_MS);
  const { statements, roundTrips } = proxy.takeCounts();
  await server.stop();
  // The wait lets the proxy close its sockets: a socket that is reset during its close would prevent the exit of this process.
  await sleep(CLOSE_MS);
  print('\nAn idle instance'.padEnd(64), 'statements', 'round trips');
  report('each second', statements / (IDLE_MS / 1000), roundTrips / (IDLE_MS / 1000));
}

function report(name: string, statements: number, roundTrips: number): void {
  const text = (value: number) => (Number.isInteger(value) ? String(value) : value.toFixed(1));
  print(`  ${name}`.padEnd(63), text(statements).padStart(10), text(roundTrips).padStart(11));
}

function print(...columns: string[]): void {
  process.stdout.write(`${columns.join('  ')}\n`);
}

if (import.meta.main) await benchmarkRoundTrips();
