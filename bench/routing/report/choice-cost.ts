import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { type Candidate, choose } from '../../../src/routing/choose.ts';
import { drawsOf } from '../../../src/routing/draw.ts';
import { DEFAULT_POLICY } from '../../../src/routing/routing-policy.ts';
import { drawWorld } from '../world/environment.ts';
import { randomStream } from '../world/random.ts';
import { SCENARIOS } from '../world/scenarios.ts';
import { simulate } from '../world/simulate.ts';
import { TILLWAY } from './plan.ts';
import { quantile } from './statistics.ts';

const WARM_UP_CHOICES = 20_000;
const TIMED_CHOICES = 200_000;
const ROUTES = [5, 10, 30];
const SHORT_HISTORY = 20_000;
const LONG_HISTORY = 100_000;

export interface ChoiceCost {
  routes: number;
  p50Microseconds: number;
  p99Microseconds: number;
}

export interface HeapGrowth {
  payments: number;
  /** Growth of the heap since the start, after garbage collection. */
  kilobytes: number;
}

/** Duration of single calls of `choose`, including its random draws. */
export function choiceCosts(): ChoiceCost[] {
  return ROUTES.map((routes) => {
    const random = randomStream(routes);
    const candidates = Array.from({ length: routes }, (_, route): Candidate => {
      const p = 0.8 + 0.15 * random.uniform();
      const n = 20 + 500 * random.uniform();
      return {
        id: `rt_${route}`,
        eligible: true,
        health: 'live',
        failed: false,
        p,
        n,
        cost: 0.02,
        etaMinutes: 1,
        triedAt: null,
      };
    });
    const options = { policy: DEFAULT_POLICY, amount: 5000, explore: true, now: 1_000_000_000 };
    const seconds = new Float64Array(TIMED_CHOICES);
    let tokens = 1;
    for (let call = -WARM_UP_CHOICES; call < TIMED_CHOICES; call += 1) {
      const startedMs = performance.now();
      const draws = drawsOf('bench', `chk_${call}`, 1);
      const choice = choose(candidates, { ...options, draws, tokens });
      const tookMs = performance.now() - startedMs;
      tokens = choice!.tokensAfter;
      if (call >= 0) seconds[call] = tookMs / 1000;
    }
    return {
      routes,
      p50Microseconds: quantile(seconds, 0.5) * 1e6,
      p99Microseconds: quantile(seconds, 0.99) * 1e6,
    };
  });
}

/** Memory of Tillway's router after a short history and after a history five times as long. */
export function memoryOverHistory(): HeapGrowth[] {
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  const heapAfter = (payments: number): number => {
    const environment = drawWorld(SCENARIOS.PAY, 401, payments);
    collectGarbage();
    const before = process.memoryUsage().heapUsed;
    let contender: unknown;
    simulate(environment, {
      name: TILLWAY.name,
      create: (world, truth) => (contender = TILLWAY.create(world, truth)),
    });
    collectGarbage();
    const grown = process.memoryUsage().heapUsed - before;
    if (!contender) throw new Error('the contender was not created');
    return grown / 1024;
  };
  // The first run warms up the JIT compiler.
  heapAfter(SHORT_HISTORY);
  return [SHORT_HISTORY, LONG_HISTORY].map((payments) => ({ payments, kilobytes: heapAfter(payments) }));
}
