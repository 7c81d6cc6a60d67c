import { type IdPrefix, firstIdAt } from '../domain/id.ts';
import type { Instant } from '../domain/records.ts';
import type { Page } from './list-page.ts';

/** Value of a parameter or of a column. */
export type SqlValue = string | number | null;
/** Row of a result: the values by column name. */
export type Row = Record<string, SqlValue>;

export interface Query {
  sql: string;
  params: SqlValue[];
}

/** Runs one query on the database and returns its rows. */
export type Select = (sql: string, ...params: SqlValue[]) => Promise<Row[]>;
/** Runs several queries in one round trip, in one snapshot, and returns the rows of each query. */
export type SelectEach = (queries: readonly Query[]) => Promise<Row[][]>;

/** Port for reads that can take long, beside the short ones: a thread or connections of their own, so that they delay nothing. */
export interface LongReads {
  select: Select;
  /** Waits for the reads in progress. */
  close(): Promise<void>;
}

/** A range of one table with the key `id`, by an index whose columns are `equals`, then `oneOf`, then `sortedBy`. */
export interface KeysetQuery {
  table: string;
  /** Columns of the result; all by default. */
  select?: string;
  /** Joins of further tables, whose columns are in `select`. */
  join?: string;
  equals: Record<string, SqlValue>;
  /** Query that selects few rows, such as the rows of one session; if set, the range filters and sorts only these rows. */
  among?: Query | undefined;
  /** Leading index columns that the filter leaves open, with all their possible values; each value is a range of its own. */
  oneOf: Record<string, readonly string[]>;
  /** Column that must not be null, so that the query can use a partial index on it. */
  notNull?: string;
  /** Columns that sort the range; `id` by default. */
  sortedBy?: readonly string[];
  /** Lower bound (inclusive) and upper bound (exclusive) of the id, for pages sorted by the id alone. */
  ids?: { from: string | undefined; below: string | undefined };
  /** Further conditions, such as `created >= ` with its value, that most rows of the range meet. */
  also?: readonly (readonly [condition: string, value: SqlValue])[];
}

/** Part of a range: at most `limit` rows in one direction, after the row whose sort columns have the values `after`. */
export interface KeysetRange {
  limit: number;
  direction: 'ASC' | 'DESC';
  after: readonly SqlValue[] | undefined;
}

/** Splits columns into those that the filter sets (`equals`), and the other leading columns with all their values (`oneOf`). */
export function splitColumns(
  filter: Record<string, string | undefined>,
  leading: Record<string, readonly string[]>,
): Pick<KeysetQuery, 'equals' | 'oneOf'> {
  const given = Object.entries(filter).filter((entry): entry is [string, string] => entry[1] !== undefined);
  const equals = Object.fromEntries(given);
  return { equals, oneOf: Object.fromEntries(Object.entries(leading).filter(([column]) => !(column in equals))) };
}

/** Range of a table, or of the rows that `among` selects, by `filter`; a range without a filter is sorted by the id alone. */
export function filterKeyset(
  table: string,
  filter: Record<string, string | undefined>,
  leading: Record<string, readonly string[]>,
  among?: Query,
): KeysetQuery {
  const { equals, oneOf } = splitColumns(filter, leading);
  return { table, equals, oneOf: among || Object.keys(equals).length === 0 ? {} : oneOf, among };
}

/** Maximum difference between the time in an id and the `created` of its record: the service reads the clock separately for each. */
const ID_TIME_SLACK_MS = 5000;

/** Range of the records created at or after `from` and before `until`; without both, no restriction. */
export function createdBetween(
  prefix: IdPrefix,
  from: Instant | undefined,
  until: Instant | undefined,
): Required<Pick<KeysetQuery, 'ids' | 'also'>> {
  return {
    ids: {
      from: from === undefined ? undefined : firstIdAt(prefix, from - ID_TIME_SLACK_MS),
      below: until === undefined ? undefined : firstIdAt(prefix, until + ID_TIME_SLACK_MS),
    },
    also: [
      ...(from === undefined ? [] : [['created >= ', from] as const]),
      ...(until === undefined ? [] : [['created < ', until] as const]),
    ],
  };
}

/** Query of the first entry whose id is defined; undefined if no entry has an id. */
export function rowsNamed(...named: readonly [sql: string, id: string | undefined][]): Query | undefined {
  const found = named.find(([, id]) => id !== undefined);
  return found && { sql: found[0], params: [found[1]!] };
}

/** Range of a page plus one row for `hasMore`; `place` contains the values of the cursor row in all sort columns except the id. */
export function rangeOf({ limit, startingAfter, endingBefore }: Page, place: readonly SqlValue[] = []): KeysetRange {
  const cursor = endingBefore ?? startingAfter;
  const direction = endingBefore === undefined ? 'DESC' : 'ASC';
  return { limit: limit + 1, direction, after: cursor === undefined ? undefined : [...place, cursor] };
}

/**
 * Query for several disjoint ranges of one table with the same sort columns. Merges one range scan of at most `limit` rows per
 * combination of `oneOf` values. The cost grows neither with the table nor with the depth of the page.
 */
export function keysetQuery(queries: readonly [KeysetQuery, ...KeysetQuery[]], range: KeysetRange): Query {
  const { among, table, select = '*', join = '', sortedBy: columns = ['id'] } = queries[0];
  const params: SqlValue[] = among ? [...among.params] : [];
  const named = among ? `WITH named AS MATERIALIZED (${among.sql}) ` : '';
  const bind = (value: SqlValue) => `?${params.push(value)}`;
  const directed = columns.map((column) => `${column} ${range.direction}`);
  const order = `ORDER BY ${directed.join(', ')} LIMIT ${bind(range.limit)}`;
  const branches = queries.flatMap((query) => branchesOf(query, { range, columns, order, bind }));
  if (branches.length === 1 && join === '') return { sql: `${named}SELECT ${select} ${branches[0]!}`, params };
  // A merge of ids reads indexes only, and then the rows of the page.
  const mergesIds = join !== '' || (!among && columns[0] === 'id');
  const parts = branches.map((branch) => `SELECT * FROM (SELECT ${mergesIds ? 'id' : select} ${branch}) AS part`);
  const merged = `${parts.join(' UNION ALL ')} ${order}`;
  if (!mergesIds) return { sql: named + merged, params };
  const page = `(${merged}) AS page JOIN ${table} USING (id) ${join}`;
  return { sql: `${named}SELECT ${select} FROM ${page} ORDER BY page.id ${range.direction}`, params };
}

interface Branching {
  range: KeysetRange;
  columns: readonly string[];
  order: string;
  bind(value: SqlValue): string;
}

function branchesOf(query: KeysetQuery, { range, columns, order, bind }: Branching): string[] {
  const { equals, oneOf, notNull, ids, also = [] } = query;
  const table = query.among ? 'named' : query.table;
  const shared = Object.entries(equals).map(([column, value]) => `${column} = ${bind(value)}`);
  if (notNull !== undefined) shared.push(`${notNull} IS NOT NULL`);
  if (ids) shared.push(...idRange(ids, range, bind));
  else if (range.after) {
    shared.push(`${tuple(columns)} ${range.direction === 'DESC' ? '<' : '>'} ${tuple(range.after.map(bind))}`);
  }
  for (const [condition, value] of also) shared.push(`${condition}${bind(value)}`);

  return combinations(oneOf).map((fixed) => {
    const conditions = [...fixed.map(([column, value]) => `${column} = ${bind(value)}`), ...shared];
    const where = conditions.length === 0 ? '' : ` WHERE ${conditions.join(' AND ')}`;
    return `FROM ${table}${where} ${order}`;
  });
}

/** SQL conditions with one bound per end of the range. With two bounds, a database searches by one and tests rows one by one. */
function idRange(
  { from, below }: NonNullable<KeysetQuery['ids']>,
  range: KeysetRange,
  bind: Branching['bind'],
): string[] {
  const cursor = range.after?.[0] as string | undefined;
  const [above, under] = range.direction === 'ASC' ? [cursor, undefined] : [undefined, cursor];
  const upper = [below, under].filter((id) => id !== undefined).toSorted()[0];
  const isAfterCursor = above !== undefined && (from === undefined || above >= from);
  const lower = isAfterCursor ? `id > ${bind(above)}` : from === undefined ? '' : `id >= ${bind(from)}`;
  return [lower, upper === undefined ? '' : `id < ${bind(upper)}`].filter((condition) => condition !== '');
}

/** SQL row value. An index with the columns in this order serves a comparison of row values as one range. */
function tuple(parts: readonly string[]): string {
  return parts.length === 1 ? parts[0]! : `(${parts.join(', ')})`;
}

function combinations(oneOf: Record<string, readonly string[]>): [string, string][][] {
  let all: [string, string][][] = [[]];
  for (const [column, values] of Object.entries(oneOf)) {
    all = all.flatMap((fixed) => values.map((value): [string, string][] => [...fixed, [column, value]]));
  }
  return all;
}
