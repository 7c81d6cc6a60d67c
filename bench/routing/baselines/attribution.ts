import type { BenchOutcome, Contender } from '../contender.ts';
import type { BenchRouter } from '../world/simulate.ts';

function hearing(
  entry: BenchRouter,
  name: string,
  heard: (outcome: BenchOutcome) => BenchOutcome | undefined,
): BenchRouter {
  return {
    name,
    create(world, truth): Contender {
      const contender = entry.create(world, truth);
      return {
        choose: (payment, excluded) => contender.choose(payment, excluded),
        learn(outcome) {
          const said = heard(outcome);
          if (said) contender.learn(said);
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

/** The same algorithm, which ignores failures caused by buyers and issuers. */
export function withAttribution(entry: BenchRouter): BenchRouter {
  return hearing(entry, attributedName(entry.name), (outcome) =>
    outcome.result === 'buyer_failure' ? undefined : outcome,
  );
}

/** The same algorithm, which counts every failure against the route. */
export function withoutAttribution(entry: BenchRouter): BenchRouter {
  return hearing(entry, unattributedName(entry.name), (outcome) =>
    outcome.result === 'buyer_failure' ? { ...outcome, result: 'route_failure' } : outcome,
  );
}
