import type { BenchOutcome, Contender } from '../contender.ts';
import type { BenchRouter } from '../world/simulate.ts';

/** Wraps a router so that it learns only the outcomes that `filter` returns. */
function withFilteredOutcomes(
  entry: BenchRouter,
  name: string,
  filter: (outcome: BenchOutcome) => BenchOutcome | undefined,
): BenchRouter {
  return {
    name,
    create(world, truth): Contender {
      const contender = entry.create(world, truth);
      return {
        choose: (payment, excluded) => contender.choose(payment, excluded),
        learn(outcome) {
          const visible = filter(outcome);
          if (visible) contender.learn(visible);
        },
      };
    },
  };
}

export function attributedName(name: string): string {
  return `${name}, attributed`;
}

export function unattributedName(name: string): string {
  return `${name}, unattributed`;
}

/** Wraps a router so that it ignores failures caused by buyers and issuers. */
export function withAttribution(entry: BenchRouter): BenchRouter {
  return withFilteredOutcomes(entry, attributedName(entry.name), (outcome) =>
    outcome.result === 'buyer_failure' ? undefined : outcome,
  );
}

/** Wraps a router so that it counts every failure against the route. */
export function withoutAttribution(entry: BenchRouter): BenchRouter {
  return withFilteredOutcomes(entry, unattributedName(entry.name), (outcome) =>
    outcome.result === 'buyer_failure' ? { ...outcome, result: 'route_failure' } : outcome,
  );
}
