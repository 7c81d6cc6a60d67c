import { type RandomStream, randomStream } from '../world/random.ts';
import type { BenchRouter } from '../world/simulate.ts';
import { bestArm, rewardOf } from './arms.ts';
import { betaDraw } from './beta.ts';
import { type OutcomeCounts, discountedCounts, windowedCounts, windowedCountsByArm } from './counts.ts';

/** Computes the index of an arm, by which the arms are ranked. `known` is the number of outcomes so far. */
type ArmIndex = (arm: number, memory: { counts: OutcomeCounts; random: RandomStream; known: number }) => number;

/** An algorithm that counts successes and failures, and chooses the arm with the highest index. */
function counting(name: string, countsOf: (arms: number) => OutcomeCounts, index: ArmIndex): BenchRouter {
  return {
    name,
    create({ arms, seed }) {
      const random = randomStream(seed);
      const memory = { counts: countsOf(arms), random, known: 0 };
      const indexOf = (arm: number): number => index(arm, memory);
      return {
        choose: (_payment, excluded) => bestArm(arms, excluded, random, indexOf),
        learn(outcome) {
          memory.known += 1;
          memory.counts.add(outcome.arm, rewardOf(outcome));
        },
      };
    },
  };
}

/** The mean reward of an arm; Infinity for an arm without outcomes, so that it is chosen first. */
const meanReward: ArmIndex = (arm, { counts: { successes, failures } }) => {
  const tries = successes[arm]! + failures[arm]!;
  return tries === 0 ? Infinity : successes[arm]! / tries;
};

const posteriorDraw: ArmIndex = (arm, { counts, random }) =>
  betaDraw(random, counts.successes[arm]!, counts.failures[arm]!);

export const GREEDY: BenchRouter = counting('greedy, all time', (arms) => discountedCounts(arms, 1), meanReward);

export const GREEDY_RECENT: BenchRouter = counting(
  'greedy, last 100 of a route',
  (arms) => windowedCountsByArm(arms, 100),
  meanReward,
);

/** Thompson 1933, Biometrika 25, doi:10.2307/2332286; with a beta belief, Chapelle and Li, NIPS 2011. */
export const THOMPSON: BenchRouter = counting('Thompson sampling', (arms) => discountedCounts(arms, 1), posteriorDraw);

/** Discounted Thompson sampling (D-TS): Raj and Kalyani, arXiv 1707.09727. */
export function discountedThompson(keep: number): BenchRouter {
  return counting(`D-TS ${keep}`, (arms) => discountedCounts(arms, keep), posteriorDraw);
}

/** Sliding-window Thompson sampling (SW-TS): Trovo, Paladino, Restelli and Gatti, doi:10.1613/jair.1.11407; arXiv 2409.05181. */
export function windowedThompson(size: number): BenchRouter {
  return counting(`SW-TS W${size}`, (arms) => windowedCounts(arms, size), posteriorDraw);
}

/** Sliding-window UCB (SW-UCB): Garivier and Moulines, arXiv 0805.3415, section 3.2: X + sqrt(xi ln min(t, W) / N). */
export function windowedUpperBound(size: number, xi: number): BenchRouter {
  return counting(
    `SW-UCB W${size} xi ${xi}`,
    (arms) => windowedCounts(arms, size),
    (arm, { counts: { successes, failures }, known }) => {
      const tries = successes[arm]! + failures[arm]!;
      if (tries === 0) return Infinity;
      return successes[arm]! / tries + Math.sqrt((xi * Math.log(Math.min(known, size))) / tries);
    },
  );
}

/** Discounted UCB (D-UCB): Garivier and Moulines, arXiv 0805.3415, section 3.1: X + bonus sqrt(xi ln n / N), all sums discounted. */
export function discountedUpperBound(keep: number, bonus: number, xi = 0.5): BenchRouter {
  return {
    name: `D-UCB ${keep} B ${bonus}`,
    create({ arms, seed }) {
      const random = randomStream(seed);
      const counts = discountedCounts(arms, keep);
      const { successes, failures } = counts;
      let all = 0;
      const index = (arm: number): number => {
        const tries = successes[arm]! + failures[arm]!;
        if (tries === 0) return Infinity;
        return successes[arm]! / tries + bonus * Math.sqrt((xi * Math.max(0, Math.log(all))) / tries);
      };
      return {
        choose: (_payment, excluded) => bestArm(arms, excluded, random, index),
        learn(outcome) {
          counts.add(outcome.arm, rewardOf(outcome));
          all = all * keep + 1;
        },
      };
    },
  };
}

/**
 * f-dsw TS with f = max: Cavenaghi, Sottocornola, Stella and Zanker, Entropy 23(3) (2021), doi:10.3390/e23030380. The index of an
 * arm is the higher of two draws: one from its discounted history and one from its last outcomes.
 */
export function discountedWindowThompson(keep: number, size: number): BenchRouter {
  return {
    name: `f-dsw TS max ${keep}/${size}`,
    create({ arms, seed }) {
      const random = randomStream(seed);
      const discounted = discountedCounts(arms, keep);
      const recent = windowedCountsByArm(arms, size);
      const draw = ({ successes, failures }: OutcomeCounts, arm: number) =>
        betaDraw(random, successes[arm]!, failures[arm]!);
      const index = (arm: number): number => Math.max(draw(discounted, arm), draw(recent, arm));
      return {
        choose: (_payment, excluded) => bestArm(arms, excluded, random, index),
        learn(outcome) {
          discounted.add(outcome.arm, rewardOf(outcome));
          recent.add(outcome.arm, rewardOf(outcome));
        },
      };
    },
  };
}
