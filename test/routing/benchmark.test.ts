import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { DECISION_ENGINE } from '../../bench/routing/baselines/all.ts';
import { ORACLE, ORACLE_BY_VALUE, RANDOM } from '../../bench/routing/baselines/fixed.ts';
import { type RouterFigures, figuresOf, measure, type ScenarioResult } from '../../bench/routing/report/measure.ts';
import { entriesOf, TILLWAY, TILLWAY_UNATTRIBUTED, type BenchmarkResults } from '../../bench/routing/report/plan.ts';
import { TILLWAY_SERVICE } from '../../bench/routing/tillway-service.ts';
import {
  gapVerdict,
  meaninglessVerdict,
  REGRET_TARGETS,
  regretVerdict,
  VALUE_TARGET_MARGIN,
  valueVerdict,
} from '../../bench/routing/report/targets.ts';
import { SCENARIOS, type Scenario, type ScenarioName } from '../../bench/routing/world/scenarios.ts';
import type { BenchRouter } from '../../bench/routing/world/simulate.ts';
import { ONLY_IN_FULL_RUN } from '../support/for-all.ts';

const SLACK = 0.2;
/** Scenarios that run quickly; a test below repeats STATIC with costs. */
const REPEATED: readonly [ScenarioName, BenchRouter][] = [
  ['PAYLOW', TILLWAY],
  ['PAYLOW', TILLWAY_SERVICE],
  ['SWITCH', TILLWAY],
];

const published = JSON.parse(
  readFileSync(new URL('../../docs/routing-benchmark/results.json', import.meta.url), 'utf8'),
) as BenchmarkResults;

function publishedOf(scenario: string): ScenarioResult {
  return published.scenarios.find((each) => each.scenario === scenario)!;
}

describe('the published results of our router', () => {
  for (const name of Object.keys(REGRET_TARGETS)) {
    test(`scenario ${name}: the router’s regret is within a fifth of the target, and the regret of random choice exceeds it`, () => {
      const regretOf = (contender: string) =>
        regretVerdict(publishedOf(name), figuresOf(publishedOf(name), contender), SLACK);
      assert.partialDeepStrictEqual(regretOf(TILLWAY.name), { isMet: true });
      assert.equal(regretOf(RANDOM.name).isMet, false);
      // A router that counts buyers' failures against the routes has more regret.
      if (name === 'PAYATTR') assert.ok(regretOf(TILLWAY_UNATTRIBUTED.name).measured > regretOf(TILLWAY.name).measured);
    });
  }

  test('scenario MEANINGLESS: contexts that mean nothing cost our router at most its target, and choosing by group costs decision-engine more', () => {
    const verdictOf = (name: string, byContext = name) =>
      meaninglessVerdict(figuresOf(publishedOf('PAY'), name), figuresOf(publishedOf('MEANINGLESS'), byContext));
    assert.partialDeepStrictEqual(verdictOf(TILLWAY.name), { isMet: true });
    assert.equal(verdictOf(DECISION_ENGINE.name, `${DECISION_ENGINE.name}, by group`).isMet, false);
  });

  test('scenario PAY: our router captures its target share of the gap between random choice and oracle', () => {
    const gapOf = (contender: string) => gapVerdict(publishedOf('PAY'), figuresOf(publishedOf('PAY'), contender));
    assert.partialDeepStrictEqual(gapOf(TILLWAY.name), { isMet: true });
    assert.equal(gapOf(RANDOM.name).isMet, false);
  });

  test('scenario PAY with costs: our router captures its target share of the value, and the cheapest route does not', () => {
    const economics = published.economics.find(
      (each) => each.scenario === 'PAY' && each.margin === VALUE_TARGET_MARGIN,
    )!;
    const valueOf = (contender: string) => valueVerdict(economics, figuresOf(economics, contender));
    assert.partialDeepStrictEqual(valueOf(TILLWAY.name), { isMet: true });
    assert.equal(valueOf('cheapest').isMet, false);
  });
});

describe('our router in a world of the benchmark', ONLY_IN_FULL_RUN, () => {
  for (const [name, router] of REPEATED) {
    test(`scenario ${name}: the regret of ${router.name} exceeds the published regret by at most a fifth, and random choice exceeds it by more`, () => {
      const seed = publishedOf(name).seeds[0]!;
      const measured = measure(SCENARIOS[name], [seed], [router, RANDOM]);
      const [expected, regret, chance] = [
        figuresOf(publishedOf(name), router.name),
        figuresOf(measured, router.name),
        figuresOf(measured, RANDOM.name),
      ].map((figures) => figures.regret[0]!);
      assert.ok(regret! <= expected! * (1 + SLACK), `${regret}, published: ${expected}`);
      assert.ok(chance! > expected! * (1 + SLACK));
    });
  }

  test('scenario STATIC with costs: our router captures its target share of the value; random choice and an oracle without costs do not', () => {
    const options = { payments: SCENARIOS.STATIC.payments / 2, margin: VALUE_TARGET_MARGIN, failover: true };
    const measured = measure(SCENARIOS.STATIC, [401], [TILLWAY, ORACLE, RANDOM, ORACLE_BY_VALUE], options);
    const isMet = ({ name }: { name: string }) => valueVerdict(measured, figuresOf(measured, name), SLACK).isMet;
    assert.deepEqual([TILLWAY, ORACLE, RANDOM].map(isMet), [true, false, false]);
  });
});

/** The published figures depend on every number of a world and on every choice of a contender. */
describe('the first published world', ONLY_IN_FULL_RUN, () => {
  function assertRepeated(scenario: Scenario, entries: readonly BenchRouter[]): void {
    const expected = publishedOf(scenario.name);
    const measured = measure(scenario, [expected.seeds[0]!], entries);
    const firstOf = ({ name, successRate, regret, cost }: RouterFigures) => [
      name,
      ...[successRate, regret, cost].map(([first]) => first!.toFixed(6)),
    ];
    assert.deepEqual(
      measured.contenders.map(firstOf),
      entries.map(({ name }) => firstOf(figuresOf(expected, name))),
    );
  }

  for (const scenario of Object.values<Scenario>(SCENARIOS)) {
    test(`scenario ${scenario.name}: contenders that do not learn have the published figures`, () => {
      assertRepeated(scenario, [ORACLE, RANDOM]);
    });
  }

  test('scenario GM11: every baseline has the published figures', () => {
    assertRepeated(
      SCENARIOS.GM11,
      entriesOf(SCENARIOS.GM11).filter(({ name }) => name !== TILLWAY.name),
    );
  });
});
