// @run on=sqlite,postgres
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Payment, Refund } from '../../sdk/src/index.ts';
import { isId } from '../../src/domain/id.ts';
import { attempt, createSession } from '../simulator/buyer.ts';
import { gatewayOf } from '../support/gateway.ts';
import { call } from '../support/service.ts';
import { suiteService } from '../support/suite.ts';

const on = suiteService();
const api = gatewayOf(on);

async function paidPayment(): Promise<Payment> {
  const sessionId = await createSession(on);
  await attempt(on, sessionId, 'card', 'paid');
  await on.pass(0);
  return payment(sessionId);
}

const payment = (id: string) => api.get<Payment>(`payments/${id}`);
const refund = (id: string, body?: object) => api.post<Refund>(`payments/${id}/refunds`, body);
const sendRefund = (id: string, body: object) => call<Refund>('POST', api.url(`payments/${id}/refunds`), body);
const refused = (expected: string, id: string, body: object) =>
  api.refused(expected, `POST payments/${id}/refunds`, body);

describe('a refund', () => {
  test('a refund without an amount covers the remaining amount; it is pending first, then succeeds', async () => {
    const paid = await paidPayment();
    const { id, created, ...rest } = await refund(paid.id);
    assert.ok(isId(id, 'ref'));
    assert.deepEqual(rest, {
      object: 'refund',
      paymentId: paid.id,
      sessionId: paid.sessionId,
      environment: 'sandbox',
      amount: 49.99,
      currency: 'USD',
      reason: null,
      status: 'pending',
      failureReason: null,
      updated: created,
    });
    const pending = { ledgerStatus: 'pending', refundedAmount: 0, refundPendingAmount: 49.99 };
    assert.partialDeepStrictEqual(await payment(paid.id), pending);

    await on.pass(1000);
    assert.equal((await api.get<Refund>(`refunds/${id}`)).status, 'succeeded');
    const refunded = { status: 'paid', ledgerStatus: 'refunded', refundedAmount: 49.99, refundPendingAmount: 0 };
    assert.partialDeepStrictEqual(await payment(paid.id), refunded);
    const { session, invoices } = (await on.service.deps.store.checkout(paid.sessionId))!;
    assert.deepEqual([session.status, invoices.map(({ status }) => status)], ['paid', ['paid']]);
    assert.equal(await on.service.deps.store.ledgerTotal(), 0);
  });

  test('a refund of a part leaves ledgerStatus unchanged; only a full refund sets it to refunded', async () => {
    const paid = await paidPayment();
    for (const amount of [20, 29.9, 0.09]) {
      await refund(paid.id, { amount, reason: 'other' });
      assert.equal((await payment(paid.id)).ledgerStatus, 'pending');
      await on.pass(10_000);
    }
    assert.partialDeepStrictEqual(await payment(paid.id), { ledgerStatus: 'refunded', refundedAmount: 49.99 });
  });

  test('a refund is rejected above the remaining amount; pending refunds reduce the remaining amount', async () => {
    const { id } = await paidPayment();
    await refund(id, { amount: 40 });
    const { field, issues, message, suggestion } = await refused('400 invalid_input', id, { amount: 10 });
    assert.deepEqual([field, issues[0]?.code], ['amount', 'too_big']);
    assert.match(`${message} ${suggestion}`, /9\.99 USD.*at most 9\.99/);
    await refund(id, { amount: 9.99 });
    const nothing = await refused('409 invalid_state', id, { amount: 0.01 });
    assert.match(nothing.message, /^Nothing of payment .* is left .*: 0\.00 USD is refunded and 49\.99 USD is pending/);
  });

  test('a refund that failed shows the failure reason, and its amount can be refunded again', async () => {
    const paid = await paidPayment();
    const { id } = await refund(paid.id, { amount: 5.02 });
    await on.pass(1000);
    const failed = { status: 'failed', failureReason: "the buyer's bank declined the refund" };
    assert.partialDeepStrictEqual(await api.get(`refunds/${id}`), failed);
    assert.partialDeepStrictEqual(await payment(paid.id), { refundedAmount: 0, refundPendingAmount: 0 });
    assert.equal((await refund(paid.id)).amount, 49.99);
  });

  test('a refund request with an invalid amount, an unknown field or an unknown reason is rejected, and nothing is stored', async () => {
    const { id } = await paidPayment();
    for (const [field, value, code] of [
      ['amount', 0, 'too_small'],
      ['amount', -1, 'too_small'],
      ['amount', 0.001, 'not_multiple_of'],
      ['amount', 1.001, 'not_multiple_of'],
      ['amount', '1', 'invalid_type'],
      ['amount', 50, 'too_big'],
      ['amount', 1e300, 'too_big'],
      ['reason', 'surplus', 'invalid_value'],
      ['idempotencyKey', 'short', 'too_small'],
      ['cents', 100, 'unrecognized_keys'],
      ['paymentId', id, 'unrecognized_keys'],
    ] as const) {
      const error = await refused('400 invalid_input', id, { [field]: value });
      assert.deepEqual([error.field, error.issues[0]?.code], [field, code]);
    }
    assert.equal((await refund(id, { amount: 0.1 + 0.2 })).amount, 0.3);
    assert.equal((await api.ids(`payments/${id}/refunds`)).length, 1);
  });

  test('a refund is rejected for a payment that is not paid, and for a session without a payment', async () => {
    const sessionId = await createSession(on);
    for (const id of [sessionId, `chk_${'0'.repeat(36)}`]) await refused('404 not_found', id, {});
    await attempt(on, sessionId, 'card', 'paid_later');
    const { message } = await refused('409 invalid_state', sessionId, {});
    assert.match(message, /is pending: only a paid one is refunded/);
  });
});

describe('the idempotency key of a refund', () => {
  const key = (text: string) => ({ idempotencyKey: `${text}-refund-key` });

  test('a repeated refund request with the same idempotency key returns the first response, even after the refund has succeeded', async () => {
    const { id, sessionId } = await paidPayment();
    const first = await sendRefund(id, { amount: 10, ...key('same') });
    assert.equal(first.headers.get('idempotent-replayed'), null);
    await on.pass(1000);
    for (const requestedId of [id, sessionId]) {
      const { status, body, headers } = await sendRefund(requestedId, { ...key('same'), amount: 10 });
      assert.deepEqual([status, body, headers.get('idempotent-replayed')], [200, first.body, 'true']);
    }
    assert.equal((await payment(id)).refundedAmount, 10);
  });

  test('a used refund idempotency key is rejected with another amount, reason or payment', async () => {
    const [paid, other] = [await paidPayment(), await paidPayment()];
    await refund(paid.id, { amount: 10, ...key('taken') });
    for (const [id, body] of [
      [paid.id, { amount: 11 }],
      [paid.id, {}],
      [paid.id, { amount: 10, reason: 'duplicate' }],
      [other.id, { amount: 10 }],
    ] as const) {
      const { field } = await refused('422 idempotency_conflict', id, { ...body, ...key('taken') });
      assert.equal(field, 'idempotencyKey');
    }
    assert.equal((await payment(other.id)).refundPendingAmount, 0);
  });

  test('the idempotency key of a refund is still free after a rejected refund or after its use for a session', async () => {
    const idempotencyKey = 'one-key-for-both';
    const sessionId = await createSession(on, { idempotencyKey });
    await attempt(on, sessionId, 'card', 'paid');
    await refused('409 invalid_state', sessionId, { amount: 1, idempotencyKey });
    await on.pass(0);
    await refused('400 invalid_input', sessionId, { amount: 1000, idempotencyKey });
    await refund(sessionId, { amount: 1, idempotencyKey });
  });
});

// test/api/lists.test.ts tests the rules common to all lists.
test('refunds are listed newest first, and filtered by payment, session and status', async () => {
  const { id, sessionId } = await paidPayment();
  const made: string[] = [];
  for (const amount of [1, 2.02, 3]) made.unshift((await refund(id, { amount })).id);
  await on.pass(1000);
  const [third, second, first] = made;
  for (const [path, expected] of [
    [`payments/${id}/refunds`, made],
    [`payments/${sessionId}/refunds?status=failed`, [second]],
    [`refunds?paymentId=${id}`, made],
    [`refunds?sessionId=${sessionId}&status=succeeded`, [third, first]],
    [`refunds?sessionId=${sessionId}&environment=production`, []],
    ['refunds?status=lost', []],
  ] as const)
    assert.deepEqual(await api.ids(path), expected, path);
  for (const query of ['paymentId=chk_x', 'reason=other'])
    await api.refused('400 invalid_input', `GET refunds?${query}`);
});
