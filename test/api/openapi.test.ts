import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type OpenApi, parametersOf, resolveResponse } from '../../src/contract/openapi-document.ts';
import type { JsonSchema } from '../../src/contract/json-schema.ts';
import { type AppDeps, type Part, createApp } from '../../src/http/app.ts';
import { assertConforms, strictSchema } from '../support/conformance.ts';
import { createValidator } from '../support/schemas.ts';
import { API_PARTS } from '../../src/service/parts.ts';
import { call, sessionBody, startTestService } from '../support/service.ts';

async function documentOf(url: string): Promise<OpenApi> {
  return (await call<OpenApi>('GET', `${url}/openapi.json`)).body;
}

function operationsOf({ paths }: OpenApi) {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  );
}

describe('the OpenAPI document', () => {
  test('is whole: version, unique ids, declared parameters, resolvable references', async () => {
    await using service = await startTestService();
    const api = await documentOf(service.url);
    assert.equal(api.openapi, '3.1.0');
    assert.equal(api.info.version, '0.1.0');
    assert.deepEqual(
      api.servers.map(({ url }) => url),
      [service.url],
    );
    const operations = operationsOf(api);
    const ids = operations.map(({ operation }) => operation.operationId);
    assert.equal(new Set(ids).size, ids.length);
    const tags = new Set(api.tags.map(({ name }) => name));
    for (const { path, operation } of operations) {
      assert(operation.summary !== '' && operation.description !== '');
      assert(operation.tags.every((tag) => tags.has(tag)));
      const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      const declared = parametersOf(api, operation).filter((parameter) => parameter.in === 'path');
      assert.deepEqual(
        declared.map(({ name }) => name),
        inPath,
      );
      assert(operation.responses['200'] && Object.keys(operation.responses).some((status) => status >= '400'));
    }
    for (const [, name] of JSON.stringify(api).matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g)) {
      assert(Object.hasOwn(api.components.schemas, name!), name!);
    }
  });

  test('has schemas that compile and examples that fit them', async () => {
    await using service = await startTestService();
    const api = await documentOf(service.url);
    const ajv = createValidator();
    let examples = 0;
    const events = Object.values(api.webhooks).map(({ post }) => post);
    for (const operation of [...operationsOf(api).map((one) => one.operation), ...events]) {
      const responses = Object.values(operation.responses).map((response) => resolveResponse(api, response));
      const contents = [operation.requestBody, ...responses].flatMap(
        (part) => part?.content?.['application/json'] ?? [],
      );
      for (const { schema, example, examples: named = {} } of contents) {
        const validate = ajv.compile(strictSchema(api, schema));
        const values = [...Object.values(named).map(({ value }) => value), example].filter(
          (value) => value !== undefined,
        );
        for (const value of values) {
          assert(validate(value), `${operation.operationId}: ${ajv.errorsText(validate.errors)}`);
          examples++;
        }
      }
    }
    assert(examples > 50);
  });

  test('has at most 200 KB, with a base URL of 64 characters', async () => {
    const baseUrl = `https://checkout.${'a'.repeat(30)}.example/payments`;
    assert.equal(baseUrl.length, 64);
    await using service = await startTestService({ variables: { BASE_URL: baseUrl, ALLOW_UNAUTHENTICATED: 'true' } });
    const { length } = new Uint8Array(await (await fetch(`${service.url}/openapi.json`)).arrayBuffer());
    assert.ok(length <= 200_000, `${length} bytes`);
  });

  test('names the schema of every JSON body, and of every resource within one', async () => {
    await using service = await startTestService();
    const api = await documentOf(service.url);
    let bodies = 0;
    for (const { operation } of operationsOf(api)) {
      const responses = Object.values(operation.responses).map((response) => resolveResponse(api, response));
      for (const part of [operation.requestBody, ...responses]) {
        const body = part?.content?.['application/json'];
        if (!body) continue;
        assert.deepEqual(Object.keys(body.schema), ['$ref'], operation.operationId);
        bodies++;
      }
    }
    assert.ok(bodies > 400, `${bodies} bodies`);
    const resources = Object.entries(api.components.schemas).flatMap(([name, schema]) =>
      resourcesIn(schema).map((resource) => [resource, name]),
    );
    // A resource is an object whose property "object" is a constant, its name.
    const schemasOf = Map.groupBy(resources, ([resource]) => resource);
    assert.deepEqual(
      [...schemasOf].filter(
        ([resource, found]) => found.length > 1 && !['list', 'webhook_endpoint'].includes(resource!),
      ),
      [],
    );
    assert.ok(schemasOf.size >= 20, `${schemasOf.size} resources`);
  });

  test('has no default in a request body', async () => {
    await using service = await startTestService();
    const api = await documentOf(service.url);
    assert.doesNotMatch(JSON.stringify(api.components.schemas), /"default":/);
    const { body } = await call<{ inputSchema: { properties: Record<string, { default?: unknown }> } }>(
      'GET',
      `${service.url}/api/agent/schema/checkout.create`,
    );
    assert.equal(body.inputSchema.properties['environment']!.default, 'sandbox');
  });

  test('lists conflict errors wherever a request can carry an idempotency key', async () => {
    await using service = await startTestService();
    const api = await documentOf(service.url);
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

  test('describes every served route of the API, and nothing else', async () => {
    await using service = await startTestService();
    const api = await documentOf(service.url);
    const served = await servedRoutes(service.service.deps as AppDeps);
    const documented = operationsOf(api).map(({ path, method }) => `${method.toUpperCase()} ${path}`);
    // One route runs every action; the document has a path for each.
    const runAction = 'POST /api/agent/actions/{action}';
    assert(served.includes(runAction));
    const actions = documented.filter((line) => line.startsWith('POST /api/agent/actions/'));
    assert.equal(actions.length, 5);
    const expected = [...served.filter((line) => line !== runAction), ...actions];
    assert.deepEqual(documented.toSorted(), expected.toSorted());
  });
});

/** The values of `object` in the schema itself and in schemas within it that are not references. */
function resourcesIn({ properties = {}, items, anyOf = [], allOf = [] }: JsonSchema): string[] {
  const own = properties['object']?.const;
  const parts = [...Object.values(properties), ...(items ? [items] : []), ...anyOf, ...allOf];
  return [...(typeof own === 'string' ? [own] : []), ...parts.flatMap(resourcesIn)];
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

test('answers conform: successes, refusals, unknown paths', async () => {
  await using service = await startTestService();
  const api = await documentOf(service.url);
  const body = sessionBody({ idempotencyKey: 'order-A-1001' });
  const { body: session } = await call<{ id: string }>('POST', `${service.url}/api/gateway/sessions`, body);
  const calls: [string, string, unknown?][] = [
    ['POST', '/api/gateway/sessions', body],
    ['POST', '/api/gateway/sessions', { ...body, amount: 1 }],
    ['POST', '/api/gateway/sessions', {}],
    ['POST', '/api/gateway/sessions', '{'],
    ['GET', '/api/gateway/sessions?limit=1'],
    ['GET', `/api/gateway/sessions/${session.id}`],
    ['GET', '/api/gateway/customers'],
    ['GET', '/api/gateway/customers/cus_none'],
    ['GET', `/api/gateway/payments/${session.id}`],
    ['GET', '/api/gateway/payments?limit=none'],
    ['GET', '/api/gateway/invoices'],
    ['GET', '/api/gateway/deliveries?status=dead'],
    ['GET', '/api/gateway/deliveries/dlv_none'],
    ['POST', '/api/gateway/deliveries/dlv_none/replay'],
    ['POST', `/api/gateway/sessions/${session.id}/expire`],
    ['GET', '/api/agent/capabilities'],
    ['GET', '/api/agent/routes'],
    ['GET', '/api/agent/routes?environment=none'],
    ['GET', '/api/agent/schema/checkout.create'],
    ['GET', '/api/agent/schema/none'],
    ['POST', '/api/agent/actions/checkout.preview', body],
    ['POST', '/api/agent/actions/checkout.create', body],
    ['POST', '/api/agent/actions/fees.estimate', { amount: 'ten' }],
    ['POST', '/api/agent/actions/webhook.example', {}],
    ['POST', '/api/agent/actions/none', {}],
    ['GET', '/api/gateway/none'],
    ['DELETE', '/api/gateway/payments'],
  ];
  for (const [method, path, sent] of calls) {
    const answer = await call(method, `${service.url}${path}`, sent);
    assertConforms(api, method, path, answer.status, answer.body);
  }
});

test('a NUL character in a query or a path is answered as documented', async () => {
  await using service = await startTestService();
  const api = await documentOf(service.url);
  for (const { path, method, operation } of operationsOf(api)) {
    const examples = new Map(parametersOf(api, operation).map(({ name, example }) => [name, String(example)]));
    const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => examples.get(name)!);
    const paths = [`${filled}?%00=1`, ...(filled === path ? [] : [path.replace(/\{\w+\}/g, '%00')])];
    for (const asked of paths) {
      const { status, body } = await call<{ error?: { code: string } }>(method.toUpperCase(), service.url + asked);
      const response = resolveResponse(api, operation.responses[status]);
      const codes = Object.keys(response?.content?.['application/json']?.examples ?? {});
      assert.ok(codes.includes(body.error?.code ?? ''), `${asked}: ${status} ${body.error?.code}`);
    }
  }
});

test('the reference page names every endpoint, runs no script and asks nobody else', async () => {
  await using service = await startTestService();
  const response = await fetch(`${service.url}/docs`);
  assert.equal(response.status, 200);
  assert.match(response.headers.get('content-security-policy') ?? '', /default-src 'none'/);
  const page = await response.text();
  const api = await documentOf(service.url);
  for (const { path, operation } of operationsOf(api)) {
    assert(page.includes(`id="${operation.operationId}"`), operation.operationId);
    assert(page.includes(operation.summary), path);
  }
  assert.doesNotMatch(page, /<script|style=|javascript:/);
  const [stylesheet = ''] = /\/assets\/docs-[0-9a-f]+\.css/.exec(page) ?? [];
  assert.equal((await fetch(`${service.url}${stylesheet}`)).status, 200);
});
