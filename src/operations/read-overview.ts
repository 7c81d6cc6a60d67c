import { can } from '../domain/permission.ts';
import type { Environment } from '../domain/route.ts';
import { outcomesOf, usualRange } from '../operations/sales-figures.ts';
import type { Deps } from './deps.ts';
import { type SalesReport, readSales } from './sales-report.ts';

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
    readSales(deps, { environment, from, until, step }),
    readSales(deps, { environment, from: start - USUAL_DAYS * DAY_MS, until: start, step: 'day' }),
  ]);
  const [salesAt, usualAt] = [groupByStep(report, showsMoney), groupByStep(usual, showsMoney)];
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

function groupByStep({ sums }: SalesReport, showsMoney: boolean) {
  const shown = showsMoney ? sums : sums.map((sum) => ({ ...sum, amount: 0, buyerFee: 0, gatewayFee: 0, cost: 0 }));
  const groups = Map.groupBy(shown, ({ time }) => time);
  return (time: number) => groups.get(time) ?? [];
}
