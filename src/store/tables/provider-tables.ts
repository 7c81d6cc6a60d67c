import type { Hint } from '../../domain/provider-report.ts';
import { ERASED_BODY } from '../../domain/personal-data.ts';
import type { Instant } from '../../domain/records.ts';
import type { SignalOrigin } from '../../domain/provider-message.ts';
import type { Reversal } from '../../domain/reversal.ts';
import type { Environment } from '../../domain/route.ts';
import type { Select } from '../keyset.ts';
import { createReader } from '../row-reader.ts';
import { EVENT_CONFLICT, type ProviderMessage } from '../../domain/provider-message.ts';
import { type ItemOf, defineTable, describeTable, flag, integer, text, textOf } from '../table-description.ts';
import { statement } from '../write-statement.ts';
import { textUnlessErased } from './erased-text.ts';

export const PROVIDER_MESSAGES = describeTable<ProviderMessage>('provider_inbox', {
  provider: text,
  environment: text,
  eventId: text,
  about: text,
  sessionId: text,
  paymentId: text,
  refundId: text,
  status: text,
  amount: integer,
  currency: text,
  signal: text,
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

/** Table of tasks: requests to a provider, each repeated until it succeeds or is given up. */
const PROVIDER_TASKS = defineTable('provider_tasks', {
  paymentId: text,
  kind: textOf<'cancel' | 'capture'>(),
  sessionId: text,
  status: textOf<'pending' | 'done' | 'dead'>(),
  attempts: integer,
  dueAt: integer,
  created: integer,
});
export type ProviderTask = ItemOf<typeof PROVIDER_TASKS>;
// A payment has one task per kind. A new cancellation replaces an earlier cancellation, even a completed one: the provider may
// have answered the earlier request before it had the payment. The new attempt number fences the result of the earlier request. A new
// capture replaces only a completed one: the buyer has approved the payment again after the provider declined the capture.
const insertTask = PROVIDER_TASKS.insert({
  onConflict: `ON CONFLICT (payment_id, kind) DO UPDATE SET status = 'pending', due_at = excluded.due_at, created = excluded.created,
    attempts = provider_tasks.attempts + 1
    WHERE provider_tasks.kind = 'cancel' OR provider_tasks.status = 'done'`,
});
// A capture can only be claimed while its payment is pending.
const CLAIM_TASK = `UPDATE provider_tasks SET attempts = ?3 + 1, due_at = ?4
  WHERE payment_id = ?1 AND kind = ?2 AND attempts = ?3 AND status = 'pending'
    AND (kind <> 'capture' OR EXISTS (SELECT 1 FROM payments WHERE id = ?1 AND payments.status = 'pending'))`;
const FINISH_TASK = `UPDATE provider_tasks SET status = ?4, due_at = ?5
  WHERE payment_id = ?1 AND kind = ?2 AND attempts = ?3 AND status = 'pending'`;

export const REVERSALS = describeTable<Reversal>('reversals', {
  id: text,
  paymentId: text,
  sessionId: text,
  environment: text,
  reference: text,
  status: text,
  revision: integer,
  taken: integer,
  fee: integer,
  reason: text,
  created: integer,
  updated: integer,
});
const insertReversal = REVERSALS.insert();
const updateReversal = REVERSALS.update({
  key: ['id'],
  set: ['status', 'revision', 'taken', 'fee', 'reason', 'updated'],
});
const SELECT_REVERSAL = 'SELECT * FROM reversals WHERE payment_id = ?1 AND reference = ?2';

/** Table of hints: objects of a provider about which the service must ask, as a queue with attempts and due times. */
const HINTS = defineTable('provider_inbox', {
  provider: text,
  environment: textOf<Environment>(),
  eventId: text,
  about: textOf<Hint['about']>(),
  objectId: text,
  state: textOf<'pending' | 'done' | 'dead'>(),
  attempts: integer,
  dueAt: integer,
  received: integer,
});
export type QueuedHint = ItemOf<typeof HINTS>;
const HINT_EXTRA = ['conflict', 'outcome', 'flagged', 'body'];
const insertHint = HINTS.insert({
  extra: HINT_EXTRA,
  onConflict: 'ON CONFLICT (provider, environment, event_id, conflict) DO NOTHING',
});
/** Minimum time between two questions about the same object, so that reloads of the return page do not flood the provider. */
const RENEWAL_MS = 5000;
// The new attempt number fences the result of an earlier request about the same hint.
const renewHint = HINTS.insert({
  extra: HINT_EXTRA,
  onConflict: `ON CONFLICT (provider, environment, event_id, conflict) DO UPDATE SET state = 'pending',
    attempts = provider_inbox.attempts + 1, due_at = excluded.due_at, received = excluded.received
    WHERE excluded.received - provider_inbox.received >= ${RENEWAL_MS}`,
});
const CLAIM_HINT = `UPDATE provider_inbox SET attempts = ?4 + 1, due_at = ?5
  WHERE provider = ?1 AND environment = ?2 AND event_id = ?3 AND conflict = '' AND attempts = ?4 AND state = 'pending'`;
const FINISH_HINT = `UPDATE provider_inbox SET state = ?5, due_at = ?6
  WHERE provider = ?1 AND environment = ?2 AND event_id = ?3 AND conflict = '' AND attempts = ?4 AND state = 'pending'`;
/** Finishes all hints about an object that arrived before the request: one answer of the provider covers them. */
const FINISH_SAME_HINTS = `UPDATE provider_inbox SET state = 'done'
  WHERE provider = ?1 AND environment = ?2 AND object_id = ?3 AND about = ?4 AND state = 'pending' AND received <= ?5`;
const SELECT_HINTS_DUE =
  "SELECT * FROM provider_inbox WHERE state = 'pending' AND due_at <= ?1 ORDER BY due_at LIMIT ?2";

const SELECT_MESSAGES_OF_EVENT = `SELECT * FROM provider_messages
  WHERE provider = ?1 AND environment = ?2 AND event_id = ?3 AND conflict IN ('', ?4) ORDER BY conflict`;
export const SELECT_MESSAGES_OF_SESSION =
  'SELECT * FROM provider_messages WHERE session_id = ?1 ORDER BY received, event_id, conflict';
const SELECT_TASKS_DUE =
  "SELECT * FROM provider_tasks WHERE status = 'pending' AND due_at <= ?1 ORDER BY due_at LIMIT ?2";

export const providerWrites = {
  /** Guard: the event id is new for the provider and environment. An `event_conflict` may repeat the id once per session. */
  provider_message_received: ({ message }: { message: ProviderMessage }) =>
    insertMessageRow(message, message.outcome === EVENT_CONFLICT ? message.sessionId : ''),
  /** Queues a hint. A hint with a known event id changes nothing. */
  hint_queued: ({ hint }: { hint: QueuedHint }) => insertHint(hint, '', '', 0, ''),
  /** Stores a flagged hint that causes no query. Its `conflict` separates it from a right hint with the same event id. */
  hint_flagged: ({ hint, mismatch }: { hint: QueuedHint; mismatch: string }) =>
    insertHint(hint, mismatch, mismatch, 1, ''),
  /** Queues a hint. A hint with a known event id becomes pending again, at most once in {@link RENEWAL_MS}. */
  hint_renewed: ({ hint }: { hint: QueuedHint }) => renewHint(hint, '', '', 0, ''),
  /** Begins attempt number `attempts`, with a lease until `dueAt`. Guard: no attempt has begun since the row was read. */
  hint_claimed: ({ hint: { provider, environment, eventId, attempts, dueAt } }: { hint: QueuedHint }) =>
    statement(CLAIM_HINT, [provider, environment, eventId, attempts - 1, dueAt], 'overtaken'),
  /** Ends an attempt. Guard: no later attempt has begun. If `state` is done, also finishes the object's hints until `asked`. */
  hint_finished: ({ hint, asked }: { hint: QueuedHint; asked: Instant }) => {
    const { provider, environment, eventId, attempts, state, dueAt, objectId, about } = hint;
    const finish = statement(FINISH_HINT, [provider, environment, eventId, attempts, state, dueAt], 'overtaken');
    const same = statement(FINISH_SAME_HINTS, [provider, environment, objectId, about, asked]);
    return state === 'done' ? [finish, same] : [finish];
  },
  /** `from` is the previous revision; null for a new reversal. The session's version in the change set is the guard. */
  reversal_changed: ({ reversal, from }: { reversal: Reversal; from: number | null }) =>
    from === null ? insertReversal(reversal) : updateReversal(reversal),
  task_queued: ({ task }: { task: ProviderTask }) => insertTask(task),
  /** Begins attempt number `attempts`, with a lease until `dueAt`. Guard: no attempt has begun since the row was read. */
  task_claimed: ({ task: { paymentId, kind, attempts, dueAt } }: { task: ProviderTask }) =>
    statement(CLAIM_TASK, [paymentId, kind, attempts - 1, dueAt], 'overtaken'),
  /** Ends attempt number `attempts`. Guard: no later attempt has begun. */
  task_finished: ({ task: { paymentId, kind, status, attempts, dueAt } }: { task: ProviderTask }) =>
    statement(FINISH_TASK, [paymentId, kind, attempts, status, dueAt], 'overtaken'),
};

export function createProviderReads(select: Select) {
  const { all, one } = createReader(select);
  return {
    /** Due hints, oldest due time first. */
    hintsDue: (now: Instant, limit: number) => all(HINTS.fromRow, SELECT_HINTS_DUE, now, limit),
    reversalOfReference: (paymentId: string, reference: string) =>
      one(REVERSALS.fromRow, SELECT_REVERSAL, paymentId, reference),
    tasksDue: (now: Instant, limit: number) => all(PROVIDER_TASKS.fromRow, SELECT_TASKS_DUE, now, limit),
    /** The first message with an event id, then the conflicting message of the session, if there is one. */
    messagesOfEvent: ({ provider, environment }: SignalOrigin, id: string, sessionId: string) =>
      all(PROVIDER_MESSAGES.fromRow, SELECT_MESSAGES_OF_EVENT, provider, environment, id, sessionId),
    /** Messages about the session's payments, settlements and refunds, oldest first. */
    providerMessages: (sessionId: string) => all(PROVIDER_MESSAGES.fromRow, SELECT_MESSAGES_OF_SESSION, sessionId),
  };
}
