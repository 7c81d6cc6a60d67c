import { type Instant, type Metadata, SESSION_STATUSES, type Session } from '../../domain/records.ts';
import { ENVIRONMENTS } from '../../domain/route.ts';
import type { KeysetQuery, Row } from '../keyset.ts';
import type { DueWake, SessionFilter } from '../store.ts';
import { KEY_SHARE, type Write } from '../write.ts';
import { emailKey } from './customers.ts';
import { erasedKey } from './erased-key.ts';

// PostgreSQL takes a bare parameter of a SELECT for text: numbers say that they are.
const COLUMNS = {
  id: 'TEXT',
  environment: 'TEXT',
  status: 'TEXT',
  version: 'BIGINT',
  product: 'TEXT',
  amount: 'BIGINT',
  customer_id: 'TEXT',
  customer_email: 'TEXT',
  preferred_route: 'TEXT',
  redirect_url: 'TEXT',
  metadata: 'TEXT',
  client_reference_id: 'TEXT',
  idempotency_key: 'TEXT',
  request_hash: 'TEXT',
  offer: 'TEXT',
  decision_id: 'TEXT',
  attempts: 'BIGINT',
  announced: 'BIGINT',
  created: 'BIGINT',
  expires_at: 'BIGINT',
  retry_until: 'BIGINT',
  wake_at: 'BIGINT',
};
const NAMES = Object.keys(COLUMNS);
const PLACES = Object.values(COLUMNS).map((type, index) =>
  type === 'BIGINT' ? `CAST(?${index + 1} AS BIGINT)` : `?${index + 1}`,
);
// A session of somebody who is being erased waits for that, and is refused.
const INSERT = `INSERT INTO sessions (${NAMES.join(', ')})
  SELECT ${PLACES.join(', ')} WHERE EXISTS (
    SELECT 1 FROM customers
    WHERE id = ?7 AND environment = ?2 AND email_key = ?${NAMES.length + 1} AND status = 'active' ${KEY_SHARE})
    AND NOT EXISTS (SELECT 1 FROM sessions WHERE environment = ?2 AND idempotency_key = ?${NAMES.length + 2})
    AND (CAST(?2 AS TEXT) <> 'production' OR NOT EXISTS (SELECT 1 FROM test_clock))
  ON CONFLICT (environment, idempotency_key) WHERE idempotency_key IS NOT NULL DO NOTHING`;
const UPDATE = `UPDATE sessions
  SET status = ?3, version = ?2 + 1, attempts = ?4, announced = ?5, retry_until = ?6, wake_at = ?7
  WHERE id = ?1 AND version = ?2`;

const CLAIM_WAKE = 'UPDATE sessions SET wake_at = ?3 WHERE id = ?1 AND wake_at = ?2';

export const SELECT_SESSION = 'SELECT * FROM sessions WHERE id = ?1';
export const SELECT_SESSION_BY_KEY = 'SELECT * FROM sessions WHERE environment = ?1 AND idempotency_key IN (?2, ?3)';
export const SELECT_SESSIONS_TO_WAKE =
  'SELECT id, wake_at FROM sessions WHERE wake_at IS NOT NULL AND wake_at <= ?1 ORDER BY wake_at LIMIT ?2';

export function insertSession(session: Session): Write {
  return {
    sql: INSERT,
    params: [
      session.id,
      session.environment,
      session.status,
      session.version,
      session.product,
      session.amount,
      session.customerId,
      session.customerEmail,
      session.preferredRoute,
      session.redirectUrl,
      JSON.stringify(session.metadata),
      session.clientReferenceId,
      session.idempotencyKey,
      session.requestHash,
      session.offerJson,
      session.decisionId,
      session.attempts,
      session.announced ? 1 : 0,
      session.created,
      session.expiresAt,
      session.retryUntil,
      session.wakeAt,
      emailKey(session.customerEmail),
      session.idempotencyKey === null ? null : erasedKey(session.idempotencyKey),
    ],
    guard: 'session_refused',
  };
}

/** Moves a session on from the version before the one it has now. */
export function updateSession(session: Session): Write {
  const { id, version, status, attempts, announced, retryUntil, wakeAt } = session;
  return {
    sql: UPDATE,
    params: [id, version - 1, status, attempts, announced ? 1 : 0, retryUntil, wakeAt],
    guard: 'version',
  };
}

/** Until then nobody else wakes the session; whoever moves it on sets the time anew. */
export function claimWake({ sessionId, wakeAt }: DueWake, until: Instant): Write {
  return { sql: CLAIM_WAKE, params: [sessionId, wakeAt, until], guard: 'overtaken' };
}

export function wakeFromRow(row: Row): DueWake {
  return { sessionId: row['id'] as string, wakeAt: row['wake_at'] as number };
}

export function sessionFromRow(row: Row): Session {
  return {
    id: row['id'] as string,
    environment: row['environment'] as Session['environment'],
    status: row['status'] as Session['status'],
    version: row['version'] as number,
    product: row['product'] as string,
    amount: row['amount'] as number,
    customerId: row['customer_id'] as string,
    customerEmail: row['customer_email'] as string,
    preferredRoute: row['preferred_route'] as Session['preferredRoute'],
    redirectUrl: row['redirect_url'] as string | null,
    metadata: JSON.parse(row['metadata'] as string) as Metadata,
    clientReferenceId: row['client_reference_id'] as string | null,
    idempotencyKey: row['idempotency_key'] as string | null,
    requestHash: row['request_hash'] as string | null,
    offerJson: row['offer'] as string,
    decisionId: row['decision_id'] as string | null,
    attempts: row['attempts'] as number,
    announced: row['announced'] === 1,
    created: row['created'] as number,
    expiresAt: row['expires_at'] as number,
    retryUntil: row['retry_until'] as number | null,
    wakeAt: row['wake_at'] as number | null,
  };
}

/** The page's range; `customerIds` are given where the filter names a customer, and then imply the environment. */
export function sessionKeyset(filter: SessionFilter, customerIds: string[] | undefined): KeysetQuery {
  const { status, clientReferenceId, environment } = filter;
  const anyStatus = status === undefined ? { status: SESSION_STATUSES } : {};
  const equals = {
    ...(status !== undefined && { status }),
    ...(clientReferenceId !== undefined && { client_reference_id: clientReferenceId }),
  };
  if (customerIds) return { table: 'sessions', equals, oneOf: { customer_id: customerIds, ...anyStatus } };
  if (Object.keys(equals).length === 0 && environment === undefined) return { table: 'sessions', equals, oneOf: {} };
  return {
    table: 'sessions',
    equals: { ...equals, ...(environment && { environment }) },
    oneOf: { ...(environment === undefined && { environment: ENVIRONMENTS }), ...anyStatus },
  };
}
