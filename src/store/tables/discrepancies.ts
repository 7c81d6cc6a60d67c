import { DISCREPANCY_KINDS, DISCREPANCY_STATUSES, type Discrepancy } from '../../domain/discrepancy.ts';
import type { Instant } from '../../domain/records.ts';
import type { Refund } from '../../domain/refund.ts';
import { ENVIRONMENTS } from '../../domain/route.ts';
import type { DiscrepancyFilter, DiscrepancyReads } from '../discrepancies.ts';
import type { KeysetQuery, Row, Select } from '../keyset.ts';
import { pageOf } from '../named-page.ts';
import { createReader } from '../reader.ts';
import { type Write, insertSql } from '../write.ts';

const INSERT = insertSql(
  'discrepancies',
  [
    'id',
    'environment',
    'kind',
    'status',
    'version',
    'session_id',
    'customer_id',
    'payment_id',
    'subject',
    'provider',
    'event_id',
    'expected',
    'received',
    'currency',
    'refunding',
    'refund_id',
    'resolution',
    'note',
    'created',
    'resolved_at',
  ],
  `ON CONFLICT (session_id, kind, subject) DO UPDATE
    SET received = excluded.received, currency = excluded.currency, version = discrepancies.version + 1
    WHERE discrepancies.status = 'open' AND discrepancies.refund_id IS NULL`,
);
const UPDATE = `UPDATE discrepancies
  SET version = ?2 + 1, status = ?3, refunding = ?4, refund_id = ?5, resolution = ?6, note = ?7, resolved_at = ?8
  WHERE id = ?1 AND version = ?2`;
const COMPLETE = `UPDATE discrepancies
  SET version = version + 1, status = 'resolved', resolution = 'paid_in_full', resolved_at = ?2
  WHERE payment_id = ?1 AND kind = 'amount_mismatch' AND status = 'open' AND refunding = 0`;
// What was booked as the buyer's, for a refund that failed, is part of what has paid the payment.
const TAKE_BACK = `INSERT INTO ledger_entries (posting_id, line, payment_id, session_id, refund_id, environment, kind, account,
    amount, created)
  SELECT discrepancy.id || ':adjustment', entry.line, entry.payment_id, entry.session_id, NULL, entry.environment,
    'adjustment', entry.account, -entry.amount, CAST(?2 AS BIGINT)
  FROM discrepancies AS discrepancy JOIN ledger_entries AS entry ON entry.posting_id = discrepancy.id || ':received'
  WHERE discrepancy.payment_id = ?1 AND discrepancy.kind = 'amount_mismatch' AND discrepancy.status = 'open'
    AND discrepancy.refunding = 0`;
// Any refund of money that came twice is about it, whoever asked; money of a wrong amount goes back by refunds of its own.
const OF_REFUND = "payment_id = ?1 AND kind = ?2 AND (kind = 'surplus' OR refund_id = ?3)";
// While one is under way there is nothing else to decide.
const FOLLOW = `UPDATE discrepancies SET version = version + 1, refund_id = ?3, refunding = CASE WHEN EXISTS (
    SELECT 1 FROM refunds WHERE refunds.payment_id = ?1 AND refunds.status = 'pending'
      AND (discrepancies.kind = 'surplus' OR refunds.id = ?3)) THEN 1 ELSE 0 END
  WHERE ${OF_REFUND} AND status = 'open'`;
const RESOLVE = `UPDATE discrepancies SET status = 'resolved', resolution = 'refunded', resolved_at = ?4
  WHERE ${OF_REFUND} AND status = 'open' AND refunding = 0 AND (kind <> 'surplus' OR NOT EXISTS (
    SELECT 1 FROM payments WHERE payments.id = ?1 AND payments.refunded < payments.amount + payments.buyer_fee))`;
// A refund can fail after it had succeeded: the money is back, and so is the question what becomes of it.
const REOPEN = `UPDATE discrepancies SET status = 'open', resolution = NULL, resolved_at = NULL
  WHERE ${OF_REFUND} AND resolution = 'refunded'`;

const SELECT = 'SELECT * FROM discrepancies WHERE id = ?1';
const SELECT_OF_SESSION = 'SELECT * FROM discrepancies WHERE session_id = ?1';

export function insertDiscrepancy(discrepancy: Discrepancy): Write {
  return {
    sql: INSERT,
    params: [
      discrepancy.id,
      discrepancy.environment,
      discrepancy.kind,
      discrepancy.status,
      discrepancy.version,
      discrepancy.sessionId,
      discrepancy.customerId,
      discrepancy.paymentId,
      discrepancy.subject,
      discrepancy.provider,
      discrepancy.eventId,
      discrepancy.expected,
      discrepancy.received,
      discrepancy.currency,
      discrepancy.refunding ? 1 : 0,
      discrepancy.refundId,
      discrepancy.resolution,
      discrepancy.note,
      discrepancy.created,
      discrepancy.resolvedAt,
    ],
  };
}

/** Moves it on from the version before the one it has now. */
export function updateDiscrepancy(discrepancy: Discrepancy): Write {
  const { id, version, status, refunding, refundId, resolution, note, resolvedAt } = discrepancy;
  return {
    sql: UPDATE,
    params: [id, version - 1, status, refunding ? 1 : 0, refundId, resolution, note, resolvedAt],
    guard: 'overtaken',
  };
}

export function completeAmount(paymentId: string, at: Instant): Write[] {
  return [TAKE_BACK, COMPLETE].map((sql) => ({ sql, params: [paymentId, at] }));
}

/** What follows for the money that a refund gives back; written after the refund and its payment. */
export function followRefund({ id, paymentId, reason, status, updated }: Refund): Write[] {
  const about = [paymentId, reason === 'mismatch' ? 'amount_mismatch' : 'surplus', id];
  const follow = { sql: FOLLOW, params: about };
  if (status === 'pending') return [follow];
  if (status === 'failed') return [{ sql: REOPEN, params: about }, follow];
  return [follow, { sql: RESOLVE, params: [...about, updated] }];
}

function discrepancyFromRow(row: Row): Discrepancy {
  return {
    id: row['id'] as string,
    environment: row['environment'] as Discrepancy['environment'],
    kind: row['kind'] as Discrepancy['kind'],
    status: row['status'] as Discrepancy['status'],
    version: row['version'] as number,
    sessionId: row['session_id'] as string,
    customerId: row['customer_id'] as string,
    paymentId: row['payment_id'] as string | null,
    subject: row['subject'] as string,
    provider: row['provider'] as string | null,
    eventId: row['event_id'] as string | null,
    expected: row['expected'] as number,
    received: row['received'] as number,
    currency: row['currency'] as string | null,
    refunding: row['refunding'] === 1,
    refundId: row['refund_id'] as string | null,
    resolution: row['resolution'] as Discrepancy['resolution'],
    note: row['note'] as string | null,
    created: row['created'] as number,
    resolvedAt: row['resolved_at'] as number | null,
  };
}

function keyset({ kind, status, environment }: DiscrepancyFilter): KeysetQuery {
  const table = 'discrepancies';
  if (kind === undefined && status === undefined && environment === undefined) return { table, equals: {}, oneOf: {} };
  return {
    table,
    equals: {
      ...(environment && { environment }),
      ...(kind !== undefined && { kind }),
      ...(status !== undefined && { status }),
    },
    oneOf: {
      ...(environment === undefined && { environment: ENVIRONMENTS }),
      ...(kind === undefined && { kind: DISCREPANCY_KINDS }),
      ...(status === undefined && { status: DISCREPANCY_STATUSES }),
    },
  };
}

export function createDiscrepancyReads(select: Select): DiscrepancyReads {
  const { one, all, list } = createReader(select);
  return {
    discrepancy: (id) => one(discrepancyFromRow, SELECT, id),
    async listDiscrepancies(filter, page) {
      const { sessionId, ...fields } = filter;
      if (sessionId !== undefined) {
        const named = await all(discrepancyFromRow, SELECT_OF_SESSION, sessionId);
        const wanted = Object.entries(fields).filter(([, value]) => value !== undefined) as [
          keyof Discrepancy,
          string,
        ][];
        return pageOf(
          named.filter((item) => wanted.every(([field, value]) => item[field] === value)),
          page,
        );
      }
      return list(keyset(filter), page, discrepancyFromRow);
    },
  };
}
