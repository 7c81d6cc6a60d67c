// @run on=sqlite,postgres
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { CheckoutSession } from '../../sdk/src/index.ts';
import { gatewayOf } from '../support/gateway.ts';
import { call, sessionBody } from '../support/service.ts';
import { suiteService } from '../support/suite.ts';

const tillway = suiteService();
const api = gatewayOf(tillway);

const create = (overrides: Record<string, unknown> = {}) =>
  api.post<CheckoutSession>('sessions', sessionBody(overrides));
const send = (body: unknown) => call<CheckoutSession>('POST', api.url('sessions'), body);
const isReplayed = ({ headers }: { headers: Headers }) => headers.get('idempotent-replayed') === 'true';

describe('creating a session', () => {
  it('creating a session returns a session with the status routed, whose checkoutUrl contains its id', async () => {
    const fields = { redirectUrl: 'https://shop.example/thanks', metadata: { orderId: 'A-1' } };
    const { id, customerId, created, expiresAt, ...session } = await create(fields);
    assert.match(`${id} ${customerId}`, /^chk_[0-9a-z]{36} cus_[0-9a-z]{36}$/);
    assert.ok(created < expiresAt);
    assert.deepEqual(session, {
      ...fields,
      object: 'checkout_session',
      checkoutUrl: `${tillway.url}/checkout/${id}`,
      status: 'routed',
      amount: 49.99,
      currency: 'USD',
      customer: 'buyer@example.com',
      environment: 'sandbox',
      product: 'Field guide',
      clientReferenceId: null,
      transfer: null,
    });
  });

  it('a session is created in sandbox, without metadata and with a redirect to its status page, unless the request says otherwise', async () => {
    const { id, environment, metadata, redirectUrl } = await create();
    assert.deepEqual([environment, metadata], ['sandbox', {}]);
    assert.equal(redirectUrl, `${tillway.url}/checkout/${id}/complete`);
  });

  it('creating a session creates one customer per email address, in any case', async () => {
    const { customerId } = await create({ customer: 'New.Buyer@Example.com' });
    assert.equal((await create({ customer: 'new.buyer@example.COM' })).customerId, customerId);
    assert.equal((await api.get<{ email: string }>(`customers/${customerId}`)).email, 'New.Buyer@Example.com');
  });

  it('creating a session creates one customer for 20 simultaneous sessions of a new buyer', async () => {
    const all = await Promise.all(Array.from({ length: 20 }, () => create({ customer: 'rush@example.com' })));
    assert.equal(new Set(all.map(({ customerId }) => customerId)).size, 1);
    assert.equal(new Set(all.map(({ id }) => id)).size, 20);
  });

  // test/contract/fields.test.ts tests the limits of every field.
  it('a session request with invalid fields is rejected with every invalid field named, and nothing is stored', async () => {
    const before = await api.ids('sessions?limit=100');
    for (const [overrides, path, code] of [
      [{ product: '' }, 'product', 'too_small'],
      [{ amount: 1.001 }, 'amount', 'not_multiple_of'],
      [{ preferredRoute: 'cash' }, 'preferredRoute', 'invalid_value'],
      [{ redirectUrl: '/thanks' }, 'redirectUrl', 'invalid_format'],
      [{ metadata: { k: 'v'.repeat(501) } }, 'metadata.k', 'too_big'],
      [{ colour: 'red' }, 'colour', 'unrecognized_keys'],
    ] as const) {
      const { field, issues, suggestion } = await api.refused(
        '400 invalid_input',
        'POST sessions',
        sessionBody(overrides),
      );
      assert.equal(field, path);
      assert.ok(issues.some((issue) => issue.path === path && issue.code === code));
      assert.match(suggestion, /\/api\/agent\/schema\/checkout\.create$/);
    }
    assert.deepEqual(await api.ids('sessions?limit=100'), before);
  });
});

describe('the idempotency key of a session', () => {
  it('a repeated session request with the same idempotency key returns the first response, even after the session has changed', async () => {
    const input = { idempotencyKey: 'same-input-1', metadata: { a: '1', b: '2' } };
    const first = await send(sessionBody(input));
    assert.equal(first.headers.get('idempotent-replayed'), null);
    await api.post(`sessions/${first.body.id}/expire`);
    const again = await send(sessionBody({ ...input, metadata: { b: '2', a: '1' }, environment: 'sandbox' }));
    assert.ok(isReplayed(again));
    assert.deepEqual(again.body, first.body);
  });

  it('of a repeated JSON field in a session request, the last value is stored and compared for the idempotency key', async () => {
    const body = (amounts: string) =>
      `{"product":"Field guide","customer":"buyer@example.com","idempotencyKey":"stands-twice-1",${amounts}}`;
    const first = await send(body('"amount":10,"amount":49.99'));
    assert.deepEqual([first.status, first.body.amount], [200, 49.99]);
    for (const same of ['"amount":20,"amount":49.99', '"amount":49.99']) {
      const again = await send(body(same));
      assert.deepEqual([isReplayed(again), again.body], [true, first.body]);
    }
    await api.refused('422 idempotency_conflict', 'POST sessions', body('"amount":49.99,"amount":10'));
  });

  it('the idempotency key of a session is still free after a rejected request', async () => {
    const idempotencyKey = 'rejected-1';
    await api.refused('400 invalid_input', 'POST sessions', sessionBody({ idempotencyKey, amount: 0 }));
    const accepted = await send(sessionBody({ idempotencyKey }));
    assert.deepEqual([accepted.status, isReplayed(accepted)], [200, false]);
  });

  it('the idempotency key of a session is scoped by environment', async () => {
    const sandbox = await create({ idempotencyKey: 'per-environment-1' });
    const production = await create({ idempotencyKey: 'per-environment-1', environment: 'production' });
    assert.notEqual(sandbox.id, production.id);
  });

  it('50 simultaneous requests with one idempotency key create one session', async () => {
    const body = sessionBody({ idempotencyKey: 'simultaneous-1' });
    const all = await Promise.all(Array.from({ length: 50 }, () => send(body)));
    assert.equal(new Set(all.map((answer) => answer.body.id)).size, 1);
    assert.equal(all.filter((answer) => !isReplayed(answer)).length, 1);
  });
});

describe('a session', () => {
  it('a session can be expired before the buyer has started to pay, also repeatedly', async () => {
    const { id } = await create();
    for (let time = 0; time < 2; time++)
      assert.equal((await api.post<CheckoutSession>(`sessions/${id}/expire`)).status, 'expired');
  });

  it('a session that is never started expires at its expiry time, without an event', async () => {
    const { id } = await create();
    const { store } = tillway.service.deps;
    await tillway.pass(86_399_000);
    assert.equal((await store.session(id))?.status, 'routed');
    await tillway.pass(1000);
    assert.equal((await store.session(id))?.status, 'expired');
    assert.deepEqual(await store.eventsOfSession(id), []);
  });
});
