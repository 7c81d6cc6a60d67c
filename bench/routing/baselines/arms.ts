import type { BenchOutcome } from '../contender.ts';
import type { RandomStream } from '../world/random.ts';

/** Reward of the published algorithms: 1 for a paid payment, 0 for any other. */
export function rewardOf(outcome: BenchOutcome): number {
  return outcome.result === 'paid' ? 1 : 0;
}

/** The arm with the highest `index` value among the arms that are not excluded; ties are broken at random. */
export function bestArm(
  arms: number,
  excluded: ReadonlySet<number> | undefined,
  random: RandomStream,
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

/** A random arm that is not excluded, with equal probabilities. */
export function randomArm(arms: number, excluded: ReadonlySet<number> | undefined, random: RandomStream): number {
  return bestArm(arms, excluded, random, () => 0);
}
