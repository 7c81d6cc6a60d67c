import { parentPort, workerData } from 'node:worker_threads';
import { MUTANTS, type WorldName, runWorld } from './worlds.ts';

// Plays histories in a thread of its own, where the test runner does not observe every promise, which takes most of the time.

const { name, count, seed, mutant } = workerData as { name: WorldName; count: number; seed: number; mutant?: number };
parentPort!.postMessage(await runWorld(name, count, seed, mutant === undefined ? undefined : MUTANTS[mutant]!.mutant));
