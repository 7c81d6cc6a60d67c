import { ERASED_BODY } from '../../domain/personal-data.ts';
import { EVENT_CONFLICT, type ProviderMessage } from '../../domain/provider-message.ts';
import type { ProviderTask } from '../store.ts';
import { describeTable, flag, integer, text } from '../table-description.ts';
import type { Write } from '../write-statement.ts';
import { textUnlessErased } from './erased-text.ts';

export const PROVIDER_MESSAGES = describeTable<ProviderMessage>('provider_messages', {
  provider: text,
  environment: text,
  eventId: text,
  sessionId: text,
  paymentId: text,
  refundId: text,
  status: text,
  amount: integer,
  currency: text,
  outcome: text,
  flagged: flag,
  body: text,
  received: integer,
});
const insertMessageRow = PROVIDER_MESSAGES.insert({
  extra: ['conflict'],
  onConflict: 'ON CONFLICT (provider, environment, event_id, conflict) DO NOTHING',
  guard: 'duplicate_message',
  written: (place) => ({ body: textUnlessErased(place('session_id'), place('body'), `'${ERASED_BODY}'`) }),
});

export const PROVIDER_TASKS = describeTable<ProviderTask>('provider_tasks', {
  paymentId: text,
  kind: text,
  sessionId: text,
  status: text,
  attempts: integer,
  dueAt: integer,
  created: integer,
});
// A payment has one task of a kind. A cancellation can be requested again while an earlier one is pending or done: the provider
// may have handled the earlier one before it had the payment, and the outcome of that one no longer counts.
export const insertTask = PROVIDER_TASKS.insert({
  onConflict: `ON CONFLICT (payment_id, kind) DO UPDATE SET status = 'pending', due_at = excluded.due_at, attempts = provider_tasks.attempts + 1
    WHERE provider_tasks.kind = 'cancel'`,
});
const CLAIM_TASK = `UPDATE provider_tasks SET attempts = ?3 + 1, due_at = ?4
  WHERE payment_id = ?1 AND kind = ?2 AND attempts = ?3 AND status = 'pending'`;
const FINISH_TASK = `UPDATE provider_tasks SET status = ?4, due_at = ?5
  WHERE payment_id = ?1 AND kind = ?2 AND attempts = ?3 AND status = 'pending'`;

export const SELECT_MESSAGES_OF_EVENT = `SELECT * FROM provider_messages
  WHERE provider = ?1 AND environment = ?2 AND event_id = ?3 AND conflict IN ('', ?4) ORDER BY conflict`;
export const SELECT_MESSAGES_OF_SESSION =
  'SELECT * FROM provider_messages WHERE session_id = ?1 ORDER BY received, event_id, conflict';
export const SELECT_TASKS_DUE =
  "SELECT * FROM provider_tasks WHERE status = 'pending' AND due_at <= ?1 ORDER BY due_at LIMIT ?2";

export function insertMessage(message: ProviderMessage): Write {
  return insertMessageRow(message, message.outcome === EVENT_CONFLICT ? message.sessionId : '');
}

/** Begins the attempt `task.attempts`, under a lease until `task.dueAt`. */
export function claimTask({ paymentId, kind, attempts, dueAt }: ProviderTask): Write {
  return { sql: CLAIM_TASK, params: [paymentId, kind, attempts - 1, dueAt], guard: 'overtaken' };
}

/** Records the outcome of the attempt `task.attempts`. */
export function finishTask({ paymentId, kind, status, attempts, dueAt }: ProviderTask): Write {
  return { sql: FINISH_TASK, params: [paymentId, kind, attempts, status, dueAt], guard: 'overtaken' };
}
