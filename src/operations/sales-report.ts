import { invalidField } from '../domain/gateway-error.ts';
import { can } from '../domain/permission.ts';
import type { Instant } from '../domain/records.ts';
import { nextDay, startOfDay } from '../domain/reporting-time.ts';
import type { Environment } from '../domain/route.ts';
import { QUARTER_HOUR_MS } from '../store/tables/sales-rows.ts';
import { SKEW_MS, type SalesRange, type SalesSum } from '../store/tables/sales-table.ts';
import { assertCan } from './access/caller.ts';
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

/** The rows of an environment that are not counted at the returned cursors. No row before `until` is missing. */
export async function readNewestSales({ store, now }: ReportDeps, environment: Environment) {
  const cursors = await store.salesCursors();
  const from = cursors.quarterHours.until;
  const end = Math.max(from, now() + 1);
  const { rows, until } = await store.salesRows({ environment }, from, end, NEWEST_ROWS);
  return { cursors, rows, until: until === end ? Infinity : until };
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
  const { cursors: before, rows, until: readUntil } = newest ?? (await readNewestSales(deps, environment));
  const { days, quarterHours } = before;
  const isByDay = step === 'day' || step === 'week';
  const built = isByDay && days.detail === timeZone ? Math.min(until, Math.max(from, days.until)) : from;
  const { stepMs } = STEPS[step];
  const steps = starts.slice(0, -1);
  const known = new Set(steps);
  const stepOf = (time: Instant) => (known.has(time) ? time : steps.findLast((start) => start <= time)!);
  const ranges: SalesRange[] = [{ table: 'sales_days', from, until: built, stepMs, stepOf }];
  let end = built;
  for (let count = 0; end < until && count < UNBUILT_DAYS; count++) {
    const start = end;
    end = isByDay ? nextDay(start, timeZone) : until;
    // The final sums are a range of their own, because they stay in memory.
    const final = quarterHours.until - SKEW_MS - start;
    const middle = Math.min(end, start + Math.max(0, final - (final % (isByDay ? QUARTER_HOUR_MS : stepMs))));
    const shared = { table: 'sales_quarter_hours', stepMs: isByDay ? until : stepMs, stepOf } as const;
    ranges.push({ ...shared, from: start, until: middle }, { ...shared, from: middle, until: end });
  }
  const { cursors, sums } = await store.salesSums(
    environment,
    ranges.filter((range) => range.from < range.until),
    before,
  );
  // The days were deleted meanwhile, because the time zone was changed.
  if (cursors.days.detail !== days.detail) return readSales(deps, query);

  const counted = cursors.quarterHours.until;
  // The worker has counted some of these rows meanwhile.
  const rest = rows.filter(({ time, place }) => place >= counted && time >= from && time < end);
  const hidden = deps.caller && !can(deps.caller, 'money.read') && { amount: 0, buyerFee: 0, gatewayFee: 0, cost: 0 };
  const all = [...sums, ...rest.map((sum) => ({ ...sum, time: stepOf(sum.time) }))];
  const countedUntil = Math.min(end, Math.max(readUntil, counted));
  const isComplete = countedUntil >= Math.min(until, deps.now() + 1);
  return {
    steps,
    sums: hidden ? all.map((sum) => ({ ...sum, ...hidden })) : all,
    countedUntil: isComplete ? null : countedUntil,
  };
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
