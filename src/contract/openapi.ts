import type { ErrorCode } from '../domain/errors.ts';
import type { Endpoint } from './endpoint.ts';
import { jsonSchemaOf, sampleOf } from './json-schema.ts';
import { TAGS } from './openapi-tags.ts';
import {
  SECURITY_SCHEMES,
  type Security,
  type SecurityScheme,
  exampleOfError,
  securityOf,
} from './openapi-security.ts';
import { type ApiSchema, hoistSchema, namedSchemas } from './openapi-schemas.ts';
import { EVENT_TYPES } from './requests.ts';
import { webhookEvent } from './resources.ts';

/** The part of OpenAPI 3.1 that is used here. https://spec.openapis.org/oas/v3.1.1 */
export interface OpenApi {
  openapi: string;
  info: { title: string; version: string; summary: string; description: string; license: Record<string, string> };
  jsonSchemaDialect: string;
  servers: { url: string; description: string }[];
  tags: { name: string; description: string }[];
  paths: Record<string, Partial<Record<'get' | 'post' | 'put', OpenApiOperation>>>;
  webhooks: Record<string, { post: OpenApiOperation }>;
  components: { schemas: Record<string, ApiSchema>; securitySchemes: Record<string, SecurityScheme> };
  security: [];
}

export interface OpenApiOperation {
  operationId: string;
  tags: string[];
  summary: string;
  description: string;
  parameters?: OpenApiParameter[];
  requestBody?: { required: boolean; content: OpenApiContents };
  responses: Record<string, OpenApiResponse>;
  security?: Security;
}

export interface OpenApiParameter {
  name: string;
  in: 'path' | 'query' | 'header';
  required: boolean;
  description: string;
  schema: ApiSchema;
  example?: string | number;
}

/** One of them. */
export type OpenApiContents = Partial<Record<'application/json' | 'text/csv', OpenApiContent>>;

export interface OpenApiContent {
  schema: ApiSchema;
  example?: unknown;
  examples?: Record<string, { summary: string; value: unknown }>;
}

export interface OpenApiResponse {
  description: string;
  headers?: Record<string, { description: string; schema: ApiSchema }>;
  content?: OpenApiContents;
}

export interface OpenApiOptions {
  baseUrl: string;
  version: string;
  endpoints: readonly Endpoint[];
  /** HTTP status of an error on an endpoint. */
  statusOf(code: ErrorCode, envelope: Endpoint['envelope']): number;
}

const JSON_TYPE = 'application/json';
const DIALECT = 'https://json-schema.org/draft/2020-12/schema';
// Who asks is looked at everywhere; and our own fault can happen anywhere.
const ANYWHERE: ErrorCode[] = ['unauthorized', 'forbidden', 'rate_limited', 'internal_error'];

const DESCRIPTION = `Create checkout sessions, send buyers to pay, and hear by webhook when they have.

Requests and answers are JSON. Amounts are numbers in US dollars, not cents, with at most two decimals; rates are fractions (0.029 is 2.9 %); times are ISO 8601 in UTC. A prefix tells what an id is: \`chk_\` a session, \`cus_\` a customer, \`pay_\` a payment, \`inv_\` an invoice, \`ref_\` a refund, \`dis_\` a discrepancy, \`evt_\` an event, \`dlv_\` a webhook delivery, \`whe_\` a webhook endpoint, \`rcv_\` a recovery, \`key_\` an API key.

There are two environments, \`sandbox\` (the default, with test money) and \`production\`; no record of one can touch the other.

Where the service has API keys, every request carries one: \`Authorization: Bearer sk_sandbox_...\` or \`sk_live_...\`. A key is of one environment, and what is of the other does not exist for it. With a key of production, say \`"environment": "production"\` where a body has that field.

Every refusal is \`{"ok": false, "error": {...}}\`: \`code\` is for programs, \`message\` says what is wrong, \`suggestion\` what to do about it, and \`issues\` names every faulty field. Every answer carries \`x-request-id\`; a 429 or 503 also carries \`Retry-After\`.

Lists are newest first. While \`hasMore\` is true, the next page is \`startingAfter=\` the last id of this one.

Send an \`idempotencyKey\` with a session, and it can be resent without fear: the same body answers the first session, with the header \`Idempotent-Replayed: true\`.`;

/** The whole API as one document, made from the endpoints as they are served. */
export function openApiOf({ baseUrl, version, endpoints, statusOf }: OpenApiOptions): OpenApi {
  const paths: OpenApi['paths'] = {};
  for (const endpoint of endpoints) {
    const method = endpoint.method.toLowerCase() as 'get' | 'post' | 'put';
    paths[endpoint.path] = { ...paths[endpoint.path], [method]: operationOf(endpoint, statusOf) };
  }
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
    webhooks: Object.fromEntries(EVENT_TYPES.map((type) => [type, { post: webhookOf(type) }])),
    components: { schemas: namedSchemas(), securitySchemes: SECURITY_SCHEMES },
    // Of webhooks, which have signatures; every endpoint has its own.
    security: [],
  };
}

function operationOf(endpoint: Endpoint, statusOf: OpenApiOptions['statusOf']): OpenApiOperation {
  const { operationId, tag, summary, description, body, response } = endpoint;
  const parameters = [...pathParameters(endpoint), ...queryParameters(endpoint)];
  const answer = jsonSchemaOf(response, 'output');
  const ok: OpenApiResponse = {
    description: 'Done.',
    content: {
      [endpoint.responseType ?? JSON_TYPE]: {
        schema: hoistSchema(answer),
        example: endpoint.responseExample ?? sampleOf(answer),
      },
    },
  };
  if (endpoint.errors.includes('idempotency_conflict')) {
    ok.headers = {
      'Idempotent-Replayed': {
        description: 'true where this is the answer to an earlier request with the same idempotencyKey; else absent.',
        schema: { type: 'string', enum: ['true'] },
      },
    };
  }
  return {
    operationId,
    tags: [tag],
    summary,
    description,
    ...(parameters.length > 0 && { parameters }),
    ...(body && { requestBody: requestBodyOf(body, endpoint) }),
    responses: { 200: ok, ...errorResponses(endpoint, statusOf) },
    security: securityOf(endpoint.access),
  };
}

function requestBodyOf(body: NonNullable<Endpoint['body']>, { requestExample: example, bodyType }: Endpoint) {
  const schema = jsonSchemaOf(body, 'input');
  // An absent body counts as {}.
  const required = bodyType !== undefined || (schema.required ?? []).length > 0;
  const content = { schema: hoistSchema(schema), example: example ?? sampleOf(schema, 'required') };
  return { required, content: { [bodyType ?? JSON_TYPE]: content } };
}

function pathParameters({ params = {} }: Endpoint): OpenApiParameter[] {
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
  return Object.entries(properties).map(([name, { description = '', examples, ...schema }]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    description,
    schema,
    ...(typeof examples?.[0] === 'string' && {
      example: schema.type === 'integer' ? Number(examples[0]) : examples[0],
    }),
  }));
}

/** One response a status, with an example a code. */
function errorResponses(
  { errors, errorExamples = {}, envelope, operationId }: Endpoint,
  statusOf: OpenApiOptions['statusOf'],
): Record<string, OpenApiResponse> {
  const byStatus = new Map<number, ErrorCode[]>();
  for (const code of new Set([...errors, ...ANYWHERE])) {
    const status = statusOf(code, envelope);
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  const named = envelope === undefined ? {} : { [envelope]: operationId };
  return Object.fromEntries(
    [...byStatus].map(([status, codes]) => {
      const examples = codes.map((code) => [
        code,
        {
          summary: code,
          value: { ok: false, ...named, error: { code, ...(errorExamples[code] ?? exampleOfError(code, errors)) } },
        },
      ]);
      return [
        String(status),
        {
          description: `Refused: ${codes.join(' or ')}.`,
          content: {
            'application/json': { schema: failureSchema(envelope, codes), examples: Object.fromEntries(examples) },
          },
        },
      ];
    }),
  );
}

function failureSchema(envelope: Endpoint['envelope'], codes: ErrorCode[]): ApiSchema {
  const named = envelope && { [envelope]: { type: 'string', description: `The ${envelope} asked for.` } };
  // Not beside $ref: some validators then take `properties` for all that there may be.
  const error: ApiSchema = {
    allOf: [{ $ref: '#/components/schemas/ActionError' }, { properties: { code: { enum: codes } } }],
  };
  return {
    type: 'object',
    properties: { ok: { type: 'boolean', const: false, description: 'Always false.' }, ...named, error },
    required: ['ok', ...(envelope ? [envelope] : []), 'error'],
    additionalProperties: false,
  };
}

function webhookOf(type: (typeof EVENT_TYPES)[number]): OpenApiOperation {
  const meaning = {
    'payment.provider_pending': 'The provider has taken the payment on; it is not confirmed. Do not fulfil yet.',
    'payment.paid': 'The payment is confirmed: fulfil the order.',
    'payment.failed': 'The payment failed, timed out or was rejected. Do not fulfil.',
  }[type];
  const schema = jsonSchemaOf(webhookEvent, 'output');
  const sample = sampleOf(schema) as { id: string; data: object };
  const status = type.slice('payment.'.length);
  const header = (name: string, description: string, example: string): OpenApiParameter => ({
    name,
    in: 'header',
    required: true,
    description,
    schema: { type: 'string' },
    example,
  });
  const id = sample.id.replace(/paid$/, status);
  return {
    operationId: type,
    tags: ['webhooks'],
    summary: type,
    description: `${meaning} Verify the signature over the raw body before changing an order, process each event id once, and answer exactly 200: anything else is retried.`,
    parameters: [
      header('x-gateway-event', 'The id of the event.', id),
      header(
        'x-gateway-signature',
        't=<unix seconds>,v1=<hex HMAC-SHA256 of t, a full stop and the raw body, keyed with your whole secret>. Two v1 while a secret is rotated.',
        't=1768469400,v1=...',
      ),
      header('webhook-id', 'The id of the event, for Standard Webhooks verifiers.', id),
      header('webhook-timestamp', 'Unix seconds of this attempt.', '1768469400'),
      header(
        'webhook-signature',
        'v1,<base64 HMAC-SHA256 of id.timestamp.body, keyed with the decoded part behind whsec_>.',
        'v1,...',
      ),
    ],
    requestBody: {
      required: true,
      content: {
        'application/json': {
          schema: hoistSchema(schema),
          example: { ...sample, id, type, data: { ...sample.data, status } },
        },
      },
    },
    responses: { 200: { description: 'The only answer that acknowledges the delivery.' } },
  };
}
