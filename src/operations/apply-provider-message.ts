import { type Decision, type Effect, unchanged } from '../domain/checkout-state.ts';
import { type UnstartedRecords, applyProviderEvent } from '../domain/checkout.ts';
import { withReport } from '../domain/discrepancy.ts';
import {
  EVENT_CONFLICT,
  type ProviderMessage,
  hasSameContent,
  isFlagged,
  type SignalOrigin,
} from '../domain/provider-message.ts';
import { CURRENCY, type Checkout, type Instant, type Payment } from '../domain/records.ts';
import type { Provider, ProviderCallback, ProviderReport } from '../providers/provider.ts';
import { traced } from '../telemetry/tracing.ts';
import { commitDecision } from './commit-decision.ts';
import type { Deps } from './deps.ts';

export interface IncomingMessage<Callback = ProviderCallback> extends SignalOrigin {
  callback: Callback;
  /** The message verbatim. */
  body: string;
}

/** Applies a verified report on a payment once, in any order. Throws GatewayError `not_found` for an unknown session. */
export function applyProviderMessage(deps: Deps, message: IncomingMessage & { endsCheckout?: boolean }) {
  const { provider, environment, callback, endsCheckout = false, body } = message;
  const event = { ...callback, provider, environment, endsCheckout };
  const { eventId, sessionId, paymentId, status, amount, currency } = callback;
  const attributes = { 'tillway.provider': provider, 'tillway.session.id': sessionId };
  return traced(deps.tracing, { name: 'applyProviderMessage', attributes }, async () => {
    const { outcome, effects } = await applyMessage(
      deps,
      { provider, environment, eventId, sessionId, paymentId, refundId: null, status, amount, currency, body },
      (checkout, now) => applyProviderEvent(checkout, event, unforeseen(deps, checkout, provider), now),
    );
    return { outcome, queued: effects.some(({ type }) => type === 'announce') };
  });
}

/** Applies a provider's answer to an inquiry about a payment. */
export function applyReport(
  deps: Deps,
  { id: provider, environment }: Provider,
  payment: Payment,
  report: ProviderReport,
) {
  const { amount, currency } = report;
  const isExpectedAmount = amount === payment.amount && currency === CURRENCY;
  // The same answer is applied once; another amount is another answer.
  const eventId = `inquiry_${payment.id}_${report.status}${isExpectedAmount ? '' : `_${amount}_${currency}`}`;
  const callback = { ...report, eventId, sessionId: payment.sessionId, paymentId: payment.id };
  return applyProviderMessage(deps, { provider, environment, callback, body: JSON.stringify(report) });
}

/** Records for a report on a payment that the buyer did not start here, and for surplus money. */
function unforeseen({ routes, newId }: Deps, { session }: Checkout, provider: string): UnstartedRecords {
  const ofProvider = routes.filter(
    ({ environment, integrationId }) => environment === session.environment && integrationId === provider,
  );
  const route = ofProvider.find(({ kind }) => kind === session.preferredRoute) ?? ofProvider[0];
  const ids = { paymentId: newId('pay'), invoiceId: newId('inv'), refundId: newId('ref'), discrepancyId: newId('dis') };
  return { ...ids, route };
}

/** A verified message before its outcome is decided. */
type UndecidedMessage = Omit<ProviderMessage, 'outcome' | 'flagged' | 'received'>;

type Decide<Outcome extends string> = (
  checkout: Checkout,
  now: Instant,
) => Decision<Outcome> | Promise<Decision<Outcome>>;

/** Commits a message once, with its effects and discrepancy. Throws GatewayError `not_found` for an unknown session. */
export async function applyMessage<Outcome extends string>(
  deps: Deps,
  message: UndecidedMessage,
  decide: Decide<Outcome>,
): Promise<{ outcome: Outcome | 'duplicate' | typeof EVENT_CONFLICT; effects: Effect[] }> {
  const committed = await commitMessage(deps, message, decide);
  const isKnown = committed.outcome === 'duplicate';
  const { outcome, effects } = isKnown ? { outcome: await repeated(deps, message), effects: [] } : committed;
  const { provider, eventId, sessionId, paymentId, refundId, status } = message;
  const about = { provider, eventId, sessionId, paymentId, ...(refundId !== null && { refundId }), status, outcome };
  const name = refundId === null ? 'callback' : 'refund callback';
  if (isFlagged(outcome)) deps.log.warn(about, `${name} flagged`);
  else deps.log.info(about, name);
  return { outcome, effects };
}

function commitMessage<Outcome extends string>(deps: Deps, message: UndecidedMessage, decide: Decide<Outcome>) {
  let received: ProviderMessage;
  return commitDecision(
    deps,
    message.sessionId,
    async (checkout, now) => {
      const decision = await decide(checkout, now);
      const { outcome } = decision;
      received = { ...message, outcome, flagged: isFlagged(outcome), received: now };
      return withReport(checkout, decision, received, deps.newId);
    },
    () => [{ type: 'provider_message_received', message: received }],
  );
}

/**
 * Decides whether a message with a known event id is a duplicate or a conflict. For each session, only the first conflict is
 * stored, flagged and listed. Later ones get the same answer and are logged, so that a sender who reuses one event id cannot
 * fill the database.
 */
async function repeated(deps: Deps, message: UndecidedMessage): Promise<'duplicate' | typeof EVENT_CONFLICT> {
  const known = await deps.store.messagesOfEvent(message, message.eventId, message.sessionId);
  if (known.length === 0 || known.some((one) => hasSameContent(one, message))) return 'duplicate';
  if (known.some(({ outcome }) => outcome === EVENT_CONFLICT)) return EVENT_CONFLICT;
  await commitMessage(deps, message, (checkout) => unchanged(checkout, EVENT_CONFLICT));
  return EVENT_CONFLICT;
}
