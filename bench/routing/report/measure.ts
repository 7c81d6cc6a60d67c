import { ORACLE, RANDOM } from '../baselines/fixed.ts';
import { drawWorld } from '../world/environment.ts';
import type { Scenario } from '../world/scenarios.ts';
import { type BenchRouter, type SimulationOptions, type SimulationResult, simulate } from '../world/simulate.ts';
import { sum } from './statistics.ts';

/** Results of one contender, as defined in `SimulationResult`; each array has one value per seed. */
export interface RouterFigures {
  name: string;
  /** Fraction of payments paid. */
  successRate: number[];
  regret: number[];
  cost: number[];
  value: number[];
  microseconds: number[];
}

export interface ScenarioResult {
  scenario: string;
  /** Payments in each world. */
  payments: number;
  seeds: readonly number[];
  contenders: RouterFigures[];
}

export interface MeasureOptions extends SimulationOptions {
  /** Number of payments per world; by default that of the scenario. */
  payments?: number;
}

export function seedsFrom(first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, place) => first + place);
}

/** Runs every contender in the same worlds, one world at a time. */
export function measure(
  scenario: Scenario,
  seeds: readonly number[],
  entries: readonly BenchRouter[],
  { payments = scenario.payments, ...options }: MeasureOptions = {},
): ScenarioResult {
  const contenders = entries.map(({ name }): RouterFigures => {
    return { name, successRate: [], regret: [], cost: [], value: [], microseconds: [] };
  });
  for (const seed of seeds) {
    const environment = drawWorld(scenario, seed, payments);
    for (const [place, entry] of entries.entries()) {
      addResult(contenders[place]!, simulate(environment, entry, options));
    }
  }
  return { scenario: scenario.name, payments, seeds, contenders };
}

function addResult(figures: RouterFigures, result: SimulationResult): void {
  figures.successRate.push(result.successRate);
  figures.regret.push(result.regret);
  figures.cost.push(result.cost);
  figures.value.push(result.value);
  figures.microseconds.push(result.secondsPerPayment * 1e6);
}

export function figuresOf(measured: ScenarioResult, name: string): RouterFigures {
  const found = measured.contenders.find((each) => each.name === name);
  if (!found) throw new Error(`${name} did not take part in ${measured.scenario}`);
  return found;
}

/** Share of the gap in paid payments between random choice and oracle that a contender closed, over all worlds. */
export function gapCaptured(measured: ScenarioResult, { successRate }: RouterFigures): number {
  const [chance, best] = [RANDOM, ORACLE].map(({ name }) => sum(figuresOf(measured, name).successRate)) as [
    number,
    number,
  ];
  return (sum(successRate) - chance) / (best - chance);
}

/** Value of a contender over all worlds, as a share of the value of the contender `best`. */
export function valueCaptured(measured: ScenarioResult, { value }: RouterFigures, best: string): number {
  return sum(value) / sum(figuresOf(measured, best).value);
}
