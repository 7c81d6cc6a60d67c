import type { WorldBriefing } from '../contender.ts';
import { randomStream } from '../world/random.ts';
import type { BenchRouter } from '../world/simulate.ts';
import { randomArm, bestArm, rewardOf } from './arms.ts';
import { createCalibration } from './calibration.ts';
import { createElimination, createOverdueAttempts } from './elimination.ts';
import { scoreWindow } from './score-window.ts';

/** Settings of the SR-based router "SRv3" of juspay/decision-engine (https://github.com/juspay/decision-engine). */
export interface DecisionEngineOptions {
  /** Number of outcomes in the score of a route. */
  bucket: number;
  /** Share of the payments that go to a random route ("hedging"). */
  exploreShare: number;
  /** Raises the score of a route that has fallen behind to three standard deviations below the best score. */
  resets?: boolean;
  /** Threshold of the downtime score: below it, the score of the route is divided by 5. */
  eliminationThreshold?: number;
  /** Time without an outcome after which an attempt counts as a failure. */
  latencySeconds?: number;
  /** Recalibrates bucket size and exploration share every 15 minutes from the payment volume. */
  calibrates?: boolean;
  /** Ignores failures whose code names the buyer or the issuer; off by default in decision-engine. */
  attributes?: boolean;
  /** Ranks routes by score times (margin - cost). */
  byValue?: boolean;
}

const ELIMINATED_DIVISOR = 5;
const RESET_DEVIATIONS = 3;
const LEAST_VARIANCE = 0.09;

/**
 * The algorithm of decision-engine reimplemented from its published behaviour. Score: mean of the last outcomes, filled
 * with successes at first (src/feedback/gateway_selection_scoring_v3/flow.rs); hedging, reset and elimination
 * (src/decider/gatewaydecider/gw_scoring.rs, constants.rs); expected value (multi_objective/algorithm.rs);
 * attribution by error code (src/feedback/gateway_scoring_service.rs).
 */
export function decisionEngine(name: string, options: DecisionEngineOptions): BenchRouter {
  return { name, create: (world) => createRouter(world, options) };
}

function createRouter(
  { arms, seed, margin, costs }: WorldBriefing,
  options: DecisionEngineOptions,
): ReturnType<BenchRouter['create']> {
  const random = randomStream(seed);
  const windows = Array.from({ length: arms }, () => scoreWindow(options.bucket));
  const downtime =
    options.eliminationThreshold === undefined ? undefined : createElimination(arms, options.eliminationThreshold);
  const overdue = options.latencySeconds === undefined ? undefined : createOverdueAttempts(options.latencySeconds);
  const calibrated = options.calibrates ? createCalibration(arms, options) : undefined;

  const learnReward = (arm: number, reward: number, at: number): void => {
    windows[arm]!.add(reward);
    downtime?.add(arm, reward, at);
  };
  const penalise = (arm: number, at: number): void => learnReward(arm, 0, at);
  const liftLaggards = (): void => {
    const best = Math.max(...windows.map((window) => window.mean()));
    const deviation = Math.sqrt(Math.max(LEAST_VARIANCE, best * (1 - best)) / options.bucket);
    const lowest = best - RESET_DEVIATIONS * deviation;
    for (const window of windows) if (window.mean() < lowest) window.rewrite(lowest);
  };
  const scoreOf = (arm: number, now: number): number => {
    const score = windows[arm]!.mean() / (downtime?.isOut(arm, now) ? ELIMINATED_DIVISOR : 1);
    return options.byValue ? score * (margin - costs[arm]!) : score;
  };

  return {
    choose(payment, excluded) {
      overdue?.sweep(payment.at, penalise);
      if (calibrated?.count(payment.at)) for (const window of windows) window.resize(calibrated.bucket());
      if (options.resets) liftLaggards();
      const exploreShare = calibrated?.exploreShare() ?? options.exploreShare;
      const arm =
        random.uniform() < exploreShare
          ? randomArm(arms, excluded, random)
          : bestArm(arms, excluded, random, (each) => scoreOf(each, payment.at));
      overdue?.start(payment, arm);
      return arm;
    },
    learn(outcome) {
      overdue?.sweep(outcome.at, penalise);
      const wasPenalised = overdue?.finish(outcome) ?? false;
      if (options.attributes && outcome.result === 'buyer_failure') return;
      const reward = rewardOf(outcome);
      if (!wasPenalised || reward === 1) learnReward(outcome.arm, reward, outcome.at);
    },
  };
}
