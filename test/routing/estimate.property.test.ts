import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import type { ContextOutcomes } from '../../src/routing/context-offsets.ts';
import { estimateRoutes, fold } from '../../src/routing/estimate.ts';
import type { RoutePrior } from '../../src/routing/pooled-prior.ts';
import { type States, type Tally } from '../../src/routing/route-memory.ts';
import { DEFAULT_POLICY } from '../../src/routing/routing-policy.ts';
import { tallyOf } from '../../bench/routing/tallies.ts';
import { forAll } from '../support/for-all.ts';
import { addTallies } from '../../src/store/tables/tally-sums.ts';
import { BUCKET_MS, HOUR } from '../support/route-states.ts';

const ROUTES = ['rt_a', 'rt_b', 'rt_c'];
const RUNS = 200;

const few = fc.nat({ max: 5 });
const many = fc.oneof({ weight: 4, arbitrary: few }, { weight: 1, arbitrary: fc.nat({ max: 300 }) });
/** One part of the sums of a bucket. Log times are integers, as in the database. */
const anyPart = fc.record({
  route: fc.constantFrom(...ROUTES),
  successes: many,
  failures: fc.oneof({ weight: 9, arbitrary: many }, { weight: 1, arbitrary: fc.integer({ min: -3, max: -1 }) }),
  neutrals: many,
  probeSuccesses: fc.oneof({ weight: 5, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: few }),
  probeFailures: fc.oneof({ weight: 5, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: few }),
  timed: few,
  logMs: few,
  logMsSquared: few,
  hoursLate: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, fc.nat(100)),
  contexts: fc.array<ContextOutcomes>(
    fc.record({
      contexts: fc.record({ amount: fc.constantFrom('20-50', '50-100'), hour: fc.constantFrom('1', '2') }),
      successes: few,
      failures: few,
    }),
    { maxLength: 2 },
  ),
});
interface Part extends Omit<Tally, 'bucket' | 'starts'> {
  route: string;
  /** Hours from the start of the payments to the bucket. */
  hoursLate: number;
}
interface Bucket {
  bucket: number;
  parts: readonly Part[];
}
const anyGap = fc.oneof({ weight: 5, arbitrary: fc.integer({ min: 1, max: 3 }) }, fc.integer({ min: 1, max: 20_000 }));
const anyHistory: fc.Arbitrary<Bucket[]> = fc
  .array(fc.record({ gap: anyGap, parts: fc.array(anyPart, { minLength: 1, maxLength: 5 }) }), {
    maxLength: 25,
  })
  .map((steps) => {
    let bucket = 0;
    return steps.map(({ gap, parts }) => ({ bucket: (bucket += gap), parts }));
  });
const anyPriors: fc.Arbitrary<RoutePrior[]> = fc.tuple(
  ...ROUTES.map((id) =>
    fc.record({
      id: fc.constant(id),
      successRate: fc.oneof(fc.constant(0.85), fc.constantFrom(0, 0.5, 0.97, 1)),
      group: fc.constantFrom('card', 'card', 'wallet'),
    }),
  ),
);

function plain({ route, hoursLate, successes, failures }: Part): Part {
  return { ...tallyOf(0, 0, { successes, failures: Math.max(0, failures) }), route, hoursLate };
}

function talliesOf({ bucket, parts }: Bucket): Map<string, Tally> {
  const tallies = new Map<string, Tally>();
  for (const { route, hoursLate, ...part } of parts) {
    const tally = tallyOf(bucket, Math.floor(bucket / HOUR) - hoursLate, part);
    const before = tallies.get(route);
    tallies.set(route, before ? addTallies(before, tally) : tally);
  }
  return tallies;
}

function folded(history: readonly Bucket[], priors: readonly RoutePrior[], from: States = new Map()): States {
  return history.reduce((states, each) => fold(states, talliesOf(each), each.bucket, priors, DEFAULT_POLICY), from);
}

function endOf(history: readonly Bucket[]): number {
  return ((history.at(-1)?.bucket ?? 0) + 1) * BUCKET_MS - 1;
}

function estimates(states: States, priors: readonly RoutePrior[], nowMs: number) {
  return estimateRoutes(states, priors, nowMs, DEFAULT_POLICY);
}

/** Checks `property` for histories, configurations and a random number. */
function holds(property: (history: Bucket[], priors: RoutePrior[], seed: number) => void): void {
  forAll(RUNS, anyHistory, anyPriors, fc.nat(), property);
}

test('every estimate is a probability strictly between 0 and 1, within its bounds, with a positive weight', () => {
  holds((history, priors, later) => {
    const states = folded(history, priors);
    for (const now of [endOf(history), endOf(history) + (later % (48 * 3600_000))]) {
      for (const { p, n, low, high, fast, slow, disturbance, latency } of estimates(states, priors, now).values()) {
        assert.ok(p > 0 && p < 1 && n > 0 && Number.isFinite(n), `${p} ${n}`);
        assert.ok(0 <= low && low <= p + 1e-4 && p - 1e-4 <= high && high <= 1, `${low} ${p} ${high}`);
        assert.ok(fast.mean >= 0 && fast.mean <= 1 && fast.n >= 0);
        assert.ok(slow.mean >= 0 && slow.mean <= 1 && slow.n > 0);
        assert.ok(disturbance >= 0 && disturbance < 1);
        assert.ok(latency.p95SecondsFast === null || latency.p95SecondsFast >= 0);
      }
    }
  });
});

test('the order of outcomes within a bucket does not matter', () => {
  holds((history, priors) => {
    const turned = history.map((each) => ({ ...each, parts: each.parts.toReversed() }));
    assert.deepEqual(folded(turned, priors), folded(history, priors));
  });
});

test('folding in several runs, with the states stored in between, gives the same states to the last bit', () => {
  holds((history, priors, cut) => {
    const half = cut % (history.length + 1);
    const written = JSON.stringify([...folded(history.slice(0, half), priors)]);
    const read: States = new Map(JSON.parse(written));
    const whole = folded(history, priors);
    const resumed = folded(history.slice(half), priors, read);
    assert.deepEqual(resumed, whole);
    assert.equal(JSON.stringify([...resumed]), JSON.stringify([...whole]));
  });
});

test('a bucket that was read before it was complete can be folded again', () => {
  holds((history, priors, cut) => {
    const last = history.at(-1);
    if (!last) return;
    const before = folded(history.slice(0, -1), priors);
    const stored = JSON.stringify([...before]);
    folded([{ ...last, parts: last.parts.slice(0, cut % last.parts.length) }], priors, before);
    assert.equal(JSON.stringify([...before]), stored);
    assert.deepEqual(folded([last], priors, before), folded(history, priors));
  });
});

test('buckets without outcomes change nothing, and an estimate is the same throughout a bucket', () => {
  holds((history, priors, later) => {
    const states = folded(history, priors);
    const now = endOf(history) + 1 + BUCKET_MS * (later % 5000);
    const idle = fold(states, new Map(), Math.floor(now / BUCKET_MS), priors, DEFAULT_POLICY);
    assert.deepEqual(estimates(idle, priors, now + BUCKET_MS - 1), estimates(states, priors, now));
  });
});

// `plain` removes neutral outcomes, probes and corrections, because they count in one memory only or are negative.
// An outcome is also evidence of disturbances and of how often rates change. In about one of ten thousand random histories, that
// outweighs its own direction, by at most 6 points in 200,000 histories.
test('a success does not lower the estimate of a route, and a failure does not raise it, except in very few histories and by at most 10 points', () => {
  let reversed = 0;
  forAll(800, anyHistory, anyPriors, fc.constantFrom(...ROUTES), few, (any, priors, route, more) => {
    const history = any.map((each) => ({ ...each, parts: each.parts.map(plain) }));
    const last = history.at(-1);
    if (!last) return;
    const pWith = (extra: Partial<Tally>) => {
      const part = { ...tallyOf(0, 0, extra), route, hoursLate: 0 };
      const changed = [...history.slice(0, -1), { ...last, parts: [...last.parts, part] }];
      return estimates(folded(changed, priors), priors, endOf(history)).get(route)!.p;
    };
    const [better, same, worse] = [pWith({ successes: more }), pWith({}), pWith({ failures: more })];
    if (better < same || worse > same) reversed += 1;
    assert.ok(same - better <= 0.1 && worse - same <= 0.1, `${better} ${same} ${worse}`);
  });
  assert.ok(reversed <= 2, `${reversed} reversed`);
});

test('after a long time without outcomes the estimate returns to the configured rate', () => {
  holds((history, priors) => {
    const now = endOf(history) + 3 * 365 * 24 * 3600_000;
    const fresh = estimates(new Map(), priors, now);
    for (const [id, { p, n, slow, disturbance }] of estimates(folded(history, priors), priors, now)) {
      const untouched = fresh.get(id)!;
      assert.ok(Math.abs(p - untouched.p) <= 0.0002, `${p} ${untouched.p}`);
      assert.deepEqual([n, disturbance], [untouched.n, untouched.disturbance]);
      assert.equal(slow.n, untouched.slow.n);
    }
  });
});

test('the states of routes that are no longer configured do not change', () => {
  holds((history, priors) => {
    const states = folded(history, priors);
    const fewer = fold(states, new Map([['rt_a', tallyOf(1e6, 2777, {})]]), 1e6, priors.slice(1), DEFAULT_POLICY);
    assert.equal(fewer.get('rt_a'), states.get('rt_a'));
  });
});
