import { KEY_SCOPES, KEY_SOURCES } from '../../domain/api-key.ts';
import { ENVIRONMENTS } from '../../domain/route.ts';
import { invariants, unknownValues } from './invariant.ts';

const UNKNOWN = unknownValues({ environment: ENVIRONMENTS, scope: KEY_SCOPES, source: KEY_SOURCES });

/** API keys, and the spend limits of agents. */
export const API_KEY_INVARIANTS = invariants({
  api_key_values: {
    says: 'An API key has an id of its type, and an environment, scope and source that there are.',
    sql: `SELECT id FROM api_keys WHERE SUBSTR(id, 1, 4) <> 'key_' OR ${UNKNOWN}`,
  },
  api_key_hash: {
    says: 'Of an API key a hash is kept, which no other key has, and the last four characters.',
    sql: `SELECT id FROM api_keys WHERE LENGTH(key_hash) <> 64 OR LENGTH(last4) <> 4
      OR key_hash IN (SELECT key_hash FROM api_keys GROUP BY key_hash HAVING COUNT(*) > 1)`,
  },
  api_key_limits: {
    says: 'An API key has a spend limit, of more than nothing, exactly when it is of an agent.',
    sql: `SELECT id FROM api_keys
      WHERE (scope = 'agent') <> (spend_per_checkout IS NOT NULL OR spend_per_day IS NOT NULL)
        OR spend_per_checkout <= 0 OR spend_per_day <= 0`,
  },
  api_key_spend: {
    says: 'Only the API key of an agent spends, and on no day more than its limit.',
    sql: `SELECT spend.key_id || ' ' || spend.day AS id FROM api_key_spend AS spend
      LEFT JOIN api_keys AS api_key ON api_key.id = spend.key_id
      WHERE api_key.id IS NULL OR api_key.scope <> 'agent' OR spend.amount <= 0 OR spend.amount > api_key.spend_per_day`,
  },
});
