import { randomStream } from '../world/random.ts';
import type { BenchRouter } from '../world/simulate.ts';
import { randomArm, bestArm, rewardOf } from './arms.ts';

const BLOCK_SIZE = 5;
const MOST_BLOCKS = 8;
const LEAST_OUTCOMES = 5;
const DEFAULT_SCORE = 1;
const EXPLORE_SHARE = 0.2;

interface Block {
  successes: number;
  outcomes: number;
}

/** The success rate over the newest blocks of one arm; 100 % before its first block. */
function blockScore(): { score(): number; add(reward: number): void } {
  let blocks: Block[] = [];
  return {
    score() {
      const outcomes = blocks.reduce((sum, block) => sum + block.outcomes, 0);
      if (outcomes < LEAST_OUTCOMES) return DEFAULT_SCORE;
      return blocks.reduce((sum, block) => sum + block.successes, 0) / outcomes;
    },
    add(reward) {
      let [newest] = blocks;
      if (!newest || newest.outcomes === BLOCK_SIZE) {
        newest = { successes: 0, outcomes: 0 };
        blocks = [newest, ...blocks.slice(0, MOST_BLOCKS - 1)];
      }
      newest.successes += reward;
      newest.outcomes += 1;
    },
  };
}

/**
 * The success-based routing that juspay/hyperswitch configures for its "dynamo" service: blocks of 5 payments, 8 blocks,
 * 20 % exploration. The service is not public; this code follows the defaults in crates/api_models/src/routing.rs and the
 * fields of proto/success_rate.proto, https://github.com/juspay/hyperswitch.
 */
export const HYPERSWITCH_DYNAMO: BenchRouter = {
  name: 'Hyperswitch dynamo 8x5, 20 %',
  create({ arms, seed }) {
    const random = randomStream(seed);
    const scores = Array.from({ length: arms }, () => blockScore());
    return {
      choose(_payment, excluded) {
        if (random.uniform() < EXPLORE_SHARE) return randomArm(arms, excluded, random);
        return bestArm(arms, excluded, random, (arm) => scores[arm]!.score());
      },
      learn: (outcome) => scores[outcome.arm]!.add(rewardOf(outcome)),
    };
  },
};
