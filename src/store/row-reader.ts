import { type KeysetQuery, type Row, type Select, type SqlValue, keysetQuery, rangeOf } from './keyset.ts';
import type { PageResult, Page } from './list-page.ts';
import type { Table } from './table-description.ts';

/** Creates functions that run a query with `select` and convert its rows to items. */
export function createReader(select: Select) {
  async function one<Item>(fromRow: (row: Row) => Item, sql: string, ...params: SqlValue[]): Promise<Item | undefined> {
    const [row] = await select(sql, ...params);
    return row && fromRow(row);
  }

  function find<Item>({ fromRow, byId }: Pick<Table<Item>, 'fromRow' | 'byId'>, id: string): Promise<Item | undefined> {
    return one(fromRow, byId, id);
  }

  async function all<Item>(fromRow: (row: Row) => Item, sql: string, ...params: SqlValue[]): Promise<Item[]> {
    return (await select(sql, ...params)).map(fromRow);
  }

  /** A page of one or several ranges; `place` has the values of the cursor row in the sort columns before the id. */
  async function list<Item>(
    query: KeysetQuery | readonly [KeysetQuery, ...KeysetQuery[]],
    page: Page,
    fromRow: (row: Row) => Item,
    place?: readonly SqlValue[],
  ): Promise<PageResult<Item>> {
    const { sql, params } = keysetQuery('table' in query ? [query] : query, rangeOf(page, place));
    const rows = await select(sql, ...params);
    const hasMore = rows.length > page.limit;
    const items = rows.slice(0, page.limit).map(fromRow);
    return { items: page.endingBefore === undefined ? items : items.toReversed(), hasMore };
  }

  return { one, find, all, list };
}
