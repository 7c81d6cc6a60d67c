import { type Answered, TillwayPromise } from './promise.ts';
import type { Page, WebhookEvent } from './types.ts';

/**
 * The feed: events oldest first, in the order in which they became visible, none of which ever appears before one that
 * was read. `await` gives one page; `for await` every event up to the end, a page at a time and no further than it is
 * read. Keep `cursor`, or the id of the last event that was worked on, and begin with that as `after` the next time.
 */
export class EventFeed extends TillwayPromise<Page<WebhookEvent>> implements AsyncIterable<WebhookEvent> {
  readonly #first: () => Promise<Answered<Page<WebhookEvent>>>;
  readonly #fetchPage: (after: string) => Promise<Answered<Page<WebhookEvent>>>;
  #cursor: string;

  constructor(fetchPage: (after: string) => Promise<Answered<Page<WebhookEvent>>>, after: string) {
    let answered: Promise<Answered<Page<WebhookEvent>>> | undefined;
    const first = () => (answered ??= fetchPage(after));
    super(first);
    this.#first = first;
    this.#fetchPage = fetchPage;
    this.#cursor = after;
  }

  /** The id of the last event that was handed out; before the first, what it began with. */
  get cursor(): string {
    return this.#cursor;
  }

  /** Page by page, to the end. */
  async *pages(): AsyncGenerator<Page<WebhookEvent>, void, undefined> {
    let { data: page } = await this.#first();
    for (;;) {
      yield page;
      if (!page.hasMore) return;
      // A page can be empty while older events of other kinds are still put in order: the same is asked again.
      this.#cursor = page.data.at(-1)?.id ?? this.#cursor;
      ({ data: page } = await this.#fetchPage(this.#cursor));
    }
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<WebhookEvent, void, undefined> {
    for await (const { data } of this.pages()) {
      for (const event of data) {
        this.#cursor = event.id;
        yield event;
      }
    }
  }
}
