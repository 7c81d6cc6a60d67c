import { GatewayError } from '../../domain/errors.ts';
import type { SealedSecret, WebhookEndpoint } from '../../domain/webhook-endpoint.ts';
import type { Deps } from '../deps.ts';
import { retryOnConflict } from '../retry-on-conflict.ts';
import { getEndpoint } from './find-endpoint.ts';

export interface EndpointDecision {
  endpoint: WebhookEndpoint;
  /** Left out where they stay as they are. */
  secrets?: readonly SealedSecret[];
}

/**
 * Reads an endpoint, decides, and commits it as its next version; decides again where somebody else was faster. The very
 * same endpoint means that nothing changes. Throws GatewayError `not_found`, and whatever `decide` throws.
 */
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

/** Throws GatewayError `invalid_state` for an endpoint that is not the API's to change. */
export function refuseConfigured({ id, source, environment }: WebhookEndpoint, remedy: string): void {
  if (source !== 'configuration') return;
  throw new GatewayError(
    'invalid_state',
    `Webhook endpoint ${id} is the one that the configuration of the service names for ${environment}, and cannot be changed here.`,
    { suggestion: remedy },
  );
}
