import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { CUSTOMER_ENDPOINTS } from '../../src/contract/customer-contract.ts';
import { INVOICE_ENDPOINTS, PAYMENT_ENDPOINTS } from '../../src/contract/payment-contract.ts';
import { SESSION_ENDPOINTS } from '../../src/contract/session-contract.ts';
import type { Endpoint } from '../../src/contract/endpoint.ts';
import type { JsonSchema } from '../../src/contract/json-schema.ts';
import type { Capabilities } from '../../src/contract/capabilities-contract.ts';
import { ACTIONS } from '../../src/operations/registry.ts';
import { bodyOf } from '../support/agent-client.ts';
import { createValidator } from '../support/schemas.ts';
import { call, startTestService } from '../support/service.ts';
import { suiteService } from '../support/suite.ts';

const MAX_BYTES = 20_000;

interface SchemaAnswer {
  ok: boolean;
  operation: string;
  inputSchema: JsonSchema;
  outputSchema: JsonSchema;
}

const service = suiteService();

async function discover(): Promise<Capabilities> {
  return (await call<Capabilities>('GET', `${service.url}/api/agent/capabilities`)).body;
}

describe('a client that knows the capabilities URL only', () => {
  test('a client that knows the capabilities URL only can call every action with the published example, only required fields, and all fields', async () => {
    const { actions, schemas: lookup } = await discover();
    assert.equal(actions.length, 5);
    let runs = 0;
    for (const { name, url, schemaUrl, inputSchema, example } of actions) {
      assert.equal(schemaUrl, lookup.url.replace('{operation}', name));
      const { body: schemas } = await call<SchemaAnswer>('GET', schemaUrl);
      assert.deepEqual(inputSchema, schemas.inputSchema, `${name}: inline and looked-up schema`);
      const ajv = createValidator();
      const validateInput = ajv.compile(schemas.inputSchema);
      const validateOutput = ajv.compile(schemas.outputSchema);
      const bodies = [example.request, bodyOf(inputSchema, 'required'), bodyOf(inputSchema, 'all')];
      for (const [index, body] of bodies.entries()) {
        // Each body needs its own idempotency key.
        const sent = 'idempotencyKey' in body ? { ...body, idempotencyKey: `order-A-100${index}` } : body;
        assert(validateInput(sent), `${name}: ${ajv.errorsText(validateInput.errors)}`);
        const answer = await call<{ ok: boolean; action: string; result: unknown }>('POST', url, sent);
        assert.equal(answer.status, 200, `${name} ${JSON.stringify(sent)}: ${JSON.stringify(answer.body)}`);
        assert.deepEqual([answer.body.ok, answer.body.action], [true, name]);
        assert(validateOutput(answer.body.result), `${name}: ${ajv.errorsText(validateOutput.errors)}`);
        runs++;
      }
    }
    assert.equal(runs, 15);
  });

  test('the responses of routes.list and of the capabilities match their published schemas', async () => {
    const { schemas, entrypoints } = await discover();
    assert.equal(schemas.operations.length, 7);
    const urls = {
      'routes.list': entrypoints.find(({ id }) => id === 'listRoutes')!.url,
      capabilities: `${service.url}/api/agent/capabilities`,
    };
    for (const [operation, url] of Object.entries(urls)) {
      const { body } = await call<SchemaAnswer>('GET', schemas.url.replace('{operation}', operation));
      const { $schema, ...input } = body.inputSchema;
      assert.match($schema ?? '', /2020-12/);
      assert.deepEqual(input, { type: 'object', properties: {}, additionalProperties: false });
      const ajv = createValidator();
      const validate = ajv.compile(body.outputSchema);
      const { body: live } = await call('GET', url);
      assert(validate(live), `${operation}: ${ajv.errorsText(validate.errors)}`);
    }
  });
});

const LONG_URL = `https://checkout.${'a'.repeat(30)}.example/payments`;
assert.equal(LONG_URL.length, 64);
for (const variables of [{}, { BASE_URL: LONG_URL, ALLOW_UNAUTHENTICATED: 'true' }]) {
  const where = 'BASE_URL' in variables ? `a base URL of ${variables.BASE_URL.length} characters` : 'a short base URL';

  test(`with ${where}, the capabilities document has seven keys, is at most 20 kB, and describes every action completely`, async () => {
    await using service = await startTestService({ variables });
    const response = await fetch(`${service.url}/api/agent/capabilities`);
    const text = await response.text();
    assert(Buffer.byteLength(text) <= MAX_BYTES, `${Buffer.byteLength(text)} bytes`);
    const capabilities = JSON.parse(text) as Capabilities;
    const keys = ['product', 'summary', 'entrypoints', 'webhooks', 'schemas', 'actions', 'routes'];
    assert.deepEqual(Object.keys(capabilities), keys);
    const { base } = service.service.deps.urls;
    for (const { url } of capabilities.entrypoints) assert(url.startsWith(`${base}/`), url);
    for (const action of capabilities.actions) {
      const { name, annotations, errors, next, example, description, cli } = action;
      assert.match(name, /^[a-z_]+\.[a-z_]+$/);
      const hints = Object.values(annotations).map((hint) => typeof hint);
      assert.deepEqual(hints, ['boolean', 'boolean', 'boolean', 'boolean']);
      assert(next !== '' && description !== '');
      assert(example.request && example.response);
      assert(cli.startsWith('tillway ') && cli.endsWith(` --url ${base} --json`), cli);
      for (const { code } of ACTIONS.find((known) => known.name === name)!.errors) {
        const isDocumented = errors.some((error) => error.code === code) || capabilities.summary.includes(`${code} (`);
        assert(isDocumented, `${name}: ${code}`);
      }
    }
  });
}

test('the capabilities document names every merchant endpoint and links to the other documents', async () => {
  const { entrypoints } = await discover();
  const ids = entrypoints.map(({ id }) => id);
  assert.equal(new Set(ids).size, ids.length);
  const { listCustomers, getCustomer } = CUSTOMER_ENDPOINTS;
  const groups = [SESSION_ENDPOINTS, { listCustomers, getCustomer }, PAYMENT_ENDPOINTS, INVOICE_ENDPOINTS];
  for (const { method, path } of groups.flatMap((group) => Object.values<Endpoint>(group))) {
    const [collection = '', rest] = path.split(/\/\{\w+\}/);
    const own = entrypoints.some((entry) => entry.method === method && entry.url === service.url + path);
    const withList = entrypoints.some(
      ({ url, use }) => url === service.url + collection && use.includes(`${method} /{id}${rest ?? ''}:`),
    );
    assert(own || withList, `${method} ${path}`);
  }
  const urls = new Set(entrypoints.map(({ url }) => url));
  for (const path of ['/mcp', '/openapi.json', '/llms.txt']) assert(urls.has(service.url + path), path);
});

test('the capabilities document shows the current health of each route', async () => {
  const { routes } = await discover();
  const [{ id, health }] = routes as [Capabilities['routes'][number]];
  assert.equal(health, 'live');
  const override = { health: 'standby', reason: 'maintenance' };
  const { status } = await call('PUT', `${service.url}/api/gateway/routing/routes/${id}/health`, override);
  assert.equal(status, 200);
  const after = (await discover()).routes.find((route) => route.id === id);
  assert.equal(after?.health, 'standby');
});

test('every operation schema is self-contained, allows no unknown property, and describes every property with an example', async () => {
  const { schemas } = await discover();
  let properties = 0;
  for (const operation of schemas.operations) {
    const { body } = await call<SchemaAnswer>('GET', schemas.url.replace('{operation}', operation));
    for (const schema of [body.inputSchema, body.outputSchema]) {
      assert.equal(schema.$schema, 'https://json-schema.org/draft/2020-12/schema');
      assert.equal(schema.type, 'object');
      assert.doesNotMatch(JSON.stringify(schema), /"(\$ref|\$defs|oneOf|allOf|anyOf|if)":/);
      properties += inspect(schema, operation);
    }
  }
  assert(properties > 100);
});

/** Counts the properties; fails if one has no description or no example. */
function inspect(schema: JsonSchema, path: string): number {
  if (schema.items) return inspect(schema.items, `${path}[]`);
  if (!schema.properties) return 0;
  assert.equal(schema.additionalProperties, false, `${path} is open`);
  let count = 0;
  for (const [name, field] of Object.entries(schema.properties)) {
    const at = `${path}.${name}`;
    count += 1 + inspect(field, at);
    assert(field.description, `${at} has no description`);
    const shown = field.examples ?? field.enum ?? field.const ?? field.default ?? field.properties ?? field.items;
    assert(shown !== undefined, `${at} has no example`);
    assertLimitsDescribed(field, at);
  }
  return count;
}

/** Asserts that the description states the limits, because some clients ignore these keywords. */
function assertLimitsDescribed({ description = '', maxLength, maximum, maxProperties }: JsonSchema, at: string): void {
  for (const limit of [maxLength, maximum, maxProperties]) {
    if (limit === undefined || limit >= Number.MAX_SAFE_INTEGER) continue;
    assert(description.includes(String(limit)), `${at}: ${limit} is not in the description`);
  }
}
