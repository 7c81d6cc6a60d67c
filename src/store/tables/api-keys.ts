import type { ApiKey } from '../../domain/api-key.ts';
import type { Instant } from '../../domain/records.ts';
import type { ApiKeyReads, KeysKnown } from '../api-keys.ts';
import type { Row, Select } from '../keyset.ts';
import { createReader } from '../reader.ts';
import { type Write, insertSql } from '../write.ts';

const INSERT = insertSql(
  'api_keys',
  [
    'id',
    'environment',
    'name',
    'scope',
    'key_hash',
    'last4',
    'spend_per_checkout',
    'spend_per_day',
    'source',
    'created',
    'last_used_at',
    'revoked_at',
  ],
  'ON CONFLICT DO NOTHING',
);
const HOLD = 'UPDATE api_keys SET name = name WHERE id = ?1 AND revoked_at IS NULL';
const USE = 'UPDATE api_keys SET last_used_at = ?2 WHERE id = ?1 AND (last_used_at IS NULL OR last_used_at < ?2)';
const REVOKE = 'UPDATE api_keys SET revoked_at = ?2 WHERE id = ?1 AND revoked_at IS NULL';
// One statement, so that whoever spends at the same time waits for the row and counts on: the sum never passes the limit.
const SPEND = `INSERT INTO api_key_spend (key_id, day, amount)
  SELECT id, ?2, CAST(?3 AS BIGINT) FROM api_keys
  WHERE id = ?1 AND revoked_at IS NULL
    AND CAST(?3 AS BIGINT) <= COALESCE(spend_per_checkout, CAST(?3 AS BIGINT))
    AND CAST(?3 AS BIGINT) <= COALESCE(spend_per_day, CAST(?3 AS BIGINT))
  ON CONFLICT (key_id, day) DO UPDATE SET amount = api_key_spend.amount + excluded.amount
  WHERE (SELECT spend_per_day FROM api_keys WHERE id = excluded.key_id) IS NULL
    OR api_key_spend.amount + excluded.amount <= (SELECT spend_per_day FROM api_keys WHERE id = excluded.key_id)`;

const SELECT = 'SELECT * FROM api_keys WHERE id = ?1';
const SELECT_BY_HASH = 'SELECT * FROM api_keys WHERE key_hash = ?1';
const SELECT_KNOWN = `SELECT CASE WHEN revoked_at IS NULL THEN 'active' ELSE 'revoked' END AS known
  FROM api_keys ORDER BY known LIMIT 1`;
const SELECT_SPEND = 'SELECT amount FROM api_key_spend WHERE key_id = ?1 AND day = ?2';

export function insertApiKey(key: ApiKey): Write {
  return {
    sql: INSERT,
    params: [
      key.id,
      key.environment,
      key.name,
      key.scope,
      key.hash,
      key.last4,
      key.spendPerCheckout,
      key.spendPerDay,
      key.source,
      key.created,
      key.lastUsedAt,
      key.revokedAt,
    ],
    guard: 'overtaken',
  };
}

export function holdApiKey(keyId: string): Write {
  return { sql: HOLD, params: [keyId], guard: 'key_revoked', locks: lockOf(keyId) };
}

export function useApiKey(keyId: string, at: Instant): Write {
  return { sql: USE, params: [keyId, at], locks: lockOf(keyId) };
}

export function revokeApiKey(keyId: string, at: Instant): Write {
  return { sql: REVOKE, params: [keyId, at], guard: 'overtaken', locks: lockOf(keyId) };
}

function lockOf(keyId: string): string {
  return `key ${keyId}`;
}

/** Adds to what a key has spent on a day, where both its limits allow it and it is active. */
export function spendOfApiKey(keyId: string, day: string, amount: number): Write {
  return { sql: SPEND, params: [keyId, day, amount], guard: 'spend_limit', locks: `spend ${keyId} ${day}` };
}

function keyFromRow(row: Row): ApiKey {
  return {
    id: row['id'] as string,
    environment: row['environment'] as ApiKey['environment'],
    name: row['name'] as string,
    scope: row['scope'] as ApiKey['scope'],
    hash: row['key_hash'] as string,
    last4: row['last4'] as string,
    spendPerCheckout: row['spend_per_checkout'] as number | null,
    spendPerDay: row['spend_per_day'] as number | null,
    source: row['source'] as ApiKey['source'],
    created: row['created'] as number,
    lastUsedAt: row['last_used_at'] as number | null,
    revokedAt: row['revoked_at'] as number | null,
  };
}

export function createApiKeyReads(select: Select): ApiKeyReads {
  const { one, list } = createReader(select);
  return {
    apiKey: (id) => one(keyFromRow, SELECT, id),
    apiKeyByHash: (hash) => one(keyFromRow, SELECT_BY_HASH, hash),
    async apiKeysKnown() {
      const [row] = await select(SELECT_KNOWN);
      return row ? (row['known'] as KeysKnown) : 'none';
    },
    listApiKeys: ({ environment }, page) =>
      list(
        { table: 'api_keys', equals: environment === undefined ? {} : { environment }, oneOf: {} },
        page,
        keyFromRow,
      ),
    async apiKeySpend(keyId, day) {
      const [row] = await select(SELECT_SPEND, keyId, day);
      return row ? (row['amount'] as number) : 0;
    },
  };
}
