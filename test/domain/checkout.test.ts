import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  type Decision,
  type NewAttempt,
  RETRY_WINDOW_MS,
  leadingPayment,
  pendingPayment,
} from '../../src/domain/checkout-state.ts';
import {
  acceptHandoff,
  expireSession,
  abandonCheckout,
  applyElapsedTime,
  recordSettlement,
  rejectHandoff,
  startAttempt,
} from '../../src/domain/checkout.ts';
import { type ProviderEvent, applyProviderEvent } from '../../src/domain/provider-event.ts';
import type { Checkout } from '../../src/domain/records.ts';
import { applyRefundReport, requestRefund } from '../../src/domain/refund-decisions.ts';
import { DAY, MINUTE, NOW, PAYOUT, SECOND, aCheckout, aRoute, anAttempt, idOf } from '../fixtures/checkout-records.ts';

/** Effects of a decision as short texts: `post paid`, `announce failed`, `cancel_at_provider pay_...`. */
function effectsOf(decision: Decision<string>): string[] {
  return decision.effects.map((effect) => {
    if (effect.type === 'post') return `post ${effect.posting.kind}`;
    if (effect.type === 'announce') return `announce ${effect.status}`;
    if (effect.type === 'announce_dispute') return `${effect.type} ${effect.reversal.id}`;
    if (effect.type === 'settlement_recorded') return `${effect.type} ${effect.settlement.paymentId}`;
    if ('refund' in effect) return `${effect.type} ${effect.refund.paymentId}`;
    return `${effect.type} ${'payment' in effect ? effect.payment.id : effect.reversal.paymentId}`;
  });
}

/** The status of the session, followed by `payment/invoice` for each payment. */
function states({ session, payments, invoices }: Checkout): string[] {
  return [session.status, ...payments.map(({ status }, index) => `${status}/${invoices[index]?.status}`)];
}

function reportOf(status: ProviderEvent['status'], payment: number | null, fields: Partial<ProviderEvent> = {}) {
  const paymentId = payment === null ? null : idOf('pay', payment);
  const usual = { amount: 4999, currency: 'USD', txHash: null, failure: null } as const;
  const origin = { provider: 'sandbox', environment: 'sandbox' } as const;
  return { ...origin, ...usual, paymentId, status, ...fields } as const;
}

function start(checkout: Checkout, number: number, now = NOW) {
  return startAttempt(checkout, anAttempt(number), now);
}

function report(checkout: Checkout, event: ProviderEvent, now = NOW) {
  return applyProviderEvent(checkout, event, anAttempt(9), now);
}

function rejectByProvider(checkout: Checkout, number: number, retry?: NewAttempt, mayArrive = false) {
  return rejectHandoff(checkout, idOf('pay', number), { retry, mayArrive, reason: null }, NOW);
}

function accept(checkout: Checkout, number: number) {
  return acceptHandoff(checkout, { paymentId: idOf('pay', number), reference: `ref_${number}`, url: null });
}

const started = start(aCheckout(), 1).next;
const handedOff = accept(started, 1).next;
const declined = report(handedOff, reportOf('failed', 1)).next;
const paid = report(handedOff, reportOf('paid', 1)).next;
const retried = start(declined, 2, NOW + MINUTE).next;
const failed = abandonCheckout(declined, NOW).next;

function assertUnchanged(decision: Decision<string>, checkout: Checkout, outcome: string): void {
  assert.equal(decision.next, checkout);
  assert.deepEqual([decision.outcome, decision.effects], [outcome, []]);
}

const expired = applyElapsedTime(aCheckout(), NOW + DAY).next;
const routed = aCheckout();

describe('operations that leave a checkout unchanged', () => {
  test('a checkout is unchanged after starting an attempt while a payment is pending', () =>
    assertUnchanged(start(started, 2), started, 'in_progress'));
  test('a checkout is unchanged after starting an attempt in a paid session', () =>
    assertUnchanged(start(paid, 2), paid, 'already_paid'));
  test('a checkout is unchanged after accepting a handoff that was accepted before', () =>
    assertUnchanged(accept(handedOff, 1), handedOff, 'ignored'));
  test('a checkout is unchanged after a reported failure for an expired session', () =>
    assertUnchanged(report(expired, reportOf('failed', null)), expired, 'ignored'));
  test('a checkout is unchanged after abandoning the checkout of a paid session', () =>
    assertUnchanged(abandonCheckout(paid, NOW), paid, 'ignored'));
  test('a checkout is unchanged after a reported failure of an earlier, failed attempt', () =>
    assertUnchanged(report(retried, reportOf('failed', 1)), retried, 'ignored'));
  test('a checkout is unchanged after a settlement of a pending payment', () =>
    assertUnchanged(recordSettlement(handedOff, idOf('pay', 1), PAYOUT, NOW), handedOff, 'not_paid'));
});

describe('the leading payment of a session', () => {
  test('the leading payment of a session is the payment that paid the session, otherwise the newest payment', () => {
    assert.equal(leadingPayment(aCheckout()), undefined);
    assert.equal(leadingPayment(retried)?.id, idOf('pay', 2));
    const late = report(retried, reportOf('paid', 1)).next;
    assert.equal(leadingPayment(late)?.id, idOf('pay', 1));
  });
});

describe('status changes of a session', () => {
  test('starting an attempt creates a pending payment and an open invoice, and makes the session pending', () => {
    const decision = start(aCheckout(), 1);
    assert.equal(decision.outcome, 'started');
    assert.deepEqual(states(decision.next), ['pending', 'pending/open']);
    assert.deepEqual(effectsOf(decision), []);
    assert.equal(decision.next.session.version, 2);
  });

  test('starting an attempt stores the route, the fees and the provider cost in the payment', () => {
    const route = aRoute({ buyerFeeRate: 5_000, gatewayFeeRate: 29_000, providerCostRate: 19_000 });
    const [payment] = startAttempt(aCheckout({ amount: 10_000 }), anAttempt(1, route), NOW).next.payments;
    assert.deepEqual(payment?.fees, { buyerFee: 50, gatewayFee: 290, merchantNet: 9_710, total: 10_050 });
    assert.equal(payment?.providerCost, 190);
    const fixed = { ...route, providerCostFixed: 30 };
    const [dearer] = startAttempt(aCheckout({ amount: 10_000 }), anAttempt(1, fixed), NOW).next.payments;
    assert.equal(dearer?.providerCost, 220);
    assert.deepEqual(payment?.route, {
      id: 'sandbox_card',
      kind: 'card',
      label: 'Card, simulated',
      provider: 'sandbox',
      network: 'card_network',
      asset: 'USD',
    });
    assert.equal(payment?.timeoutAt, NOW + 1800 * SECOND);
  });

  test('the event provider_pending is announced when the provider accepts the handoff', () => {
    const decision = accept(started, 1);
    assert.deepEqual([decision.outcome, effectsOf(decision)], ['accepted', ['announce provider_pending']]);
    assert.equal(pendingPayment(decision.next)?.providerReference, 'ref_1');
  });

  test('the event provider_pending is announced once per session, even after several attempts', () => {
    assert.deepEqual(effectsOf(accept(retried, 2)), []);
    assertUnchanged(report(handedOff, reportOf('provider_pending', 1)), handedOff, 'applied');
  });

  test('a paid report books the payment, announces it, closes the invoice as paid and clears the wake-up time', () => {
    const decision = report(handedOff, reportOf('paid', 1, { txHash: 'tx_1' }));
    assert.deepEqual(states(decision.next), ['paid', 'paid/paid']);
    assert.deepEqual(effectsOf(decision), ['post paid', 'announce paid']);
    assert.deepEqual([decision.next.session.wakeAt, decision.next.payments[0]?.txHash], [null, 'tx_1']);
  });

  test('a paid report is applied even if it arrives before the provider accepts the handoff', () => {
    const decision = report(started, reportOf('paid', 1));
    assert.deepEqual(effectsOf(decision), ['post paid', 'announce paid']);
    const accepted = accept(decision.next, 1);
    assert.deepEqual([states(accepted.next), effectsOf(accepted)], [['paid', 'paid/paid'], []]);
  });

  test('a report about a session without payments creates a payment with the reported status', () => {
    assert.deepEqual(states(report(routed, reportOf('paid', null)).next), ['paid', 'paid/paid']);
    const pending = report(routed, reportOf('provider_pending', null));
    assert.deepEqual(
      [states(pending.next), effectsOf(pending)],
      [['pending', 'pending/open'], ['announce provider_pending']],
    );
    assert.deepEqual(states(report(routed, reportOf('failed', null)).next), ['pending', 'failed/void']);
  });

  test('no attempt starts after the expiry time, even if the worker has not yet marked the session as expired', () => {
    assertUnchanged(start(expired, 1), expired, 'closed');
    const overdue = aCheckout();
    assertUnchanged(start(overdue, 1, NOW + DAY), overdue, 'closed');
    // A worker that claims the expiry moves `wakeAt` into the future.
    const claimed = { ...overdue, session: { ...overdue.session, wakeAt: NOW + DAY + MINUTE } };
    assertUnchanged(start(claimed, 1, NOW + DAY), claimed, 'closed');
    assert.equal(start(overdue, 1, NOW + DAY - 1).outcome, 'started');
  });

  test('the merchant can expire a session only if no buyer has started it', () => {
    const decision = expireSession(aCheckout(), NOW);
    assert.deepEqual([decision.outcome, states(decision.next), effectsOf(decision)], ['expired', ['expired'], []]);
    assertUnchanged(expireSession(decision.next, NOW), decision.next, 'ignored');
    assertUnchanged(expireSession(started, NOW), started, 'invalid_state');
    assertUnchanged(expireSession(paid, NOW), paid, 'invalid_state');
  });

  test('a late paid report makes a failed or an expired session paid', () => {
    const late = report(failed, reportOf('paid', 1));
    assert.deepEqual(
      [states(late.next), effectsOf(late)],
      [
        ['paid', 'paid/paid'],
        ['post paid', 'announce paid'],
      ],
    );
    assert.equal(late.next.payments[0]?.failureCode, null);
    assert.deepEqual(states(report(expired, reportOf('paid', null)).next), ['paid', 'paid/paid']);
  });
});

describe('a failed attempt', () => {
  test('a failed attempt makes its payment failed and its invoice void, leaves the session pending, and announces no event', () => {
    const decision = report(handedOff, reportOf('failed', 1));
    assert.deepEqual([states(decision.next), effectsOf(decision)], [['pending', 'failed/void'], []]);
    assert.equal(decision.next.payments[0]?.failureCode, 'declined');
  });

  test('a failed attempt lets the buyer try again for 15 minutes; after that the session fails', () => {
    const end = NOW + RETRY_WINDOW_MS;
    assert.equal(RETRY_WINDOW_MS, 15 * MINUTE);
    assert.deepEqual([declined.session.retryUntil, declined.session.wakeAt], [end, end]);
    assert.equal(start(declined, 2, end - 1).outcome, 'started');
    assertUnchanged(start(declined, 2, end), declined, 'closed');
    assertUnchanged(applyElapsedTime(declined, end - 1), declined, 'ignored');
    const decision = applyElapsedTime(declined, end);
    assert.deepEqual([decision.outcome, states(decision.next)], ['retry_window_over', ['failed', 'failed/void']]);
    assert.deepEqual(effectsOf(decision), ['announce failed']);
  });

  test('the third failed attempt fails the session and announces failed once', () => {
    const second = report(retried, reportOf('failed', 2)).next;
    assert.equal(second.session.status, 'pending');
    const third = report(start(second, 3).next, reportOf('failed', 3));
    assert.deepEqual(states(third.next), ['failed', 'failed/void', 'failed/void', 'failed/void']);
    assert.deepEqual(effectsOf(third), ['announce failed']);
    assertUnchanged(start(third.next, 4), third.next, 'closed');
  });

  test('abandoning the checkout fails the session and cancels the pending payment at its provider', () => {
    const decision = abandonCheckout(handedOff, NOW);
    assert.deepEqual(states(decision.next), ['failed', 'failed/void']);
    assert.deepEqual(effectsOf(decision), [`cancel_at_provider ${idOf('pay', 1)}`, 'announce failed']);
    assertUnchanged(abandonCheckout(decision.next, NOW), decision.next, 'ignored');
    assertUnchanged(abandonCheckout(routed, NOW), routed, 'ignored');
  });

  test('an elapsed payment timeout fails the session and cancels the payment at its provider', () => {
    const end = NOW + 1800 * SECOND;
    assert.notEqual(applyElapsedTime(handedOff, end - 1).outcome, 'timed_out');
    const decision = applyElapsedTime(handedOff, end);
    assert.deepEqual([decision.outcome, states(decision.next)], ['timed_out', ['failed', 'failed/void']]);
    assert.deepEqual(effectsOf(decision), [`cancel_at_provider ${idOf('pay', 1)}`, 'announce failed']);
  });

  test('an attempt fails if no route remains after a refused handoff; the third such attempt fails the session', () => {
    const first = rejectByProvider(started, 1);
    assert.deepEqual([first.outcome, states(first.next)], ['refused', ['pending', 'failed/void']]);
    const second = rejectByProvider(start(first.next, 2).next, 2);
    const third = rejectByProvider(start(second.next, 3).next, 3);
    assert.deepEqual([third.next.session.status, effectsOf(third)], ['failed', ['announce failed']]);
  });

  test('a payment whose handoff is accepted after the attempt failed is cancelled at its provider', () => {
    const dropped = abandonCheckout(started, NOW).next;
    const decision = accept(dropped, 1);
    assert.deepEqual([decision.outcome, states(decision.next)], ['too_late', ['failed', 'failed/void']]);
    assert.deepEqual(effectsOf(decision), [`cancel_at_provider ${idOf('pay', 1)}`]);
  });
});

describe('late, repeated and unexpected provider reports', () => {
  test('a report about a session without payments creates a payment only if the provider has a route', () => {
    const unforeseen = { ...anAttempt(9), route: undefined };
    const decision = applyProviderEvent(routed, reportOf('paid', null), unforeseen, NOW);
    assertUnchanged(decision, routed, 'unknown_payment');
    assert.deepEqual(states(report(routed, reportOf('paid', null)).next), ['paid', 'paid/paid']);
  });

  test('a late paid report for an older attempt pays the session and cancels the newer pending payment at its provider', () => {
    const decision = report(retried, reportOf('paid', 1));
    assert.deepEqual(states(decision.next), ['paid', 'paid/paid', 'failed/void']);
    assert.equal(decision.next.payments[1]?.failureCode, 'superseded');
    assert.deepEqual(effectsOf(decision), ['post paid', 'announce paid', `cancel_at_provider ${idOf('pay', 2)}`]);
  });

  test('a second paid payment is surplus: its invoice is void, no event is announced, and a refund is requested', () => {
    const first = report(retried, reportOf('paid', 1)).next;
    const decision = report(first, reportOf('paid', 2));
    assert.deepEqual(states(decision.next), ['paid', 'paid/paid', 'paid/void']);
    assert.deepEqual(effectsOf(decision), ['post paid', `refund_requested ${idOf('pay', 2)}`]);
    assert.equal(decision.next.payments[1]?.surplus, true);
    assertUnchanged(report(decision.next, reportOf('paid', 2)), decision.next, 'ignored');
  });

  test('a report without a payment id applies to the pending payment, and is ignored for a paid session', () => {
    assert.deepEqual(states(report(retried, reportOf('paid', null)).next), ['paid', 'failed/void', 'paid/paid']);
    const late = report(retried, reportOf('paid', 1)).next;
    assertUnchanged(report(late, reportOf('paid', null)), late, 'ignored');
  });

  test('the intervals between inquiries about a pending payment grow from 30 seconds to 10 minutes', () => {
    const delays: number[] = [];
    let checkout = handedOff;
    let now = NOW;
    for (let inquiry = 0; inquiry < 6; inquiry++) {
      const next = checkout.session.wakeAt!;
      delays.push((next - now) / SECOND);
      now = next;
      const decision = applyElapsedTime(checkout, now);
      assert.deepEqual([decision.outcome, effectsOf(decision)], ['inquired', []]);
      checkout = decision.next;
    }
    assert.deepEqual(delays, [30, 60, 120, 300, 600, 600]);
  });
});

describe('the ledger status of a payment', () => {
  const settled = recordSettlement(paid, idOf('pay', 1), PAYOUT, NOW);
  const refunded = refund(paid, 1);

  test('the ledger status of a payment becomes settled with the first settlement; a second settlement changes nothing', () => {
    assert.deepEqual(
      [settled.outcome, effectsOf(settled)],
      ['settled', ['post settled', `settlement_recorded ${idOf('pay', 1)}`]],
    );
    assert.equal(settled.next.payments[0]?.ledgerStatus, 'settled');
    assert.equal(recordSettlement(settled.next, idOf('pay', 1), PAYOUT, NOW).next, settled.next);
  });

  test('the ledger status of a payment becomes refunded after a full refund, before or after the settlement, while payment and session stay paid', () => {
    for (const decision of [refunded, refund(settled.next, 1)]) {
      assert.deepEqual(
        [decision.outcome, effectsOf(decision)],
        ['applied', [`refund_changed ${idOf('pay', 1)}`, 'post refund_paid', `announce_refund ${idOf('pay', 1)}`]],
      );
      assert.equal(decision.next.payments[0]?.ledgerStatus, 'refunded');
      assert.deepEqual(states(decision.next), ['paid', 'paid/paid']);
    }
  });

  test('the ledger status of a surplus payment never becomes settled, and becomes refunded after its refund', () => {
    const twice = report(report(retried, reportOf('paid', 1)).next, reportOf('paid', 2));
    assert.equal(recordSettlement(twice.next, idOf('pay', 2), PAYOUT, NOW).next, twice.next);
    const [requested] = twice.effects.flatMap((effect) => (effect.type === 'refund_requested' ? [effect.refund] : []));
    const decision = applyRefundReport(twice.next, requested!, { status: 'succeeded', reason: null }, NOW);
    assert.deepEqual(
      decision.next.payments.map(({ ledgerStatus }) => ledgerStatus),
      ['pending', 'refunded'],
    );
    // The money of a surplus payment never belonged to the merchant.
    assert.deepEqual(effectsOf(decision), [`refund_changed ${idOf('pay', 2)}`, 'post refund_paid']);
  });
});

describe('a refund', () => {
  const refundOf = ({ effects }: Decision<string>) =>
    effects.flatMap((effect) => (effect.type === 'announce_refund' ? [effect.refund.status] : []));

  test('a refund is announced once when it succeeds, and once more if it fails later', () => {
    const succeeded = refund(paid, 1);
    const record = succeeded.effects.flatMap((effect) =>
      effect.type === 'announce_refund' ? [effect.refund] : [],
    )[0]!;
    const failed = { status: 'failed', reason: null } as const;
    const later = applyRefundReport(succeeded.next, record, failed, NOW);
    const repeated = applyRefundReport(succeeded.next, record, { status: 'succeeded', reason: null }, NOW);
    const again = applyRefundReport(later.next, { ...record, status: 'failed' }, failed, NOW);
    assert.deepEqual([succeeded, later, repeated, again].map(refundOf), [['succeeded'], ['failed'], [], []]);
  });

  test('a refund that fails without a success before is not announced', () => {
    const decision = refund(paid, 1, 'failed');
    assert.deepEqual([decision.outcome, refundOf(decision)], ['applied', []]);
  });
});

/** Requests a refund of the whole payment and applies the provider's report of its outcome. */
function refund(checkout: Checkout, number: number, status: 'succeeded' | 'failed' = 'succeeded') {
  const order = { paymentId: idOf('pay', number), refundId: idOf('ref', number), amount: null, reason: null };
  const decision = requestRefund(checkout, { ...order, idempotencyKey: null, requestHash: null }, NOW);
  const [requested] = decision.effects.flatMap((effect) => (effect.type === 'refund_requested' ? [effect.refund] : []));
  return applyRefundReport(decision.next, requested!, { status, reason: null }, NOW);
}
