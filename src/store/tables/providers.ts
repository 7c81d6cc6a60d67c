import { ERASED_BODY } from '../../domain/personal-data.ts';
import { EVENT_CONFLICT, type ProviderMessage } from '../../domain/provider-message.ts';
import type { Row } from '../keyset.ts';
import type { ProviderTask } from '../store.ts';
import { type Write, insertSql } from '../write.ts';
import { unlessErased } from './unless-erased.ts';

const INSERT_MESSAGE = insertSql(
  'provider_messages',
  [
    'provider',
    'environment',
    'event_id',
    'conflict',
    'session_id',
    'payment_id',
    'refund_id',
    'status',
    'amount',
    'currency',
    'outcome',
    'flagged',
    'body',
    'received',
  ],
  'ON CONFLICT (provider, environment, event_id, conflict) DO NOTHING',
  { body: (place) => unlessErased('?5', place, `'${ERASED_BODY}'`) },
);
// The same thing is asked once at a time. A cancellation can be asked again after it was done, or while it is: the first
// one may have come before the provider had the payment, and what becomes of that one does not count any more.
const INSERT_TASK = insertSql(
  'provider_tasks',
  ['payment_id', 'kind', 'session_id', 'status', 'attempts', 'due_at', 'created'],
  `ON CONFLICT (payment_id, kind) DO UPDATE SET status = 'pending', due_at = excluded.due_at, attempts = provider_tasks.attempts + 1
    WHERE provider_tasks.kind = 'cancel'`,
);
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
  return {
    sql: INSERT_MESSAGE,
    params: [
      message.provider,
      message.environment,
      message.eventId,
      message.outcome === EVENT_CONFLICT ? message.sessionId : '',
      message.sessionId,
      message.paymentId,
      message.refundId,
      message.status,
      message.amount,
      message.currency,
      message.outcome,
      message.flagged ? 1 : 0,
      message.body,
      message.received,
    ],
    guard: 'duplicate_message',
  };
}

export function insertTask(task: ProviderTask): Write {
  const { paymentId, kind, sessionId, status, attempts, dueAt, created } = task;
  return { sql: INSERT_TASK, params: [paymentId, kind, sessionId, status, attempts, dueAt, created] };
}

/** Begins the attempt `task.attempts`; until `task.dueAt` nobody else does. */
export function claimTask({ paymentId, kind, attempts, dueAt }: ProviderTask): Write {
  return { sql: CLAIM_TASK, params: [paymentId, kind, attempts - 1, dueAt], guard: 'overtaken' };
}

/** Records what became of the attempt `task.attempts`. */
export function finishTask({ paymentId, kind, status, attempts, dueAt }: ProviderTask): Write {
  return { sql: FINISH_TASK, params: [paymentId, kind, attempts, status, dueAt], guard: 'overtaken' };
}

export function messageFromRow(row: Row): ProviderMessage {
  return {
    provider: row['provider'] as string,
    environment: row['environment'] as ProviderMessage['environment'],
    eventId: row['event_id'] as string,
    sessionId: row['session_id'] as string,
    paymentId: row['payment_id'] as string | null,
    refundId: row['refund_id'] as string | null,
    status: row['status'] as ProviderMessage['status'],
    amount: row['amount'] as number,
    currency: row['currency'] as string | null,
    outcome: row['outcome'] as string,
    flagged: row['flagged'] === 1,
    body: row['body'] as string,
    received: row['received'] as number,
  };
}

export function taskFromRow(row: Row): ProviderTask {
  return {
    paymentId: row['payment_id'] as string,
    kind: row['kind'] as ProviderTask['kind'],
    sessionId: row['session_id'] as string,
    status: row['status'] as ProviderTask['status'],
    attempts: row['attempts'] as number,
    dueAt: row['due_at'] as number,
    created: row['created'] as number,
  };
}
