import { jsonSchemaOf } from '../contract/json-schema.ts';
import { type Capabilities, AGENT_ENDPOINTS } from '../contract/capabilities-contract.ts';
import type { RouteSummary } from '../contract/route-contract.ts';
import { type WithCaller, usualEnvironment } from './access/caller.ts';
import type { Deps } from './deps.ts';
import { listRoutes } from './routing/offers.ts';
import { type Action, type ExampleDeps, SPEND_LIMIT } from './operation.ts';
import { CUSTOMER_ENDPOINTS } from '../contract/customer-contract.ts';
import { DELIVERY_ENDPOINTS, EVENT_ENDPOINTS } from '../contract/delivery-contract.ts';
import type { Endpoint } from '../contract/endpoint.ts';
import { INVOICE_ENDPOINTS, PAYMENT_ENDPOINTS } from '../contract/payment-contract.ts';
import { SESSION_ENDPOINTS } from '../contract/session-contract.ts';
import { SAMPLE_PROVIDER_SECRET, SAMPLE_WEBHOOK_SECRET } from './webhook-samples.ts';

/** The query parameters of every list; the summary names them once. */
const COMMON_QUERY = ['environment', 'limit', 'startingAfter', 'endingBefore'];

const SUMMARY = [
  'Hosted checkout and payment routing. Call checkout.create, give checkoutUrl to the buyer, who pays there; you cannot pay. Fulfil only on webhook payment.paid or a payment read as paid.',
  'If 401, send Authorization: Bearer sk_... (a key is of one environment). The sandbox buyer pays at checkoutUrl with card 4242 4242 4242 4242, a later expiry, any CVC and name (other outcomes: GET /simulator); without a browser, send webhook.verify_sample, correctly signed, with status paid and the amount of the session.',
  'Units: amounts US dollars, not cents; rates fractions (0.029 is 2.9 %); score 0 to 100. buyerFee + gatewayFee + merchantNet = total, which the buyer pays.',
  'Actions are POSTs of JSON and answer {ok, action, result}, of which example.response is an excerpt; errors {ok: false, error}. Anywhere: invalid_input (do what suggestion says), invalid_json (send one JSON object), unavailable (resend after Retry-After). Agent keys: spend_limit_exceeded (stop; message says what is left).',
  `Lists are newest first and take ${COMMON_QUERY.join(', ')}; next page: startingAfter = last id, while hasMore.`,
].join(' ');

type ConstantPart = Omit<Capabilities, 'routes'>;
const described = new WeakMap<ExampleDeps['urls'], ConstantPart>();

/** All information that a program needs, with the current routes. */
export function capabilitiesOf(
  deps: ExampleDeps & WithCaller & Pick<Deps, 'router'>,
  actions: readonly Action[],
  operations: readonly string[],
): Capabilities {
  // Everything except the routes stays the same while the process runs.
  const constant = described.get(deps.urls) ?? describe(deps, actions, operations);
  described.set(deps.urls, constant);
  return { ...constant, routes: listRoutes(deps, usualEnvironment(deps)).map(essentialsOf) };
}

function describe(deps: ExampleDeps, actions: readonly Action[], operations: readonly string[]): ConstantPart {
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

export function schemaUrl(base: string, operation: string): string {
  return `${base}/api/agent/schema/${operation}`;
}

export function actionUrl(base: string, action: string): string {
  return `${base}/api/agent/actions/${action}`;
}

function describeAction(deps: ExampleDeps, action: Action): Capabilities['actions'][number] {
  const { name, description, annotations, errors, next } = action;
  const { base } = deps.urls;
  const example = action.example(deps);
  return {
    name,
    description,
    method: 'POST',
    url: actionUrl(base, name),
    schemaUrl: schemaUrl(base, name),
    annotations,
    inputSchema: { ...jsonSchemaOf(action.input, 'input') },
    example,
    cli: commandLine(base, action.command(example.request)),
    // The summary explains the spending limit, and the errors of every action.
    errors: errors.filter((error) => error !== SPEND_LIMIT).map((error) => ({ ...error })),
    next,
  };
}

/** The fields of a route that a caller needs in order to choose one. */
function essentialsOf(route: RouteSummary): Capabilities['routes'][number] {
  const { id, kind, score, health, eta, buyerFeeRate, gatewayFeeRate, kycPolicy } = route;
  return { id, kind, score, health, eta, buyerFeeRate, gatewayFeeRate, kycPolicy };
}

type Entrypoint = Capabilities['entrypoints'][number];

// Advice on an endpoint beyond its summary.
const ADVICE: Record<string, string> = {
  createSession: 'Body as checkout.create.',
  listSessions: 'POST /{id}/expire: withdraw, while routed.',
  listRoutes: 'Query: environment.',
  listCustomers: 'GET /{id}: one.',
  listInvoices: 'GET /{id}: one.',
  listEvents: 'GET /{id}: one; POST /{id}/resend: send again.',
  listDeliveries: 'GET /{id}: with log; POST /{id}/replay: send again.',
  getSession: 'Why its route: GET /api/gateway/routing/decisions/{id}.',
  getPayment: 'Takes a chk_ id too: poll it until paid; 404 until the buyer starts.',
};
// The listed endpoints. The advice for a list also names the endpoints for a single record.
const LISTED: readonly Endpoint[] = [
  SESSION_ENDPOINTS.createSession,
  SESSION_ENDPOINTS.listSessions,
  SESSION_ENDPOINTS.getSession,
  CUSTOMER_ENDPOINTS.listCustomers,
  PAYMENT_ENDPOINTS.listPayments,
  PAYMENT_ENDPOINTS.getPayment,
  INVOICE_ENDPOINTS.listInvoices,
  EVENT_ENDPOINTS.listEvents,
  DELIVERY_ENDPOINTS.listDeliveries,
  AGENT_ENDPOINTS.listRoutes,
];
/** Maximum number of filters per endpoint; the OpenAPI document has all of them. */
const MAX_FILTERS = 4;

/** The endpoints that a client needs first; the OpenAPI document has the others. */
function entrypointsOf(base: string): Entrypoint[] {
  return [
    ...LISTED.map((endpoint) => entrypointOf(base, endpoint)),
    { id: 'mcp', method: 'POST', url: `${base}/mcp`, use: 'MCP tools, Streamable HTTP.' },
    { id: 'openapi', method: 'GET', url: `${base}/openapi.json`, use: 'OpenAPI 3.1.' },
    { id: 'llms', method: 'GET', url: `${base}/llms.txt`, use: 'All of this in short.' },
  ];
}

function entrypointOf(base: string, endpoint: Endpoint): Entrypoint {
  const { operationId: id, method, path, summary, query } = endpoint;
  const url = `${base}${path}`;
  const names = query ? Object.keys(jsonSchemaOf(query, 'input').properties ?? {}) : [];
  const filters = names.filter((name) => !COMMON_QUERY.includes(name)).slice(0, MAX_FILTERS);
  const use = [`${summary}.`, ADVICE[id], filters.length > 0 && `Query: ${filters.join(', ')}.`].filter(Boolean);
  return { id, method: method as Entrypoint['method'], url, use: use.join(' ') };
}

/** Guide for receivers of webhooks. */
const WEBHOOK_GUIDE: Record<string, unknown> = {
  delivery: 'POST to the registered URL.',
  events: [
    { type: 'payment.provider_pending', meaning: 'Accepted by the provider.', fulfill: false },
    { type: 'payment.paid', meaning: 'Confirmed.', fulfill: true },
    { type: 'payment.failed', meaning: 'Failed, timed out or rejected.', fulfill: false },
  ],
  // Sent only to webhook endpoints that subscribe to these types.
  optionalEvents: 'payment.refunded, payment.disputed, route.health_changed',
  headers: 'x-gateway-event and webhook-id: event id. webhook-timestamp: unix seconds.',
  signature: {
    header: 'x-gateway-signature',
    format: 't=<unix seconds>,v1=<hex>; several v1 in a rotation',
    algorithm: 'HMAC-SHA256 (all here)',
    signedString: 't + "." + raw body',
    key: 'the whole secret, whsec_ included',
    toleranceSeconds: 300,
  },
  standardWebhooks: {
    header: 'webhook-signature',
    format: 'v1,<base64>; several, space-separated, in a rotation',
    signedString: 'webhook-id + "." + webhook-timestamp + "." + raw body',
    key: 'the part after whsec_, base64-decoded',
  },
  sampleSecret: SAMPLE_WEBHOOK_SECRET,
  verifySample: {
    secret: SAMPLE_PROVIDER_SECRET,
    signedString: 't + "." + payload as compact JSON in the key order sent',
    key: 'the secret as text',
  },
  acknowledge: 'Exactly HTTP 200 within 15 s, or it is retried.',
  retries: {
    sandbox: '0 s, 5 s, 1 min, 10 min, 1 h',
    production: '0 s, 5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 14 h, 20 h, 24 h; +-20 %',
  },
  ordering: 'Kept per session.',
  idempotency: 'Process each event id once.',
  rules: ['Verify the signature before changing orders.', 'Store the raw payload.'],
};

// Names of command-line options that differ from the name of their field.
const OPTION_NAMES: Readonly<Record<string, string>> = {
  clientReferenceId: 'reference',
  preferredRoute: 'kind',
  routeId: 'route',
};

/** `--option value` for each field, `--option` for true, `--no-option` for null, and `--option key=value` for each pair. */
export function optionsOf(input: Record<string, unknown>): string[] {
  return Object.entries(input).flatMap(([field, value]) => {
    const option = OPTION_NAMES[field] ?? field.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
    if (value === undefined || value === false) return [];
    if (value === true) return [`--${option}`];
    if (value === null) return [`--no-${option}`];
    const values =
      typeof value === 'object'
        ? Object.entries(value).map(([key, text]) => `${key}=${String(text)}`)
        : [typeof value === 'string' ? value : JSON.stringify(value)];
    return values.flatMap((text) => [`--${option}`, text]);
  });
}

/** A command line for sh that runs unchanged, against the service at `base`, and prints JSON. */
export function commandLine(base: string, words: readonly string[]): string {
  return ['tillway', ...words, '--url', base, '--json'].map(quoted).join(' ');
}

function quoted(word: string): string {
  if (/^[\w@%+=:,./-]+$/.test(word)) return word;
  // In single quotes, a shell takes every character literally except the single quote.
  return `'${word.replaceAll("'", String.raw`'\''`)}'`;
}
