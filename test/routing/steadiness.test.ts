import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { estimateRoutes, fold } from '../../src/routing/estimate.ts';
import { type States, withoutFastMemory } from '../../src/routing/route-memory.ts';
import { DEFAULT_POLICY } from '../../src/routing/routing-policy.ts';
import { BUCKET_MS, HOUR, type Period, THREE, pseudoRandom, statesAfter, tallyAt } from '../support/route-states.ts';

describe('the steadiness of the routes', () => {
  const { above, most } = DEFAULT_POLICY.estimate.steadiness;
  const worse: Period[] = [
    [HOUR, { rt_a: { successes: 8, failures: 2 }, rt_b: { successes: 9, failures: 1 }, rt_c: { successes: 1 } }],
    [30, { rt_a: { successes: 7, failures: 3 }, rt_b: { successes: 8, failures: 2 }, rt_c: { failures: 1 } }],
  ];

  function withSteadiness(states: States, ...values: number[]): States {
    return new Map([...states].map(([id, state], i) => [id, { ...state, steadiness: values[i]! }]));
  }

  function steadinessOf(states: States): number[] {
    return [...states.values()].map(({ steadiness }) => steadiness);
  }

  /** States after hours of pseudo-random outcomes at the rates of `rateOf`: for each route, `count` outcomes in one of `every` buckets. */
  function randomHours(
    hours: number,
    rateOf: (id: string, hour: number) => number,
    { every, count } = { every: 10, count: 10 },
  ): States {
    const random = pseudoRandom();
    let states: States = new Map();
    for (let bucket = 0; bucket < hours * HOUR; bucket += every) {
      const tallies = THREE.map(({ id }) => {
        const rate = rateOf(id, Math.floor(bucket / HOUR));
        const successes = Array.from({ length: count }, random).filter((value) => value < rate).length;
        return [id, tallyAt(bucket, { successes, failures: count - successes })] as const;
      });
      states = fold(states, new Map(tallies), bucket, THREE, DEFAULT_POLICY);
    }
    return states;
  }

  test('the steadier the routes are together, the larger is the prior weight of the slow estimate', () => {
    const states = statesAfter(worse);
    const now = (HOUR + 30) * BUCKET_MS;
    const half = (above + most) / 2;
    const cases: [steadiness: number[], weight: number][] = [
      [[0, 0, 0], 30],
      [[above, 0, 0], 30],
      [[0, half, 0], 115],
      [[half / 2, half / 4, half / 4], 115],
      [[most, 0, 0], 200],
      [[most, most, most], 200],
      [[most, most, half - most], 115],
      [[most, most, above - most], 30],
      [[-most, -most, -most], 30],
    ];
    for (const [steadiness, weight] of cases) {
      const fixed = { ...DEFAULT_POLICY.estimate, fastPriorWeight: { least: weight, most: weight } };
      assert.deepEqual(
        estimateRoutes(withSteadiness(states, ...steadiness), THREE, now, DEFAULT_POLICY),
        estimateRoutes(states, THREE, now, { ...DEFAULT_POLICY, estimate: fixed }),
        String(steadiness),
      );
    }
  });

  test('routes whose rates stay the same for a day are steady', () => {
    const steadiness = steadinessOf(randomHours(24, () => 0.9));
    assert.ok(steadiness.reduce((sum, each) => sum + each, 0) > most, String(steadiness));
    assert.ok(steadinessOf(randomHours(96, () => 0.9)).every((each) => each <= most));
  });

  test('a route whose rate changes every hour becomes restless, and steady again when it stops changing', () => {
    const restless = randomHours(48, (id, hour) => (id === 'rt_a' && hour % 2 === 0 ? 0.75 : 0.95));
    const [changing, ...others] = steadinessOf(restless);
    assert.ok(changing! < -most / 2 && others.every((each) => each > above), `${changing} ${String(others)}`);
    const [later] = steadinessOf(
      randomHours(120, (id, hour) => (id === 'rt_a' && hour % 2 === 0 && hour < 48 ? 0.75 : 0.95)),
    );
    assert.ok(later! > 0, `${later}`);
  });

  test('few outcomes show little about the steadiness of a route', () => {
    const [few, ...others] = steadinessOf(randomHours(240, () => 0.9, { every: 48, count: 1 }));
    assert.ok(
      [few!, ...others].every((each) => Math.abs(each) < above / 3),
      `${few} ${String(others)}`,
    );
  });

  test('outages, probes, reversed failures and a recovery do not make a route restless', () => {
    const better = [...worse, [60, { rt_a: { successes: 1 } }]] satisfies Period[];
    const cases: [before: Period[], event: Period][] = [
      [worse, [1, { rt_a: { failures: 40 } }]],
      [worse, [12, { rt_a: { probeSuccesses: 3, probeFailures: 3 } }]],
      [better, [12, { rt_a: { failures: -1 } }]],
    ];
    for (const [before, event] of cases) {
      const [first, after] = [before, [...before, event]].map((periods) => steadinessOf(statesAfter(periods))[0]!);
      assert.ok(after! > first! - 0.1, `${after} after ${JSON.stringify(event)}`);
    }
    const states = statesAfter(worse);
    const steady = withSteadiness(states, most).get('rt_a')!;
    assert.equal(withoutFastMemory(steady).steadiness, most);
  });

  test('a route whose neutral outcomes count against it shows nothing about its steadiness', () => {
    const suspect: Period = [50, { rt_a: { successes: 5, neutrals: 5 }, rt_b: { successes: 7, neutrals: 1 } }];
    const states = withSteadiness(statesAfter([suspect]), 0, 0);
    const [steadiness] = steadinessOf(statesAfter([suspect], THREE, states, 50));
    assert.equal(steadiness, 0);
  });

  test('the steadiness of a route fades without outcomes', () => {
    const states = withSteadiness(statesAfter(worse), most, most, most);
    const estimatesOf = (of: States) => estimateRoutes(of, THREE, HOUR * 24 * 365 * BUCKET_MS, DEFAULT_POLICY);
    assert.deepEqual(estimatesOf(states), estimatesOf(withSteadiness(states, 0, 0, 0)));
  });
});
