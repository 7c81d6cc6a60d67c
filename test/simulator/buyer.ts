import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import type { RouteKind } from '../../src/domain/route.ts';
import { type StartedPayment, startPayment } from '../../src/operations/start-payment.ts';
import type { Provider } from '../../src/providers/provider.ts';
import { createSandboxProvider } from '../../src/providers/sandbox.ts';
import { type Instrument, instrumentById } from '../../src/simulator/test-instruments.ts';
import { signCallback } from '../../src/webhooks/sign.ts';
import { withClient } from '../support/database.ts';
import { type TestService, call, sessionBody } from '../support/service.ts';

/** Callback secret for callbacks that a test signs itself. */
export const SECRET = 'a-secret-of-this-test';

/** Total that the buyer accepts; it exceeds every total in the tests. */
const ANY_TOTAL = 10_000_000;

/** Creates a session through the gateway API. Returns the id of the session. */
export async function createSession({ url }: TestService, overrides: Record<string, unknown> = {}): Promise<string> {
  const answer = await call<{ id: string }>('POST', `${url}/api/gateway/sessions`, sessionBody(overrides));
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  return answer.body.id;
}

export function start({ service }: TestService, sessionId: string, kind: RouteKind): Promise<StartedPayment> {
  return startPayment(service.deps, sessionId, { kind, acceptedTotal: ANY_TOTAL });
}

/** Starts a payment; returns the URL of the provider's page. */
export async function startAt(on: TestService, sessionId: string, kind: RouteKind): Promise<string> {
  const started = await start(on, sessionId, kind);
  assert.equal(started.outcome, 'continue');
  assert(started.outcome === 'continue' && started.url !== null);
  return started.url;
}

/** Sends a form as a browser does. */
export function submit(url: string, fields: Record<string, string>, headers: Record<string, string> = {}) {
  return fetch(url, { method: 'POST', redirect: 'manual', body: new URLSearchParams(fields), headers });
}

/** Fields of the payment form that select a test instrument. */
export function fieldsOf(kind: RouteKind, { id, cardNumber }: Instrument): Record<string, string> {
  if (kind !== 'card') return { outcome: id };
  return { number: cardNumber, expiry: '12 / 34', cvc: '123', name: 'Test Buyer' };
}

/** Starts a payment and submits the form of the provider's page. The simulator sends its callbacks at the next `pass`. */
export async function attempt(on: TestService, sessionId: string, kind: RouteKind, outcome: string): Promise<string> {
  const instrument = instrumentById(outcome);
  assert(instrument);
  const page = await startAt(on, sessionId, kind);
  const answer = await submit(page, fieldsOf(kind, instrument));
  assert.equal(answer.status, 303);
  assert.equal(answer.headers.get('location'), `${on.url}/checkout/${sessionId}`);
  return page;
}

/** Summary of the state of a session. */
export async function stateOf({ service, simulator }: TestService, sessionId: string) {
  const { store } = service.deps;
  const checkout = await store.checkout(sessionId);
  assert(checkout);
  const messages = await store.providerMessages(sessionId);
  const simulated = await simulator.chargesOfSession(sessionId);
  return {
    session: checkout.session.status,
    payments: checkout.payments.map(({ status }) => status),
    invoices: checkout.invoices.map(({ status }) => status),
    failures: checkout.payments.map(({ failureCode }) => failureCode),
    ledger: checkout.payments.map(({ ledgerStatus }) => ledgerStatus),
    surplus: checkout.payments.map(({ surplus }) => surplus),
    events: (await store.eventsOfSession(sessionId)).map(({ type }) => type),
    messages: messages.map(({ outcome }) => outcome),
    flagged: messages.filter(({ flagged }) => flagged).length,
    simulated: simulated.map(({ status }) => status),
  };
}

/** Replaces methods of the simulated provider's adapter. */
export function replaceProvider({ service: { deps } }: TestService, methods: Partial<Provider>): void {
  deps.providers = new Map([['sandbox', { ...deps.providers.get('sandbox')!, ...methods }]]);
}

/** Makes a service verify callbacks with the secret SECRET. */
export function trustSecret(on: TestService): void {
  const options = { url: on.url, apiKey: '', callbackSecret: SECRET, now: on.clock.now };
  replaceProvider(on, { readCallback: createSandboxProvider(options).readCallback });
}

/** Posts a callback, signed with SECRET. */
export async function postCallback(
  { url, clock }: TestService,
  callback: object,
  provider = 'sandbox',
): Promise<{ status: number; outcome: unknown }> {
  const body = JSON.stringify({ currency: 'USD', ...callback });
  const signature = signCallback(SECRET, Math.floor(clock.now() / 1000), body);
  const headers = { 'content-type': 'application/json', 'x-provider-signature': signature };
  const response = await fetch(`${url}/api/providers/${provider}/callbacks`, { method: 'POST', body, headers });
  return { status: response.status, outcome: ((await response.json()) as { outcome?: string }).outcome };
}

/** Routing outcomes in the format of `outcomesOf`: `stage result successes/failures/neutrals`. */
export const OUTCOME = {
  accepted: 'handoff accepted 0/0/0',
  refused: 'handoff refused 0/2/0',
  paid: 'result paid 1/0/0',
  failed: 'result failed 0/1/0',
  neutral: 'result neutral 0/0/1',
};

export async function outcomesOf({ databaseUrl }: TestService, sessionId: string): Promise<string[][]> {
  const sql = `SELECT payment_id, stage, result, successes, failures, neutrals FROM route_outcomes
    WHERE payment_id IN (SELECT id FROM payments WHERE session_id = '${sessionId}')
    ORDER BY payment_id, created, CASE stage WHEN 'handoff' THEN 1 WHEN 'result' THEN 2 ELSE 3 END`;
  const rows = await rowsOf(databaseUrl, sql);
  const rowsByPayment = Map.groupBy(rows, (row) => row['payment_id']);
  return [...rowsByPayment.values()].map((paymentRows) =>
    paymentRows.map(
      ({ stage, result, successes, failures, neutrals }) =>
        `${String(stage)} ${String(result)} ${String(successes)}/${String(failures)}/${String(neutrals)}`,
    ),
  );
}

async function rowsOf(url: string, sql: string): Promise<Record<string, unknown>[]> {
  if (!url.startsWith('sqlite:')) return withClient(url, async (client) => (await client.query(sql)).rows);
  const database = new DatabaseSync(url.slice('sqlite:'.length), { readOnly: true });
  try {
    return database.prepare(sql).all();
  } finally {
    database.close();
  }
}
