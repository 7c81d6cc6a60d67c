import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker, isMainThread, parentPort, workerData } from 'node:worker_threads';
import { Pool } from 'undici';
import { renderEvent } from '../src/contract/event-contract.ts';
import { newSession } from '../src/domain/checkout-state.ts';
import { splitFees } from '../src/domain/fees.ts';
import { createIdSource } from '../src/domain/id.ts';
import { systemClock } from '../src/runtime.ts';
import { openSqlite } from '../src/store/sqlite.ts';
import type { Change, Store } from '../src/store/store.ts';
import { type WebhookEndpoint, newEndpoint } from '../src/domain/webhook-endpoint.ts';
import type { MerchantEvent } from '../src/store/webhooks-port.ts';
import { createResolve } from '../src/webhooks/address.ts';
import { createDeliverers } from '../src/webhooks/deliver.ts';
import { createDispatcher } from '../src/workers/dispatcher.ts';
import { deliveryHeaders } from '../src/webhooks/sign.ts';

const ROUNDS = 5;
const EVENTS = 4000;
const WARM_UP = 2000;
/** Limit of the dispatcher for concurrent attempts to one endpoint. */
const CONCURRENCY = 32;
const RECEIVER = 'webhook receiver';
const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;

/**
 * Measures the deliveries per second of the dispatcher, with durable claims and outcomes in SQLite, against a loop that signs and
 * posts the same bodies to the same receiver with the same concurrency. The rounds of both alternate.
 */
export async function benchmarkWebhooks(): Promise<void> {
  const receiver = new Worker(new URL(import.meta.url), { workerData: RECEIVER });
  const [port]: number[] = await once(receiver, 'message');
  const directory = mkdtempSync(join(tmpdir(), 'tillway-bench-'));
  const store = await openSqlite({
    path: join(directory, 'bench.db'),
    clock: systemClock,
    log: { info: () => undefined, warn: () => undefined },
    onFatal: (error) => {
      throw error;
    },
  });
  try {
    await compare(store, `http://127.0.0.1:${port}/hook`);
  } finally {
    await store.close();
    rmSync(directory, { recursive: true });
    await receiver.terminate();
  }
}

async function compare(store: Store, url: string): Promise<void> {
  const newId = createIdSource(Date.now, randomBytes);
  const endpoint = newEndpoint({ id: newId('whe'), environment: 'sandbox', url, created: Date.now() });
  await store.commit([{ type: 'endpoint_saved', endpoint }]);
  const dispatcher = createDispatcher({
    store,
    now: Date.now,
    realNow: Date.now,
    tracing: undefined,
    random: Math.random,
    secretsOf: async () => [{ secret: SECRET, expiresAt: null }],
    deliverers: createDeliverers({ targets: 'loopback', resolve: createResolve(), now: Date.now }),
    log: { info: () => undefined, warn: report, error: report },
  });
  const pool = new Pool(new URL(url).origin, { connections: CONCURRENCY, pipelining: 1 });
  const dispatch = async (count: number) => {
    await preload(store, endpoint, count, newId);
    return timed(count, async () => {
      const attempts = await dispatcher.runOnce();
      if (attempts !== count) throw new Error(`${attempts} attempts for ${count} events`);
    });
  };
  const bare = (count: number) => {
    const { event } = sessionWithEvent(endpoint, newId);
    return timed(count, () => bareLoop(pool, event, count));
  };

  await bare(WARM_UP);
  await dispatch(WARM_UP);
  const ratios: number[] = [];
  for (let round = 1; round <= ROUNDS; round++) {
    const baseline = await bare(EVENTS);
    const rate = await dispatch(EVENTS);
    ratios.push(rate / baseline);
    print(`round ${round}: dispatcher ${rate.toFixed(0)}/s, bare loop ${baseline.toFixed(0)}/s`);
  }
  await dispatcher.stop(1000);
  await pool.close();
  const sorted = ratios.toSorted((a, b) => a - b);
  const [lowest, median, highest] = [sorted[0]!, sorted[Math.floor(ROUNDS / 2)]!, sorted.at(-1)!];
  print(
    `webhooks: ratio ${median.toFixed(2)} to a bare loop of signed POSTs (${lowest.toFixed(2)} to ${highest.toFixed(2)}, ${ROUNDS} rounds)`,
  );
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

function report(fields: object, message: string): void {
  print(`${message} ${JSON.stringify(fields)}`);
}

async function timed(count: number, work: () => Promise<void>): Promise<number> {
  const began = performance.now();
  await work();
  return (count * 1000) / (performance.now() - began);
}

async function bareLoop(pool: Pool, { id, body }: MerchantEvent, count: number): Promise<void> {
  let left = count;
  async function lane(): Promise<void> {
    while (left-- > 0) {
      const timestamp = Math.floor(Date.now() / 1000);
      const headers = deliveryHeaders({ eventId: id, body, timestamp, secrets: [SECRET] });
      const answer = await pool.request({ path: '/hook', method: 'POST', headers, body });
      await answer.body.dump();
    }
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, lane));
}

async function preload(
  store: Store,
  endpoint: WebhookEndpoint,
  count: number,
  newId: ReturnType<typeof createIdSource>,
): Promise<void> {
  const sessions = Array.from({ length: count }, () => sessionWithEvent(endpoint, newId));
  const results = await Promise.all(sessions.map(({ changes }) => store.commit(changes)));
  if (results.some(({ done }) => !done)) throw new Error('events could not be preloaded');
}

function sessionWithEvent(
  endpoint: WebhookEndpoint,
  newId: ReturnType<typeof createIdSource>,
): { changes: Change[]; event: MerchantEvent } {
  const { environment } = endpoint;
  const now = Date.now();
  const customer = { id: newId('cus'), environment, email: `${newId('cus')}@example.com`, created: now };
  const session = newSession({
    id: newId('chk'),
    environment,
    product: 'Ticket',
    amount: 10_000,
    customerId: customer.id,
    customerEmail: customer.email,
    preferredRoute: null,
    redirectUrl: null,
    metadata: { orderId: 'order_1001', campaign: 'spring' },
    clientReferenceId: null,
    idempotencyKey: null,
    requestHash: null,
    offerJson: '{}',
    created: now,
    expiresAt: now + 86_400_000,
  });
  const rendered = renderEvent({
    sessionId: session.id,
    customerId: customer.id,
    status: 'paid',
    livemode: false,
    amount: session.amount,
    fees: splitFees(session.amount, { buyerFeeRate: 0, gatewayFeeRate: 29_000 }),
    route: {
      id: 'sandbox_card_acquirer',
      kind: 'card',
      label: 'Card, simulated acquirer',
      provider: 'sandbox',
      network: 'card_network',
      asset: 'USD',
    },
    txHash: null,
    metadata: session.metadata,
    created: now,
  });
  const { id, type } = rendered;
  const shared = { sessionId: session.id, environment, type, sequence: 1, created: now };
  const event: MerchantEvent = { ...shared, id, body: JSON.stringify(rendered) };
  const waiting = { status: 'pending', attempts: 0, scheduleStart: 0, dueAt: now, lastAttempt: null } as const;
  const delivery = { ...shared, ...waiting, id: newId('dlv'), eventId: id, endpointId: endpoint.id };
  return {
    event,
    changes: [
      { type: 'customer_created', customer: { ...customer, status: 'active', statusReason: null } },
      { type: 'session_created', session },
      { type: 'event_recorded', event },
      { type: 'delivery_created', delivery },
    ],
  };
}

async function receive(): Promise<void> {
  const server = createServer((request, response) => {
    request.resume().on('end', () => response.writeHead(200).end('ok'));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  parentPort!.postMessage(typeof address === 'object' ? address?.port : undefined);
}

if (!isMainThread && workerData === RECEIVER) await receive();
else if (isMainThread && import.meta.main) await benchmarkWebhooks();
