import { DISCREPANCY_KINDS, DISCREPANCY_STATUSES, type Discrepancy } from '../../domain/discrepancy.ts';
import type { Instant } from '../../domain/records.ts';
import type { Refund } from '../../domain/refund.ts';
import { ENVIRONMENTS } from '../../domain/route.ts';
import type { Completed, DiscrepancyFilter, DiscrepancyReads } from '../discrepancies.ts';
import type { KeysetQuery, Row, Select } from '../keyset.ts';
import { pageOf } from '../named-page.ts';
import { createReader } from '../reader.ts';
import { type Write, insertSql } from '../write.ts';

const COLUMNS = [
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
];
const INSERT = insertSql(
  'discrepancies',
  COLUMNS,
  `ON CONFLICT (session_id, kind, subject) DO UPDATE
    SET received = excluded.received, provider = excluded.provider, event_id = excluded.event_id,
      version = discrepancies.version + 1
    WHERE discrepancies.status = 'open' AND discrepancies.refund_id IS NULL
      AND discrepancies.received < excluded.received`,
);
// Of money that cannot be booked nothing is counted, so that a word of more can meet a record that is closed. What the same
// money is known by begins as the subject of that, and what is open of it is one record. The statement before this one has
// locked the record of that subject: who writes of the same money at once waits.
const RAISE_BEYOND = `UPDATE discrepancies
  SET received = ?5, provider = ?6, event_id = ?7, version = version + 1
  WHERE received < ?5 AND status = 'open' AND id = (SELECT id FROM discrepancies
    WHERE session_id = ?1 AND kind = ?2 AND SUBSTR(subject, 1, LENGTH(?3) + 1) = ?3 || '/' AND status = 'open'
      AND COALESCE(currency, ?4) = ?4
    ORDER BY received DESC, id DESC LIMIT 1)`;
const INSERT_BEYOND = `INSERT INTO discrepancies (${COLUMNS.join(', ')})
  SELECT ?1, environment, kind, 'open', 1, session_id, customer_id, NULL, subject || '/' || CAST(?2 AS TEXT),
    CAST(?8 AS TEXT), CAST(?2 AS TEXT), expected, CAST(?6 AS BIGINT), CAST(?9 AS TEXT), 0, NULL, NULL, NULL, CAST(?7 AS BIGINT), NULL
  FROM discrepancies WHERE session_id = ?3 AND kind = ?4 AND subject = ?5 AND NOT EXISTS (
    SELECT 1 FROM discrepancies AS known WHERE known.session_id = ?3 AND known.kind = ?4 AND known.received >= ?6
      AND (known.subject = ?5 OR SUBSTR(known.subject, 1, LENGTH(?5) + 1) = ?5 || '/')
      AND COALESCE(known.currency, ?9) = ?9)
  ON CONFLICT (session_id, kind, subject) DO NOTHING`;
// Whoever decides on the session at this moment, and does not see the record yet, is overtaken and decides again.
const HOLD_SESSION = 'UPDATE sessions SET version = version + 1 WHERE id = ?1 AND version = ?2';
const UPDATE = `UPDATE discrepancies
  SET version = ?2 + 1, status = ?3, refunding = ?4, refund_id = ?5, resolution = ?6, note = ?7, resolved_at = ?8
  WHERE id = ?1 AND version = ?2`;
const cameSql = (total: string) => `CASE WHEN expected = 0 THEN received ELSE received - expected + ${total} END`;
// The right amount can be an older word than that of a larger one: what came beyond it is still to be decided.
const COMPLETE = `UPDATE discrepancies
  SET version = version + 1, status = 'resolved', resolution = 'paid_in_full', resolved_at = ?2
  WHERE payment_id = ?1 AND kind = 'amount_mismatch' AND status = 'open' AND refunding = 0
    AND NOT (subject = ?3 AND refund_id IS NULL AND ${cameSql('?5')} > ?4)`;
const LEAVE_REST = `UPDATE discrepancies
  SET version = version + 1, subject = ?5, expected = 0, received = ${cameSql('?4')} - ?3
  WHERE payment_id = ?1 AND kind = 'amount_mismatch' AND status = 'open' AND subject = ?2 AND refund_id IS NULL`;
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
      AND CASE WHEN discrepancies.kind = 'surplus' THEN COALESCE(refunds.reason, '') <> 'mismatch' ELSE refunds.id = ?3 END)
    THEN 1 ELSE 0 END
  WHERE ${OF_REFUND} AND status = 'open'`;
const RESOLVE = `UPDATE discrepancies SET status = 'resolved', resolution = 'refunded', resolved_at = ?4
  WHERE ${OF_REFUND} AND status = 'open' AND refunding = 0 AND (kind <> 'surplus' OR NOT EXISTS (
    SELECT 1 FROM payments WHERE payments.id = ?1 AND payments.refunded < payments.amount + payments.buyer_fee))`;
// A refund can fail after it had succeeded: the money is back, and so is the question what becomes of it.
const REOPEN = `UPDATE discrepancies SET status = 'open', resolution = NULL, resolved_at = NULL
  WHERE ${OF_REFUND} AND resolution = 'refunded'`;

const SELECT = 'SELECT * FROM discrepancies WHERE id = ?1';
const SELECT_OF_SESSION = 'SELECT * FROM discrepancies WHERE session_id = ?1';

export function openDiscrepancy(discrepancy: Discrepancy, sessionVersion: number): Write[] {
  const insert: Write = {
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
  const { id, eventId, sessionId, paymentId, kind, subject, received, created, provider, currency } = discrepancy;
  // Surplus money: its session is changed with it, which holds it.
  if (eventId === null) return [insert];
  // What is decided on a session counts for wrong amounts of its payments alone.
  const counts = kind === 'amount_mismatch' && paymentId !== null;
  const hold: Write = { sql: HOLD_SESSION, params: [sessionId, sessionVersion], guard: 'version' };
  const raise: Write = { sql: RAISE_BEYOND, params: [sessionId, kind, subject, currency, received, provider, eventId] };
  return [
    insert,
    counts ? hold : raise,
    { sql: INSERT_BEYOND, params: [id, eventId, sessionId, kind, subject, received, created, provider, currency] },
  ];
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

export function completeAmount(paymentId: string, { subject, growth, total }: Completed, at: Instant): Write[] {
  return [
    { sql: TAKE_BACK, params: [paymentId, at] },
    { sql: COMPLETE, params: [paymentId, at, subject.before, growth, total] },
    { sql: LEAVE_REST, params: [paymentId, subject.before, growth, total, subject.after] },
  ];
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
      const { sessionId, kind, status, environment } = filter;
      if (sessionId === undefined) return list(keyset(filter), page, discrepancyFromRow);
      const named = await all(discrepancyFromRow, SELECT_OF_SESSION, sessionId);
      const asked = named.filter(
        (item) =>
          item.kind === (kind ?? item.kind) &&
          item.status === (status ?? item.status) &&
          item.environment === (environment ?? item.environment),
      );
      return pageOf(asked, page);
    },
  };
}
