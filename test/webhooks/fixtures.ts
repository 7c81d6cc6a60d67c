import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type RequestListener, createServer } from 'node:http';
import type { Server } from 'node:net';
import type { TestContext } from 'node:test';
import { newDelivery } from '../../src/domain/delivery.ts';
import { renderEvent } from '../../src/contract/event-contract.ts';
import { splitFees } from '../../src/domain/fees.ts';
import { type IdPrefix, createIdSource } from '../../src/domain/id.ts';
import type { Instant, ProviderStatus } from '../../src/domain/records.ts';
import type { Environment } from '../../src/domain/route.ts';
import type { Change, Store } from '../../src/store/store.ts';
import { type WebhookEndpoint, newEndpoint } from '../../src/domain/webhook-endpoint.ts';
import type { MerchantEvent } from '../../src/store/webhooks-port.ts';
import { type WebhookTargets, createResolve } from '../../src/webhooks/address.ts';
import { type DeliveryLimits, createDeliverers } from '../../src/webhooks/deliver.ts';
import { type Dispatcher, type DispatcherOptions, createDispatcher } from '../../src/workers/dispatcher.ts';
import { aSession } from '../fixtures/checkout-records.ts';
import { createServiceDatabase, openTestStore } from '../support/database.ts';

export const SECRET = `whsec_${Buffer.from('0123456789abcdef0123456789abcdef').toString('base64')}`;
export const START: Instant = Date.UTC(2026, 0, 1);
/** Limits that no response exceeds, even on a busy machine. */
export const PATIENT: DeliveryLimits = { connectMs: 60_000, totalMs: 60_000, bodyBytes: 16 * 1024 };
/** Limits for tests of timeouts. */
export const SHORT_LIMITS: DeliveryLimits = { ...PATIENT, connectMs: 400, totalMs: 400 };
export const SILENT = { info() {}, warn() {}, error() {} };

/** A clock whose time the test sets. */
export interface TestClock {
  time: Instant;
  now: () => Instant;
}

export function testClock(): TestClock {
  const clock: TestClock = { time: START, now: () => clock.time };
  return clock;
}

let ids = 0;
export function newId(prefix: IdPrefix): string {
  return createIdSource(() => START + ids++, randomBytes)(prefix);
}

export async function openStore(context: TestContext): Promise<Store> {
  const database = await createServiceDatabase();
  const store = await openTestStore(database.settings);
  context.after(async () => {
    await store.close();
    await database[Symbol.asyncDispose]();
  });
  return store;
}

export async function addEndpoint(
  store: Store,
  url: string,
  fields: { environment?: Environment; status?: WebhookEndpoint['status'] } = {},
): Promise<WebhookEndpoint> {
  const { environment = 'sandbox', status = 'active' } = fields;
  const endpoint = newEndpoint({ id: newId('whe'), environment, url, status, created: START });
  await store.commit([{ type: 'endpoint_saved', endpoint }]);
  return endpoint;
}

/** Changes for a new session with an event for each status, and a due delivery of each event to each endpoint. */
export function sessionWithEvents(
  endpoints: readonly WebhookEndpoint[],
  statuses: readonly ProviderStatus[] = ['paid'],
  due: Instant = START,
): { changes: Change[]; events: MerchantEvent[] } {
  const environment = endpoints[0]?.environment ?? 'sandbox';
  const customer = { id: newId('cus'), environment, email: `${newId('cus')}@example.com`, created: START };
  const session = aSession({
    id: newId('chk'),
    environment,
    amount: 10_000,
    customerId: customer.id,
    customerEmail: customer.email,
    metadata: { order: 'Ünïcode ✓' },
    created: START,
    expiresAt: START + 1,
    wakeAt: START + 1,
  });
  const events = statuses.map((status, index): MerchantEvent => {
    const body = renderEvent({
      sessionId: session.id,
      customerId: customer.id,
      status,
      livemode: environment === 'production',
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
      created: START,
    });
    const { id, type } = body;
    const shared = { id, type, sessionId: session.id, environment, sequence: index + 1, created: START };
    return { ...shared, body: JSON.stringify(body) };
  });
  const deliveries = events.flatMap((event) =>
    endpoints.map(({ id: endpointId }): Change => {
      const delivery = newDelivery(event, { id: newId('dlv'), endpointId, now: due });
      return { type: 'delivery_created', delivery: { ...delivery, created: START } };
    }),
  );
  return {
    changes: [
      { type: 'customer_created', customer: { ...customer, status: 'active', statusReason: null } },
      { type: 'session_created', session },
      ...events.map((event): Change => ({ type: 'event_recorded', event })),
      ...deliveries,
    ],
    events,
  };
}

/** Commits a session with events. Returns the events. */
export async function addSession(
  store: Store,
  endpoints: readonly WebhookEndpoint[],
  statuses: readonly ProviderStatus[] = ['paid'],
  due: Instant = START,
): Promise<MerchantEvent[]> {
  const { changes, events } = sessionWithEvents(endpoints, statuses, due);
  await store.commit(changes);
  return events;
}

type StageOptions = Partial<DispatcherOptions> & { targets?: WebhookTargets };

export function testDispatcher(
  context: TestContext,
  store: Store,
  clock: Pick<TestClock, 'now'>,
  { targets = 'loopback', ...options }: StageOptions = {},
): Dispatcher {
  const dispatcher = createDispatcher({
    store,
    now: clock.now,
    realNow: clock.now,
    tracing: undefined,
    random: () => 0.5,
    secretsOf: async () => [{ secret: SECRET, expiresAt: null }],
    deliverers: createDeliverers({ targets, resolve: createResolve(), now: clock.now, limits: PATIENT }),
    log: SILENT,
    ...options,
  });
  context.after(() => dispatcher.stop(0));
  return dispatcher;
}

type Answer = number | ((received: Received, ...args: Parameters<RequestListener>) => number | void);

/** A store with one endpoint, the receiver of the endpoint, and a dispatcher with a clock that the test sets. */
export async function stage(
  context: TestContext,
  answer: Answer = 200,
  options: StageOptions = {},
  environment: Environment = 'sandbox',
) {
  const store = await openStore(context);
  const clock = testClock();
  const merchant = await receiver(context, answer);
  const endpoint = await addEndpoint(store, merchant.url, { environment });
  return { store, clock, ...merchant, endpoint, dispatcher: testDispatcher(context, store, clock, options) };
}

/** Starts a server on a free port of the loopback address and closes it after the test. Returns the port. */
export async function listen(context: TestContext, server: Server & { closeAllConnections?(): void }): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  context.after(async () => {
    const closed = once(server, 'close');
    server.close();
    server.closeAllConnections?.();
    await closed;
  });
  const address = server.address();
  assert(typeof address === 'object' && address);
  return address.port;
}

export interface Received {
  headers: Record<string, string | string[] | undefined>;
  body: string;
  path: string;
}

/** Starts a receiver that records requests. `answer` is a status, or a function that returns a status or ends the response. */
export async function receiver(
  context: TestContext,
  answer: Answer = 200,
): Promise<{ url: string; received: Received[]; connections: () => number }> {
  const received: Received[] = [];
  let connections = 0;
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const got = { headers: request.headers, body: Buffer.concat(chunks).toString(), path: request.url ?? '' };
      received.push(got);
      const status = typeof answer === 'number' ? answer : answer(got, request, response);
      if (status !== undefined) response.writeHead(status).end();
    });
  });
  server.on('connection', () => connections++);
  const port = await listen(context, server);
  return { url: `http://127.0.0.1:${port}/hook`, received, connections: () => connections };
}
