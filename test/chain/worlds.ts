import { createProblems } from '../faults/scenario.ts';
import type { Scenario } from '../faults/scenario.ts';
import { type Mutant, type Statistics, type World, noStatistics, playHistory } from './world.ts';

/** Probabilities of the faults of one node; without faults, a node knows the newest block at each poll. */
export const WORLDS = {
  clean: { nodes: [{}, {}], quorum: 2, isSwept: true },
  'both nodes lag': {
    nodes: [
      { lag: 0.5, stale: 0.2 },
      { lag: 0.5, stale: 0.2, fail: 0.1 },
    ],
    quorum: 2,
    isSwept: true,
  },
  'one of two nodes hides transfers': { nodes: [{ hide: 0.4 }, { lag: 0.2 }], quorum: 2, isSwept: true },
  'one of three nodes forges': { nodes: [{ lag: 0.2 }, { forge: 0.5 }, { lag: 0.2 }], quorum: 2, isSwept: true },
  // Nobody sweeps here: only the balance of an address reveals what its only node has hidden.
  'the only node hides transfers': { nodes: [{ hide: 0.3 }], quorum: 1 },
  'fast confirmation': { nodes: [{}, { lag: 0.2 }], quorum: 2, isFast: true, isSwept: true },
  'fast confirmation with faulty nodes': {
    nodes: [{ lag: 0.3, hide: 0.3, stale: 0.2 }, { lag: 0.3, stale: 0.2 }, { forge: 0.3 }],
    quorum: 2,
    isFast: true,
    isSwept: true,
  },
} satisfies Record<string, World>;

export type WorldName = keyof typeof WORLDS;

export interface Played {
  problems: string[];
  statistics: Statistics;
}

/** Plays `count` histories of a world, or fewer if a mutant has failed. */
export async function runWorld(name: WorldName, count: number, seed: number, mutant?: Mutant): Promise<Played> {
  const problems = createProblems();
  const statistics = noStatistics();
  for (let index = 0; index < count; index++) {
    const found = await playHistory(WORLDS[name], seed, index, mutant, statistics);
    problems.add(...found.map((problem) => `${name}, seed ${seed}, history ${index}: ${problem}`));
    if (mutant && found.length > 0) break;
  }
  return { problems: problems.list(), statistics };
}

/** Faulty watchers, each with a world in which it pays too much, too early, or misses money. */
export const MUTANTS: { name: string; world: WorldName; mutant: Mutant }[] = [
  {
    name: 'takes the latest block for final',
    world: 'clean',
    mutant: {
      node: (good) => ({
        ...good,
        async heads() {
          const { latest } = await good.heads();
          return { latest, final: latest };
        },
      }),
    },
  },
  {
    name: 'believes the first node',
    world: 'one of three nodes forges',
    mutant: { agreement: 1 },
  },
  {
    name: 'counts a transfer again each time that it reads it',
    world: 'clean',
    mutant: {
      store(good) {
        let copies = 0;
        const renamed = (hash: string) => `${hash}_${copies++}`;
        return {
          ...good,
          finalTransfers: async () => [],
          save: ({ put = [], ...changes }) =>
            good.save({ ...changes, put: put.map((one) => ({ ...one, txHash: renamed(one.txHash) })) }),
        };
      },
    },
  },
  {
    name: 'commits the position before the transfers',
    world: 'clean',
    mutant: {
      storeOfProcess: (good) => ({
        ...good,
        save: async ({ cursor, ...changes }) => (await good.save({ cursor })) && good.save({ cursor, ...changes }),
      }),
    },
  },
  {
    name: 'does not read the last final blocks again, nor compares balances',
    world: 'the only node hides transfers',
    mutant: {
      store: (good) => ({ ...good, checksDue: async () => [], finalTransfers: async () => [] }),
      quorum: (good) => ({
        ...good,
        transfers: (agreeing, from, to, addresses) => good.transfers(agreeing, Math.min(from + 24, to), to, addresses),
      }),
    },
  },
  {
    name: 'forgets that it has decided a report',
    world: 'fast confirmation',
    mutant: {
      store: (good) => ({
        ...good,
        save: ({ rows = [], ...changes }) =>
          rows.some(({ unsent }) => unsent !== null) ? Promise.resolve(true) : good.save({ ...changes, rows }),
      }),
    },
  },
];

const CYCLE = 1000;

/** `npm run test:faults -- --cycles 10 chain-worlds` plays 10,000 histories of each world. */
export const CHAIN_WORLDS: Scenario = {
  name: 'random histories of a chain in memory, with reorganizations, crashes and faulty nodes',
  injected: 'a watcher that commits the position before the transfers',
  cycles: 1,
  injectedCycles: 20,
  async run({ cycles, injected }) {
    const seed = Math.floor(performance.now() * 1000);
    const mutant = injected ? MUTANTS[3]!.mutant : undefined;
    const problems = createProblems();
    let polls = 0;
    for (const name of injected ? (['clean'] as const) : (Object.keys(WORLDS) as WorldName[])) {
      const found = await runWorld(name, cycles * CYCLE, seed, mutant);
      problems.add(...found.problems);
      polls += found.statistics.polls;
    }
    return { cycles, load: `${polls} polls`, problems: problems.list() };
  },
};
