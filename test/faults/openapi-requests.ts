import * as fc from 'fast-check';
import { type OpenApi, type OpenApiOperation, parametersOf } from '../../src/contract/openapi-document.ts';
import type { JsonSchema } from '../../src/contract/json-schema.ts';
import { anyCodePoint } from '../support/code-point.ts';
import { HOSTILE_CONTENT_TYPES, HOSTILE_HEADERS, HOSTILE_HOSTS } from './hostile-text.ts';

/** A request of one documented operation. The sender replaces its placeholders with known ids. */
export interface ApiRequest {
  method: string;
  url: string;
  operation: OpenApiOperation;
  headers: Record<string, string>;
  /** Index of the API key of the run; undefined for a request without a key. */
  key: number | undefined;
  body: string | undefined;
}

const MAX_BODY_BYTES = 128 * 1024;
const HOSTILE_TEXTS = ['', '\0', '\u202e', '__proto__', 'constructor', "' OR 1=1 --", 'ü'.repeat(3000), '-1', '1e999'];
const HOSTILE_QUERIES = ['?%00=1', '?%ff=%fe', '?&&==&', '?limit[]=1', '?environment=production', '?__proto__=1', '??'];

const text = fc.oneof(fc.string({ unit: anyCodePoint, maxLength: 40 }), fc.constantFrom(...HOSTILE_TEXTS));
const json = fc.oneof(fc.jsonValue({ maxDepth: 3 }), fc.constantFrom<unknown>(null, '\0', 1e308, -0, {}, [], [[[]]]));
const knownId = (prefix: string) => fc.nat(99).map((n) => `{known:${prefix}:${n}}`);
// Only a few idempotency keys, so that requests reuse them.
const idempotencyKey = fc.nat(9).map((n) => `fuzz-key-${n}`);
const anyKnownId = fc.constantFrom('chk', 'cus', 'pay', 'inv', 'ref', 'whe').chain(knownId);

/** Valid, changed and hostile requests of every operation of a document. */
export function requestsOf(api: OpenApi, keys: number): fc.Arbitrary<ApiRequest> {
  const operations = Object.entries(api.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => requestOf(api, keys, method.toUpperCase(), path, operation)),
  );
  return fc.oneof(...operations);
}

function requestOf(
  api: OpenApi,
  keys: number,
  method: string,
  path: string,
  operation: OpenApiOperation,
): fc.Arbitrary<ApiRequest> {
  const parameters = parametersOf(api, operation);
  const inPath = parameters.filter((parameter) => parameter.in === 'path');
  const params = fc.record(
    Object.fromEntries(inPath.map(({ name, example, schema }) => [name, paramOf(String(example), schema)])),
  );
  const query = queryOf(parameters.filter((parameter) => parameter.in === 'query'));
  const [type, content] = Object.entries(operation.requestBody?.content ?? {})[0] ?? ['application/json'];
  const body = content ? bodyOf(api, type, content.schema, content.example) : fc.constant(undefined);
  // Requests may also have a body that is not documented.
  const anyBody = method === 'GET' ? fc.constant(undefined) : fc.oneof({ weight: 9, arbitrary: body }, hostileBody);
  return fc.record({
    method: fc.constant(method),
    url: fc
      .tuple(params, query)
      .map(([values, text]) => path.replace(/\{(\w+)\}/g, (_, name: string) => values[name]!) + text),
    operation: fc.constant(operation),
    headers: fc.oneof(
      { weight: 8, arbitrary: fc.constant<Record<string, string>>({ 'content-type': type }) },
      fc.constantFrom(...HOSTILE_CONTENT_TYPES).map((other) => ({ 'content-type': other })),
      fc.constantFrom(...HOSTILE_HEADERS).map(([name, value]) => ({ 'content-type': type, [name]: value })),
      fc.constantFrom(...HOSTILE_HOSTS).map((host) => ({ 'content-type': type, host })),
    ),
    key: fc.oneof(
      { weight: 9, arbitrary: keys === 0 ? fc.constant(undefined) : fc.nat(keys - 1) },
      fc.constant(undefined),
    ),
    body: anyBody,
  });
}

/** Percent-encoded text, or a known id with the prefix of the parameter's example. */
function paramOf(example: string, schema: JsonSchema): fc.Arbitrary<string> {
  const prefix = /^[a-z]{3}(?=_)/.exec(example)?.[0];
  // Dot segments and empty segments are excluded, because URL parsers would change the path.
  const hostile = text.filter((value) => value !== '' && !/^\.{1,2}$/.test(value)).map(encodeURIComponent);
  const documented = (schema.enum as string[] | undefined) ?? [example];
  const valid = prefix ? knownId(prefix) : fc.constantFrom(...documented);
  return fc.oneof({ weight: 6, arbitrary: valid }, hostile, fc.constantFrom('%00', '%ff'));
}

function queryOf(parameters: { name: string; schema: JsonSchema; example?: string | number }[]): fc.Arbitrary<string> {
  const pairs = parameters.map(({ name, schema, example }) => {
    const valid = schema.enum ? fc.constantFrom(...schema.enum.map(String)) : fc.constant(String(example ?? '5'));
    const id = /^[a-z]{3}(?=_)/.exec(String(example))?.[0];
    const value = fc.oneof({ weight: 3, arbitrary: valid }, id ? knownId(id) : anyKnownId, text);
    // The placeholder of a known id is replaced later, so its braces must not be percent-encoded.
    return value.map((known) => `${name}=${known.startsWith('{known:') ? known : encodeURIComponent(known)}`);
  });
  const some = pairs.length === 0 ? fc.constant([]) : fc.array(fc.oneof(...pairs), { maxLength: 3 });
  const documented = some.map((chosen) => (chosen.length === 0 ? '' : `?${chosen.join('&')}`));
  return fc.oneof({ weight: 9, arbitrary: documented }, fc.constantFrom(...HOSTILE_QUERIES));
}

const hostileBody = fc.oneof(
  fc.constantFrom<(string | undefined)[]>(undefined, '', '{', 'null', '[]', '"text"', '{"a":1}{', '[['.repeat(40)),
  fc.constant('x'.repeat(MAX_BODY_BYTES + 1)),
  fc.constant(`{"product":"${'x'.repeat(MAX_BODY_BYTES)}"}`),
  json.map((value) => JSON.stringify(value)),
  text,
);

function bodyOf(api: OpenApi, type: string, schema: JsonSchema, example: unknown): fc.Arbitrary<string> {
  if (type === 'text/csv') {
    const file = String(example);
    return fc.oneof(
      fc.constant(file),
      fc.tuple(fc.nat(file.length), text).map(([at, extra]) => file.slice(0, at) + extra + file.slice(at)),
    );
  }
  const valid = fc.oneof(fc.constant(example), valueOf(api, schema));
  return fc.oneof(
    { weight: 2, arbitrary: valid.map((value) => JSON.stringify(value)) },
    valid.chain(changed).map((value) => JSON.stringify(value)),
  );
}

/** The object without one property, with an additional property, or with a hostile value in one place. */
function changed(value: unknown): fc.Arbitrary<unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return json;
  const names = Object.keys(value);
  const name = names.length === 0 ? fc.constant('extra') : fc.constantFrom(...names);
  const entries = Object.entries(value);
  return fc.oneof(
    name.map((dropped) => Object.fromEntries(entries.filter(([known]) => known !== dropped))),
    fc.tuple(text, json).map(([extra, added]) => Object.fromEntries([...entries, [extra, added]])),
    fc.tuple(name, fc.oneof(json, text)).map(([known, other]) => ({ ...value, [known]: other })),
  );
}

function valueOf(api: OpenApi, schema: JsonSchema): fc.Arbitrary<unknown> {
  const { $ref, enum: values, const: only, anyOf, type, items } = schema;
  if ($ref !== undefined) return valueOf(api, api.components.schemas[$ref.split('/').at(-1)!]!);
  if (only !== undefined) return fc.constant(only);
  if (values) return fc.constantFrom(...values);
  if (anyOf) return fc.oneof(...anyOf.map((part) => valueOf(api, part)));
  if (Array.isArray(type)) return fc.oneof(...type.map((one) => valueOf(api, { ...schema, type: one })));
  switch (type) {
    case 'object':
      return objectOf(api, schema);
    case 'array':
      return fc.uniqueArray(items ? valueOf(api, items) : json, {
        minLength: 1,
        maxLength: 3,
        selector: JSON.stringify,
      });
    case 'integer':
      return fc.integer({ min: schema.minimum ?? 0, max: schema.maximum ?? 1000 });
    case 'number':
      return fc.integer({ min: 1, max: Math.min(schema.maximum ?? 100, 10_000) * 100 }).map((cents) => cents / 100);
    case 'boolean':
      return fc.boolean();
    case 'null':
      return fc.constant(null);
    case 'string':
      return stringOf(schema);
    default:
      return json;
  }
}

function objectOf(
  api: OpenApi,
  { properties, additionalProperties, required = [] }: JsonSchema,
): fc.Arbitrary<unknown> {
  if (!properties) {
    const value = typeof additionalProperties === 'object' ? valueOf(api, additionalProperties) : json;
    return fc.dictionary(fc.string({ minLength: 1, maxLength: 5 }), value, { maxKeys: 3 });
  }
  const values = Object.entries(properties).map(([name, part]) => {
    return [name, name === 'idempotencyKey' ? idempotencyKey : valueOf(api, part)] as const;
  });
  return fc.record(Object.fromEntries(values), { requiredKeys: required });
}

function stringOf({ format, pattern, minLength = 0, maxLength = 60 }: JsonSchema): fc.Arbitrary<string> {
  if (format === 'email') return fc.nat(50).map((number) => `buyer${number}@example.com`);
  if (format === 'uri') return fc.constantFrom('https://shop.example/hooks', 'https://shop.example/thanks?a=b');
  if (format === 'date-time') return fc.constantFrom('2026-03-01T12:00:00.000Z', '2026-01-15T09:30:00+02:00');
  if (pattern !== undefined) return fc.stringMatching(new RegExp(pattern));
  const any = fc.string({ minLength, maxLength: Math.max(minLength, Math.min(maxLength, 60)) });
  return fc.oneof(any, anyKnownId);
}
