import { jsonSchemaOf } from '../../contract/json-schema.ts';
import type { Capabilities } from '../../contract/discovery.ts';
import type { CheckoutResult, RouteSummary } from '../../contract/resources.ts';
import { listRoutes } from '../list-routes.ts';
import { type ExampleDeps, INVALID_JSON, type Operation, UNAVAILABLE } from '../operation.ts';
import { COMMON_QUERY, curlPost, entrypointsOf } from './entrypoints.ts';
import { WEBHOOK_GUIDE } from './webhook-guide.ts';

// The summary speaks of them.
const ANYWHERE = new Set([INVALID_JSON, UNAVAILABLE]);

/** Everything that a program needs that knows nothing but this answer. */
export function capabilitiesOf(
  deps: ExampleDeps,
  actions: readonly Operation[],
  operations: readonly string[],
): Capabilities {
  const { base } = deps.urls;
  return {
    product: 'Tillway',
    summary: [
      'Hosted checkout and payment routing. Call checkout.create, give checkoutUrl to the buyer, who pays there; you cannot pay. Fulfil only on webhook payment.paid or a payment read as paid.',
      'No credential. environment sandbox (default) is test money, production real.',
      'Units: amounts US dollars, not cents; rates fractions (0.029 is 2.9 %); score 0 to 100, higher is better; eta words. buyerFee + gatewayFee + merchantNet = total, which the buyer pays.',
      'Actions take JSON and answer {ok, action, result}, of which example.response is an excerpt; errors {ok: false, error}, where suggestion says how to repair the body. Anywhere: invalid_json (send one JSON object), unavailable (resend after Retry-After).',
      `Lists are newest first and take ${COMMON_QUERY.join(', ')}; next page: startingAfter = last id, while hasMore.`,
    ].join(' '),
    entrypoints: entrypointsOf(base),
    webhooks: WEBHOOK_GUIDE,
    schemas: { url: schemaUrl(base, '{operation}'), operations: [...operations] },
    actions: actions.map((action) => describeAction(deps, action)),
    routes: listRoutes(deps, 'sandbox').map(essentialsOf),
  };
}

/** Where the schemas of an operation stand. */
export function schemaUrl(base: string, operation: string): string {
  return `${base}/api/agent/schema/${operation}`;
}

/** Where an action is run. */
export function actionUrl(base: string, action: string): string {
  return `${base}/api/agent/actions/${action}`;
}

function describeAction(deps: ExampleDeps, action: Operation): Capabilities['actions'][number] {
  const { name, title, description, annotations, errors, next } = action;
  const { base } = deps.urls;
  const url = actionUrl(base, name);
  const { request, response } = action.example(deps);
  return {
    name,
    title,
    description,
    method: 'POST',
    url,
    schemaUrl: schemaUrl(base, name),
    annotations,
    inputSchema: { ...jsonSchemaOf(action.input, 'input') },
    example: { request, response: excerptOf(response) },
    cli: curlPost(url, request),
    errors: errors.filter((error) => !ANYWHERE.has(error)).map((error) => ({ ...error })),
    next,
  };
}

/** What a route is chosen by. */
function essentialsOf(route: RouteSummary): Capabilities['routes'][number] {
  const { id, kind, score, health, eta, buyerFeeRate, gatewayFeeRate, kycPolicy } = route;
  return { id, kind, score, health, eta, buyerFeeRate, gatewayFeeRate, kycPolicy };
}

/** Of a checkout or an estimate, what was not sent and does not stand elsewhere. */
function excerptOf(response: Record<string, unknown>): Record<string, unknown> {
  if (!('feeSplit' in response)) return response;
  const { id, checkoutUrl, feeSplit, status, dryRun } = response as Partial<CheckoutResult>;
  // Its fees are those of the preview.
  if (dryRun === false) return { id, checkoutUrl, status, dryRun };
  return { ...(dryRun !== undefined && { dryRun }), feeSplit };
}
