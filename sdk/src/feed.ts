import type { WebhookEvent } from './generated/types.ts';
import { type FetchPage, type Page, PagePromise } from './list.ts';

/**
 * The feed: events oldest first in a fixed order, so that new events always follow events that were already read. `await`
 * returns one page, `for await` yields all events up to the end. Store `cursor`, or the id of the last event that you have
 * processed, and pass it as `after` next time.
 */
export class EventFeed extends PagePromise<WebhookEvent> implements AsyncIterable<WebhookEvent> {
  #cursor: string;

  constructor(fetchPage: FetchPage<WebhookEvent>, after: string) {
    super(({ after: position = after }) => fetchPage({ after: position }));
    this.#cursor = after;
  }

  /** Id of the last event that was yielded; initially the start position. */
  get cursor(): string {
    return this.#cursor;
  }

  protected override positionAfter({ data }: Page<WebhookEvent>): { after: string } {
    // A page can be empty while the service still orders events. The next request then uses the same position.
    this.#cursor = data.at(-1)?.id ?? this.#cursor;
    return { after: this.#cursor };
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
