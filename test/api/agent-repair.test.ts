import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Capabilities } from '../../src/contract/capabilities-contract.ts';
import { type Body, type Repairable, bodyOf, repaired, violationsOf } from '../support/agent-client.ts';
import { call, startTestService } from '../support/service.ts';

interface Answer {
  ok: boolean;
  error?: Repairable & { code: string; message: string; field?: string };
}

test('every constraint, broken, is named with its path, and the error alone is enough to repair the body', async (t) => {
  await using service = await startTestService();
  const { body: capabilities } = await call<Capabilities>('GET', `${service.url}/api/agent/capabilities`);
  let broken = 0;
  let mended = 0;
  for (const { name, url, inputSchema } of capabilities.actions) {
    const schemaUrl = capabilities.schemas.url.replace('{operation}', name);
    const { idempotencyKey: _key, ...whole } = bodyOf(inputSchema, 'all');
    for (const { what, path, body } of violationsOf(inputSchema, whole)) {
      const label = `${name}: ${path} ${what}`;
      const { status, body: answer } = await call<Answer>('POST', url, body);
      assert.equal(status, 400, label);
      assert.equal(answer.error?.code, 'invalid_input', label);
      const paths = answer.error.issues!.map((issue) => issue.path);
      assert(paths.includes(path), `${label}: issues at ${paths.join(', ')}`);
      assert.equal(answer.error.field, paths[0], label);
      assert(answer.error.suggestion!.endsWith(schemaUrl), `${label}: ${answer.error.suggestion}`);
      broken++;

      const again = await call<Answer>('POST', url, repaired(body, answer.error));
      assert.equal(again.status, 200, `${label}: ${answer.error.suggestion} -> ${JSON.stringify(again.body)}`);
      mended++;
    }
  }
  t.diagnostic(`${broken} constraints broken, ${mended} bodies repaired`);
  assert(broken >= 100);
});

test('all problems come at once, and are repaired at once', async () => {
  await using service = await startTestService();
  const url = `${service.url}/api/agent/actions/checkout.create`;
  const body = {
    product: '',
    amount: 10.999,
    customer: 'buyer@',
    redirectUrl: 'javascript:alert(1)',
    metadata: { orderId: 7, note: 'x'.repeat(501) },
    preferredRoute: 'cash',
    colour: 'red',
  };
  const { body: answer } = await call<Answer>('POST', url, body);
  assert.deepEqual(Object.fromEntries(answer.error!.issues!.map(({ path, code }) => [path, code])), {
    amount: 'not_multiple_of',
    colour: 'unrecognized_keys',
    customer: 'invalid_format',
    'metadata.note': 'too_big',
    'metadata.orderId': 'invalid_type',
    preferredRoute: 'invalid_value',
    product: 'too_small',
    redirectUrl: 'invalid_format',
  });
  const again = await call<Answer>('POST', url, repaired(body, answer.error!));
  assert.equal(again.status, 200, JSON.stringify(again.body));
});

test('an unknown route is named with those to choose from', async () => {
  await using service = await startTestService();
  const { body: listed } = await call<{ routes: { id: string }[] }>('GET', `${service.url}/api/agent/routes`);
  for (const action of ['fees.estimate', 'webhook.example']) {
    const url = `${service.url}/api/agent/actions/${action}`;
    const body = { amount: 20, routeId: 'carrier_pigeon' };
    const { status, body: answer } = await call<Answer>('POST', url, body);
    assert.deepEqual([status, answer.error?.code, answer.error?.field], [400, 'invalid_input', 'routeId']);
    for (const { id } of listed.routes) assert(answer.error!.suggestion!.includes(id), id);
    const again = await call<Answer>('POST', url, repaired(body, answer.error!));
    assert.equal(again.status, 200);
  }
});

test('two orders with a bad idempotencyKey, repaired as suggested, are two sessions', async () => {
  await using service = await startTestService();
  const create = (body: Body) =>
    call<Answer & { result: { id: string } }>('POST', `${service.url}/api/agent/actions/checkout.create`, body);
  const sell = async (order: Body): Promise<string> => {
    const { body: answer } = await create(order);
    const again = await create(repaired(order, answer.error!));
    assert.equal(again.status, 200, JSON.stringify(again.body));
    return again.body.result.id;
  };
  const order = { product: 'Field guide', amount: 5, customer: 'buyer@example.com' };
  for (const [one, other] of [
    ['A-1', 'A-2'],
    [`${'x'.repeat(120)}1`, `${'x'.repeat(120)}2`],
    [1, 2],
  ]) {
    const first = await sell({ ...order, idempotencyKey: one });
    assert.notEqual(first, await sell({ ...order, idempotencyKey: other }));
    assert.equal(first, await sell({ ...order, idempotencyKey: one }), 'a repeated request is the same order');
  }
  // The two orders have equal bodies, so the suggestion removes the key.
  const empty = { ...order, idempotencyKey: '' };
  assert.notEqual(await sell(empty), await sell(empty));
});

test('two orders made from the published examples are two sessions', async () => {
  await using service = await startTestService();
  const { body: capabilities } = await call<Capabilities>('GET', `${service.url}/api/agent/capabilities`);
  const { url, example } = capabilities.actions.find(({ name }) => name === 'checkout.create')!;
  const ids = new Set<string>();
  for (let order = 0; order < 2; order++) {
    const { body } = await call<{ result: { id: string } }>('POST', url, example.request);
    ids.add(body.result.id);
  }
  assert.equal(ids.size, 2);
});
