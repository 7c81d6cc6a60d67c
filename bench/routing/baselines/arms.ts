import type { BenchOutcome } from '../contender.ts';
import type { Random } from '../world/random.ts';

/** 1 for a paid payment, 0 for any other: what the published algorithms are rewarded with. */
export function rewardOf(outcome: BenchOutcome): number {
  return outcome.result === 'paid' ? 1 : 0;
}

/** The arm of the highest index among those that are not excluded; equals are drawn by lot. */
export function bestArm(
  arms: number,
  excluded: ReadonlySet<number> | undefined,
  random: Random,
  index: (arm: number) => number,
): number {
  let best = -1;
  let highest = -Infinity;
  let equals = 1;
  for (let arm = 0; arm < arms; arm += 1) {
    if (excluded?.has(arm)) continue;
    const value = index(arm);
    if (value > highest || best === -1) {
      best = arm;
      highest = value;
      equals = 1;
    } else if (value === highest) {
      equals += 1;
      if (random.uniform() * equals < 1) best = arm;
    }
  }
  if (best === -1) throw new Error('every arm is excluded');
  return best;
}

/** Any arm that is not excluded, all as likely. */
export function anyArm(arms: number, excluded: ReadonlySet<number> | undefined, random: Random): number {
  return bestArm(arms, excluded, random, () => 0);
}
