import type { Environment } from '../domain/route.ts';
import type { PageResult, Page } from './list-page.ts';

/** Page without records, the last one of its list. */
export const EMPTY_PAGE = { items: [], hasMore: false };

/** A page of a complete list of few records, given in any order; `compare(a, b)` is negative if `a` is older than `b`. */
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

/** Page of a list whose filter, such as a customer, implies an environment; empty if `environment` is another environment. */
export function pageWithin<Item extends { environment: Environment }>(
  page: PageResult<Item>,
  environment: Environment | undefined,
): PageResult<Item> {
  const isOther = page.items.some((item) => environment !== undefined && item.environment !== environment);
  return isOther ? EMPTY_PAGE : page;
}
