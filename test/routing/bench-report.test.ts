import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { DECISION_ENGINE } from '../../bench/routing/baselines/all.ts';
import { ORACLE, ORACLE_BY_VALUE, RANDOM, STATIC_PRIORITY } from '../../bench/routing/baselines/fixed.ts';
import type { Figures, Measured } from '../../bench/routing/report/measure.ts';
import { entriesOf, OURS, OURS_UNATTRIBUTED, type Results } from '../../bench/routing/report/plan.ts';
import { readme } from '../../bench/routing/report/readme.ts';
import { differenceOf, estimateOf, quantile } from '../../bench/routing/report/statistics.ts';
import { SCENARIOS, type Scenario } from '../../bench/routing/world/scenarios.ts';

const SEEDS = [1, 2];

/** Figures of two worlds around a mean regret. */
function figures(name: string, regret: number): Figures {
  const around = (middle: number) => [middle - 0.001, middle + 0.001];
  return {
    name,
    regret: around(regret),
    successRate: around(0.9 - regret),
    cost: around(0.02),
    value: around(0.12 - regret),
    microseconds: [1, 1],
  };
}

function measuredOf(scenario: Scenario, regrets: Record<string, number>): Measured {
  const contenders = entriesOf(scenario).map(({ name }) => figures(name, regrets[name] ?? 0.05));
  return { scenario: scenario.name, payments: 10, seeds: SEEDS, contenders };
}

/** Results in which our router has the given regret, decision-engine 0.02, chance 0.08 and all others 0.05. */
function resultsWith(ours: number): Results {
  const regrets = {
    [OURS.name]: ours,
    [OURS_UNATTRIBUTED.name]: ours,
    [ORACLE.name]: 0,
    [RANDOM.name]: 0.08,
    [DECISION_ENGINE.name]: 0.02,
    [STATIC_PRIORITY.name]: 0.001,
  };
  const economic = [figures(OURS.name, ours), figures(ORACLE_BY_VALUE.name, 0)];
  const failover = { scenario: 'PAY', payments: 10, seeds: SEEDS, contenders: economic };
  return {
    scenarios: Object.values(SCENARIOS).map((scenario) => measuredOf(scenario, regrets)),
    economics: [{ ...failover, margin: 0.15 }],
    failover: { without: failover, with: failover },
  };
}

function pageOf(ours: number): string {
  const choiceCosts = [{ routes: 5, p50Microseconds: 1, p99Microseconds: 3 }];
  const memory = [1000, 3048].map((payments) => ({ payments, kilobytes: payments / 100 }));
  return readme({ results: resultsWith(ours), choiceCosts, memory, minutes: 5 });
}

function sectionOf(page: string, heading: string): string {
  return page.split('\n## ').find((section) => section.startsWith(heading))!;
}

describe('statistics of the benchmark', () => {
  test('the standard error is the deviation over the root of the count', () => {
    assert.deepEqual(estimateOf([1, 2, 3]), { mean: 2, error: Math.sqrt(1 / 3) });
  });

  test('compares two contenders within each world', () => {
    assert.deepEqual(differenceOf([1, 5], [0, 4]), { mean: 1, error: 0 });
  });

  test('a quantile of a share has that share of the values below it', () => {
    const values = Float64Array.from({ length: 100 }, (_, place) => 100 - place);
    assert.deepEqual([quantile(values, 0.5), quantile(values, 0.99), quantile(values, 1)], [51, 100, 100]);
  });
});

describe('the page of the benchmark', () => {
  test('reports the regret of our router and of decision-engine', () => {
    const page = pageOf(0.01);
    assert.match(page, /regret of \*\*1\.00 ± 0\.10 pp\*\* against \*\*2\.00 ± 0\.10 pp\*\*/);
    assert.match(page, /ratio 0\.50/);
  });

  test('lists every contender that is ahead of our router, with the difference', () => {
    const section = sectionOf(pageOf(0.03), 'Scenarios in which another router is better');
    assert.match(
      section,
      /- PAY, tillway with 3\.00 pp: behind .*decision-engine SRv3 B125 h5 % \(2\.00; 1\.00 ± 0\.00 less\)/,
    );
    // Static priority knows the true rates in STATIC only.
    assert.match(section, /- GM11, .*static priority/);
    assert.match(section, /- STATIC, .*decision-engine/);
    assert.doesNotMatch(section, /- STATIC, .*static priority/);
    assert.doesNotMatch(section, /oracle/);
  });

  test('marks the missed targets', () => {
    assert.doesNotMatch(sectionOf(pageOf(0.0001), 'Targets'), /missed/);
    const missed = sectionOf(pageOf(0.03), 'Targets');
    assert.match(missed, /\| PAY regret \| 3\.00 \| 0\.90 \| \*\*missed\*\* \|/);
    assert.match(missed, /\| PAYLOW regret \| 3\.00 \| 3\.90 \| met \|/);
    assert.match(missed, /\| PAY value captured \|.*\*\*missed\*\*/);
  });
});
