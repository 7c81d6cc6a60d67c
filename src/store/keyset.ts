import type { Page } from './store.ts';

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
}

/**
 * Every page is one range scan per combination of `oneOf` values, each at most `limit + 1` rows long, merged by id: its
 * cost grows neither with the table nor with the depth of the page. One row more than the limit tells `hasMore`.
 */
export function keysetQuery({ table, equals, oneOf, notNull, sortedBy }: KeysetQuery, page: Page): Query {
  const params: SqlValue[] = [];
  const bind = (value: SqlValue) => `?${params.push(value)}`;
  const backward = page.endingBefore !== undefined;
  const columns = [...(sortedBy?.columns ?? []), 'id'];
  const directed = columns.map((column) => `${column} ${backward ? 'ASC' : 'DESC'}`);
  const order = `ORDER BY ${directed.join(', ')} LIMIT ${bind(page.limit + 1)}`;
  const cursor = page.endingBefore ?? page.startingAfter;
  const shared = Object.entries(equals).map(([column, value]) => `${column} = ${bind(value)}`);
  if (notNull !== undefined) shared.push(`${notNull} IS NOT NULL`);
  if (cursor !== undefined) {
    const values = [...(sortedBy?.cursor ?? []), cursor].map(bind);
    shared.push(`${tuple(columns)} ${backward ? '>' : '<'} ${tuple(values)}`);
  }

  const branches = combinations(oneOf).map((fixed) => {
    const conditions = [...fixed.map(([column, value]) => `${column} = ${bind(value)}`), ...shared];
    const where = conditions.length === 0 ? '' : ` WHERE ${conditions.join(' AND ')}`;
    return `SELECT * FROM ${table}${where} ${order}`;
  });
  if (branches.length === 1) return { sql: branches[0]!, params };
  return {
    sql: `${branches.map((branch) => `SELECT * FROM (${branch}) AS part`).join(' UNION ALL ')} ${order}`,
    params,
  };
}

/** Row values are compared column by column, and an index that has the columns in this order is one range of them. */
function tuple(parts: string[]): string {
  return parts.length === 1 ? parts[0]! : `(${parts.join(', ')})`;
}

function combinations(oneOf: Record<string, readonly string[]>): [string, string][][] {
  let all: [string, string][][] = [[]];
  for (const [column, values] of Object.entries(oneOf)) {
    all = all.flatMap((fixed) => values.map((value): [string, string][] => [...fixed, [column, value]]));
  }
  return all;
}
