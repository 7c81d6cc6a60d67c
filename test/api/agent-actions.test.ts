// @run on=sqlite,postgres
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { call, sessionBody, startTestService } from '../support/service.ts';

interface ActionAnswer {
  ok: boolean;
  action?: string;
  operation?: string;
  result: Record<string, unknown>;
  error?: { code: string; field?: string; suggestion?: string };
}

function act(url: string, action: string, body?: unknown, headers?: Record<string, string>) {
  return call<ActionAnswer>('POST', `${url}/api/agent/actions/${action}`, body, headers);
}

test('an unknown action or operation is refused with the one that was meant', async () => {
  await using service = await startTestService();
  const action = await act(service.url, 'checkout.creat', {});
  assert.equal(action.status, 400);
  assert.deepEqual(
    [action.body.ok, action.body.action, action.body.error?.code],
    [false, 'checkout.creat', 'unknown_operation'],
  );
  assert.match(action.body.error!.suggestion!, /Did you mean checkout\.create\?/);
  const strange = await act(service.url, 'constructor', '{');
  assert.deepEqual([strange.status, strange.body.error?.code], [400, 'unknown_operation']);
  assert.doesNotMatch(strange.body.error!.suggestion!, /mean/);

  const schema = await call<ActionAnswer>('GET', `${service.url}/api/agent/schema/webhook.verifysample`);
  assert.equal(schema.status, 404);
  assert.deepEqual(
    [schema.body.ok, schema.body.operation, schema.body.error?.code],
    [false, 'webhook.verifysample', 'unknown_operation'],
  );
  assert.match(schema.body.error!.suggestion!, /Did you mean webhook\.verify_sample\?/);
});

test('what is no JSON object is refused in the envelope of the action', async () => {
  await using service = await startTestService();
  const cases: [unknown, Record<string, string>, number, string][] = [
    ['{', {}, 400, 'invalid_json'],
    ['null', {}, 400, 'invalid_input'],
    ['[]', {}, 400, 'invalid_input'],
    ['"text"', {}, 400, 'invalid_input'],
    ['{}', { 'content-type': 'text/plain' }, 415, 'unsupported_media_type'],
    [`{"product":"${'x'.repeat(140_000)}"}`, {}, 413, 'payload_too_large'],
  ];
  for (const [body, headers, status, code] of cases) {
    const answer = await act(service.url, 'fees.estimate', body, headers);
    assert.deepEqual([answer.status, answer.body.error?.code, answer.body.action], [status, code, 'fees.estimate']);
  }
  const get = await call<ActionAnswer>('GET', `${service.url}/api/agent/actions/fees.estimate`);
  assert.equal(get.status, 405);
});

test('a preview with a known idempotency key has the same result as a creation', async () => {
  await using service = await startTestService();
  const body = sessionBody({ idempotencyKey: 'order-A-1001' });
  const { body: created } = await act(service.url, 'checkout.create', body);
  const again = await act(service.url, 'checkout.preview', body);
  assert.deepEqual(
    [again.status, again.headers.get('idempotent-replayed'), again.body.result['id'], again.body.result['dryRun']],
    [200, 'true', created.result['id'], true],
  );
  for (const action of ['checkout.preview', 'checkout.create']) {
    const other = await act(service.url, action, { ...body, amount: 1 });
    assert.deepEqual([other.status, other.body.error?.code], [400, 'idempotency_conflict'], action);
  }
  const fresh = await act(service.url, 'checkout.preview', { ...body, idempotencyKey: 'order-A-1002' });
  assert.deepEqual([fresh.status, fresh.headers.get('idempotent-replayed')], [200, null]);
});

test('an absent or empty body is an empty object', async () => {
  await using service = await startTestService();
  assert.equal((await act(service.url, 'webhook.example')).status, 200);
  assert.equal((await act(service.url, 'webhook.example', '')).status, 200);
  const missing = await act(service.url, 'fees.estimate');
  assert.deepEqual([missing.status, missing.body.error?.field], [400, 'amount']);
});

test('checkout.create and POST sessions share their idempotency', async () => {
  await using service = await startTestService();
  const sessions = `${service.url}/api/gateway/sessions`;
  const body = sessionBody({ idempotencyKey: 'order-A-1001', clientReferenceId: 'A-1001' });
  const created = await act(service.url, 'checkout.create', body);
  assert.equal(created.headers.get('idempotent-replayed'), null);
  const replayed = await act(service.url, 'checkout.create', { ...body, amount: 49.990_000_000_000_002 });
  assert.equal(replayed.headers.get('idempotent-replayed'), 'true');
  assert.deepEqual(replayed.body, created.body);
  const session = await call<{ id: string }>('POST', sessions, body);
  assert.equal(session.headers.get('idempotent-replayed'), 'true');
  assert.equal(session.body.id, created.body.result['id']);

  const other = { ...body, amount: 50 };
  const onAction = await act(service.url, 'checkout.create', other);
  assert.deepEqual([onAction.status, onAction.body.error?.code], [400, 'idempotency_conflict']);
  assert.equal(onAction.body.error?.field, 'idempotencyKey');
  const onGateway = await call<ActionAnswer>('POST', sessions, other);
  assert.deepEqual([onGateway.status, onGateway.body.error?.code], [422, 'idempotency_conflict']);
});

test('a preview answers what create answers, and writes nothing', async () => {
  await using service = await startTestService();
  const list = async () => (await call<{ data: unknown[] }>('GET', `${service.url}/api/gateway/sessions`)).body.data;
  for (const preferredRoute of [undefined, 'card', 'wallet', 'local']) {
    const body = sessionBody({
      preferredRoute,
      customer: `${preferredRoute}@example.com`,
      idempotencyKey: `key-${preferredRoute}-1`,
    });
    const before = await list();
    const preview = (await act(service.url, 'checkout.preview', body)).body.result;
    assert.deepEqual(await list(), before);
    const created = (await act(service.url, 'checkout.create', body)).body.result;
    const { id, checkoutUrl, redirectUrl, dryRun, ...same } = preview;
    assert.deepEqual([dryRun, created['dryRun']], [true, false]);
    assert.match(String(checkoutUrl), /\?preview=1$/);
    assert.notEqual(id, created['id']);
    assert.equal(String(redirectUrl).replace(String(id), String(created['id'])), created['redirectUrl']);
    for (const [key, value] of Object.entries(same)) assert.deepEqual(value, created[key], key);
    const { body: gone } = await call<ActionAnswer>('GET', `${service.url}/api/gateway/sessions/${String(id)}`);
    assert.equal(gone.error?.code, 'not_found');
  }
  const customers = await call<{ data: unknown[] }>('GET', `${service.url}/api/gateway/customers`);
  assert.equal(customers.body.data.length, 4);
});

test('routes.list shows sandbox unless asked', async () => {
  await using service = await startTestService();
  const routes = `${service.url}/api/agent/routes`;
  const { body: sandbox } = await call<{ routes: { id: string }[] }>('GET', routes);
  assert(sandbox.routes.every(({ id }) => id.startsWith('sandbox_')));
  const { body: production } = await call<{ routes: { id: string }[] }>('GET', `${routes}?environment=production`);
  assert(production.routes.every(({ id }) => !id.startsWith('sandbox_')));
  const { status, body } = await call<ActionAnswer>('GET', `${routes}?environment=staging`);
  assert.deepEqual([status, body.error?.field], [400, 'environment']);
});
