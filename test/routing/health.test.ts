import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { RouteHealth } from '../../src/domain/route.ts';
import { canProbe, leaseProbe } from '../../src/routing/health-probe.ts';
import { type HealthRecord, entered } from '../../src/routing/health-record.ts';
import type { HealthSignals } from '../../src/routing/health-signals.ts';
import { MINUTE, SECOND, idOf } from '../fixtures/checkout-records.ts';
import { NOON, NO_TIMES, degraded, evaluate, live, results, standby } from '../fixtures/health-records.ts';

type Evaluated = [record: HealthRecord, signals?: Partial<HealthSignals>];
type Case = [title: string, moves: Evaluated[], stays: Evaluated[]];

/** The state to which an evaluation moves a record; undefined if the record stays in its state. */
function move(...[record, signals]: Evaluated): RouteHealth | undefined {
  return evaluate(record, signals)?.transition?.to;
}

function testMoves(subject: string, to: RouteHealth, cases: Case[]): void {
  for (const [title, moves, stays] of cases) {
    test(`${subject} ${title}`, () => {
      for (const evaluated of moves) assert.equal(move(...evaluated), to, JSON.stringify(evaluated));
      for (const evaluated of stays) assert.equal(move(...evaluated), undefined, JSON.stringify(evaluated));
    });
  }
}

const at = (now: number, recent = '', end = now) => ({ now, recent: results(recent, end) });
const fast = (mean: number, n = 30) => ({ fast: { mean, n } });
const latency = (p95SecondsFast: number, nFast = 20) => ({
  latency: { ...NO_TIMES, p95SecondsFast, p95SecondsSlow: 20, nFast },
});
/** A route whose payments take 12 hours: every window is then at least 48 hours. */
const slowAt = (now: number) => ({ ...at(now), latency: { ...NO_TIMES, medianSeconds: 12 * 3600 } });
const TWO_DAYS = 48 * 60 * MINUTE;
const peers = (routesOfKind: number, inLowSuccessStandby: number, usable: number) => ({
  peers: { routesOfKind, inLowSuccessStandby, usable },
});

describe('a live route becomes degraded', () => {
  const alone = { slow: { mean: 0.5, n: 300 }, ...peers(1, 0, 1) };
  const fallen = { shiftedAt: NOON + 10 * SECOND, ...fast(0.5, 50) };
  const limits: [title: string, moves: Partial<HealthSignals>, stays: Partial<HealthSignals>][] = [
    ['when its success rate fell suddenly after it became live', { shiftedAt: NOON + 1 }, { shiftedAt: NOON }],
    ['when it is more than 10 points below its usual success rate', fast(0.79, 100), fast(0.81, 100)],
    // A standard error of 0.5 over 25 outcomes is 0.1: the limit is 0.25.
    ['when its rate is 2.5 standard errors below', { ...alone, ...fast(0.24, 25) }, { ...alone, ...fast(0.36, 25) }],
    ['after at least 20 outcomes', fast(0.5, 20), fast(0.5, 19.9)],
    ['when payments take more than three times as long as usual', latency(61), latency(60)],
    ['when at least 20 payments take too long', latency(61), latency(61, 19)],
    ['after 120 seconds', { ...fallen, now: NOON + 120 * SECOND }, { ...fallen, now: NOON + 120 * SECOND - 1 }],
    [
      'after four median times of a slow route',
      { ...fallen, ...slowAt(NOON + TWO_DAYS) },
      { ...fallen, ...slowAt(NOON + TWO_DAYS - 1) },
    ],
  ];
  testMoves(
    'a live route becomes degraded',
    'degraded',
    limits.map(([title, moves, stays]): Case => [title, [[live, moves]], [[live, stays]]]),
  );

  test('the health record of a route that becomes degraded reports the reason in words and numbers', () => {
    assert.deepEqual(evaluate(live, fast(0.712, 40))?.transition, {
      from: 'live',
      to: 'degraded',
      cause: 'success_drop',
      words: 'degraded: the success rate is down (71.2 % recently, 90.0 % usually)',
      numbers: { successShare: 0.712, usualSuccessShare: 0.9, outcomes: 40 },
    });
  });
});

describe('a degraded route becomes live', () => {
  const counted = (successes: number, failures: number): HealthRecord => ({ ...degraded, successes, failures });
  const full = counted(20, 0);
  const few = counted(3, 0);
  const halfHour = { now: NOON + 30 * MINUTE };
  const low = { ...halfHour, ...fast(0.3, 10), slow: { mean: 0.3, n: 300 } };
  const error = (sinceThen: string) => ({ recent: results(`e${sinceThen}`) });
  testMoves('a degraded route becomes live', 'live', [
    ['after 20 outcomes', [[counted(18, 2)]], [[counted(18, 1)]]],
    ['when it is at most 3 points below its usual success rate', [[full, fast(0.871)]], [[full, fast(0.869)]]],
    ['after 120 seconds', [[full, at(NOON + 120 * SECOND)]], [[full, at(NOON + 120 * SECOND - 1)]]],
    ['without a handoff error in its last 10 results', [[full, error('asasasasas')]], [[full, error('asasasasa')]]],
    ['when payments take at most twice as long as usual', [[full, latency(40)]], [[full, latency(41)]]],
    ['with little traffic, after 30 minutes', [[few, halfHour]], [[few, at(halfHour.now - 1)]]],
    ['with little traffic, after at least 3 outcomes', [[few, halfHour]], [[counted(2, 0), halfHour]]],
    ['with little traffic, without failures', [[few, halfHour]], [[counted(18, 1), halfHour]]],
    [
      'after four median times of a slow route',
      [full, few].map((record): Evaluated => [record, slowAt(NOON + TWO_DAYS)]),
      [full, few].map((record): Evaluated => [record, slowAt(NOON + TWO_DAYS - 1)]),
    ],
    ['unless its success rate is still below usual', [[few, halfHour]], [[few, { ...halfHour, ...fast(0.7) }]]],
    ['unless it would go into standby', [[few, halfHour]], [[few, low]]],
  ]);

  test('a degraded route counts each outcome once over repeated evaluations', () => {
    const first = evaluate(counted(10, 0), { recent: results('asasanaf') })!.record;
    assert.deepEqual([first.successes, first.failures, first.version], [12, 1, degraded.version + 1]);
    assert.equal(evaluate(first, { recent: results('asasanaf') }), undefined);
    const recent = [...results('s', NOON + 590 * SECOND), ...results('asasanaf')];
    const second = evaluate(first, { recent })!.record;
    assert.deepEqual([second.successes, second.failures, second.version], [13, 1, degraded.version + 2]);
  });

  test('a degraded route counts outcomes only up to the required number, so that a busy route is not written at every evaluation', () => {
    assert.equal(evaluate(full, { ...fast(0.8), recent: results('asas') }), undefined);
  });

  test('a degraded route does not count outcomes from before it was degraded', () => {
    assert.equal(evaluate(degraded, { recent: results('ssssssssss', NOON) }), undefined);
  });
});

describe('a live or degraded route goes into standby', () => {
  const both = (...runs: string[]) =>
    runs.flatMap((kinds): Evaluated[] => [live, degraded].map((record) => [record, { recent: results(kinds) }]));
  const until = (end: number): Evaluated => [live, { recent: results('eee', end) }];
  const atOnce = (time: number): Evaluated => [live, { recent: results('eee').map((each) => ({ ...each, at: time })) }];
  const outcomes = (failures: number): Evaluated => [{ ...degraded, successes: 1, failures }, fast(0.2, 12)];
  const failing = (...counts: Parameters<typeof peers>): Evaluated => [live, { ...fast(0.1, 10), ...peers(...counts) }];
  testMoves('a live or degraded route goes into standby', 'standby', [
    ['after 3 handoff errors in a row', both('eee'), both('ee')],
    ['after a run of errors that only an accepted handoff or a success breaks', both('efene'), both('eeae', 'eese')],
    ['after 5 of its last 10 handoffs failed', both('eaeaeaeaea'), both('aaeaeaeaea', 'eaeaeaeaeaa')],
    [
      'only for results since it entered its state',
      [until(NOON + 3 * SECOND), atOnce(NOON + 1)],
      [until(NOON), until(NOON + SECOND), atOnce(NOON)],
    ],
    [
      'immediately, also just after it entered its state',
      [live, degraded].map((record) => [record, at(NOON + 4 * SECOND, 'eee')]),
      [],
    ],
    [
      'when under 35 % of at least 8 recent payments succeed',
      [[live, fast(0.349, 8)]],
      [
        [live, fast(0.351, 8)],
        [live, fast(0.349, 7.9)],
      ],
    ],
    ['from degraded only with 8 outcomes since it was degraded', [outcomes(7)], [outcomes(6)]],
    [
      'for its success rate only while at most half of the routes of its kind are in standby for this cause',
      [failing(2, 0, 2), failing(3, 0, 3), failing(4, 1, 3)],
      [failing(1, 0, 1), failing(2, 1, 1), failing(3, 1, 2), failing(4, 2, 2)],
    ],
    ['for its success rate only if another route is usable', [failing(4, 0, 2)], [failing(4, 0, 1)]],
    ['for handoff errors even as the last of its kind', [[live, { recent: results('eee'), ...peers(1, 0, 1) }]], []],
  ]);
});

describe('a route in standby', () => {
  const due = NOON + 30 * SECOND;
  const now = NOON + 60 * SECOND;
  const tries = (...runs: string[]) => runs.map((kinds): Evaluated => [standby, at(now, kinds)]);
  testMoves('a route in standby', 'degraded', [
    ['becomes degraded after 3 successes in a row', tries('asasas'), tries('asas')],
    ['ignores neutral results and accepted handoffs', tries('sansans'), []],
    ['counts successes from 0 again after a failure or a handoff error', tries('fsss'), tries('ssfs', 'sses')],
    ['becomes degraded as soon as its back-off is over', [[standby, at(due, 'sss')]], [[standby, at(due - 1, 'sss')]]],
    ['ignores successes from before it was in standby', [], [[standby, at(now, 'sss', NOON)]]],
  ]);

  test('the health record of a route that leaves standby describes the reason', () => {
    assert.equal(evaluate(standby, at(now, 'sss'))?.record.words, 'degraded: 3 successes in a row in standby');
  });

  for (const [kind, name] of Object.entries({ f: 'a failure', e: 'a handoff error' })) {
    test(`a route in standby doubles its back-off after a probe that ended with ${name}`, () => {
      assert.deepEqual(evaluate(standby, at(now, kind)), {
        record: {
          ...standby,
          words:
            'standby: the last try failed (in standby since 12:00:00 UTC for handoff errors in a row), next try at 12:02:00 UTC',
          retryAt: now + 60 * SECOND,
          backoffs: 1,
          version: standby.version + 1,
        },
        transition: null,
      });
    });
  }

  test('a route in standby doubles its back-off once for each failure over repeated evaluations', () => {
    const once = evaluate(standby, at(now, 'f'))!.record;
    for (const seconds of [1, 30, 60, 90, 3600]) {
      assert.equal(evaluate(once, at(now + seconds * SECOND, 'f', now)), undefined);
    }
  });

  test('a route in standby ignores results before its probe was due', () => {
    assert.equal(evaluate(standby, at(due - 1, 'sss')), undefined);
    assert.equal(evaluate(standby, at(due, 'ffff', due - 1)), undefined);
    assert.equal(evaluate(standby, at(due, 'f'))?.record.backoffs, 1);
  });

  test('the back-off of a route in standby is 30, 60, 120, 240, 480 and then 600 seconds', () => {
    let record = standby;
    const waits = Array.from({ length: 8 }, () => {
      const later = record.retryAt! + SECOND;
      record = evaluate(record, at(later, 'f'))!.record;
      return (record.retryAt! - later) / SECOND;
    });
    assert.deepEqual(waits, [60, 120, 240, 480, 600, 600, 600, 600]);
  });

  test('the back-off of a route in standby has a jitter of 10 %', () => {
    const wait = (jitter: number) => evaluate(live, at(now, 'eee'), jitter)!.record.retryAt! - now;
    assert.deepEqual([wait(0), wait(0.5), wait(0.75)], [27 * SECOND, 30 * SECOND, 31.5 * SECOND]);
    assert.ok(wait(0.999_999) <= 33 * SECOND);
  });

  test('a route that returns to standby before it was live has a longer back-off; becoming live resets the back-off', () => {
    const back = evaluate(standby, at(now, 'sss'))!.record;
    assert.equal(back.retryAt, null);
    const later = now + 10 * SECOND;
    const again = evaluate(back, at(later, 'eee'))!.record;
    assert.deepEqual([again.backoffs, again.retryAt], [1, later + 60 * SECOND]);
    const recovered = evaluate({ ...back, successes: 20 }, at(later + 5 * MINUTE))!.record;
    assert.deepEqual([recovered.state, recovered.backoffs], ['live', 0]);
  });
});

describe('a route without results for 2 hours', () => {
  const later = NOON + 120 * MINUTE;
  const fallen = entered(1, { state: 'degraded', cause: 'shift', words: 'degraded' }, NOON);
  const tooSoon = at(later - SECOND);
  const tried = { now: later, recent: results('n') };
  testMoves('a route without results for 2 hours', 'degraded', [
    ['moves from standby to degraded', [[standby, at(later)]], [tooSoon, tried].map((signals) => [standby, signals])],
  ]);
  testMoves('a route without results for 2 hours', 'live', [
    [
      'becomes live if its estimates are normal',
      [[fallen, at(later)]],
      [tooSoon, { ...tried, recent: results('f') }, { now: later, ...fast(0.6) }].map((signals) => [fallen, signals]),
    ],
    ['stays degraded if the catalogue sets that state', [], [[degraded, at(NOON + 1200 * MINUTE)]]],
  ]);

  test('a route without results for 2 hours leaves standby with the reason that it was not tried', () => {
    assert.equal(evaluate(standby, at(later))?.transition?.cause, 'untried');
  });

  test('a route of a slow method, whose payments take 12 hours, is not used again before 48 hours', () => {
    const latency = { ...NO_TIMES, medianSeconds: 12 * 3600 };
    const slow = (hours: number) => ({ now: NOON + hours * 60 * MINUTE, latency });
    assert.equal(evaluate(standby, slow(47)), undefined);
    const words = evaluate(standby, slow(48))?.transition?.words;
    assert.equal(words, 'degraded: no payment was tried for 48 hours, so the route is used again');
    const leased = leaseProbe(standby, idOf('pay', 1), standby.retryAt!, 12 * 3600)!;
    assert.equal(canProbe(leased, standby.retryAt! + 47 * 60 * MINUTE), false);
    assert.equal(canProbe(leased, standby.retryAt! + 48 * 60 * MINUTE), true);
  });
});
