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
  type ProviderEvent,
  abandonAttempt,
  acceptHandoff,
  applyProviderEvent,
  expireSession,
  abandonCheckout,
  applyElapsedTime,
  recordSettlement,
  rejectHandoff,
  startAttempt,
} from '../../src/domain/checkout.ts';
import type { Checkout } from '../../src/domain/records.ts';
import { applyRefundReport, requestRefund } from '../../src/domain/refund-decisions.ts';
import { DAY, MINUTE, NOW, PAYOUT, SECOND, aCheckout, aRoute, anAttempt, idOf } from '../fixtures/checkout-records.ts';

/** Effects of a decision as short texts: `post paid`, `announce failed`, `cancel_at_provider pay_...`. */
function asks(decision: Decision<string>): string[] {
  return decision.effects.map((effect) => {
    if (effect.type === 'post') return `post ${effect.posting.kind}`;
    if (effect.type === 'announce') return `announce ${effect.status}`;
    if (effect.type === 'settlement_recorded') return `${effect.type} ${effect.settlement.paymentId}`;
    if (effect.type !== 'cancel_at_provider') return `${effect.type} ${effect.refund.paymentId}`;
    return `${effect.type} ${effect.payment.id}`;
  });
}

function states({ session, payments, invoices }: Checkout): string[] {
  return [session.status, ...payments.map(({ status }, index) => `${status}/${invoices[index]?.status}`)];
}

function says(status: ProviderEvent['status'], payment: number | null, fields: Partial<ProviderEvent> = {}) {
  const paymentId = payment === null ? null : idOf('pay', payment);
  const usual = { amount: 4999, currency: 'USD', txHash: null, failure: null } as const;
  const origin = { provider: 'sandbox', environment: 'sandbox' } as const;
  return { ...origin, ...usual, paymentId, status, ...fields } as const;
}

function start(checkout: Checkout, number: number, now = NOW) {
  return startAttempt(checkout, anAttempt(number), now);
}

function hear(checkout: Checkout, event: ProviderEvent, now = NOW) {
  return applyProviderEvent(checkout, event, anAttempt(9), now);
}

function refuse(checkout: Checkout, number: number, retry?: NewAttempt, mayArrive = false) {
  return rejectHandoff(checkout, idOf('pay', number), { retry, mayArrive, reason: null }, NOW);
}

function accept(checkout: Checkout, number: number) {
  return acceptHandoff(checkout, { paymentId: idOf('pay', number), reference: `ref_${number}`, url: null });
}

const started = start(aCheckout(), 1).next;
const handedOff = accept(started, 1).next;
const declined = hear(handedOff, says('failed', 1)).next;
const paid = hear(handedOff, says('paid', 1)).next;
const retried = start(declined, 2, NOW + MINUTE).next;
const failed = abandonCheckout(declined, NOW).next;

function assertUnchanged(decision: Decision<string>, checkout: Checkout, outcome: string): void {
  assert.equal(decision.next, checkout);
  assert.deepEqual([decision.outcome, decision.effects], [outcome, []]);
}

const expired = applyElapsedTime(aCheckout(), NOW + DAY).next;
const routed = aCheckout();
const other = { provider: 'another' };

const UNCHANGED: [name: string, checkout: Checkout, outcome: string, decide: (on: Checkout) => Decision<string>][] = [
  ['a start while a payment is pending', started, 'in_progress', (on) => start(on, 2)],
  ['a start of a paid session', paid, 'already_paid', (on) => start(on, 2)],
  ['a second handoff', handedOff, 'ignored', (on) => accept(on, 1)],
  ['a handoff of an unknown payment', handedOff, 'ignored', (on) => accept(on, 5)],
  ['a failure of an expired session', expired, 'ignored', (on) => hear(on, says('failed', null))],
  ['progress of an expired session', expired, 'ignored', (on) => hear(on, says('provider_pending', null))],
  ['a failure of a paid payment', paid, 'ignored', (on) => hear(on, says('failed', 1))],
  ['progress of a paid payment', paid, 'ignored', (on) => hear(on, says('provider_pending', 1))],
  ['giving up a paid session', paid, 'ignored', (on) => abandonCheckout(on, NOW)],
  ['abandoning a paid payment', paid, 'ignored', (on) => abandonAttempt(on, NOW)],
  ['time after a payment', paid, 'ignored', (on) => applyElapsedTime(on, NOW + 365 * DAY)],
  ['a refusal after a payment', paid, 'ignored', (on) => refuse(on, 1, anAttempt(2))],
  ['a failure of an earlier attempt', retried, 'ignored', (on) => hear(on, says('failed', 1))],
  ['progress of an earlier attempt', retried, 'ignored', (on) => hear(on, says('provider_pending', 1))],
  ['a cent too little', handedOff, 'amount_mismatch', (on) => hear(on, says('paid', 1, { amount: 4998 }))],
  ['a cent too much', handedOff, 'amount_mismatch', (on) => hear(on, says('paid', 1, { amount: 5000 }))],
  ['another currency', handedOff, 'amount_mismatch', (on) => hear(on, says('paid', 1, { currency: 'EUR' }))],
  [
    'another environment',
    handedOff,
    'environment_mismatch',
    (on) => hear(on, says('paid', 1, { environment: 'production' })),
  ],
  ...(['paid', 'failed', 'provider_pending'] as const).flatMap((status) =>
    [1, null].map((payment): (typeof UNCHANGED)[number] => [
      `${status} of another provider about ${payment === null ? 'the session' : 'the payment'}`,
      handedOff,
      'provider_mismatch',
      (on) => hear(on, says(status, payment, other)),
    ]),
  ),
  ['an unknown payment', handedOff, 'unknown_payment', (on) => hear(on, says('paid', 7))],
  ['an unknown payment of another provider', handedOff, 'unknown_payment', (on) => hear(on, says('paid', 7, other))],
  ['a payment of a session without one', routed, 'unknown_payment', (on) => hear(on, says('paid', 7))],
  ['a settlement before the money', handedOff, 'not_paid', (on) => recordSettlement(on, idOf('pay', 1), PAYOUT, NOW)],
  ['a settlement of a failed payment', declined, 'not_paid', (on) => recordSettlement(on, idOf('pay', 1), PAYOUT, NOW)],
];

describe('nothing changes on', () => {
  for (const [name, checkout, outcome, decide] of UNCHANGED) {
    test(name, () => assertUnchanged(decide(checkout), checkout, outcome));
  }
});

describe('a session, its payments and its invoices', () => {
  test('the payment that speaks for a session is the one that paid it, else the newest', () => {
    assert.equal(leadingPayment(aCheckout()), undefined);
    assert.equal(leadingPayment(retried)?.id, idOf('pay', 2));
    const late = hear(retried, says('paid', 1)).next;
    assert.equal(leadingPayment(late)?.id, idOf('pay', 1));
  });
});

describe('moves of a session', () => {
  test('routed -> pending: the buyer starts, a payment and an open invoice are created', () => {
    const decision = start(aCheckout(), 1);
    assert.equal(decision.outcome, 'started');
    assert.deepEqual(states(decision.next), ['pending', 'pending/open']);
    assert.deepEqual(asks(decision), []);
    assert.equal(decision.next.session.version, 2);
  });

  test('a payment keeps the route, the fees and the cost that it was started with', () => {
    const route = aRoute({ buyerFeeRate: 5_000, gatewayFeeRate: 29_000, providerCostRate: 19_000 });
    const [payment] = startAttempt(aCheckout({ amount: 10_000 }), anAttempt(1, route), NOW).next.payments;
    assert.deepEqual(payment?.fees, { buyerFee: 50, gatewayFee: 290, merchantNet: 9_710, total: 10_050 });
    assert.equal(payment?.providerCost, 190);
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

  test('provider_pending goes out once the provider accepted the handoff, and not before', () => {
    const decision = accept(started, 1);
    assert.deepEqual([decision.outcome, asks(decision)], ['accepted', ['announce provider_pending']]);
    assert.equal(pendingPayment(decision.next)?.providerReference, 'ref_1');
  });

  test('provider_pending goes out once, whatever the number of attempts', () => {
    assert.deepEqual(asks(accept(retried, 2)), []);
    assertUnchanged(hear(handedOff, says('provider_pending', 1)), handedOff, 'applied');
  });

  test('pending -> paid: posted, announced, invoice paid, nothing left to wait for', () => {
    const decision = hear(handedOff, says('paid', 1, { txHash: 'tx_1' }));
    assert.deepEqual(states(decision.next), ['paid', 'paid/paid']);
    assert.deepEqual(asks(decision), ['post paid', 'announce paid']);
    assert.deepEqual([decision.next.session.wakeAt, decision.next.payments[0]?.txHash], [null, 'tx_1']);
  });

  test('paid may be the first word that comes, before the handoff was answered', () => {
    const decision = hear(started, says('paid', 1));
    assert.deepEqual(asks(decision), ['post paid', 'announce paid']);
    const accepted = accept(decision.next, 1);
    assert.deepEqual([states(accepted.next), asks(accepted)], [['paid', 'paid/paid'], []]);
  });

  test('a provider may know of a payment that the buyer did not start here', () => {
    assert.deepEqual(states(hear(routed, says('paid', null)).next), ['paid', 'paid/paid']);
    const pending = hear(routed, says('provider_pending', null));
    assert.deepEqual(
      [states(pending.next), asks(pending)],
      [['pending', 'pending/open'], ['announce provider_pending']],
    );
    assert.deepEqual(states(hear(routed, says('failed', null)).next), ['pending', 'failed/void']);
  });

  test('routed -> expired: after its time, without an event', () => {
    assertUnchanged(applyElapsedTime(routed, NOW + DAY - 1), routed, 'ignored');
    const decision = applyElapsedTime(routed, NOW + DAY);
    assert.deepEqual([decision.outcome, states(decision.next), asks(decision)], ['expired', ['expired'], []]);
    assert.equal(decision.next.session.wakeAt, null);
  });

  test('an expired session cannot be started, nor can one whose time is over but whom nobody has woken', () => {
    assertUnchanged(start(expired, 1), expired, 'closed');
    const overdue = aCheckout();
    assertUnchanged(start(overdue, 1, NOW + DAY), overdue, 'closed');
    // The worker that claimed the wake-up has postponed it.
    const claimed = { ...overdue, session: { ...overdue.session, wakeAt: NOW + DAY + MINUTE } };
    assertUnchanged(start(claimed, 1, NOW + DAY), claimed, 'closed');
    assert.equal(start(overdue, 1, NOW + DAY - 1).outcome, 'started');
  });

  test('the merchant may withdraw a session that no buyer has started, and no other', () => {
    const decision = expireSession(aCheckout());
    assert.deepEqual([decision.outcome, states(decision.next), asks(decision)], ['expired', ['expired'], []]);
    assertUnchanged(expireSession(decision.next), decision.next, 'ignored');
    assertUnchanged(expireSession(started), started, 'invalid_state');
    assertUnchanged(expireSession(paid), paid, 'invalid_state');
  });

  test('failed -> paid and expired -> paid: late verified money is real', () => {
    const late = hear(failed, says('paid', 1));
    assert.deepEqual(
      [states(late.next), asks(late)],
      [
        ['paid', 'paid/paid'],
        ['post paid', 'announce paid'],
      ],
    );
    assert.equal(late.next.payments[0]?.failureCode, null);
    assert.deepEqual(states(hear(expired, says('paid', null)).next), ['paid', 'paid/paid']);
  });
});

describe('a failed attempt', () => {
  test('makes its payment failed and its invoice void; the session stays pending, without an event', () => {
    const decision = hear(handedOff, says('failed', 1));
    assert.deepEqual([states(decision.next), asks(decision)], [['pending', 'failed/void'], []]);
    assert.equal(decision.next.payments[0]?.failureCode, 'declined');
  });

  test('the buyer may try again for 15 minutes, and the session fails where they do not', () => {
    const end = NOW + RETRY_WINDOW_MS;
    assert.equal(RETRY_WINDOW_MS, 15 * MINUTE);
    assert.deepEqual([declined.session.retryUntil, declined.session.wakeAt], [end, end]);
    assert.equal(start(declined, 2, end - 1).outcome, 'started');
    assertUnchanged(start(declined, 2, end), declined, 'closed');
    assertUnchanged(applyElapsedTime(declined, end - 1), declined, 'ignored');
    const decision = applyElapsedTime(declined, end);
    assert.deepEqual([decision.outcome, states(decision.next)], ['retry_window_over', ['failed', 'failed/void']]);
    assert.deepEqual(asks(decision), ['announce failed']);
  });

  test('the third one fails the session, and the one payment.failed goes out', () => {
    const second = hear(retried, says('failed', 2)).next;
    assert.equal(second.session.status, 'pending');
    const third = hear(start(second, 3).next, says('failed', 3));
    assert.deepEqual(states(third.next), ['failed', 'failed/void', 'failed/void', 'failed/void']);
    assert.deepEqual(asks(third), ['announce failed']);
    assertUnchanged(start(third.next, 4), third.next, 'closed');
  });

  test('the session fails when the buyer gives up, and the attempt in progress is cancelled', () => {
    const decision = abandonCheckout(handedOff, NOW);
    assert.deepEqual(states(decision.next), ['failed', 'failed/void']);
    assert.deepEqual(asks(decision), [`cancel_at_provider ${idOf('pay', 1)}`, 'announce failed']);
    assertUnchanged(abandonCheckout(decision.next, NOW), decision.next, 'ignored');
    assertUnchanged(abandonCheckout(routed, NOW), routed, 'ignored');
  });

  test('the session fails when the payment timeout of the route passes', () => {
    const end = NOW + 1800 * SECOND;
    assert.notEqual(applyElapsedTime(handedOff, end - 1).outcome, 'timed_out');
    const decision = applyElapsedTime(handedOff, end);
    assert.deepEqual([decision.outcome, states(decision.next)], ['timed_out', ['failed', 'failed/void']]);
    assert.deepEqual(asks(decision), [`cancel_at_provider ${idOf('pay', 1)}`, 'announce failed']);
  });

  test('the buyer may drop an attempt to choose another way: it is cancelled, the session stays pending', () => {
    const decision = abandonAttempt(handedOff, NOW);
    assert.deepEqual(states(decision.next), ['pending', 'failed/void']);
    assert.deepEqual(asks(decision), [`cancel_at_provider ${idOf('pay', 1)}`]);
    assertUnchanged(abandonAttempt(decision.next, NOW), decision.next, 'ignored');
  });

  test('a refused handoff fails over to the next route as part of the same attempt', () => {
    const decision = refuse(started, 1, anAttempt(2, aRoute({ id: 'backup' })));
    assert.equal(decision.outcome, 'failed_over');
    assert.deepEqual(states(decision.next), ['pending', 'failed/void', 'pending/open']);
    assert.deepEqual([decision.next.session.attempts, asks(decision)], [1, []]);
    assert.equal(decision.next.payments[1]?.route.id, 'backup');
  });

  test('refused by every route, it is a failed attempt, and the third one fails the session', () => {
    const first = refuse(started, 1);
    assert.deepEqual([first.outcome, states(first.next)], ['refused', ['pending', 'failed/void']]);
    const second = refuse(start(first.next, 2).next, 2);
    const third = refuse(start(second.next, 3).next, 3);
    assert.deepEqual([third.next.session.status, asks(third)], ['failed', ['announce failed']]);
  });

  test('what the provider accepts after the attempt has failed is cancelled there', () => {
    const dropped = abandonCheckout(started, NOW).next;
    const decision = accept(dropped, 1);
    assert.deepEqual([decision.outcome, states(decision.next)], ['too_late', ['failed', 'failed/void']]);
    assert.deepEqual(asks(decision), [`cancel_at_provider ${idOf('pay', 1)}`]);
  });
});

describe('callbacks of every order, age and number', () => {
  test('a report about a session that no buyer has started creates a payment only if the provider has a route', () => {
    const unforeseen = { ...anAttempt(9), route: undefined };
    const decision = applyProviderEvent(routed, says('paid', null), unforeseen, NOW);
    assertUnchanged(decision, routed, 'unknown_payment');
    assert.deepEqual(states(hear(routed, says('paid', null)).next), ['paid', 'paid/paid']);
  });

  test('late money pays the session, and the newer pending attempt is cancelled at its provider', () => {
    const decision = hear(retried, says('paid', 1));
    assert.deepEqual(states(decision.next), ['paid', 'paid/paid', 'failed/void']);
    assert.equal(decision.next.payments[1]?.failureCode, 'superseded');
    assert.deepEqual(asks(decision), ['post paid', 'announce paid', `cancel_at_provider ${idOf('pay', 2)}`]);
  });

  test('a second real payment is surplus: paid with its invoice void, no event, refunded automatically', () => {
    const first = hear(retried, says('paid', 1)).next;
    const decision = hear(first, says('paid', 2));
    assert.deepEqual(states(decision.next), ['paid', 'paid/paid', 'paid/void']);
    assert.deepEqual(asks(decision), ['post paid', `refund_requested ${idOf('pay', 2)}`]);
    assert.equal(decision.next.payments[1]?.surplus, true);
    assertUnchanged(hear(decision.next, says('paid', 2)), decision.next, 'ignored');
  });

  test('one that names the session only is about the attempt in progress, or about what paid it', () => {
    assert.deepEqual(states(hear(retried, says('paid', null)).next), ['paid', 'failed/void', 'paid/paid']);
    const late = hear(retried, says('paid', 1)).next;
    assertUnchanged(hear(late, says('paid', null)), late, 'ignored');
  });

  test('a pending payment is asked after, ever less often', () => {
    const delays: number[] = [];
    let checkout = handedOff;
    let now = NOW;
    for (let inquiry = 0; inquiry < 6; inquiry++) {
      const next = checkout.session.wakeAt!;
      delays.push((next - now) / SECOND);
      now = next;
      const decision = applyElapsedTime(checkout, now);
      assert.deepEqual([decision.outcome, asks(decision)], ['inquired', []]);
      checkout = decision.next;
    }
    assert.deepEqual(delays, [30, 60, 120, 300, 600, 600]);
  });
});

describe('the ledger status follows the ledger', () => {
  const settled = recordSettlement(paid, idOf('pay', 1), PAYOUT, NOW);
  const refunded = refund(paid, 1);

  test('pending -> settled, once', () => {
    assert.deepEqual(
      [settled.outcome, asks(settled)],
      ['settled', ['post settled', `settlement_recorded ${idOf('pay', 1)}`]],
    );
    assert.equal(settled.next.payments[0]?.ledgerStatus, 'settled');
    assert.equal(recordSettlement(settled.next, idOf('pay', 1), PAYOUT, NOW).next, settled.next);
  });

  test('settled -> refunded and pending -> refunded; the payment and the session stay paid', () => {
    for (const decision of [refunded, refund(settled.next, 1)]) {
      assert.deepEqual(
        [decision.outcome, asks(decision)],
        ['applied', [`refund_changed ${idOf('pay', 1)}`, 'post refund_paid']],
      );
      assert.equal(decision.next.payments[0]?.ledgerStatus, 'refunded');
      assert.deepEqual(states(decision.next), ['paid', 'paid/paid']);
    }
  });

  test('surplus money is refunded to the buyer and never settled to the merchant', () => {
    const twice = hear(hear(retried, says('paid', 1)).next, says('paid', 2));
    assert.equal(recordSettlement(twice.next, idOf('pay', 2), PAYOUT, NOW).next, twice.next);
    const [requested] = twice.effects.flatMap((effect) => (effect.type === 'refund_requested' ? [effect.refund] : []));
    const decision = applyRefundReport(twice.next, requested!, { status: 'succeeded', reason: null }, NOW);
    assert.deepEqual(
      decision.next.payments.map(({ ledgerStatus }) => ledgerStatus),
      ['pending', 'refunded'],
    );
  });
});

/** Gives a payment back, whole, and hears that it has been. */
function refund(checkout: Checkout, number: number) {
  const order = { paymentId: idOf('pay', number), refundId: idOf('ref', number), amount: null, reason: null };
  const asked = requestRefund(checkout, { ...order, idempotencyKey: null, requestHash: null }, NOW);
  const [requested] = asked.effects.flatMap((effect) => (effect.type === 'refund_requested' ? [effect.refund] : []));
  return applyRefundReport(asked.next, requested!, { status: 'succeeded', reason: null }, NOW);
}
