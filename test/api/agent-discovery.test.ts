import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { describe, test } from 'node:test';
import { promisify } from 'node:util';
import type { JsonSchema } from '../../src/contract/json-schema.ts';
import type { Capabilities } from '../../src/contract/discovery.ts';
import { bodyOf } from '../support/agent-client.ts';
import { createValidator } from '../support/schemas.ts';
import { call, startTestService } from '../support/service.ts';

const MAX_BYTES = 20 * 1024;
const run = promisify(execFile);

interface SchemaAnswer {
  ok: boolean;
  operation: string;
  inputSchema: JsonSchema;
  outputSchema: JsonSchema;
}

async function discover(url: string) {
  const { body } = await call<Capabilities>('GET', `${url}/api/agent/capabilities`);
  return body;
}

describe('a client that knows the capabilities URL only', () => {
  test('runs every action: published example, smallest body, fullest body', async () => {
    await using service = await startTestService();
    const { actions } = await discover(service.url);
    assert.equal(actions.length, 5);
    let runs = 0;
    for (const { name, url, schemaUrl, inputSchema, example } of actions) {
      const { body: schemas } = await call<SchemaAnswer>('GET', schemaUrl);
      assert.deepEqual(inputSchema, schemas.inputSchema, `${name}: inline and looked-up schema`);
      const ajv = createValidator();
      const validateInput = ajv.compile(schemas.inputSchema);
      const validateOutput = ajv.compile(schemas.outputSchema);
      const bodies = [example.request, bodyOf(inputSchema, 'required'), bodyOf(inputSchema, 'all')];
      for (const [index, body] of bodies.entries()) {
        // One key stands for one body.
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

  test('finds the live answers of the reads as their own schemas say', async () => {
    await using service = await startTestService();
    const { schemas, entrypoints } = await discover(service.url);
    assert.equal(schemas.operations.length, 7);
    const urls = { 'routes.list': 'listRoutes', capabilities: 'capabilities' };
    for (const [operation, id] of Object.entries(urls)) {
      const { body } = await call<SchemaAnswer>('GET', schemas.url.replace('{operation}', operation));
      const { $schema, ...input } = body.inputSchema;
      assert.match($schema ?? '', /2020-12/);
      assert.deepEqual(input, { type: 'object', properties: {}, additionalProperties: false });
      const ajv = createValidator();
      const validate = ajv.compile(body.outputSchema);
      const { body: live } = await call('GET', entrypoints.find((entry) => entry.id === id)!.url);
      assert(validate(live), `${operation}: ${ajv.errorsText(validate.errors)}`);
    }
  });

  test('can run every command line as it stands', async () => {
    await using service = await startTestService();
    const { actions } = await discover(service.url);
    const lines = actions.map(({ cli }) => cli);
    assert.equal(lines.length, actions.length);
    for (const line of lines) {
      const { stdout } = await run('sh', ['-c', `${line} -s -w '\\n%{http_code}'`]);
      assert.match(stdout, /\n200$/, `${line}: ${stdout}`);
    }
  });

  test('fills in the templates: creates, looks up and polls a session', async () => {
    await using service = await startTestService();
    const { entrypoints, actions } = await discover(service.url);
    const create = actions.find(({ name }) => name === 'checkout.create')!;
    const { body } = await call<{ result: { id: string } }>('POST', create.url, create.example.request);
    const urlOf = (id: string, name: string, value: string) =>
      entrypoints.find((entry) => entry.id === id)!.url.replace(`{${name}}`, value);
    const session = await call<{ id: string }>('GET', urlOf('getSession', 'sessionId', body.result.id));
    assert.equal(session.body.id, body.result.id);
    const payment = await call('GET', urlOf('getPayment', 'paymentId', body.result.id));
    assert.equal(payment.status, 404, 'the buyer has not started');
  });
});

test('capabilities has the seven keys, is small, and names every endpoint', async () => {
  await using service = await startTestService();
  const response = await fetch(`${service.url}/api/agent/capabilities`);
  const text = await response.text();
  assert(Buffer.byteLength(text) <= MAX_BYTES, `${Buffer.byteLength(text)} bytes`);
  const capabilities = JSON.parse(text) as Capabilities;
  const keys = ['product', 'summary', 'entrypoints', 'webhooks', 'schemas', 'actions', 'routes'];
  assert.deepEqual(Object.keys(capabilities), keys);
  const ids = capabilities.entrypoints.map(({ id }) => id);
  assert.equal(new Set(ids).size, ids.length);
  for (const { url } of capabilities.entrypoints) assert(url.startsWith(service.url), url);
  for (const { annotations, errors, next, example, description } of capabilities.actions) {
    assert.equal(Object.keys(annotations).length, 4);
    assert(errors.length > 0 && next !== '' && description !== '');
    assert(example.request && example.response);
  }
});

test('every schema is self-contained, closed, and describes every property with an example', async () => {
  await using service = await startTestService();
  const { schemas } = await discover(service.url);
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

/** Counts the properties; fails at one that lacks a word or an example. */
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
    inWords(field, at);
  }
  return count;
}

/** Clients that drop these keywords still read the description. */
function inWords({ description = '', maxLength, maximum, maxProperties }: JsonSchema, at: string): void {
  for (const limit of [maxLength, maximum, maxProperties]) {
    if (limit === undefined || limit >= Number.MAX_SAFE_INTEGER) continue;
    assert(description.includes(String(limit)), `${at}: ${limit} is not in words`);
  }
}
