import assert from 'node:assert/strict';
import type { RouteKind } from '../../src/domain/route.ts';
import { type StartedPayment, startPayment } from '../../src/operations/start-payment.ts';
import { type Instrument, instrumentById } from '../../src/simulator/instruments.ts';
import { type TestService, call, sessionBody } from '../support/service.ts';

const ANY_TOTAL = 10_000_000;

/** Creates a session as a merchant does; answers its id. */
export async function createSession({ url }: TestService, overrides: Record<string, unknown> = {}): Promise<string> {
  const answer = await call<{ id: string }>('POST', `${url}/api/gateway/sessions`, sessionBody(overrides));
  assert.equal(answer.status, 200);
  return answer.body.id;
}

export function start({ service }: TestService, sessionId: string, kind: RouteKind): Promise<StartedPayment> {
  return startPayment(service.deps, sessionId, { kind, acceptedTotal: ANY_TOTAL });
}

/** Starts to pay; answers where the provider's page is. */
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

/** What the buyer fills in for an outcome. */
export function fieldsOf(kind: RouteKind, { id, cardNumber }: Instrument): Record<string, string> {
  if (kind !== 'card') return { outcome: id };
  return { number: cardNumber, expiry: '12 / 34', cvc: '123', name: 'Test Buyer' };
}

/** One whole attempt: start, fill in the page, press the button. Callbacks wait for `pass`. */
export async function attempt(on: TestService, sessionId: string, kind: RouteKind, outcome: string): Promise<string> {
  const instrument = instrumentById(outcome);
  assert(instrument);
  const page = await startAt(on, sessionId, kind);
  const answer = await submit(page, fieldsOf(kind, instrument));
  assert.equal(answer.status, 303);
  assert.equal(answer.headers.get('location'), `${on.url}/checkout/${sessionId}`);
  return page;
}

/** Everything that a session has come to, in short. */
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
    events: (await store.eventsOfSession(sessionId)).map(({ type }) => type),
    messages: messages.map(({ outcome }) => outcome),
    flagged: messages.filter(({ flagged }) => flagged).length,
    simulated: simulated.map(({ status }) => status),
  };
}

/** The simulated payment's reference, from its page. */
export function referenceOf(page: string): string {
  return new URL(page).pathname.split('/').at(-1)!;
}
