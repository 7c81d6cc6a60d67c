import type { z } from 'zod';
import { jsonSchemaOf } from '../../contract/json-schema.ts';
import type { Capabilities } from '../../contract/capabilities-contract.ts';
import type { CheckoutResult, webhookExampleResult } from '../../contract/action-contract.ts';
import type { RouteSummary } from '../../contract/route-contract.ts';
import { type Asked, usualEnvironment } from '../access/caller.ts';
import { listRoutes } from '../list-routes.ts';
import { type Action, type ExampleDeps, INVALID_INPUT, INVALID_JSON, SPEND_LIMIT, UNAVAILABLE } from '../operation.ts';
import { commandLine } from './command-line.ts';
import { COMMON_QUERY, entrypointsOf } from './entrypoints.ts';
import { WEBHOOK_GUIDE } from './webhook-guide.ts';

// The summary speaks of them.
const ANYWHERE = new Set([INVALID_INPUT, INVALID_JSON, SPEND_LIMIT, UNAVAILABLE]);

const SUMMARY = [
  'Hosted checkout and payment routing. Call checkout.create, give checkoutUrl to the buyer, who pays there; you cannot pay. Fulfil only on webhook payment.paid or a payment read as paid.',
  'If 401, send Authorization: Bearer sk_... (a key is of one environment). The sandbox buyer pays at checkoutUrl with card 4242 4242 4242 4242, a later expiry, any CVC and name (other outcomes: GET /simulator); without a browser, send webhook.verify_sample, correctly signed, with status paid and the amount of the session.',
  'Units: amounts US dollars, not cents; rates fractions (0.029 is 2.9 %); score 0 to 100, higher is better; eta in words. buyerFee + gatewayFee + merchantNet = total, which the buyer pays.',
  'Actions are POSTs of JSON and answer {ok, action, result}, of which example.response is an excerpt; errors {ok: false, error}. Anywhere: invalid_input (do what suggestion says), invalid_json (send one JSON object), unavailable (resend after Retry-After). Agent keys: spend_limit_exceeded (stop; message says what is left).',
  `Lists are newest first and take ${COMMON_QUERY.join(', ')}; next page: startingAfter = last id, while hasMore.`,
].join(' ');

type Still = Omit<Capabilities, 'routes'>;
const described = new WeakMap<ExampleDeps['urls'], Still>();

/** All information that a program needs, with the current routes. */
export function capabilitiesOf(
  deps: ExampleDeps & Asked,
  actions: readonly Action[],
  operations: readonly string[],
): Capabilities {
  // The rest does not change while the process runs.
  const still = described.get(deps.urls) ?? describe(deps, actions, operations);
  described.set(deps.urls, still);
  return { ...still, routes: listRoutes(deps, usualEnvironment(deps)).map(essentialsOf) };
}

function describe(deps: ExampleDeps, actions: readonly Action[], operations: readonly string[]): Still {
  const { base } = deps.urls;
  return {
    product: 'Tillway',
    summary: SUMMARY,
    entrypoints: entrypointsOf(base),
    webhooks: WEBHOOK_GUIDE,
    schemas: { url: schemaUrl(base, '{operation}'), operations: [...operations] },
    actions: actions.map((action) => describeAction(deps, action)),
  };
}

/** URL of the schemas of an operation. */
export function schemaUrl(base: string, operation: string): string {
  return `${base}/api/agent/schema/${operation}`;
}

/** URL of an action. */
export function actionUrl(base: string, action: string): string {
  return `${base}/api/agent/actions/${action}`;
}

function describeAction(deps: ExampleDeps, action: Action): Capabilities['actions'][number] {
  const { name, description, annotations, errors, next } = action;
  const { base } = deps.urls;
  const { request, response } = action.example(deps);
  return {
    name,
    description,
    method: 'POST',
    url: actionUrl(base, name),
    schemaUrl: schemaUrl(base, name),
    annotations,
    inputSchema: { ...jsonSchemaOf(action.input, 'input') },
    example: { request, response: excerptOf(response) },
    cli: commandLine(base, action.command(request)),
    errors: errors.filter((error) => !ANYWHERE.has(error)).map((error) => ({ ...error })),
    next,
  };
}

/** Fields for the choice of a route. */
function essentialsOf(route: RouteSummary): Capabilities['routes'][number] {
  const { id, kind, score, health, eta, buyerFeeRate, gatewayFeeRate, kycPolicy } = route;
  return { id, kind, score, health, eta, buyerFeeRate, gatewayFeeRate, kycPolicy };
}

/** The fields that a caller cannot know from the request or find elsewhere in the document. */
function excerptOf(response: Record<string, unknown>): Record<string, unknown> {
  if ('payload' in response) return excerptOfEvent(response as z.output<typeof webhookExampleResult>);
  if ('merchantWebhookQueued' in response) {
    const { accepted, merchantWebhookQueued, signatureVerified } = response;
    return { accepted, merchantWebhookQueued, signatureVerified };
  }
  if (!('feeSplit' in response)) return response;
  const { id, checkoutUrl, feeSplit, dryRun } = response as Partial<CheckoutResult>;
  // The preview shows the same fees.
  if (dryRun === false) return { id, checkoutUrl, dryRun };
  return { ...(dryRun !== undefined && { dryRun }), feeSplit };
}

function excerptOfEvent({ headers, payload: { id, type, data } }: z.output<typeof webhookExampleResult>) {
  const { session_id, status, amount } = data;
  return {
    headers: { 'x-gateway-signature': headers['x-gateway-signature'] },
    payload: { id, type, data: { session_id, status, amount } },
  };
}
