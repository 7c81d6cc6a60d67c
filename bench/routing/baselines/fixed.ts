import { randomStream } from '../world/random.ts';
import type { BenchRouter } from '../world/simulate.ts';
import { randomArm, bestArm } from './arms.ts';

const learn = () => {};

/** Chooses the arm with the highest true success probability, which a real router cannot know. */
export const ORACLE: BenchRouter = {
  name: 'oracle',
  create({ arms, seed }, { probability }) {
    const random = randomStream(seed);
    return {
      learn,
      choose: ({ number }, excluded) => bestArm(arms, excluded, random, (arm) => probability[number * arms + arm]!),
    };
  },
};

/** Chooses the arm with the highest true expected value, which a real router cannot know. */
export const ORACLE_BY_VALUE: BenchRouter = {
  name: 'oracle by expected value',
  create({ arms, seed, margin, costs }, { probability }) {
    const random = randomStream(seed);
    return {
      learn,
      choose: ({ number }, excluded) =>
        bestArm(arms, excluded, random, (arm) => probability[number * arms + arm]! * (margin - costs[arm]!)),
    };
  },
};

/** Prefers the arms in a constant order, sorted by their true success rates at the start. */
export const STATIC_PRIORITY: BenchRouter = {
  name: 'static priority',
  create: ({ priorityAtStart }) => ({
    learn,
    choose: (_payment, excluded) => priorityAtStart.find((arm) => !excluded?.has(arm))!,
  }),
};

export const RANDOM: BenchRouter = {
  name: 'random',
  create({ arms, seed }) {
    const random = randomStream(seed);
    return { learn, choose: (_payment, excluded) => randomArm(arms, excluded, random) };
  },
};

export const CHEAPEST_ROUTE: BenchRouter = {
  name: 'cheapest',
  create({ arms, seed, costs }) {
    const random = randomStream(seed);
    return { learn, choose: (_payment, excluded) => bestArm(arms, excluded, random, (arm) => -costs[arm]!) };
  },
};
