// @run on=sqlite,postgres
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type TestService, call, sessionBody, startTestService } from '../support/service.ts';
import { type Refusal } from '../support/refusal.ts';

interface SessionAnswer {
  id: string;
  object: string;
  checkoutUrl: string;
  redirectUrl: string;
  status: string;
  amount: number;
  currency: string;
  customer: string;
  customerId: string;
  metadata: Record<string, string>;
  environment: string;
}

describe('POST /api/gateway/sessions', () => {
  let tillway: TestService;
  let url: string;
  before(async () => {
    tillway = await startTestService();
    url = `${tillway.url}/api/gateway/sessions`;
  });
  after(() => tillway[Symbol.asyncDispose]());

  const create = (overrides: Record<string, unknown> = {}) => call<SessionAnswer>('POST', url, sessionBody(overrides));
  const refuse = (overrides: Record<string, unknown>) => call<Refusal>('POST', url, sessionBody(overrides));
  const sessions = async () => (await call<{ data: unknown[] }>('GET', `${url}?limit=100`)).body.data.length;

  it('answers 200 with a routed session whose checkoutUrl carries its id', async () => {
    const { status, body } = await create({ redirectUrl: 'https://shop.example/thanks', metadata: { orderId: 'A-1' } });
    assert.equal(status, 200);
    assert.match(body.id, /^chk_[0-9a-z]{36}$/);
    assert.equal(body.object, 'checkout_session');
    assert.equal(body.checkoutUrl, `${tillway.url}/checkout/${body.id}`);
    assert.equal(body.status, 'routed');
    assert.equal(body.amount, 49.99);
    assert.equal(body.currency, 'USD');
    assert.equal(body.redirectUrl, 'https://shop.example/thanks');
    assert.equal(body.customer, 'buyer@example.com');
    assert.deepEqual(body.metadata, { orderId: 'A-1' });
    assert.equal(body.environment, 'sandbox');
  });

  it('defaults environment to sandbox, metadata to an empty object and redirectUrl to our own status page', async () => {
    const { body } = await create();
    assert.equal(body.environment, 'sandbox');
    assert.deepEqual(body.metadata, {});
    assert.equal(body.redirectUrl, `${tillway.url}/checkout/${body.id}/complete`);
  });

  it('creates a customer for a new email, and uses it again in whatever case', async () => {
    const first = await create({ customer: 'New.Buyer@Example.com' });
    const second = await create({ customer: 'new.buyer@example.COM' });
    assert.equal(first.body.customerId, second.body.customerId);
    const { body } = await call<{ email: string }>(
      'GET',
      `${tillway.url}/api/gateway/customers/${first.body.customerId}`,
    );
    assert.equal(body.email, 'New.Buyer@Example.com');
  });

  it('keeps the customers of the two environments apart', async () => {
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

  it('takes every limit of the spec at its edge', async () => {
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

  it('refuses everything beyond an edge, names the field, and stores nothing', async () => {
    const before = await sessions();
    const beyond: [Record<string, unknown>, string, string][] = [
      [{ product: '' }, 'product', 'too_small'],
      [{ product: 'x'.repeat(121) }, 'product', 'too_big'],
      [{ amount: 0 }, 'amount', 'too_small'],
      [{ amount: -1 }, 'amount', 'too_small'],
      [{ amount: 10_000.01 }, 'amount', 'too_big'],
      [{ amount: 1.001 }, 'amount', 'not_multiple_of'],
      [{ amount: '49.99' }, 'amount', 'invalid_type'],
      [{ customer: 'not-an-address' }, 'customer', 'invalid_format'],
      [{ preferredRoute: 'cash' }, 'preferredRoute', 'invalid_value'],
      [{ redirectUrl: 'javascript:alert(1)' }, 'redirectUrl', 'invalid_format'],
      [{ redirectUrl: '/thanks' }, 'redirectUrl', 'invalid_format'],
      [{ idempotencyKey: 'k'.repeat(7) }, 'idempotencyKey', 'too_small'],
      [{ idempotencyKey: 'k'.repeat(121) }, 'idempotencyKey', 'too_big'],
      [{ clientReferenceId: 'rr' }, 'clientReferenceId', 'too_small'],
      [{ clientReferenceId: 'r'.repeat(121) }, 'clientReferenceId', 'too_big'],
      [{ metadata: { k: 'v'.repeat(501) } }, 'metadata.k', 'too_big'],
      [{ metadata: { k: 1 } }, 'metadata.k', 'invalid_type'],
      [
        { metadata: Object.fromEntries(Array.from({ length: 11 }, (_, index) => [`k${index}`, 'v'])) },
        'metadata.k10',
        'too_big',
      ],
      [{ environment: 'test' }, 'environment', 'invalid_value'],
      [{ colour: 'red' }, 'colour', 'unrecognized_keys'],
    ];
    for (const [overrides, path, code] of beyond) {
      const { status, body } = await refuse(overrides);
      assert.equal(status, 400, path);
      assert.equal(body.ok, false);
      assert.equal(body.error.code, 'invalid_input');
      assert.equal(body.error.field, path);
      assert.ok(
        body.error.issues.some((issue) => issue.path === path && issue.code === code),
        JSON.stringify(body),
      );
      assert.match(body.error.suggestion, /\/api\/agent\/schema\/checkout\.create$/);
    }
    assert.equal(await sessions(), before);
  });

  it('reports every faulty field at once', async () => {
    const { body } = await call<Refusal>('POST', url, { amount: 0, customer: 'x', colour: 1 });
    assert.deepEqual(body.error.issues.map(({ path }) => path).toSorted(), ['amount', 'colour', 'customer', 'product']);
  });

  it('takes 0.1 + 0.2 as 30 cents', async () => {
    assert.equal((await create({ amount: 0.1 + 0.2 })).body.amount, 0.3);
  });

  it('takes plain http back to the shop in sandbox only', async () => {
    assert.equal((await create({ redirectUrl: 'http://shop.example/' })).status, 200);
    const production = await refuse({ redirectUrl: 'http://shop.example/', environment: 'production' });
    assert.equal(production.body.error.field, 'redirectUrl');
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
      const { status, body } = await refuse({ idempotencyKey: 'other-input-1', amount: 50 });
      assert.equal(status, 422);
      assert.equal(body.error.code, 'idempotency_conflict');
    });

    it('is of the fields that count: of a field that stands twice the last, in the session and in the comparison', async () => {
      const body = (amounts: string) =>
        `{"product":"Field guide","customer":"buyer@example.com","idempotencyKey":"stands-twice-1",${amounts}}`;
      const first = await call<SessionAnswer>('POST', url, body('"amount":10,"amount":49.99'));
      assert.deepEqual([first.status, first.body.amount], [200, 49.99]);
      const again = await call<SessionAnswer>('POST', url, body('"amount":20,"amount":49.99'));
      assert.deepEqual([again.headers.get('idempotent-replayed'), again.body], ['true', first.body]);
      assert.equal((await call('POST', url, body('"amount":49.99'))).status, 200);
      assert.equal((await call('POST', url, body('"amount":49.99,"amount":10'))).status, 422);
    });

    it('is not used up by a rejected input', async () => {
      assert.equal((await refuse({ idempotencyKey: 'rejected-1', amount: 0 })).status, 400);
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
