import type { BenchPayment, Contender } from '../contender.ts';
import type { BenchRouter } from '../world/simulate.ts';

/** Wraps a router so that payments with different values of a context are routed and learned by separate contenders. */
export function withContext(
  entry: BenchRouter,
  context: string,
  valueOf: (payment: BenchPayment) => string = ({ contexts }) => contexts[context]!,
): BenchRouter {
  return {
    name: `${entry.name}, by ${context}`,
    create(world, truth): Contender {
      const contenders = new Map<string, Contender>();
      const contenderOf = (payment: BenchPayment): Contender => {
        const value = valueOf(payment);
        const contender = contenders.get(value) ?? entry.create(world, truth);
        contenders.set(value, contender);
        return contender;
      };
      return {
        choose: (payment, excluded) => contenderOf(payment).choose(payment, excluded),
        learn: (outcome) => contenderOf(outcome.payment).learn(outcome),
      };
    },
  };
}
