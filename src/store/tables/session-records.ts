import type { Session } from '../../domain/records.ts';
import type { Row, SelectEach } from '../keyset.ts';
import { AUDIT_ENTRIES } from './audit-table.ts';
import { CUSTOMERS } from './customers-table.ts';
import { SELECT_DELIVERIES_OF_SESSION, SELECT_EVENTS_OF_SESSION } from './deliveries-reads.ts';
import { DELIVERY_ATTEMPTS, deliveryFromRow, eventFromRow } from './deliveries-table.ts';
import { DISCREPANCIES, SELECT_DISCREPANCIES_OF_SESSION } from './discrepancies-table.ts';
import { ENTRIES, SELECT_ENTRIES_OF_SESSION, SETTLEMENTS } from './ledger-table.ts';
import { INVOICES, PAYMENTS, SELECT_INVOICES_OF_SESSION, SELECT_PAYMENTS_OF_SESSION } from './payments-table.ts';
import { PROVIDER_MESSAGES, REVERSALS, SELECT_MESSAGES_OF_SESSION } from './provider-tables.ts';
import { REFUNDS } from './refunds-table.ts';
import { DECISIONS, OUTCOMES, SELECT_DECISIONS_OF_SESSION, SNAPSHOTS } from './routing-tables.ts';
import { SESSIONS } from './sessions-table.ts';
import { endpointFromRow } from './webhook-endpoints-table.ts';

/** Records with a foreign key to a payment of the session, found by their index on the payment. */
const ofPayments = (table: string) =>
  `SELECT record.* FROM payments AS payment JOIN ${table} AS record ON record.payment_id = payment.id
  WHERE payment.session_id = ?1`;
const ofSession = (table: string, column: string) =>
  `SELECT record.* FROM sessions AS session JOIN ${table} AS record ON record.id = session.${column} WHERE session.id = ?1`;
const ofDeliveries = (table: string, column: string, key: string) =>
  `SELECT record.* FROM deliveries AS delivery JOIN ${table} AS record ON record.${column} = delivery.${key}
  WHERE delivery.session_id = ?1`;
const OFFERS = ofSession('routing_decisions', 'decision_id');
const snapshotsOf = (decisions: string) =>
  `SELECT snapshot.* FROM (${decisions}) AS named JOIN routing_snapshots AS snapshot ON snapshot.id = named.snapshot_id`;

/** Audit entries about the session and about its customer. */
const AUDIT_OF_SESSION = `SELECT * FROM audit_entries WHERE session_id = ?1 UNION ALL
  SELECT record.* FROM sessions AS session JOIN audit_entries AS record ON record.subject_id = session.customer_id
  WHERE session.id = ?1`;

/** Query by the id of the session, `?1`, and the reader of its rows. */
const part = <Item>(sql: string, { fromRow }: { fromRow(row: Row): Item }) => ({ sql, fromRow });

const PARTS = {
  sessions: part(SESSIONS.byId, SESSIONS),
  customers: part(ofSession('customers', 'customer_id'), CUSTOMERS),
  payments: part(SELECT_PAYMENTS_OF_SESSION, PAYMENTS),
  invoices: part(SELECT_INVOICES_OF_SESSION, INVOICES),
  discrepancies: part(SELECT_DISCREPANCIES_OF_SESSION, DISCREPANCIES),
  offers: part(OFFERS, DECISIONS),
  offerSnapshots: part(snapshotsOf(OFFERS), SNAPSHOTS),
  decisions: part(SELECT_DECISIONS_OF_SESSION, DECISIONS),
  snapshots: part(snapshotsOf('SELECT DISTINCT snapshot_id FROM routing_decisions WHERE session_id = ?1'), SNAPSHOTS),
  outcomes: part(ofPayments('route_outcomes'), OUTCOMES),
  messages: part(SELECT_MESSAGES_OF_SESSION, PROVIDER_MESSAGES),
  events: part(SELECT_EVENTS_OF_SESSION, { fromRow: eventFromRow }),
  deliveries: part(SELECT_DELIVERIES_OF_SESSION, { fromRow: deliveryFromRow }),
  endpoints: part(ofDeliveries('webhook_endpoints', 'id', 'endpoint_id'), { fromRow: endpointFromRow }),
  deliveryAttempts: part(ofDeliveries('delivery_attempts', 'delivery_id', 'id'), DELIVERY_ATTEMPTS),
  refunds: part('SELECT * FROM refunds WHERE session_id = ?1', REFUNDS),
  reversals: part(ofPayments('reversals'), REVERSALS),
  ledgerEntries: part(SELECT_ENTRIES_OF_SESSION, ENTRIES),
  settlements: part(ofPayments('settlements'), SETTLEMENTS),
  audit: part(AUDIT_OF_SESSION, AUDIT_ENTRIES),
};

type Parts = { [Name in keyof typeof PARTS]: ReturnType<(typeof PARTS)[Name]['fromRow']>[] };
/** A session and all its records. A list whose query has no order is unordered. */
export type SessionRecords = Omit<Parts, 'sessions'> & { session: Session };

export function createSessionRecordReads(selectEach: SelectEach) {
  return {
    /** All records of a session, read in one round trip and one snapshot. */
    async sessionRecords(sessionId: string): Promise<SessionRecords | undefined> {
      const parts = Object.entries(PARTS);
      const found = await selectEach(parts.map(([, { sql }]) => ({ sql, params: [sessionId] })));
      const { sessions, ...others } = Object.fromEntries(
        parts.map(([name, { fromRow }], index) => [name, found[index]!.map((row): unknown => fromRow(row))]),
      ) as Parts;
      return sessions[0] && { session: sessions[0], ...others };
    },
  };
}
