import { ERASED_BODY, erasedAddress } from '../../domain/personal-data.ts';
import type { Customer, CustomerStatus, Session } from '../../domain/records.ts';
import type { Row, Select, SelectEach } from '../keyset.ts';
import type { PersonalDataChange, PersonalDataReads } from '../personal-data-port.ts';
import { KEY_SHARE, type Write } from '../write-statement.ts';
import { emailKey } from './customers-table.ts';
import { erasedKey } from './erased-text.ts';
import { SESSIONS } from './sessions-table.ts';

const MOVE_CUSTOMER = 'UPDATE customers SET status = ?3, status_reason = ?4 WHERE id = ?1 AND status = ?2';
// A concurrent block of the customer is applied before or after the whole change set; a concurrent erasure waits.
const HOLD_ACTIVE = `UPDATE sessions SET version = version WHERE id = ?1 AND EXISTS (
  SELECT 1 FROM customers WHERE customers.id = sessions.customer_id AND customers.status = 'active' ${KEY_SHARE})`;

const PENDING_PAYMENTS = "SELECT id FROM payments WHERE customer_id = ?1 AND status = 'pending'";
const PENDING_REFUNDS = `SELECT refund.id AS id FROM sessions AS session JOIN refunds AS refund
  ON refund.session_id = session.id WHERE session.customer_id = ?1 AND refund.status = 'pending'`;
// A delivery that waits for an endpoint that is not active is not in progress.
const PENDING_DELIVERIES = `SELECT delivery.id AS id FROM sessions AS session
  JOIN deliveries AS delivery ON delivery.session_id = session.id AND delivery.status = 'pending'
  JOIN webhook_endpoints AS endpoint ON endpoint.id = delivery.endpoint_id AND endpoint.status = 'active'
  WHERE session.customer_id = ?1`;
const IN_PROGRESS = [PENDING_PAYMENTS, PENDING_REFUNDS, PENDING_DELIVERIES];
const SHOWN = 5;

// First: from here on nothing begins for the customer, and the next statement sees everything that began before.
const ERASE_CUSTOMER = `UPDATE customers SET status = 'erased', status_reason = NULL, email = ?3, email_key = ?4
  WHERE id = ?1 AND status = ?2`;
const NOTHING_IN_PROGRESS = `UPDATE customers SET status = status WHERE id = ?1 ${IN_PROGRESS.map((sql) => `AND NOT EXISTS (${sql})`).join(' ')}`;
const ERASE_SESSION = `UPDATE sessions SET status = ?3, version = ?2 + 1, wake_at = ?4, customer_email = ?5,
    redirect_url = NULL, metadata = '{}', client_reference_id = NULL, idempotency_key = ?6, request_hash = NULL
  WHERE id = ?1 AND version = ?2
    AND NOT EXISTS (SELECT 1 FROM payments WHERE session_id = ?1 AND status = 'pending')`;
const ERASE_EVENT = 'UPDATE events SET body = ?2 WHERE id = ?1';
const WITH_SESSION = [
  "UPDATE payments SET metadata = '{}', provider_url = NULL, failure_reason = NULL WHERE session_id = ?1",
  "UPDATE invoices SET metadata = '{}' WHERE session_id = ?1",
  `UPDATE delivery_attempts SET response_body = ''
    WHERE delivery_id IN (SELECT id FROM deliveries WHERE session_id = ?1)`,
  `UPDATE provider_messages SET body = '${ERASED_BODY}' WHERE session_id = ?1`,
  // A new version: a concurrent decision about the discrepancy conflicts, and writes no note.
  'UPDATE discrepancies SET note = NULL, version = version + 1 WHERE session_id = ?1',
];

// A message or an answer that arrived while its session was being erased is erased by the next call.
const SELECT_TO_ERASE = `SELECT * FROM sessions AS session WHERE customer_id = ?1 AND (customer_email <> ?2
    OR EXISTS (SELECT 1 FROM provider_messages WHERE session_id = session.id AND body <> '${ERASED_BODY}')
    OR EXISTS (SELECT 1 FROM discrepancies WHERE session_id = session.id AND note IS NOT NULL)
    OR EXISTS (SELECT 1 FROM deliveries AS delivery JOIN delivery_attempts AS attempt
      ON attempt.delivery_id = delivery.id WHERE delivery.session_id = session.id AND attempt.response_body <> ''))
  ORDER BY id LIMIT ?3`;

export function setCustomerStatus({ id, status, statusReason }: Customer, from: CustomerStatus): Write {
  return { sql: MOVE_CUSTOMER, params: [id, from, status, statusReason], guard: 'overtaken' };
}

export function requireActiveCustomer(sessionId: string): Write {
  return { sql: HOLD_ACTIVE, params: [sessionId], guard: 'customer_blocked' };
}

export function eraseCustomer({ id, email }: Customer, from: CustomerStatus): Write[] {
  return [
    { sql: ERASE_CUSTOMER, params: [id, from, email, emailKey(email)], guard: 'overtaken' },
    { sql: NOTHING_IN_PROGRESS, params: [id], guard: 'version' },
  ];
}

export function eraseSession({ session, events }: Extract<PersonalDataChange, { type: 'session_erased' }>): Write[] {
  const { id, version, status, wakeAt, customerEmail, idempotencyKey } = session;
  const key = idempotencyKey === null ? null : erasedKey(idempotencyKey);
  return [
    { sql: ERASE_SESSION, params: [id, version - 1, status, wakeAt, customerEmail, key], guard: 'version' },
    ...WITH_SESSION.map((sql): Write => ({ sql, params: [id] })),
    ...events.map((event): Write => ({ sql: ERASE_EVENT, params: [event.id, event.body] })),
  ];
}

export function createPersonalDataReads(select: Select, selectEach: SelectEach): PersonalDataReads {
  return {
    async workInProgressFor(customerId) {
      const queries = IN_PROGRESS.map((sql) => ({ sql: `${sql} LIMIT ${SHOWN}`, params: [customerId] }));
      const idsOf = (rows: Row[] = []) => rows.map((row) => row['id'] as string);
      const [payments, refunds, deliveries] = await selectEach(queries);
      return { payments: idsOf(payments), refunds: idsOf(refunds), deliveries: idsOf(deliveries) };
    },
    async sessionsToErase(customerId, limit): Promise<Session[]> {
      return (await select(SELECT_TO_ERASE, customerId, erasedAddress(customerId), limit)).map(SESSIONS.fromRow);
    },
  };
}
