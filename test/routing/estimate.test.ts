import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type RouteEstimate, estimateRoutes } from '../../src/routing/estimate.ts';
import { type States, type Tally, withoutFastMemory } from '../../src/routing/route-memory.ts';
import { DEFAULT_POLICY } from '../../src/routing/routing-policy.ts';
import { BUCKET_MS, HOUR, type Period, THREE, priorsOf, pseudoRandom, statesAfter } from '../support/route-states.ts';

function at(bucket: number, states: States, priors = THREE): Record<string, RouteEstimate> {
  return Object.fromEntries(estimateRoutes(states, priors, bucket * BUCKET_MS, DEFAULT_POLICY));
}

/** Estimates at the end of consecutive periods. */
function after(periods: Period[], priors = THREE): Record<string, RouteEstimate> {
  const buckets = periods.reduce((sum, [count]) => sum + count, 0);
  return at(buckets, statesAfter(periods, priors), priors);
}

function near(actual: number, expected: number, tolerance: number): void {
  assert.ok(Math.abs(actual - expected) <= tolerance, `${actual} is not ${expected} +- ${tolerance}`);
}

const idle = (buckets: number): Period => [buckets, {}];

describe('the estimate of a route without outcomes', () => {
  test('a route without outcomes has its configured success rate', () => {
    const rates = { rt_a: 0.85, rt_b: 0.6, rt_c: 0.95 };
    const estimates = after([], priorsOf(rates));
    for (const [id, rate] of Object.entries(rates)) near(estimates[id]!.p, rate, 1e-4);
    const { lastOutcomeAt, shiftedAt, latency } = estimates['rt_a']!;
    assert.deepEqual([lastOutcomeAt, shiftedAt], [null, null]);
    assert.deepEqual(latency, { p95SecondsFast: null, p95SecondsSlow: null, medianSeconds: null, nFast: 0, nSlow: 0 });
  });

  test('a route with a configured success rate of 100 % still learns from outcomes', () => {
    const { p, n } = after([], priorsOf({ rt_a: 1 }))['rt_a']!;
    assert.ok(p < 0.99 && n < 40);
  });
});

describe('the level of all routes', () => {
  test('the common level of all routes is the prior of a new route if all routes have the same configured rate', () => {
    const six = { successes: 6, failures: 4 };
    near(after([[100, { rt_a: six, rt_b: six }]])['rt_c']!.slow.mean, 0.62, 0.04);
  });

  test('the failures of the present hour lower the long-term rate of a new route, although the hour is still open', () => {
    const { slow } = after([[5, { rt_a: { failures: 4 } }]], priorsOf({ rt_a: 0.85 }))['rt_a']!;
    // The slow memory alone, with an unchanged prior, would give 0.64.
    assert.ok(slow.mean < 0.6, String(slow.mean));
  });

  test('the common level of all routes shifts each route from its configured rate', () => {
    const priors = priorsOf({ rt_a: 0.8, rt_b: 0.9, rt_c: 0.7 });
    const { rt_b, rt_c } = after([[100, { rt_a: { successes: 7, failures: 3 } }]], priors);
    assert.ok(rt_b!.slow.mean > 0.8 && rt_b!.slow.mean < 0.88);
    assert.ok(rt_c!.slow.mean > 0.5 && rt_c!.slow.mean < 0.66);
  });
});

describe('the fast and slow memory of an estimate', () => {
  const good = statesAfter([[HOUR, { rt_a: { successes: 9, failures: 1, timed: 10 } }]]);

  test('the fast memory of a busy route is limited', () => {
    const { fast, latency } = at(HOUR, good)['rt_a']!;
    assert.ok(fast.n > 400 && fast.n < DEFAULT_POLICY.estimate.fastMemoryOutcomes + 10, `${fast.n}`);
    near(fast.mean, 0.9, 0.001);
    near(latency.nFast, fast.n, 0.1);
  });

  test('the fast memory halves after its half-life, and the slow memory after a longer half-life', () => {
    const now = at(HOUR, good)['rt_a']!;
    const later = at(HOUR + DEFAULT_POLICY.estimate.fastHalfLifeSeconds / 10, good)['rt_a']!;
    near(later.fast.n, now.fast.n / 2, 0.1);
    near(later.slow.n, now.slow.n * 2 ** (-1 / 16), 1);
    assert.ok(later.n < now.n);
  });

  test('a correction of a failure takes one outcome from the memory and changes no other', () => {
    const corrected = statesAfter([[1, { rt_a: { failures: -1 } }]], THREE, good, HOUR);
    const [before, after] = [good, corrected].map((states) => at(HOUR, states)['rt_a']!.fast.n);
    near(after!, before! - 1, 0.2);
  });

  test('a clock that was set back neither adds to the memory nor changes the probability of a disturbance', () => {
    const failing = statesAfter([[3, { rt_a: { failures: 4 } }]], THREE, good, HOUR);
    const [now, before] = [HOUR + 2, HOUR - 60].map((bucket) => at(bucket, failing)['rt_a']!);
    assert.ok(now!.disturbance > 0.5);
    assert.deepEqual(
      [before!.disturbance, before!.fast, before!.slow.n, before!.latency],
      [now!.disturbance, now!.fast, now!.slow.n, now!.latency],
    );
  });
});

describe('a disturbance', () => {
  const usual: Period = [HOUR, { rt_a: { successes: 9, failures: 1 } }];
  const failing = (buckets: number): Period => [buckets, { rt_a: { failures: 4 } }];
  const good = (buckets: number): Period => [buckets, { rt_a: { successes: 5 } }];
  const routeAfter = (...periods: Period[]) => after(periods)['rt_a']!;

  test('a disturbance of a route is detected within a few failures, and its time is stored', () => {
    const { p, disturbance, shiftedAt, n } = routeAfter(usual, failing(2));
    assert.ok(disturbance > 0.9 && p < 0.6, `${disturbance} ${p}`);
    assert.equal(shiftedAt, (HOUR + 2) * BUCKET_MS);
    assert.ok(n < 50);
  });

  test('a disturbance of a route ends when the route succeeds again', () => {
    const { p, disturbance, shiftedAt } = routeAfter(usual, failing(6), good(4));
    assert.ok(disturbance < 0.1 && p > 0.85, `${disturbance} ${p}`);
    assert.equal(shiftedAt, (HOUR + 2) * BUCKET_MS);
  });

  test('a disturbance of a route fades without outcomes, and the usual level of the route stays', () => {
    const before = routeAfter(usual);
    const during = routeAfter(usual, failing(12));
    const later = routeAfter(usual, failing(12), idle(HOUR * 2 - 12));
    assert.ok(during.p < 0.3);
    assert.ok(later.p > 0.84 && later.n < before.n, `${later.p}`);
    near(during.slow.mean, before.slow.mean, 0.02);
  });

  test('a disturbance of a route is detected again if it returns after successes, or after a time without outcomes', () => {
    const recovered = routeAfter(usual, failing(2), good(60), idle(HOUR - 62), failing(4));
    assert.ok(recovered.shiftedAt! > HOUR * 2 * BUCKET_MS);
    const unused = routeAfter(usual, failing(2), idle(HOUR * 3 - 2), [1, { rt_a: { failures: 12 } }]);
    assert.equal(unused.shiftedAt, (HOUR * 4 + 1) * BUCKET_MS);
  });

  test('a disturbance of a route does not become more likely after successes, even if outcomes during disturbances were better than usual', () => {
    const state = statesAfter([usual]).get('rt_a')!;
    const odd = { ...state, fastSuccesses: 0, fastFailures: 200, disturbedSuccesses: 200, disturbance: 0.3 };
    const better = statesAfter([[1, { rt_a: { successes: 20 } }]], THREE, new Map([['rt_a', odd]]), HOUR);
    assert.ok(at(HOUR + 1, better)['rt_a']!.disturbance <= 0.3);
  });

  test('a disturbance of a route becomes the usual level if it lasts', () => {
    const { p, slow } = routeAfter(usual, [HOUR * 16, { rt_a: { successes: 2, failures: 3 } }]);
    near(p, 0.4, 0.05);
    assert.ok(slow.mean < 0.6);
  });

  test('the random failures of a route with a success rate of 90 % are not detected as a disturbance', () => {
    let states: States = new Map();
    let detections = 0;
    let shiftedAt: number | null = null;
    const random = pseudoRandom();
    for (let bucket = 0; bucket < 10_000; bucket += 1) {
      const successes = Number(random() < 0.9);
      states = statesAfter([[1, { rt_a: { successes, failures: 1 - successes } }]], THREE, states, bucket);
      const now = at(bucket + 1, states)['rt_a']!.shiftedAt;
      detections += Number(now !== shiftedAt);
      shiftedAt = now;
    }
    assert.ok(detections <= 5, `${detections} in 10,000 outcomes`);
  });

  test('a disturbance and the fast memory are cleared when the route is known to have recovered', () => {
    const disturbed = statesAfter([usual, failing(12)]).get('rt_a')!;
    const { p, fast, slow, disturbance } = at(HOUR + 11, new Map([['rt_a', withoutFastMemory(disturbed)]]))['rt_a']!;
    assert.deepEqual([fast.n, disturbance], [0, 0]);
    near(p, slow.mean, 1e-3);
    assert.ok(p > 0.85);
  });
});

describe('outcomes of probes and reversed failures', () => {
  test('probes of a route in standby change the fast memory and not the usual level', () => {
    const { rt_a, rt_b } = after([[3, { rt_a: { probeFailures: 2 }, rt_b: { probeSuccesses: 2 } }]]);
    assert.ok(rt_a!.p < 0.7 && rt_b!.p > 0.85 && rt_a!.fast.n > 5 && rt_b!.fast.n > 5);
    const unused = after([idle(3)])['rt_a']!.slow;
    assert.deepEqual([rt_a!.slow, rt_b!.slow], [unused, unused]);
  });

  test('a failure that was paid later is reversed', () => {
    const wrong: Period = [1, { rt_a: { successes: 3, failures: 1 } }];
    const corrected = after([wrong, [1, { rt_a: { failures: -1, successes: 1 } }]])['rt_a']!;
    const right = after([
      [1, { rt_a: { successes: 3 } }],
      [1, { rt_a: { successes: 1 } }],
    ])['rt_a']!;
    near(corrected.p, right.p, 0.005);
    const tooMuch = statesAfter([wrong, [1, { rt_a: { failures: -9 } }]]).get('rt_a')!;
    assert.deepEqual([tooMuch.fastFailures, tooMuch.slowFailures], [0, 0]);
    assert.ok(tooMuch.disturbedFailures >= 0);
  });

  test('failures that are reversed within minutes leave the estimate of a route where it was, at once and a day later', () => {
    const usual: Period = [60, { rt_a: { successes: 3, failures: 2 } }];
    const failing: Period = [1, { rt_a: { failures: 10 } }];
    const reversing: Period = [1, { rt_a: { failures: -10 } }];
    for (const hours of [0, 24]) {
      const { p } = after([usual, idle(62 + hours * HOUR)])['rt_a']!;
      near(after([usual, failing, idle(60), reversing, idle(hours * HOUR)])['rt_a']!.p, p, 0.02);
    }
  });

  test('failures that are reversed hours later, by payments that were paid late, do not change the estimate of a route for long', () => {
    const usual: Period = [2000, { rt_a: { successes: 7, failures: 3 } }];
    const failing: Period = [1, { rt_a: { failures: 10 } }];
    const reversing: Period = [1, { rt_a: { successes: 10, failures: -10 } }];
    near(after([usual, failing, usual, reversing, usual])['rt_a']!.p, after([usual, usual, usual])['rt_a']!.p, 0.02);
  });
});

describe('neutral outcomes', () => {
  const busy = { successes: 7, neutrals: 1 };
  const suspect = { successes: 5, neutrals: 5 };

  test('neutral outcomes do not count against routes with about equal shares of neutral outcomes', () => {
    const { p, neutralsCounted } = after([[50, { rt_a: { successes: 7, neutrals: 2 }, rt_b: busy }]])['rt_a']!;
    const without = after([[50, { rt_a: { successes: 7 }, rt_b: { successes: 7 } }]])['rt_a']!;
    assert.deepEqual([p, neutralsCounted], [without.p, false]);
  });

  test('neutral outcomes count against a route whose share of neutral outcomes is more than twice that of its peers', () => {
    const { rt_a, rt_b } = after([[50, { rt_a: suspect, rt_b: busy, rt_c: busy }]]);
    assert.deepEqual([rt_a!.neutralsCounted, rt_b!.neutralsCounted], [true, false]);
    near(rt_a!.p, 5 / (10 - 10 / 8), 0.05);
    assert.ok(rt_b!.p > 0.95);
  });

  test('neutral outcomes do not count against a route without a peer in its group, or with too few outcomes', () => {
    const priors = [...priorsOf({ rt_a: 0.85 }, 'wallet'), ...priorsOf({ rt_b: 0.85 }, 'card')];
    assert.equal(after([[50, { rt_a: suspect, rt_b: busy }]], priors)['rt_a']!.neutralsCounted, false);
    assert.equal(after([[4, { rt_a: suspect, rt_b: busy, rt_c: busy }]])['rt_a']!.neutralsCounted, false);
  });
});

describe('the time to paid', () => {
  /** Sums of payments whose logarithms are one deviation above or below the mean. */
  function timed(count: number, meanMs: number, deviation: number): Partial<Tally> {
    const mean = Math.log(meanMs);
    return { successes: count, timed: count, logMs: count * mean, logMsSquared: count * (mean ** 2 + deviation ** 2) };
  }

  test('the time to paid of a route is the 95th percentile in seconds', () => {
    const { latency } = after([[1, { rt_a: timed(20, 20_000, 0.8) }]])['rt_a']!;
    near(latency.p95SecondsFast!, 20 * Math.exp(1.6449 * 0.8), 0.1);
    assert.equal(latency.p95SecondsSlow, latency.p95SecondsFast);
    assert.ok(latency.nFast >= 19.8 && latency.nFast <= 20);
  });

  test('when payments take longer, the time to paid grows in the fast memory first', () => {
    const periods: Period[] = [
      [HOUR, { rt_a: timed(2, 20_000, 0.5) }],
      [30, { rt_a: timed(8, 200_000, 0.5) }],
    ];
    const { latency } = after(periods)['rt_a']!;
    assert.ok(latency.p95SecondsFast! > 1.2 * latency.p95SecondsSlow!);
    const later = after([...periods, idle(HOUR - 30)])['rt_a']!.latency;
    assert.ok(later.nFast < 0.2 * later.nSlow && later.nSlow > 400);
  });
});
