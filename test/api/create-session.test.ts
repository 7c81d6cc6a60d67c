// @run on=sqlite,postgres
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { CheckoutSessionResource } from '../../src/contract/session-contract.ts';
import { type TestService, call, sessionBody, startTestService } from '../support/service.ts';
import { refused } from '../support/refusal.ts';

describe('POST /api/gateway/sessions', () => {
  let tillway: TestService;
  let url: string;
  before(async () => {
    tillway = await startTestService();
    url = `${tillway.url}/api/gateway/sessions`;
  });
  after(() => tillway[Symbol.asyncDispose]());

  const create = (overrides: Record<string, unknown> = {}) =>
    call<CheckoutSessionResource>('POST', url, sessionBody(overrides));
  const sessions = async () => (await call<{ data: unknown[] }>('GET', `${url}?limit=100`)).body.data.length;

  it('answers 200 with a routed session whose checkoutUrl contains its id', async () => {
    const { status, body } = await create({ redirectUrl: 'https://shop.example/thanks', metadata: { orderId: 'A-1' } });
    assert.equal(status, 200);
    assert.match(body.id, /^chk_[0-9a-z]{36}$/);
    assert.deepEqual(body, {
      id: body.id,
      object: 'checkout_session',
      checkoutUrl: `${tillway.url}/checkout/${body.id}`,
      status: 'routed',
      amount: 49.99,
      currency: 'USD',
      redirectUrl: 'https://shop.example/thanks',
      customer: 'buyer@example.com',
      metadata: { orderId: 'A-1' },
      environment: 'sandbox',
      product: 'Field guide',
      customerId: body.customerId,
      clientReferenceId: null,
      created: body.created,
      expiresAt: body.expiresAt,
    });
  });

  it('defaults environment to sandbox, metadata to an empty object and redirectUrl to our own status page', async () => {
    const { body } = await create();
    const { environment, metadata, redirectUrl } = body;
    assert.deepEqual([environment, metadata], ['sandbox', {}]);
    assert.equal(redirectUrl, `${tillway.url}/checkout/${body.id}/complete`);
  });

  it('creates a customer for a new email address, and finds it again in any case', async () => {
    const first = await create({ customer: 'New.Buyer@Example.com' });
    const second = await create({ customer: 'new.buyer@example.COM' });
    assert.equal(first.body.customerId, second.body.customerId);
    const { body } = await call<{ email: string }>(
      'GET',
      `${tillway.url}/api/gateway/customers/${first.body.customerId}`,
    );
    assert.equal(body.email, 'New.Buyer@Example.com');
  });

  it('has separate customers in the two environments', async () => {
    const sandbox = await create({ customer: 'both@example.com' });
    const production = await create({ customer: 'both@example.com', environment: 'production' });
    assert.notEqual(sandbox.body.customerId, production.body.customerId);
  });

  it('creates one customer for 20 sessions of one new buyer at once', async () => {
    const all = await Promise.all(Array.from({ length: 20 }, () => create({ customer: 'rush@example.com' })));
    assert.deepEqual(new Set(all.map(({ status }) => status)), new Set([200]));
    assert.equal(new Set(all.map(({ body }) => body.customerId)).size, 1);
    assert.equal(new Set(all.map(({ body }) => body.id)).size, 20);
  });

  it('accepts every limit of the specification', async () => {
    for (const edge of [
      { product: 'x' },
      { product: '\u{1F426}'.repeat(120) },
      { amount: 0.01 },
      { amount: 10_000 },
      { idempotencyKey: 'k'.repeat(8) },
      { idempotencyKey: 'k'.repeat(120) },
      { clientReferenceId: 'r'.repeat(3) },
      { clientReferenceId: 'r'.repeat(120) },
      { metadata: Object.fromEntries(Array.from({ length: 10 }, (_, index) => [`k${index}`, 'v'.repeat(500)])) },
    ]) {
      assert.equal((await create(edge)).status, 200, JSON.stringify(edge).slice(0, 80));
    }
  });

  // test/contract/fields.test.ts has the limits of every field.
  it('rejects faulty fields by name, and stores nothing', async () => {
    const before = await sessions();
    const faults: [Record<string, unknown>, string, string][] = [
      [{ product: '' }, 'product', 'too_small'],
      [{ amount: 1.001 }, 'amount', 'not_multiple_of'],
      [{ preferredRoute: 'cash' }, 'preferredRoute', 'invalid_value'],
      [{ redirectUrl: '/thanks' }, 'redirectUrl', 'invalid_format'],
      [{ metadata: { k: 'v'.repeat(501) } }, 'metadata.k', 'too_big'],
      [{ colour: 'red' }, 'colour', 'unrecognized_keys'],
    ];
    for (const [overrides, path, code] of faults) {
      const error = await refused([400, 'invalid_input'], 'POST', url, sessionBody(overrides));
      assert.equal(error.field, path);
      assert.ok(
        error.issues?.some((issue) => issue.path === path && issue.code === code),
        JSON.stringify(error),
      );
      assert.match(error.suggestion ?? '', /\/api\/agent\/schema\/checkout\.create$/);
    }
    assert.equal(await sessions(), before);
  });

  it('accepts 0.1 + 0.2 as 30 cents', async () => {
    assert.equal((await create({ amount: 0.1 + 0.2 })).body.amount, 0.3);
  });

  it('accepts plain http in sandbox only', async () => {
    assert.equal((await create({ redirectUrl: 'http://shop.example/' })).status, 200);
    const plain = sessionBody({ redirectUrl: 'http://shop.example/', environment: 'production' });
    assert.equal((await refused([400, 'invalid_input'], 'POST', url, plain)).field, 'redirectUrl');
    assert.equal((await create({ redirectUrl: 'com.example.shop://cart', environment: 'production' })).status, 200);
  });

  describe('idempotencyKey', () => {
    it('answers the first session again for the same input, and says so', async () => {
      const input = { idempotencyKey: 'same-input-1', metadata: { a: '1', b: '2' } };
      const first = await create(input);
      const again = await create({ ...input, metadata: { b: '2', a: '1' }, environment: 'sandbox' });
      assert.equal(first.headers.get('idempotent-replayed'), null);
      assert.equal(again.headers.get('idempotent-replayed'), 'true');
      assert.deepEqual(again.body, first.body);
    });

    it('answers the first answer again even when the session has moved on', async () => {
      const first = await create({ idempotencyKey: 'moved-on-1' });
      await call('POST', `${url}/${first.body.id}/expire`);
      const again = await create({ idempotencyKey: 'moved-on-1' });
      assert.deepEqual(again.body, first.body);
    });

    it('is a 422 conflict with other input', async () => {
      await create({ idempotencyKey: 'other-input-1' });
      const other = sessionBody({ idempotencyKey: 'other-input-1', amount: 50 });
      await refused([422, 'idempotency_conflict'], 'POST', url, other);
    });

    it('compares the last of two equal names, as the session does', async () => {
      const body = (amounts: string) =>
        `{"product":"Field guide","customer":"buyer@example.com","idempotencyKey":"stands-twice-1",${amounts}}`;
      const first = await call<CheckoutSessionResource>('POST', url, body('"amount":10,"amount":49.99'));
      assert.deepEqual([first.status, first.body.amount], [200, 49.99]);
      const again = await call<CheckoutSessionResource>('POST', url, body('"amount":20,"amount":49.99'));
      assert.deepEqual([again.headers.get('idempotent-replayed'), again.body], ['true', first.body]);
      assert.equal((await call('POST', url, body('"amount":49.99'))).status, 200);
      assert.equal((await call('POST', url, body('"amount":49.99,"amount":10'))).status, 422);
    });

    it('is not used up by a rejected input', async () => {
      const faulty = sessionBody({ idempotencyKey: 'rejected-1', amount: 0 });
      await refused([400, 'invalid_input'], 'POST', url, faulty);
      const accepted = await create({ idempotencyKey: 'rejected-1' });
      assert.equal(accepted.status, 200);
      assert.equal(accepted.headers.get('idempotent-replayed'), null);
    });

    it('is scoped by environment', async () => {
      const sandbox = await create({ idempotencyKey: 'per-environment-1' });
      const production = await create({ idempotencyKey: 'per-environment-1', environment: 'production' });
      assert.notEqual(sandbox.body.id, production.body.id);
    });

    it('gives one session to 50 simultaneous callers', async () => {
      const all = await Promise.all(Array.from({ length: 50 }, () => create({ idempotencyKey: 'simultaneous-1' })));
      assert.equal(new Set(all.map(({ body }) => body.id)).size, 1);
      assert.equal(all.filter(({ headers }) => headers.get('idempotent-replayed') === null).length, 1);
    });
  });
});
