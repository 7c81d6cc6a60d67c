import { startOfDay } from '../domain/reporting-time.ts';
import type { Environment } from '../domain/route.ts';
import { callerCan } from './access/caller.ts';
import { outcomesOf, usualRange } from './sales-figures.ts';
import type { Deps } from './deps.ts';
import { type NewestSales, type SalesReport, readSales } from './sales-report.ts';

const DAY_MS = 24 * 60 * 60_000;
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
export async function readOverview(deps: Deps, environment: Environment, days: number, newest: NewestSales) {
  const showsMoney = callerCan(deps, 'money.read');
  const step = days === 1 ? 'hour' : days > MOST_DAYS ? 'week' : 'day';
  const count = { hour: 24, day: days, week: Math.floor(days / 7) }[step];
  const until = deps.now() + 1;
  const start = until - days * DAY_MS;
  // A report by day also covers the days of the usual range.
  const isByDay = step === 'day';
  const earlier = isByDay ? Math.max(count, USUAL_DAYS) : count;
  // Noon of the first day, because a day can have 23 or 25 hours.
  const noon = startOfDay(until, deps.reportingZone) + DAY_MS / 2;
  const past = (earlier + count) * (step === 'week' ? 7 : 1) - 1;
  const from = step === 'hour' ? until - 2 * DAY_MS : noon - past * DAY_MS;
  const report = await readSales(deps, { environment, from, until, step }, newest);
  const usualQuery = { environment, from: start - USUAL_DAYS * DAY_MS, until: start, step: 'day' } as const;
  const usual = isByDay ? report : await readSales(deps, usualQuery, newest);
  const salesAt = groupByStep(report);
  const usualAt = isByDay ? salesAt : groupByStep(usual);
  const before = report.steps.slice(-2 * count, -count);
  const steps = report.steps.slice(-count).map((time, index) => {
    return { time, sales: salesAt(time), before: salesAt(before[index]!) };
  });
  const daysBefore = (isByDay ? report.steps.slice(0, -count) : usual.steps).slice(-USUAL_DAYS);
  const usualDays = daysBefore.map((time) => outcomesOf(usualAt(time)));
  return { step, steps, usual: usualRange(usualDays), countedUntil: report.countedUntil, showsMoney } as const;
}

function groupByStep({ sums }: SalesReport) {
  const groups = Map.groupBy(sums, ({ time }) => time);
  return (time: number) => groups.get(time) ?? [];
}
