// @run on=sqlite,postgres
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { providerSays } from '../support/money-arrives.ts';
import { type TestService, call, sessionBody, startTestService } from '../support/service.ts';
import { type Refusal } from '../support/refusal.ts';

interface PaymentAnswer {
  id: string;
  object: string;
  customerId: string;
  invoiceId: string;
  sessionId: string;
  amount: number;
  currency: string;
  status: string;
  ledgerStatus: string;
  created: string;
  route: { id: string; kind: string; label: string };
  fees: { buyer_fee: number; gateway_fee: number; merchant_net: number; total: number };
  metadata: Record<string, string>;
}
interface List<Item = { id: string }> {
  object: string;
  data: Item[];
  hasMore: boolean;
}

describe('customers, payments and invoices', () => {
  let tillway: TestService;
  let api: string;
  let paidSession: string;
  let payment: PaymentAnswer;

  before(async () => {
    tillway = await startTestService();
    api = `${tillway.url}/api/gateway`;
    paidSession = await newSession({ customer: 'Paid@Example.com', metadata: { orderId: 'A-7' } });
    await providerSays(tillway, paidSession, 'paid');
    payment = (await call<PaymentAnswer>('GET', `${api}/payments/${paidSession}`)).body;
    for (let index = 0; index < 25; index++) {
      tillway.clock.advance(1000);
      const id = await newSession({ customer: `many${index % 3}@example.com` });
      await providerSays(tillway, id, index % 2 === 0 ? 'paid' : 'failed');
    }
  });
  after(() => tillway[Symbol.asyncDispose]());

  async function newSession(overrides: Record<string, unknown>): Promise<string> {
    return (await call<{ id: string }>('POST', `${api}/sessions`, sessionBody(overrides))).body.id;
  }

  it('a payment has every field of the spec, in a list and alone', async () => {
    assert.match(payment.id, /^pay_/);
    assert.equal(payment.object, 'payment');
    assert.match(payment.customerId, /^cus_/);
    assert.match(payment.invoiceId, /^inv_/);
    assert.equal(payment.sessionId, paidSession);
    assert.equal(payment.amount, 49.99);
    assert.equal(payment.currency, 'USD');
    assert.equal(payment.status, 'paid');
    assert.equal(payment.ledgerStatus, 'pending');
    assert.match(payment.created, /^2026-03-01T12:00:00\.000Z$/);
    assert.deepEqual(Object.keys(payment.route), ['id', 'kind', 'label']);
    const { buyer_fee, gateway_fee, merchant_net, total } = payment.fees;
    assert.equal(Math.round((buyer_fee + gateway_fee + merchant_net) * 100), Math.round(total * 100));
    assert.deepEqual(payment.metadata, { orderId: 'A-7' });
    const { body } = await call<List<PaymentAnswer>>('GET', `${api}/payments?paymentId=${payment.id}`);
    assert.deepEqual(body.data, [payment]);
  });

  it('GET /payments/{id} takes a payment id or a session id', async () => {
    const { body } = await call<PaymentAnswer>('GET', `${api}/payments/${payment.id}`);
    assert.deepEqual(body, payment);
  });

  it('GET /payments?paymentId= takes a session id too', async () => {
    const { body } = await call<List>('GET', `${api}/payments?paymentId=${paidSession}`);
    assert.deepEqual(
      body.data.map(({ id }) => id),
      [payment.id],
    );
  });

  it('an invoice is created alongside its payment and closed with it', async () => {
    const { body } = await call<Record<string, unknown>>('GET', `${api}/invoices/${payment.invoiceId}`);
    assert.deepEqual(body, {
      id: payment.invoiceId,
      object: 'invoice',
      customerId: payment.customerId,
      paymentId: payment.id,
      sessionId: paidSession,
      amount: 49.99,
      currency: 'USD',
      status: 'paid',
      metadata: { orderId: 'A-7' },
      created: payment.created,
      environment: 'sandbox',
    });
    for (const filter of [`invoiceId=${payment.invoiceId}`, `paymentId=${payment.id}`]) {
      const list = await call<List>('GET', `${api}/invoices?${filter}`);
      assert.deepEqual(
        list.body.data.map(({ id }) => id),
        [payment.invoiceId],
      );
    }
  });

  it('a customer is found by id and by email, case aside, whole address only', async () => {
    const { body } = await call<{ id: string; object: string; email: string; status: string }>(
      'GET',
      `${api}/customers/${payment.customerId}`,
    );
    assert.deepEqual([body.object, body.email, body.status], ['customer', 'Paid@Example.com', 'active']);
    for (const [email, found] of [
      ['paid@example.com', 1],
      ['PAID@EXAMPLE.COM', 1],
      ['paid@example', 0],
      ['%25', 0],
    ] as const) {
      const list = await call<List>('GET', `${api}/customers?email=${email}`);
      assert.equal(list.body.data.length, found, email);
    }
  });

  it('lists 20 by default, newest first, and walks back and forth without gap or repeat', async () => {
    for (const [path, total] of [
      ['payments', 26],
      ['invoices', 26],
      ['sessions', 26],
      ['customers', 4],
    ] as const) {
      const first = await call<List>('GET', `${api}/${path}`);
      assert.equal(first.body.object, 'list');
      assert.equal(first.body.data.length, Math.min(20, total), path);
      assert.equal(first.body.hasMore, total > 20);
      const ids: string[] = [];
      for (let cursor = '', more = true; more;) {
        const page = await call<List>('GET', `${api}/${path}?limit=7${cursor}`);
        ids.push(...page.body.data.map(({ id }) => id));
        more = page.body.hasMore;
        cursor = `&startingAfter=${ids.at(-1)}`;
      }
      assert.equal(ids.length, total, path);
      assert.deepEqual(ids, ids.toSorted().toReversed(), path);
      const back = await call<List>('GET', `${api}/${path}?limit=2&endingBefore=${ids[3]}`);
      assert.deepEqual(
        back.body.data.map(({ id }) => id),
        ids.slice(1, 3),
        path,
      );
      assert.equal(back.body.hasMore, true, path);
    }
  });

  it('filters combine', async () => {
    const paid = await call<List<PaymentAnswer>>('GET', `${api}/payments?status=paid&limit=100`);
    assert.equal(paid.body.data.length, 14);
    const customerId = paid.body.data[0]!.customerId;
    const both = await call<List<PaymentAnswer>>('GET', `${api}/payments?status=paid&customerId=${customerId}`);
    assert.ok(both.body.data.length > 0);
    assert.ok(both.body.data.every((item) => item.status === 'paid' && item.customerId === customerId));
    const other = await call<List>('GET', `${api}/payments?customerId=${customerId}&environment=production`);
    assert.deepEqual(other.body.data, []);
  });

  it('takes a larger limit as 100, and refuses what is no whole number from 1 on', async () => {
    assert.equal((await call<List>('GET', `${api}/payments?limit=100000`)).body.data.length, 26);
    for (const limit of ['0', '-1', '1.5', 'ten', '', '1e2']) {
      const { status, body } = await call<Refusal>('GET', `${api}/payments?limit=${limit}`);
      assert.deepEqual([status, body.error.code, body.error.field], [400, 'invalid_input', 'limit'], limit);
    }
    const twice = await call<Refusal>('GET', `${api}/payments?limit=1&limit=2`);
    assert.equal(twice.status, 400);
  });

  it('refuses a filter id of the wrong kind; an unknown one matches nothing', async () => {
    for (const query of [
      'payments?customerId=pay_x',
      `payments?invoiceId=${payment.id}`,
      `payments?paymentId=${payment.invoiceId}`,
      `invoices?paymentId=${paidSession}`,
      `customers?customerId=${payment.id}`,
      `payments?startingAfter=${payment.invoiceId}`,
      `payments?startingAfter=${payment.id}&endingBefore=${payment.id}`,
      'payments?colour=red',
    ]) {
      const { status, body } = await call<Refusal>('GET', `${api}/${query}`);
      assert.deepEqual([status, body.error.code], [400, 'invalid_input'], query);
    }
    const unknown = `cus_${'0'.repeat(36)}`;
    assert.deepEqual((await call<List>('GET', `${api}/payments?customerId=${unknown}`)).body.data, []);
    assert.deepEqual((await call<List>('GET', `${api}/payments?status=unheard-of`)).body.data, []);
  });

  it('answers 404 in the envelope for ids that do not exist, and for a session without a payment', async () => {
    const unpaid = await newSession({ customer: 'unpaid@example.com' });
    for (const path of ['customers/cus_x', 'payments/pay_x', 'payments/x', 'invoices/inv_x', `payments/${unpaid}`]) {
      const { status, body } = await call<Refusal>('GET', `${api}/${path}`);
      assert.deepEqual([status, body.ok, body.error.code], [404, false, 'not_found'], path);
    }
  });

  it('keeps customers of production out of sandbox filters', async () => {
    await newSession({ customer: 'paid@example.com', environment: 'production' });
    const both = await call<List>('GET', `${api}/customers?email=paid@example.com`);
    assert.equal(both.body.data.length, 2);
    const sandbox = await call<List>('GET', `${api}/customers?email=paid@example.com&environment=sandbox`);
    assert.deepEqual(
      sandbox.body.data.map(({ id }) => id),
      [payment.customerId],
    );
  });
});
