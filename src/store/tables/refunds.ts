import { REFUND_STATUSES, type Refund, type RefundStatus } from '../../domain/refund.ts';
import { ENVIRONMENTS } from '../../domain/route.ts';
import type { KeysetQuery, Row, Select } from '../keyset.ts';
import type { DueRefund, RefundFilter, RefundReads } from '../refunds.ts';
import type { Listed, Page } from '../page.ts';
import { createReader } from '../reader.ts';
import { type Write, insertSql } from '../write.ts';

const INSERT = insertSql(
  'refunds',
  [
    'id',
    'payment_id',
    'session_id',
    'environment',
    'amount',
    'merchant_share',
    'gateway_share',
    'cost_share',
    'reason',
    'status',
    'failure_reason',
    'idempotency_key',
    'request_hash',
    'attempts',
    'due_at',
    'created',
    'updated',
  ],
  'ON CONFLICT (environment, idempotency_key) WHERE idempotency_key IS NOT NULL DO NOTHING',
);
const UPDATE = `UPDATE refunds SET status = ?3, failure_reason = ?4, updated = ?5, due_at = NULL
  WHERE id = ?1 AND status = ?2`;
const CLAIM = `UPDATE refunds SET attempts = ?2 + 1, due_at = ?3
  WHERE id = ?1 AND attempts = ?2 AND due_at IS NOT NULL`;
const POSTPONE = `UPDATE refunds SET due_at = ?3, unknown_since = ?4
  WHERE id = ?1 AND attempts = ?2 AND due_at IS NOT NULL`;

const SELECT = 'SELECT * FROM refunds WHERE id = ?1';
const SELECT_BY_KEY = 'SELECT * FROM refunds WHERE environment = ?1 AND idempotency_key = ?2';
const SELECT_DUE = 'SELECT * FROM refunds WHERE due_at IS NOT NULL AND due_at <= ?1 ORDER BY due_at LIMIT ?2';

export function insertRefund(refund: Refund, dueAt: number): Write {
  return {
    sql: INSERT,
    params: [
      refund.id,
      refund.paymentId,
      refund.sessionId,
      refund.environment,
      refund.amount,
      refund.shares.merchant,
      refund.shares.gateway,
      refund.shares.cost,
      refund.reason,
      refund.status,
      refund.failureReason,
      refund.idempotencyKey,
      refund.requestHash,
      0,
      dueAt,
      refund.created,
      refund.updated,
    ],
    guard: 'refund_exists',
  };
}

export function updateRefund({ id, status, failureReason, updated }: Refund, from: RefundStatus): Write {
  return { sql: UPDATE, params: [id, from, status, failureReason, updated], guard: 'version' };
}

/** Begins the attempt `attempts`; until `dueAt` nobody else does. */
export function claimRefund({ refund, attempts, dueAt }: DueRefund): Write {
  return { sql: CLAIM, params: [refund.id, attempts - 1, dueAt], guard: 'overtaken' };
}

/** The attempt `attempts` has left it open. */
export function postponeRefund({ refund, attempts, dueAt, unknownSince }: DueRefund): Write {
  return { sql: POSTPONE, params: [refund.id, attempts, dueAt, unknownSince], guard: 'overtaken' };
}

export function createRefundReads(select: Select): RefundReads {
  const { one, list } = createReader(select);
  return {
    refund: (id) => one(refundFromRow, SELECT, id),
    refundByIdempotencyKey: (environment, key) => one(refundFromRow, SELECT_BY_KEY, environment, key),
    async listRefunds(filter: RefundFilter, page: Page): Promise<Listed<Refund>> {
      if (filter.status !== undefined && !REFUND_STATUSES.some((known) => known === filter.status)) {
        return { items: [], hasMore: false };
      }
      return list(refundKeyset(filter), page, refundFromRow);
    },
    refundsDue: async (now, limit) =>
      (await select(SELECT_DUE, now, limit)).map((row) => ({
        refund: refundFromRow(row),
        attempts: row['attempts'] as number,
        dueAt: row['due_at'] as number,
        unknownSince: row['unknown_since'] as number | null,
      })),
  };
}

/** Ranges of the indexes (payment_id, status, id), (session_id, status, id) and (environment, status, id). */
function refundKeyset({ paymentId, sessionId, status, environment }: RefundFilter): KeysetQuery {
  const table = 'refunds';
  const equals: KeysetQuery['equals'] = {
    ...(status !== undefined && { status }),
    ...(environment !== undefined && { environment }),
    ...(paymentId !== undefined && { payment_id: paymentId }),
    ...(sessionId !== undefined && { session_id: sessionId }),
  };
  if (Object.keys(equals).length === 0) return { table, equals, oneOf: {} };
  const isNamed = paymentId !== undefined || sessionId !== undefined;
  return {
    table,
    equals,
    oneOf: {
      // A payment and a session are of one environment: asking for another one's finds nothing.
      ...(environment === undefined && !isNamed && { environment: ENVIRONMENTS }),
      ...(status === undefined && { status: REFUND_STATUSES }),
    },
  };
}

function refundFromRow(row: Row): Refund {
  return {
    id: row['id'] as string,
    paymentId: row['payment_id'] as string,
    sessionId: row['session_id'] as string,
    environment: row['environment'] as Refund['environment'],
    amount: row['amount'] as number,
    shares: {
      merchant: row['merchant_share'] as number,
      gateway: row['gateway_share'] as number,
      cost: row['cost_share'] as number,
    },
    reason: row['reason'] as Refund['reason'],
    status: row['status'] as Refund['status'],
    failureReason: row['failure_reason'] as string | null,
    idempotencyKey: row['idempotency_key'] as string | null,
    requestHash: row['request_hash'] as string | null,
    created: row['created'] as number,
    updated: row['updated'] as number,
  };
}
