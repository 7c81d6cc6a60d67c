import { REFUND_STATUSES, type Refund, type RefundProof, type RefundStatus } from '../../domain/refund-record.ts';
import type { Instant } from '../../domain/records.ts';
import { ENVIRONMENTS, type Environment } from '../../domain/route.ts';
import { type KeysetQuery, type Row, type Select, filterKeyset } from '../keyset.ts';
import type { Page } from '../list-page.ts';
import { createReader } from '../row-reader.ts';
import { defineTable, describeTable, flag, integer, named, text } from '../table-description.ts';
import { statement } from '../write-statement.ts';

/** A refund that is due to be sent to its provider, or due for an inquiry. The row of a refund is also its task. */
export interface DueRefund {
  refund: Refund;
  attempts: number;
  dueAt: Instant;
  /** Time since which every answer was that the provider does not know the payment; null after any other answer. */
  unknownSince: Instant | null;
}

export interface RefundFilter {
  paymentId?: string;
  sessionId?: string;
  status?: string;
  environment?: Environment;
}

export const REFUNDS = describeTable<Refund>('refunds', {
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
  deducted: flag,
  failureReason: text,
  idempotencyKey: text,
  requestHash: text,
  providerReference: text,
  created: integer,
  updated: integer,
});
const insert = REFUNDS.insert({
  extra: ['attempts', 'due_at'],
  onConflict: 'ON CONFLICT (environment, idempotency_key) WHERE idempotency_key IS NOT NULL DO NOTHING',
  guard: 'refund_exists',
});
const UPDATE = `UPDATE refunds SET status = ?3, failure_reason = ?4, updated = ?5, provider_reference = ?6,
    deducted = ?7, due_at = CASE WHEN ?3 = 'pending' THEN due_at END
  WHERE id = ?1 AND status = ?2`;
const CLAIM = `UPDATE refunds SET attempts = ?2 + 1, due_at = ?3
  WHERE id = ?1 AND attempts = ?2 AND due_at IS NOT NULL`;
const POSTPONE = `UPDATE refunds SET due_at = ?3, unknown_since = ?4, provider_reference = ?5
  WHERE id = ?1 AND attempts = ?2 AND due_at IS NOT NULL`;

const PAYOUTS = defineTable('chain_payouts', {
  refundId: text,
  provider: text,
  txHash: text,
  logIndex: integer,
  units: integer,
  created: integer,
});
const insertPayout = PAYOUTS.insert({ onConflict: 'ON CONFLICT DO NOTHING', guard: 'overtaken' });

const SELECT_BY_KEY = 'SELECT * FROM refunds WHERE environment = ?1 AND idempotency_key = ?2';
const SELECT_BY_REFERENCE = 'SELECT * FROM refunds WHERE payment_id = ?1 AND provider_reference = ?2';
const SELECT_DUE = 'SELECT * FROM refunds WHERE due_at IS NOT NULL AND due_at <= ?1 ORDER BY due_at LIMIT ?2';

export const refundWrites = {
  /** Guard: the idempotency key of the refund is new. */
  refund_created: ({ refund, dueAt }: { refund: Refund; dueAt: Instant }) => insert(refund, 0, dueAt),
  /** Stores a new state, and ends the inquiries about a refund that is no longer pending. Guard: the refund has the status `from`. */
  refund_changed: ({ refund, from }: { refund: Refund; from: RefundStatus }) =>
    statement(
      UPDATE,
      [
        refund.id,
        from,
        refund.status,
        refund.failureReason,
        refund.updated,
        refund.providerReference,
        Number(refund.deducted),
      ],
      'version',
    ),
  /** Stores the proof of a refund. Guard: neither the refund nor the transaction has a proof. */
  refund_proven: ({ refund, provider, proof }: { refund: Refund; provider: string; proof: RefundProof }) =>
    insertPayout({ ...proof, refundId: refund.id, provider, created: refund.updated }),
  /** Begins attempt number `attempts`, with a lease until `dueAt`. Guard: no attempt has begun since the row was read. */
  refund_claimed: ({ due: { refund, attempts, dueAt } }: { due: DueRefund }) =>
    statement(CLAIM, [refund.id, attempts - 1, dueAt], 'overtaken'),
  /** Ends attempt number `attempts` without an outcome. Guard: no later attempt has begun. */
  refund_postponed: ({ due: { refund, attempts, dueAt, unknownSince } }: { due: DueRefund }) =>
    statement(POSTPONE, [refund.id, attempts, dueAt, unknownSince, refund.providerReference], 'overtaken'),
};

export function createRefundReads(select: Select) {
  const { one, find, all, list } = createReader(select);
  return {
    refund: (id: string) => find(REFUNDS, id),
    refundByIdempotencyKey: (environment: Environment, key: string) =>
      one(REFUNDS.fromRow, SELECT_BY_KEY, environment, key),
    refundOfReference: (paymentId: string, reference: string) =>
      one(REFUNDS.fromRow, SELECT_BY_REFERENCE, paymentId, reference),
    listRefunds: (filter: RefundFilter, page: Page) => list(refundKeyset(filter), page, REFUNDS.fromRow),
    /** Due refunds, oldest due time first. */
    refundsDue: (now: Instant, limit: number) => all(dueFromRow, SELECT_DUE, now, limit),
  };
}

/** Ranges of the indexes (payment_id, status, id), (session_id, status, id) and (environment, status, id). */
function refundKeyset({
  paymentId: payment_id,
  sessionId: session_id,
  status,
  environment,
}: RefundFilter): KeysetQuery {
  // A payment or session has one environment, so the query then needs no range per environment.
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
