import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import {
  abandonAttempt,
  abandonCheckout,
  acceptHandoff,
  applyElapsedTime,
  canAbandon,
  startAttempt,
} from '../../src/domain/checkout.ts';
import type { Effect } from '../../src/domain/checkout-state.ts';
import { type Posting, paidPosting, payoutPosting, settledPosting } from '../../src/domain/ledger.ts';
import { type ProviderEvent, applyProviderEvent } from '../../src/domain/provider-event.ts';
import type { Checkout } from '../../src/domain/records.ts';
import { applyRefundReport, recordForeignRefund } from '../../src/domain/refund-decisions.ts';
import { leftOf } from '../../src/domain/refund-record.ts';
import { DAY, MINUTE, NOW, SECOND, aCheckout, aPayment, anAttempt, idOf } from '../fixtures/checkout-records.ts';
import { anyFailure } from '../fixtures/failures.ts';
import { forAll } from '../support/for-all.ts';

const HOUR = 60 * MINUTE;
const AMOUNT = 4_999;

/** A checkout whose payment the provider has accepted; the buyer has not paid yet. */
function handedOff(): Checkout {
  const started = startAttempt(aCheckout({ amount: AMOUNT }), anAttempt(1), NOW).next;
  return acceptHandoff(started, { paymentId: idOf('pay', 1), reference: 'ref_1', url: null }).next;
}

function eventOf(status: ProviderEvent['status'], fields: Partial<ProviderEvent> = {}): ProviderEvent {
  const money = { amount: AMOUNT, currency: 'USD', txHash: null, failure: null };
  return { provider: 'sandbox', environment: 'sandbox', paymentId: idOf('pay', 1), status, ...money, ...fields };
}

function apply(checkout: Checkout, status: ProviderEvent['status'], fields: Partial<ProviderEvent> = {}, now = NOW) {
  return applyProviderEvent(checkout, eventOf(status, fields), anAttempt(2), now);
}

const firstOf = ({ payments }: Checkout) => payments[0]!;
const typesOf = (effects: readonly Effect[]) => effects.map(({ type }) => type);
const postingsOf = (effects: readonly Effect[]) =>
  effects.flatMap((effect) => (effect.type === 'post' ? [effect.posting] : []));
const DECLINE = { code: 'insufficient_funds', source: 'buyer', reason: 'no money' } as const;

function sumOf(postings: readonly Posting[], account?: string): number {
  const entries = postings
    .flatMap((posting) => posting.entries)
    .filter((one) => (account ?? one.account) === one.account);
  return entries.reduce((sum, { amount }) => sum + amount, 0);
}

describe('a payment with an expected payment date', () => {
  test('an expected payment date postpones the timeout, to at most 14 days after the start of the payment, and never advances it', () => {
    forAll(500, fc.array(fc.integer({ min: -DAY, max: 30 * DAY }), { minLength: 1, maxLength: 4 }), (delays) => {
      let checkout = handedOff();
      const latest = NOW + 14 * DAY;
      for (const delay of delays) {
        const before = firstOf(checkout);
        checkout = apply(checkout, 'provider_pending', { expectedBy: NOW + delay }).next;
        const { expectedBy, timeoutAt } = firstOf(checkout);
        assert.equal(expectedBy, Math.min(Math.max(NOW + delay, NOW), latest));
        assert.equal(timeoutAt, Math.max(before.timeoutAt, expectedBy));
        assert.ok(timeoutAt <= latest);
      }
    });
  });

  test('the intervals between inquiries about a payment with an expected payment date are 10 minutes to 6 hours', () => {
    forAll(200, fc.integer({ min: 1, max: 14 * DAY }), (delay) => {
      let checkout = apply(handedOff(), 'provider_pending', { expectedBy: NOW + delay }).next;
      let now = NOW;
      for (let each = 0; each < 3; each++) {
        const { inquireAt, timeoutAt } = firstOf(checkout);
        const waited = inquireAt! - now;
        assert.ok(waited >= 10 * MINUTE && waited <= 6 * HOUR, `${waited} ms`);
        now = inquireAt!;
        if (now >= timeoutAt) return;
        checkout = applyElapsedTime(checkout, now).next;
      }
    });
    const usual = firstOf(apply(handedOff(), 'provider_pending').next).inquireAt;
    assert.equal(usual, NOW + 30 * SECOND);
  });

  test('the buyer cannot leave a payment that has an expected payment date, nor abandon its checkout', () => {
    const checkout = apply(handedOff(), 'provider_pending', { expectedBy: NOW + DAY }).next;
    assert.equal(canAbandon(handedOff(), firstOf(handedOff())), true);
    assert.equal(canAbandon(checkout, firstOf(checkout)), false);
    assert.equal(abandonAttempt(checkout, NOW).next, checkout);
    assert.equal(abandonCheckout(checkout, NOW).next, checkout);
  });

  test('an expected payment date increments the version of the session, and a repeated report of it changes nothing', () => {
    const first = handedOff();
    const moved = apply(first, 'provider_pending', { expectedBy: NOW + DAY }).next;
    assert.equal(moved.session.version, first.session.version + 1);
    assert.equal(apply(moved, 'provider_pending', { expectedBy: NOW + DAY }).next, moved);
    assert.equal(apply(moved, 'provider_pending').next, moved);
  });

  test('a payment with an expected payment date times out at its postponed timeout, not at the timeout of the route', () => {
    const checkout = apply(handedOff(), 'provider_pending', { expectedBy: NOW + 3 * DAY }).next;
    assert.equal(applyElapsedTime(checkout, NOW + 2 * DAY).outcome, 'inquired');
    assert.equal(applyElapsedTime(checkout, NOW + 3 * DAY).outcome, 'timed_out');
  });
});

describe('a soft decline', () => {
  test('a soft decline is stored and leaves the payment pending, and a later soft decline replaces it', () => {
    const first = apply(handedOff(), 'provider_pending', { failure: { ...DECLINE, code: 'expired_card' } }).next;
    const { next } = apply(first, 'provider_pending', { failure: DECLINE });
    assert.deepEqual([firstOf(next).status, firstOf(next).decline], ['pending', DECLINE]);
    assert.deepEqual(
      firstOf(apply(next, 'provider_pending').next).decline,
      DECLINE,
      'a report without a decline removed the stored decline',
    );
  });

  test('the card of a report is stored with a soft decline, a failure and a payment, and a report without a card keeps it', () => {
    const [card, other] = [
      { country: 'DE', group: 'visa debit' },
      { country: null, group: 'amex credit' },
    ];
    const declined = apply(handedOff(), 'provider_pending', { failure: DECLINE, card }).next;
    assert.deepEqual(firstOf(declined).card, card);
    for (const status of ['failed', 'paid'] as const) {
      assert.deepEqual(firstOf(apply(handedOff(), status, { card }).next).card, card);
      assert.deepEqual(firstOf(apply(declined, status).next).card, card);
      assert.deepEqual(firstOf(apply(declined, status, { card: other }).next).card, other);
    }
    const byIssuer = { failure: { ...DECLINE, source: 'issuer' as const }, card: other };
    const again = apply(declined, 'provider_pending', byIssuer).next;
    assert.deepEqual([firstOf(again).decline?.source, firstOf(again).card], ['issuer', other]);
    const repeated = apply(again, 'provider_pending', byIssuer);
    assert.equal(firstOf(repeated.next), firstOf(again));
    const failed = apply(declined, 'failed').next;
    assert.equal(apply(failed, 'failed', { card: other }).next, failed, 'a repeated report changes nothing');
  });

  test("a soft decline is the cause of the payment's failure if the provider reports no other cause", () => {
    const declined = apply(handedOff(), 'provider_pending', { failure: DECLINE }).next;
    const left = { code: 'cancelled', source: 'buyer', reason: null } as const;
    const other = { code: 'processing_error', source: 'route', reason: 'down' } as const;
    const causes = [null, left, other].map((failure) => {
      const { failureCode, failureSource, failureReason } = firstOf(apply(declined, 'failed', { failure }).next);
      return [failureCode, failureSource, failureReason];
    });
    assert.deepEqual(causes, [
      ['insufficient_funds', 'buyer', 'no money'],
      ['insufficient_funds', 'buyer', 'no money'],
      ['processing_error', 'route', 'down'],
    ]);
  });

  test('a soft decline is the cause of the failure if the buyer then chooses another method, but not if the buyer cancels the checkout', () => {
    const declined = apply(handedOff(), 'provider_pending', { failure: { ...DECLINE, source: 'issuer' } }).next;
    const codeOf = (checkout: Checkout) => [firstOf(checkout).failureCode, firstOf(checkout).failureSource];
    assert.deepEqual(codeOf(abandonAttempt(declined, NOW).next), ['insufficient_funds', 'issuer']);
    assert.deepEqual(codeOf(abandonAttempt(handedOff(), NOW).next), ['abandoned', 'buyer']);
    assert.deepEqual(codeOf(abandonCheckout(declined, NOW).next), ['abandoned', 'buyer']);
  });

  test('a soft decline decides which party is responsible for a later timeout of the payment', () => {
    const declined = apply(handedOff(), 'provider_pending', { failure: DECLINE }).next;
    const { failureCode, failureSource, failureReason } = firstOf(applyElapsedTime(declined, NOW + DAY).next);
    assert.deepEqual([failureCode, failureSource, failureReason], ['timed_out', 'buyer', 'no money']);
  });

  test('a payment with a soft decline can still be paid', () => {
    forAll(200, anyFailure, (failure) => {
      const declined = apply(handedOff(), 'provider_pending', { failure }).next;
      const { next, outcome } = apply(declined, 'paid');
      assert.deepEqual([outcome, firstOf(next).status, firstOf(next).failureCode], ['applied', 'paid', null]);
    });
  });
});

describe('an approved payment', () => {
  const approved = { requiresCapture: true };

  test('a report of an approved payment requests a capture only while the payment is pending', () => {
    const checkout = handedOff();
    assert.deepEqual(typesOf(apply(checkout, 'provider_pending', approved).effects), ['capture_at_provider']);
    const ended = [abandonAttempt(checkout, NOW).next, apply(checkout, 'paid').next, apply(checkout, 'failed').next];
    for (const each of ended) {
      const { outcome, effects } = apply(each, 'provider_pending', approved);
      assert.deepEqual([outcome, effects], ['ignored', []]);
    }
  });
});

describe('the cost of a payment', () => {
  test('the actual cost of a payment is booked once, as its difference from the estimated cost', () => {
    forAll(
      500,
      fc.nat(1_000),
      fc.array(fc.option(fc.nat(1_000), { nil: null }), { maxLength: 5 }),
      (actual, others) => {
        let checkout = handedOff();
        const booked: Posting[] = [];
        for (const cost of [null, actual, ...others]) {
          const { next, effects } = apply(checkout, 'paid', { cost, chargeReference: 'ch_1' });
          checkout = next;
          booked.push(...postingsOf(effects));
        }
        const payment = firstOf(checkout);
        assert.deepEqual([payment.actualCost, payment.chargeReference], [actual, 'ch_1']);
        assert.equal(sumOf(booked, 'provider_cost'), actual);
        assert.equal(sumOf(booked, 'provider_clearing'), payment.fees.total - actual);
        assert.equal(sumOf(booked), 0);
        const corrections = booked.filter(({ kind }) => kind === 'cost').map(({ id }) => id);
        assert.deepEqual(corrections, actual === payment.providerCost ? [] : [`${payment.id}:cost`]);
      },
    );
  });

  test('the actual cost of a payment is not booked for a payment that is not paid', () => {
    const { next, effects } = apply(handedOff(), 'paid', { amount: AMOUNT - 1, cost: 100 });
    assert.deepEqual([firstOf(next).actualCost, postingsOf(effects)], [null, []]);
  });
});

describe('a payout', () => {
  test('a payout moves money from the provider to the operator, and a settlement moves it from the operator to the merchant', () => {
    const payment = aPayment({ status: 'paid' });
    const { total, merchantNet } = payment.fees;
    const net = total - payment.providerCost;
    const postings = [
      paidPosting(payment, NOW),
      payoutPosting(payment, { id: 'txn_1', net }, NOW),
      settledPosting(payment, merchantNet, NOW, 'operator_cash'),
    ];
    assert.deepEqual(
      ['provider_clearing', 'merchant_payable', 'operator_cash'].map((account) => sumOf(postings, account)),
      [0, 0, net - merchantNet],
    );
    assert.equal(sumOf(postings), 0);
  });

  test('a payout is booked per balance transaction, and a withheld amount is booked in the opposite direction', () => {
    forAll(200, fc.integer({ min: -100_000, max: 100_000 }), fc.stringMatching(/^txn_\w{1,10}$/), (net, id) => {
      const payment = aPayment({ status: 'paid' });
      const booked = payoutPosting(payment, { id, net }, NOW);
      assert.equal(booked.id, `${payment.id}:payout:${id}`);
      assert.equal(sumOf([booked]), 0);
      assert.equal(sumOf([booked], 'operator_cash'), net);
    });
  });
});

describe('a refund that was made at the provider', () => {
  const REFUND = { refundId: idOf('ref', 1), reference: 're_1' };
  const paidCheckout = (): Checkout => apply(handedOff(), 'paid').next;

  test("a refund made at the provider reduces the remaining amount, is not requested, and ends by the provider's report", () => {
    forAll(300, fc.integer({ min: 1, max: firstOf(paidCheckout()).fees.total }), (amount) => {
      const checkout = paidCheckout();
      const { outcome, next, effects } = recordForeignRefund(checkout, firstOf(checkout), { ...REFUND, amount }, NOW);
      assert.equal(outcome, 'applied');
      const [made] = effects;
      assert.ok(made?.type === 'refund_requested' && made.isForeign === true);
      assert.deepEqual(
        [made.refund.status, made.refund.reason, made.refund.providerReference],
        ['pending', 'other', 're_1'],
      );
      assert.equal(leftOf(firstOf(next)).total, firstOf(checkout).fees.total - amount);
      const paidOut = applyRefundReport(next, made.refund, { status: 'succeeded', reason: null }, NOW);
      assert.equal(firstOf(paidOut.next).refunded, amount);
      const booked = [...postingsOf(effects), ...postingsOf(paidOut.effects)];
      assert.equal(sumOf(booked), 0);
      assert.equal(sumOf(booked, 'buyer_refunds_payable'), 0);
    });
  });

  test('a refund made at the provider is not booked if it exceeds the rest, is 0 or belongs to an unpaid payment', () => {
    const checkout = paidCheckout();
    const { total } = firstOf(checkout).fees;
    for (const amount of [total + 1, 0, -1]) {
      const { outcome, next } = recordForeignRefund(checkout, firstOf(checkout), { ...REFUND, amount }, NOW);
      assert.deepEqual([outcome, next], ['refund_excess', checkout]);
    }
    const pending = handedOff();
    assert.equal(
      recordForeignRefund(pending, firstOf(pending), { ...REFUND, amount: 1 }, NOW).outcome,
      'refund_excess',
    );
  });
});
