import type { BenchOutcome, Contender } from '../contender.ts';
import type { Entry } from '../world/simulate.ts';

function hearing(entry: Entry, name: string, heard: (outcome: BenchOutcome) => BenchOutcome | undefined): Entry {
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
export function attributed(entry: Entry): Entry {
  return hearing(entry, attributedName(entry.name), (outcome) =>
    outcome.result === 'buyer_failure' ? undefined : outcome,
  );
}

/** The same algorithm, which counts every failure against the route. */
export function unattributed(entry: Entry): Entry {
  return hearing(entry, unattributedName(entry.name), (outcome) =>
    outcome.result === 'buyer_failure' ? { ...outcome, result: 'route_failure' } : outcome,
  );
}
