import { MAX_EARLIER_SECRETS, MAX_ENDPOINTS } from '../../domain/webhook-endpoint.ts';
import { invariants, sqlList } from './invariant.ts';

const DELETED = sqlList(['deleting', 'deleted']);

/** Webhook endpoints and their secrets, sealed as they are: whether they open is told at the start of the service. */
export const ENDPOINT_INVARIANTS = invariants({
  endpoint_state: {
    says: 'An endpoint says why and since when it takes no events exactly while it takes none; it has types of events, and a URL until it is deleted.',
    sql: `SELECT id FROM webhook_endpoints
      WHERE (disabled_reason IS NULL) <> (status = 'active') OR (disabled_at IS NULL) <> (status = 'active')
        OR events = '' OR (url = '') <> (status IN (${DELETED})) OR version < 1`,
  },
  endpoint_slot: {
    says: `An environment has at most ${MAX_ENDPOINTS} endpoints that the API made: each holds a place of its own until it is deleted.`,
    sql: `SELECT id FROM webhook_endpoints
      WHERE (slot IS NULL) <> (source = 'configuration' OR status IN (${DELETED})) OR slot < 1 OR slot > ${MAX_ENDPOINTS}
      UNION SELECT MAX(id) AS id FROM webhook_endpoints WHERE slot IS NOT NULL
      GROUP BY environment, slot HAVING COUNT(*) > 1`,
  },
  endpoint_secrets: {
    says: `An endpoint that the API made has one secret without an end, its newest, and at most ${MAX_EARLIER_SECRETS} others; a disabled one may have none at all.`,
    sql: `SELECT endpoint.id AS id FROM webhook_endpoints AS endpoint
      LEFT JOIN webhook_secrets AS secret ON secret.endpoint_id = endpoint.id
      WHERE endpoint.source = 'api' AND endpoint.status NOT IN (${DELETED})
      GROUP BY endpoint.id
      HAVING COUNT(secret.number) > ${MAX_EARLIER_SECRETS + 1}
        OR (SUM(CASE WHEN secret.number IS NOT NULL AND secret.expires_at IS NULL THEN 1 ELSE 0 END) <> 1
          AND (COUNT(secret.number) > 0 OR MAX(endpoint.status) <> 'disabled'))
        OR MAX(secret.number) <> MAX(CASE WHEN secret.expires_at IS NULL THEN secret.number END)`,
  },
  secret_endpoint: {
    says: 'A secret is sealed, and has an endpoint of the same environment that the API made and nobody deleted.',
    sql: `SELECT DISTINCT secret.endpoint_id AS id FROM webhook_secrets AS secret
      LEFT JOIN webhook_endpoints AS endpoint ON endpoint.id = secret.endpoint_id
      WHERE endpoint.id IS NULL OR endpoint.source <> 'api' OR endpoint.status IN (${DELETED})
        OR endpoint.environment <> secret.environment OR SUBSTR(secret.sealed, 1, 3) <> 'v1.'
        OR (secret.expires_at IS NOT NULL AND secret.expires_at < secret.created)`,
  },
  deleted_endpoint_delivery: {
    says: 'Nothing waits for an endpoint that is deleted.',
    sql: `SELECT delivery.id AS id FROM deliveries AS delivery
      JOIN webhook_endpoints AS endpoint ON endpoint.id = delivery.endpoint_id
      WHERE endpoint.status = 'deleted' AND delivery.status = 'pending'`,
  },
});
