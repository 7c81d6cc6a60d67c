import { readFeedPage } from './answers.ts';
import { listOf } from './call.ts';
import { EventFeed } from './feed.ts';
import { EventsResource, TestClockResource, WebhooksResource } from './generated/resources.ts';
import type { EventQuery, TestClock, WebhookEvent } from './generated/types.ts';
import type { TillwayList } from './list.ts';
import type { RequestOptions, Transport } from './transport.ts';
import { webhooks } from './webhooks.ts';

const EVENTS_PATH = '/api/gateway/events';
const POLL_MS = 100;

/** Filters and page parameters of `events.list`. */
export type EventListParams = Omit<EventQuery, 'after'>;
/** Start position, filters and page size of `events.feed`. Without `after`, the feed starts at the first event. */
export type EventFeedParams = Omit<EventQuery, 'sessionId' | 'startingAfter' | 'endingBefore'>;

/** Events, as webhooks deliver them. */
export class EventsWithFeed extends EventsResource {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    super(transport);
    this.#transport = transport;
  }

  /**
   * Events, newest first by creation time. A new event can appear below events that you have already read: to
   * follow events, use webhooks or the `feed`.
   */
  list(params?: EventListParams, options?: RequestOptions): TillwayList<WebhookEvent> {
    return listOf(this.#transport, { path: EVENTS_PATH, options }, params);
  }

  /** Events after the event `after`, oldest first and without gaps, as a replacement for webhooks or to read missed events. */
  feed({ after = '', ...params }: EventFeedParams = {}, options?: RequestOptions): EventFeed {
    const fetchPage = (position: { after?: string }) =>
      this.#transport.send({
        method: 'GET',
        path: EVENTS_PATH,
        query: { ...params, ...position },
        repeatable: true,
        read: readFeedPage<WebhookEvent>,
        options,
      });
    return new EventFeed(fetchPage, after);
  }
}

/** The functions of `webhooks`, and samples that the service creates. */
export class WebhookHelpers extends WebhooksResource {
  readonly verify = webhooks.verify;
  readonly check = webhooks.check;
  readonly sign = webhooks.sign;
  readonly sampleEvent = webhooks.sampleEvent;
}

/** The clock of a service with TEST_CLOCK=true. Other services return `forbidden`. */
export class WaitingTestClock extends TestClockResource {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    super(transport);
    this.#transport = transport;
  }

  /** Waits until the clock has reached its target and all work that became due is done. */
  async ready(options?: RequestOptions): Promise<TestClock> {
    for (;;) {
      const clock = await this.get(options);
      if (clock.status === 'ready') return clock;
      await this.#transport.sleep(POLL_MS, options?.signal);
    }
  }
}
