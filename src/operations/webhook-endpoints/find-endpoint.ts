import type { EndpointDetails } from '../../contract/webhook-endpoint-contract.ts';
import { timeOfId } from '../../domain/id.ts';
import { GatewayError } from '../../domain/gateway-error.ts';
import type { Environment } from '../../domain/route.ts';
import { type WebhookEndpoint, isDeleted, isSigningSecret } from '../../domain/webhook-endpoint.ts';
import { pageOfItems } from '../../store/named-page.ts';
import type { PageResult, Page } from '../../store/list-page.ts';
import type { Deps } from '../deps.ts';
import { found } from '../not-found.ts';

type Finding = Pick<Deps, 'store' | 'now'>;

/** Reads a webhook endpoint. Throws GatewayError `not_found` if it does not exist or is deleted. */
export async function getEndpoint({ store }: Pick<Deps, 'store'>, id: string): Promise<WebhookEndpoint> {
  const endpoint = found(await store.endpoint(id), 'webhook endpoint', id, 'whe_');
  if (!isDeleted(endpoint)) return endpoint;
  throw new GatewayError('not_found', `Webhook endpoint ${id} has been deleted.`, {
    suggestion: 'List the webhook endpoints for those that there are, or create one.',
  });
}

/** The endpoints with their current signing secrets. */
export async function withSecrets(
  { store, now }: Finding,
  endpoints: readonly WebhookEndpoint[],
): Promise<EndpointDetails[]> {
  const secrets = await store.endpointSecrets(endpoints.map(({ id }) => id));
  const at = now();
  return endpoints.map((endpoint) => ({
    endpoint,
    secrets: secrets.filter((one) => one.endpointId === endpoint.id && isSigningSecret(one, at)),
  }));
}

/** A webhook endpoint with its current signing secrets. Throws GatewayError `not_found`. */
export async function endpointDetails(deps: Finding, id: string): Promise<EndpointDetails> {
  const [details] = await withSecrets(deps, [await getEndpoint(deps, id)]);
  return details!;
}

/** Webhook endpoints that are not deleted, newest first. */
export async function listEndpoints(
  deps: Finding,
  { environment }: { environment?: Environment },
  page: Page,
): Promise<PageResult<EndpointDetails>> {
  const known = (await deps.store.endpoints()).filter(
    (endpoint) => !isDeleted(endpoint) && (environment === undefined || endpoint.environment === environment),
  );
  const cursor = page.endingBefore ?? page.startingAfter;
  // The ids of configured endpoints do not contain their creation time.
  const named = known.find(({ id }) => id === cursor);
  const place = cursor === undefined ? undefined : (named ?? { id: cursor, created: timeOfId(cursor) });
  const { items, hasMore } = pageOfItems<WebhookEndpoint, Place>(known, page, place, comparePlaces);
  return { items: await withSecrets(deps, items), hasMore };
}

type Place = Pick<WebhookEndpoint, 'id' | 'created'>;

function comparePlaces(a: Place, b: Place): number {
  return a.created - b.created || (a.id < b.id ? -1 : Number(a.id > b.id));
}
