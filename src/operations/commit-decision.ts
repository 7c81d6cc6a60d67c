import assert from 'node:assert/strict';
import { type EventFacts, renderEvent } from '../contract/event-contract.ts';
import type { Decision, Effect } from '../domain/checkout-state.ts';
import { outcomesOf } from '../domain/route-outcome.ts';
import type { Checkout, Instant, Payment } from '../domain/records.ts';
import type { WebhookEndpoint } from '../domain/webhook-endpoint.ts';
import type { Change } from '../store/store.ts';
import type { Deps } from './deps.ts';
import { changesOfEvent } from './changes-of-event.ts';
import { foundSession } from './not-found.ts';
import { retryOnConflict } from './retry-on-conflict.ts';

/** Result of a committed decision. */
export interface Committed<Outcome extends string> {
  /** `duplicate`: one of the additional changes was committed before, so nothing was written. */
  outcome: Outcome | 'duplicate';
  checkout: Checkout;
  effects: Effect[];
}

/**
 * Reads a checkout, decides, and commits the new states, postings, events and deliveries in one transaction; decides again
 * after a conflict. `subject` is the id of the session, or a checkout that the caller already has: the first decision uses it, and a
 * conflict causes a read. `along` are further changes of the same transaction. Throws GatewayError `not_found` for an unknown session.
 */
export async function commitDecision<Outcome extends string>(
  deps: Deps,
  subject: string | Checkout,
  decide: (checkout: Checkout, now: Instant) => Decision<Outcome> | Promise<Decision<Outcome>>,
  along: (decision: Decision<Outcome>) => Change[] = () => [],
): Promise<Committed<Outcome>> {
  const [sessionId, known] = typeof subject === 'string' ? [subject, undefined] : [subject.session.id, subject];
  const committed = await retryOnConflict(deps, `session ${sessionId}`, async (conflict) => {
    const isKnown = known !== undefined && conflict === undefined;
    const checkout = isKnown ? known : foundSession(await deps.store.checkout(sessionId), sessionId);
    if (conflict === 'duplicate_message' || conflict === 'overtaken') {
      const result: Committed<Outcome> = { outcome: 'duplicate', checkout, effects: [] };
      return { changes: [], result };
    }
    const now = deps.now();
    const decision = await decide(checkout, now);
    const { outcome, next, effects } = decision;
    const changes = [...along(decision), ...(await changesOf(deps, checkout, decision, now))];
    return { changes, result: { outcome, checkout: next, effects } };
  });
  for (const effect of committed.effects) {
    if (effect.type !== 'refund_requested' || effect.isForeign === true) continue;
    const { id: refundId, paymentId } = effect.refund;
    // A worker sends the refund to the provider later, outside this request. This log line connects the request id with the refund id.
    deps.log.info({ refundId, paymentId }, 'refund requested');
  }
  return committed;
}

async function changesOf(
  deps: Deps,
  before: Checkout,
  { next, effects }: Decision<string>,
  now: Instant,
): Promise<Change[]> {
  if (next === before) return [];
  const changes: Change[] = [];
  // A report that must not change the session can still open a discrepancy.
  if (next.session !== before.session)
    changes.push({ type: 'session_changed', session: next.session, before: before.session });
  const created: Change[] = [];
  for (const [payment, earlier] of differing(before.payments, next.payments)) {
    if (earlier) changes.push({ type: 'payment_changed', payment, before: earlier });
    else created.push({ type: 'payment_created', payment });
  }
  for (const [invoice, earlier] of differing(before.invoices, next.invoices)) {
    if (earlier) changes.push({ type: 'invoice_changed', invoice });
    else created.push({ type: 'invoice_created', invoice });
  }
  // New payments come after changed ones, because the database allows only one pending payment of a session.
  changes.push(...created);
  for (const [discrepancy, earlier] of differing(before.discrepancies, next.discrepancies)) {
    const version = discrepancy.version + 1;
    if (earlier) changes.push({ type: 'discrepancy_changed', discrepancy: { ...discrepancy, version } });
    else changes.push({ type: 'discrepancy_opened', discrepancy });
  }
  for (const outcome of outcomesOf(before, next, now, deps.routingMetadataKey))
    changes.push({ type: 'outcome_recorded', outcome });
  const announced = effects.filter(({ type }) => type.startsWith('announce')).length;
  // The sequence of an event is the new version of its session, so one commit can have only one event.
  assert(announced <= 1, 'a decision announces more than one event');
  const endpoints = announced > 0 ? await deps.store.endpoints() : [];
  for (const effect of effects) changes.push(...changesOfEffect(deps, next, effect, endpoints, now));
  return changes;
}

/** The new and changed records, each with its earlier state. */
function differing<Item extends { id: string }>(before: readonly Item[], next: readonly Item[]) {
  const pairs = next.map((item) => [item, before.find(({ id }) => id === item.id)] as const);
  return pairs.filter(([item, earlier]) => item !== earlier);
}

function changesOfEffect(
  deps: Deps,
  { session }: Checkout,
  effect: Effect,
  endpoints: WebhookEndpoint[],
  now: Instant,
): Change[] {
  switch (effect.type) {
    case 'post':
      return [{ type: 'ledger_posted', posting: effect.posting, environment: session.environment }];
    case 'cancel_at_provider':
    case 'capture_at_provider': {
      const paymentId = effect.payment.id;
      const kind = effect.type === 'cancel_at_provider' ? 'cancel' : 'capture';
      const task = { paymentId, kind, sessionId: session.id, attempts: 0, dueAt: now } as const;
      return [{ type: 'task_queued', task: { ...task, status: 'pending', created: now } }];
    }
    case 'refund_requested':
      return [{ type: 'refund_created', refund: effect.refund, dueAt: now }];
    case 'refund_changed':
    case 'reversal_changed':
    case 'settlement_recorded':
      return [effect];
    case 'announce':
      return announcement(deps, session, effect.payment, { status: effect.status }, endpoints, now);
    // The status in these events is `paid`, because a refunded or disputed payment stays paid.
    case 'announce_refund':
      return announcement(deps, session, effect.payment, { status: 'paid', refund: effect.refund }, endpoints, now);
    case 'announce_dispute':
      return announcement(deps, session, effect.payment, { status: 'paid', dispute: effect.reversal }, endpoints, now);
  }
}

function announcement(
  deps: Deps,
  session: Checkout['session'],
  payment: Payment,
  change: Pick<EventFacts, 'status' | 'refund' | 'dispute'>,
  endpoints: WebhookEndpoint[],
  now: Instant,
): Change[] {
  const event = renderEvent({
    sessionId: session.id,
    customerId: session.customerId,
    ...change,
    livemode: session.environment === 'production',
    amount: session.amount,
    fees: payment.fees,
    route: payment.route,
    txHash: payment.txHash,
    metadata: session.metadata,
    created: now,
  });
  const { id: sessionId, environment, version: sequence } = session;
  return changesOfEvent(deps, event, { sessionId, environment, sequence, created: now }, endpoints);
}
