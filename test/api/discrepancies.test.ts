// @run on=sqlite,postgres
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Discrepancy } from '../../sdk/src/index.ts';
import { applyReport } from '../../src/operations/provider-hints.ts';
import { aReport, applySandboxSignal, settlementSignal } from '../fixtures/provider-reports.ts';
import { chooseAnotherMethod } from '../../src/operations/leave-payment.ts';
import { applyRefundAnswer } from '../../src/operations/refunds/apply-refund-report.ts';
import { attempt, createSession, start, stateOf } from '../simulator/buyer.ts';
import { booksOf, gatewayOf, paymentsOf, pick } from '../support/gateway.ts';
import { providerSays } from '../support/money-arrives.ts';
import { type TestService, call } from '../support/service.ts';
import { assertSound } from '../support/sound.ts';
import { suiteInstances } from '../support/suite.ts';

const [service, other] = suiteInstances(2, { sound: true }) as [TestService, TestService];
const api = gatewayOf(service);

type Action = 'refund' | 'accept';

const list = (query: string) => api.list<Discrepancy>(`discrepancies?${query}`);
const resolve = (id: string, action: Action, note?: string) =>
  api.post<Discrepancy>(`discrepancies/${id}/resolve`, { action, ...(note !== undefined && { note }) });
const refuseToResolve = (expected: string, id: string, action: Action) =>
  api.refused(expected, `POST discrepancies/${id}/resolve`, { action });
const refundOf = async (id: string) => (await service.service.deps.store.discrepancy(id))!.refundId!;

/** Amount of the payout when the payment is settled. */
async function paidOut(paymentId: string): Promise<number> {
  return (await api.post<{ amount: number }>(`payments/${paymentId}/settle`, {})).amount;
}

/** Applies a provider report about a refund. A refund can fail even after it succeeded. */
async function reportRefund(refundId: string, status: 'succeeded' | 'failed'): Promise<void> {
  const { deps } = service.service;
  const refund = (await deps.store.refund(refundId))!;
  await applyRefundAnswer(deps, refund, { status, reason: status === 'failed' ? 'the account is closed' : null });
}

let buyers = 0;

/** Creates a session; returns functions that report money for it and read its discrepancies. */
async function createSale(amount = 49.99) {
  const session = await createSession(service, { customer: `buyer${++buyers}@example.com`, amount });
  const listed = () => list(`sessionId=${session}`);
  const newest = async () => (await listed())[0]!;
  return {
    session,
    /** Applies a provider report that this amount was paid, by default the right amount; returns the outcome. */
    async reportPaid(cents?: number, { on = service, ...fields }: { on?: TestService; [field: string]: unknown } = {}) {
      const report = { ...(cents !== undefined && { amount: cents }), ...fields };
      return (await providerSays(on, session, 'paid', report)).outcome;
    },
    newest,
    /** Resolves the newest discrepancy; returns its state before the decision. */
    async decide(action: Action, note?: string) {
      const found = await newest();
      await resolve(found.id, action, note);
      return found;
    },
    /** Expected amount, received amount and resolution of each discrepancy, newest first. */
    summaries: async () => pick(await listed(), 'expected', 'received', 'resolution'),
    status: async () => (await service.service.deps.store.session(session))!.status,
  };
}

/** Creates a session whose buyer has started to pay by card. */
async function startSale(amount = 49.99) {
  const sale = await createSale(amount);
  await start(service, sale.session, 'card');
  return sale;
}

/** Creates a session for which the simulated provider reports 1.00 less than the amount. */
async function payTooLittle(amount = 49.99) {
  const sale = await createSale(amount);
  await attempt(service, sale.session, 'card', 'wrong_amount');
  await service.pass(0);
  return { ...sale, ...(await sale.newest()) };
}

/** Creates a session with two successful payments: the first one succeeds after the second attempt. */
async function payTwice() {
  const sale = await createSale();
  await attempt(service, sale.session, 'card', 'late_success');
  await service.pass(0);
  await attempt(service, sale.session, 'card', 'paid');
  await service.pass(0);
  await service.pass(35_000);
  const surplus = (await paymentsOf(service, sale.session)).find((payment) => payment.surplus)!;
  return { ...sale, surplus: surplus.id };
}

const booked = (paymentId: string | null) => booksOf(service, paymentId!);

/** Balances after a payment of 49.99; `held` includes the cost of the provider. */
const PAID = { held: 4999, merchant_payable: -4854, gateway_revenue: -145 };

async function bookedAsPaid(paymentId: string | null): Promise<Record<string, number>> {
  const { provider_clearing: clearing = 0, provider_cost: cost = 0, ...others } = await booked(paymentId);
  return { held: clearing + cost, ...others };
}

describe('discrepancies about a wrong received amount', () => {
  test('after the refund of a wrong amount, the buyer pays by another payment', async () => {
    const { session, id } = await payTooLittle();
    await resolve(id, 'refund');
    await service.pass(0);
    assert.equal((await chooseAnotherMethod(service.service.deps, session, 1)).goesOn, false);
    await attempt(service, session, 'card', 'paid');
    await service.pass(0);
    assert.equal((await stateOf(service, session)).session, 'paid');
  });

  test('discrepancies are listed by kind, status and environment, newest first, with the possible actions', async () => {
    const { session, id } = await payTooLittle();
    const [found] = (await list(`sessionId=${session}`)) as [Discrepancy];
    assert.deepEqual(
      [found.kind, found.status, found.expected, found.received, found.actions],
      ['amount_mismatch', 'open', 49.99, 48.99, ['refund', 'accept']],
    );
    const filters = ['kind=amount_mismatch', 'status=open', 'environment=sandbox'];
    for (const query of [...filters, filters.join('&'), '']) assert.equal((await list(query))[0]!.id, id, query);
    for (const query of ['kind=surplus', 'status=resolved', 'environment=production'])
      assert(!(await list(query)).some((one) => one.id === id), query);
    assert.deepEqual(await api.get(`discrepancies/${id}`), found);
    await api.refused('400 invalid_input', 'GET discrepancies?kind=odd');
  });

  test('an inquiry answer with a new amount is processed, and a repeated answer is a duplicate', async () => {
    const { session, summaries } = await startSale();
    const { deps } = service.service;
    const [payment] = await paymentsOf(service, session);
    const outcomes: string[] = [];
    for (const amount of [2000, 2000, 3000, 4999, 4999]) {
      const answer = aReport({ status: 'paid', amount });
      outcomes.push((await applyReport(deps, deps.providers.get('sandbox')!, payment!, answer)).outcome);
    }
    assert.deepEqual(outcomes, ['amount_mismatch', 'duplicate', 'amount_mismatch', 'applied', 'duplicate']);
    assert.deepEqual(await summaries(), [[49.99, 30, 'paid_in_full']]);
  });

  test('accepting a payment that is too low marks the session as paid and reduces the merchant’s share by the difference', async () => {
    const { session, id, paymentId } = await payTooLittle();
    const { status, resolution, note, actions, resolvedAt } = await resolve(id, 'accept', 'good enough');
    assert.deepEqual([status, resolution, note, actions], ['resolved', 'accepted', 'good enough', []]);
    assert.notEqual(resolvedAt, null);
    const state = await stateOf(service, session);
    assert.deepEqual([state.session, state.payments, state.invoices], ['paid', ['paid'], ['paid']]);
    assert(state.events.includes('payment.paid'));
    const { fees, providerCost } = (await service.service.deps.store.payment(paymentId!))!;
    assert.deepEqual(await booked(paymentId), {
      provider_clearing: fees.total - 100 - providerCost,
      provider_cost: providerCost,
      merchant_payable: -(fees.merchantNet - 100),
      gateway_revenue: -(fees.buyerFee + fees.gatewayFee),
    });
    await assertSound(service.databaseUrl);

    // An amount that never arrived cannot be refunded.
    const refunds = `payments/${paymentId}/refunds`;
    await api.refused('400 invalid_input', `POST ${refunds}`, { amount: fees.total / 100 });
    await api.post(refunds, {});
    await service.pass(0);
    await service.pass(60_000);
    await assertSound(service.databaseUrl);
  });

  test('refunding returns the received amount to the buyer, and all balances of the payment become 0', async () => {
    const { id, paymentId, newest } = await payTooLittle();
    const { status, actions } = await resolve(id, 'refund');
    assert.deepEqual([status, actions], ['open', []]);
    await refuseToResolve('409 invalid_state', id, 'accept');
    await service.pass(0);
    await service.pass(60_000);
    const { status: later, resolution, refundId } = await newest();
    assert.deepEqual([later, resolution], ['resolved', 'refunded']);
    const refund = (await service.service.deps.store.refund(refundId!))!;
    assert.deepEqual([refund.amount, refund.status], [4899, 'succeeded']);
    assert.deepEqual(await booked(paymentId), {});
    await assertSound(service.databaseUrl);
  });

  test('a later report of the full amount resolves the discrepancy as paid_in_full', async () => {
    const { id, reportPaid, newest } = await payTooLittle();
    await reportPaid();
    const { status, resolution, actions } = await newest();
    assert.deepEqual([status, resolution, actions], ['resolved', 'paid_in_full', []]);
    await refuseToResolve('409 invalid_state', id, 'refund');
  });

  test('after a failed refund, a report of the full amount resolves every open discrepancy as paid_in_full', async () => {
    for (const paysBefore of [false, true]) {
      const { id, paymentId, reportPaid, summaries } = await payTooLittle();
      await resolve(id, 'refund');
      if (paysBefore) assert.equal(await reportPaid(), 'amount_mismatch');
      await reportRefund(await refundOf(id), 'failed');
      assert.equal((await booked(paymentId))['buyer_refunds_payable'], -4899);
      assert.equal(await reportPaid(), 'applied');
      assert.deepEqual(await bookedAsPaid(paymentId), PAID);
      const full = [49.99, 48.99, 'paid_in_full'];
      assert.deepEqual(await summaries(), paysBefore ? [[0, 1, 'paid_in_full'], full] : [full]);
    }
  });

  test('after a failed refund, the received amount can be accepted, and the missing part is booked when it arrives', async () => {
    const { id, paymentId, reportPaid } = await payTooLittle();
    await resolve(id, 'refund');
    await reportRefund(await refundOf(id), 'failed');
    await resolve(id, 'accept');
    const accepted = { ...PAID, held: 4899, merchant_payable: -4754 };
    assert.deepEqual(await bookedAsPaid(paymentId), accepted);
    assert.equal(await reportPaid(), 'applied');
    assert.deepEqual(await bookedAsPaid(paymentId), PAID);
  });

  test('after acceptance, the missing part is credited to the merchant once, and a report of a lower amount is ignored', async () => {
    const { id, paymentId, reportPaid } = await payTooLittle();
    await resolve(id, 'accept');
    for (const outcome of ['applied', 'ignored']) {
      assert.equal(await reportPaid(), outcome);
      assert.deepEqual(await bookedAsPaid(paymentId), PAID);
    }
    const more = await startSale();
    await more.reportPaid(5999);
    const accepted = await more.decide('accept');
    assert.equal(await more.reportPaid(), 'ignored');
    assert.equal(await paidOut(accepted.paymentId!), 58.54);
  });

  test('after a refund, only money beyond the refunded amount counts, and the session is paid once it reaches the price', async () => {
    const { reportPaid, decide, newest, summaries, status } = await startSale(30);
    await reportPaid(2000);
    await decide('refund');
    for (const amount of [2000, 1500]) assert.equal(await reportPaid(amount), 'ignored');
    await reportRefund((await newest()).refundId!, 'succeeded');
    for (const amount of [2500, 3000]) assert.equal(await reportPaid(amount), 'amount_mismatch');
    assert.equal(await status(), 'pending');
    const refunded = [30, 20, 'refunded'];
    assert.deepEqual(await summaries(), [[0, 10, null], refunded]);
    assert.equal(await reportPaid(5000), 'applied');
    assert.equal(await status(), 'paid');
    assert.deepEqual(await summaries(), [[0, 10, 'paid_in_full'], refunded]);
  });

  test('a report that arrives during a refund decision opens a discrepancy for the amount beyond the refund', async () => {
    const { reportPaid, newest, summaries } = await startSale(30);
    await reportPaid(2000);
    const { id } = await newest();
    const { deps } = service.service;
    let reads = 0;
    const checkout = async (sessionId: string) => {
      const found = await deps.store.checkout(sessionId);
      if (reads++ === 0) await gatewayOf(other).post(`discrepancies/${id}/resolve`, { action: 'refund' });
      return found;
    };
    const slow = { ...service.service, deps: { ...deps, store: { ...deps.store, checkout } } };
    await reportPaid(2500, { on: { ...service, service: slow } });
    assert.equal(reads, 2);
    assert.deepEqual(await summaries(), [
      [0, 5, null],
      [30, 20, null],
    ]);
    assert.deepEqual((await newest()).actions, ['refund', 'accept']);
  });

  for (const [action, amount] of [
    ['accept', 58.54],
    ['refund', 48.54],
  ] as const) {
    test(`an excess over the paid amount can be resolved by ${action}, and a report of a lower amount is ignored`, async () => {
      const { reportPaid, summaries, decide, newest } = await startSale();
      await reportPaid();
      assert.equal(await reportPaid(3999), 'ignored');
      assert.deepEqual(await summaries(), []);
      await reportPaid(5999);
      const { id, expected, received, actions, paymentId } = await decide(action);
      assert.deepEqual([expected, received, actions], [0, 10, ['refund', 'accept']]);
      assert.equal(await paidOut(paymentId!), amount);
      if (action === 'accept') return;
      await reportRefund(await refundOf(id), 'succeeded');
      assert.equal((await newest()).resolution, 'refunded');
      assert.equal((await booked(paymentId))['merchant_payable'], undefined);
    });
  }

  test('after a report of too much, a delayed report of the right amount pays the session, and the excess stays open', async () => {
    const { reportPaid, summaries } = await startSale();
    await reportPaid(5500);
    assert.equal(await reportPaid(), 'applied');
    assert.deepEqual(await summaries(), [[0, 5.01, null]]);
    await reportPaid(5500);
    assert.deepEqual(await summaries(), [[0, 5.01, null]]);
  });

  test('a received amount of 0 cannot be refunded; the discrepancy is closed with a note', async () => {
    const { id, received, actions } = await payTooLittle(1);
    assert.deepEqual([received, actions], [0, ['accept']]);
    await refuseToResolve('409 invalid_state', id, 'refund');
    await refuseToResolve('400 invalid_input', id, 'accept');
    await resolve(id, 'accept', 'nothing came');
  });

  test('a received amount can be accepted if it covers the fees, but not with one cent less', async () => {
    const [payment] = await paymentsOf(service, (await startSale()).session);
    const least = payment!.amount - payment!.fees.merchantNet;
    const enough = await startSale();
    await enough.reportPaid(least);
    await enough.decide('accept');
    const less = await startSale();
    await less.reportPaid(least - 1);
    const { suggestion } = await refuseToResolve('409 invalid_state', (await less.newest()).id, 'accept');
    assert.match(suggestion, /refund/);
  });

  test('of two simultaneous requests to resolve a discrepancy, one succeeds and the other is rejected', async () => {
    for (let round = 0; round < 3; round++) {
      const { id } = await payTooLittle();
      const answers = await Promise.all(
        [service, other].map(({ url }, index) =>
          call('POST', `${url}/api/gateway/discrepancies/${id}/resolve`, { action: ['accept', 'refund'][index] }),
        ),
      );
      assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200, 409]));
    }
    await service.pass(0);
    await service.pass(60_000);
  });
});

describe('discrepancies about money that cannot be booked', () => {
  for (const [kind, fields] of [
    ['unknown_payment', { paymentId: 'pay_of_somebody' }],
    ['environment_mismatch', { environment: 'production' }],
    ['currency_mismatch', { currency: 'EUR' }],
  ] as const) {
    test(`a discrepancy of the kind ${kind} cannot be refunded and is closed with a note`, async () => {
      const { reportPaid, newest, status } = await startSale();
      await reportPaid(undefined, fields);
      const { id, actions, paymentId, ...found } = await newest();
      assert.deepEqual([found.kind, actions, paymentId !== null], [kind, ['accept'], kind === 'currency_mismatch']);
      const { field, suggestion } = await refuseToResolve('409 invalid_state', id, 'refund');
      assert.equal(field, 'action');
      assert.match(suggestion, /provider/);
      assert.equal((await refuseToResolve('400 invalid_input', id, 'accept')).field, 'note');
      const closed = await resolve(id, 'accept', 'refunded at the provider');
      assert.deepEqual([closed.status, closed.resolution], ['resolved', 'accepted']);
      assert.equal(await status(), 'pending');
    });
  }

  test('after a discrepancy is closed, a report of a higher amount opens a new discrepancy for each currency', async () => {
    const { session, reportPaid, decide, newest } = await startSale();
    const [payment] = await paymentsOf(service, session);
    const reportAmount = (amount: number, currency: string) => reportPaid(amount, { paymentId: payment!.id, currency });
    await reportAmount(2000, 'EUR');
    await decide('accept', 'refunded at the provider');
    await reportAmount(2000, 'EUR');
    for (let time = 0; time < 2; time++) await reportAmount(3000, 'JPY');
    await reportAmount(2500, 'EUR');
    // A report in yen does not raise the discrepancy in euros.
    const { items } = await service.service.deps.store.listDiscrepancies({ sessionId: session }, { limit: 10 });
    assert.deepEqual(pick(items, 'currency', 'received', 'resolution', 'provider'), [
      ['EUR', 2500, null, 'sandbox'],
      ['JPY', 3000, null, 'sandbox'],
      ['EUR', 2000, 'accepted', 'sandbox'],
    ]);
    assert.deepEqual((await newest()).actions, ['accept']);
  });

  test('reports about different unknown payment ids create separate discrepancies, even if the ids are similar', async () => {
    const { reportPaid, decide, summaries } = await startSale();
    const reportAmount = (paymentId: string, amount: number) => reportPaid(amount, { paymentId });
    await reportAmount('pay_y', 10_000);
    await reportAmount('pay_x', 2000);
    await decide('accept', 'refunded at the provider');
    // These ids would match pay_x only through a LIKE wildcard or a decoded slash.
    for (const stranger of ['payzx', 'pay_x/y', 'pay_x%2Fy']) await reportAmount(stranger, 100);
    for (const amount of [4000, 4000, 1000, 6000]) await reportAmount('pay_x', amount);
    const open = [60, 1, 1, 1].map((received) => [49.99, received, null]);
    assert.deepEqual(await summaries(), [...open, [49.99, 20, 'accepted'], [49.99, 100, null]]);
  });

  test('a report of a higher amount raises the open discrepancy of its payment, also if two instances receive reports simultaneously', async () => {
    const { reportPaid, decide, summaries, newest } = await startSale();
    const reportAmount = (amount: number, on = service) => reportPaid(amount, { on, paymentId: 'pay_foreign' });
    const closed = (received: number) => [49.99, received, 'accepted'];
    await reportAmount(2000);
    await reportAmount(4999);
    assert.deepEqual(await summaries(), [[49.99, 49.99, null]]);
    await decide('accept', 'refunded at the provider');
    await reportAmount(6000);
    await Promise.all([reportAmount(7000), reportAmount(9000, other), reportAmount(8000), reportAmount(8500, other)]);
    assert.deepEqual(await summaries(), [[49.99, 90, null], closed(49.99)]);
    assert.equal((await newest()).kind, 'unknown_payment');
    await decide('accept', 'refunded at the provider');
    // The first report creates the record. Two instances may create records in the same millisecond, so their order is undefined.
    await Promise.all([reportAmount(9500), reportAmount(9700, other)]);
    const all = (await summaries()).toSorted(([, a], [, b]) => Number(b) - Number(a));
    assert.deepEqual(all, [[49.99, 97, null], closed(90), closed(49.99)]);
    await assertSound(service.databaseUrl);
  });
});

describe('a surplus payment of a paid session', () => {
  test('a surplus payment of a paid session is refunded automatically; its discrepancy is open until the refund succeeds', async () => {
    const { surplus, newest } = await payTwice();
    const opened = await newest();
    assert.deepEqual([opened.kind, opened.paymentId], ['surplus', surplus]);
    await service.pass(60_000);
    const found = await newest();
    assert.deepEqual([found.kind, found.status, found.resolution], ['surplus', 'resolved', 'refunded']);
    assert.deepEqual([found.expected, found.received], [0, 49.99]);
    assert.notEqual(found.refundId, null);
  });

  for (const action of ['refund', 'accept'] as const) {
    test(`a surplus payment of a paid session whose refund succeeded and then failed can be resolved by ${action}`, async () => {
      const { surplus, newest } = await payTwice();
      await service.pass(60_000);
      const { refundId, id } = await newest();
      await reportRefund(refundId!, 'failed');
      const open = await newest();
      assert.deepEqual([open.status, open.resolution, open.actions], ['open', null, ['refund', 'accept']]);
      const decided = await resolve(id, action);
      if (action === 'refund') {
        assert.deepEqual([decided.status, decided.actions], ['open', []]);
        assert.notEqual(decided.refundId, refundId);
        await reportRefund(decided.refundId!, 'succeeded');
      }
      const accepted = action === 'accept';
      const { status, resolution } = await newest();
      assert.deepEqual([status, resolution], ['resolved', accepted ? 'accepted' : 'refunded']);
      const { fees, surplusAccepted } = (await service.service.deps.store.payment(surplus))!;
      assert.equal(surplusAccepted, accepted);
      const books = await booked(surplus);
      assert.equal(books['merchant_payable'], accepted ? -fees.total : undefined);
      assert.equal(books['buyer_refunds_payable'], undefined);
      await assertSound(service.databaseUrl);
    });
  }

  test('the discrepancy of a surplus payment stays open after a partial refund; if the refund fails after acceptance, its amount goes to the merchant', async () => {
    const { surplus, newest } = await payTwice();
    await service.pass(60_000);
    const { id, refundId } = await newest();
    await reportRefund(refundId!, 'failed');
    const part = await api.post<{ id: string }>(`payments/${surplus}/refunds`, { amount: 10 });
    assert.deepEqual((await newest()).actions, []);
    await reportRefund(part.id, 'succeeded');
    const open = await newest();
    assert.deepEqual([open.status, open.actions], ['open', ['refund', 'accept']]);
    await assertSound(service.databaseUrl);

    await resolve(id, 'accept');
    assert.equal((await booked(surplus))['merchant_payable'], -3999);
    await reportRefund(part.id, 'failed');
    const { merchant_payable: payable, buyer_refunds_payable: refunds } = await booked(surplus);
    assert.deepEqual([payable, refunds], [-4999, undefined]);
    assert.equal(await paidOut(surplus), 49.99);
    assert.equal((await booked(surplus))['merchant_payable'], undefined);
  });

  for (const when of ['during', 'after'] as const) {
    test(`a payout of a surplus payment that was reported ${when} its refund is settled once the refund has failed and the surplus is accepted`, async () => {
      const { session, surplus, newest } = await payTwice();
      const { id, refundId } = await newest();
      const { deps } = service.service;
      const reference = `po_${when}`;
      const payout = settlementSignal({ sessionId: session, paymentId: surplus, amount: 4999, reference });
      if (when === 'during') assert.equal(await applySandboxSignal(deps, payout), 'refunded');
      await reportRefund(refundId!, 'failed');
      if (when === 'after') assert.equal(await applySandboxSignal(deps, payout), 'surplus');
      assert.equal(await deps.store.settlement(surplus), undefined);
      await resolve(id, 'accept');
      const { amount, source, reference: recorded } = (await deps.store.settlement(surplus))!;
      assert.deepEqual([amount, source, recorded], [4999, 'provider', reference]);
      assert.equal((await booked(surplus))['merchant_payable'], undefined);
    });
  }

  test('a surplus payment of a paid session has its own discrepancy, resolved independently of a wrong amount of the same payment', async () => {
    const { session, reportPaid, decide, newest } = await startSale();
    await reportPaid(3999);
    const wrong = await decide('refund');
    await providerSays(service, session, 'failed');
    await start(service, session, 'card');
    await reportPaid();
    // For the first attempt, the provider has taken the wrong amount, whose refund is in progress, and then the right amount.
    await reportPaid(3999 + 4999, { paymentId: wrong.paymentId! });
    const surplus = await newest();
    assert.deepEqual([surplus.kind, surplus.paymentId], ['surplus', wrong.paymentId]);

    await reportRefund(surplus.refundId!, 'failed');
    assert.deepEqual(
      (await newest()).actions,
      ['refund', 'accept'],
      'the refund of the wrong amount blocks the surplus',
    );
    await resolve(surplus.id, 'accept');
    const surplusOnly = { held: 4999, merchant_payable: -4999 };
    const withWrong = { ...surplusOnly, held: 4999 + 3999, buyer_refunds_payable: -3999 };
    assert.deepEqual(await bookedAsPaid(wrong.paymentId), withWrong);
    await reportRefund(await refundOf(wrong.id), 'failed');
    assert.equal((await booked(wrong.paymentId))['merchant_payable'], -4999, 'the wrong amount is booked');
    assert.match((await refuseToResolve('409 invalid_state', wrong.id, 'accept')).suggestion, /refund/);
    await resolve(wrong.id, 'refund');
    await reportRefund(await refundOf(wrong.id), 'succeeded');
    assert.deepEqual(await bookedAsPaid(wrong.paymentId), surplusOnly);
    assert.equal((await api.get<Discrepancy>(`discrepancies/${wrong.id}`)).resolution, 'refunded');
  });
});
