import { DISCREPANCY_KINDS, DISCREPANCY_STATUSES, type Discrepancy } from '../../domain/records.ts';
import { ENVIRONMENTS } from '../../domain/route.ts';
import type { DiscrepancyFilter, DiscrepancyReads } from '../discrepancies-port.ts';
import type { KeysetQuery, Row, Select, SqlValue } from '../keyset.ts';
import { pageOf } from '../named-page.ts';
import { createReader } from '../row-reader.ts';
import { type Write, insertSql } from '../write-statement.ts';

/** Column of each field. */
const COLUMNS = {
  id: 'id',
  environment: 'environment',
  kind: 'kind',
  status: 'status',
  version: 'version',
  sessionId: 'session_id',
  customerId: 'customer_id',
  paymentId: 'payment_id',
  subject: 'subject',
  provider: 'provider',
  eventId: 'event_id',
  expected: 'expected',
  received: 'received',
  currency: 'currency',
  refunding: 'refunding',
  refundId: 'refund_id',
  resolution: 'resolution',
  note: 'note',
  created: 'created',
  resolvedAt: 'resolved_at',
} as const satisfies Record<keyof Discrepancy, string>;
const FIELDS = Object.keys(COLUMNS) as (keyof Discrepancy)[];

const INSERT = insertSql('discrepancies', Object.values(COLUMNS), 'ON CONFLICT (session_id, kind, subject) DO NOTHING');
const UPDATE = `UPDATE discrepancies
  SET version = ?2 + 1, status = ?3, subject = ?4, provider = ?5, event_id = ?6, expected = ?7, received = ?8,
    refunding = ?9, refund_id = ?10, resolution = ?11, note = ?12, resolved_at = ?13
  WHERE id = ?1 AND version = ?2`;

const SELECT = 'SELECT * FROM discrepancies WHERE id = ?1';
export const SELECT_DISCREPANCIES_OF_SESSION = 'SELECT * FROM discrepancies WHERE session_id = ?1 ORDER BY id';

export function insertDiscrepancy(discrepancy: Discrepancy): Write {
  return { sql: INSERT, params: FIELDS.map((field) => valueOf(discrepancy[field])), guard: 'version' };
}

export function updateDiscrepancy(discrepancy: Discrepancy): Write {
  const { id, version, status, subject, provider, eventId, expected, received, refunding, refundId } = discrepancy;
  const { resolution, note, resolvedAt } = discrepancy;
  const money = [subject, provider, eventId, expected, received];
  return {
    sql: UPDATE,
    params: [id, version - 1, status, ...money, valueOf(refunding), refundId, resolution, note, resolvedAt],
    guard: 'version',
  };
}

function valueOf(value: Discrepancy[keyof Discrepancy]): SqlValue {
  return typeof value === 'boolean' ? Number(value) : value;
}

export function discrepancyFromRow(row: Row): Discrepancy {
  const record = Object.fromEntries(FIELDS.map((field) => [field, row[COLUMNS[field]]])) as unknown as Discrepancy;
  return { ...record, refunding: row['refunding'] === 1 };
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
      const named = await all(discrepancyFromRow, SELECT_DISCREPANCIES_OF_SESSION, sessionId);
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
