import { type Instant, type Metadata, SESSION_STATUSES, type Session } from '../../domain/records.ts';
import { ENVIRONMENTS, type Environment } from '../../domain/route.ts';
import { type Select, filterKeyset, splitColumns } from '../keyset.ts';
import type { Page } from '../list-page.ts';
import { EMPTY_PAGE } from '../named-page.ts';
import { createReader } from '../row-reader.ts';
import { type ItemOf, defineTable, describeTable, flag, integer, json, named, text } from '../table-description.ts';
import { KEY_SHARE, statement } from '../write-statement.ts';
import { customersNamed, emailKey } from './customers-table.ts';
import { erasedKey } from './erased-text.ts';

interface SessionFilter {
  /** A customer's id or email address. */
  customer?: string;
  status?: string;
  clientReferenceId?: string;
  environment?: Environment;
}

export const SESSIONS = describeTable<Session>('sessions', {
  id: text,
  environment: text,
  status: text,
  version: integer,
  product: text,
  amount: integer,
  customerId: text,
  customerEmail: text,
  preferredRoute: text,
  redirectUrl: text,
  metadata: json<Metadata>(),
  clientReferenceId: text,
  idempotencyKey: text,
  requestHash: text,
  offerJson: named('offer', text),
  decisionId: text,
  attempts: integer,
  announced: flag,
  created: integer,
  expiresAt: integer,
  retryUntil: integer,
  wakeAt: integer,
  expiredAt: integer,
});
const NAMES = SESSIONS.columns.map(({ name }) => name);
// Casts integers, because PostgreSQL treats a parameter without a cast in a SELECT as text.
const PLACES = SESSIONS.columns.map(({ type }, index) =>
  type === 'BIGINT' ? `CAST(?${index + 1} AS BIGINT)` : `?${index + 1}`,
);
// If an erasure of the customer is in progress, the statement waits for it and then inserts nothing.
const INSERT = `INSERT INTO sessions (${NAMES.join(', ')})
  SELECT ${PLACES.join(', ')} WHERE EXISTS (
    SELECT 1 FROM customers
    WHERE id = ?7 AND environment = ?2 AND email_key = ?${NAMES.length + 1} AND status = 'active' ${KEY_SHARE})
    AND NOT EXISTS (SELECT 1 FROM sessions WHERE environment = ?2 AND idempotency_key = ?${NAMES.length + 2})
  ON CONFLICT (environment, idempotency_key) WHERE idempotency_key IS NOT NULL DO NOTHING`;
const CLAIM_WAKE = 'UPDATE sessions SET wake_at = ?3 WHERE id = ?1 AND wake_at = ?2';

const SELECT_ANY = 'SELECT 1 AS found FROM sessions WHERE environment = ?1 LIMIT 1';
const SELECT_BY_KEY = 'SELECT * FROM sessions WHERE environment = ?1 AND idempotency_key IN (?2, ?3)';
const SELECT_TO_WAKE =
  'SELECT id, wake_at FROM sessions WHERE wake_at IS NOT NULL AND wake_at <= ?1 ORDER BY wake_at LIMIT ?2';

/** Columns that a worker reads of a session with a due wake time, such as its expiry or a payment timeout. */
const WAKES = defineTable('sessions', { sessionId: named('id', text), wakeAt: integer });
export type DueWake = ItemOf<typeof WAKES>;

const update = SESSIONS.update({
  key: ['id'],
  set: ['status', 'attempts', 'announced', 'retryUntil', 'wakeAt', 'expiredAt'],
  versioned: true,
  guard: 'version',
});

export const sessionWrites = {
  /** Guard: the idempotency key is new, and the customer is active and has the email address of the session. */
  session_created({ session }: { session: Session }) {
    const { customerEmail, idempotencyKey } = session;
    const keys = [emailKey(customerEmail), idempotencyKey === null ? null : erasedKey(idempotencyKey)];
    return statement(INSERT, [...SESSIONS.values(session), ...keys], 'session_refused');
  },
  /** Guard: the stored version is the previous one. `before` is the session of that version. */
  session_changed: ({ session, before }: { session: Session; before?: Session }) => update(session, before),
  /** Prevents other instances from waking the session before `until`. Guard: the wake time is unchanged. */
  wake_claimed: ({ wake: { sessionId, wakeAt }, until }: { wake: DueWake; until: Instant }) =>
    statement(CLAIM_WAKE, [sessionId, wakeAt, until], 'overtaken'),
};

export function createSessionReads(select: Select) {
  const { one, find, all, list } = createReader(select);
  return {
    session: (id: string) => find(SESSIONS, id),
    sessionByIdempotencyKey: (environment: Environment, key: string) =>
      one(SESSIONS.fromRow, SELECT_BY_KEY, environment, key, erasedKey(key)),
    /** Sessions whose `wakeAt` has passed, oldest first. */
    sessionsToWake: (now: Instant, limit: number) => all(WAKES.fromRow, SELECT_TO_WAKE, now, limit),
    hasSession: async (environment: Environment) => (await select(SELECT_ANY, environment)).length > 0,
    async listSessions({ status, customer, clientReferenceId, environment }: SessionFilter, page: Page) {
      const given = { status, client_reference_id: clientReferenceId };
      const open = { status: SESSION_STATUSES };
      if (customer === undefined) {
        const leading = { environment: ENVIRONMENTS, ...open };
        return list(filterKeyset('sessions', { ...given, environment }, leading), page, SESSIONS.fromRow);
      }
      const [id, email] = customer.includes('@') ? [undefined, customer] : [customer, undefined];
      const { sql, params } = customersNamed(id, email)!;
      const found = (await select(sql, ...params)).filter(
        (row) => row['environment'] === (environment ?? row['environment']),
      );
      const ids = found.map((row) => row['id'] as string);
      if (ids.length === 0) return EMPTY_PAGE;
      // A customer has one environment, so the query then needs no range per environment.
      const range = splitColumns(given, { customer_id: ids, ...open });
      return list({ table: 'sessions', ...range }, page, SESSIONS.fromRow);
    },
  };
}
