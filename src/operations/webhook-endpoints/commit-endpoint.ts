import { GatewayError } from '../../domain/gateway-error.ts';
import type { SealedSecret, WebhookEndpoint } from '../../domain/webhook-endpoint.ts';
import type { Deps } from '../deps.ts';
import { retryOnConflict } from '../retry-on-conflict.ts';
import { getEndpoint } from './find-endpoint.ts';

export interface EndpointDecision {
  endpoint: WebhookEndpoint;
  /** Left out if they stay unchanged. */
  secrets?: readonly SealedSecret[];
}

/**
 * Reads an endpoint, decides, and commits its next version; decides again after a conflict. The same object means no change.
 * Throws GatewayError `not_found`, and every error of `decide`.
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

/** Throws GatewayError `invalid_state` for the endpoint of the configuration, which the API cannot change. */
export function rejectConfiguredEndpoint({ id, source, environment }: WebhookEndpoint, remedy: string): void {
  if (source !== 'configuration') return;
  throw new GatewayError(
    'invalid_state',
    `Webhook endpoint ${id} is the one that the configuration of the service names for ${environment}, and cannot be changed here.`,
    { suggestion: remedy },
  );
}
