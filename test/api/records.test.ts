import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Customer, Payment } from '../../sdk/src/index.ts';
import { gatewayOf } from '../support/gateway.ts';
import type { List } from '../support/merchant.ts';
import { providerSays } from '../support/money-arrives.ts';
import { sessionBody } from '../support/service.ts';
import { suiteService } from '../support/suite.ts';

// test/api/lists.test.ts tests the rules common to all lists.
describe('reads of customers, payments and invoices', () => {
  const tillway = suiteService({}, async () => {
    paidSession = await newSession({ customer: 'Paid@Example.com', metadata: { orderId: 'A-7' } });
    await providerSays(tillway, paidSession, 'paid');
    payment = await api.get(`payments/${paidSession}`);
    for (let index = 0; index < 25; index++) {
      tillway.clock.advance(1000);
      const id = await newSession({ customer: `many${index % 3}@example.com` });
      await providerSays(tillway, id, index % 2 === 0 ? 'paid' : 'failed');
    }
  });
  const api = gatewayOf(tillway);
  let paidSession: string;
  let payment: Payment;

  const newSession = async (overrides: Record<string, unknown>) =>
    (await api.post<{ id: string }>('sessions', sessionBody(overrides))).id;

  it('a payment has every documented field', () => {
    const { id, customerId, invoiceId, route, fees, ...fields } = payment;
    assert.match(`${id} ${customerId} ${invoiceId}`, /^pay_\w+ cus_\w+ inv_\w+$/);
    assert.deepEqual(Object.keys(route), ['id', 'kind', 'label']);
    const { buyer_fee, gateway_fee, merchant_net, total } = fees;
    assert.equal(Math.round((buyer_fee + gateway_fee + merchant_net) * 100), Math.round(total * 100));
    assert.partialDeepStrictEqual(fields, {
      object: 'payment',
      sessionId: paidSession,
      amount: 49.99,
      currency: 'USD',
      status: 'paid',
      ledgerStatus: 'pending',
      created: '2026-03-01T12:00:00.000Z',
      metadata: { orderId: 'A-7' },
    });
  });

  it('a payment is found by payment id and by session id', async () => {
    assert.deepEqual(await api.get(`payments/${payment.id}`), payment);
    for (const id of [payment.id, paidSession]) assert.deepEqual(await api.list(`payments?paymentId=${id}`), [payment]);
    const unpaid = await newSession({ customer: 'many0@example.com' });
    await api.refused('404 not_found', `GET payments/${unpaid}`);
  });

  it('an invoice is created with its payment and has the same final status', async () => {
    const invoice = await api.get(`invoices/${payment.invoiceId}`);
    assert.deepEqual(invoice, {
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
    for (const filter of [`invoiceId=${payment.invoiceId}`, `paymentId=${payment.id}`])
      assert.deepEqual(await api.list(`invoices?${filter}`), [invoice]);
  });

  it('a customer is found by id and by the complete email address in any case', async () => {
    const customer = await api.get<Customer>(`customers/${payment.customerId}`);
    assert.deepEqual([customer.object, customer.email, customer.status], ['customer', 'Paid@Example.com', 'active']);
    for (const email of ['paid@example.com', 'PAID@EXAMPLE.COM'])
      assert.deepEqual(await api.list(`customers?email=${email}`), [customer]);
    for (const email of ['paid@example', '%25']) assert.deepEqual(await api.list(`customers?email=${email}`), []);
  });

  it('a list contains 20 records by default and at most 100', async () => {
    const { data, hasMore } = await api.get<List<Payment>>('payments');
    assert.deepEqual([data.length, hasMore], [20, true]);
    assert.equal((await api.ids('payments?limit=100000')).length, 26);
  });
});
