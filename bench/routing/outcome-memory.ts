import { type PaymentContexts, bandOf } from '../../src/domain/payment-contexts.ts';
import { REFUSAL_WEIGHT } from '../../src/domain/route-outcome.ts';
import { type ContextRatios, contextRatios } from '../../src/routing/context-offsets.ts';
import { fold } from '../../src/routing/estimate.ts';
import { HOUR_SECONDS } from '../../src/routing/long-term-rate.ts';
import type { RoutePrior } from '../../src/routing/pooled-prior.ts';
import { bucketOf, type States, type Tally } from '../../src/routing/route-memory.ts';
import type { Policy } from '../../src/routing/routing-policy.ts';
import { addTallies } from '../../src/store/tables/tally-sums.ts';
import type { BenchOutcome, BenchPayment } from './contender.ts';
import { tallyOf } from './tallies.ts';

/** Outcomes of the routes, summed in buckets of time as the service does. */
export interface OutcomeMemory {
  /** Adds an outcome of the route `id`; `isProbe` if the route was in standby at the attempt. */
  add(id: string, outcome: BenchOutcome, isProbe: boolean): void;
  /** Memory of the routes with all outcomes so far. Times never decrease. */
  at(seconds: number): { states: States; ratios: ReadonlyMap<string, ContextRatios> };
}

// The service folds contexts after 20 seconds; see `read-estimates.ts`.
const BUCKETS_BETWEEN_RATIOS = 3;

/** An empty memory. `cleared` returns the states at a bucket without the memory of routes that have returned from standby. */
export function outcomeMemory(
  priors: readonly RoutePrior[],
  policy: Policy,
  cleared: (states: States, bucket: number) => States = (states) => states,
): OutcomeMemory {
  let states: States = new Map();
  let open = new Map<string, Tally>();
  let openBucket = 0;
  let ratios: ReadonlyMap<string, ContextRatios> = new Map();
  let ratiosAt = -Infinity;

  const folded = (): States =>
    open.size === 0 ? states : fold(cleared(states, openBucket), open, openBucket, priors, policy);
  const moveTo = (seconds: number): number => {
    const bucket = bucketOf(seconds * 1000, policy);
    if (bucket === openBucket) return bucket;
    states = folded();
    open = new Map();
    openBucket = bucket;
    return bucket;
  };

  return {
    add(id, outcome, isProbe) {
      const bucket = moveTo(outcome.at);
      const tally = tallyOfOutcome(outcome, bucket, isProbe);
      const before = open.get(id);
      open.set(id, before ? addTallies(before, tally) : tally);
    },
    at(seconds) {
      const bucket = moveTo(seconds);
      if (bucket >= ratiosAt + BUCKETS_BETWEEN_RATIOS) {
        ratiosAt = bucket;
        ratios = contextRatios(new Map([...states].map(([id, { contexts }]) => [id, contexts])), policy);
      }
      return { states: cleared(folded(), bucket), ratios };
    },
  };
}

function tallyOfOutcome(outcome: BenchOutcome, bucket: number, isProbe: boolean): Tally {
  const { result, handoffError, at, payment } = outcome;
  const hour = Math.floor(payment.at / HOUR_SECONDS);
  if (result === 'buyer_failure') return tallyOf(bucket, hour, { neutrals: 1 });
  const isPaid = result === 'paid';
  const [successes, failures] = isPaid ? [1, 0] : [0, handoffError ? REFUSAL_WEIGHT : 1];
  const counts = isProbe ? { probeSuccesses: successes, probeFailures: failures } : { successes, failures };
  const contexts = [{ contexts: contextsOf(payment), successes, failures }];
  if (!isPaid) return tallyOf(bucket, hour, { ...counts, contexts });
  const logMs = Math.log(Math.max(1, (at - payment.at) * 1000));
  return tallyOf(bucket, hour, { ...counts, contexts, timed: 1, logMs, logMsSquared: logMs * logMs });
}

/** The contexts of a payment that the service knows, and those of the world. */
export function contextsOf({ amount, at, contexts }: BenchPayment): PaymentContexts {
  return { amount: bandOf(amount), hour: String(Math.floor(at / HOUR_SECONDS) % 24), ...contexts };
}
