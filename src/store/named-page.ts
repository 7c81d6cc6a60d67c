import type { Environment } from '../domain/route.ts';
import type { PageResult, Page } from './list-page.ts';

export const EMPTY_PAGE = { items: [], hasMore: false };

/** A page of the few records that an id or an address names. */
export function pageOf<Item extends { id: string }>(named: Item[], page: Page): PageResult<Item> {
  const cursor = page.endingBefore ?? page.startingAfter;
  return pageOfItems<Item, { id: string }>(named, page, cursor === undefined ? undefined : { id: cursor }, (a, b) =>
    a.id < b.id ? -1 : Number(a.id > b.id),
  );
}

/** A page of a few records in any order; `compare` is negative if its first argument is the older one. */
export function pageOfItems<Item extends Place, Place>(
  items: Item[],
  { limit, endingBefore }: Page,
  cursor: Place | undefined,
  compare: (a: Place, b: Place) => number,
): PageResult<Item> {
  const newestFirst = items.toSorted((a, b) => compare(b, a));
  if (endingBefore !== undefined) {
    const newer = newestFirst.filter((item) => compare(item, cursor!) > 0);
    return { items: newer.slice(-limit), hasMore: newer.length > limit };
  }
  const older = cursor === undefined ? newestFirst : newestFirst.filter((item) => compare(item, cursor) < 0);
  return { items: older.slice(0, limit), hasMore: older.length > limit };
}

/** The page of a list whose filter implies an environment, such as a customer's; empty if `environment` is the other one. */
export function pageWithin<Item extends { environment: Environment }>(
  page: PageResult<Item>,
  environment: Environment | undefined,
): PageResult<Item> {
  const isOther = page.items.some((item) => environment !== undefined && item.environment !== environment);
  return isOther ? EMPTY_PAGE : page;
}

/** The items that have the value of every property that the filter gives. */
export function matching<Item extends object>(items: Item[], filter: { [Name in keyof Item]?: unknown }): Item[] {
  const given = Object.entries(filter).filter(([, value]) => value !== undefined) as [keyof Item, unknown][];
  return items.filter((item) => given.every(([name, value]) => item[name] === value));
}
