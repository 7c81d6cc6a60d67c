import { can } from '../domain/permission.ts';
import type { Environment } from '../domain/route.ts';
import { outcomesOf, usualRange } from '../operations/sales-figures.ts';
import type { Deps } from './deps.ts';
import { assertCan } from './access/caller.ts';
import { type SalesQuery, type SalesReport, readSales } from './sales-report.ts';

const HOUR_MS = 60 * 60_000;
const DAY_MS = 24 * HOUR_MS;
/** Days before the period from which the usual range is made. */
const USUAL_DAYS = 28;
/** Most days that are steps of their own. A longer period has weeks. */
const MOST_DAYS = 100;

/** Sales of a period of days and of the period before, by step, and the usual range of the success rate of a day. */
export type Overview = Awaited<ReturnType<typeof readOverview>>;

/**
 * Reads the sales of the last `days` days, including today; one day is the last 24 hours, and 365 days are 52 weeks. Amounts are 0 and `showsMoney` is false if
 * the caller may see no sums of money.
 */
export async function readOverview(deps: Deps, environment: Environment, days: number, countsAll: boolean) {
  const showsMoney = !deps.caller || can(deps.caller, 'money.read');
  const step = days === 1 ? 'hour' : 'day';
  // Weeks are added up from their days.
  const [count, size] = days === 1 ? [24, 1] : days > MOST_DAYS ? [days - (days % 7), 7] : [days, 1];
  const until = deps.now() + 1;
  const [from, start] = [until - 2 * count * (days === 1 ? HOUR_MS : DAY_MS), until - days * DAY_MS];
  const [report, usual] = await Promise.all([
    readShownSales(deps, { environment, from, until, step }),
    readShownSales(deps, { environment, from: start - USUAL_DAYS * DAY_MS, until: start, step: 'day' }),
  ]);
  const [salesAt, usualAt] = [groupByStep(report), groupByStep(usual)];
  const [times, before] = [report.steps.slice(-count), report.steps.slice(-2 * count, -count)];
  const salesFrom = (of: readonly number[], index: number) => of.slice(index, index + size).flatMap(salesAt);
  const starts = times.flatMap((time, index) => (index % size === 0 ? [{ time, index }] : []));
  const steps = starts.map(({ time, index }) => {
    return { time, sales: salesFrom(times, index), before: salesFrom(before, index) };
  });
  const usualDays = usual.steps.slice(-USUAL_DAYS).map((time) => outcomesOf(usualAt(time), countsAll));
  return {
    step: size === 7 ? 'week' : step,
    steps,
    usual: usualRange(usualDays),
    countedUntil: report.countedUntil,
    showsMoney,
  } as const;
}

/** Sums for everybody with `payments.read`; without `money.read`, the amounts are 0. Throws GatewayError `forbidden`. */
export async function readShownSales(deps: Deps, query: SalesQuery): Promise<SalesReport> {
  assertCan(deps, 'payments.read');
  // The service itself may read all sums.
  const report = await readSales({ ...deps, caller: undefined }, query);
  if (!deps.caller || can(deps.caller, 'money.read')) return report;
  const none = { amount: 0, buyerFee: 0, gatewayFee: 0, cost: 0 };
  return { ...report, sums: report.sums.map((sum) => ({ ...sum, ...none })) };
}

function groupByStep({ sums }: SalesReport) {
  const groups = Map.groupBy(sums, ({ time }) => time);
  return (time: number) => groups.get(time) ?? [];
}
