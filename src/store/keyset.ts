import type { Page } from './list-page.ts';

export type SqlValue = string | number | null;
export type Row = Record<string, SqlValue>;

export interface Query {
  sql: string;
  params: SqlValue[];
}

/** Runs one query of a driver and returns its rows. */
export type Select = (sql: string, ...params: SqlValue[]) => Promise<Row[]>;
/** Runs several queries in one round trip and returns the rows of each. */
export type SelectEach = (queries: readonly Query[]) => Promise<Row[][]>;

/** A page of one table, by an index whose columns are `equals`, then `oneOf`, then `sortedBy`, then `id`. */
export interface KeysetQuery {
  table: string;
  equals: Record<string, SqlValue>;
  /** Leading index columns that no filter fixes, with all their values: each value is one range. */
  oneOf: Record<string, readonly string[]>;
  /** The column by which the index is partial. */
  notNull?: string;
  /** The columns that sort before the id, and their values at the page's cursor. */
  sortedBy?: { columns: readonly string[]; cursor: readonly SqlValue[] | undefined };
  /** Bounds of the id, for pages sorted by the id alone; ids sort by their creation time. */
  ids?: { from: string | undefined; below: string | undefined };
  /** Further conditions, which few rows of those ids fail: `created >= ` and its value. */
  also?: readonly (readonly [condition: string, value: SqlValue])[];
}

/** Splits the leading columns of an index, with all their values, into those that a filter fixes and those it leaves open. */
export function splitColumns(
  filter: Record<string, string | undefined>,
  leading: Record<string, readonly string[]>,
): Pick<KeysetQuery, 'equals' | 'oneOf'> {
  const given = Object.entries(filter).filter((entry): entry is [string, string] => entry[1] !== undefined);
  const equals = Object.fromEntries(given);
  return { equals, oneOf: Object.fromEntries(Object.entries(leading).filter(([column]) => !(column in equals))) };
}

/** A page of a table by `filter`; by the id alone if the filter fixes no column. */
export function filterKeyset(
  table: string,
  filter: Record<string, string | undefined>,
  leading: Record<string, readonly string[]>,
): KeysetQuery {
  const { equals, oneOf } = splitColumns(filter, leading);
  return { table, equals, oneOf: Object.keys(equals).length === 0 ? {} : oneOf };
}

/**
 * Every page is one range scan per combination of `oneOf` values, each at most `limit + 1` rows long, merged by id: its
 * cost grows neither with the table nor with the depth of the page. One row more than the limit tells `hasMore`.
 */
export function keysetQuery(query: KeysetQuery, page: Page): Query {
  return unionQuery([query], page);
}

/** A page of several disjoint ranges of one table, sorted alike. */
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

/** One bound at each end: of two bounds a database uses one for the range and reads in vain up to the other. */
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
