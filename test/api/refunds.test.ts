// @run on=sqlite,postgres
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { isId } from '../../src/domain/id.ts';
import { attempt, createSession } from '../simulator/buyer.ts';
import { type TestService, call, startTestService } from '../support/service.ts';
import { type Refusal } from '../support/refusal.ts';

interface Refund {
  id: string;
  paymentId: string;
  sessionId: string;
  amount: number;
  status: string;
  created: string;
}

interface Page {
  data: Refund[];
  hasMore: boolean;
}

interface PaymentView {
  id: string;
  status: string;
  ledgerStatus: string;
  refundedAmount: number;
  refundPendingAmount: number;
}

let on: TestService;
const url = (path: string) => `${on.url}/api/gateway${path}`;

async function paidPayment(amount = 49.99): Promise<PaymentView & { sessionId: string }> {
  const sessionId = await createSession(on, { amount });
  await attempt(on, sessionId, 'card', 'paid');
  await on.pass(0);
  return { ...(await payment(sessionId)), sessionId };
}

async function payment(id: string): Promise<PaymentView> {
  return (await call<PaymentView>('GET', url(`/payments/${id}`))).body;
}

const refund = <Body = Refund>(id: string, body?: unknown) => call<Body>('POST', url(`/payments/${id}/refunds`), body);

async function refused(id: string, body: unknown): Promise<[number, Refusal['error']]> {
  const { status, body: answer } = await refund<Refusal>(id, body);
  return [status, answer.error];
}

before(async () => {
  on = await startTestService();
});
after(() => on[Symbol.asyncDispose]());

describe('a refund', () => {
  test('of all that is left, when no amount is named: pending first, then the payment is refunded', async () => {
    const paid = await paidPayment();
    const { status, body } = await refund(paid.id);
    assert.equal(status, 200);
    assert.ok(isId(body.id, 'ref'));
    const { created, ...rest } = body;
    assert.deepEqual(rest, {
      id: body.id,
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
    assert.partialDeepStrictEqual(await payment(paid.id), {
      ledgerStatus: 'pending',
      refundedAmount: 0,
      refundPendingAmount: 49.99,
    });

    await on.pass(1000);
    assert.equal((await call<Refund>('GET', url(`/refunds/${body.id}`))).body.status, 'succeeded');
    assert.partialDeepStrictEqual(await payment(paid.id), {
      status: 'paid',
      ledgerStatus: 'refunded',
      refundedAmount: 49.99,
      refundPendingAmount: 0,
    });
    const { session, invoices } = (await on.service.deps.store.checkout(paid.sessionId))!;
    assert.deepEqual([session.status, invoices.map(({ status: of }) => of)], ['paid', ['paid']]);
    assert.equal(await on.service.deps.store.ledgerTotal(), 0);
  });

  test('of a part, as often as something is left; the payment is refunded with the last cent and not before', async () => {
    const paid = await paidPayment();
    for (const [amount, ledgerStatus] of [
      [20, 'pending'],
      [29.9, 'pending'],
      [0.09, 'pending'],
    ] as const) {
      assert.equal((await refund(paid.id, { amount, reason: 'other' })).status, 200);
      assert.equal((await payment(paid.id)).ledgerStatus, ledgerStatus);
      await on.pass(10_000);
    }
    assert.partialDeepStrictEqual(await payment(paid.id), { ledgerStatus: 'refunded', refundedAmount: 49.99 });
  });

  test('names the payment by the id of its session too', async () => {
    const paid = await paidPayment();
    assert.equal((await refund(paid.sessionId, { amount: 1 })).body.paymentId, paid.id);
  });

  test('is never more than what is left, to the cent; what is in progress counts', async () => {
    const paid = await paidPayment();
    await refund(paid.id, { amount: 40 });
    const [status, error] = await refused(paid.id, { amount: 10 });
    assert.deepEqual(
      [status, error.code, error.field, error.issues?.[0]?.code],
      [400, 'invalid_input', 'amount', 'too_big'],
    );
    assert.match(`${error.message} ${error.suggestion}`, /9\.99 USD.*at most 9\.99/);
    assert.equal((await refund(paid.id, { amount: 9.99 })).status, 200);
    const [conflict, nothing] = await refused(paid.id, { amount: 0.01 });
    assert.deepEqual([conflict, nothing.code], [409, 'invalid_state']);
    assert.match(
      nothing.message,
      /Nothing of payment .* is left to refund: 0\.00 USD is refunded and 49\.99 USD is pending/,
    );
  });

  test('that failed is left to be made again, and says why it failed', async () => {
    const paid = await paidPayment();
    const { body } = await refund(paid.id, { amount: 5.02 });
    await on.pass(1000);
    assert.partialDeepStrictEqual((await call<Refund>('GET', url(`/refunds/${body.id}`))).body, {
      status: 'failed',
      failureReason: "the buyer's bank declined the refund",
    });
    assert.partialDeepStrictEqual(await payment(paid.id), { refundedAmount: 0, refundPendingAmount: 0 });
    assert.equal((await refund(paid.id)).body.amount, 49.99);
  });

  test('is refused for what is no amount, for unknown fields and reasons, and leaves nothing behind', async () => {
    const paid = await paidPayment();
    const bodies: [unknown, string, string][] = [
      [{ amount: 0 }, 'amount', 'too_small'],
      [{ amount: -1 }, 'amount', 'too_small'],
      [{ amount: 0.001 }, 'amount', 'not_multiple_of'],
      [{ amount: 1.001 }, 'amount', 'not_multiple_of'],
      [{ amount: '1' }, 'amount', 'invalid_type'],
      [{ amount: 50 }, 'amount', 'too_big'],
      [{ amount: 1e300 }, 'amount', 'too_big'],
      [{ reason: 'surplus' }, 'reason', 'invalid_value'],
      [{ idempotencyKey: 'short' }, 'idempotencyKey', 'too_small'],
      [{ cents: 100 }, 'cents', 'unrecognized_keys'],
      [{ paymentId: paid.id }, 'paymentId', 'unrecognized_keys'],
    ];
    for (const [body, field, code] of bodies) {
      const [status, error] = await refused(paid.id, body);
      assert.deepEqual([status, error.code, error.field, error.issues?.[0]?.code], [400, 'invalid_input', field, code]);
    }
    assert.equal((await refund(paid.id, { amount: 0.1 + 0.2 })).body.amount, 0.3);
    assert.equal((await call<Page>('GET', url(`/payments/${paid.id}/refunds`))).body.data.length, 1);
  });

  test('is refused for a payment that is not paid, and one that does not exist', async () => {
    const sessionId = await createSession(on);
    assert.deepEqual((await refused(sessionId, {}))[0], 404);
    await attempt(on, sessionId, 'card', 'paid_later');
    const [status, error] = await refused(sessionId, {});
    assert.deepEqual([status, error.code], [409, 'invalid_state']);
    assert.match(error.message, /is pending: only a paid one is refunded/);
    for (const id of [`pay_${'0'.repeat(36)}`, `chk_${'0'.repeat(36)}`, 'x']) {
      assert.deepEqual((await refused(id, {}))[0], 404, id);
    }
  });
});

describe('an idempotency key', () => {
  const key = (text: string) => ({ idempotencyKey: `${text}-of-this-refund` });

  test('answers the first refund again, as it was answered first, however it has gone on', async () => {
    const paid = await paidPayment();
    const first = await refund(paid.id, { amount: 10, ...key('same') });
    assert.equal(first.headers.get('idempotent-replayed'), null);
    await on.pass(1000);
    for (const id of [paid.id, paid.sessionId]) {
      const again = await refund(id, { ...key('same'), amount: 10 });
      assert.deepEqual([again.status, again.body], [200, first.body]);
      assert.equal(again.headers.get('idempotent-replayed'), 'true');
    }
    assert.equal((await payment(paid.id)).refundedAmount, 10);
  });

  test('is taken for one refund: another amount, reason or payment is a conflict', async () => {
    const [paid, other] = [await paidPayment(), await paidPayment()];
    await refund(paid.id, { amount: 10, ...key('taken') });
    for (const [id, body] of [
      [paid.id, { amount: 11 }],
      [paid.id, {}],
      [paid.id, { amount: 10, reason: 'duplicate' }],
      [other.id, { amount: 10 }],
    ] as const) {
      const [status, error] = await refused(id, { ...body, ...key('taken') });
      assert.deepEqual([status, error.code, error.field], [422, 'idempotency_conflict', 'idempotencyKey']);
    }
    assert.equal((await payment(other.id)).refundPendingAmount, 0);
  });

  test('is not used up by a refusal, nor by a session of the same key', async () => {
    const idempotencyKey = 'one-key-for-both';
    const sessionId = await createSession(on, { idempotencyKey });
    await attempt(on, sessionId, 'card', 'paid');
    assert.equal((await refused(sessionId, { amount: 1, idempotencyKey }))[0], 409);
    await on.pass(0);
    assert.equal((await refused(sessionId, { amount: 1000, idempotencyKey }))[0], 400);
    assert.equal((await refund(sessionId, { amount: 1, idempotencyKey })).status, 200);
  });

  test('of many callers at once makes one refund', async () => {
    const paid = await paidPayment();
    const answers = await Promise.all(
      Array.from({ length: 12 }, () => refund(paid.id, { amount: 10, ...key('many') })),
    );
    assert.deepEqual(new Set(answers.map(({ body }) => body.id)).size, 1);
    assert.equal(answers.filter(({ headers }) => headers.get('idempotent-replayed') === null).length, 1);
    assert.equal((await payment(paid.id)).refundPendingAmount, 10);
  });
});

describe('refunds are listed', () => {
  test('newest first, by payment, session, status and environment, page by page', async () => {
    const paid = await paidPayment();
    const made: string[] = [];
    for (const amount of [1, 2.02, 3]) made.unshift((await refund(paid.id, { amount })).body.id);
    await on.pass(1000);
    const ids = async (path: string) => (await call<Page>('GET', url(path))).body.data.map(({ id }) => id);
    assert.deepEqual(await ids(`/payments/${paid.id}/refunds`), made);
    assert.deepEqual(await ids(`/payments/${paid.sessionId}/refunds?status=failed`), [made[1]]);
    assert.deepEqual(await ids(`/refunds?paymentId=${paid.id}`), made);
    assert.deepEqual(await ids(`/refunds?sessionId=${paid.sessionId}&status=succeeded`), [made[0], made[2]]);
    assert.deepEqual(await ids(`/refunds?sessionId=${paid.sessionId}&environment=production`), []);
    assert.deepEqual(await ids(`/refunds?status=lost`), []);
    assert.deepEqual((await ids('/refunds')).slice(0, 3), made);
    assert.deepEqual((await ids('/refunds?environment=sandbox&status=failed'))[0], made[1]);
    assert.deepEqual(await ids('/refunds?environment=production'), []);

    const { body: first } = await call<Page>('GET', url(`/refunds?paymentId=${paid.id}&limit=2`));
    assert.deepEqual([first.data.map(({ id }) => id), first.hasMore], [made.slice(0, 2), true]);
    assert.deepEqual(await ids(`/refunds?paymentId=${paid.id}&limit=2&startingAfter=${made[1]}`), [made[2]]);
    assert.deepEqual(await ids(`/payments/${paid.id}/refunds?endingBefore=${made[2]}&limit=1`), [made[1]]);
  });

  test('with refusals for what cannot be meant', async () => {
    for (const query of ['?paymentId=chk_x', '?limit=0', '?limit=1&limit=2', '?startingAfter=pay_1', '?reason=other']) {
      assert.equal((await call('GET', url(`/refunds${query}`))).status, 400, query);
    }
    assert.equal((await call('GET', url(`/payments/pay_${'0'.repeat(36)}/refunds`))).status, 404);
    assert.equal((await call('GET', url(`/refunds/ref_${'0'.repeat(36)}`))).status, 404);
    assert.equal((await call('GET', url('/refunds/x'))).status, 404);
  });
});
