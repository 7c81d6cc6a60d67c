import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pino } from 'pino';
import { readConfig } from '../../src/config.ts';
import { NO_DETAILS } from '../../src/domain/provider-report.ts';
import type { Payment } from '../../src/domain/records.ts';
import type { Provider, Signal } from '../../src/providers/provider.ts';
import { createRandomBytes, systemClock } from '../../src/runtime.ts';
import { startService } from '../../src/service.ts';
import { openStore } from '../../src/store/open.ts';
import { createDispatcher } from '../../src/workers/dispatcher.ts';
import { NO_RATE_LIMITS } from '../../test/support/rate-limits.ts';
import { sessionBody } from './session-body.ts';

const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
const ANY_TOTAL = '99999999';

/**
 * The service in this process, with one webhook endpoint and a provider that stores nothing in the database. The workers of the
 * service do not run by themselves, so only the methods below cause database statements.
 */
export interface BenchService extends AsyncDisposable {
  /** Creates a session; returns its id. */
  create(fields?: Record<string, unknown>): Promise<string>;
  get(path: string): Promise<void>;
  /** Starts a card payment, which the provider accepts. */
  start(sessionId: string): Promise<void>;
  /** Sends the provider callback that the session is paid; returns the id of the payment. */
  reportPaid(sessionId: string): Promise<string>;
  /** Delivers all due events; returns the number of attempts. */
  deliver(): Promise<number>;
  /** Makes a complete payment: session, page, start, callback, and the delivery of both events. */
  pay(): Promise<void>;
}

export async function startBenchService(databaseUrl: string): Promise<BenchService> {
  const receiver = await startReceiver();
  const log = pino({ level: 'warn' });
  const random = () => Math.random();
  const variables = {
    ...NO_RATE_LIMITS,
    PORT: '0',
    DATABASE_URL: databaseUrl,
    WEBHOOK_URL: receiver.url,
    WEBHOOK_SECRET: SECRET,
  };
  const service = await startService(readConfig(variables), {
    clock: systemClock,
    randomBytes: createRandomBytes(),
    log,
    openStore,
    background: false,
    onFatal(error) {
      throw error;
    },
  });
  const { deps, url } = service;
  /** Payments at the provider, by session id. */
  const charges = new Map<string, Payment>();
  deps.providers = new Map([['sandbox', createProvider(charges)]]);
  const { store, now } = deps;
  const dispatcher = createDispatcher({
    store,
    now,
    realNow: now,
    tracing: undefined,
    random,
    secretsOf: async () => [{ secret: SECRET, expiresAt: null }],
    deliverers: deps.webhooks.deliverers,
    log,
  });

  const shop: BenchService = {
    async create(fields = {}) {
      const answer = await send(
        `${url}/api/gateway/sessions`,
        'application/json',
        JSON.stringify({ ...sessionBody(), ...fields }),
      );
      return (JSON.parse(answer) as { id: string }).id;
    },
    async get(path) {
      const response = await fetch(`${url}${path}`);
      await response.text();
      if (response.status !== 200) throw new Error(`${path}: ${response.status}`);
    },
    async start(sessionId) {
      const form = `kind=card&total_card=${ANY_TOTAL}`;
      await send(`${url}/checkout/${sessionId}/pay`, 'application/x-www-form-urlencoded', form);
    },
    async reportPaid(sessionId) {
      const charge = charges.get(sessionId)!;
      await send(`${url}/api/providers/sandbox/callbacks`, 'application/json', JSON.stringify(callbackOf(charge)));
      return charge.id;
    },
    deliver: () => dispatcher.runOnce(),
    async pay() {
      const id = await shop.create();
      await shop.get(`/checkout/${id}`);
      await shop.start(id);
      await shop.deliver();
      await shop.reportPaid(id);
      await shop.deliver();
    },
    async [Symbol.asyncDispose]() {
      await dispatcher.stop(0);
      await service.stop();
      await receiver.stop();
    },
  };
  return shop;
}

async function send(url: string, type: string, body: string): Promise<string> {
  const response = await fetch(url, { method: 'POST', redirect: 'manual', headers: { 'content-type': type }, body });
  const answer = await response.text();
  if (response.status >= 400) throw new Error(`${url}: ${response.status} ${answer}`);
  return answer;
}

/** A provider that accepts every handoff and callback without checks and without database statements. */
function createProvider(charges: Map<string, Payment>): Provider {
  return {
    id: 'sandbox',
    environment: 'sandbox',
    handoff({ payment }) {
      charges.set(payment.sessionId, payment);
      const reference = `sp_${payment.id}`;
      return Promise.resolve({ outcome: 'accepted', reference, url: `https://provider.example/pay/${reference}` });
    },
    traits: { cancel: 'holds', lookup: 'own_id', refunds: 'api', costRefundable: true, resend: 'always' },
    readCallback: async (body) => ({ signals: [signalOf(JSON.parse(String(body)) as PaidCallback)], hints: [] }),
    inquire: () => Promise.resolve('unknown'),
    cancel: async () => 'cancelled',
    refund: () => Promise.resolve({ status: 'succeeded', reason: null }),
    inquireRefund: () => Promise.resolve(undefined),
    check: async () => ({ ready: true, findings: [] }),
  };
}

type PaidCallback = ReturnType<typeof callbackOf>;

/** A paid callback, about as long as a callback of the simulated provider. */
function callbackOf({ id: paymentId, sessionId, amount }: Payment) {
  return {
    status: 'paid',
    amount,
    currency: 'USD',
    txHash: `tx_${paymentId}`,
    eventId: `ev_${paymentId}`,
    sessionId,
    paymentId,
  };
}

function signalOf({
  eventId,
  sessionId,
  paymentId,
  amount,
  currency,
  txHash,
}: PaidCallback): Signal & { eventId: string } {
  const received = { units: BigInt(amount), currency, exponent: 2, excludesBuyerFee: true };
  const report = { ...NO_DETAILS, state: 'paid', received, txHash } as const;
  return { eventId, about: 'payment', ref: { sessionId, paymentId }, report };
}

async function startReceiver(): Promise<{ url: string; stop(): Promise<void> }> {
  const server = createServer((request, response) => {
    request.resume().on('end', () => response.end('ok'));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/webhooks`,
    stop() {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}
