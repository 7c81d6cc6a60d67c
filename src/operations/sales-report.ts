import { invalidField } from '../domain/gateway-error.ts';
import type { Instant } from '../domain/records.ts';
import { nextDay, startOfDay } from '../domain/reporting-time.ts';
import type { Environment } from '../domain/route.ts';
import { QUARTER_HOUR_MS } from '../store/tables/sales-rows.ts';
import { SKEW_MS, type SalesRange, type SalesSum } from '../store/tables/sales-table.ts';
import { assertCan, callerCan } from './access/caller.ts';
import { quarterHourOf } from './count-sales.ts';
import type { Deps } from './deps.ts';

const HOUR_MS = 4 * QUARTER_HOUR_MS;
const DAY_MS = 24 * HOUR_MS;
const hourOf = (at: Instant, timeZone: string) => at - ((at - startOfDay(at, timeZone)) % HOUR_MS);
/** Lengths of steps, and of the longest ranges, which bound the cost of a report. Days and weeks have the lengths of the calendar. */
const STEPS = {
  quarter_hour: { startOf: quarterHourOf, stepMs: QUARTER_HOUR_MS, longestDays: 8 },
  hour: { startOf: hourOf, stepMs: HOUR_MS, longestDays: 8 },
  day: { startOf: startOfDay, stepMs: DAY_MS, longestDays: 1100 },
  week: { startOf: startOfDay, stepMs: 7 * DAY_MS, longestDays: 1100 },
};
/** Newest rows of each source that a report adds to the stored sums. */
const NEWEST_ROWS = 2000;
/** Days that a report adds up from quarter-hours, because they have not ended or are being built. */
const UNBUILT_DAYS = 3;

export type SalesStep = keyof typeof STEPS;

export interface SalesQuery {
  environment: Environment;
  from: Instant;
  /** End of the range, exclusive. */
  until: Instant;
  step: SalesStep;
}

/** Sums of sales in steps of equal length, or in days or weeks of the reporting time zone; the first week starts with the first day. */
export interface SalesReport {
  /** Starts of the steps, oldest first. `from` and `until` of the query are extended to whole steps. */
  steps: Instant[];
  /** Parts of the sums; `time` is the start of the step. A step can have several parts of one route and kind. */
  sums: SalesSum[];
  /** End of the counted time, while older sales are being counted; null if the report is complete. */
  countedUntil: Instant | null;
}

type ReportDeps = Pick<Deps, 'store' | 'now' | 'realNow' | 'caller' | 'reportingZone'>;

export type NewestSales = Awaited<ReturnType<typeof readNewestSales>>;

/**
 * The sums of an environment that can still change: those of quarter-hours since `final`, and the rows that are not counted. No row
 * before `until` is missing.
 */
export async function readNewestSales({ store, now }: ReportDeps, environment: Environment) {
  const { cursors, sums } = await store.newestSums(environment);
  const { days, quarterHours } = cursors;
  const end = Math.max(quarterHours.until, now() + 1);
  const { rows, until } = await store.salesRows({ environment }, quarterHours.until, end, NEWEST_ROWS);
  // While nothing is sold, the worker builds days after the cursor of the quarter-hours.
  const final = Math.max(quarterHourOf(quarterHours.until) - SKEW_MS, days.until);
  const newest: SalesSum[] = [...sums, ...rows].filter(({ time }) => time >= final);
  return { days, final, sums: newest, until: until === end ? Infinity : until };
}

/**
 * Reads the sums of a range, up to the present; amounts are 0 for a caller without `money.read`. Several reports can share the newest
 * rows. Throws GatewayError `forbidden`, or `invalid_input` for an empty or too long range.
 */
export async function readSales(deps: ReportDeps, query: SalesQuery, newest?: NewestSales): Promise<SalesReport> {
  assertCan(deps, 'payments.read');
  const { store, reportingZone: timeZone } = deps;
  const { environment, step } = query;
  const starts = startsOf(query, timeZone);
  const [from, until] = [starts[0]!, starts.at(-1)!];
  const { days, final, ...rest } = newest ?? (await readNewestSales(deps, environment));
  const isByDay = step === 'day' || step === 'week';
  const built = isByDay && days.detail === timeZone ? Math.min(until, Math.max(from, days.until)) : from;
  const { stepMs } = STEPS[step];
  const ranges: SalesRange[] = [{ table: 'sales_days', from, until: built, stepMs }];
  let end = built;
  while (end < until && ranges.length <= UNBUILT_DAYS) {
    const next = isByDay ? nextDay(end, timeZone) : until;
    ranges.push({ table: 'sales_quarter_hours', from: end, until: Math.min(next, final), stepMs });
    end = next;
  }
  const filled = ranges.filter((range) => range.from < range.until);
  const stored = await store.finalSums(environment, filled, days);
  if (!stored) return readSales(deps, query);

  const steps = starts.slice(0, -1);
  const known = new Set(steps);
  const inStep = (sum: SalesSum) =>
    known.has(sum.time) ? sum : { ...sum, time: steps.findLast((start) => start <= sum.time)! };
  const recent = rest.sums.filter(({ time }) => time >= from && time < end);
  const all = [...stored, ...recent].map(inStep);
  const hidden = { amount: 0, buyerFee: 0, gatewayFee: 0, cost: 0 };
  const countedUntil = Math.min(end, rest.until);
  const isComplete = countedUntil >= Math.min(until, deps.now() + 1);
  const sums = callerCan(deps, 'money.read') ? all : all.map((sum) => ({ ...sum, ...hidden }));
  return { steps, sums, countedUntil: isComplete ? null : countedUntil };
}

/** Starts of the steps, and the end of the last step. */
function startsOf({ from, until, step }: SalesQuery, timeZone: string): Instant[] {
  const { startOf, stepMs, longestDays } = STEPS[step];
  if (from < 0 || from >= until || until - from > longestDays * DAY_MS) {
    const advice = `Give a range of at most ${longestDays} days for steps of a ${step}; ranges of days can be longer.`;
    throw invalidField('until', 'invalid_value', 'is not after from, or too long after it', advice);
  }
  const starts = [startOf(from, timeZone)];
  for (let last = starts[0]!; last < until; starts.push(last)) {
    // A day can have 23 or 25 hours.
    last = stepMs < DAY_MS ? last + stepMs : startOf(last + stepMs + DAY_MS / 2, timeZone);
  }
  return starts;
}
