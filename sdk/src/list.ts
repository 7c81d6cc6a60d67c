import { type Answered, TillwayPromise } from './promise.ts';
import type { PageParams } from './types-requests.ts';
import type { Page } from './types.ts';

export type FetchPage<Item> = (position: PageParams) => Promise<Answered<Page<Item>>>;

/**
 * A list: `await` gives one page, `for await` every record of every page, a page at a time and no further than it is
 * read. Nothing is fetched before one of them.
 *
 * `for await` goes from the newest record, or from `startingAfter`, to the oldest. With `endingBefore` it goes the other
 * way, from there to the newest, and so catches up in the order in which things happened.
 */
export class TillwayList<Item extends { id: string }>
  extends TillwayPromise<Page<Item>>
  implements AsyncIterable<Item>
{
  readonly #first: () => Promise<Answered<Page<Item>>>;
  readonly #fetchPage: FetchPage<Item>;
  readonly #towardsNewer: boolean;

  constructor(fetchPage: FetchPage<Item>, params: PageParams) {
    let answered: Promise<Answered<Page<Item>>> | undefined;
    const first = () => (answered ??= fetchPage({}));
    super(first);
    this.#first = first;
    this.#fetchPage = fetchPage;
    this.#towardsNewer = params.endingBefore !== undefined;
  }

  /** Page by page. Each page is newest first, as the service answers it. */
  async *pages(): AsyncGenerator<Page<Item>, void, undefined> {
    let { data: page } = await this.#first();
    yield page;
    while (page.hasMore && page.data.length > 0) {
      const position = this.#towardsNewer
        ? { endingBefore: page.data[0]!.id }
        : { startingAfter: page.data.at(-1)!.id };
      ({ data: page } = await this.#fetchPage(position));
      yield page;
    }
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void, undefined> {
    for await (const { data } of this.pages()) {
      if (this.#towardsNewer) for (let index = data.length - 1; index >= 0; index--) yield data[index]!;
      else yield* data;
    }
  }

  /** All records in one array, or the first `max` of them. */
  async toArray({ max = Infinity }: { max?: number | undefined } = {}): Promise<Item[]> {
    const items: Item[] = [];
    if (max <= 0) return items;
    for await (const item of this) {
      items.push(item);
      if (items.length >= max) break;
    }
    return items;
  }
}
