// @run on=sqlite,postgres
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { applyReport } from '../../src/operations/apply-provider-message.ts';
import { applyRefundAnswer } from '../../src/operations/refunds/apply-refund-report.ts';
import { attempt, createSession, start, stateOf } from '../simulator/buyer.ts';
import { providerSays } from '../support/money-arrives.ts';
import { type TestService, call, startTestService } from '../support/service.ts';
import { assertSound } from '../support/sound.ts';
import { type Refusal } from '../support/refusal.ts';

interface Discrepancy {
  id: string;
  kind: string;
  status: string;
  actions: string[];
  expected: number;
  received: number;
  paymentId: string | null;
  refundId: string | null;
  resolution: string | null;
  note: string | null;
  resolvedAt: string | null;
}

let service: TestService;
let other: TestService;

before(async () => {
  service = await startTestService();
  other = await startTestService({ beside: service });
});
after(async () => {
  try {
    await assertSound(service.databaseUrl);
    assert.equal(await service.service.deps.store.ledgerTotal(), 0);
  } finally {
    await other[Symbol.asyncDispose]();
    await service[Symbol.asyncDispose]();
  }
});

const list = async (query: string) =>
  (await call<{ data: Discrepancy[] }>('GET', `${service.url}/api/gateway/discrepancies?${query}`)).body.data;
const of = async (sessionId: string) => (await list(`sessionId=${sessionId}`))[0]!;
const resolve = (id: string, body: unknown, on = service) =>
  call<Discrepancy & Refusal>('POST', `${on.url}/api/gateway/discrepancies/${id}/resolve`, body);

/** A session whose provider reports 1.00 less than the amount, by way of its own page. */
async function shortPaid(customer: string): Promise<string> {
  const session = await createSession(service, { customer });
  await attempt(service, session, 'card', 'wrong_amount');
  await service.pass(0);
  return session;
}

/** A session that two payments have paid: the first one came late. */
async function paidTwice(customer: string): Promise<{ session: string; surplus: string }> {
  const session = await createSession(service, { customer });
  await attempt(service, session, 'card', 'late_success');
  await service.pass(0);
  await attempt(service, session, 'card', 'paid');
  await service.pass(0);
  await service.pass(35_000);
  const checkout = (await service.service.deps.store.checkout(session))!;
  return { session, surplus: checkout.payments.find(({ surplus }) => surplus)!.id };
}

/** Balance of each account for one payment. */
async function booked(paymentId: string): Promise<Record<string, number>> {
  const sums: Record<string, number> = {};
  for (const { account, amount } of await service.service.deps.store.ledgerOfPayment(paymentId)) {
    sums[account] = (sums[account] ?? 0) + amount;
    if (sums[account] === 0) delete sums[account];
  }
  return sums;
}

/** Balances after a payment of 49.99; `held` includes the cost of the provider. */
const PAID = { held: 4999, merchant_payable: -4854, gateway_revenue: -145 };

async function bookedAsPaid(paymentId: string): Promise<Record<string, number>> {
  const { provider_clearing: clearing = 0, provider_cost: cost = 0, ...others } = await booked(paymentId);
  return { held: clearing + cost, ...others };
}

describe('money of another amount than asked for', () => {
  test('is listed by all filters, newest first, with what can be done about it', async () => {
    const session = await shortPaid('listed@example.com');
    const found = await of(session);
    assert.deepEqual(
      [found.kind, found.status, found.expected, found.received, found.actions],
      ['amount_mismatch', 'open', 49.99, 48.99, ['refund', 'accept']],
    );
    for (const query of [
      'kind=amount_mismatch',
      'status=open',
      'environment=sandbox',
      'kind=amount_mismatch&status=open&environment=sandbox',
      '',
    ])
      assert.equal((await list(query))[0]!.id, found.id, query);
    for (const query of ['kind=surplus', 'status=resolved', 'environment=production'])
      assert(!(await list(query)).some(({ id }) => id === found.id), query);
    const one = await call<Discrepancy>('GET', `${service.url}/api/gateway/discrepancies/${found.id}`);
    assert.deepEqual(one.body, found);
    assert.equal((await call('GET', `${service.url}/api/gateway/discrepancies?kind=odd`)).status, 400);
    assert.equal((await call('GET', `${service.url}/api/gateway/discrepancies/dis_x`)).status, 404);
  });

  test('is one record however often it is reported, and the newest amount counts', async () => {
    const session = await started('often@example.com', 49.99);
    await providerSays(service, session, 'paid', { amount: 100, eventId: 'often_1' });
    await providerSays(service, session, 'paid', { amount: 100, eventId: 'often_1' });
    assert.equal((await list(`sessionId=${session}`)).length, 1);
    await providerSays(service, session, 'failed', { amount: 100 });
    await providerSays(service, session, 'provider_pending', { amount: 100 });
    assert.equal((await list(`sessionId=${session}`)).length, 1, 'only money needs somebody');
  });

  test('found by asking the provider, is heard again where the answer has changed', async () => {
    const session = await started('asked@example.com', 49.99);
    const { deps } = service.service;
    const payment = (await deps.store.checkout(session))!.payments[0]!;
    const answered = async (amount: number) => {
      const report = { paymentId: null, status: 'paid' as const, amount, currency: 'USD', txHash: null };
      const provider = deps.providers.get('sandbox')!;
      return (await applyReport(deps, provider, payment, { ...report, failure: null })).outcome;
    };
    const outcomes = [await answered(2000), await answered(2000), await answered(3000), await answered(4999)];
    assert.deepEqual(outcomes, ['amount_mismatch', 'duplicate', 'amount_mismatch', 'applied']);
    assert.equal(await answered(4999), 'duplicate');
    assert.deepEqual(await shown(session), [[49.99, 30, 'paid_in_full']]);
  });

  test('accepted: the session is paid, and the merchant bears the difference to the cent', async () => {
    const session = await shortPaid('accepted@example.com');
    const { id, paymentId } = await of(session);
    const answer = await resolve(id, { action: 'accept', note: 'good enough' });
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    const { status, resolution, note, actions } = answer.body;
    assert.deepEqual([status, resolution, note, actions], ['resolved', 'accepted', 'good enough', []]);
    assert.notEqual(answer.body.resolvedAt, null);
    const state = await stateOf(service, session);
    assert.deepEqual([state.session, state.payments, state.invoices], ['paid', ['paid'], ['paid']]);
    assert(state.events.includes('payment.paid'));
    const payment = (await service.service.deps.store.payment(paymentId!))!;
    const { fees, providerCost } = payment;
    assert.deepEqual(await booked(payment.id), {
      provider_clearing: fees.total - 100 - providerCost,
      provider_cost: providerCost,
      merchant_payable: -(fees.merchantNet - 100),
      gateway_revenue: -(fees.buyerFee + fees.gatewayFee),
    });
    await assertSound(service.databaseUrl);

    // An amount that never arrived cannot be refunded.
    const url = `${service.url}/api/gateway/payments/${payment.id}/refunds`;
    assert.equal((await call('POST', url, { amount: fees.total / 100 })).status, 400);
    assert.equal((await call('POST', url, {})).status, 200);
    await service.pass(0);
    await service.pass(60_000);
    await assertSound(service.databaseUrl);
  });

  test('refunded: the buyer gets what came, and the books are as if it never had', async () => {
    const session = await shortPaid('refunded@example.com');
    const { id, paymentId } = await of(session);
    const answer = await resolve(id, { action: 'refund' });
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    assert.deepEqual([answer.body.status, answer.body.actions], ['open', []]);
    const again = await resolve(id, { action: 'accept' });
    assert.deepEqual([again.status, again.body.error.code], [409, 'invalid_state']);
    await service.pass(0);
    await service.pass(60_000);
    const after = await of(session);
    assert.deepEqual([after.status, after.resolution], ['resolved', 'refunded']);
    const refund = (await service.service.deps.store.refund(after.refundId!))!;
    const payment = (await service.service.deps.store.payment(paymentId!))!;
    assert.deepEqual([refund.amount, refund.status], [payment.fees.total - 100, 'succeeded']);
    assert.deepEqual(await booked(paymentId!), {});
    await assertSound(service.databaseUrl);
  });

  test('is resolved by itself where the whole amount comes after all', async () => {
    const session = await shortPaid('completed@example.com');
    await providerSays(service, session, 'paid');
    const found = await of(session);
    assert.deepEqual([found.status, found.resolution, found.actions], ['resolved', 'paid_in_full', []]);
    const late = await resolve(found.id, { action: 'refund' });
    assert.deepEqual([late.status, late.body.error.code], [409, 'invalid_state']);
  });

  test('whose refund failed is part of the full amount that arrives later, whichever resolution closes it', async () => {
    const session = await shortPaid('completed-late@example.com');
    const { id, paymentId } = await of(session);
    await resolve(id, { action: 'refund' });
    await report((await of(session)).refundId!, 'failed');
    assert.equal((await booked(paymentId!))['buyer_refunds_payable'], -4899);
    await providerSays(service, session, 'paid');
    assert.deepEqual(await bookedAsPaid(paymentId!), PAID);
    assert.equal((await of(session)).resolution, 'paid_in_full');

    const second = await shortPaid('closed-late@example.com');
    const wrong = await of(second);
    await resolve(wrong.id, { action: 'refund' });
    assert.equal((await providerSays(service, second, 'paid')).outcome, 'amount_mismatch');
    await report(await refundOf(wrong.id), 'failed');
    assert.equal((await booked(wrong.paymentId!))['buyer_refunds_payable'], -4899);
    assert.equal((await providerSays(service, second, 'paid')).outcome, 'applied');
    assert.deepEqual(await bookedAsPaid(wrong.paymentId!), PAID);
    assert.deepEqual(await shown(second), [
      [0, 1, 'paid_in_full'],
      [49.99, 48.99, 'paid_in_full'],
    ]);
  });

  test('accepted: what was short comes after all, once, and is the merchant’s; a word of less changes nothing', async () => {
    const session = await shortPaid('rest@example.com');
    const { id, paymentId } = await of(session);
    assert.equal((await resolve(id, { action: 'accept' })).status, 200);
    for (const outcome of ['applied', 'ignored']) {
      assert.equal((await providerSays(service, session, 'paid')).outcome, outcome);
      assert.deepEqual(await bookedAsPaid(paymentId!), PAID);
    }
    const more = await started('less@example.com', 49.99);
    await providerSays(service, more, 'paid', { amount: 5999 });
    await resolve((await of(more)).id, { action: 'accept' });
    assert.equal((await providerSays(service, more, 'paid')).outcome, 'ignored');
    const payment = (await of(more)).paymentId!;
    const settled = await call<{ amount: number }>('POST', `${service.url}/api/gateway/payments/${payment}/settle`, {});
    assert.equal(settled.body.amount, 58.54);
  });

  test('given back, the right amount does not pay by itself: what came beyond what went back is to be decided', async () => {
    const session = await started('went-back@example.com', 30);
    await providerSays(service, session, 'paid', { amount: 2000 });
    await resolve((await of(session)).id, { action: 'refund' });
    for (const amount of [2000, 1500]) {
      assert.equal((await providerSays(service, session, 'paid', { amount })).outcome, 'ignored');
    }
    await report((await of(session)).refundId!, 'succeeded');
    assert.equal((await providerSays(service, session, 'paid', { amount: 2500 })).outcome, 'amount_mismatch');
    assert.equal((await providerSays(service, session, 'paid')).outcome, 'amount_mismatch');
    assert.equal((await stateOf(service, session)).session, 'pending');
    assert.deepEqual(await shown(session), [
      [0, 10, null],
      [30, 20, 'refunded'],
    ]);
    assert.equal((await providerSays(service, session, 'paid', { amount: 5000 })).outcome, 'applied');
    assert.equal((await stateOf(service, session)).session, 'paid');
    assert.deepEqual((await shown(session))[0], [0, 10, 'paid_in_full']);
  });

  test('told while somebody decides is what came beyond the decision, not beside it', async () => {
    const session = await started('meanwhile@example.com', 30);
    await providerSays(service, session, 'paid', { amount: 2000 });
    const { id } = await of(session);
    const { deps } = service.service;
    let reads = 0;
    const checkout = async (sessionId: string) => {
      const found = await deps.store.checkout(sessionId);
      if (reads++ === 0) assert.equal((await resolve(id, { action: 'refund' }, other)).status, 200);
      return found;
    };
    const slow = { service: { ...service.service, deps: { ...deps, store: { ...deps.store, checkout } } } };
    await providerSays(slow, session, 'paid', { amount: 2500 });
    assert.equal(reads, 2);
    assert.deepEqual(await shown(session), [
      [0, 5, null],
      [30, 20, null],
    ]);
    assert.deepEqual((await of(session)).actions, ['refund', 'accept']);
  });

  test('beyond what has paid a payment is kept or given back, and a word of less is an older one', async () => {
    for (const [action, amount] of [
      ['accept', 58.54],
      ['refund', 48.54],
    ] as const) {
      const session = await started(`beyond-${action}@example.com`, 49.99);
      await providerSays(service, session, 'paid');
      assert.equal((await providerSays(service, session, 'paid', { amount: 3999 })).outcome, 'ignored');
      assert.deepEqual(await shown(session), []);
      await providerSays(service, session, 'paid', { amount: 5999 });
      const { id, expected, received, actions, paymentId } = await of(session);
      assert.deepEqual([expected, received, actions], [0, 10, ['refund', 'accept']]);
      assert.equal((await resolve(id, { action })).status, 200);
      const path = `${service.url}/api/gateway/payments/${paymentId}/settle`;
      assert.equal((await call<{ amount: number }>('POST', path, {})).body.amount, amount);
      if (action === 'accept') continue;
      await report(await refundOf(id), 'succeeded');
      assert.equal((await of(session)).resolution, 'refunded');
      assert.deepEqual((await booked(paymentId!))['merchant_payable'], undefined);
    }
  });

  test('an older word of the right amount pays, and leaves what came beyond it to be decided', async () => {
    const session = await started('overtaken@example.com', 49.99);
    await providerSays(service, session, 'paid', { amount: 5500 });
    assert.equal((await providerSays(service, session, 'paid')).outcome, 'applied');
    assert.deepEqual(await shown(session), [[0, 5.01, null]]);
    await providerSays(service, session, 'paid', { amount: 5500 });
    assert.deepEqual(await shown(session), [[0, 5.01, null]]);
  });

  test('of nothing at all there is nothing to give back: it is closed with a note', async () => {
    const session = await createSession(service, { customer: 'nothing@example.com', amount: 1 });
    await attempt(service, session, 'card', 'wrong_amount');
    await service.pass(0);
    const { id, received, actions } = await of(session);
    assert.deepEqual([received, actions], [0, ['accept']]);
    assert.equal((await resolve(id, { action: 'refund' })).status, 409);
    assert.equal((await resolve(id, { action: 'accept' })).status, 400);
    assert.equal((await resolve(id, { action: 'accept', note: 'nothing came' })).status, 200);
  });

  test('is not accepted where it does not cover the fees: the last cent that does and the first that does not', async () => {
    const take = async (cents: number) => {
      const session = await started(`fee${cents}@example.com`, 49.99);
      await providerSays(service, session, 'paid', { amount: cents });
      return resolve((await of(session)).id, { action: 'accept' });
    };
    const session = await started('fees@example.com', 49.99);
    const { fees, amount } = (await service.service.deps.store.checkout(session))!.payments[0]!;
    const least = amount - fees.merchantNet;
    assert.equal((await take(least)).status, 200);
    const refused = await take(least - 1);
    assert.deepEqual([refused.status, refused.body.error.code], [409, 'invalid_state']);
    assert.match(refused.body.error.suggestion, /refund/);
  });

  test('of two who decide at once one wins, and the other is told', async () => {
    for (let round = 0; round < 3; round++) {
      const { id } = await of(await shortPaid(`both${round}@example.com`));
      const answers = await Promise.all([
        resolve(id, { action: 'accept' }, service),
        resolve(id, { action: 'refund' }, other),
      ]);
      assert.deepEqual(
        answers.map(({ status }) => status).toSorted((a, b) => a - b),
        [200, 409],
      );
    }
    await service.pass(0);
    await service.pass(60_000);
  });
});

describe('money that nothing here can book', () => {
  test('of an unknown payment is closed by hand, with a note', async () => {
    const session = await started('unknown@example.com', 49.99);
    await providerSays(service, session, 'paid', { paymentId: 'pay_of_somebody' });
    const found = await of(session);
    assert.deepEqual([found.kind, found.paymentId, found.actions], ['unknown_payment', null, ['accept']]);
    const refused = await resolve(found.id, { action: 'refund' });
    assert.deepEqual([refused.status, refused.body.error.field], [409, 'action']);
    assert.match(refused.body.error.suggestion, /provider/);
    const noted = await resolve(found.id, { action: 'accept' });
    assert.deepEqual([noted.status, noted.body.error.field], [400, 'note']);
    const closed = await resolve(found.id, { action: 'accept', note: 'given back at the provider' });
    assert.deepEqual([closed.body.status, closed.body.resolution], ['resolved', 'accepted']);
    assert.equal((await stateOf(service, session)).session, 'pending');
  });

  test('of the other environment and of another currency neither', async () => {
    for (const [overrides, kind] of [
      [{ environment: 'production' }, 'environment_mismatch'],
      [{ currency: 'EUR' }, 'currency_mismatch'],
    ] as const) {
      const session = await started(`${kind}@example.com`, 49.99);
      await providerSays(service, session, 'paid', overrides);
      const found = await of(session);
      assert.deepEqual([found.kind, found.actions], [kind, ['accept']]);
      assert.equal((await resolve(found.id, { action: 'accept', note: 'seen' })).status, 200);
      assert.equal((await stateOf(service, session)).session, 'pending');
    }
  });

  test('is not dropped where more of it comes after it was closed', async () => {
    const session = await started('more-euros@example.com', 49.99);
    const paymentId = (await service.service.deps.store.checkout(session))!.payments[0]!.id;
    const say = (amount: number, currency: string) =>
      providerSays(service, session, 'paid', { amount, paymentId, currency });
    await say(2000, 'EUR');
    await resolve((await of(session)).id, { action: 'accept', note: 'given back at the provider' });
    for (const [amount, currency] of [
      [2000, 'EUR'],
      [3000, 'JPY'],
      [3000, 'JPY'],
      [2500, 'EUR'],
    ] as const) {
      await say(amount, currency);
    }
    // An amount in yen does not raise the record in euros.
    const { items } = await service.service.deps.store.listDiscrepancies({ sessionId: session }, { limit: 10 });
    assert.deepEqual(
      items.map(({ currency, received, resolution, provider }) => [currency, received, resolution, provider]),
      [
        ['EUR', 2500, null, 'sandbox'],
        ['JPY', 3000, null, 'sandbox'],
        ['EUR', 2000, 'accepted', 'sandbox'],
      ],
    );
    assert.deepEqual((await of(session)).actions, ['accept']);
  });

  test('of one payment is compared with that of no other', async () => {
    const session = await started('two-unknown@example.com', 49.99);
    const say = (paymentId: string, amount: number) => providerSays(service, session, 'paid', { amount, paymentId });
    await say('pay_y', 10_000);
    await say('pay_x', 2000);
    await resolve((await of(session)).id, { action: 'accept', note: 'given back at the provider' });
    // Neither of them is pay_x, whatever is made of an underscore or a slash.
    for (const other of ['payzx', 'pay_x/y', 'pay_x%2Fy']) await say(other, 100);
    for (const amount of [4000, 4000, 1000, 6000]) await say('pay_x', amount);
    assert.deepEqual(await shown(session), [
      [49.99, 60, null],
      [49.99, 1, null],
      [49.99, 1, null],
      [49.99, 1, null],
      [49.99, 20, 'accepted'],
      [49.99, 100, null],
    ]);
  });

  test('is one open record, which every larger word raises, also of two instances at once', async () => {
    const session = await started('foreign@example.com', 49.99);
    const say = (amount: number, on = service) =>
      providerSays(on, session, 'paid', { amount, paymentId: 'pay_foreign' });
    const close = async () => resolve((await of(session)).id, { action: 'accept', note: 'given back at the provider' });
    await say(2000);
    await say(4999);
    assert.deepEqual(await shown(session), [[49.99, 49.99, null]]);
    await close();
    await say(6000);
    await Promise.all([say(7000, service), say(9000, other), say(8000, service), say(8500, other)]);
    assert.deepEqual(await shown(session), [
      [49.99, 90, null],
      [49.99, 49.99, 'accepted'],
    ]);
    assert.equal((await of(session)).kind, 'unknown_payment');
    await close();
    // The first report creates the record. Records of one millisecond on two instances are listed in either order.
    await Promise.all([say(9500, service), say(9700, other)]);
    assert.deepEqual(
      (await shown(session)).toSorted(([, a], [, b]) => Number(b) - Number(a)),
      [
        [49.99, 97, null],
        [49.99, 90, 'accepted'],
        [49.99, 49.99, 'accepted'],
      ],
    );
    await assertSound(service.databaseUrl);
  });

  test('is listed page by page within its session too, both ways', async () => {
    const session = await started('pages@example.com', 49.99);
    for (const paymentId of ['pay_1', 'pay_2', 'pay_3']) await providerSays(service, session, 'paid', { paymentId });
    const ids = (await list(`sessionId=${session}`)).map(({ id }) => id);
    assert.equal(ids.length, 3);
    const page = async (query: string) => {
      const path = `${service.url}/api/gateway/discrepancies?sessionId=${session}&status=open&${query}`;
      const { data, hasMore } = (await call<{ data: Discrepancy[]; hasMore: boolean }>('GET', path)).body;
      return [data.map(({ id }) => ids.indexOf(id)), hasMore];
    };
    assert.deepEqual(await page('limit=3'), [[0, 1, 2], false]);
    assert.deepEqual(await page('limit=2'), [[0, 1], true]);
    assert.deepEqual(await page(`limit=2&startingAfter=${ids[1]}`), [[2], false]);
    assert.deepEqual(await page(`startingAfter=${ids[0]}`), [[1, 2], false]);
    assert.deepEqual(await page(`limit=1&endingBefore=${ids[2]}`), [[1], true]);
  });
});

describe('a second payment of a session that is paid', () => {
  test('is refunded unasked: it is open until that has succeeded, and resolved by itself', async () => {
    const { session, surplus } = await paidTwice('surplus@example.com');
    const opened = await service.service.deps.store.discrepancy((await of(session)).id);
    assert.deepEqual([opened!.kind, opened!.paymentId], ['surplus', surplus]);
    await service.pass(60_000);
    const found = await of(session);
    assert.deepEqual([found.kind, found.status, found.resolution], ['surplus', 'resolved', 'refunded']);
    assert.deepEqual([found.expected, found.received], [0, 49.99]);
    assert.notEqual(found.refundId, null);
  });

  test('whose refund fails, late too, can be refunded again or kept', async () => {
    for (const action of ['refund', 'accept'] as const) {
      const { session, surplus } = await paidTwice(`failed-${action}@example.com`);
      await service.pass(60_000);
      const { deps } = service.service;
      const { refundId, id } = await of(session);
      await report(refundId!, 'failed');
      const open = await of(session);
      assert.deepEqual([open.status, open.resolution, open.actions], ['open', null, ['refund', 'accept']]);
      assert.equal((await resolve(id, { action })).status, 200);
      const decided = await of(session);
      if (action === 'refund') {
        assert.deepEqual([decided.status, decided.actions], ['open', []]);
        await report(decided.refundId!, 'succeeded');
      }
      const after = await of(session);
      assert.equal(after.status, 'resolved');
      assert.equal(after.resolution, action === 'refund' ? 'refunded' : 'accepted');
      const { fees, surplusAccepted: kept } = (await deps.store.payment(surplus))!;
      assert.equal(kept, action === 'accept');
      assert.equal((await booked(surplus))['merchant_payable'] ?? 0, action === 'accept' ? -fees.total : 0);
      assert.equal((await booked(surplus))['buyer_refunds_payable'] ?? 0, 0);
      if (action === 'refund') assert.notEqual(after.refundId, refundId);
      await assertSound(service.databaseUrl);
    }
  });

  test('partly refunded, stays to be decided: kept, a part that comes back late is the merchant’s too', async () => {
    const { session, surplus } = await paidTwice('in-parts@example.com');
    await service.pass(60_000);
    const { id, refundId } = await of(session);
    await report(refundId!, 'failed');
    const path = `${service.url}/api/gateway/payments/${surplus}/refunds`;
    const part = (await call<{ id: string }>('POST', path, { amount: 10 })).body;
    assert.deepEqual((await of(session)).actions, []);
    await report(part.id, 'succeeded');
    const open = await of(session);
    assert.deepEqual([open.status, open.actions], ['open', ['refund', 'accept']]);
    await assertSound(service.databaseUrl);

    assert.equal((await resolve(id, { action: 'accept' })).status, 200);
    assert.equal((await booked(surplus))['merchant_payable'], -3999);
    await report(part.id, 'failed');
    assert.deepEqual(
      [(await booked(surplus))['merchant_payable'], (await booked(surplus))['buyer_refunds_payable']],
      [-4999, undefined],
    );
    const settled = await call<{ amount: number }>('POST', `${service.url}/api/gateway/payments/${surplus}/settle`, {});
    assert.equal(settled.body.amount, 49.99);
    assert.equal((await booked(surplus))['merchant_payable'], undefined);
  });

  test('is counted apart from a wrong amount of the same payment, which goes its own way', async () => {
    const session = await started('apart@example.com', 49.99);
    await providerSays(service, session, 'paid', { amount: 3999 });
    const wrong = await of(session);
    await resolve(wrong.id, { action: 'refund' });
    const { store } = service.service.deps;
    await providerSays(service, session, 'failed');
    await start(service, session, 'card');
    await providerSays(service, session, 'paid');
    // The provider took the wrong amount, which is being refunded, and the right amount for the first attempt.
    await providerSays(service, session, 'paid', { amount: 3999 + 4999, paymentId: wrong.paymentId! });
    const surplus = await of(session);
    assert.deepEqual([surplus.kind, surplus.paymentId], ['surplus', wrong.paymentId]);

    await report(surplus.refundId!, 'failed');
    assert.deepEqual((await of(session)).actions, ['refund', 'accept'], 'though the other refund is in progress');
    assert.equal((await resolve(surplus.id, { action: 'accept' })).status, 200);
    const kept = { held: 4999, merchant_payable: -4999 };
    assert.deepEqual(await bookedAsPaid(wrong.paymentId!), {
      ...kept,
      held: 4999 + 3999,
      buyer_refunds_payable: -3999,
    });
    await report(await refundOf(wrong.id), 'failed');
    assert.equal((await booked(wrong.paymentId!))['merchant_payable'], -4999, 'it was never part of what is kept');
    const refused = await resolve(wrong.id, { action: 'accept' });
    assert.deepEqual([refused.status, refused.body.error.code], [409, 'invalid_state']);
    assert.match(refused.body.error.suggestion, /refund/);
    assert.equal((await resolve(wrong.id, { action: 'refund' })).status, 200);
    await report(await refundOf(wrong.id), 'succeeded');
    assert.deepEqual(await bookedAsPaid(wrong.paymentId!), kept);
    assert.deepEqual((await store.discrepancy(wrong.id))!.resolution, 'refunded');
  });
});

/** A session that is being paid by card. */
async function started(customer: string, amount: number): Promise<string> {
  const session = await createSession(service, { customer, amount });
  await start(service, session, 'card');
  return session;
}

/** Expected amount, received amount and resolution of each record, newest first. */
async function shown(session: string) {
  return (await list(`sessionId=${session}`)).map(({ expected, received, resolution }) => [
    expected,
    received,
    resolution,
  ]);
}

async function refundOf(id: string): Promise<string> {
  return (await service.service.deps.store.discrepancy(id))!.refundId!;
}

/** Applies a provider report about a refund; a refund can also fail after its success. */
async function report(refundId: string, status: 'succeeded' | 'failed'): Promise<void> {
  const { deps } = service.service;
  const refund = (await deps.store.refund(refundId))!;
  await applyRefundAnswer(deps, refund, { status, reason: status === 'failed' ? 'the account is closed' : null });
}
