import { type Answered, TillwayPromise } from './promise.ts';

/** One page of a list. */
export interface Page<Item> {
  object: 'list';
  /** Records of this page, newest first. */
  data: Item[];
  /** true if more records exist in the direction of the request. */
  hasMore: boolean;
  /** Cursor of the next page; set only if a search ended before the page was full. */
  searchedTo?: string;
}

/** Position and size of a page. Lists are sorted newest first. */
export interface PageParams {
  /** Records per page, also for the pages that `for await` fetches: 1 to 100; a larger number counts as 100. Default 20. */
  limit?: number | undefined;
  /** Id of a record; the page contains older records. */
  startingAfter?: string | undefined;
  /** Id of a record; the page contains newer records, and `for await` ends at the newest. Not together with `startingAfter`. */
  endingBefore?: string | undefined;
}

/** Function that fetches the page at a position. */
export type FetchPage<Item> = (position: PageParams & { after?: string }) => Promise<Answered<Page<Item>>>;

/** Promise of the first page, which can also fetch further pages. Fetches the first page once, when it is read. */
export abstract class PagePromise<Item extends { id: string }> extends TillwayPromise<Page<Item>> {
  readonly #first: () => Promise<Answered<Page<Item>>>;
  readonly #fetchPage: FetchPage<Item>;

  constructor(fetchPage: FetchPage<Item>) {
    let answered: Promise<Answered<Page<Item>>> | undefined;
    const first = () => (answered ??= fetchPage({}));
    super(first);
    this.#first = first;
    this.#fetchPage = fetchPage;
  }

  /** Iterates over the pages, without prefetching. */
  async *pages(): AsyncGenerator<Page<Item>, void, undefined> {
    let { data: page } = await this.#first();
    yield page;
    while (page.hasMore) {
      ({ data: page } = await this.#fetchPage(this.positionAfter(page)));
      yield page;
    }
  }

  /** Returns the position of the next page. */
  protected abstract positionAfter(page: Page<Item>): Parameters<FetchPage<Item>>[0];
}

/**
 * A list: `await` returns one page, `for await` yields all records and fetches pages as needed. `for await` starts at the newest
 * record, or after `startingAfter`, and ends at the oldest. With `endingBefore`, it starts after that record and ends at the
 * newest, in the order of creation.
 */
export class TillwayList<Item extends { id: string }> extends PagePromise<Item> implements AsyncIterable<Item> {
  readonly #towardsNewer: boolean;

  constructor(fetchPage: FetchPage<Item>, params: PageParams) {
    super(fetchPage);
    this.#towardsNewer = params.endingBefore !== undefined;
  }

  protected override positionAfter({ data, searchedTo }: Page<Item>): PageParams {
    return this.#towardsNewer
      ? { endingBefore: searchedTo ?? data[0]!.id }
      : { startingAfter: searchedTo ?? data.at(-1)!.id };
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void, undefined> {
    for await (const { data } of this.pages()) {
      if (this.#towardsNewer) for (let index = data.length - 1; index >= 0; index--) yield data[index]!;
      else yield* data;
    }
  }

  /** Collects all records, or the first `max` records, in an array. */
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
