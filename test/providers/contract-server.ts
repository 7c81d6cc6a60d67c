import { readFileSync } from 'node:fs';
import type { IncomingHttpHeaders } from 'node:http';
import { Ajv, type ValidateFunction } from 'ajv';
import { Stripe } from 'stripe';

// Checks requests to Stripe against Stripe's OpenAPI description, and against stricter rules from Stripe's documentation.

type Schema = Record<string, unknown>;
type Known<Keys extends PropertyKey> = Partial<Record<Keys, Schema>>;
type SessionField = keyof Stripe.Checkout.SessionCreateParams;

/** Session parameters that are newer than the description; the compiler checks their names against the types of Stripe's SDK. */
const NEWER = {
  ui_mode: { enum: ['hosted_page', 'embedded_page', 'elements', 'form'] },
  allowed_payment_method_types: {
    type: 'array',
    minItems: 1,
    items: { enum: ['card', 'cashapp', 'crypto', 'us_bank_account'] },
  },
  adaptive_pricing: { type: 'object', properties: { enabled: { type: 'boolean' } } },
} satisfies Known<SessionField>;
/** Session parameters that Stripe has removed since the description; the compiler rejects an entry that Stripe's SDK still has. */
const REMOVED: ('payment_method_types' extends SessionField ? never : 'payment_method_types')[] = [
  'payment_method_types',
];
/** Fields that Stripe's documentation requires for a payment with ad-hoc prices. */
const REQUIRED = {
  session: ['mode', 'line_items', 'success_url'] satisfies SessionField[],
  line: ['quantity', 'price_data'] satisfies (keyof Stripe.Checkout.SessionCreateParams.LineItem)[],
  price: ['currency', 'unit_amount', 'product_data'],
  refund: ['payment_intent'] satisfies (keyof Stripe.RefundCreateParams)[],
};
const LIST = { limit: { type: 'integer', minimum: 1, maximum: 100 } } satisfies Known<keyof Stripe.PaginationParams>;
/** Query parameters, by path, of GET requests that the description does not contain. */
const NEWER_PATHS: Record<string, Schema> = {
  '/v1/account': {},
  '/v1/balance': {},
  '/v1/disputes/{dispute}': {} satisfies Known<keyof Stripe.DisputeRetrieveParams>,
  '/v1/payouts/{payout}': {} satisfies Known<keyof Stripe.PayoutRetrieveParams>,
  '/v1/webhook_endpoints': LIST,
};

interface Description {
  paths: Record<string, Record<string, { parameters?: Parameter[]; requestBody?: { content: Record<string, Body> } }>>;
}
interface Parameter {
  in: string;
  name: string;
  schema: Schema;
}
interface Body {
  schema: Schema & { properties: Record<string, Schema> };
}

/** HTTP request to Stripe, as the scripted Stripe received it. */
export interface ContractRequest {
  method: string;
  /** Path and query string. */
  url: string;
  headers: IncomingHttpHeaders;
  body: string;
}

/** Parsed request with the violations of the contract that it contains. */
export interface Judged {
  /** Method and path template of the request, for example `GET /v1/refunds/{refund}`; empty if the contract has no such request. */
  operation: string;
  /** Object id in the path; empty if the path has none. */
  id: string;
  parameters: Record<string, unknown>;
  /** Violations of the contract, one line each. */
  problems: string[];
}

const description = JSON.parse(
  readFileSync(new URL('descriptions/stripe-requests.json', import.meta.url), 'utf8'),
) as Description;
const ajv = new Ajv({
  strict: false,
  allErrors: true,
  coerceTypes: true,
  formats: { 'unix-time': true, decimal: true },
});
const operations = new Map<string, { pattern: RegExp; validate: ValidateFunction }>();

for (const [path, methods] of Object.entries(description.paths)) {
  for (const [method, { parameters = [], requestBody }] of Object.entries(methods)) {
    const query = parameters
      .filter((each) => each.in === 'query')
      .map(({ name, schema }) => [name, name === 'limit' ? LIST.limit : schema]);
    const body = requestBody?.content['application/x-www-form-urlencoded']?.schema;
    define(method, path, method === 'post' && body ? body : { type: 'object', properties: Object.fromEntries(query) });
  }
}
for (const [path, properties] of Object.entries(NEWER_PATHS)) define('get', path, { type: 'object', properties });

function define(method: string, path: string, schema: Schema): void {
  const operation = `${method.toUpperCase()} ${path}`;
  const pattern = new RegExp(`^${path.replace(/\{\w+\}/, '([^/]+)')}$`);
  operations.set(operation, { pattern, validate: ajv.compile(closed(tightened(operation, schema))) });
}

function tightened(operation: string, schema: Schema): Schema {
  if (operation === 'POST /v1/refunds') return { ...schema, required: REQUIRED.refund };
  if (operation !== 'POST /v1/checkout/sessions') return schema;
  const { properties } = structuredClone(schema) as Body['schema'];
  for (const name of REMOVED) delete properties[name];
  const line = properties['line_items']!['items'] as Schema & { properties: Record<string, Schema> };
  line['required'] = REQUIRED.line;
  line.properties['price_data']!['required'] = REQUIRED.price;
  return { type: 'object', properties: { ...properties, ...NEWER }, required: REQUIRED.session };
}

/** Copy of a schema in which objects allow only the properties that the schema lists. */
function closed(schema: unknown): Schema {
  if (Array.isArray(schema)) return schema.map(closed) as unknown as Schema;
  if (typeof schema !== 'object' || schema === null) return schema as Schema;
  const inner = Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, closed(value)]));
  return 'properties' in inner && typeof inner['type'] === 'string' ? { additionalProperties: false, ...inner } : inner;
}

/** Parses a form body with nested names such as `a[b][0]=c`. Throws an Error for a duplicate or malformed name. */
export function readForm(form: string): Record<string, unknown> {
  const root: Record<string, unknown> = {};
  for (const [name, value] of new URLSearchParams(form)) {
    const keys = /^[^[\]]+(?:\[[^[\]]+\])*$/.test(name) ? name.replaceAll(']', '').split('[') : undefined;
    if (!keys) throw new Error(`${name} is not a valid parameter name`);
    const last = keys.pop()!;
    const parent = keys.reduce((object, key) => (object[key] ??= {}) as Record<string, unknown>, root);
    if (typeof parent !== 'object' || last in parent) throw new Error(`${name} appears twice`);
    parent[last] = value;
  }
  return asLists(root) as Record<string, unknown>;
}

function asLists(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([key, inner]) => [key, asLists(inner)] as const);
  const isList = entries.length > 0 && entries.every(([key], index) => key === String(index));
  return isList ? entries.map(([, inner]) => inner) : Object.fromEntries(entries);
}

/** Parses a request and checks it against the contract. */
export function judgeRequest({ method, url, headers, body }: ContractRequest): Judged {
  const [path = '', query = ''] = url.split('?');
  const [operation, known] = [...operations].find(
    ([name, { pattern }]) => name.startsWith(`${method} `) && pattern.test(path),
  ) ?? [''];
  const problems = headerProblems(method, operation, headers);
  if (!known)
    return { operation, id: '', parameters: {}, problems: [...problems, `no such request: ${method} ${path}`] };
  const id = decodeURIComponent(known.pattern.exec(path)?.[1] ?? '');
  if (method === 'GET' ? body !== '' : query !== '') problems.push('parameters are in the wrong place');
  try {
    const parameters = readForm(method === 'GET' ? query : body);
    if (!known.validate(parameters)) {
      problems.push(...known.validate.errors!.map(({ instancePath, message }) => `${instancePath || '/'} ${message}`));
    }
    return { operation, id, parameters, problems };
  } catch (error) {
    return { operation, id, parameters: {}, problems: [...problems, (error as Error).message] };
  }
}

function headerProblems(method: string, operation: string, headers: IncomingHttpHeaders): string[] {
  const form = 'application/x-www-form-urlencoded';
  const creates = operation === 'POST /v1/checkout/sessions' || operation === 'POST /v1/refunds';
  const key = headers['idempotency-key'];
  const problems: [boolean, string][] = [
    [/^Bearer (?:sk|rk)_(?:test|live)_\w+$/.test(headers.authorization ?? ''), 'authorization is not a Stripe key'],
    [headers['stripe-version'] === Stripe.API_VERSION, `stripe-version is not ${Stripe.API_VERSION}`],
    [method !== 'POST' || headers['content-type'] === form, `content-type is not ${form}`],
    [!creates || (typeof key === 'string' && key.length <= 255), 'idempotency-key is missing'],
  ];
  return problems.flatMap(([isRight, problem]) => (isRight ? [] : [problem]));
}
