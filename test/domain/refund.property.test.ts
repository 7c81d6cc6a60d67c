import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import type { Decision } from '../../src/domain/checkout-state.ts';
import { REFUND_STATUSES, leftOf } from '../../src/domain/refund-record.ts';
import { type Decisions, type History, type Step, DECISIONS as real, walk } from '../fixtures/checkout-history.ts';

const RUNS = 1000;

const paid = (payment: number): Step => ({
  type: 'event',
  payment,
  status: 'paid',
  wrong: 'nothing',
  txHash: null,
  failure: null,
});
const start: Step = { type: 'start', route: 0 };
const accept: Step = { type: 'accept', payment: 0 };
const ONCE: Step[] = [start, paid(0)];
const TWICE: Step[] = [start, accept, { type: 'abandon' }, start, paid(1), paid(0)];

const anyMove: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      type: fc.constant('refund' as const),
      payment: fc.nat(1),
      share: fc.integer({ min: 0, max: 17 }),
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      type: fc.constant('told' as const),
      refund: fc.nat(5),
      status: fc.constantFrom(...REFUND_STATUSES),
    }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('settle' as const), payment: fc.nat(1) }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('repeat' as const), event: fc.nat(3) }) },
);
/** Refunds of a payment, or of surplus money beside it, with words on them of every order, age and number. */
const anyHistory: fc.Arbitrary<History> = fc.record({
  amount: fc.oneof(fc.integer({ min: 1, max: 1_000_000 }), fc.constantFrom(1, 2, 3, 100, 999_999, 1_000_000)),
  rates: fc.record({
    buyerFeeRate: fc.constantFrom(0, 2_500, 12_345, 500_000),
    gatewayFeeRate: fc.constantFrom(0, 29_000, 500_000, 1_000_000),
    providerCostRate: fc.constantFrom(0, 19_000, 1_000_000),
  }),
  steps: fc
    .tuple(fc.constantFrom(ONCE, TWICE), fc.array(anyMove, { minLength: 1, maxLength: 20, size: 'max' }))
    .map(([before, moves]) => [...before, ...moves]),
});

test('refunds of every history stay within what was paid, and the books follow them to the cent', () => {
  fc.assert(
    fc.property(anyHistory, (history) => walk(real, history)),
    { numRuns: RUNS },
  );
});

test('the histories meet partial refunds, whole ones, failures and late failures of either kind of money', () => {
  const seen = new Set<string>();
  const noting: Decisions = {
    ...real,
    requestRefund(checkout, order, now) {
      const decision = real.requestRefund(checkout, order, now);
      const left = decision.next.payments.find(({ id }) => id === order.paymentId);
      seen.add(decision.outcome).add(left && leftOf(left).total > 0 ? 'part' : 'rest');
      return decision;
    },
    applyRefundReport(checkout, refund, report, now) {
      const decision = real.applyRefundReport(checkout, refund, report, now);
      const before = checkout.payments.find(({ id }) => id === refund.paymentId)!;
      const after = decision.next.payments.find(({ id }) => id === refund.paymentId)!;
      seen.add(`${refund.reason} ${refund.status}->${report.status}`);
      seen.add(`${before.ledgerStatus}->${after.ledgerStatus}`);
      return decision;
    },
  };
  fc.assert(
    fc.property(anyHistory, (history) => walk(noting, history)),
    { numRuns: 1000, seed: 1 },
  );
  const moves = [
    'pending->succeeded',
    'pending->failed',
    'succeeded->failed',
    'failed->succeeded',
    'succeeded->pending',
  ];
  const wanted = [
    'requested',
    'too_much',
    'nothing_left',
    'part',
    'rest',
    ...moves.flatMap((move) => [`null ${move}`, `surplus ${move}`]),
    'pending->refunded',
    'settled->refunded',
    'refunded->pending',
    'refunded->settled',
  ];
  for (const sight of wanted) assert.ok(seen.has(sight), `never met: ${sight}`);
});

/** Each breaks one promise; a harness that lets one pass proves nothing. */
const FAULTS: [fault: string, complaint: RegExp, decisions: Partial<Decisions>][] = [
  [
    'what is on its way back can be refunded again',
    /no more than is left is refunded|never more than what was paid|no share is given back twice/,
    {
      requestRefund(checkout, order, now) {
        const forgetful = checkout.payments.map((payment) => ({ ...payment, refundPending: 0 }));
        const decision = real.requestRefund({ ...checkout, payments: forgetful }, order, now);
        if (decision.outcome !== 'requested') return { ...decision, next: checkout };
        const payments = decision.next.payments.map((payment, index) => ({
          ...payment,
          refundPending: payment.refundPending + checkout.payments[index]!.refundPending,
        }));
        return { ...decision, next: { ...decision.next, payments } };
      },
    },
  ],
  [
    'a cent too much is let through',
    /no more than is left is refunded/,
    {
      requestRefund(checkout, order, now) {
        const decision = real.requestRefund(checkout, order, now);
        return decision.outcome === 'too_much'
          ? real.requestRefund(checkout, { ...order, amount: order.amount! - 1 }, now)
          : decision;
      },
    },
  ],
  [
    'a refund that failed comes back to life',
    /a refund moved failed -> |the same word again changes nothing/,
    {
      applyRefundReport(checkout, refund, report, now) {
        const revived = refund.status === 'failed' ? { ...refund, status: 'pending' as const } : refund;
        return real.applyRefundReport(checkout, revived, report, now);
      },
    },
  ],
  [
    'a late failure leaves the books as they are',
    /a failure takes all back/,
    {
      applyRefundReport(checkout, refund, ...rest) {
        const decision = real.applyRefundReport(checkout, refund, ...rest);
        return refund.status === 'succeeded' ? without(decision, 'post') : decision;
      },
    },
  ],
  [
    'a late failure is booked as an early one',
    /a failure takes all back/,
    {
      applyRefundReport(checkout, refund, report, now) {
        const decision = real.applyRefundReport(checkout, refund, report, now);
        if (refund.status !== 'succeeded' || decision.outcome === 'ignored') return decision;
        const early = real.applyRefundReport(checkout, { ...refund, status: 'pending' }, report, now);
        const posts = early.effects.filter(({ type }) => type === 'post');
        return { ...without(decision, 'post'), effects: [...without(decision, 'post').effects, ...posts] };
      },
    },
  ],
  [
    'shares are rounded each by itself',
    /leaves nothing in the books|no share is given back twice/,
    {
      requestRefund(checkout, order, now) {
        // As if nothing had been refunded before.
        const decision = real.requestRefund(checkout, order, now);
        if (decision.outcome !== 'requested') return decision;
        const fresh = checkout.payments.map((payment) => ({
          ...payment,
          refunded: 0,
          refundPending: 0,
          refundShares: { gateway: 0, cost: 0 },
        }));
        const [effect] = decision.effects;
        if (effect?.type !== 'refund_requested') return decision;
        const again = real.requestRefund(
          { ...checkout, payments: fresh },
          { ...order, amount: effect.refund.amount },
          now,
        );
        return { ...decision, effects: again.effects };
      },
    },
  ],
  [
    'the ledger status stays when a whole refund fails late',
    /Expected|true !== false/,
    {
      applyRefundReport(checkout, refund, report, now) {
        const decision = real.applyRefundReport(checkout, refund, report, now);
        const payments = decision.next.payments.map((payment, index) =>
          checkout.payments[index]!.ledgerStatus === 'refunded'
            ? { ...payment, ledgerStatus: 'refunded' as const }
            : payment,
        );
        return decision.outcome === 'ignored' ? decision : { ...decision, next: { ...decision.next, payments } };
      },
    },
  ],
];

for (const [fault, complaint, decisions] of FAULTS) {
  test(`the walk finds it where ${fault}`, () => {
    assert.throws(
      () =>
        fc.assert(
          fc.property(anyHistory, (history) => walk({ ...real, ...decisions }, history)),
          { numRuns: RUNS, seed: 3, endOnFailure: true },
        ),
      (error: Error) => complaint.test(`${error.message} ${String(error.cause)}`),
    );
  });
}

function without<Outcome extends string>(decision: Decision<Outcome>, type: string): Decision<Outcome> {
  return { ...decision, effects: decision.effects.filter((effect) => effect.type !== type) };
}
