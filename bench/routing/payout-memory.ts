import { type MoneyDay, type RouteMoney, routeMoney } from '../../src/routing/route-money.ts';
import type { Policy } from '../../src/routing/routing-policy.ts';
import type { BenchPayment } from './contender.ts';

/** Paid and paid-out payments of one route, by the day of the payment. */
export interface PayoutMemory {
  addPaid(payment: BenchPayment): void;
  addPayout(payment: BenchPayment): void;
  /** Estimates of the last reading, at most five minutes old, as in the service. */
  at(seconds: number): RouteMoney;
}

const DAY_SECONDS = 86_400;
const READING_SECONDS = 300;

export function payoutMemory(policy: Policy): PayoutMemory {
  const days = new Map<number, MoneyDay>();
  let money: RouteMoney | undefined;
  let readAt = 0;

  const dayOf = ({ at }: BenchPayment): MoneyDay => {
    const day = Math.floor(at / DAY_SECONDS);
    const none = { paid: 0, settled: 0, unsettled: 0, reversed: 0, costed: 0, costedAmount: 0, cost: 0 };
    const found = days.get(day) ?? { routeId: '', day, ...none };
    days.set(day, found);
    return found;
  };

  return {
    addPaid(payment) {
      const day = dayOf(payment);
      day.paid += 1;
      day.unsettled += 1;
    },
    addPayout(payment) {
      const day = dayOf(payment);
      day.settled += 1;
      day.unsettled -= 1;
    },
    at(seconds) {
      if (money && seconds < readAt + READING_SECONDS) return money;
      readAt = seconds;
      money = routeMoney([...days.values()], { providerCostRate: 0 }, Math.floor(seconds / DAY_SECONDS), policy);
      return money;
    },
  };
}
