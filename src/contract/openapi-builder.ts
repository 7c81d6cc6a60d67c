import { isDeepStrictEqual } from 'node:util';
import { disputeEventId, eventId, refundEventId } from '../domain/event-id.ts';
import type { ErrorCode } from '../domain/gateway-error.ts';
import { type Endpoint, errorCodesOf, scopesOf } from './endpoint.ts';
import { jsonSchemaOf, sampleOf } from './json-schema.ts';
import { TAGS } from './openapi-tags.ts';
import { type Components, componentsOf, errorSchemaOf, refOf } from './openapi-schemas.ts';
import {
  type OpenApi,
  type OpenApiOperation,
  type OpenApiParameter,
  type OpenApiResponse,
  type Security,
  type SecurityScheme,
  shareParts,
} from './openapi-document.ts';
import { SAMPLE_IDS } from './sample-ids.ts';
import { paymentEvent, routeHealthEvent } from './event-contract.ts';
import { exampleOfError } from './error-contract.ts';
import { type EventType, EVERY_TYPE, statusOfType } from '../domain/webhook-endpoint.ts';

export interface OpenApiOptions {
  baseUrl: string;
  version: string;
  endpoints: readonly Endpoint[];
  httpStatusOf(code: ErrorCode, envelope: Endpoint['envelope']): number;
}

const JSON_TYPE = 'application/json';
const DIALECT = 'https://json-schema.org/draft/2020-12/schema';
const CURSORS: Record<string, { description: string }> = {
  startingAfter: { description: 'Id of a record of this list; returns older records.' },
  endingBefore: { description: 'Id of a record of this list; returns newer records.' },
};
const SAMPLE_NAMES = { action: 'checkout.create', operation: 'checkout.creat' };

const DESCRIPTION = `Create checkout sessions, redirect buyers to the checkout page, and receive a webhook when they have paid.

Requests and responses are JSON. Amounts are numbers in US dollars, not cents, with at most two decimals; rates are fractions (0.029 is 2.9 %); times are ISO 8601 in UTC. The prefix of an id shows its type: \`chk_\` a session, \`cus_\` a customer, \`pay_\` a payment, \`inv_\` an invoice, \`ref_\` a refund, \`rev_\` a dispute, \`dis_\` a discrepancy, \`evt_\` an event, \`dlv_\` a webhook delivery, \`whe_\` a webhook endpoint, \`rcv_\` a recovery, \`key_\` an API key.

There are two environments, \`sandbox\` (the default, with test money) and \`production\`. Records of one environment never refer to the other.

If the service has API keys, every request needs one: \`Authorization: Bearer sk_sandbox_...\` or \`sk_live_...\`. A key belongs to one environment and cannot see records of the other. With a production key, set \`"environment": "production"\` in bodies that have this field.

Every error is \`{"ok": false, "error": {...}}\`: \`code\` is machine-readable, \`message\` describes the problem, \`suggestion\` describes the solution, and \`issues\` lists every invalid field. Every response has the header \`x-request-id\`; 429 and 503 also have \`Retry-After\`.

Lists are sorted newest first. If \`hasMore\` is true, request the next page with the last id of this page as \`startingAfter\`.

If a request that creates a session has an \`idempotencyKey\`, it can be repeated safely: the same body returns the first session, with the header \`Idempotent-Replayed: true\`.`;

/** Builds the OpenAPI document of the given endpoints. */
export function openApiOf({ baseUrl, version, endpoints, httpStatusOf }: OpenApiOptions): OpenApi {
  const { schemas, refTo } = componentsOf(endpoints);
  const paths: OpenApi['paths'] = {};
  for (const endpoint of endpoints) {
    const method = endpoint.method.toLowerCase() as Lowercase<Endpoint['method']>;
    paths[endpoint.path] = { ...paths[endpoint.path], [method]: operationOf(endpoint, refTo, httpStatusOf) };
  }
  const webhooks = Object.fromEntries(EVERY_TYPE.map((type) => [type, { post: webhookOf(type, refTo) }]));
  const operations = [...Object.values(paths), ...Object.values(webhooks)].flatMap((methods) => Object.values(methods));
  const shared = shareParts(operations);
  const used = new Set<string>([...endpoints.map(({ tag }) => tag), 'webhooks']);
  return {
    openapi: '3.1.0',
    info: {
      title: 'Tillway',
      version,
      summary: 'Hosted checkout and payment routing',
      description: DESCRIPTION,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    jsonSchemaDialect: DIALECT,
    servers: [{ url: baseUrl, description: 'This service' }],
    tags: Object.entries(TAGS)
      .filter(([name]) => used.has(name))
      .map(([name, description]) => ({ name, description })),
    paths,
    webhooks,
    components: { schemas, ...shared, headers: HEADERS, securitySchemes: SECURITY_SCHEMES },
    security: READ_SECURITY,
  };
}

const HEADERS = {
  'Idempotent-Replayed': {
    description: 'true if this repeats the response to an earlier request with the same idempotencyKey; else absent.',
    schema: { type: 'string', enum: ['true'] },
  },
};

function operationOf(
  endpoint: Endpoint,
  refTo: Components['refTo'],
  httpStatusOf: OpenApiOptions['httpStatusOf'],
): OpenApiOperation {
  const { operationId, tag, summary, description, body, response, etag } = endpoint;
  const parameters = [...pathParameters(endpoint), ...queryParameters(endpoint)];
  const security = securityOf(endpoint);
  const ok: OpenApiResponse = {
    description: 'Success.',
    content: { [endpoint.responseType ?? JSON_TYPE]: { schema: refTo(response) } },
  };
  if (endpoint.errors.includes('idempotency_conflict')) {
    ok.headers = {
      'Idempotent-Replayed': { $ref: '#/components/headers/Idempotent-Replayed' },
    };
  }
  return {
    operationId,
    tags: [tag],
    summary,
    description,
    ...(parameters.length > 0 && { parameters }),
    ...(body && { requestBody: requestBodyOf(body, endpoint, refTo) }),
    responses: {
      200: ok,
      ...(etag && { 304: { description: 'Not modified: If-None-Match contains the ETag of this response.' } }),
      ...errorResponses(endpoint, httpStatusOf),
    },
    ...(!isDeepStrictEqual(security, READ_SECURITY) && { security }),
  };
}

function requestBodyOf(
  body: NonNullable<Endpoint['body']>,
  { requestExample: example, bodyType }: Endpoint,
  refTo: Components['refTo'],
) {
  const schema = jsonSchemaOf(body, 'input');
  // A body without required fields can be omitted; the service then reads it as {}.
  const required = bodyType !== undefined || (schema.required ?? []).length > 0;
  const content = { schema: refTo(body), example: example ?? sampleOf(schema, 'required') };
  return { required, content: { [bodyType ?? JSON_TYPE]: content } };
}

function pathParameters({ params }: Endpoint): OpenApiParameter[] {
  return Object.entries(params).map(([name, { description, example, enum: values }]) => ({
    name,
    in: 'path',
    required: true,
    description,
    schema: { type: 'string', ...(values && { enum: [...values] }) },
    example,
  }));
}

function queryParameters({ query }: Endpoint): OpenApiParameter[] {
  if (!query) return [];
  const { properties = {}, required = [] } = jsonSchemaOf(query, 'input');
  return Object.entries(properties).map(([name, { description = '', examples, ...schema }]) => {
    const example = schema.type === 'integer' && examples ? Number(examples[0]) : examples?.[0];
    return {
      name,
      in: 'query',
      ...(required.includes(name) && { required: true }),
      schema,
      // Gives the cursors of all lists the same description, so that the lists share one parameter component.
      ...(CURSORS[name] ?? { description, ...(example !== undefined && { example: example as string | number }) }),
    };
  });
}

/** One response per status, with one example per error code. */
function errorResponses(
  endpoint: Endpoint,
  httpStatusOf: OpenApiOptions['httpStatusOf'],
): Record<string, OpenApiResponse> {
  const { envelope } = endpoint;
  const byStatus = Map.groupBy(errorCodesOf(endpoint), (code) => httpStatusOf(code, envelope));
  return Object.fromEntries(
    [...byStatus].map(([status, codes]) => {
      const schema = { $ref: refOf(errorSchemaOf(envelope)) };
      const response: OpenApiResponse = {
        description: `Error: ${codes.join(' or ')}.`,
        content: { [JSON_TYPE]: { schema, examples: errorExamples(endpoint, codes) } },
      };
      return [String(status), response];
    }),
  );
}

function errorExamples(endpoint: Endpoint, codes: readonly ErrorCode[]): Record<string, { value: unknown }> {
  const { envelope, errorExamples: own = {} } = endpoint;
  return Object.fromEntries(
    codes.map((code) => {
      const error = { code, ...(own[code] ?? exampleOfError(code, endpoint)) };
      return [code, { value: { ok: false, ...(envelope && { [envelope]: SAMPLE_NAMES[envelope] }), error } }];
    }),
  );
}

const MEANINGS: Record<EventType, string> = {
  'payment.provider_pending': 'Accepted by the provider, not confirmed. Do not fulfil yet.',
  'payment.paid': 'The payment is confirmed: fulfil the order.',
  'payment.failed': 'The payment failed, timed out or was rejected. Do not fulfil.',
  'payment.refunded':
    'A refund succeeded, or failed later: see data.refund. Only sent if the endpoint lists this type.',
  'payment.disputed': 'A dispute was opened or changed: see data.dispute. Only sent if the endpoint lists this type.',
  'route.health_changed': 'The health of a route has changed. Only sent if the endpoint lists this type.',
};

/** Description and example of each header of a webhook. */
const WEBHOOK_HEADERS: Record<string, [description: string, example: string]> = {
  'x-gateway-event': ['The id of the event.', SAMPLE_IDS.evt],
  'x-gateway-signature': [
    't=<unix seconds>,v1=<hex HMAC-SHA256 of t, a full stop and the raw body, keyed with your whole secret>. During a secret rotation there is one v1 per secret.',
    't=1768469400,v1=...',
  ],
  'webhook-id': ['The id of the event, for Standard Webhooks verifiers.', SAMPLE_IDS.evt],
  'webhook-timestamp': ['Unix seconds of this attempt.', '1768469400'],
  'webhook-signature': [
    'v1,<base64 HMAC-SHA256 of id.timestamp.body, keyed with the base64-decoded part after whsec_>.',
    'v1,...',
  ],
};

function webhookOf(type: EventType, refTo: Components['refTo']): OpenApiOperation {
  const schema = refTo(type === 'route.health_changed' ? routeHealthEvent : paymentEvent);
  return {
    operationId: type,
    tags: ['webhooks'],
    summary: type,
    description: MEANINGS[type],
    parameters: Object.entries(WEBHOOK_HEADERS).map(([name, [description, value]]) => {
      return { name, in: 'header', required: true, description, schema: { type: 'string' }, example: value };
    }),
    requestBody: {
      required: true,
      content: { [JSON_TYPE]: { schema, example: sampleEvent(type) } },
    },
    responses: { 200: { description: 'Acknowledged.' } },
    // Webhooks carry no API key; the receiver verifies the signature instead.
    security: [],
  };
}

function sampleEvent(type: EventType): object {
  if (type === 'route.health_changed') return sampleOf(jsonSchemaOf(routeHealthEvent, 'output')) as object;
  const { data, ...head } = sampleOf(jsonSchemaOf(paymentEvent, 'output')) as { data: Record<string, unknown> };
  const { refund, dispute, ...shared } = data;
  const sample = (id: string, more: object) => ({ ...head, id, type, data: { ...shared, ...more } });
  const sessionId = SAMPLE_IDS.chk;
  switch (type) {
    case 'payment.refunded':
      return sample(refundEventId({ id: SAMPLE_IDS.ref, sessionId, status: 'succeeded' }), { refund });
    case 'payment.disputed':
      return sample(disputeEventId({ id: SAMPLE_IDS.rev, sessionId, revision: 1 }), { dispute });
    default: {
      const status = statusOfType(type);
      return sample(eventId(sessionId, status), { status });
    }
  }
}

const scheme = (bearerFormat: string, description: string): SecurityScheme => ({
  type: 'http',
  scheme: 'bearer',
  bearerFormat,
  description,
});

const SECURITY_SCHEMES: Record<string, SecurityScheme> = {
  apiKey: scheme(
    'sk_sandbox_... or sk_live_...',
    'An API key, which the operator creates with `tillway keys create`. Required if the service has any key, or if other machines can reach the service. Without keys, the service accepts requests from its own machine. A key can access one environment: `sk_sandbox_` the sandbox, `sk_live_` production. Its scope sets its permissions: `read`, `write`, `admin`, or `agent` with a spend limit for checkouts.',
  ),
  sandboxKey: scheme('sk_sandbox_...', 'A sandbox API key; production keys are rejected.'),
  productionKey: scheme('sk_live_...', 'A production API key; sandbox keys are rejected.'),
};

/**
 * Alternative security requirements: no key (unless `keys` is `required`), or a key with one of the scopes. Each scope is its
 * own alternative, because a requirement with several scopes needs all of them. https://spec.openapis.org/oas/v3.1.1#security-requirement-object
 */
function securityOf({ access, keys }: Pick<Endpoint, 'access' | 'keys'>): Security {
  const name = keys === undefined || keys === 'required' ? 'apiKey' : `${keys}Key`;
  const withKey = scopesOf(access).map((scope) => ({ [name]: [scope] }));
  return keys === 'required' ? withKey : [{}, ...withKey];
}

/** Default security requirement of the document, for every operation without a requirement of its own. */
const READ_SECURITY = securityOf({ access: 'read' });
