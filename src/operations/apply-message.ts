import { type Decision, type Effect, unchanged } from '../domain/checkout-state.ts';
import { withReport } from '../domain/discrepancy-reports.ts';
import { EVENT_CONFLICT, type ProviderMessage, hasSameContent, isFlagged } from '../domain/provider-message.ts';
import type { Checkout, Instant } from '../domain/records.ts';
import type { Change } from '../store/store.ts';
import { commitDecision } from './commit-decision.ts';
import type { Deps } from './deps.ts';

/** A verified message before its outcome is decided. */
export type UndecidedMessage = Omit<ProviderMessage, 'outcome' | 'flagged' | 'received'>;

export interface AppliedMessage<Outcome extends string> {
  outcome: Outcome | 'duplicate' | typeof EVENT_CONFLICT;
  effects: Effect[];
}

/**
 * Applies a verified message once: the message, its effects, a discrepancy that it leaves and `along` commit together. Throws
 * GatewayError `not_found` for an unknown session.
 */
export async function applyMessage<Outcome extends string>(
  deps: Deps,
  message: UndecidedMessage,
  decide: (checkout: Checkout, now: Instant) => Decision<Outcome> | Promise<Decision<Outcome>>,
  along: () => Change[] = () => [],
): Promise<AppliedMessage<Outcome>> {
  const committed = await commitMessage(deps, message, decide, along);
  const isKnown = committed.outcome === 'duplicate';
  const { outcome, effects } = isKnown ? { outcome: await repeated(deps, message), effects: [] } : committed;
  const { provider, eventId, sessionId, paymentId, refundId, status } = message;
  const about = { provider, eventId, sessionId, paymentId, ...(refundId !== null && { refundId }), status, outcome };
  const name = refundId === null ? 'callback' : 'refund callback';
  if (isFlagged(outcome)) deps.log.warn(about, `${name} flagged`);
  else deps.log.info(about, name);
  return { outcome, effects };
}

function commitMessage<Outcome extends string>(
  deps: Deps,
  message: UndecidedMessage,
  decide: (checkout: Checkout, now: Instant) => Decision<Outcome> | Promise<Decision<Outcome>>,
  along: () => Change[] = () => [],
) {
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
    () => [{ type: 'provider_message_received', message: received }, ...along()],
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
