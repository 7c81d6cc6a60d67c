import { readFeedPage } from './answers.ts';
import { EventFeed } from './feed.ts';
import { EventsResource, TestClockResource, WebhooksResource } from './generated/resources.ts';
import type { ListEventsParams, TestClock, WebhookEvent } from './generated/types.ts';
import type { TillwayList } from './list.ts';
import type { RequestOptions } from './transport.ts';
import { webhooks } from './webhooks.ts';

const POLL_MS = 100;

/** Filters and page of `events.list`. */
export type EventListParams = Omit<ListEventsParams, 'after'>;
/** Start position, filters and page size of `events.feed`. Without `after`, the feed starts at the first event. */
export type EventFeedParams = Omit<ListEventsParams, 'sessionId' | 'startingAfter' | 'endingBefore'>;

/** Events, in the form in which webhooks deliver them. */
export class EventsWithFeed extends EventsResource {
  /**
   * Lists events, newest first by creation time. A new event can appear below events that you have already read. To
   * receive all events, use webhooks or the `feed`.
   */
  override list(params?: EventListParams, options?: RequestOptions): TillwayList<WebhookEvent> {
    return super.list(params, options);
  }

  /** Reads the events after the event `after`, oldest first and without gaps: instead of webhooks, or to read missed events. */
  feed({ after = '', ...params }: EventFeedParams = {}, options?: RequestOptions): EventFeed {
    const fetchPage = (position: { after?: string }) =>
      this.transport.send({
        method: 'GET',
        path: '/api/gateway/events',
        query: { ...params, ...position },
        repeatable: true,
        read: readFeedPage<WebhookEvent>,
        options,
      });
    return new EventFeed(fetchPage, after);
  }
}

/** Functions that verify and sign webhooks, and requests for sample webhooks of the service. */
export class WebhookHelpers extends WebhooksResource {
  readonly verify = webhooks.verify;
  readonly check = webhooks.check;
  readonly sign = webhooks.sign;
  readonly sampleEvent = webhooks.sampleEvent;
}

/** The clock of a service with TEST_CLOCK=true. Other services return `forbidden`. */
export class WaitingTestClock extends TestClockResource {
  /** Waits until an advance is complete: the clock has reached its target, and all work that became due is done. */
  async ready(options?: RequestOptions): Promise<TestClock> {
    for (;;) {
      const clock = await this.get(options);
      if (clock.status === 'ready') return clock;
      await this.transport.sleep(POLL_MS, options?.signal);
    }
  }
}
