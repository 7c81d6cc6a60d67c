import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { OpenApi } from '../../src/contract/openapi.ts';
import { type AppDeps, type Part, createApp } from '../../src/http/app.ts';
import { assertConforms } from '../support/conformance.ts';
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
      const declared = (operation.parameters ?? []).filter((parameter) => parameter.in === 'path');
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
    const { components } = api;
    let examples = 0;
    const events = Object.values(api.webhooks).map(({ post }) => post);
    for (const operation of [...operationsOf(api).map((one) => one.operation), ...events]) {
      const contents = [operation.requestBody, ...Object.values(operation.responses)].flatMap(
        (part) => part?.content?.['application/json'] ?? [],
      );
      for (const { schema, example, examples: named = {} } of contents) {
        const validate = ajv.compile({ ...schema, components });
        const values = [...Object.values(named).map(({ value }) => value), ...(example === undefined ? [] : [example])];
        assert(values.length > 0, `${operation.operationId} has no example`);
        for (const value of values) {
          assert(validate(value), `${operation.operationId}: ${ajv.errorsText(validate.errors)}`);
          examples++;
        }
      }
    }
    assert(examples > 50);
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
