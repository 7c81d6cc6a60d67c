import { GatewayError } from '../../domain/errors.ts';
import type { SealedSecret, WebhookEndpoint } from '../../domain/webhook-endpoint.ts';
import type { Deps } from '../deps.ts';
import { getEndpoint } from './find-endpoint.ts';

// Each conflict is somebody else who changed the same endpoint meanwhile.
const MAX_TRIES = 20;

export interface EndpointDecision {
  endpoint: WebhookEndpoint;
  /** Left out where they stay as they are. */
  secrets?: readonly SealedSecret[];
}

/**
 * Reads an endpoint, decides, and commits it as its next version; decides again where somebody else was faster. The very
 * same endpoint means that nothing changes. Throws GatewayError `not_found`, and whatever `decide` throws.
 */
export async function commitEndpoint<Decision extends EndpointDecision>(
  deps: Pick<Deps, 'store'>,
  id: string,
  decide: (endpoint: WebhookEndpoint) => Decision | Promise<Decision>,
): Promise<Decision> {
  for (let attempt = 0; attempt < MAX_TRIES; attempt++) {
    const before = await getEndpoint(deps, id);
    const decision = await decide(before);
    if (decision.endpoint === before && decision.secrets === undefined) return decision;
    const endpoint = { ...decision.endpoint, version: before.version + 1 };
    const { secrets } = decision;
    const result = await deps.store.commit([
      { type: 'endpoint_changed', endpoint },
      ...(secrets ? [{ type: 'secrets_replaced', endpointId: id, secrets } as const] : []),
    ]);
    if (result.done) return { ...decision, endpoint };
  }
  throw new GatewayError('unavailable', `Webhook endpoint ${id} is changing too fast; try again.`);
}

/** Throws GatewayError `invalid_state` for an endpoint that is not the API's to change. */
export function refuseConfigured({ id, source, environment }: WebhookEndpoint, remedy: string): void {
  if (source !== 'configuration') return;
  throw new GatewayError(
    'invalid_state',
    `Webhook endpoint ${id} is the one that the configuration of the service names for ${environment}, and cannot be changed here.`,
    { suggestion: remedy },
  );
}
