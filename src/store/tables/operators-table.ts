import { LOCK, type Operator, REFUND_LIMIT } from '../../domain/operator.ts';
import type { Instant } from '../../domain/records.ts';
import type { Environment } from '../../domain/route.ts';
import { type Select, filterKeyset } from '../keyset.ts';
import type { Page } from '../list-page.ts';
import { createReader } from '../row-reader.ts';
import {
  type ItemOf,
  defineTable,
  describeTable,
  integer,
  named,
  orNull,
  saveVersions,
  text,
} from '../table-description.ts';
import { statement } from '../write-statement.ts';

const OPERATORS = describeTable<Operator>('operators', {
  id: text,
  version: integer,
  email: text,
  roles: { group: { sandbox: named('sandbox_role', text), production: named('production_role', text) } },
  passwordHash: text,
  totpSealed: text,
  totpStep: integer,
  created: integer,
  joinedAt: integer,
  lastLoginAt: integer,
});
const SAVED = ['roles', 'passwordHash', 'totpSealed', 'totpStep', 'joinedAt', 'lastLoginAt'] as const;
/** Passkeys; the id is the id of the credential, and the public key is the COSE key, both in base64url. */
const PASSKEYS = defineTable('operator_passkeys', {
  id: text,
  operatorId: text,
  publicKey: text,
  counter: integer,
  created: integer,
  lastUsedAt: orNull(integer),
});
export type Passkey = ItemOf<typeof PASSKEYS>;
/** Invitations by link; the id is the hash of the link's secret. */
const INVITES = defineTable('operator_invites', { id: text, operatorId: text, expiresAt: integer });
/** Challenges for passkeys; the id is the challenge, and the purpose names the operator for whom it was made. */
const CHALLENGES = defineTable('operator_challenges', { id: text, purpose: text, expiresAt: integer });
/** Logins; the id is the hash of the token in the cookie, and the owner is an operator or an API key. */
const SESSIONS = defineTable('operator_sessions', {
  id: text,
  ownerId: text,
  created: integer,
  lastActiveAt: integer,
  provenAt: integer,
  endedAt: orNull(integer),
  address: text,
});
export type OperatorSession = ItemOf<typeof SESSIONS>;

/** Time after its last activity at which a session is deleted with its network address. */
const SESSION_KEPT_MS = 30 * 24 * 60 * 60_000;
const LOCK_ADMINS = 'INSERT INTO operator_lock (id) VALUES (1) ON CONFLICT (id) DO UPDATE SET id = excluded.id';
const KEEP_ADMIN = `UPDATE operator_lock SET id = id WHERE id = 1
  AND EXISTS (SELECT 1 FROM operators WHERE production_role = 'admin' AND joined_at IS NOT NULL)`;
// Counts before the secret is checked, so that parallel tries cannot exceed the limit.
const TRY_LOGIN = `INSERT INTO operator_login_failures (name_hash, failures, last_at) VALUES (?1, 1, ?2)
  ON CONFLICT (name_hash) DO UPDATE SET failures = operator_login_failures.failures + 1, last_at = excluded.last_at
  WHERE operator_login_failures.failures < ${LOCK.failures}`;
// Checks the limit and adds to the sum in one statement, as for agent keys.
const SPEND = `INSERT INTO operator_spend (operator_id, environment, day, amount)
  SELECT id, ?2, ?3, CAST(?4 AS BIGINT) FROM operators
  WHERE id = ?1 AND CAST(?4 AS BIGINT) <= ${REFUND_LIMIT}
  ON CONFLICT (operator_id, environment, day) DO UPDATE SET amount = operator_spend.amount + excluded.amount
  WHERE operator_spend.amount + excluded.amount <= ${REFUND_LIMIT}`;
const END_SESSION = 'UPDATE operator_sessions SET ended_at = ?2 WHERE ended_at IS NULL';
const SELECT_SESSIONS = `SELECT * FROM operator_sessions
  WHERE owner_id = ?1 AND ended_at IS NULL AND last_active_at > ?2 ORDER BY last_active_at DESC LIMIT 100`;

const saveOperator = saveVersions(OPERATORS, { key: ['id'], set: SAVED, guard: 'overtaken' });
const insertPasskey = PASSKEYS.insert({ onConflict: 'ON CONFLICT DO NOTHING', guard: 'overtaken' });
const updatePasskey = PASSKEYS.update({ key: ['id'], set: ['counter', 'lastUsedAt'], guard: 'overtaken' });
const [insertInvite, insertSession, insertChallenge] = [INVITES.insert(), SESSIONS.insert(), CHALLENGES.insert()];
const remove = (table: string, condition: string, ...params: (string | number)[]) =>
  statement(`DELETE FROM operator_${table} WHERE ${condition}`, params);
/** A removal whose guard is that the row exists. */
const use = (...removal: Parameters<typeof remove>) => ({ ...remove(...removal), guard: 'overtaken' as const });

export const operatorWrites = {
  /** Guards: the version before, or a new address; with `losesAdmin`, another production admin who has joined. */
  operator_saved: ({ operator, losesAdmin }: { operator: Operator; losesAdmin: boolean }) =>
    losesAdmin
      ? [
          statement(LOCK_ADMINS, [], 'overtaken', 'admins'),
          saveOperator(operator),
          statement(KEEP_ADMIN, [], 'last_admin'),
        ]
      : saveOperator(operator),
  passkey_added: ({ passkey }: { passkey: Passkey }) => insertPasskey(passkey),
  passkey_used: ({ passkey }: { passkey: Passkey }) => updatePasskey(passkey),
  passkey_removed: ({ id, operatorId }: { id: string; operatorId: string }) =>
    use('passkeys', 'id = ?1 AND operator_id = ?2', id, operatorId),
  passkeys_removed: ({ operatorId }: { operatorId: string }) => remove('passkeys', 'operator_id = ?1', operatorId),
  /** Replaces the invitations of the operator. */
  operator_invited: ({ invite }: { invite: ItemOf<typeof INVITES> }) => [
    remove('invites', 'operator_id = ?1', invite.operatorId),
    insertInvite(invite),
  ],
  /** Guard: the invitation exists and is not over. */
  invite_used: ({ id, at }: { id: string; at: Instant }) => use('invites', 'id = ?1 AND expires_at > ?2', id, at),
  /** Also deletes old sessions. */
  operator_session_created: ({ login }: { login: OperatorSession }) => [
    remove('sessions', 'last_active_at < ?1', login.lastActiveAt - SESSION_KEPT_MS),
    insertSession(login),
  ],
  operator_session_used: ({ id, at }: { id: string; at: Instant }) =>
    statement('UPDATE operator_sessions SET last_active_at = ?2 WHERE id = ?1 AND last_active_at < ?2', [id, at]),
  operator_session_ended: ({ login, at }: { login: OperatorSession; at: Instant }) =>
    statement(`${END_SESSION} AND id = ?1`, [login.id, at]),
  operator_sessions_ended: ({ operatorId, at }: { operatorId: string; at: Instant }) =>
    statement(`${END_SESSION} AND owner_id = ?1`, [operatorId, at]),
  challenge_created: ({ challenge, at }: { challenge: ItemOf<typeof CHALLENGES>; at: Instant }) => [
    remove('challenges', 'expires_at <= ?1', at),
    insertChallenge(challenge),
  ],
  /** Guard: the challenge has that purpose, is not over and was not used. */
  challenge_used: ({ challenge, purpose, at }: { challenge: string; purpose: string; at: Instant }) =>
    use('challenges', 'id = ?1 AND purpose = ?2 AND expires_at > ?3', challenge, purpose, at),
  /** Counts a try to log in with a name. Guard: the name is not locked. */
  login_tried: ({ nameHash, at }: { nameHash: string; at: Instant }) => [
    remove('login_failures', 'last_at <= ?1', at - LOCK.ms),
    statement(TRY_LOGIN, [nameHash, at], 'overtaken'),
  ],
  login_passed: ({ nameHash }: { nameHash: string }) => remove('login_failures', 'name_hash = ?1', nameHash),
  /** Adds the cents of a refund to the operator's sum of a day. Guard: the limit allows the amount. */
  operator_spent: (spent: { operatorId: string; environment: Environment; day: string; amount: number }) =>
    statement(SPEND, [spent.operatorId, spent.environment, spent.day, spent.amount], 'spend_limit'),
};

export function createOperatorReads(select: Select) {
  const { one, find, all, list } = createReader(select);
  return {
    operator: (id: string) => find(OPERATORS, id),
    operatorByEmail: (email: string) => one(OPERATORS.fromRow, 'SELECT * FROM operators WHERE email = ?1', email),
    listOperators: (page: Page) => list(filterKeyset('operators', {}, {}), page, OPERATORS.fromRow),
    /** True once an operator has joined. */
    hasOperators: async () => (await select('SELECT id FROM operators WHERE joined_at IS NOT NULL LIMIT 1')).length > 0,
    joinedOperators: () => all(OPERATORS.fromRow, 'SELECT * FROM operators WHERE joined_at > 0'),
    passkey: (id: string) => find(PASSKEYS, id),
    passkeysOfOperator: (operatorId: string) =>
      all(PASSKEYS.fromRow, 'SELECT * FROM operator_passkeys WHERE operator_id = ?1 ORDER BY created', operatorId),
    operatorInvite: (id: string) => find(INVITES, id),
    operatorSession: (id: string) => find(SESSIONS, id),
    /** Sessions that have not ended, with an activity after `since`, at most 100. */
    sessionsOfOperator: (operatorId: string, since: Instant) =>
      all(SESSIONS.fromRow, SELECT_SESSIONS, operatorId, since),
    /** Cents that an operator of role support has refunded on a day; `day` has the format of `dayOf`. */
    operatorSpend: async (environment: Environment, ...spent: [operatorId: string, day: string]) => {
      const sql = 'SELECT amount FROM operator_spend WHERE operator_id = ?2 AND environment = ?1 AND day = ?3';
      return (await one((row) => row['amount'] as number, sql, environment, ...spent)) ?? 0;
    },
  };
}
