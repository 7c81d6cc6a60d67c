import { unchanged } from '../domain/checkout-state.ts';
import { EVENT_CONFLICT, type ProviderMessage, hasSameContent, strayDiscrepancy } from '../domain/provider-message.ts';
import type { Checkout } from '../domain/records.ts';
import type { Change } from '../store/store.ts';
import { commitDecision } from './commit-decision.ts';
import type { Deps } from './deps.ts';

/** Stores a verified message, and lists it for the operator if it must not change what it is about. */
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
 * Tells a duplicate from a conflict, for a message (as it is stored for a conflict) whose event id arrived before. The first other content that names a session
 * is stored, flagged and listed. Every further one is answered the same and only logged, so that a sender who repeats one event
 * id cannot fill the database.
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
