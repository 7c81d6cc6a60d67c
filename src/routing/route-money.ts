import type { Cents, RatePpm } from '../domain/money.ts';
import type { Route } from '../domain/route.ts';
import type { Policy } from './routing-policy.ts';

/** Paid payments of one route that were created on one day. Amounts are cents. */
export interface MoneyDay {
  routeId: string;
  /** Days since 1970. */
  day: number;
  paid: number;
  /** Payments that were paid out to the merchant. */
  settled: number;
  /** Payments that were neither paid out, nor fully refunded, nor reversed. */
  unsettled: number;
  /** Payments whose money the provider has taken back, for example in a dispute. */
  reversed: number;
  /** Payments whose charge the provider has reported. */
  costed: number;
  costedAmount: Cents;
  cost: Cents;
}

/** Estimates of a route's losses and charges from past payments. */
export interface RouteMoney {
  /** Share of paid payments whose money never arrives or is taken back. */
  lostRate: RatePpm;
  /** The provider's charge without its fixed part: the mean of reported charges and the configured rate. */
  providerCostRate: RatePpm;
  /** Share of paid payments whose charge the provider has reported, 0 to 1, 2 decimals. */
  costCoverage: number;
}

const PPM = 1_000_000;

/** Estimates from the days of one route, in any order; `today` is in days since 1970. */
export function routeMoney(
  days: readonly MoneyDay[],
  { providerCostRate, providerCostFixed = 0 }: Pick<Route, 'providerCostRate' | 'providerCostFixed'>,
  today: number,
  { money }: Policy,
): RouteMoney {
  const sumOf = (name: Exclude<keyof MoneyDay, 'routeId'>, until = Infinity) =>
    days
      .filter(({ day }) => day <= until)
      .reduce((sum, each) => sum + Math.exp((-Math.LN2 * (today - each.day)) / money.halfLifeDays) * each[name], 0);
  const shareOf = (lost: 'unsettled' | 'reversed', until: number) =>
    sumOf(lost, until) / (sumOf('paid', until) + money.priorWeight);
  const unsettled = shareOf('unsettled', lastDueDay(days, today, money));
  const reversed = shareOf('reversed', today - money.payoutSpreadDays);
  const costed = sumOf('costed');
  const variable = Math.max(0, sumOf('cost') - costed * providerCostFixed);
  const reported = costed === 0 ? 0 : (variable * PPM) / sumOf('costedAmount');
  const rate = (costed * reported + money.priorWeight * providerCostRate) / (costed + money.priorWeight);
  return {
    lostRate: Math.round(Math.min(1, unsettled + reversed) * PPM),
    providerCostRate: Math.round(rate),
    costCoverage: Math.round((100 * costed) / Math.max(1, sumOf('paid'))) / 100,
  };
}

/**
 * The last day whose payments should be paid out. A route pays out in about the order of its payments, so the newest payment that was
 * paid out shows how far the payouts are. Outstanding payments of a route without any payout prove nothing, because payouts may be unreported.
 */
function lastDueDay(days: readonly MoneyDay[], today: number, { payoutSpreadDays, overdueDays }: Policy['money']) {
  const paidOut = days.filter(({ settled }) => settled > 0).map(({ day }) => day);
  return paidOut.length === 0 ? -Infinity : Math.max(Math.max(...paidOut) - payoutSpreadDays, today - overdueDays);
}
