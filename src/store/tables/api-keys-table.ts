import type { ApiKey } from '../../domain/api-key.ts';
import type { Instant } from '../../domain/records.ts';
import type { ApiKeyReads, KeysKnown } from '../api-keys-port.ts';
import { type Select, filterKeyset } from '../keyset.ts';
import { createReader } from '../row-reader.ts';
import { describeTable, integer, named, text } from '../table-description.ts';
import type { Write } from '../write-statement.ts';

const API_KEYS = describeTable<ApiKey>('api_keys', {
  id: text,
  environment: text,
  name: text,
  scope: text,
  hash: named('key_hash', text),
  last4: text,
  spendPerCheckout: integer,
  spendPerDay: integer,
  source: text,
  created: integer,
  lastUsedAt: integer,
  revokedAt: integer,
});
const HOLD = 'UPDATE api_keys SET name = name WHERE id = ?1 AND revoked_at IS NULL';
const USE = 'UPDATE api_keys SET last_used_at = ?2 WHERE id = ?1 AND (last_used_at IS NULL OR last_used_at < ?2)';
const REVOKE = 'UPDATE api_keys SET revoked_at = ?2 WHERE id = ?1 AND revoked_at IS NULL';
// One statement, so that a concurrent spend waits for the row and adds to the new sum: the sum never passes the limit.
const SPEND = `INSERT INTO api_key_spend (key_id, day, amount)
  SELECT id, ?2, CAST(?3 AS BIGINT) FROM api_keys
  WHERE id = ?1 AND revoked_at IS NULL
    AND CAST(?3 AS BIGINT) <= COALESCE(spend_per_checkout, CAST(?3 AS BIGINT))
    AND CAST(?3 AS BIGINT) <= COALESCE(spend_per_day, CAST(?3 AS BIGINT))
  ON CONFLICT (key_id, day) DO UPDATE SET amount = api_key_spend.amount + excluded.amount
  WHERE (SELECT spend_per_day FROM api_keys WHERE id = excluded.key_id) IS NULL
    OR api_key_spend.amount + excluded.amount <= (SELECT spend_per_day FROM api_keys WHERE id = excluded.key_id)`;

const SELECT_BY_HASH = 'SELECT * FROM api_keys WHERE key_hash = ?1';
const SELECT_KNOWN = `SELECT CASE WHEN revoked_at IS NULL THEN 'active' ELSE 'revoked' END AS known
  FROM api_keys ORDER BY known LIMIT 1`;
const SELECT_SPEND = 'SELECT amount FROM api_key_spend WHERE key_id = ?1 AND day = ?2';

export const insertApiKey = API_KEYS.insert({ onConflict: 'ON CONFLICT DO NOTHING', guard: 'overtaken' });

export function requireActiveKey(keyId: string): Write {
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

/** Adds to the amount that an active key has spent on a day, within both its limits. */
export function spendOfApiKey(keyId: string, day: string, amount: number): Write {
  return { sql: SPEND, params: [keyId, day, amount], guard: 'spend_limit', locks: `spend ${keyId} ${day}` };
}

export function createApiKeyReads(select: Select): ApiKeyReads {
  const { one, find, list } = createReader(select);
  return {
    apiKey: (id) => find(API_KEYS, id),
    apiKeyByHash: (hash) => one(API_KEYS.fromRow, SELECT_BY_HASH, hash),
    apiKeysKnown: async () => (await one((row) => row['known'] as KeysKnown, SELECT_KNOWN)) ?? 'none',
    listApiKeys: ({ environment }, page) => list(filterKeyset('api_keys', { environment }, {}), page, API_KEYS.fromRow),
    apiKeySpend: async (keyId, day) => (await one((row) => row['amount'] as number, SELECT_SPEND, keyId, day)) ?? 0,
  };
}
