import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, it } from 'node:test';
import { Worker } from 'node:worker_threads';
import { ONLY_IN_FULL_RUN } from '../support/for-all.ts';
import { MUTANTS, type Played, WORLDS, type WorldName } from './worlds.ts';

/** Random histories of each world. `npm run test:faults -- --cycles 10 chain-worlds` plays 10,000. */
const HISTORIES = process.env['TEST_UNIT'] === undefined ? 1000 : 200;
/** Histories in which each mutant fails, with the same seed in every run. */
const MUTANT_HISTORIES = 6000;

async function play(name: WorldName, count: number, seed: number, mutant?: number): Promise<Played> {
  const worker = new Worker(new URL('./worlds-worker.ts', import.meta.url), {
    workerData: { name, count, seed, mutant },
  });
  const [played] = (await once(worker, 'message')) as [Played];
  return played;
}

describe('a watcher of a chain, in random histories', () => {
  for (const name of Object.keys(WORLDS) as WorldName[]) {
    it(`reports every transfer once, none too early and none too much: ${name}`, async (test) => {
      const { problems, statistics } = await play(name, HISTORIES, Math.floor(performance.now() * 1000));
      assert.deepEqual(problems, []);
      test.diagnostic(JSON.stringify(statistics));
      // The histories contain what they are made for.
      const { reorganizations, payments, crashes } = statistics;
      assert.ok(Math.min(reorganizations, payments, crashes) > HISTORIES / 2);
    });
  }
});

describe('mutants of the watcher of a chain', ONLY_IN_FULL_RUN, () => {
  for (const [index, { name, world }] of MUTANTS.entries()) {
    it(`the histories reveal a watcher that ${name}`, async (test) => {
      const { problems } = await play(world, MUTANT_HISTORIES, 1, index);
      assert.notDeepEqual(problems, []);
      test.diagnostic(problems[0]!);
    });
  }
});
