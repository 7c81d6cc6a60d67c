import type { Page } from './page.ts';

export type SqlValue = string | number | null;
export type Row = Record<string, SqlValue>;

export interface Query {
  sql: string;
  params: SqlValue[];
}

/** Runs one query of a driver and answers its rows. */
export type Select = (sql: string, ...params: SqlValue[]) => Promise<Row[]>;
/** Runs several queries in one round trip, and answers the rows of each. */
export type SelectEach = (queries: readonly Query[]) => Promise<Row[][]>;

/** A page of one table, by an index whose columns are `equals`, then `oneOf`, then `sortedBy`, then `id`. */
export interface KeysetQuery {
  table: string;
  equals: Record<string, SqlValue>;
  /** Leading index columns that no filter fixes: each is read once for every value that it can have. */
  oneOf: Record<string, readonly string[]>;
  /** The column by which the index is partial. */
  notNull?: string;
  /** The columns by which records come in order before their id does, and what they are at the page's cursor. */
  sortedBy?: { columns: readonly string[]; cursor: readonly SqlValue[] | undefined };
  /** Sorted by id alone: only those from here on, and below; ids sort by the time at which they were made. */
  ids?: { from: string | undefined; below: string | undefined };
  /** What few rows of those ids do not have: `created >= ` and its value. */
  also?: readonly (readonly [condition: string, value: SqlValue])[];
}

/**
 * Every page is one range scan per combination of `oneOf` values, each at most `limit + 1` rows long, merged by id: its
 * cost grows neither with the table nor with the depth of the page. One row more than the limit tells `hasMore`.
 */
export function keysetQuery(query: KeysetQuery, page: Page): Query {
  return unionQuery([query], page);
}

/** The same over several pages of one table that have no row in common, sorted alike. */
export function unionQuery(queries: readonly [KeysetQuery, ...KeysetQuery[]], page: Page): Query {
  const params: SqlValue[] = [];
  const bind = (value: SqlValue) => `?${params.push(value)}`;
  const { sortedBy } = queries[0];
  const backward = page.endingBefore !== undefined;
  const columns = [...(sortedBy?.columns ?? []), 'id'];
  const directed = columns.map((column) => `${column} ${backward ? 'ASC' : 'DESC'}`);
  const order = `ORDER BY ${directed.join(', ')} LIMIT ${bind(page.limit + 1)}`;
  const branches = queries.flatMap((query) => branchesOf(query, { page, columns, order, bind }));
  if (branches.length === 1) return { sql: branches[0]!, params };
  return {
    sql: `${branches.map((branch) => `SELECT * FROM (${branch}) AS part`).join(' UNION ALL ')} ${order}`,
    params,
  };
}

interface Branching {
  page: Page;
  columns: readonly string[];
  order: string;
  bind(value: SqlValue): string;
}

function branchesOf(query: KeysetQuery, { page, columns, order, bind }: Branching): string[] {
  const { table, equals, oneOf, notNull, sortedBy, ids, also = [] } = query;
  const cursor = page.endingBefore ?? page.startingAfter;
  const shared = Object.entries(equals).map(([column, value]) => `${column} = ${bind(value)}`);
  if (notNull !== undefined) shared.push(`${notNull} IS NOT NULL`);
  if (ids) shared.push(...idRange(ids, page, bind));
  else if (cursor !== undefined) {
    const values = [...(sortedBy?.cursor ?? []), cursor].map(bind);
    shared.push(`${tuple(columns)} ${page.endingBefore === undefined ? '<' : '>'} ${tuple(values)}`);
  }
  for (const [condition, value] of also) shared.push(`${condition}${bind(value)}`);

  return combinations(oneOf).map((fixed) => {
    const conditions = [...fixed.map(([column, value]) => `${column} = ${bind(value)}`), ...shared];
    const where = conditions.length === 0 ? '' : ` WHERE ${conditions.join(' AND ')}`;
    return `SELECT * FROM ${table}${where} ${order}`;
  });
}

/** One bound at each end: of two, a database takes the one that it likes, and reads in vain up to the other. */
function idRange({ from, below }: NonNullable<KeysetQuery['ids']>, page: Page, bind: Branching['bind']): string[] {
  const { startingAfter, endingBefore } = page;
  const upper = [below, startingAfter].filter((id) => id !== undefined).toSorted()[0];
  const isAfterCursor = endingBefore !== undefined && (from === undefined || endingBefore >= from);
  const lower = isAfterCursor ? `id > ${bind(endingBefore)}` : from === undefined ? '' : `id >= ${bind(from)}`;
  return [lower, upper === undefined ? '' : `id < ${bind(upper)}`].filter((condition) => condition !== '');
}

/** Row values are compared column by column, and an index that has the columns in this order is one range of them. */
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
