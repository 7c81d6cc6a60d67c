import type { Instant } from '../../domain/records.ts';
import type { EventType, SealedSecret, WebhookEndpoint } from '../../domain/webhook-endpoint.ts';
import type { Select, SelectEach } from '../keyset.ts';
import { createReader } from '../row-reader.ts';
import { describeTable, integer, text } from '../table-description.ts';
import { statement } from '../write-statement.ts';
import { deliveryFromRow } from './deliveries-table.ts';

const ENDPOINTS = describeTable<WebhookEndpoint>('webhook_endpoints', {
  id: text,
  environment: text,
  url: text,
  source: text,
  events: {
    type: 'TEXT',
    write: (types) => types.join(','),
    read: (stored) => (stored as string).split(',') as EventType[],
  },
  description: text,
  status: text,
  disabledReason: text,
  disabledAt: integer,
  failingSince: integer,
  lastSuccessAt: integer,
  version: integer,
  slot: integer,
  created: integer,
});
export const endpointFromRow = ENDPOINTS.fromRow;
const FIXED = new Set(['id', 'environment', 'created']);
const CHANGED = ENDPOINTS.columns.filter(({ name }) => !FIXED.has(name));
const saveEndpoint = ENDPOINTS.insert({
  onConflict: `ON CONFLICT (id) DO UPDATE SET ${CHANGED.map(({ name }) => `${name} = excluded.${name}`).join(', ')}`,
});
const createEndpoint = ENDPOINTS.insert({ onConflict: 'ON CONFLICT DO NOTHING', guard: 'overtaken' });
// Preserves `failing_since`, which deliveries write, unless the URL or the status changes.
const UPDATE = `UPDATE webhook_endpoints SET url = ?2, events = ?3, description = ?4, status = ?5, disabled_reason = ?6,
    disabled_at = ?7, failing_since = CASE WHEN status = ?5 AND url = ?2 THEN failing_since END,
    version = ?8, slot = ?9
  WHERE id = ?1 AND version = ?8 - 1`;
const ERASE_SECRETS = 'DELETE FROM webhook_secrets WHERE endpoint_id = ?1';
const SECRETS = describeTable<SealedSecret>('webhook_secrets', {
  endpointId: text,
  environment: text,
  number: integer,
  sealed: text,
  created: integer,
  expiresAt: integer,
});
const insertSecret = SECRETS.insert();
const RESEAL = 'UPDATE webhook_secrets SET sealed = ?4 WHERE endpoint_id = ?1 AND number = ?2 AND sealed = ?3';
const SUCCEEDED = `UPDATE webhook_endpoints SET last_success_at = ?2,
    failing_since = CASE WHEN failing_since > ?2 THEN failing_since END
  WHERE id = ?1 AND (last_success_at IS NULL OR last_success_at < ?2)`;
const FAILED = `UPDATE webhook_endpoints SET failing_since = ?2
  WHERE id = ?1 AND (failing_since IS NULL OR failing_since > ?2) AND (last_success_at IS NULL OR last_success_at < ?2)`;
const DISABLE = `UPDATE webhook_endpoints
  SET status = 'disabled', disabled_reason = ?3, disabled_at = ?4, version = version + 1
  WHERE id = ?1 AND url = ?2 AND status = 'active'`;
const DISABLE_FAILING = `${DISABLE} AND failing_since = ?5`;

// Excludes deleted endpoints, whose number only grows.
const SELECT_ENDPOINTS = "SELECT * FROM webhook_endpoints WHERE status IN ('active', 'disabled', 'deleting')";
const SELECT_SECRETS = 'SELECT * FROM webhook_secrets ORDER BY endpoint_id, number';
const SELECT_SECRETS_OF_ENDPOINT = 'SELECT * FROM webhook_secrets WHERE endpoint_id = ?1 ORDER BY number';
// `attempts` grows when an attempt begins, and the log gets a row when it ends. An attempt whose lease has expired is lost.
const NOT_IN_PROGRESS = `(candidate.due_at <= ?2 OR candidate.attempts = 0 OR EXISTS (
      SELECT 1 FROM delivery_attempts AS ended
      WHERE ended.delivery_id = candidate.id AND ended.number = candidate.attempts))`;
const SELECT_PENDING_DELIVERIES = `SELECT * FROM (
    SELECT candidate.* FROM deliveries AS candidate
    WHERE candidate.endpoint_id = ?1 AND candidate.status = 'pending' AND candidate.recover_at IS NULL AND ${NOT_IN_PROGRESS}
    ORDER BY candidate.due_at, candidate.id LIMIT ?3) AS part
  UNION ALL SELECT * FROM (
    SELECT candidate.* FROM deliveries AS candidate
    WHERE candidate.endpoint_id = ?1 AND candidate.recover_at IS NOT NULL AND ${NOT_IN_PROGRESS}
    ORDER BY candidate.recover_at, candidate.sequence, candidate.event_id LIMIT ?3) AS part
  ORDER BY due_at, id LIMIT ?3`;

interface OfEndpoint {
  endpoint: WebhookEndpoint;
}

interface AtEndpoint {
  endpointId: string;
  /** Time of the attempt; the statement compares times, so that the order of concurrent commits does not matter. */
  at: Instant;
}

export const endpointWrites = {
  /** Inserts or updates an endpoint that the configuration defines. */
  endpoint_saved: ({ endpoint }: OfEndpoint) => saveEndpoint(endpoint),
  /** Guard: no other endpoint has its slot. */
  endpoint_created: ({ endpoint }: OfEndpoint) => createEndpoint(endpoint),
  /** Guard: the stored version is the previous one. */
  endpoint_changed({ endpoint }: OfEndpoint) {
    const { id, url, events, description, status, disabledReason, disabledAt, version, slot } = endpoint;
    const params = [id, url, events.join(','), description, status, disabledReason, disabledAt, version, slot];
    return statement(UPDATE, params, 'overtaken');
  },
  /** Replaces all secrets of an endpoint. The change of the endpoint in the same change set has the guard. */
  secrets_replaced: ({ endpointId, secrets }: { endpointId: string; secrets: readonly SealedSecret[] }) => [
    statement(ERASE_SECRETS, [endpointId]),
    ...secrets.map((secret) => insertSecret({ ...secret, endpointId })),
  ],
  /** Stores a secret encrypted again. Guard: the stored encrypted text is unchanged. */
  secret_resealed: ({ secret, sealed }: { secret: SealedSecret; sealed: string }) =>
    statement(RESEAL, [secret.endpointId, secret.number, secret.sealed, sealed], 'overtaken'),
  endpoint_succeeded: ({ endpointId, at }: AtEndpoint) => statement(SUCCEEDED, [endpointId, at]),
  endpoint_failed: ({ endpointId, at }: AtEndpoint) => statement(FAILED, [endpointId, at]),
  /** Guard: the endpoint is active with this URL and, if `failingSince` is set, has had no success since then. */
  endpoint_disabled(change: AtEndpoint & { url: string; reason: string; failingSince: Instant | null }) {
    const { endpointId, url, reason, at, failingSince } = change;
    const params = [endpointId, url, reason, at];
    return failingSince === null
      ? statement(DISABLE, params, 'overtaken')
      : statement(DISABLE_FAILING, [...params, failingSince], 'overtaken');
  },
};

export function createEndpointReads(select: Select, selectEach: SelectEach) {
  const { find, all } = createReader(select);
  return {
    /** All endpoints except deleted ones; includes endpoints that are being deleted. */
    endpoints: async () => (await all(endpointFromRow, SELECT_ENDPOINTS)).toSorted((a, b) => (a.id < b.id ? -1 : 1)),
    /** The endpoint with an id, even if it is deleted. */
    endpoint: (id: string) => find(ENDPOINTS, id),
    /** Secrets of the given endpoints, grouped by endpoint, oldest first. */
    async endpointSecrets(endpointIds: readonly string[]) {
      if (endpointIds.length === 0) return [];
      const found = await selectEach(endpointIds.map((id) => ({ sql: SELECT_SECRETS_OF_ENDPOINT, params: [id] })));
      return found.flat().map(SECRETS.fromRow);
    },
    /** Pending deliveries of an endpoint without an attempt in progress, oldest due time first. */
    pendingDeliveries: (endpointId: string, now: Instant, limit: number) =>
      all(deliveryFromRow, SELECT_PENDING_DELIVERIES, endpointId, now, limit),
    sealedSecrets: () => all(SECRETS.fromRow, SELECT_SECRETS),
  };
}
