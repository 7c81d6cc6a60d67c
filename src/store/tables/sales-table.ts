import { firstIdAt, timeOfId } from '../../domain/id.ts';
import type { Instant } from '../../domain/records.ts';
import { ENVIRONMENTS, type Environment } from '../../domain/route.ts';
import type { Query, Row, Select, SelectEach } from '../keyset.ts';
import { type ItemOf, defineTable, integer, text, textOf } from '../table-description.ts';
import { statement } from '../write-statement.ts';
import { addTransactions } from './search-table.ts';
import {
  AMOUNTS,
  CREATED,
  EXPIRED,
  FAILED,
  OUTCOME_ROUTES,
  QUARTER_HOUR_MS,
  STARTED,
  anyBooked,
  oldestBooked,
} from './sales-rows.ts';

const KEY_COLUMNS = { environment: textOf<Environment>(), time: integer, route: text, kind: text } as const;
const AMOUNT_COLUMNS = {
  count: integer,
  amount: integer,
  buyerFee: integer,
  gatewayFee: integer,
  cost: integer,
} as const;
/**
 * Sums of one kind on one route in the period that starts at `time`. Kinds: `created`, `started`, `paid`, `failed/<source>/<code>`,
 * `expired`, `refunded`, `reversed` and `settled`. `created` and `expired` count sessions and have an empty route. All amounts are cents; a
 * correction can make them negative.
 */
export const SUMS = defineTable('sales_quarter_hours', { ...KEY_COLUMNS, ...AMOUNT_COLUMNS });
export type SalesSum = ItemOf<typeof SUMS>;
/** Progress of the sums: everything before `until` is counted. `detail`: the start of the next ids, or the time zone of the days. */
const CURSORS = defineTable('sales_cursors', { name: text, until: integer, detail: text });
export type SalesCursor = ItemOf<typeof CURSORS>;

/** A range of stored sums. Sums in the same step of `stepMs` since `from` are added up, with the time of the first one. */
export interface SalesRange {
  table: 'sales_quarter_hours' | 'sales_days';
  from: Instant;
  until: Instant;
  stepMs: number;
}
/** Maximum number of ranges whose sums stay in memory. */
const MOST_KEPT = 100;
/** Longest time between the time of a row and the time of its id, which sorts it. */
export const SKEW_MS = 60 * 60_000;

const added = AMOUNTS.map((name) => `${name} = sales_quarter_hours.${name} + excluded.${name}`);
const addSum = SUMS.insert({
  onConflict: `ON CONFLICT (environment, time, route, kind) DO UPDATE SET ${added.join(', ')}`,
});
const TOTALS = AMOUNTS.map((name) => `CAST(SUM(${name}) AS BIGINT) AS ${name}`).join(', ');
const MOVE = `INSERT INTO sales_cursors (name, until, detail) VALUES (?1, ?2, ?3)
  ON CONFLICT (name) DO UPDATE SET until = excluded.until, detail = excluded.detail
  WHERE sales_cursors.until = ?4 AND sales_cursors.detail = ?5`;
const BUILD_DAY = `INSERT INTO sales_days (environment, time, route, kind, ${AMOUNTS.join(', ')})
  SELECT environment, CAST(?1 AS BIGINT), route, kind, ${TOTALS} FROM sales_quarter_hours
  WHERE environment IN ('${ENVIRONMENTS.join("', '")}') AND time >= ?1 AND time < ?2 GROUP BY environment, route, kind`;
const HALF_DAY_MS = 12 * 3_600_000;
const SELECT_CURSORS = "SELECT * FROM sales_cursors WHERE name IN ('quarter_hours', 'days')";
/** Quarter-hours from {@link SKEW_MS} before the cursor on. */
const SELECT_NEWEST = `SELECT * FROM sales_quarter_hours WHERE environment = ?1 AND time >= (
  SELECT until - until % ${QUARTER_HOUR_MS} - ${SKEW_MS} FROM sales_cursors WHERE name = 'quarter_hours')`;
const SELECT_NEXT = ENVIRONMENTS.map(
  (each) => `SELECT MIN(time) AS time FROM sales_quarter_hours WHERE environment = '${each}' AND time >= ?1`,
).join(' UNION ALL ');

const move = (from: SalesCursor, until: Instant, detail: string) =>
  statement(MOVE, [from.name, until, detail, from.until, from.detail], 'overtaken');

export const salesWrites = {
  /** Adds the sums of all rows between two times, and the search terms of their transactions. Guard: the stored cursor is `from`. */
  sales_counted: ({ sums, from, until }: { sums: readonly SalesSum[]; from: SalesCursor; until: Instant }) => [
    move(from, until, firstIdAt('chk', until).slice('chk_'.length)),
    ...sums.map((sum) => addSum(sum)),
    addTransactions(from.until, until),
  ],
  /** Builds the day from `start` to `until`; in another time zone, deletes the other days first. Guard: the stored cursor is `from`. */
  sales_day_built: (day: { from: SalesCursor; start: Instant; until: Instant; timeZone: string }) => [
    move(day.from, day.until, day.timeZone),
    ...(day.from.detail === day.timeZone ? [] : [statement('DELETE FROM sales_days', [])]),
    statement(BUILD_DAY, [day.start, day.until]),
  ],
};

export function createSalesReads(select: Select, selectEach: SelectEach, longSelect: Select) {
  const kept = new Map<string, SalesSum[]>();
  return {
    salesCursors: async () => cursorsOf(await select(SELECT_CURSORS)),
    /**
     * Contributions to the sums between two times, of both environments unless one is given. Reads at most `limit` rows of each source
     * if more than one time has rows, and returns all contributions before the earliest time that it has not read.
     */
    async salesRows({ environment }: { environment?: Environment }, from: Instant, until: Instant, limit: number) {
      const environments = environment ? [environment] : ENVIRONMENTS;
      // Usually no row is new, and these two short queries show it.
      const [booked = [], ...routes] = await selectEach([
        { sql: anyBooked(environments), params: [from, until] },
        ...environments.map((each) => ({ sql: OUTCOME_ROUTES, params: [each, from, until] })),
      ]);
      for (let most = limit; ; most *= 2) {
        const times = [from, until, most] as const;
        const bookings = booked.map(() => ({ sql: oldestBooked(environments), params: [...times] }));
        const found = await selectEach([...bookings, ...rowQueries(routes.flat(), times)]);
        const end = Math.min(until, ...found.map((rows) => (rows.length < most ? until : placeOf(rows.at(-1)!))));
        // All rows up to the limit have the same time.
        if (end <= from && from < until) continue;
        const counted = found.flat().filter((row) => row['kind'] !== null && placeOf(row) < end);
        const rows = counted.filter((row) => row['environment'] === (environment ?? row['environment']));
        return { rows: rows.map((row) => ({ ...SUMS.fromRow(row), place: placeOf(row) })), until: end };
      }
    },
    /** The cursors, and the sums of quarter-hours that can still change, in one snapshot. */
    async newestSums(environment: Environment) {
      const [cursors, sums] = await selectEach([
        { sql: SELECT_CURSORS, params: [] },
        { sql: SELECT_NEWEST, params: [environment] },
      ]);
      return { cursors: cursorsOf(cursors!), sums: sums!.map(SUMS.fromRow) };
    },
    /**
     * Sums of ranges that cannot change any more, which are read once, by a long read, and stay in memory. Undefined if the days were
     * deleted since the reading of `days`, because the time zone was changed.
     */
    async finalSums(environment: Environment, ranges: readonly SalesRange[], days: SalesCursor) {
      const found = await Promise.all(
        ranges.map(async (range) => {
          const { sql, params } = sumsQuery(environment, range);
          const key = [range.table, days.detail, ...params].join(' ');
          return { key, sums: kept.get(key) ?? (await longSelect(sql, ...params)).map(SUMS.fromRow) };
        }),
      );
      const isKept = found.every(({ key }) => kept.has(key));
      if (!isKept && cursorsOf(await select(SELECT_CURSORS)).days.detail !== days.detail) return undefined;
      if (kept.size > MOST_KEPT) kept.clear();
      for (const { key, sums } of found) kept.set(key, sums);
      return found.flatMap(({ sums }) => sums);
    },
    /** Start of the first quarter-hour with sums at or after a time; Infinity if there is none. */
    nextSales: async (from: Instant) =>
      Math.min(...(await select(SELECT_NEXT, from)).map(({ time }) => Number(time ?? Infinity))),
  };
}

function cursorsOf(rows: readonly Row[]) {
  const cursors = rows.map(CURSORS.fromRow);
  const named = (name: string) => cursors.find((cursor) => cursor.name === name) ?? { name, until: 0, detail: '' };
  return { quarterHours: named('quarter_hours'), days: named('days') };
}

function sumsQuery(environment: Environment, { table, from, until, stepMs }: SalesRange): Query {
  // Days can start an hour before or after a multiple of 24 hours.
  const sql = `SELECT environment, MIN(time) AS time, route, kind, ${TOTALS} FROM ${table}
    WHERE environment = ?1 AND time >= ?2 AND time < ?3
    GROUP BY environment, (time - ?2 + ${table === 'sales_days' ? HALF_DAY_MS : 0}) / ?4, route, kind`;
  return { sql, params: [environment, from, until, stepMs] };
}

function rowQueries(routes: readonly Row[], times: readonly [from: Instant, until: Instant, limit: number]): Query[] {
  const [from, until, limit] = times;
  const inRange = (column: string) => `${column} >= ?1 AND ${column} < ?2 ORDER BY ${column} LIMIT ?3`;
  const failed = `${FAILED} WHERE outcome.environment = ?4 AND outcome.route_id = ?5 AND ${inRange('outcome.created')}`;
  return [
    { sql: `${CREATED} WHERE ${inRange('id')}`, params: [firstIdAt('chk', from), firstIdAt('chk', until), limit] },
    { sql: `${STARTED} WHERE ${inRange('id')}`, params: [firstIdAt('pay', from), firstIdAt('pay', until), limit] },
    { sql: `${EXPIRED} WHERE ${inRange('expired_at')}`, params: [...times] },
    ...routes.map((row) => ({ sql: failed, params: [...times, row['environment']!, row['route_id']!] })),
  ];
}

/** Time that sorts a row in its source. */
function placeOf(row: Row): Instant {
  return row['id'] === undefined ? (row['time'] as number) : timeOfId(row['id'] as string);
}
