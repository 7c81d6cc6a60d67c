import { ERASED_BODY, erasedAddress } from '../../domain/personal-data.ts';
import type { Customer, CustomerStatus, Session, SessionStatus } from '../../domain/records.ts';
import type { Row, Select, SelectEach } from '../keyset.ts';
import { createReader } from '../row-reader.ts';
import type { MerchantEvent } from '../webhooks-port.ts';
import { KEY_SHARE, statement } from '../write-statement.ts';
import { emailKey } from './customers-table.ts';
import { erasedKey } from './erased-text.ts';
import { DELETE_TERMS } from './search-table.ts';
import { SESSIONS } from './sessions-table.ts';

const MOVE_CUSTOMER = 'UPDATE customers SET status = ?3, status_reason = ?4 WHERE id = ?1 AND status = ?2';
// A concurrent block of the customer takes effect before or after the whole change set; a concurrent erasure waits for its commit.
const HOLD_ACTIVE = `UPDATE sessions SET version = version WHERE id = ?1 AND EXISTS (
  SELECT 1 FROM customers WHERE customers.id = sessions.customer_id AND customers.status = 'active' ${KEY_SHARE})`;

const PENDING_PAYMENTS = "SELECT id FROM payments WHERE customer_id = ?1 AND status = 'pending'";
const PENDING_REFUNDS = `SELECT refund.id AS id FROM sessions AS session JOIN refunds AS refund
  ON refund.session_id = session.id WHERE session.customer_id = ?1 AND refund.status = 'pending'`;
// Only deliveries to active endpoints count as work in progress.
const PENDING_DELIVERIES = `SELECT delivery.id AS id FROM sessions AS session
  JOIN deliveries AS delivery ON delivery.session_id = session.id AND delivery.status = 'pending'
  JOIN webhook_endpoints AS endpoint ON endpoint.id = delivery.endpoint_id AND endpoint.status = 'active'
  WHERE session.customer_id = ?1`;
const IN_PROGRESS = [PENDING_PAYMENTS, PENDING_REFUNDS, PENDING_DELIVERIES];
const SHOWN = 5;

// Runs before NOTHING_IN_PROGRESS: afterwards no new work can begin for the customer, so the check sees all work.
const ERASE_CUSTOMER = `UPDATE customers SET status = 'erased', status_reason = NULL, email = ?3, email_key = ?4
  WHERE id = ?1 AND status = ?2`;
const NOTHING_IN_PROGRESS = `UPDATE customers SET status = status WHERE id = ?1 ${IN_PROGRESS.map((sql) => `AND NOT EXISTS (${sql})`).join(' ')}`;
const ERASE_SESSION = `UPDATE sessions SET status = ?3, version = ?2 + 1, wake_at = ?4, customer_email = ?5,
    redirect_url = NULL, metadata = '{}', client_reference_id = NULL, idempotency_key = ?6, request_hash = NULL
  WHERE id = ?1 AND version = ?2
    AND NOT EXISTS (SELECT 1 FROM payments WHERE session_id = ?1 AND status = 'pending')`;
const ERASE_EVENT = 'UPDATE events SET body = ?2 WHERE id = ?1';
const WITH_SESSION = [
  DELETE_TERMS,
  "UPDATE payments SET metadata = '{}', provider_url = NULL, failure_reason = NULL, decline = 'null' WHERE session_id = ?1",
  "UPDATE invoices SET metadata = '{}' WHERE session_id = ?1",
  `UPDATE delivery_attempts SET response_body = ''
    WHERE delivery_id IN (SELECT id FROM deliveries WHERE session_id = ?1)`,
  `UPDATE provider_inbox SET body = '${ERASED_BODY}' WHERE session_id = ?1`,
  // Increments the version, so that a concurrent resolution of the discrepancy conflicts and writes no note.
  'UPDATE discrepancies SET note = NULL, version = version + 1 WHERE session_id = ?1',
];

// Also selects erased sessions whose messages, notes or webhook responses arrived during the erasure.
const SELECT_TO_ERASE = `SELECT * FROM sessions AS session WHERE customer_id = ?1 AND (customer_email <> ?2
    OR EXISTS (SELECT 1 FROM provider_messages WHERE session_id = session.id AND body <> '${ERASED_BODY}')
    OR EXISTS (SELECT 1 FROM discrepancies WHERE session_id = session.id AND note IS NOT NULL)
    OR EXISTS (SELECT 1 FROM deliveries AS delivery JOIN delivery_attempts AS attempt
      ON attempt.delivery_id = delivery.id WHERE delivery.session_id = session.id AND attempt.response_body <> ''))
  ORDER BY id LIMIT ?3`;

interface MovedCustomer {
  customer: Customer;
  from: CustomerStatus;
}

interface ErasedSession {
  session: Session;
  /** Status of the session before the erasure. */
  from: SessionStatus;
  events: Pick<MerchantEvent, 'id' | 'body'>[];
}

export const personalDataWrites = {
  /** Guard: the customer has the status `from`. */
  customer_status_changed: ({ customer: { id, status, statusReason }, from }: MovedCustomer) =>
    statement(MOVE_CUSTOMER, [id, from, status, statusReason], 'overtaken'),
  /** Only a guard: the customer of the session is active. Prevents a payment of a blocked or erased customer. */
  customer_active: ({ sessionId }: { sessionId: string }) => statement(HOLD_ACTIVE, [sessionId], 'customer_blocked'),
  /** Guard: the customer has the status `from` and no work in progress (see `workInProgressFor`). */
  customer_erased: ({ customer: { id, email }, from }: MovedCustomer) => [
    statement(ERASE_CUSTOMER, [id, from, email, emailKey(email)], 'overtaken'),
    statement(NOTHING_IN_PROGRESS, [id], 'version'),
  ],
  /** Erases the personal data of a session and its records. Guard: the version is unchanged, and no payment is pending. */
  session_erased({ session, events }: ErasedSession) {
    const { id, version, status, wakeAt, customerEmail, idempotencyKey } = session;
    const key = idempotencyKey === null ? null : erasedKey(idempotencyKey);
    return [
      statement(ERASE_SESSION, [id, version - 1, status, wakeAt, customerEmail, key], 'version'),
      ...WITH_SESSION.map((sql) => statement(sql, [id])),
      ...events.map((event) => statement(ERASE_EVENT, [event.id, event.body])),
    ];
  },
};

/** Ids of pending payments, refunds and deliveries, which prevent the erasure of their customer; a few ids of each type. */
export interface PersonalWorkInProgress {
  payments: string[];
  refunds: string[];
  deliveries: string[];
}

export function createPersonalDataReads(select: Select, selectEach: SelectEach) {
  const { all } = createReader(select);
  return {
    async workInProgressFor(customerId: string): Promise<PersonalWorkInProgress> {
      const queries = IN_PROGRESS.map((sql) => ({ sql: `${sql} LIMIT ${SHOWN}`, params: [customerId] }));
      const idsOf = (rows: Row[] = []) => rows.map((row) => row['id'] as string);
      const [payments, refunds, deliveries] = await selectEach(queries);
      return { payments: idsOf(payments), refunds: idsOf(refunds), deliveries: idsOf(deliveries) };
    },
    /** At most `limit` sessions of a customer that may still have personal data. */
    sessionsToErase: (customerId: string, limit: number) =>
      all(SESSIONS.fromRow, SELECT_TO_ERASE, customerId, erasedAddress(customerId), limit),
  };
}
