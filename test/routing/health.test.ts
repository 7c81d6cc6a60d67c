import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { HEALTH_POLICY } from '../../src/routing/health-policy.ts';
import { type HealthRecord, entered, initialHealth } from '../../src/routing/health-record.ts';
import type { HealthResult, HealthSignals, ResultKind } from '../../src/routing/health-signals.ts';
import { nextHealth } from '../../src/routing/health-machine.ts';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
/** Time at which every record of these tests enters its state, unless given otherwise. */
const NOON = Date.UTC(2026, 0, 15, 12);
/** The middle of the jitter, which leaves a back-off unchanged. */
const EVEN = 0.5;

const live = initialHealth('live', NOON);
const degraded = initialHealth('degraded', NOON);
const standby = entered(
  1,
  { state: 'standby', cause: 'handoff_errors_in_a_row', words: 'standby', retryAt: NOON + 30 * SECOND },
  NOON,
);

function look(record: HealthRecord, signals: Partial<HealthSignals> = {}, jitter = EVEN) {
  const healthy: HealthSignals = {
    now: NOON + 10 * MINUTE,
    shiftedAt: null,
    fast: { mean: 0.9, n: 30 },
    slow: { mean: 0.9, n: 300 },
    latency: null,
    recent: [],
    peers: { routesOfKind: 4, inAutomaticStandby: 0, usable: 4 },
  };
  return nextHealth(record, { ...healthy, ...signals }, HEALTH_POLICY, jitter);
}

/** The state that the record moves to; undefined if it stays. */
function move(record: HealthRecord, signals: Partial<HealthSignals> = {}) {
  return look(record, signals)?.transition?.to;
}

/** Results one second apart that end at `end`, written oldest first: `e`rror, `a`ccepted, `s`uccess... */
function results(kinds: string, end = NOON + 9 * MINUTE): HealthResult[] {
  const names: Record<string, ResultKind> = {
    e: 'handoff_error',
    a: 'handoff_accepted',
    s: 'success',
    f: 'failure',
    n: 'neutral',
  };
  return Array.from(kinds)
    .toReversed()
    .map((letter, index) => ({ at: end - index * SECOND, kind: names[letter]! }));
}

function latency(fastP95Seconds: number, n = 20): Partial<HealthSignals> {
  return { latency: { fastP95Seconds, slowP95Seconds: 20, n } };
}

describe('a live route becomes degraded', () => {
  const fast = (mean: number, n: number) => ({ fast: { mean, n } });
  const alone = { slow: { mean: 0.5, n: 300 }, peers: { routesOfKind: 1, inAutomaticStandby: 0, usable: 1 } };
  const fallen = { shiftedAt: NOON + 10 * SECOND, ...fast(0.5, 50) };
  const limits: [title: string, degrades: Partial<HealthSignals>, stays: Partial<HealthSignals>][] = [
    ['when its success rate fell suddenly after it became live', { shiftedAt: NOON + 1 }, { shiftedAt: NOON }],
    ['when it is more than 10 points below its usual success rate', fast(0.79, 100), fast(0.81, 100)],
    // A standard error of 0.5 over 25 outcomes is 0.1: the limit is 0.25.
    ['when it is 2.5 standard errors below', { ...alone, ...fast(0.24, 25) }, { ...alone, ...fast(0.36, 25) }],
    ['by a drop in at least 20 outcomes', fast(0.5, 20), fast(0.5, 19.9)],
    ['when payments take more than three times as long as usual', latency(61), latency(60)],
    ['when at least 20 payments take too long', latency(61), latency(61, 19)],
    ['after 120 seconds', { ...fallen, now: NOON + 120 * SECOND }, { ...fallen, now: NOON + 120 * SECOND - 1 }],
  ];
  for (const [title, degrades, stays] of limits) {
    test(title, () => assert.deepEqual([move(live, degrades), move(live, stays)], ['degraded', undefined]));
  }

  test('with the reason in words and numbers', () => {
    assert.deepEqual(look(live, { fast: { mean: 0.712, n: 40 } })?.transition, {
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
  const low = { ...halfHour, fast: { mean: 0.3, n: 10 }, slow: { mean: 0.3, n: 300 } };
  const limits: [title: string, becomesLive: Parameters<typeof move>, stays: Parameters<typeof move>][] = [
    ['after 20 outcomes', [counted(18, 2)], [counted(18, 1)]],
    [
      'at most 3 points below usual',
      [full, { fast: { mean: 0.871, n: 30 } }],
      [full, { fast: { mean: 0.869, n: 30 } }],
    ],
    ['after 120 seconds', [full, { now: NOON + 120 * SECOND }], [full, { now: NOON + 120 * SECOND - 1 }]],
    [
      'with no handoff error in its last 10 results',
      [full, { recent: results('easasasasas') }],
      [full, { recent: results('easasasasa') }],
    ],
    ['when payments take at most twice as long as usual', [full, latency(40)], [full, latency(41)]],
    ['with little traffic, after 30 minutes', [few, halfHour], [few, { now: NOON + 30 * MINUTE - 1 }]],
    ['with little traffic, after at least 3 outcomes', [few, halfHour], [counted(2, 0), halfHour]],
    ['with little traffic, without failures', [few, halfHour], [counted(18, 1), halfHour]],
    ['unless it is still below usual', [few, halfHour], [few, { ...halfHour, fast: { mean: 0.7, n: 30 } }]],
    ['unless it would go into standby', [few, halfHour], [few, low]],
  ];
  for (const [title, becomesLive, stays] of limits) {
    test(title, () => assert.deepEqual([move(...becomesLive), move(...stays)], ['live', undefined]));
  }

  test('counting each outcome once, however often it is seen', () => {
    const first = look(counted(10, 0), { recent: results('asasanaf') })?.record;
    assert.deepEqual([first?.successes, first?.failures, first?.version], [12, 1, degraded.version + 1]);
    assert.equal(look(first!, { recent: results('asasanaf') }), undefined);
    const second = look(first!, { recent: [...results('s', NOON + 590 * SECOND), ...results('asasanaf')] })?.record;
    assert.deepEqual([second?.successes, second?.failures, second?.version], [13, 1, degraded.version + 2]);
  });

  test('counting no more outcomes than it needs, so that a busy route is not written at every evaluation', () => {
    assert.equal(look(counted(20, 0), { fast: { mean: 0.8, n: 30 }, recent: results('asas') }), undefined);
  });

  test('counting no outcome from before it was degraded', () => {
    assert.equal(look(degraded, { recent: results('ssssssssss', NOON) }), undefined);
  });
});

describe('a live or degraded route goes into standby', () => {
  const runs: [title: string, standby: string[], stays: string[]][] = [
    ['after 3 handoff errors in a row', ['eee'], ['ee']],
    ['with a run that only an accepted handoff or a success breaks', ['efene'], ['eeae', 'eese']],
    ['after 5 of its last 10 handoffs failed', ['eaeaeaeaea'], ['aaeaeaeaea', 'eaeaeaeaeaa']],
  ];
  for (const [title, standby, stays] of runs) {
    test(title, () => {
      for (const record of [live, degraded]) {
        for (const kinds of standby) assert.equal(move(record, { recent: results(kinds) }), 'standby', kinds);
        for (const kinds of stays) assert.equal(move(record, { recent: results(kinds) }), undefined, kinds);
      }
    });
  }

  test('only for results since it entered its state', () => {
    assert.equal(move(live, { recent: results('eee', NOON) }), undefined);
    assert.equal(move(live, { recent: results('eee', NOON + SECOND) }), undefined, 'two of them are later');
    assert.equal(move(live, { recent: results('eee', NOON + 3 * SECOND) }), 'standby');
    const atOnce = (at: number) => ({ recent: results('eee').map((result) => ({ ...result, at })) });
    assert.equal(move(live, atOnce(NOON)), undefined);
    assert.equal(move(live, atOnce(NOON + 1)), 'standby');
  });

  test('at once, also just after it entered its state', () => {
    const now = NOON + 4 * SECOND;
    assert.equal(move(live, { now, recent: results('eee', now) }), 'standby');
    assert.equal(move(degraded, { now, recent: results('eee', now) }), 'standby');
  });

  test('when under 35 % of at least 8 recent payments succeed', () => {
    assert.equal(move(live, { fast: { mean: 0.349, n: 8 } }), 'standby');
    assert.equal(move(live, { fast: { mean: 0.351, n: 8 } }), undefined);
    assert.equal(move(live, { fast: { mean: 0.349, n: 7.9 } }), undefined);
  });

  test('from degraded only with 8 outcomes since it was degraded', () => {
    const fast = { mean: 0.2, n: 12 };
    assert.equal(move({ ...degraded, successes: 1, failures: 6 }, { fast }), undefined);
    assert.equal(move({ ...degraded, successes: 1, failures: 7 }, { fast }), 'standby');
  });

  test('for its success rate only while at most half of its kind are in standby for that', () => {
    const bad = (routesOfKind: number, inAutomaticStandby: number, usable: number) => ({
      fast: { mean: 0.1, n: 10 },
      peers: { routesOfKind, inAutomaticStandby, usable },
    });
    assert.equal(move(live, bad(1, 0, 1)), undefined);
    assert.equal(move(live, bad(2, 0, 2)), 'standby');
    assert.equal(move(live, bad(2, 1, 1)), undefined);
    assert.equal(move(live, bad(3, 0, 3)), 'standby');
    assert.equal(move(live, bad(3, 1, 2)), undefined);
    assert.equal(move(live, bad(4, 1, 3)), 'standby');
    assert.equal(move(live, bad(4, 2, 2)), undefined);
    assert.equal(move(live, bad(4, 0, 1)), undefined, 'the others are in standby through handoff errors');
  });

  test('for handoff errors even as the last of its kind', () => {
    const peers = { routesOfKind: 1, inAutomaticStandby: 0, usable: 1 };
    assert.equal(move(live, { recent: results('eee'), peers }), 'standby');
  });
});

describe('a route in standby', () => {
  const due = NOON + 30 * SECOND;
  const later = { now: NOON + 60 * SECOND };
  /** Results one second apart, up to the time of the evaluation. */
  const tries = (kinds: string) => ({ ...later, recent: results(kinds, later.now) });

  test('becomes degraded after 3 successes in a row', () => {
    assert.equal(move(standby, tries('asasas')), 'degraded');
    assert.equal(move(standby, tries('asas')), undefined);
    assert.equal(look(standby, tries('sss'))?.record.words, 'degraded: 3 successes in a row in standby');
  });

  test('ignoring neutral results and accepted handoffs', () => {
    assert.equal(move(standby, tries('sansans')), 'degraded');
  });

  test('counting anew after a failure or a handoff error', () => {
    assert.equal(move(standby, tries('ssfs')), undefined);
    assert.equal(move(standby, tries('sses')), undefined);
    assert.equal(move(standby, tries('fsss')), 'degraded');
  });

  test('not before its back-off is over', () => {
    assert.equal(look(standby, { now: due - 1, recent: results('sss', due - 1) }), undefined);
    assert.equal(move(standby, { now: due, recent: results('sss', due) }), 'degraded');
  });

  test('not for successes from before it was in standby', () => {
    assert.equal(move(standby, { ...later, recent: results('sss', NOON) }), undefined);
  });

  for (const kind of ['f', 'e']) {
    test(`doubles its back-off after a probe that ended with ${kind === 'f' ? 'a failure' : 'a handoff error'}`, () => {
      const change = look(standby, tries(kind));
      assert.equal(change?.transition, null);
      assert.deepEqual(change?.record, {
        ...standby,
        words:
          'standby: the last try failed (in standby since 12:00:00 UTC for handoff errors in a row), next try at 12:02:00 UTC',
        retryAt: later.now + 60 * SECOND,
        backoffs: 1,
        version: standby.version + 1,
      });
    });
  }

  test('doubles its back-off once for each failure, however often it is evaluated', () => {
    const failed = results('f', later.now);
    const once = look(standby, { ...later, recent: failed })!.record;
    for (const seconds of [1, 30, 60, 90, 3600]) {
      assert.equal(look(once, { now: later.now + seconds * SECOND, recent: failed }), undefined);
    }
  });

  test('ignores failures before its probe was due', () => {
    assert.equal(look(standby, { now: due, recent: results('ffff', due - 1) }), undefined);
    assert.equal(look(standby, { now: due, recent: results('f', due) })?.record.backoffs, 1);
  });

  test('backs off 30, 60, 120, 240, 480 and then 600 seconds', () => {
    let record = standby;
    const waits = [0, 1, 2, 3, 4, 5, 6, 7].map(() => {
      const now = record.retryAt! + SECOND;
      record = look(record, { now, recent: results('f', now) })!.record;
      return (record.retryAt! - now) / SECOND;
    });
    assert.deepEqual(waits, [60, 120, 240, 480, 600, 600, 600, 600]);
    const wait = look(live, { recent: results('eee') })!.record.retryAt! - (NOON + 10 * MINUTE);
    assert.equal(wait, 30 * SECOND);
  });

  test('backs off with a jitter of 10 %', () => {
    const wait = (jitter: number) =>
      look(live, { recent: results('eee') }, jitter)!.record.retryAt! - NOON - 10 * MINUTE;
    assert.equal(wait(0), 27 * SECOND);
    assert.equal(wait(0.75), 31.5 * SECOND);
    assert.ok(wait(0.999_999) <= 33 * SECOND);
  });

  test('that returns before it was live backs off longer than before; being live resets that', () => {
    const back = look(standby, tries('sss'))!.record;
    assert.equal(back.retryAt, null);
    const now = later.now + 10 * SECOND;
    const again = look(back, { now, recent: results('eee', now) })!.record;
    assert.deepEqual([again.backoffs, again.retryAt], [1, now + 60 * SECOND]);
    const cured = look({ ...back, successes: 20 }, { now: now + 5 * MINUTE })!.record;
    assert.deepEqual([cured.state, cured.backoffs], ['live', 0]);
  });
});

describe('a route without results for 2 hours', () => {
  const TWO_HOURS = 120 * MINUTE;
  const fallen = entered(1, { state: 'degraded', cause: 'shift', words: 'degraded' }, NOON);

  test('moves from standby to degraded, not a second earlier and not if it has results', () => {
    assert.equal(move(standby, { now: NOON + TWO_HOURS }), 'degraded');
    assert.equal(move(standby, { now: NOON + TWO_HOURS - SECOND }), undefined);
    assert.equal(move(standby, { now: NOON + TWO_HOURS, recent: results('n') }), undefined);
    assert.equal(look(standby, { now: NOON + TWO_HOURS })?.transition?.cause, 'untried');
  });

  test('becomes live if its estimates are normal', () => {
    assert.equal(move(fallen, { now: NOON + TWO_HOURS }), 'live');
    assert.equal(move(fallen, { now: NOON + TWO_HOURS - SECOND }), undefined);
    assert.equal(move(fallen, { now: NOON + TWO_HOURS, recent: results('f') }), undefined);
    const down = { fast: { mean: 0.6, n: 30 }, slow: { mean: 0.9, n: 300 } };
    assert.equal(move(fallen, { now: NOON + TWO_HOURS, ...down }), undefined);
  });

  test('stays degraded if the catalogue sets that state', () => {
    assert.equal(move(degraded, { now: NOON + 10 * TWO_HOURS }), undefined);
  });
});
