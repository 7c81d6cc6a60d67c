import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type RouteEstimate, type RoutePrior, estimate, fold } from '../../src/routing/estimate.ts';
import { type States, type Tally, bucketOf, emptyTally, withFastCleared } from '../../src/routing/route-memory.ts';
import { DEFAULT_POLICY } from '../../src/routing/routing-policy.ts';

const BUCKET_MS = DEFAULT_POLICY.bucketSeconds * 1000;
const HOUR_BUCKETS = 3600 / DEFAULT_POLICY.bucketSeconds;
const THREE = priorsOf({ rt_a: 0.85, rt_b: 0.85, rt_c: 0.85 });

function priorsOf(rates: Record<string, number>, group = 'card'): RoutePrior[] {
  return Object.entries(rates).map(([id, successRate]) => ({ id, successRate, group }));
}

/** Estimates at a bucket. */
function at(bucket: number, states: States, priors: readonly RoutePrior[] = THREE): Record<string, RouteEstimate> {
  return Object.fromEntries(estimate(states, priors, bucket * BUCKET_MS, DEFAULT_POLICY));
}

/** The states after `buckets` buckets with the same tallies, from bucket `from` on. */
function after(
  buckets: number,
  each: Record<string, Partial<Tally>>,
  { states = new Map(), from = 0, priors = THREE }: { states?: States; from?: number; priors?: RoutePrior[] } = {},
): States {
  let result = states;
  for (let bucket = from; bucket < from + buckets; bucket += 1) {
    const tallies = new Map(Object.entries(each).map(([id, part]) => [id, { ...emptyTally(bucket), ...part, bucket }]));
    result = fold(result, tallies, bucket, priors, DEFAULT_POLICY);
  }
  return result;
}

function near(actual: number, expected: number, tolerance: number): void {
  assert.ok(Math.abs(actual - expected) <= tolerance, `${actual} is not ${expected} +- ${tolerance}`);
}

describe('before the first outcome', () => {
  test('a route has its configured rate', () => {
    const estimates = at(0, new Map(), priorsOf({ rt_a: 0.85, rt_b: 0.6, rt_c: 0.95 }));
    near(estimates['rt_a']!.p, 0.85, 1e-4);
    near(estimates['rt_b']!.p, 0.6, 1e-4);
    near(estimates['rt_c']!.p, 0.95, 1e-4);
    assert.equal(estimates['rt_a']!.lastOutcomeAt, null);
    assert.equal(estimates['rt_a']!.shiftedAt, null);
    assert.deepEqual(estimates['rt_a']!.latency, { p95SecondsFast: null, p95SecondsSlow: null, nFast: 0, nSlow: 0 });
  });

  test('a route that is configured as certain can still be learnt about', () => {
    const { p, n } = at(0, new Map(), priorsOf({ rt_a: 1 }))['rt_a']!;
    assert.ok(p < 0.99 && n < 40);
  });
});

describe('the level of all routes', () => {
  test('is the prior of a new route, if all are configured alike', () => {
    const estimates = at(100, after(100, { rt_a: { successes: 6, failures: 4 }, rt_b: { successes: 6, failures: 4 } }));
    near(estimates['rt_c']!.slow.mean, 0.62, 0.04);
  });

  test('shifts each route from its configured rate', () => {
    const priors = priorsOf({ rt_a: 0.8, rt_b: 0.9, rt_c: 0.7 });
    const worse = at(100, after(100, { rt_a: { successes: 7, failures: 3 } }, { priors }), priors);
    assert.ok(worse['rt_b']!.slow.mean > 0.8 && worse['rt_b']!.slow.mean < 0.88);
    assert.ok(worse['rt_c']!.slow.mean > 0.5 && worse['rt_c']!.slow.mean < 0.66);
  });

  test('does not change if the busy route performs as configured, however good it is', () => {
    const priors = priorsOf({ rt_a: 0.95, rt_b: 0.8 });
    const usual = at(0, new Map(), priors)['rt_b']!.slow.mean;
    const states = after(500, { rt_a: { successes: 97, failures: 3 } }, { priors });
    near(at(500, states, priors)['rt_b']!.slow.mean, usual, 0.02);
  });
});

describe('forgetting', () => {
  const good = after(HOUR_BUCKETS, { rt_a: { successes: 9, failures: 1, timed: 10 } });

  test('the fast memory of a busy route is limited', () => {
    const { fast, latency } = at(HOUR_BUCKETS, good)['rt_a']!;
    assert.ok(fast.n > 400 && fast.n < DEFAULT_POLICY.estimate.fastMemoryOutcomes + 10, `${fast.n}`);
    near(fast.mean, 0.9, 0.001);
    near(latency.nFast, fast.n, 0.1);
  });

  test('the fast memory halves in its half-life, the slow memory much later', () => {
    const now = at(HOUR_BUCKETS, good)['rt_a']!;
    const later = at(HOUR_BUCKETS + DEFAULT_POLICY.estimate.fastHalfLifeSeconds / 10, good)['rt_a']!;
    near(later.fast.n, now.fast.n / 2, 0.1);
    near(later.slow.n, now.slow.n * 2 ** (-1 / 16), 1);
    assert.ok(later.n < now.n);
  });
});

describe('a disturbance', () => {
  const usual = after(HOUR_BUCKETS, { rt_a: { successes: 9, failures: 1 } });
  const failing = { rt_a: { failures: 4 } };

  test('is detected within a few failures, with its time', () => {
    const disturbed = after(2, failing, { states: usual, from: HOUR_BUCKETS });
    const { p, disturbance, shiftedAt, n } = at(HOUR_BUCKETS + 2, disturbed)['rt_a']!;
    assert.ok(disturbance > 0.9 && p < 0.6, `${disturbance} ${p}`);
    assert.equal(shiftedAt, (HOUR_BUCKETS + 2) * BUCKET_MS);
    assert.ok(n < 50);
  });

  test('is over once the route succeeds again', () => {
    const disturbed = after(6, failing, { states: usual, from: HOUR_BUCKETS });
    const over = after(4, { rt_a: { successes: 5 } }, { states: disturbed, from: HOUR_BUCKETS + 6 });
    const { p, disturbance, shiftedAt } = at(HOUR_BUCKETS + 10, over)['rt_a']!;
    assert.ok(disturbance < 0.1 && p > 0.85, `${disturbance} ${p}`);
    assert.equal(shiftedAt, (HOUR_BUCKETS + 2) * BUCKET_MS);
  });

  test('fades without outcomes, and the usual level stays', () => {
    const disturbed = after(12, failing, { states: usual, from: HOUR_BUCKETS });
    const before = at(HOUR_BUCKETS, usual)['rt_a']!;
    const during = at(HOUR_BUCKETS + 12, disturbed)['rt_a']!;
    const later = at(HOUR_BUCKETS * 3, disturbed)['rt_a']!;
    assert.ok(during.p < 0.3);
    assert.ok(later.p > 0.84 && later.n < before.n, `${later.p}`);
    near(during.slow.mean, before.slow.mean, 0.02);
  });

  test('is detected again if it returns', () => {
    const once = after(2, failing, { states: usual, from: HOUR_BUCKETS });
    const recovered = after(60, { rt_a: { successes: 5 } }, { states: once, from: HOUR_BUCKETS + 2 });
    const twice = after(4, failing, { states: recovered, from: HOUR_BUCKETS * 2 });
    assert.ok(at(HOUR_BUCKETS * 2 + 4, twice)['rt_a']!.shiftedAt! > HOUR_BUCKETS * 2 * BUCKET_MS);
  });

  test('is detected again after a time without outcomes', () => {
    const once = after(2, failing, { states: usual, from: HOUR_BUCKETS });
    const back = after(1, { rt_a: { failures: 12 } }, { states: once, from: HOUR_BUCKETS * 4 });
    assert.equal(at(HOUR_BUCKETS * 4 + 1, back)['rt_a']!.shiftedAt, (HOUR_BUCKETS * 4 + 1) * BUCKET_MS);
  });

  test('is not detected in successes, even if the outcomes of a disturbance were better than usual', () => {
    const state = usual.get('rt_a')!;
    const odd = { ...state, fastSuccesses: 0, fastFailures: 200, disturbedSuccesses: 200, disturbance: 0.3 };
    const better = after(1, { rt_a: { successes: 20 } }, { states: new Map([['rt_a', odd]]), from: HOUR_BUCKETS });
    assert.ok(at(HOUR_BUCKETS + 1, better)['rt_a']!.disturbance <= 0.3);
  });

  test('becomes the usual level if it lasts', () => {
    const lasting = after(
      HOUR_BUCKETS * 16,
      { rt_a: { successes: 2, failures: 3 } },
      { states: usual, from: HOUR_BUCKETS },
    );
    const { p, slow } = at(HOUR_BUCKETS * 17, lasting)['rt_a']!;
    near(p, 0.4, 0.05);
    assert.ok(slow.mean < 0.6);
  });

  test('is not detected in the noise of a route with a success rate of 90 %', () => {
    let states: States = new Map();
    let detections = 0;
    let shiftedAt: number | null = null;
    let chance = 1;
    for (let bucket = 0; bucket < 10_000; bucket += 1) {
      chance = (chance * 48_271) % 2_147_483_647;
      const successes = Number(chance / 2_147_483_647 < 0.9);
      states = after(1, { rt_a: { successes, failures: 1 - successes } }, { states, from: bucket });
      const now = at(bucket + 1, states)['rt_a']!.shiftedAt;
      detections += Number(now !== shiftedAt);
      shiftedAt = now;
    }
    assert.ok(detections <= 5, `${detections} in 10,000 outcomes`);
  });

  test('is cleared with the fast memory when the route is known to have recovered', () => {
    const disturbed = after(12, failing, { states: usual, from: HOUR_BUCKETS });
    const cleared = new Map([['rt_a', withFastCleared(disturbed.get('rt_a')!)]]);
    const { p, fast, slow, disturbance } = at(HOUR_BUCKETS + 11, cleared)['rt_a']!;
    assert.deepEqual([fast.n, disturbance], [0, 0]);
    near(p, slow.mean, 1e-3);
    assert.ok(p > 0.85);
  });
});

describe('special outcomes', () => {
  test('probes of a route in standby change the fast memory and not the usual level', () => {
    const states = after(3, { rt_a: { probeFailures: 2 }, rt_b: { probeSuccesses: 2 } });
    const { rt_a, rt_b } = at(3, states);
    assert.ok(rt_a!.p < 0.7 && rt_b!.p > 0.85 && rt_a!.fast.n > 5 && rt_b!.fast.n > 5);
    assert.deepEqual([rt_a!.slow, rt_b!.slow], [at(3, new Map())['rt_a']!.slow, at(3, new Map())['rt_b']!.slow]);
  });

  test('a failure that was paid later is reversed', () => {
    const wrong = after(1, { rt_a: { successes: 3, failures: 1 } });
    const corrected = after(1, { rt_a: { failures: -1, successes: 1 } }, { states: wrong, from: 1 });
    const right = after(1, { rt_a: { successes: 1 } }, { states: after(1, { rt_a: { successes: 3 } }), from: 1 });
    near(at(2, corrected)['rt_a']!.p, at(2, right)['rt_a']!.p, 0.005);
    const tooMuch = after(1, { rt_a: { failures: -9 } }, { states: wrong, from: 1 }).get('rt_a')!;
    assert.deepEqual([tooMuch.fastFailures, tooMuch.slowFailures], [0, 0]);
    assert.ok(tooMuch.disturbedFailures >= 0);
  });
});

describe('neutral outcomes', () => {
  const busy = { successes: 7, neutrals: 1 };

  test('do not count against routes with about the same share of them', () => {
    const states = after(50, { rt_a: { successes: 7, neutrals: 2 }, rt_b: { successes: 7, neutrals: 1 } });
    const without = after(50, { rt_a: { successes: 7 }, rt_b: { successes: 7 } });
    const { p, neutralsCounted } = at(50, states)['rt_a']!;
    assert.deepEqual([p, neutralsCounted], [at(50, without)['rt_a']!.p, false]);
  });

  test('count against a route with more than twice the share of its peers, as far as they exceed that share', () => {
    const states = after(50, { rt_a: { successes: 5, neutrals: 5 }, rt_b: busy, rt_c: busy });
    const { rt_a, rt_b } = at(50, states);
    assert.deepEqual([rt_a!.neutralsCounted, rt_b!.neutralsCounted], [true, false]);
    near(rt_a!.p, 5 / (10 - 10 / 8), 0.05);
    assert.ok(rt_b!.p > 0.95);
  });

  test('are not suspected without a peer of the same group, or with too few outcomes', () => {
    const priors = [...priorsOf({ rt_a: 0.85 }, 'wallet'), ...priorsOf({ rt_b: 0.85 }, 'card')];
    const alone = after(50, { rt_a: { successes: 5, neutrals: 5 }, rt_b: busy }, { priors });
    assert.equal(at(50, alone, priors)['rt_a']!.neutralsCounted, false);
    const few = after(4, { rt_a: { successes: 5, neutrals: 5 }, rt_b: busy, rt_c: busy });
    assert.equal(at(4, few)['rt_a']!.neutralsCounted, false);
  });
});

describe('the time to paid', () => {
  /** Sums of payments whose logarithms are one deviation above or below the mean. */
  function timed(count: number, meanMs: number, deviation: number): Partial<Tally> {
    const mean = Math.log(meanMs);
    return { timed: count, logMs: count * mean, logMsSquared: count * (mean ** 2 + deviation ** 2) };
  }

  test('is the 95th percentile in seconds', () => {
    const { latency } = at(1, after(1, { rt_a: { successes: 20, ...timed(20, 20_000, 0.8) } }))['rt_a']!;
    near(latency.p95SecondsFast!, 20 * Math.exp(1.6449 * 0.8), 0.1);
    assert.equal(latency.p95SecondsSlow, latency.p95SecondsFast);
    assert.ok(latency.nFast >= 19.8 && latency.nFast <= 20);
  });

  test('grows in the fast memory first', () => {
    const usual = after(HOUR_BUCKETS, { rt_a: { successes: 2, ...timed(2, 20_000, 0.5) } });
    const slower = after(
      30,
      { rt_a: { successes: 8, ...timed(8, 200_000, 0.5) } },
      { states: usual, from: HOUR_BUCKETS },
    );
    const { latency } = at(HOUR_BUCKETS + 30, slower)['rt_a']!;
    assert.ok(latency.p95SecondsFast! > 1.2 * latency.p95SecondsSlow!);
    const later = at(HOUR_BUCKETS * 2, slower)['rt_a']!.latency;
    assert.ok(later.nFast < 0.2 * later.nSlow && later.nSlow > 400);
  });
});

test('a time belongs to the bucket that began last', () => {
  assert.deepEqual(
    [0, BUCKET_MS - 1, BUCKET_MS, 7 * BUCKET_MS + 1].map((ms) => bucketOf(ms, DEFAULT_POLICY)),
    [0, 0, 1, 7],
  );
});
