import { ORACLE_BY_VALUE } from '../baselines/fixed.ts';
import type { ScenarioName } from '../world/scenarios.ts';
import { type RouterFigures, gapCaptured, type ScenarioResult, valueCaptured } from './measure.ts';
import { meanWithError } from './statistics.ts';

/** Upper limits for the mean pseudo-regret of Tillway's router, as fractions. GM11 does not resemble payments and has no target. */
export const REGRET_TARGETS: Partial<Record<ScenarioName, number>> = {
  PAY: 0.009,
  PAYHIGH: 0.0036,
  PAYLOW: 0.039,
  LATEOUTAGE: 0.022,
  PAYATTR: 0.0085,
  SWITCH: 0.018,
  STATIC: 0.005,
  ISSUERS: 0.0045,
  ISSUERBURSTS: 0.006,
  SMALL: 0.032,
  BAND: 0.006,
  COUNTRY: 0.006,
  GROUPS: 0.008,
  TRANSFERS: 0.07,
  RESTLESS: 0.07,
  UNSETTLED: 0.03,
};
/** Upper limit of the regret in MEANINGLESS less that in PAY: the cost of contexts that mean nothing. */
const MEANINGLESS_TARGET = 0.0005;
/** Lower limits: captured gap between random choice and oracle in PAY, and captured value of the oracle at a margin of 15 %. */
const GAP_TARGET = 0.88;
const VALUE_TARGET = 0.99;
export const VALUE_TARGET_MARGIN = 0.15;
/** Upper limit of the 99th percentile of the time of one `choose()` with the largest number of routes, on a quiet machine. */
export const CHOICE_TARGET_MICROSECONDS = 20;

export interface TargetVerdict {
  what: string;
  measured: number;
  limit: number;
  isMet: boolean;
}

/** Compares the regret of a contender with the target of the scenario; `slack` is the share by which the target may be exceeded. */
export function regretVerdict(measured: ScenarioResult, figures: RouterFigures, slack = 0): TargetVerdict {
  const target = REGRET_TARGETS[measured.scenario as ScenarioName];
  if (target === undefined) throw new Error(`${measured.scenario} has no target`);
  const { mean } = meanWithError(figures.regret);
  const limit = target * (1 + slack);
  return { what: `${measured.scenario} regret`, measured: mean, limit, isMet: mean <= limit };
}

/** Compares the additional regret of a contender in MEANINGLESS with its target. */
export function meaninglessVerdict(pay: RouterFigures, meaningless: RouterFigures): TargetVerdict {
  const added = meanWithError(meaningless.regret).mean - meanWithError(pay.regret).mean;
  const limit = MEANINGLESS_TARGET;
  return { what: 'MEANINGLESS regret less that of PAY', measured: added, limit, isMet: added <= limit };
}

/** Compares the captured gap with its target; `slack` 0.2 allows a difference to 1 that is 20 % larger than that of the target. */
export function gapVerdict(measured: ScenarioResult, figures: RouterFigures, slack = 0): TargetVerdict {
  const captured = gapCaptured(measured, figures);
  const limit = 1 - (1 - GAP_TARGET) * (1 + slack);
  return { what: `${measured.scenario} gap captured`, measured: captured, limit, isMet: captured >= limit };
}

/** Compares the captured value with its target; `slack` 0.2 allows a difference to 1 that is 20 % larger than that of the target. */
export function valueVerdict(measured: ScenarioResult, figures: RouterFigures, slack = 0): TargetVerdict {
  const captured = valueCaptured(measured, figures, ORACLE_BY_VALUE.name);
  const limit = 1 - (1 - VALUE_TARGET) * (1 + slack);
  return { what: `${measured.scenario} value captured`, measured: captured, limit, isMet: captured >= limit };
}
