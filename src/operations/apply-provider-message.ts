import { type ProviderEvent, type Unforeseen, applyProviderEvent } from '../domain/checkout.ts';
import type { Decision, Effect } from '../domain/checkout-state.ts';
import { type Discrepancy, amountSubject, discrepancyOf } from '../domain/discrepancy.ts';
import { EVENT_CONFLICT, type ProviderMessage, isFlagged } from '../domain/provider-message.ts';
import { accountedFor } from '../domain/receipts.ts';
import { CURRENCY, type Checkout, type Instant, type Payment } from '../domain/records.ts';
import type { Environment } from '../domain/route.ts';
import type { OriginMismatch } from '../domain/signal-origin.ts';
import type { Provider, ProviderCallback, ProviderReport } from '../providers/provider.ts';
import type { Change } from '../store/store.ts';
import { traced } from '../telemetry/tracing.ts';
import { commitDecision } from './commit-decision.ts';
import type { Deps } from './deps.ts';
import { recordRepeat, storeMessage } from './store-message.ts';

export interface IncomingMessage {
  provider: string;
  environment: Environment;
  callback: ProviderCallback;
  /** See {@link ProviderEvent.endsCheckout}. */
  endsCheckout?: boolean;
  /** As it came, for the records. */
  body: string;
}

export interface AppliedMessage {
  outcome:
    'applied' | 'ignored' | 'duplicate' | 'amount_mismatch' | OriginMismatch | 'event_conflict' | 'unknown_payment';
  /** Whether it queued a merchant event. */
  queued: boolean;
}

/**
 * Applies a provider's verified word once, whatever its order and age: the message, the new states, the ledger posting
 * and the merchant event commit together. Throws GatewayError `not_found` for an unknown session.
 */
export function applyProviderMessage(deps: Deps, message: IncomingMessage): Promise<AppliedMessage> {
  const attributes = { 'tillway.provider': message.provider, 'tillway.session.id': message.callback.sessionId };
  return traced(deps.tracing, { name: 'applyProviderMessage', attributes }, () => apply(deps, message));
}

async function apply(deps: Deps, message: IncomingMessage): Promise<AppliedMessage> {
  const { provider, environment, callback, endsCheckout = false } = message;
  const event: ProviderEvent = { ...callback, provider, environment, endsCheckout };
  const committed = await commitDecision(
    deps,
    callback.sessionId,
    (checkout, now) => applyProviderEvent(checkout, event, unforeseen(deps, checkout, provider), now),
    (decision, before) => [
      ...storeMessage(deps, messageOf(message, decision.outcome, deps.now()), before),
      ...changesOfMoney(deps, callback.eventId, event, before, decision),
    ],
  );
  const { effects } = committed;
  const outcome =
    committed.outcome === 'duplicate'
      ? await recordRepeat(deps, messageOf(message, EVENT_CONFLICT, deps.now()))
      : committed.outcome;
  const { eventId, sessionId, status } = callback;
  const flagged = isFlagged(outcome);
  deps.log[flagged ? 'warn' : 'info'](
    { provider, eventId, sessionId, status, outcome },
    flagged ? 'callback flagged' : 'callback',
  );
  return { outcome, queued: effects.some(({ type }) => type === 'announce') };
}

function messageOf(
  { provider, environment, callback, body }: IncomingMessage,
  outcome: string,
  received: Instant,
): ProviderMessage {
  const { eventId, sessionId, paymentId, status, amount, currency } = callback;
  const about = { provider, environment, eventId, sessionId, paymentId, refundId: null, status, amount, currency };
  return { ...about, outcome, flagged: isFlagged(outcome), body, received };
}

/** What the message means for the list of money that is not where it should be. */
export function changesOfMoney(
  deps: Deps,
  eventId: string,
  event: ProviderEvent,
  before: Checkout,
  { outcome, next, effects }: Decision<string>,
): Change[] {
  if (event.status !== 'paid') return [];
  const now = deps.now();
  const found = discrepancyOf(next, outcome, effects, event, eventId, now);
  const completed = outcome === 'applied' ? completedBy(before, next, effects, now) : undefined;
  return [
    ...(completed ? [completed] : []),
    ...(found ? [openedAt(before.session.version, { id: deps.newId('dis'), ...found })] : []),
  ];
}

function openedAt(sessionVersion: number, discrepancy: Discrepancy): Change {
  return { type: 'discrepancy_opened', discrepancy, sessionVersion };
}

/** Money is applied where it is the right amount: what was open of a wrong one is part of that. */
function completedBy(before: Checkout, next: Checkout, effects: readonly Effect[], at: Instant): Change | undefined {
  const booked = effects.find((effect) => effect.type === 'post');
  const paid = next.payments.find(({ id }) => id === booked?.posting.paymentId);
  if (!paid) return undefined;
  const { id: paymentId, sessionId, fees } = paid;
  const earlier = before.payments.find(({ id }) => id === paymentId);
  const completed = {
    subject: { before: earlier ? amountSubject(earlier) : paymentId, after: amountSubject(paid) },
    growth: accountedFor(paid) - (earlier ? accountedFor(earlier) : 0),
    total: fees.total,
  };
  return { type: 'amount_completed', paymentId, sessionId, completed, at };
}

/** Applies what a provider answered when it was asked about a payment. */
export function applyReport(
  deps: Deps,
  provider: Provider,
  payment: Payment,
  report: ProviderReport,
): Promise<AppliedMessage> {
  const { amount, currency } = report;
  const asAsked = amount === payment.amount && currency === CURRENCY;
  // The same answer is applied once; another amount is another answer.
  const eventId = `inquiry_${payment.id}_${report.status}${asAsked ? '' : `_${amount}_${currency}`}`;
  return applyProviderMessage(deps, {
    provider: provider.id,
    environment: provider.environment,
    callback: { ...report, eventId, sessionId: payment.sessionId, paymentId: payment.id },
    body: JSON.stringify(report),
  });
}

/** The attempt to book where a provider speaks of a payment that the buyer did not start here; and the id of a refund. */
function unforeseen(deps: Deps, { session }: Checkout, provider: string): Unforeseen {
  const ofProvider = deps.routes.filter(
    ({ environment, integrationId }) => environment === session.environment && integrationId === provider,
  );
  const preferred = ofProvider.find(({ kind }) => kind === session.preferredRoute);
  const route = preferred ?? ofProvider[0];
  return { paymentId: deps.newId('pay'), invoiceId: deps.newId('inv'), refundId: deps.newId('ref'), route };
}
