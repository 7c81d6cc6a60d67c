import { setImmediate as turn } from 'node:timers/promises';
import type { Instant } from '../domain/records.ts';
import { nextDay, startOfDay } from '../domain/reporting-time.ts';
import { QUARTER_HOUR_MS } from '../store/tables/sales-rows.ts';
import { SKEW_MS, type SalesSum } from '../store/tables/sales-table.ts';
import type { Deps, Pace } from './deps.ts';

/** Age at which rows are counted. No commit takes longer, so no row with an earlier time can appear later. */
const LAG_MS = 60_000;
/** Rows of each source that one commit counts. The embedded database reads them on the main thread. */
const BATCH_ROWS = 200;

type CountDeps = Pick<Deps, 'store' | 'now' | 'reportingZone'>;

/** Counts all rows older than a minute, batch by batch, and builds the ended days. Awaits `pace` after each batch. Returns the number of rows. */
export async function countSales(deps: CountDeps, isStopped: () => boolean, pace: Pace = turn, batchRows = BATCH_ROWS) {
  const target = deps.now() - LAG_MS;
  let counted = 0;
  for (let until = -Infinity; until < target && !isStopped(); await pace()) {
    const batch = await countBatch(deps, target, batchRows);
    counted += batch.rows;
    until = batch.until;
    while (!isStopped() && (await buildDay(deps, until))) await pace();
  }
  return counted;
}

/** Counts the next rows; everything before the returned `until` is then counted. Another instance may count them first. */
async function countBatch({ store }: CountDeps, target: Instant, limit: number) {
  const { quarterHours: from } = await store.salesCursors();
  if (from.until >= target) return { rows: 0, until: from.until };
  const { rows, until } = await store.salesRows({}, from.until, target, limit);
  // An idle service writes nothing: it reads the empty time again.
  if (rows.length === 0 && until === target) return { rows: 0, until };
  const { done } = await store.commit([{ type: 'sales_counted', sums: addUp(rows, quarterHourOf), from, until }]);
  return done ? { rows: rows.length, until } : { rows: 0, until: from.until };
}

/** Builds one day that ended before `countedUntil`, or begins again in another time zone. Returns false if there is nothing to do. */
async function buildDay({ store, reportingZone: zone }: CountDeps, countedUntil: Instant): Promise<boolean> {
  const { days } = await store.salesCursors();
  const from = days.detail === zone ? days.until : 0;
  const ended = startOfDay(Math.max(0, countedUntil - SKEW_MS), zone);
  if (ended <= from) return false;
  // Skips days without sales.
  const start = startOfDay(Math.min(await store.nextSales(from), ended), zone);
  const until = start < ended ? nextDay(start, zone) : ended;
  const { done } = await store.commit([{ type: 'sales_day_built', from: days, start, until, timeZone: zone }]);
  return done;
}

/** Start of the quarter-hour of a time. */
export const quarterHourOf = (time: Instant): Instant => time - (time % QUARTER_HOUR_MS);

/** Adds up the sums of each period, route and kind; `periodOf` returns the start of the period of a time. */
export function addUp(sums: readonly SalesSum[], periodOf: (time: Instant) => Instant): SalesSum[] {
  const totals = new Map<string, SalesSum>();
  for (const { environment, time, route, kind, ...amounts } of sums) {
    const sum = { environment, time: periodOf(time), route, kind };
    const key = Object.values(sum).join(' ');
    const total = totals.get(key) ?? { ...sum, count: 0, amount: 0, buyerFee: 0, gatewayFee: 0, cost: 0 };
    for (const name of ['count', 'amount', 'buyerFee', 'gatewayFee', 'cost'] as const) total[name] += amounts[name];
    totals.set(key, total);
  }
  return [...totals.values()];
}
