import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  type OpenApi,
  type OpenApiOperation,
  parametersOf,
  resolveResponse,
} from '../../src/contract/openapi-document.ts';
import type { JsonSchema } from '../../src/contract/json-schema.ts';
import { type AppDeps, type Part, createApp } from '../../src/http/app.ts';
import { mismatchOf } from '../support/conformance.ts';
import { API_PARTS } from '../../src/service/parts.ts';
import { call, startTestService } from '../support/service.ts';
import { suiteService } from '../support/suite.ts';

const service = suiteService({}, async () => {
  api = (await call<OpenApi>('GET', `${service.url}/openapi.json`)).body;
});
let api: OpenApi;

function operationsOf({ paths }: OpenApi) {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  );
}

function bodiesOf({ requestBody, responses }: OpenApiOperation) {
  const resolved = Object.values(responses).map((response) => resolveResponse(api, response));
  return [requestBody, ...resolved].flatMap((part) => part?.content?.['application/json'] ?? []);
}

describe('the OpenAPI document', () => {
  // test/discovery/workflows.test.ts checks ids, parameters and references with redocly lint.
  test('the OpenAPI document states the API version and server URL; every operation has a description, known tags, a success and an error response', () => {
    assert.deepEqual([api.openapi, api.info.version], ['3.1.0', '0.1.0']);
    assert.deepEqual(
      api.servers.map(({ url }) => url),
      [service.url],
    );
    const tags = new Set(api.tags.map(({ name }) => name));
    for (const { operation } of operationsOf(api)) {
      assert(operation.summary !== '' && operation.description !== '');
      assert(operation.tags.every((tag) => tags.has(tag)));
      assert(operation.responses['200'] && Object.keys(operation.responses).some((status) => status >= '400'));
    }
  });

  test('the OpenAPI document has valid schemas, and its examples match them', async () => {
    let count = 0;
    const events = Object.values(api.webhooks).map(({ post }) => post);
    for (const operation of [...operationsOf(api).map((one) => one.operation), ...events]) {
      for (const { schema, example, examples = {} } of bodiesOf(operation)) {
        for (const value of [...Object.values(examples).map((named) => named.value), example]) {
          if (value === undefined) continue;
          assert.equal(mismatchOf(api, schema, value), undefined, operation.operationId);
          count++;
        }
      }
    }
    assert(count > 50);
  });

  test('the OpenAPI document has at most 224 KiB, with a base URL of 64 characters', async () => {
    const baseUrl = `https://checkout.${'a'.repeat(30)}.example/payments`;
    assert.equal(baseUrl.length, 64);
    await using long = await startTestService({ variables: { BASE_URL: baseUrl, ALLOW_UNAUTHENTICATED: 'true' } });
    const { byteLength } = await (await fetch(`${long.url}/openapi.json`)).arrayBuffer();
    assert.ok(byteLength <= 224 * 1024, `${byteLength} bytes`);
  });

  test('the OpenAPI document refers to a named schema for every JSON body and every nested resource', async () => {
    let bodies = 0;
    for (const { operation } of operationsOf(api)) {
      for (const { schema } of bodiesOf(operation)) {
        assert.deepEqual(Object.keys(schema), ['$ref'], operation.operationId);
        bodies++;
      }
    }
    assert.ok(bodies > 400, `${bodies} bodies`);
    const resources = Object.entries(api.components.schemas).flatMap(([name, schema]) =>
      resourcesIn(schema).map((resource) => [resource, name]),
    );
    // A resource is a schema whose property `object` is a constant, the resource name.
    const schemasOf = Map.groupBy(resources, ([resource]) => resource);
    const repeated = [...schemasOf].filter(([, found]) => found.length > 1).map(([resource]) => resource);
    assert.deepEqual(new Set(repeated), new Set(['list', 'webhook_endpoint']));
    assert.ok(schemasOf.size >= 20, `${schemasOf.size} resources`);
  });

  test('the OpenAPI document defines no default value in a request body', async () => {
    assert.doesNotMatch(JSON.stringify(api.components.schemas), /"default":/);
    const { body } = await call<{ inputSchema: { properties: Record<string, { default?: unknown }> } }>(
      'GET',
      `${service.url}/api/agent/schema/checkout.create`,
    );
    assert.equal(body.inputSchema.properties['environment']!.default, 'sandbox');
  });

  test('the OpenAPI document lists conflict errors for every operation that accepts an idempotency key', async () => {
    const withKey = operationsOf(api).filter(({ operation }) => {
      const schema = operation.requestBody?.content['application/json']?.schema;
      return schema && 'idempotencyKey' in (api.components.schemas[schema.$ref!.split('/').at(-1)!]!.properties ?? {});
    });
    assert.deepEqual(withKey.map(({ operation }) => operation.operationId).toSorted(), [
      'checkout.create',
      'checkout.preview',
      'createRefund',
      'createSession',
    ]);
    for (const { operation } of withKey) {
      const codes = Object.values(operation.responses).flatMap((response) =>
        Object.keys(resolveResponse(api, response)?.content?.['application/json']?.examples ?? {}),
      );
      assert.ok(codes.includes('idempotency_conflict'), operation.operationId);
      const ok = resolveResponse(api, operation.responses['200']);
      assert.ok(ok?.headers?.['Idempotent-Replayed'], operation.operationId);
    }
  });

  test('the OpenAPI document describes exactly the routes that the API serves', async () => {
    const served = await servedRoutes(service.service.deps as AppDeps);
    const documented = operationsOf(api).map(({ path, method }) => `${method.toUpperCase()} ${path}`);
    // One route serves all actions; the document has one path for each action.
    const runAction = 'POST /api/agent/actions/{action}';
    assert(served.includes(runAction));
    const actions = documented.filter((line) => line.startsWith('POST /api/agent/actions/'));
    assert.equal(actions.length, 5);
    const expected = [...served.filter((line) => line !== runAction), ...actions];
    assert.deepEqual(documented.toSorted(), expected.toSorted());
  });
});

/** The constants of the property `object` in a schema and in its inline subschemas. */
function resourcesIn({ properties = {}, items, anyOf = [], allOf = [] }: JsonSchema): string[] {
  const name = properties['object']?.const;
  const parts = [...Object.values(properties), ...(items ? [items] : []), ...anyOf, ...allOf];
  return [...(typeof name === 'string' ? [name] : []), ...parts.flatMap(resourcesIn)];
}

async function servedRoutes(deps: AppDeps): Promise<string[]> {
  const served: string[] = [];
  const listen: Part = (app) =>
    app.addHook('onRoute', ({ method, url }) => {
      for (const one of [method].flat()) {
        if (one !== 'HEAD') served.push(`${one} ${url.replace(/:(\w+)/g, '{$1}')}`);
      }
    });
  const app = await createApp(deps, [listen, ...API_PARTS]);
  await app.close();
  return served;
}

test('a NUL character in a query or a path gets a documented error', async () => {
  for (const { path, method, operation } of operationsOf(api)) {
    const examples = new Map(parametersOf(api, operation).map(({ name, example }) => [name, String(example)]));
    const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => examples.get(name)!);
    for (const target of new Set([`${filled}?%00=1`, path.replace(/\{\w+\}/g, '%00')])) {
      if (!target.includes('%00')) continue;
      const { status, body } = await call<{ error?: { code: string } }>(method.toUpperCase(), service.url + target);
      const response = resolveResponse(api, operation.responses[status]);
      const codes = Object.keys(response?.content?.['application/json']?.examples ?? {});
      assert.ok(codes.includes(body.error?.code ?? ''), `${target}: ${status} ${body.error?.code}`);
    }
  }
});

test('the API reference page names every endpoint, contains no script and loads nothing from other sites', async () => {
  const response = await fetch(`${service.url}/docs`);
  assert.equal(response.status, 200);
  assert.match(response.headers.get('content-security-policy') ?? '', /default-src 'none'/);
  const page = await response.text();
  for (const { path, operation } of operationsOf(api)) {
    assert(page.includes(`id="${operation.operationId}"`), operation.operationId);
    assert(page.includes(operation.summary), path);
  }
  assert.doesNotMatch(page, /<script|style=|javascript:/);
  const [stylesheet = ''] = /\/assets\/docs-[0-9a-f]+\.css/.exec(page) ?? [];
  assert.equal((await fetch(`${service.url}${stylesheet}`)).status, 200);
});
