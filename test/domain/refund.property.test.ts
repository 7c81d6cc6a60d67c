import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { leftOf } from '../../src/domain/refund-record.ts';
import { anyOf, anyReversal, changing, step, without } from '../fixtures/any-history.ts';
import {
  type Decisions,
  type History,
  REFUND_REPORTS,
  type Step,
  DECISIONS as real,
  walk,
} from '../fixtures/checkout-history.ts';
import { ONLY_IN_FULL_RUN, runs } from '../support/for-all.ts';

const RUNS = runs(500);

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

const payment = fc.nat(1);
const anyMove = anyOf(
  [8, step('refund', { payment, share: fc.integer({ min: 0, max: 17 }) })],
  [8, step('refundReport', { refund: fc.nat(5), status: fc.constantFrom(...REFUND_REPORTS) })],
  [1, step('settle', { payment })],
  [1, step('repeat', { event: fc.nat(3) })],
  [2, step('foreignRefund', { payment, share: fc.integer({ min: 0, max: 17 }) })],
  [2, anyReversal(payment)],
);
/** Refunds of a payment and of a surplus payment, with provider reports in any order and number. */
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

test('every generated history of refunds satisfies the invariants of refunds and ledger after every step', () => {
  fc.assert(
    fc.property(anyHistory, (history) => walk(real, history)),
    { numRuns: RUNS },
  );
});

test(
  'the generated histories contain partial, full, failed and late-failed refunds of ordinary and surplus payments',
  ONLY_IN_FULL_RUN,
  () => {
    const seen = new Set<string>();
    const recordingDecisions = {
      ...changing('requestRefund', (decision, _, order) => {
        const left = decision.next.payments.find(({ id }) => id === order.paymentId);
        seen.add(decision.outcome).add(left && leftOf(left).total > 0 ? 'part' : 'rest');
        return decision;
      }),
      ...changing('applyRefundReport', (decision, checkout, refund, report) => {
        const [before, after] = [checkout, decision.next].map(({ payments }) =>
          payments.find(({ id }) => id === refund.paymentId),
        );
        seen.add(`${refund.reason} ${refund.status}->${report.status}`);
        if (decision.outcome === 'applied' && report.status === 'pending') seen.add(`deducted ${refund.reason}`);
        if (refund.deducted && refund.status === 'pending') seen.add(`deducted->${report.status}`);
        seen.add(`${before!.ledgerStatus}->${after!.ledgerStatus}`);
        return decision;
      }),
    };
    fc.assert(
      fc.property(anyHistory, (history) => walk({ ...real, ...recordingDecisions }, history)),
      { numRuns: 1000, seed: 1 },
    );
    const refundMoves =
      'pending->succeeded pending->failed succeeded->failed failed->succeeded succeeded->pending'.split(' ');
    const ledgerMoves = 'pending->refunded settled->refunded refunded->pending refunded->settled'.split(' ');
    const deductions = ['deducted null', 'deducted surplus', 'deducted->succeeded', 'deducted->failed'];
    const met = ['requested', 'too_much', 'nothing_left', 'part', 'rest', ...deductions, ...ledgerMoves];
    for (const item of [...met, ...refundMoves.flatMap((move) => [`null ${move}`, `surplus ${move}`])])
      assert.ok(seen.has(item), `no history contained ${item}`);
  },
);

/** Faults, each of which breaks one invariant: `walk` must fail with the message. */
const FAULTS: [fault: string, complaint: RegExp, decisions: Partial<Decisions>][] = [
  [
    'the amount of a pending refund can be refunded again',
    /no more than is left is refunded|never more than what was paid|no share is refunded twice/,
    {
      requestRefund(checkout, order, now) {
        const withoutPending = checkout.payments.map((payment) => ({ ...payment, refundPending: 0 }));
        const decision = real.requestRefund({ ...checkout, payments: withoutPending }, order, now);
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
    'a refund of one cent too much is accepted',
    /no more than is left is refunded/,
    changing('requestRefund', (decision, checkout, order, now) =>
      decision.outcome === 'too_much'
        ? real.requestRefund(checkout, { ...order, amount: order.amount! - 1 }, now)
        : decision,
    ),
  ],
  [
    'a failed refund becomes pending again',
    /a refund moved failed -> |the same report again changes nothing/,
    {
      applyRefundReport(checkout, refund, report, now) {
        const revived =
          refund.status === 'failed' ? { ...refund, status: 'pending' as const, deducted: false } : refund;
        return real.applyRefundReport(checkout, revived, report, now);
      },
    },
  ],
  [
    'reversed money can be refunded',
    /a payment counts what was taken back/,
    changing('applyReversal', (decision) => {
      const payments = decision.next.payments.map((payment) => ({ ...payment, reversed: 0 }));
      return decision.outcome === 'applied' ? { ...decision, next: { ...decision.next, payments } } : decision;
    }),
  ],
  [
    'each report of a dispute is booked as new money',
    /the newest report on a dispute is booked|a payment counts what was taken back|posted twice/,
    {
      applyReversal(checkout, payment, known, report, ids, now) {
        const nothing = known && { ...known, taken: 0, fee: 0 };
        return real.applyReversal(checkout, payment, nothing, report, ids, now);
      },
    },
  ],
  [
    'a refund at the provider is recorded beyond the rest',
    /no more than is left is recorded/,
    {
      recordForeignRefund(checkout, payment, made, now) {
        const amount = Math.min(made.amount, leftOf(payment).total);
        return real.recordForeignRefund(checkout, payment, { ...made, amount }, now);
      },
    },
  ],
  [
    'a late failure is not booked',
    /a failed refund reverses its postings/,
    changing('applyRefundReport', (decision, _, { status }) =>
      status === 'succeeded' ? without(decision, 'post') : decision,
    ),
  ],
  [
    'a deduction is not stored',
    /the same report again changes nothing|posted twice|is booked when the provider deducts it/,
    {
      applyRefundReport: (checkout, refund, report, now) =>
        real.applyRefundReport(checkout, { ...refund, deducted: false }, report, now),
    },
  ],
  [
    'a late failure has the postings of an early failure',
    /a failed refund reverses its postings/,
    changing('applyRefundReport', (decision, checkout, refund, report, now) => {
      if (refund.status !== 'succeeded' || decision.outcome === 'ignored') return decision;
      const early = real.applyRefundReport(checkout, { ...refund, status: 'pending', deducted: false }, report, now);
      const posts = early.effects.filter(({ type }) => type === 'post');
      return { ...decision, effects: [...without(decision, 'post').effects, ...posts] };
    }),
  ],
  [
    'each share of a refund is rounded by itself',
    /has a balance of zero|no share is refunded twice/,
    changing('requestRefund', (decision, checkout, order, now) => {
      const [effect] = decision.effects;
      if (effect?.type !== 'refund_requested') return decision;
      // The decision sees no earlier refund.
      const nothing = { refunded: 0, refundPending: 0, refundShares: { gateway: 0, cost: 0 } };
      const payments = checkout.payments.map((one) => ({ ...one, ...nothing }));
      const { amount } = effect.refund;
      return { ...decision, effects: real.requestRefund({ ...checkout, payments }, { ...order, amount }, now).effects };
    }),
  ],
  [
    'the ledger status stays refunded after a late failure of a full refund',
    /Expected|true !== false/,
    changing('applyRefundReport', (decision, checkout) => {
      if (decision.outcome === 'ignored') return decision;
      const payments = decision.next.payments.map((one, index) =>
        checkout.payments[index]!.ledgerStatus === 'refunded' ? { ...one, ledgerStatus: 'refunded' as const } : one,
      );
      return { ...decision, next: { ...decision.next, payments } };
    }),
  ],
];

for (const [fault, expectedMessage, decisions] of FAULTS) {
  test(`the invariant checks detect an injected fault: ${fault}`, () => {
    assert.throws(
      () =>
        fc.assert(
          fc.property(anyHistory, (history) => walk({ ...real, ...decisions }, history)),
          { numRuns: 1000, seed: 3, endOnFailure: true },
        ),
      (error: Error) => expectedMessage.test(`${error.message} ${String(error.cause)}`),
    );
  });
}
