import type {
  CreateEndpointRequest,
  EndpointDetails,
  ChangeEndpointRequest,
} from '../../contract/webhook-endpoint-contract.ts';
import { GatewayError, invalidField } from '../../domain/gateway-error.ts';
import type { Environment } from '../../domain/route.ts';
import {
  MAX_ENDPOINTS,
  type WebhookEndpoint,
  newEndpoint,
  rotatedSecrets,
  withStatus,
  MAX_EARLIER_SECRETS,
  deletedEndpoint,
  type SealedSecret,
} from '../../domain/webhook-endpoint.ts';
import type { Deps } from '../deps.ts';
import { retryOnConflict } from '../retry-on-conflict.ts';
import { withSecrets, getEndpoint } from './find-endpoint.ts';
import { isIP } from 'node:net';
import { type WebhookTargets, blockReason, targetsOf } from '../../webhooks/address.ts';
import { createHash } from 'node:crypto';

/**
 * Creates an endpoint and returns its secret; no later response contains it. Throws GatewayError `invalid_input` for a URL that cannot be
 * delivered to, and `invalid_state` if there are too many endpoints or no key to encrypt the secret with.
 */
export async function createEndpoint(
  { store, now, newId, webhooks }: Pick<Deps, 'store' | 'now' | 'newId' | 'webhooks'>,
  request: CreateEndpointRequest,
): Promise<EndpointDetails & { secret: string }> {
  const { url, environment, events, description } = request;
  checkUrl(url, environment, webhooks.targets);
  const id = newId('whe');
  const place = { endpointId: id, environment };
  const { secret, sealed } = webhooks.secretBox.newSecret(place);
  return retryOnConflict({ store }, 'the webhook endpoints', async () => {
    const slot = freeSlot(await store.endpoints(), environment);
    const created = now();
    const endpoint = newEndpoint({ id, source: 'api', environment, url, events, description, slot, created });
    const secrets = rotatedSecrets([], { ...place, sealed, created }, created);
    return {
      changes: [
        { type: 'endpoint_created', endpoint },
        { type: 'secrets_replaced', endpointId: id, secrets },
      ],
      result: { endpoint, secrets, secret },
    };
  });
}

function freeSlot(endpoints: readonly WebhookEndpoint[], environment: Environment): number {
  const taken = new Set(endpoints.filter((one) => one.environment === environment).map(({ slot }) => slot));
  for (let slot = 1; slot <= MAX_ENDPOINTS; slot++) if (!taken.has(slot)) return slot;
  const message = `There are ${MAX_ENDPOINTS} ${environment} webhook endpoints, which is the maximum.`;
  throw new GatewayError('invalid_state', message, {
    suggestion: 'Delete one that is not needed any more, or let one receiver pass events on; then resend.',
  });
}

/**
 * Changes the fields that the request has. Throws GatewayError `not_found`, `invalid_input` for a URL that cannot be
 * delivered to, and `invalid_state` for the endpoint of the configuration, which can only be enabled, and for enabling an
 * endpoint without a secret.
 */
export async function changeEndpoint(
  deps: Pick<Deps, 'store' | 'now' | 'webhooks'>,
  id: string,
  request: ChangeEndpointRequest,
): Promise<EndpointDetails> {
  const { status, ...fields } = request;
  const { endpoint } = await commitEndpoint(deps, id, async (before) => {
    if (Object.keys(fields).length > 0 || status !== 'active') {
      rejectConfiguredEndpoint(
        before,
        'Change WEBHOOK_URL of the service and start it again; {"status": "active"} alone is taken here, and enables it.',
      );
    }
    if (fields.url !== undefined) checkUrl(fields.url, before.environment, deps.webhooks.targets);
    if (status === 'active' && before.status !== 'active') await requireSecret(deps, before);
    const changed = withFields(before, fields);
    return { endpoint: status === undefined ? changed : withStatus(changed, status, deps.now()) };
  });
  const [details] = await withSecrets(deps, [endpoint]);
  return details!;
}

/** Throws GatewayError `invalid_state` if an endpoint from the API has no secret. */
async function requireSecret({ store }: Pick<Deps, 'store'>, { id, source }: WebhookEndpoint): Promise<void> {
  if (source === 'configuration' || (await store.endpointSecrets([id])).length > 0) return;
  const message = `Webhook endpoint ${id} has no secret: it could not be decrypted, and was dropped.`;
  throw new GatewayError('invalid_state', message, {
    suggestion: `Rotate the secret first, with tillway endpoints rotate-secret ${id} or POST /api/gateway/webhook-endpoints/${id}/rotate-secret, and give the new one to the receiver; then enable it.`,
  });
}

/** The endpoint with the fields of a request. A new URL clears the recorded failures. */
function withFields(before: WebhookEndpoint, fields: Omit<ChangeEndpointRequest, 'status'>): WebhookEndpoint {
  const { url = before.url, description = before.description } = fields;
  const events = fields.events ?? before.events;
  const isSame = url === before.url && description === before.description && events.join() === before.events.join();
  if (isSame) return before;
  return { ...before, url, events, description, failingSince: url === before.url ? before.failingSince : null };
}

const HOUR_MS = 3_600_000;

/**
 * Gives an endpoint a new secret and returns it; no later response contains it. Earlier secrets sign for at most `expiresInHours` more. Throws
 * GatewayError `not_found`, and `invalid_state` for the endpoint of the configuration, if too many secrets sign already, and
 * without a key to encrypt the secret with.
 */
export async function rotateSecret(
  { store, now, webhooks }: Pick<Deps, 'store' | 'now' | 'webhooks'>,
  endpointId: string,
  expiresInHours: number,
): Promise<EndpointDetails & { secret: string }> {
  return commitEndpoint({ store }, endpointId, async (before) => {
    rejectConfiguredEndpoint(before, 'Change WEBHOOK_SECRET of the service and start it again.');
    const place = { endpointId, environment: before.environment };
    const { secret, sealed } = webhooks.secretBox.newSecret(place);
    const created = now();
    const known = await store.endpointSecrets([endpointId]);
    const secrets = rotatedSecrets(known, { ...place, sealed, created }, created + expiresInHours * HOUR_MS);
    if (secrets.length > MAX_EARLIER_SECRETS + 1) {
      const message = `Webhook endpoint ${endpointId} has ${MAX_EARLIER_SECRETS} earlier secrets that still sign, which is the maximum.`;
      const suggestion =
        'Wait until one has expired, or send "expiresInHours": 0, which ends all earlier ones at once.';
      throw new GatewayError('invalid_state', message, { suggestion });
    }
    return { endpoint: before, secrets, secret };
  });
}

/** Deletes an endpoint and its secrets. Throws GatewayError `not_found`, or `invalid_state` for the configured endpoint. */
export async function deleteEndpoint(deps: Pick<Deps, 'store' | 'now' | 'webhooks'>, id: string): Promise<void> {
  await commitEndpoint(deps, id, (before) => {
    // An endpoint of an earlier configuration can be deleted.
    if (deps.webhooks.configured?.endpointId === id) {
      rejectConfiguredEndpoint(before, 'Start the service without WEBHOOK_URL; then delete it.');
    }
    return { endpoint: deletedEndpoint(before, deps.now()), secrets: [] };
  });
}

export interface EndpointDecision {
  endpoint: WebhookEndpoint;
  /** The new secrets; absent if they stay unchanged. */
  secrets?: readonly SealedSecret[];
}

/** Reads an endpoint, decides and commits; retries after a conflict. Without new secrets, the same object means no change. Throws GatewayError `not_found`. */
export function commitEndpoint<Decision extends EndpointDecision>(
  deps: Pick<Deps, 'store'>,
  id: string,
  decide: (endpoint: WebhookEndpoint) => Decision | Promise<Decision>,
): Promise<Decision> {
  return retryOnConflict(deps, `webhook endpoint ${id}`, async () => {
    const before = await getEndpoint(deps, id);
    const decision = await decide(before);
    const { secrets } = decision;
    if (decision.endpoint === before && secrets === undefined) return { changes: [], result: decision };
    const endpoint = { ...decision.endpoint, version: before.version + 1 };
    return {
      changes: [
        { type: 'endpoint_changed', endpoint },
        ...(secrets ? [{ type: 'secrets_replaced', endpointId: id, secrets } as const] : []),
      ],
      result: { ...decision, endpoint },
    };
  });
}

/** Throws GatewayError `invalid_state` for the endpoint of the configuration, which the API cannot change. */
function rejectConfiguredEndpoint({ id, source, environment }: WebhookEndpoint, suggestion: string): void {
  if (source !== 'configuration') return;
  const message = `Webhook endpoint ${id} is the one that the configuration of the service names for ${environment}, and cannot be changed here.`;
  throw new GatewayError('invalid_state', message, { suggestion });
}

/** Throws GatewayError `invalid_input` for an undeliverable or, in production, unencrypted URL. Host names are resolved only at delivery. */
function checkUrl(url: string, environment: Environment, configured: WebhookTargets): void {
  const targets = targetsOf(environment, configured);
  const { protocol, hostname } = new URL(url);
  const address = hostname.replace(/^\[|\]$/g, '');
  const reason = isIP(address) === 0 ? undefined : blockReason(address, targets);
  if (reason !== undefined) {
    const advice =
      'Set url to an address that this service may send to; WEBHOOK_ALLOW_PRIVATE=true of the service allows private ones; then resend.';
    throw invalidField('url', 'blocked_destination', `must not go to ${address}: it ${reason}`, advice);
  }
  // Plain http is allowed once the operator has allowed private addresses.
  if (environment === 'production' && protocol === 'http:' && targets !== 'any') {
    const advice = 'Set url to an https URL; then resend.';
    throw invalidField('url', 'invalid_format', 'must use https in production', advice);
  }
}

/**
 * Registers the endpoint of the configuration, or makes it active again. Its id derives from the environment, so that
 * every instance registers the same endpoint, and pending deliveries go to its new URL after a change. Without a
 * configured endpoint nothing changes: an earlier one keeps its pending deliveries until a process with its secret sends
 * them.
 */
export async function registerConfiguredEndpoint(
  deps: Pick<Deps, 'store' | 'now'>,
  webhook: { url: string; environment: Environment } | undefined,
): Promise<void> {
  if (!webhook) return;
  const { url, environment } = webhook;
  const id = configuredEndpointId(environment);
  const before = await deps.store.endpoint(id);
  // A start of a process does not clear the recorded failures of an unchanged endpoint.
  if (before?.status === 'active' && before.url === url) return;
  const fresh = newEndpoint({ id, environment, url, created: before?.created ?? deps.now() });
  const endpoint = { ...fresh, version: (before?.version ?? 0) + 1 };
  await deps.store.commit([{ type: 'endpoint_saved', endpoint }]);
}

const ID_LENGTH = 36;

export function configuredEndpointId(environment: Environment): string {
  // Hex digits are valid characters of an id.
  return `whe_${createHash('sha256').update(`configured ${environment}`).digest('hex').slice(0, ID_LENGTH)}`;
}
