import type { EventType, SealedSecret, WebhookEndpoint } from '../../domain/webhook-endpoint.ts';
import type { Row, Select, SelectEach } from '../keyset.ts';
import type { EndpointChange, EndpointReads } from '../webhook-endpoints.ts';
import { type Write, insertSql } from '../write.ts';
import { deliveryFromRow } from './webhooks.ts';

const COLUMNS = [
  'id',
  'environment',
  'url',
  'source',
  'events',
  'description',
  'status',
  'disabled_reason',
  'disabled_at',
  'failing_since',
  'last_success_at',
  'version',
  'slot',
  'created',
];
const FIXED = new Set(['id', 'environment', 'created']);
const CHANGED = COLUMNS.filter((column) => !FIXED.has(column));
const SAVE = insertSql(
  'webhook_endpoints',
  COLUMNS,
  `ON CONFLICT (id) DO UPDATE SET ${CHANGED.map((column) => `${column} = excluded.${column}`).join(', ')}`,
);
const CREATE = insertSql('webhook_endpoints', COLUMNS, 'ON CONFLICT DO NOTHING');
// Successes and failures are written by others meanwhile: they are forgotten where it is another receiver, or enabled.
const UPDATE = `UPDATE webhook_endpoints SET url = ?2, events = ?3, description = ?4, status = ?5, disabled_reason = ?6,
    disabled_at = ?7, failing_since = CASE WHEN status = ?5 AND url = ?2 THEN failing_since END,
    version = ?8, slot = ?9
  WHERE id = ?1 AND version = ?8 - 1`;
const ERASE_SECRETS = 'DELETE FROM webhook_secrets WHERE endpoint_id = ?1';
const INSERT_SECRET = insertSql('webhook_secrets', [
  'endpoint_id',
  'number',
  'environment',
  'sealed',
  'created',
  'expires_at',
]);
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

// Deleted ones become more and more, and are not read.
export const SELECT_ENDPOINTS = "SELECT * FROM webhook_endpoints WHERE status IN ('active', 'disabled', 'deleting')";
const SELECT_ENDPOINT = 'SELECT * FROM webhook_endpoints WHERE id = ?1';
const SELECT_SECRETS = 'SELECT * FROM webhook_secrets ORDER BY endpoint_id, number';
const SELECT_SECRETS_OF_ENDPOINT = 'SELECT * FROM webhook_secrets WHERE endpoint_id = ?1 ORDER BY number';
// An attempt is counted when it begins, logged when it has ended, and lost when its lease is over.
const NOT_UNDER_WAY = `(candidate.due_at <= ?2 OR candidate.attempts = 0 OR EXISTS (
      SELECT 1 FROM delivery_attempts AS ended
      WHERE ended.delivery_id = candidate.id AND ended.number = candidate.attempts))`;
const SELECT_PENDING_DELIVERIES = `SELECT * FROM (
    SELECT candidate.* FROM deliveries AS candidate
    WHERE candidate.endpoint_id = ?1 AND candidate.status = 'pending' AND candidate.recover_at IS NULL AND ${NOT_UNDER_WAY}
    ORDER BY candidate.due_at, candidate.id LIMIT ?3) AS part
  UNION ALL SELECT * FROM (
    SELECT candidate.* FROM deliveries AS candidate
    WHERE candidate.endpoint_id = ?1 AND candidate.recover_at IS NOT NULL AND ${NOT_UNDER_WAY}
    ORDER BY candidate.recover_at, candidate.sequence, candidate.event_id LIMIT ?3) AS part
  ORDER BY due_at, id LIMIT ?3`;

export function writesOfEndpoint(change: EndpointChange): Write | Write[] {
  switch (change.type) {
    case 'endpoint_saved':
      return { sql: SAVE, params: valuesOf(change.endpoint) };
    case 'endpoint_created':
      return { sql: CREATE, params: valuesOf(change.endpoint), guard: 'overtaken' };
    case 'endpoint_changed':
      return changeEndpoint(change.endpoint);
    case 'secrets_replaced':
      return replaceSecrets(change.endpointId, change.secrets);
    case 'secret_resealed': {
      const { endpointId, number, sealed: before } = change.secret;
      return { sql: RESEAL, params: [endpointId, number, before, change.sealed], guard: 'overtaken' };
    }
    case 'endpoint_succeeded':
      return { sql: SUCCEEDED, params: [change.endpointId, change.at] };
    case 'endpoint_failed':
      return { sql: FAILED, params: [change.endpointId, change.at] };
    case 'endpoint_disabled': {
      const { endpointId, url, reason, at, failingSince } = change;
      const params = [endpointId, url, reason, at];
      return failingSince === null
        ? { sql: DISABLE, params, guard: 'overtaken' }
        : { sql: DISABLE_FAILING, params: [...params, failingSince], guard: 'overtaken' };
    }
  }
}

function changeEndpoint(endpoint: WebhookEndpoint): Write {
  const { id, url, events, description, status, disabledReason, disabledAt, version, slot } = endpoint;
  return {
    sql: UPDATE,
    params: [id, url, events.join(','), description, status, disabledReason, disabledAt, version, slot],
    guard: 'overtaken',
  };
}

function replaceSecrets(endpointId: string, secrets: readonly SealedSecret[]): Write[] {
  return [
    { sql: ERASE_SECRETS, params: [endpointId] },
    ...secrets.map(({ number, environment, sealed, created, expiresAt }) => ({
      sql: INSERT_SECRET,
      params: [endpointId, number, environment, sealed, created, expiresAt],
    })),
  ];
}

export function createEndpointReads(select: Select, selectEach: SelectEach): EndpointReads {
  return {
    endpoints: async () =>
      (await select(SELECT_ENDPOINTS)).map(endpointFromRow).toSorted((a, b) => (a.id < b.id ? -1 : 1)),
    endpoint: async (id) => (await select(SELECT_ENDPOINT, id)).map(endpointFromRow)[0],
    async endpointSecrets(endpointIds) {
      if (endpointIds.length === 0) return [];
      const found = await selectEach(endpointIds.map((id) => ({ sql: SELECT_SECRETS_OF_ENDPOINT, params: [id] })));
      return found.flat().map(secretFromRow);
    },
    pendingDeliveries: async (endpointId, now, limit) =>
      (await select(SELECT_PENDING_DELIVERIES, endpointId, now, limit)).map(deliveryFromRow),
    sealedSecrets: async () => (await select(SELECT_SECRETS)).map(secretFromRow),
  };
}

function valuesOf(endpoint: WebhookEndpoint) {
  return [
    endpoint.id,
    endpoint.environment,
    endpoint.url,
    endpoint.source,
    endpoint.events.join(','),
    endpoint.description,
    endpoint.status,
    endpoint.disabledReason,
    endpoint.disabledAt,
    endpoint.failingSince,
    endpoint.lastSuccessAt,
    endpoint.version,
    endpoint.slot,
    endpoint.created,
  ];
}

export function endpointFromRow(row: Row): WebhookEndpoint {
  return {
    id: row['id'] as string,
    environment: row['environment'] as WebhookEndpoint['environment'],
    url: row['url'] as string,
    source: row['source'] as WebhookEndpoint['source'],
    events: (row['events'] as string).split(',') as EventType[],
    description: row['description'] as string,
    status: row['status'] as WebhookEndpoint['status'],
    disabledReason: row['disabled_reason'] as string | null,
    disabledAt: row['disabled_at'] as number | null,
    failingSince: row['failing_since'] as number | null,
    lastSuccessAt: row['last_success_at'] as number | null,
    version: row['version'] as number,
    slot: row['slot'] as number | null,
    created: row['created'] as number,
  };
}

function secretFromRow(row: Row): SealedSecret {
  return {
    endpointId: row['endpoint_id'] as string,
    environment: row['environment'] as SealedSecret['environment'],
    number: row['number'] as number,
    sealed: row['sealed'] as string,
    created: row['created'] as number,
    expiresAt: row['expires_at'] as number | null,
  };
}
