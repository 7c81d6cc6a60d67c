import type { WebhookEvent } from './generated/types.ts';
import { type FetchPage, type Page, PagePromise } from './list.ts';

/**
 * The feed: all events, oldest first in a fixed order. New events always follow events that you have read. `await` returns one
 * page, `for await` yields all events up to the end of the feed. Store `cursor`, or the id of the last event that you have
 * processed, and pass it as `after` the next time.
 */
export class EventFeed extends PagePromise<WebhookEvent> implements AsyncIterable<WebhookEvent> {
  #cursor: string;

  constructor(fetchPage: FetchPage<WebhookEvent>, after: string) {
    super(({ after: position = after }) => fetchPage({ after: position }));
    this.#cursor = after;
  }

  /** Cursor: the id of the last yielded event; before the first event, the start position. */
  get cursor(): string {
    return this.#cursor;
  }

  protected override positionAfter({ data }: Page<WebhookEvent>): { after: string } {
    // A page is empty while the service still assigns positions to new events. The next request then uses the same cursor.
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
