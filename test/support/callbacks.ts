import assert from 'node:assert/strict';
import type { Payment } from '../../src/domain/records.ts';
import { createRefund } from '../../src/operations/refunds/create-refund.ts';
import { signCallback } from '../../src/webhooks/sign.ts';
import { type TestService, call } from './service.ts';

// Callbacks in the form of the simulated provider.

export type CallbackFields = Record<string, unknown>;

/** A callback about the state of a payment. */
export function charged({ id, sessionId, amount }: Payment, event: string, state = 'CAPTURED'): CallbackFields {
  return { event, type: 'charge.updated', order: sessionId, charge: id, state, amount };
}

/** A callback about the payout of a payment. */
export function settled({ clock }: TestService, { id, sessionId, amount }: Payment, event: string): CallbackFields {
  const created = Math.floor(clock.now() / 1000);
  return { event, type: 'charge.settled', order: sessionId, charge: id, amount, payout: 'po_1', created };
}

/** Creates a refund of 10.00. Returns a callback about the refund. */
export async function refunded(
  { service }: TestService,
  { id, sessionId }: Payment,
  event: string,
  type = 'refund.succeeded',
): Promise<CallbackFields> {
  const { refund } = await createRefund(service.deps, id, { amount: 10 });
  return { event, type, order: sessionId, refund: refund.id, amount: 1000 };
}

/** Sends a callback signed with `secret`; returns its outcome. `spaces` indents the JSON: other bytes, same content. */
export async function sendCallback(
  { url, clock }: TestService,
  fields: CallbackFields,
  { secret, provider = 'sandbox', spaces = 0 }: { secret: string; provider?: string; spaces?: number },
): Promise<string> {
  const body = JSON.stringify({ currency: 'USD', ...fields }, null, spaces);
  const headers = { 'x-provider-signature': signCallback(secret, Math.floor(clock.now() / 1000), body) };
  const answer = await call<{ outcome: string }>('POST', `${url}/api/providers/${provider}/callbacks`, body, headers);
  assert.equal(answer.status, 200);
  return answer.body.outcome;
}

/** All records of the sessions that a callback could change, as text. */
export async function recordsOf({ service }: TestService, ...sessions: string[]): Promise<string> {
  const { store } = service.deps;
  const all = sessions.map(async (sessionId) => {
    const { discrepancies: _listed, ...checkout } = (await store.checkout(sessionId))!;
    return [
      checkout,
      (await store.listRefunds({ sessionId }, { limit: 100 })).items,
      await Promise.all(checkout.payments.map(({ id }) => store.ledgerOfPayment(id))),
      await Promise.all(checkout.payments.map(({ id }) => store.settlement(id))),
      await store.eventsOfSession(sessionId),
      await store.deliveriesOfSession(sessionId),
    ];
  });
  return JSON.stringify(await Promise.all(all));
}
