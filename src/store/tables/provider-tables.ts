import { ERASED_BODY } from '../../domain/personal-data.ts';
import type { Instant } from '../../domain/records.ts';
import type { SignalOrigin } from '../../domain/provider-message.ts';
import type { Select } from '../keyset.ts';
import { createReader } from '../row-reader.ts';
import { EVENT_CONFLICT, type ProviderMessage } from '../../domain/provider-message.ts';
import { type ItemOf, defineTable, describeTable, flag, integer, text, textOf } from '../table-description.ts';
import { statement } from '../write-statement.ts';
import { textUnlessErased } from './erased-text.ts';

const PROVIDER_MESSAGES = describeTable<ProviderMessage>('provider_messages', {
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

/** A request to a provider, outside every transaction, repeated until it is done. */
const PROVIDER_TASKS = defineTable('provider_tasks', {
  paymentId: text,
  kind: textOf<'cancel'>(),
  sessionId: text,
  status: textOf<'pending' | 'done' | 'dead'>(),
  attempts: integer,
  dueAt: integer,
  created: integer,
});
export type ProviderTask = ItemOf<typeof PROVIDER_TASKS>;
// A payment has one task of a kind. A cancellation can be requested again while an earlier one is pending or done: the provider
// may have handled the earlier one before it had the payment, and the outcome of that one no longer counts.
const insertTask = PROVIDER_TASKS.insert({
  onConflict: `ON CONFLICT (payment_id, kind) DO UPDATE SET status = 'pending', due_at = excluded.due_at, attempts = provider_tasks.attempts + 1
    WHERE provider_tasks.kind = 'cancel'`,
});
const CLAIM_TASK = `UPDATE provider_tasks SET attempts = ?3 + 1, due_at = ?4
  WHERE payment_id = ?1 AND kind = ?2 AND attempts = ?3 AND status = 'pending'`;
const FINISH_TASK = `UPDATE provider_tasks SET status = ?4, due_at = ?5
  WHERE payment_id = ?1 AND kind = ?2 AND attempts = ?3 AND status = 'pending'`;

const SELECT_MESSAGES_OF_EVENT = `SELECT * FROM provider_messages
  WHERE provider = ?1 AND environment = ?2 AND event_id = ?3 AND conflict IN ('', ?4) ORDER BY conflict`;
const SELECT_MESSAGES_OF_SESSION =
  'SELECT * FROM provider_messages WHERE session_id = ?1 ORDER BY received, event_id, conflict';
const SELECT_TASKS_DUE =
  "SELECT * FROM provider_tasks WHERE status = 'pending' AND due_at <= ?1 ORDER BY due_at LIMIT ?2";

export const providerWrites = {
  /** Requires a new (provider, environment, event id), and for an `event_conflict` a new pair of that and the session. */
  provider_message_received: ({ message }: { message: ProviderMessage }) =>
    insertMessageRow(message, message.outcome === EVENT_CONFLICT ? message.sessionId : ''),
  task_queued: ({ task }: { task: ProviderTask }) => insertTask(task),
  /** Begins attempt number `attempts`, with a lease until `dueAt`. Guarded by the previous number. */
  task_claimed: ({ task: { paymentId, kind, attempts, dueAt } }: { task: ProviderTask }) =>
    statement(CLAIM_TASK, [paymentId, kind, attempts - 1, dueAt], 'overtaken'),
  /** Guarded by the number of the finished attempt. */
  task_finished: ({ task: { paymentId, kind, status, attempts, dueAt } }: { task: ProviderTask }) =>
    statement(FINISH_TASK, [paymentId, kind, attempts, status, dueAt], 'overtaken'),
};

export function createProviderReads(select: Select) {
  const { all } = createReader(select);
  return {
    tasksDue: (now: Instant, limit: number) => all(PROVIDER_TASKS.fromRow, SELECT_TASKS_DUE, now, limit),
    /** The first message of an event id, then the conflicting one that names the session, if any. */
    messagesOfEvent: ({ provider, environment }: SignalOrigin, id: string, sessionId: string) =>
      all(PROVIDER_MESSAGES.fromRow, SELECT_MESSAGES_OF_EVENT, provider, environment, id, sessionId),
    /** Messages about the session's payments, settlements and refunds, oldest first. */
    providerMessages: (sessionId: string) => all(PROVIDER_MESSAGES.fromRow, SELECT_MESSAGES_OF_SESSION, sessionId),
  };
}
