import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import type { Decision } from '../../src/domain/checkout-state.ts';
import { REFUSAL_WEIGHT, type RouteOutcome, outcomesOf } from '../../src/domain/route-outcome.ts';
import { type Failure, type ProviderFault, TIMED_OUT } from '../../src/domain/failure.ts';
import type { Checkout, Payment } from '../../src/domain/records.ts';
import { anyOf, step } from '../fixtures/any-history.ts';
import { type Decisions, type History, DECISIONS as real, walk } from '../fixtures/checkout-history.ts';
import { anyFailure } from '../fixtures/failures.ts';
import { MINUTE, NOW, SECOND, aCheckout, aRoute, anAttempt, idOf } from '../fixtures/checkout-records.ts';
import { ONLY_IN_FULL_RUN, runs } from '../support/for-all.ts';

const LATER = NOW + 20 * SECOND;

describe('route outcomes of a decision', () => {
  test('an unchanged checkout and a started attempt have no outcome', () => {
    const started = startedCheckout();
    assert.deepEqual(outcomesOf(started, started, LATER), []);
    assert.deepEqual(outcomesOf(aCheckout(), started, LATER), []);
  });

  test('an accepted handoff is recorded with no success, failure or neutral count', () => {
    const [outcome, ...others] = outcomesAfter(startedCheckout(), (checkout) => accept(checkout));
    assert.deepEqual(others, []);
    assert.deepEqual(outcome, {
      paymentId: idOf('pay', 1),
      stage: 'handoff',
      environment: 'sandbox',
      routeId: 'sandbox_card',
      result: 'accepted',
      successes: 0,
      failures: 0,
      neutrals: 0,
      probe: false,
      paidAfterMs: null,
      failure: null,
      contexts: null,
      created: LATER,
    });
  });

  test('a failover has an outcome only for the route that refused the handoff', () => {
    const failedOver = outcomesAfter(startedCheckout(), (checkout) =>
      real.rejectHandoff(checkout, idOf('pay', 1), { retry: anAttempt(2), mayArrive: true, reason: null }, LATER),
    );
    assert.deepEqual(textsOf(failedOver), ['handoff refused 0/2/0']);
    assert.equal(failedOver[0]!.paymentId, idOf('pay', 1));
  });

  test('a paid payment is one success, with the time since the start of the attempt', () => {
    const [outcome] = outcomesAfter(startedCheckout(), (checkout) => report(checkout, 'paid'));
    assert.deepEqual(textsOf([outcome!]), ['result paid 1/0/0']);
    assert.equal(outcome!.paidAfterMs, 20 * SECOND);
  });

  test('an outcome counts for the card of its payment, and a reversed failure for the card with which it was counted', () => {
    const card = { country: 'DE', group: 'visa debit' };
    const withCard = (checkout: Checkout) => ({
      ...checkout,
      payments: checkout.payments.map((each) => ({ ...each, card })),
    });
    const countries = (outcomes: RouteOutcome[]) =>
      outcomes.map(({ failures, contexts }) => [failures, contexts?.['country']]);
    const paid = outcomesAfter(startedCheckout(), (checkout) => ({
      ...report(checkout, 'paid'),
      next: withCard(report(checkout, 'paid').next),
    }));
    assert.deepEqual(countries(paid), [[0, 'DE']]);
    const failed = report(startedCheckout(), 'failed').next;
    const late = (before: Checkout) => outcomesOf(before, withCard(report(before, 'paid').next), LATER);
    assert.deepEqual(countries(late(failed)), [[-1, undefined]]);
    assert.deepEqual(countries(late(withCard(failed))), [[-1, 'DE']]);
  });

  test('the time to payment is at least one millisecond, even if the clock was set back', () => {
    const [outcome] = outcomesAfter(startedCheckout(), (checkout) => report(checkout, 'paid'), NOW - MINUTE);
    assert.equal(outcome!.paidAfterMs, 1);
  });

  test('a timed-out payment is a failure of the route unless the provider reports a fault of the buyer', () => {
    const at = NOW + 24 * 60 * MINUTE;
    const timedOut = (failure?: Failure) =>
      textsOf(outcomesAfter(startedCheckout(), (checkout) => real.applyElapsedTime(checkout, at, failure), at));
    assert.deepEqual(timedOut(), ['result failed 0/1/0']);
    assert.deepEqual(timedOut({ ...TIMED_OUT, code: 'amount_mismatch' }), ['result failed 0/1/0']);
    assert.deepEqual(timedOut({ ...TIMED_OUT, source: 'buyer' }), ['result neutral 0/0/1']);
  });

  test('a late paid report reverses the earlier count and has no time to payment', () => {
    const after = (fail: (checkout: Checkout) => Decision<string>) =>
      outcomesAfter(fail(startedCheckout()).next, (checkout) => report(checkout, 'paid'));
    assert.deepEqual(textsOf(after((checkout) => refuse(checkout))), ['late paid 1/-2/0']);
    assert.deepEqual(textsOf(after((checkout) => report(checkout, 'failed', 'route'))), ['late paid 1/-1/0']);
    const [late] = after((checkout) => report(checkout, 'failed', 'issuer'));
    assert.deepEqual(textsOf([late!]), ['late paid 1/-1/0']);
    assert.equal(late!.paidAfterMs, null);
    assert.equal(late!.failure, 'issuer/declined');
  });

  test('a payment created by a provider report has a result outcome and no handoff outcome', () => {
    const [outcome] = outcomesAfter(aCheckout(), (checkout) => report(checkout, 'paid', null, null));
    assert.deepEqual(textsOf([outcome!]), ['result paid 1/0/0']);
    assert.equal(outcome!.paidAfterMs, null, 'the start of the attempt is unknown');
    assert.deepEqual(textsOf(outcomesAfter(aCheckout(), (checkout) => report(checkout, 'failed', 'buyer', null))), [
      'result neutral 0/0/1',
    ]);
  });

  test('every outcome records whether the attempt was a probe', () => {
    const probing = real.startAttempt(aCheckout(), { ...anAttempt(1, aRoute({ id: 'other' })), probe: true }, NOW).next;
    for (const decide of [accept, refuse, (checkout: Checkout) => report(checkout, 'paid')]) {
      for (const { probe, routeId } of outcomesAfter(probing, decide))
        assert.deepEqual([probe, routeId], [true, 'other']);
    }
  });
});

function startedCheckout(): Checkout {
  return real.startAttempt(aCheckout(), anAttempt(1), NOW).next;
}

function accept(checkout: Checkout) {
  return real.acceptHandoff(checkout, { paymentId: idOf('pay', 1), reference: 'ref_1', url: null });
}

function refuse(checkout: Checkout) {
  return real.rejectHandoff(checkout, idOf('pay', 1), { retry: undefined, mayArrive: false, reason: null }, NOW);
}

/** Applies a report about the payment with that number; null is a report without a payment id. */
function report(
  checkout: Checkout,
  status: 'paid' | 'failed',
  failureSource: ProviderFault | null = null,
  number: number | null = 1,
) {
  const paymentId = number === null ? null : idOf('pay', number);
  const failure = failureSource && { code: 'declined' as const, source: failureSource, reason: null };
  const event = { paymentId, status, amount: 4999, currency: 'USD', txHash: null, failure };
  const origin = { provider: 'sandbox', environment: 'sandbox' } as const;
  return real.applyProviderEvent(checkout, { ...event, ...origin }, anAttempt(9), LATER);
}

function outcomesAfter(
  before: Checkout,
  decide: (checkout: Checkout) => Decision<string>,
  now = LATER,
): RouteOutcome[] {
  return outcomesOf(before, decide(before).next, now);
}

/** Outcomes as texts such as `result paid 1/0/0`: stage, result, successes/failures/neutrals. */
function textsOf(outcomes: RouteOutcome[]): string[] {
  return outcomes.map(
    ({ stage, result, successes, failures, neutrals }) => `${stage} ${result} ${successes}/${failures}/${neutrals}`,
  );
}

type OutcomesOf = typeof outcomesOf;

const payment = fc.integer({ min: -1, max: 4 });
const anyStep = anyOf(
  [5, step('start', { route: fc.nat(2) })],
  [4, step('accept', { payment })],
  [3, step('refuse', { payment, failover: fc.boolean(), mayArrive: fc.boolean() })],
  [4, step(['markUncertain', 'failUnknown'], { payment })],
  [
    8,
    step('event', {
      payment,
      status: fc.constantFrom('provider_pending', 'paid', 'failed'),
      wrong: fc.constant('nothing'),
      txHash: fc.constant(null),
      failure: anyFailure,
    }),
  ],
  [2, step(['abandon', 'abandonCheckout'])],
  [2, step('applyElapsedTime', { jump: fc.constant('at') })],
  [1, step('settle', { payment })],
  [1, step('refund', { payment, share: fc.constantFrom(0, 8) })],
);
const anyHistory: fc.Arbitrary<History> = fc.record({
  amount: fc.constant(4999),
  rates: fc.constant({ buyerFeeRate: 5_000, gatewayFeeRate: 29_000, providerCostRate: 19_000 }),
  steps: fc.array(anyStep, { minLength: 1, maxLength: 20, size: 'max' }),
});

/** Checks after every step of a history that the outcomes of each payment agree with its state. */
function checkHistory(history: History, computeOutcomes: OutcomesOf): RouteOutcome[] {
  const outcomes: RouteOutcome[] = [];
  for (const [before, next] of stepsOf(history)) {
    outcomes.push(...computeOutcomes(before, next, LATER));
    for (const payment of next.payments) {
      assertOutcomes(
        payment,
        outcomes.filter(({ paymentId }) => paymentId === payment.id),
      );
    }
  }
  return outcomes;
}

/** The checkout before and after each decision that changed it. */
function stepsOf(history: History): [before: Checkout, next: Checkout][] {
  const steps: [Checkout, Checkout][] = [];
  const recordingDecisions = Object.entries(
    real as unknown as Record<string, (checkout: Checkout) => Decision<string>>,
  ).map(([name, decide]): [string, typeof decide] => [
    name,
    (checkout, ...rest) => {
      const decision = decide(checkout, ...rest);
      if (decision.next !== checkout) steps.push([checkout, decision.next]);
      return decision;
    },
  ]);
  walk(Object.fromEntries(recordingDecisions) as unknown as Decisions, history);
  // `walk` also makes decisions that it discards; it freezes only the checkouts that it continues with.
  return steps.filter(([, next]) => Object.isFrozen(next));
}

function assertOutcomes(payment: Payment, outcomes: RouteOutcome[]): void {
  const stages = outcomes.map(({ stage }) => stage);
  assert.equal(new Set(stages).size, stages.length, `one outcome per stage: ${textsOf(outcomes).join(', ')}`);
  const sum = (name: 'successes' | 'failures' | 'neutrals') =>
    outcomes.reduce((total, outcome) => total + outcome[name], 0);
  assert.deepEqual(
    [sum('successes'), sum('failures'), sum('neutrals')],
    expectedCounts(payment),
    `${payment.status} ${payment.failureCode} ${payment.failureSource}: ${textsOf(outcomes).join(', ')}`,
  );
  if (payment.status === 'pending') assert.ok(!stages.some((stage) => ['result', 'end', 'late'].includes(stage)));
  const failures = outcomes.flatMap(({ failure }) => failure ?? []);
  if (payment.status === 'pending') assert.deepEqual(failures, []);
  if (payment.status === 'failed') assert.deepEqual(failures, [`${payment.failureSource}/${payment.failureCode}`]);
  // Late money names the failure that it reverses.
  if (payment.status === 'paid') {
    assert.deepEqual(failures, stages.includes('late') ? [failures[0], failures[0]] : []);
  }
  for (const { result, paidAfterMs, routeId } of outcomes) {
    assert.equal(routeId, payment.route.id);
    if (paidAfterMs !== null) assert.equal(result, 'paid', 'only a paid outcome has a time to payment');
  }
}

function expectedCounts({ status, failureCode, failureSource, handoffUncertain }: Payment): number[] {
  if (status === 'paid') return [1, 0, 0];
  if (handoffUncertain) return [0, REFUSAL_WEIGHT, 0];
  if (status === 'pending' || failureSource === 'gateway') return [0, 0, 0];
  if (failureCode === 'handoff_refused') return [0, REFUSAL_WEIGHT, 0];
  return failureSource === 'buyer' ? [0, 0, 1] : [0, 1, 0];
}

describe('route outcomes over generated histories', () => {
  const RUNS = 700;

  test('the outcomes of a payment add up to its final state, with at most one outcome per stage', () => {
    fc.assert(
      fc.property(anyHistory, (history) => void checkHistory(history, outcomesOf)),
      { numRuns: runs(RUNS) },
    );
  });

  test('the generated histories produce every kind of outcome', ONLY_IN_FULL_RUN, () => {
    const met = new Set<string>();
    fc.assert(
      fc.property(anyHistory, (history) => {
        for (const [before, next] of stepsOf(history)) {
          for (const text of textsOf(outcomesOf(before, next, LATER))) met.add(text);
        }
      }),
      { numRuns: RUNS, seed: 1 },
    );
    assert.deepEqual([...met].toSorted(), [
      'end neutral 0/0/0',
      'handoff accepted 0/-2/0',
      'handoff accepted 0/0/0',
      'handoff neutral 0/0/0',
      'handoff refused 0/0/0',
      'handoff refused 0/2/0',
      'late paid 1/-1/0',
      'late paid 1/-2/0',
      'late paid 1/0/-1',
      'late paid 1/0/0',
      'result failed 0/-1/0',
      'result failed 0/1/0',
      'result neutral 0/-2/1',
      'result neutral 0/0/1',
      'result paid 1/-2/0',
      'result paid 1/0/0',
      'unclear refused 0/2/0',
    ]);
  });

  const changedTo =
    (change: (outcome: RouteOutcome) => RouteOutcome[]): OutcomesOf =>
    (...args) =>
      outcomesOf(...args).flatMap(change);
  const FAULTS: [fault: string, computeOutcomes: OutcomesOf][] = [
    [
      'late money reverses no earlier count',
      changedTo((one) => [one.stage === 'late' ? { ...one, failures: 0, neutrals: 0 } : one]),
    ],
    ['no report reverses an earlier failure', changedTo((one) => [{ ...one, failures: Math.max(0, one.failures) }])],
    [
      'only late money reverses the count of an uncertain handoff',
      changedTo((one) => [one.stage === 'late' ? one : { ...one, failures: Math.max(0, one.failures) }]),
    ],
    ['an uncertain handoff is not counted', changedTo((one) => (one.stage === 'unclear' ? [] : [one]))],
    [
      'an uncertain handoff that is then refused counts twice',
      changedTo((one) => [one.stage === 'handoff' && one.result === 'refused' ? { ...one, failures: 2 } : one]),
    ],
    [
      'neutral outcomes count as failures of the route',
      changedTo((one) => [{ ...one, failures: one.failures + one.neutrals }]),
    ],
    [
      'a refusal counts as one failure instead of two',
      changedTo((one) => [one.result === 'refused' ? { ...one, failures: 1 } : one]),
    ],
    [
      'a refusal has a result outcome as well',
      changedTo((one) => (one.result === 'refused' ? [one, { ...one, stage: 'result' }] : [one])),
    ],
    [
      'a refused handoff is recorded as accepted when a late acceptance arrives',
      (before, next, now) => {
        const forgetful = { ...before, payments: before.payments.map((each) => ({ ...each, failureCode: null })) };
        return outcomesOf(before === next ? next : forgetful, next, now);
      },
    ],
    ['earlier outcomes are returned again', (before, next, now) => outcomesOf({ ...before, payments: [] }, next, now)],
    ['an uncertain handoff ends without a failure', changedTo((one) => (one.stage === 'end' ? [] : [one]))],
    ['superseded attempts have no outcome', (...args) => outcomesOf(...args).slice(0, 1)],
  ];

  for (const [fault, computeOutcomes] of FAULTS) {
    test(`the check detects an injected fault: ${fault}`, () => {
      const { failed } = fc.check(
        fc.property(anyHistory, (history) => void checkHistory(history, computeOutcomes)),
        { numRuns: RUNS, seed: 42, endOnFailure: true },
      );
      assert.ok(failed);
    });
  }
});
