import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gatewayOf } from '../support/gateway.ts';
import { type Refusal, refusal, refused } from '../support/refusal.ts';
import { call, sessionBody } from '../support/service.ts';
import { suiteService } from '../support/suite.ts';

interface ActionAnswer {
  result: Record<string, unknown> & { id: string };
}

const service = suiteService();

const urlOf = (action: string) => `${service.url}/api/agent/actions/${action}`;
const act = (action: string, body?: unknown) => call<ActionAnswer>('POST', urlOf(action), body);
const isReplayed = ({ headers }: { headers: Headers }) => headers.get('idempotent-replayed') === 'true';

test('an unknown action or operation is rejected, and the error suggests the most similar name', async () => {
  const schema = `${service.url}/api/agent/schema/webhook.verifysample`;
  for (const [answer, name, suggestion] of [
    [
      await refusal([400, 'unknown_operation'], 'POST', urlOf('checkout.creat'), {}),
      { action: 'checkout.creat' },
      /Did you mean checkout\.create\?/,
    ],
    [
      await refusal([400, 'unknown_operation'], 'POST', urlOf('constructor'), '{'),
      { action: 'constructor' },
      /^(?!.*mean)/,
    ],
    [
      await refusal([404, 'unknown_operation'], 'GET', schema),
      { operation: 'webhook.verifysample' },
      /Did you mean webhook\.verify_sample\?/,
    ],
  ] as const) {
    assert.partialDeepStrictEqual(answer.body, name);
    assert.match(answer.body.error.suggestion, suggestion);
  }
});

test('an action rejects a body that is not a JSON object, with the action named in the error envelope', async () => {
  for (const [body, type, status, code] of [
    ['{', 'json', 400, 'invalid_json'],
    ['null', 'json', 400, 'invalid_input'],
    ['[]', 'json', 400, 'invalid_input'],
    ['"text"', 'json', 400, 'invalid_input'],
    ['{}', 'xml', 415, 'unsupported_media_type'],
    [`{"product":"${'x'.repeat(140_000)}"}`, 'json', 413, 'payload_too_large'],
  ] as const) {
    const headers = { 'content-type': `application/${type}` };
    const answer = await refusal([status, code], 'POST', urlOf('fees.estimate'), body, headers);
    assert.equal((answer.body as Refusal & { action?: string }).action, 'fees.estimate');
  }
  await refused([405, 'method_not_allowed'], 'GET', urlOf('fees.estimate'));
});

test('checkout.preview, checkout.create and POST sessions share one set of idempotency keys', async () => {
  const body = sessionBody({ idempotencyKey: 'order-A-1001', clientReferenceId: 'A-1001' });
  const created = await act('checkout.create', body);
  assert.ok(!isReplayed(created));
  const replayed = await act('checkout.create', { ...body, amount: 49.990_000_000_000_002 });
  assert.deepEqual([isReplayed(replayed), replayed.body], [true, created.body]);
  const { id } = created.body.result;
  const session = await call<{ id: string }>('POST', gatewayOf(service).url('sessions'), body);
  assert.deepEqual([isReplayed(session), session.body.id], [true, id]);
  const preview = await act('checkout.preview', body);
  assert.deepEqual([preview.status, isReplayed(preview)], [200, true]);
  assert.partialDeepStrictEqual(preview.body.result, { id, dryRun: true });
  const fresh = await act('checkout.preview', { ...body, idempotencyKey: 'order-A-1002' });
  assert.deepEqual([fresh.status, isReplayed(fresh)], [200, false]);

  const other = { ...body, amount: 50 };
  for (const action of ['checkout.preview', 'checkout.create']) {
    const { field } = await refused([400, 'idempotency_conflict'], 'POST', urlOf(action), other);
    assert.equal(field, 'idempotencyKey');
  }
  await gatewayOf(service).refused('422 idempotency_conflict', 'POST sessions', other);
});

test('checkout.preview returns the response of checkout.create, and writes nothing', async () => {
  const api = gatewayOf(service);
  const written = async () => [await api.ids('sessions'), await api.ids('customers')];
  for (const preferredRoute of [undefined, 'card', 'wallet', 'local']) {
    const customer = `${preferredRoute}@example.com`;
    const body = sessionBody({ preferredRoute, customer, idempotencyKey: `key-${preferredRoute}-1` });
    const before = await written();
    const { id, checkoutUrl, redirectUrl, dryRun, ...same } = (await act('checkout.preview', body)).body.result;
    assert.deepEqual(await written(), before);
    const created = (await act('checkout.create', body)).body.result;
    assert.deepEqual([dryRun, created['dryRun']], [true, false]);
    assert.match(String(checkoutUrl), /\?preview=1$/);
    assert.notEqual(id, created.id);
    assert.equal(String(redirectUrl).replace(id, created.id), created['redirectUrl']);
    for (const [key, value] of Object.entries(same)) assert.deepEqual(value, created[key], key);
    await api.refused('404 not_found', `GET sessions/${id}`);
  }
});

test('routes.list contains the routes of sandbox by default', async () => {
  const url = `${service.url}/api/agent/routes`;
  for (const [query, isSandbox] of [
    ['', true],
    ['?environment=production', false],
  ] as const) {
    const { body } = await call<{ routes: { id: string }[] }>('GET', url + query);
    assert.ok(body.routes.length > 0);
    for (const { id } of body.routes) assert.equal(id.startsWith('sandbox_'), isSandbox, id);
  }
  assert.equal((await refused([400, 'invalid_input'], 'GET', `${url}?environment=staging`)).field, 'environment');
});
