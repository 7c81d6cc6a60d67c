import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { splitFees } from '../../src/domain/fees.ts';
import { type Posting, paidPosting } from '../../src/domain/ledger.ts';
import { REVERSAL_STATUSES } from '../../src/domain/provider-report.ts';
import type { Checkout, Payment } from '../../src/domain/records.ts';
import { requestRefund } from '../../src/domain/refund-decisions.ts';
import { leftOf } from '../../src/domain/refund-record.ts';
import type { Reversal, ReversalState } from '../../src/domain/reversal.ts';
import { applyReversal } from '../../src/domain/reversal-decisions.ts';
import { judgePayout } from '../../src/domain/settlement.ts';
import { NOW, aCheckout, aPayment, idOf } from '../fixtures/checkout-records.ts';
import { forAll } from '../support/for-all.ts';

const TOTAL = 5_024;
const PAYMENT: Payment = aPayment({
  status: 'paid',
  fees: splitFees(4_999, { buyerFeeRate: 5_000, gatewayFeeRate: 29_000 }),
});

interface World {
  checkout: Checkout;
  /** Stored reversals by the provider's reference. */
  stored: Map<string, Reversal>;
  postings: Posting[];
  announced: number;
}

function newWorld(payment: Payment = PAYMENT): World {
  const checkout = { ...aCheckout({ status: 'paid' }), payments: [payment] };
  return { checkout, stored: new Map(), postings: [paidPosting(payment, NOW)], announced: 0 };
}

const paymentOf = ({ checkout }: World) => checkout.payments[0]!;

let ids = 0;

/** Applies a provider report to the stored reversals, and stores the effects as an operation does. */
function report(world: World, state: ReversalState, now = NOW): string {
  const number = ++ids;
  const fresh = { reversalId: idOf('rev', number), discrepancyId: idOf('dis', number) };
  const known = world.stored.get(state.reference);
  const decision = applyReversal(world.checkout, paymentOf(world), known, state, fresh, now);
  world.checkout = decision.next;
  for (const effect of decision.effects) {
    if (effect.type === 'reversal_changed') {
      assert.equal(effect.from, known?.revision ?? null);
      world.stored.set(state.reference, effect.reversal);
    }
    if (effect.type === 'post') {
      assert.ok(!world.postings.some(({ id }) => id === effect.posting.id), `posted twice: ${effect.posting.id}`);
      assert.equal(sumOf([effect.posting]), 0);
      world.postings.push(effect.posting);
    }
    if (effect.type === 'announce_dispute') world.announced += 1;
  }
  return decision.outcome;
}

function sumOf(postings: readonly Posting[], account?: string): number {
  const entries = postings
    .flatMap((posting) => posting.entries)
    .filter((one) => (account ?? one.account) === one.account);
  return entries.reduce((sum, { amount }) => sum + amount, 0);
}

const reversalPostings = ({ postings }: World) => postings.filter(({ kind }) => kind === 'reversal');

/** The observable state of a world, without ids and times. */
function seen(world: World) {
  const { reversed, refunded, ledgerStatus } = paymentOf(world);
  const accounts = [
    'merchant_payable',
    'provider_cost',
    'provider_clearing',
    'buyer_refunds_payable',
    'gateway_revenue',
  ];
  return {
    payment: { reversed, refunded, ledgerStatus },
    accounts: accounts.map((account) => sumOf(world.postings, account)),
    reversals: [...world.stored.values()]
      .map(({ reference, status, revision, taken, fee }) => ({ reference, status, revision, taken, fee }))
      .toSorted((a, b) => a.reference.localeCompare(b.reference)),
    listed: world.checkout.discrepancies
      .map(({ kind, status, received, resolution }) => ({ kind, status, received, resolution }))
      .toSorted((a, b) => JSON.stringify(a).localeCompare(JSON.stringify(b))),
  };
}

/** The revisions of one dispute, oldest first, each with at most `most` cents of reversed money. */
const anyDispute = (reference: string, most: number) =>
  fc
    .array(
      fc.record({
        status: fc.constantFrom(...REVERSAL_STATUSES),
        taken: fc.integer({ min: 0, max: most }),
        fee: fc.nat(3000),
      }),
      { minLength: 1, maxLength: 5 },
    )
    .map((states) =>
      states.map((state, index): ReversalState => ({ reference, revision: index + 1, reason: 'fraudulent', ...state })),
    );

const anyDisputes = fc.tuple(anyDispute('dp_1', 3_000), anyDispute('dp_2', 2_000));

test('reports of disputes that are reordered, repeated or lost lead to the state of the newest reports', () => {
  const anyOrder = anyDisputes.chain((disputes) => {
    const all = disputes.flat();
    return fc.record({
      newest: fc.constant(disputes.map((states) => states.at(-1)!)),
      // Some reports are lost, and some arrive several times; the newest report of each dispute arrives at least once.
      arrivals: fc
        .array(fc.constantFrom(...all), { maxLength: 12 })
        .chain((some) =>
          fc.shuffledSubarray([...some, ...disputes.map((states) => states.at(-1)!)], { minLength: some.length + 2 }),
        ),
    });
  });
  forAll(1000, anyOrder, ({ newest, arrivals }) => {
    const [ordered, shuffled] = [newWorld(), newWorld()];
    for (const state of newest) report(ordered, state);
    for (const state of arrivals) report(shuffled, state);
    assert.deepEqual(seen(shuffled), seen(ordered));
    const before = seen(shuffled);
    for (const state of arrivals) assert.equal(report(shuffled, state), 'ignored');
    assert.deepEqual(seen(shuffled), before);
  });
});

test('the ledger contains exactly the reversed money and the fee from the newest report of each dispute', () => {
  forAll(500, anyDisputes, (disputes) => {
    const world = newWorld();
    for (const states of disputes) for (const state of states) report(world, state);
    const newest = disputes.map((states) => states.at(-1)!);
    const taken = newest.reduce((sum, one) => sum + one.taken, 0);
    const fee = newest.reduce((sum, one) => sum + one.fee, 0);
    const booked = reversalPostings(world);
    assert.deepEqual(
      ['merchant_payable', 'provider_cost', 'provider_clearing'].map((account) => sumOf(booked, account)),
      [taken, fee, -(taken + fee)],
    );
    assert.equal(sumOf(world.postings), 0);
    assert.equal(paymentOf(world).reversed, taken);
    assert.equal(paymentOf(world).status, 'paid');
    assert.equal(world.announced, disputes.flat().length);
  });
});

/** A request for a refund, without its amount. */
const ORDER = {
  refundId: idOf('ref', 1),
  paymentId: PAYMENT.id,
  reason: null,
  idempotencyKey: null,
  requestHash: null,
};

test('a refund of reversed money is rejected', () => {
  forAll(500, fc.integer({ min: 1, max: TOTAL }), fc.integer({ min: 1, max: TOTAL }), (taken, amount) => {
    const world = newWorld();
    report(world, { reference: 'dp_1', revision: 1, status: 'lost', taken, fee: 0, reason: null });
    const left = TOTAL - taken;
    assert.equal(leftOf(paymentOf(world)).total, left);
    const { outcome } = requestRefund(world.checkout, { ...ORDER, amount }, NOW);
    assert.equal(outcome, left === 0 ? 'nothing_left' : amount > left ? 'too_much' : 'requested');
  });
});

test('the rest of a partly reversed payment can be refunded; then merchant and gateway keep nothing', () => {
  forAll(500, fc.integer({ min: 1, max: TOTAL - 1 }), (taken) => {
    const world = newWorld();
    report(world, { reference: 'dp_1', revision: 1, status: 'lost', taken, fee: 0, reason: null });
    const { effects } = requestRefund(world.checkout, { ...ORDER, amount: null }, NOW);
    const booked = [
      ...world.postings,
      ...effects.flatMap((effect) => (effect.type === 'post' ? [effect.posting] : [])),
    ];
    assert.deepEqual([sumOf(booked, 'merchant_payable') + sumOf(booked, 'gateway_revenue')], [0]);
  });
});

test('the payout of a payment is never negative, whatever amount was reversed', () => {
  forAll(500, fc.integer({ min: 0, max: 2 * TOTAL }), (taken) => {
    const world = newWorld();
    report(world, { reference: 'dp_1', revision: 1, status: 'lost', taken, fee: 0, reason: null });
    const payment = paymentOf(world);
    if (judgePayout(payment, null) === 'settled') assert.ok(leftOf(payment).merchant >= 0);
    else assert.ok(leftOf(payment).merchant <= 0 || leftOf(payment).total <= 0);
  });
});

test('a reversal of a surplus payment reduces the debt to the buyer, or to the merchant if the surplus was accepted', () => {
  const state: ReversalState = {
    reference: 'dp_1',
    revision: 1,
    status: 'open',
    taken: 1_000,
    fee: 1_500,
    reason: null,
  };
  for (const [accepted, owner] of [
    [false, 'buyer_refunds_payable'],
    [true, 'merchant_payable'],
  ] as const) {
    const world = newWorld({ ...PAYMENT, surplus: true, surplusAccepted: accepted });
    report(world, state);
    assert.equal(sumOf(reversalPostings(world), owner), 1_000);
  }
});

test('a dispute has an open discrepancy until it is won, and again if its money is reversed again', () => {
  const world = newWorld();
  const about = { reference: 'dp_1', fee: 1_500, reason: 'fraudulent' };
  const listed = () => world.checkout.discrepancies.map(({ kind, status, received }) => [kind, status, received]);
  report(world, { ...about, revision: 1, status: 'open', taken: 0 });
  assert.deepEqual(listed(), [['reversal', 'open', 0]]);
  report(world, { ...about, revision: 2, status: 'open', taken: TOTAL });
  assert.deepEqual(listed(), [['reversal', 'open', TOTAL]]);
  report(world, { ...about, revision: 3, status: 'won', taken: 0 });
  assert.deepEqual(listed(), [['reversal', 'resolved', 0]]);
  report(world, { ...about, revision: 4, status: 'lost', taken: TOTAL });
  assert.deepEqual(listed(), [['reversal', 'open', TOTAL]]);
});

test('the discrepancy of a dispute stays resolved after an operator has resolved it', () => {
  const world = newWorld();
  const about = { reference: 'dp_1', fee: 0, reason: null };
  report(world, { ...about, revision: 1, status: 'open', taken: 0 });
  const [one] = world.checkout.discrepancies;
  const closed = { ...one!, status: 'resolved', resolution: 'accepted', resolvedAt: NOW } as const;
  world.checkout = { ...world.checkout, discrepancies: [closed] };
  report(world, { ...about, revision: 2, status: 'lost', taken: TOTAL });
  assert.deepEqual(
    world.checkout.discrepancies.map(({ status, received }) => [status, received]),
    [['resolved', TOTAL]],
  );
});

test('the report of a dispute about a payment that is not paid changes nothing', () => {
  const world = newWorld({ ...PAYMENT, status: 'failed' });
  const before = world.checkout;
  assert.equal(
    report(world, { reference: 'dp_1', revision: 1, status: 'open', taken: 1, fee: 0, reason: null }),
    'not_paid',
  );
  assert.equal(world.checkout, before);
});

test('money that a reversal credits to the merchant cannot be refunded beyond the payment', () => {
  assert.equal(leftOf({ ...PAYMENT, reversed: -2000 }).total, TOTAL);
});
