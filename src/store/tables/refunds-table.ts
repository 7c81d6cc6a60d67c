import { REFUND_STATUSES, type Refund } from '../../domain/refund-record.ts';
import { ENVIRONMENTS } from '../../domain/route.ts';
import { type KeysetQuery, type Row, type Select, filterKeyset } from '../keyset.ts';
import type { DueRefund, RefundFilter, RefundReads } from '../refunds-port.ts';
import { createReader } from '../row-reader.ts';
import { describeTable, integer, named, text } from '../table-description.ts';
import type { Write } from '../write-statement.ts';

const REFUNDS = describeTable<Refund>('refunds', {
  id: text,
  paymentId: text,
  sessionId: text,
  environment: text,
  amount: integer,
  shares: {
    group: {
      merchant: named('merchant_share', integer),
      gateway: named('gateway_share', integer),
      cost: named('cost_share', integer),
    },
  },
  reason: text,
  status: text,
  failureReason: text,
  idempotencyKey: text,
  requestHash: text,
  created: integer,
  updated: integer,
});
const insert = REFUNDS.insert({
  extra: ['attempts', 'due_at'],
  onConflict: 'ON CONFLICT (environment, idempotency_key) WHERE idempotency_key IS NOT NULL DO NOTHING',
  guard: 'refund_exists',
});
const UPDATE = `UPDATE refunds SET status = ?3, failure_reason = ?4, updated = ?5, due_at = NULL
  WHERE id = ?1 AND status = ?2`;
const CLAIM = `UPDATE refunds SET attempts = ?2 + 1, due_at = ?3
  WHERE id = ?1 AND attempts = ?2 AND due_at IS NOT NULL`;
const POSTPONE = `UPDATE refunds SET due_at = ?3, unknown_since = ?4
  WHERE id = ?1 AND attempts = ?2 AND due_at IS NOT NULL`;

const SELECT_BY_KEY = 'SELECT * FROM refunds WHERE environment = ?1 AND idempotency_key = ?2';
const SELECT_DUE = 'SELECT * FROM refunds WHERE due_at IS NOT NULL AND due_at <= ?1 ORDER BY due_at LIMIT ?2';

export function insertRefund(refund: Refund, dueAt: number): Write {
  return insert(refund, 0, dueAt);
}

export function updateRefund({ id, status, failureReason, updated }: Refund, from: Refund['status']): Write {
  return { sql: UPDATE, params: [id, from, status, failureReason, updated], guard: 'version' };
}

/** Begins the attempt `attempts`, under a lease until `dueAt`. */
export function claimRefund({ refund, attempts, dueAt }: DueRefund): Write {
  return { sql: CLAIM, params: [refund.id, attempts - 1, dueAt], guard: 'overtaken' };
}

/** Ends the attempt `attempts` without an outcome. */
export function postponeRefund({ refund, attempts, dueAt, unknownSince }: DueRefund): Write {
  return { sql: POSTPONE, params: [refund.id, attempts, dueAt, unknownSince], guard: 'overtaken' };
}

export function createRefundReads(select: Select): RefundReads {
  const { one, find, all, list } = createReader(select);
  return {
    refund: (id) => find(REFUNDS, id),
    refundByIdempotencyKey: (environment, key) => one(REFUNDS.fromRow, SELECT_BY_KEY, environment, key),
    async listRefunds(filter, page) {
      if (filter.status !== undefined && !REFUND_STATUSES.some((known) => known === filter.status)) {
        return { items: [], hasMore: false };
      }
      return list(refundKeyset(filter), page, REFUNDS.fromRow);
    },
    refundsDue: (now, limit) => all(dueFromRow, SELECT_DUE, now, limit),
  };
}

/** Ranges of the indexes (payment_id, status, id), (session_id, status, id) and (environment, status, id). */
function refundKeyset({
  paymentId: payment_id,
  sessionId: session_id,
  status,
  environment,
}: RefundFilter): KeysetQuery {
  // A payment and a session are of one environment, so that their refunds of another one are none.
  const isNamed = payment_id !== undefined || session_id !== undefined;
  return filterKeyset(
    'refunds',
    { status, environment, payment_id, session_id },
    { ...(!isNamed && { environment: ENVIRONMENTS }), status: REFUND_STATUSES },
  );
}

function dueFromRow(row: Row): DueRefund {
  const [attempts, dueAt] = [row['attempts'] as number, row['due_at'] as number];
  return { refund: REFUNDS.fromRow(row), attempts, dueAt, unknownSince: row['unknown_since'] as number | null };
}
