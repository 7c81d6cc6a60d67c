import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import type { Decision } from '../../src/domain/checkout-state.ts';
import { REFUSAL_WEIGHT, type RouteOutcome, outcomesOf } from '../../src/domain/route-outcome.ts';
import { type Failure, type ProviderFault, TIMED_OUT } from '../../src/domain/failure.ts';
import type { Checkout, Payment } from '../../src/domain/records.ts';
import { requestRefund } from '../../src/domain/refund-decisions.ts';
import { type Decisions, type History, type Step, DECISIONS as real, walk } from '../fixtures/checkout-history.ts';
import { anyFailure } from '../fixtures/failures.ts';
import { MINUTE, NOW, SECOND, aCheckout, aRoute, anAttempt, idOf } from '../fixtures/checkout-records.ts';

const LATER = NOW + 20 * SECOND;

describe('what an attempt teaches about its route', () => {
  test('nothing is learnt of a checkout that did not change, nor of an attempt that has begun', () => {
    const started = begun();
    assert.deepEqual(outcomesOf(started, started, LATER), []);
    assert.deepEqual(outcomesOf(aCheckout(), started, LATER), []);
  });

  test('a provider that takes the payment over is noted, and counts for nothing', () => {
    const [outcome, ...others] = learnt(begun(), (checkout) => accept(checkout));
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
      created: LATER,
    });
  });

  test('failing over teaches of the route that refused only', () => {
    const failedOver = learnt(begun(), (checkout) =>
      real.rejectHandoff(checkout, idOf('pay', 1), { retry: anAttempt(2), mayArrive: true, reason: null }, LATER),
    );
    assert.deepEqual(told(failedOver), ['handoff refused 0/2/0']);
    assert.equal(failedOver[0]!.paymentId, idOf('pay', 1));
  });

  test('a paid payment is one success, timed from the start of the attempt', () => {
    const [outcome] = learnt(begun(), (checkout) => hear(checkout, 'paid'));
    assert.deepEqual(told([outcome!]), ['result paid 1/0/0']);
    assert.equal(outcome!.paidAfterMs, 20 * SECOND);
  });

  test('money that came before its own attempt, by a clock that was set back, took a millisecond', () => {
    const [outcome] = learnt(begun(), (checkout) => hear(checkout, 'paid'), NOW - MINUTE);
    assert.equal(outcome!.paidAfterMs, 1);
  });

  test('a payment that is never confirmed counts against the route, unless its provider knows better', () => {
    const at = NOW + 24 * 60 * MINUTE;
    const timedOut = (failure?: Failure) =>
      told(learnt(begun(), (checkout) => real.applyElapsedTime(checkout, at, failure), at));
    assert.deepEqual(timedOut(), ['result failed 0/1/0']);
    assert.deepEqual(timedOut({ ...TIMED_OUT, code: 'amount_mismatch' }), ['result failed 0/1/0']);
    assert.deepEqual(timedOut({ ...TIMED_OUT, source: 'buyer' }), ['result neutral 0/0/1']);
  });

  test('late money takes back what was counted, and is not timed', () => {
    const after = (fail: (checkout: Checkout) => Decision<string>) =>
      learnt(fail(begun()).next, (checkout) => hear(checkout, 'paid'));
    assert.deepEqual(told(after((checkout) => refuse(checkout))), ['late paid 1/-2/0']);
    assert.deepEqual(told(after((checkout) => hear(checkout, 'failed', 'route'))), ['late paid 1/-1/0']);
    const [late] = after((checkout) => hear(checkout, 'failed', 'issuer'));
    assert.deepEqual(told([late!]), ['late paid 1/0/-1']);
    assert.equal(late!.paidAfterMs, null);
  });

  test('money for a session that another payment paid is a success of its route all the same', () => {
    const twice = real.startAttempt(real.abandonAttempt(taken(), NOW).next, anAttempt(2), NOW).next;
    const paid = hear(twice, 'paid', null, 2).next;
    assert.deepEqual(told(learnt(paid, (checkout) => hear(checkout, 'paid'))), ['late paid 1/0/-1']);
  });

  test('money for an older attempt supersedes the newer one, of whose route it says nothing', () => {
    const twice = real.startAttempt(real.abandonAttempt(taken(), NOW).next, anAttempt(2), NOW).next;
    const outcomes = learnt(twice, (checkout) => hear(checkout, 'paid'));
    assert.deepEqual(told(outcomes), ['late paid 1/0/-1', 'result neutral 0/0/1']);
    assert.deepEqual(
      outcomes.map(({ paymentId }) => paymentId),
      [idOf('pay', 1), idOf('pay', 2)],
    );
  });

  test('a payment that its provider speaks of first has a result and no handoff', () => {
    const [outcome] = learnt(aCheckout(), (checkout) => hear(checkout, 'paid', null, null));
    assert.deepEqual(told([outcome!]), ['result paid 1/0/0']);
    assert.equal(outcome!.paidAfterMs, null, 'nobody knows when it began');
    assert.deepEqual(told(learnt(aCheckout(), (checkout) => hear(checkout, 'failed', 'buyer', null))), [
      'result neutral 0/0/1',
    ]);
  });

  const notedAt = NOW + 24 * 60 * MINUTE;
  const silent = unclear(begun()).next;
  const refused = refuse(begun()).next;
  const left = real.abandonCheckout(silent, LATER).next;
  const lost = lose(begun()).next;
  const paid = hear(begun(), 'paid').next;
  const order = { paymentId: idOf('pay', 1), refundId: idOf('ref', 1), amount: null, reason: null };
  const pays = (checkout: Checkout) => hear(checkout, 'paid');
  const fails = (source: ProviderFault | null) => (checkout: Checkout) => hear(checkout, 'failed', source);
  const givesUp = (checkout: Checkout) => real.abandonCheckout(checkout, LATER);
  const LESSONS: [name: string, before: Checkout, decide: (checkout: Checkout) => Decision<string>, told: string[]][] =
    [
      [
        'a refused handoff counts for two failures, and has no other result',
        begun(),
        refuse,
        ['handoff refused 0/2/0'],
      ],
      ['a failure of the route counts against it', begun(), fails('route'), ['result failed 0/1/0']],
      ['a failure without a cause counts against the route', begun(), fails(null), ['result failed 0/1/0']],
      ['a failure of the issuer does not', begun(), fails('issuer'), ['result neutral 0/0/1']],
      ['a failure of the buyer does not', begun(), fails('buyer'), ['result neutral 0/0/1']],
      ['nor does a buyer who leaves', taken(), (on) => real.abandonAttempt(on, LATER), ['result neutral 0/0/1']],
      ['or gives up', begun(), givesUp, ['result neutral 0/0/1']],
      ['a refusal stands though the provider names the payment later', refused, accept, []],
      ['and though it pays before', pays(refused).next, accept, []],
      ['a payment that was taken over is not refused any more', taken(), refuse, []],
      ['another failure is noted as taken over late', givesUp(begun()).next, accept, ['handoff accepted 0/0/0']],
      ['a handoff without a clear answer counts as refused at once', begun(), unclear, ['unclear refused 0/2/0']],
      ['and once', silent, unclear, []],
      ['also if it is refused after that', silent, refuse, ['handoff refused 0/0/0']],
      ['or lost', silent, lose, ['handoff refused 0/0/0']],
      ['a refusal after silence stands', refuse(silent).next, accept, []],
      ['until the money arrives', refuse(silent).next, pays, ['late paid 1/-2/0']],
      ['a report takes back the count of the silence: accepted', silent, accept, ['handoff accepted 0/-2/0']],
      ['a report takes back the count of the silence: paid', silent, pays, ['result paid 1/-2/0']],
      ['a report takes back the count of the silence: failed', silent, fails('route'), ['result failed 0/-1/0']],
      ['a report takes back the count of the silence: neutral', silent, fails('issuer'), ['result neutral 0/-2/1']],
      ['but only the first one does', accept(silent).next, pays, ['result paid 1/0/0']],
      ['silence to the end stands if the buyer gives up', silent, givesUp, []],
      ['silence to the end stands after a timeout', silent, (on) => real.applyElapsedTime(on, notedAt), []],
      ['a late handoff does not take it back', left, accept, ['handoff accepted 0/0/0']],
      ['late money does', left, pays, ['late paid 1/-2/0']],
      ['also after a late handoff', accept(left).next, pays, ['late paid 1/-2/0']],
      ['a payment that was never handed off counts for nothing', begun(), lose, ['handoff neutral 0/0/0']],
      ['nor does its late handoff', lost, accept, []],
      ['but its money does', lost, pays, ['late paid 1/0/0']],
      ['a payment that was taken over is not lost', taken(), lose, []],
      ['a settlement teaches nothing', paid, (on) => real.recordSettlement(on, idOf('pay', 1), LATER), []],
      [
        'a refund teaches nothing',
        paid,
        (on) => requestRefund(on, { ...order, idempotencyKey: null, requestHash: null }, LATER),
        [],
      ],
    ];
  for (const [name, before, decide, expected] of LESSONS) {
    test(name, () => assert.deepEqual(told(learnt(before, decide)), expected));
  }

  test('every outcome says whether the attempt was a probe', () => {
    const probing = real.startAttempt(aCheckout(), { ...anAttempt(1, aRoute({ id: 'other' })), probe: true }, NOW).next;
    for (const decide of [accept, refuse, (checkout: Checkout) => hear(checkout, 'paid')]) {
      for (const { probe, routeId } of learnt(probing, decide)) assert.deepEqual([probe, routeId], [true, 'other']);
    }
  });
});

function begun(): Checkout {
  return real.startAttempt(aCheckout(), anAttempt(1), NOW).next;
}

/** Begun, and at its provider. */
function taken(): Checkout {
  return accept(begun()).next;
}

function unclear(checkout: Checkout) {
  return real.markHandoffUncertain(checkout, idOf('pay', 1));
}

function lose(checkout: Checkout) {
  return real.failUnknownHandoff(checkout, idOf('pay', 1), NOW);
}

function accept(checkout: Checkout) {
  return real.acceptHandoff(checkout, { paymentId: idOf('pay', 1), reference: 'ref_1', url: null });
}

function refuse(checkout: Checkout) {
  return real.rejectHandoff(checkout, idOf('pay', 1), { retry: undefined, mayArrive: false, reason: null }, NOW);
}

/** The provider speaks of the payment with that number; null names the session only. */
function hear(
  checkout: Checkout,
  status: 'paid' | 'failed',
  failureSource: ProviderFault | null = null,
  number: number | null = 1,
) {
  const paymentId = number === null ? null : idOf('pay', number);
  const failure = failureSource && { code: 'declined' as const, source: failureSource, reason: null };
  const said = { paymentId, status, amount: 4999, currency: 'USD', txHash: null, failure };
  const origin = { provider: 'sandbox', environment: 'sandbox' } as const;
  return real.applyProviderEvent(checkout, { ...said, ...origin }, anAttempt(9), LATER);
}

function learnt(before: Checkout, decide: (checkout: Checkout) => Decision<string>, now = LATER): RouteOutcome[] {
  return outcomesOf(before, decide(before).next, now);
}

/** `result paid 1/0/0`: stage, result and what it counts for. */
function told(outcomes: RouteOutcome[]): string[] {
  return outcomes.map(
    ({ stage, result, successes, failures, neutrals }) => `${stage} ${result} ${successes}/${failures}/${neutrals}`,
  );
}

type Learn = typeof outcomesOf;

const somePayment = fc.integer({ min: -1, max: 4 });
const anyStep: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ type: fc.constant('start' as const), route: fc.nat(2) }) },
  { weight: 4, arbitrary: fc.record({ type: fc.constant('accept' as const), payment: somePayment }) },
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constant('refuse' as const),
      payment: somePayment,
      failover: fc.boolean(),
      mayArrive: fc.boolean(),
    }),
  },
  { weight: 4, arbitrary: fc.record({ type: fc.constantFrom('unclear', 'lose'), payment: somePayment }) },
  {
    weight: 8,
    arbitrary: fc.record({
      type: fc.constant('event' as const),
      payment: somePayment,
      status: fc.constantFrom('provider_pending' as const, 'paid' as const, 'failed' as const),
      wrong: fc.constant('nothing' as const),
      txHash: fc.constant(null),
      failure: anyFailure,
    }),
  },
  { weight: 2, arbitrary: fc.record({ type: fc.constantFrom('abandon' as const, 'abandonCheckout' as const) }) },
  {
    weight: 2,
    arbitrary: fc.record({ type: fc.constant('applyElapsedTime' as const), jump: fc.constant('at' as const) }),
  },
  {
    weight: 1,
    arbitrary: fc.oneof(
      fc.record({ type: fc.constant('settle' as const), payment: somePayment }),
      fc.record({ type: fc.constant('refund' as const), payment: somePayment, share: fc.constantFrom(0, 8) }),
    ),
  },
);
const anyHistory: fc.Arbitrary<History> = fc.record({
  amount: fc.constant(4999),
  rates: fc.constant({ buyerFeeRate: 5_000, gatewayFeeRate: 29_000, providerCostRate: 19_000 }),
  steps: fc.array(anyStep, { minLength: 1, maxLength: 20, size: 'max' }),
});

/** Walks a history and holds, after every step, what its payments have taught against what became of them. */
function holds(history: History, learn: Learn): RouteOutcome[] {
  const kept: RouteOutcome[] = [];
  for (const [before, next] of stepsOf(history)) {
    kept.push(...learn(before, next, LATER));
    for (const payment of next.payments) {
      assertLearnt(
        payment,
        kept.filter(({ paymentId }) => paymentId === payment.id),
      );
    }
  }
  return kept;
}

/** The checkout before and after each decision that changed it. */
function stepsOf(history: History): [before: Checkout, next: Checkout][] {
  const steps: [Checkout, Checkout][] = [];
  const noting = Object.entries(real as unknown as Record<string, (checkout: Checkout) => Decision<string>>).map(
    ([name, decide]): [string, typeof decide] => [
      name,
      (checkout, ...rest) => {
        const decision = decide(checkout, ...rest);
        if (decision.next !== checkout) steps.push([checkout, decision.next]);
        return decision;
      },
    ],
  );
  walk(Object.fromEntries(noting) as unknown as Decisions, history);
  // The walk also asks what would be, and freezes what it goes on with.
  return steps.filter(([, next]) => Object.isFrozen(next));
}

function assertLearnt(payment: Payment, outcomes: RouteOutcome[]): void {
  const stages = outcomes.map(({ stage }) => stage);
  assert.equal(new Set(stages).size, stages.length, `one outcome per stage: ${told(outcomes).join(', ')}`);
  const sum = (name: 'successes' | 'failures' | 'neutrals') =>
    outcomes.reduce((total, outcome) => total + outcome[name], 0);
  assert.deepEqual(
    [sum('successes'), sum('failures'), sum('neutrals')],
    expectedCounts(payment),
    `${payment.status} ${payment.failureCode} ${payment.failureSource}: ${told(outcomes).join(', ')}`,
  );
  if (payment.status === 'pending') assert.ok(!stages.some((stage) => stage === 'result' || stage === 'late'));
  for (const { result, paidAfterMs, routeId } of outcomes) {
    assert.equal(routeId, payment.route.id);
    if (paidAfterMs !== null) assert.equal(result, 'paid', 'only money is timed');
  }
}

function expectedCounts({ status, failureCode, failureSource, handoffUncertain: handoffUnclear }: Payment): number[] {
  if (status === 'paid') return [1, 0, 0];
  if (handoffUnclear) return [0, REFUSAL_WEIGHT, 0];
  if (status === 'pending' || failureSource === 'gateway') return [0, 0, 0];
  if (failureCode === 'handoff_refused') return [0, REFUSAL_WEIGHT, 0];
  return failureSource === 'route' ? [0, 1, 0] : [0, 0, 1];
}

describe('over every history', () => {
  const RUNS = 1500;

  test('the outcomes of a payment add up to what became of it, one per stage', () => {
    fc.assert(
      fc.property(anyHistory, (history) => void holds(history, outcomesOf)),
      { numRuns: RUNS },
    );
  });

  test('every outcome there is was met: the walk above is not idle', () => {
    const met = new Set<string>();
    fc.assert(
      fc.property(anyHistory, (history) => {
        for (const [before, next] of stepsOf(history)) {
          for (const what of told(outcomesOf(before, next, LATER))) met.add(what);
        }
      }),
      { numRuns: RUNS, seed: 1 },
    );
    assert.deepEqual([...met].toSorted(), [
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
    (change: (outcome: RouteOutcome) => RouteOutcome[]): Learn =>
    (...args) =>
      outcomesOf(...args).flatMap(change);
  const FAULTS: [fault: string, learn: Learn][] = [
    [
      'late money takes nothing back',
      changedTo((one) => [one.stage === 'late' ? { ...one, failures: 0, neutrals: 0 } : one]),
    ],
    ['late money counts as if it were in time', changedTo((one) => [{ ...one, failures: Math.max(0, one.failures) }])],
    [
      'silence stays counted',
      changedTo((one) => [one.stage === 'late' ? one : { ...one, failures: Math.max(0, one.failures) }]),
    ],
    ['silence counts for nothing', changedTo((one) => (one.stage === 'unclear' ? [] : [one]))],
    [
      'a silence that ends in a refusal counts twice',
      changedTo((one) => [one.stage === 'handoff' && one.result === 'refused' ? { ...one, failures: 2 } : one]),
    ],
    ['buyers count against the route', changedTo((one) => [{ ...one, failures: one.failures + one.neutrals }])],
    ['a refusal counts for one', changedTo((one) => [one.result === 'refused' ? { ...one, failures: 1 } : one])],
    [
      'a refusal is a result too',
      changedTo((one) => (one.result === 'refused' ? [one, { ...one, stage: 'result' }] : [one])),
    ],
    [
      'a refusal is noted as taken over when it is named late',
      (before, next, now) => {
        const forgetful = { ...before, payments: before.payments.map((each) => ({ ...each, failureCode: null })) };
        return outcomesOf(before === next ? next : forgetful, next, now);
      },
    ],
    ['what was learnt is learnt again', (before, next, now) => outcomesOf({ ...before, payments: [] }, next, now)],
    ['attempts that a newer one supersedes are forgotten', (...args) => outcomesOf(...args).slice(0, 1)],
  ];

  for (const [fault, learn] of FAULTS) {
    test(`it is found where ${fault}`, () => {
      const { failed } = fc.check(
        fc.property(anyHistory, (history) => void holds(history, learn)),
        { numRuns: RUNS, seed: 42, endOnFailure: true },
      );
      assert.ok(failed);
    });
  }
});
