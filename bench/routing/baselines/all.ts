import type { BenchRouter } from '../world/simulate.ts';
import {
  discountedThompson,
  discountedUpperBound,
  discountedWindowThompson,
  GREEDY,
  GREEDY_RECENT,
  THOMPSON,
  windowedThompson,
  windowedUpperBound,
} from './counting.ts';
import { withAttribution, attributedName } from './attribution.ts';
import { decisionEngine, type DecisionEngineOptions } from './decision-engine.ts';
import { HYPERSWITCH_DYNAMO } from './dynamo.ts';
import { CHEAPEST_ROUTE, ORACLE, ORACLE_BY_VALUE, RANDOM, STATIC_PRIORITY } from './fixed.ts';

const DEFAULTS: DecisionEngineOptions = { bucket: 125, exploreShare: 0.05 };

// decision-engine penalises latency only if clients poll the state of an attempt, so the benchmark has variants with and without it.
const HYPERSWITCH: DecisionEngineOptions = { bucket: 200, exploreShare: 0.05, eliminationThreshold: 0.35 };

/** decision-engine with its defaults, the router to compare with. */
export const DECISION_ENGINE = decisionEngine('decision-engine SRv3 B125 h5 %', DEFAULTS);

const DECISION_ENGINE_BY_VALUE = decisionEngine('decision-engine by expected value', {
  ...DEFAULTS,
  byValue: true,
});

const ENGINE_VARIANTS: readonly [name: string, options: DecisionEngineOptions][] = [
  [DECISION_ENGINE.name, DEFAULTS],
  ['decision-engine + 3 sigma reset', { ...DEFAULTS, resets: true }],
  ['decision-engine auto-calibrated', { ...DEFAULTS, calibrates: true }],
  ['Hyperswitch B200 h5 %, latency 90 s', { ...HYPERSWITCH, latencySeconds: 90 }],
  ['Hyperswitch B200 h5 %, no latency', HYPERSWITCH],
];

const TEXTBOOK: readonly BenchRouter[] = [
  windowedThompson(2000),
  discountedWindowThompson(0.999, 50),
  discountedThompson(0.9995),
  discountedThompson(0.99),
  windowedUpperBound(2000, 0.05),
  discountedUpperBound(0.998, 0.3),
  windowedUpperBound(200, 0.5),
  discountedUpperBound(0.6, 2),
  THOMPSON,
  GREEDY_RECENT,
  GREEDY,
  HYPERSWITCH_DYNAMO,
];

/** Routers from papers and other projects, with which the benchmark compares Tillway. */
export const BASELINES: readonly BenchRouter[] = [
  ORACLE,
  STATIC_PRIORITY,
  RANDOM,
  ...TEXTBOOK,
  ...ENGINE_VARIANTS.map(([name, options]) => decisionEngine(name, options)),
];

/** The learning baselines with attribution, that is without failures caused by buyers and issuers. */
export const ATTRIBUTED_BASELINES: readonly BenchRouter[] = [
  ...TEXTBOOK.map((entry) => withAttribution(entry)),
  ...ENGINE_VARIANTS.map(([name, options]) => decisionEngine(attributedName(name), { ...options, attributes: true })),
];

/** Baselines for runs in which the costs of the routes count. */
export const ECONOMIC_BASELINES: readonly BenchRouter[] = [ORACLE_BY_VALUE, CHEAPEST_ROUTE, DECISION_ENGINE_BY_VALUE];
