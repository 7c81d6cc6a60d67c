import type { ApiKey } from '../../domain/api-key.ts';
import type { Instant } from '../../domain/records.ts';
import type { Environment } from '../../domain/route.ts';
import { type Select, filterKeyset } from '../keyset.ts';
import type { Page } from '../list-page.ts';
import { createReader } from '../row-reader.ts';
import { describeTable, integer, named, text } from '../table-description.ts';
import { statement } from '../write-statement.ts';

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
// Checks the limit and adds to the sum in one statement: a concurrent request waits for the row, then adds to the new sum.
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

const lockOf = (keyId: string) => `key ${keyId}`;

/** API keys of the service. `none`: no key exists; `revoked`: all keys are revoked; `active`: a key is not revoked. */
type KeysKnown = 'none' | 'revoked' | 'active';

export interface ApiKeyFilter {
  environment?: Environment;
}

const insert = API_KEYS.insert({ onConflict: 'ON CONFLICT DO NOTHING', guard: 'overtaken' });

export const apiKeyWrites = {
  /** Guard: the id and the hash of the key are new. */
  api_key_created: ({ key }: { key: ApiKey }) => insert(key),
  /** Guard: the key is not revoked. A concurrent revocation is applied before or after the whole change set. */
  api_key_active: ({ keyId }: { keyId: string }) => statement(HOLD, [keyId], 'key_revoked', lockOf(keyId)),
  api_key_used: ({ keyId, at }: { keyId: string; at: Instant }) =>
    statement(USE, [keyId, at], undefined, lockOf(keyId)),
  /** Guard: the key is not revoked yet. */
  api_key_revoked: ({ keyId, at }: { keyId: string; environment: Environment; at: Instant }) =>
    statement(REVOKE, [keyId, at], 'overtaken', lockOf(keyId)),
  /** Adds the cents of one checkout to the key's sum of a day. Guard: the key is not revoked, and its limits allow the amount. */
  api_key_spent: ({ keyId, day, amount }: { keyId: string; day: string; amount: number }) =>
    statement(SPEND, [keyId, day, amount], 'spend_limit', `spend ${keyId} ${day}`),
};

export function createApiKeyReads(select: Select) {
  const { one, find, list } = createReader(select);
  return {
    apiKey: (id: string) => find(API_KEYS, id),
    apiKeyByHash: (hash: string) => one(API_KEYS.fromRow, SELECT_BY_HASH, hash),
    apiKeysKnown: async () => (await one((row) => row['known'] as KeysKnown, SELECT_KNOWN)) ?? 'none',
    listApiKeys: ({ environment }: ApiKeyFilter, page: Page) =>
      list(filterKeyset('api_keys', { environment }, {}), page, API_KEYS.fromRow),
    /** Cents that a key has spent on a day; `day` has the format of `dayOf`. */
    apiKeySpend: async (keyId: string, day: string) =>
      (await one((row) => row['amount'] as number, SELECT_SPEND, keyId, day)) ?? 0,
  };
}
