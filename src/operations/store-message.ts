import { unchanged } from '../domain/checkout-state.ts';
import { EVENT_CONFLICT, type ProviderMessage, hasSameContent, strayDiscrepancy } from '../domain/provider-message.ts';
import type { Checkout } from '../domain/records.ts';
import type { Change } from '../store/store.ts';
import { commitDecision } from './commit-decision.ts';
import type { Deps } from './deps.ts';

/** Stores a verified message, and opens a discrepancy if the message must not change the records it names. */
export function storeMessage({ newId }: Pick<Deps, 'newId'>, message: ProviderMessage, before: Checkout): Change[] {
  const found = strayDiscrepancy(before, message);
  const sessionVersion = before.session.version;
  return [
    { type: 'provider_message_received', message },
    ...(found
      ? [{ type: 'discrepancy_opened', discrepancy: { id: newId('dis'), ...found }, sessionVersion } as const]
      : []),
  ];
}

/**
 * Decides whether a message with a known event id is a duplicate or a conflict. `repeat` is the message as a conflict would be
 * stored. For each session, only the first conflict is stored, flagged and listed. Later ones get the same answer and are
 * logged, so that a sender who reuses one event id cannot fill the database.
 */
export async function recordRepeat(deps: Deps, repeat: ProviderMessage): Promise<'duplicate' | typeof EVENT_CONFLICT> {
  const known = await deps.store.messagesOfEvent(repeat, repeat.eventId, repeat.sessionId);
  if (known.length === 0 || known.some((message) => hasSameContent(message, repeat))) return 'duplicate';
  if (known.some(({ outcome }) => outcome === EVENT_CONFLICT)) return EVENT_CONFLICT;
  await commitDecision(
    deps,
    repeat.sessionId,
    (checkout) => unchanged(checkout, EVENT_CONFLICT),
    (_decision, before) => storeMessage(deps, repeat, before),
  );
  return EVENT_CONFLICT;
}
