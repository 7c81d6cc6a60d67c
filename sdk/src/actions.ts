import { readRoutes, resource } from './answers.ts';
import { act, callWith, get, listFor } from './call.ts';
import type { TillwayList } from './list.ts';
import { withKey } from './merchant.ts';
import type { TillwayPromise } from './promise.ts';
import type { RequestOptions, Transport } from './transport.ts';
import type { CheckoutResult, FeesEstimate, Route, VerifiedSample, WebhookExample } from './types-agent.ts';
import type { CheckoutParams, FeesEstimateParams, VerifySampleParams, WebhookExampleParams } from './types-requests.ts';
import type { Environment, TestClock } from './types.ts';
import { webhooks } from './webhooks.ts';

/** Checkouts that are answered with the route and the fees that they were quoted. */
export class Checkout {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** What `create` would answer; nothing is written. */
  preview(params: CheckoutParams, options?: RequestOptions): TillwayPromise<CheckoutResult> {
    return act(this.#transport, 'checkout.preview', { body: params, repeatable: true, options });
  }

  /** Creates a session, as `sessions.create` does, and answers it with route and fees. */
  create(params: CheckoutParams, options?: RequestOptions): TillwayPromise<CheckoutResult> {
    const body = withKey(this.#transport, params);
    // The key makes a second request answer the first session.
    return act(this.#transport, 'checkout.create', { body, repeatable: true, options });
  }
}

export class FeesActions {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Splits an amount into fees, on the route that it would take or the one asked for. */
  estimate(params: FeesEstimateParams, options?: RequestOptions): TillwayPromise<FeesEstimate> {
    return act(this.#transport, 'fees.estimate', { body: params, repeatable: true, options });
  }
}

/** What `webhooks` has, and samples that the service makes. */
export class WebhookActions {
  readonly #transport: Transport;
  readonly verify = webhooks.verify;
  readonly check = webhooks.check;
  readonly sign = webhooks.sign;
  readonly sampleEvent = webhooks.sampleEvent;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** A delivery as it would arrive, signed with the public sample secret of `capabilities()`. */
  example(params: WebhookExampleParams = {}, options?: RequestOptions): TillwayPromise<WebhookExample> {
    return act(this.#transport, 'webhook.example', { body: params, repeatable: true, options });
  }

  /** Has a callback of a provider checked; a rightly signed one is applied to its sandbox session. */
  verifySample(params: VerifySampleParams, options?: RequestOptions): TillwayPromise<VerifiedSample> {
    // Each event id of a provider is applied once.
    return act(this.#transport, 'webhook.verify_sample', { body: params, repeatable: true, options });
  }
}

export class Routes {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** The routes of an environment, sandbox where none is given, best first: always one page. */
  list(params: { environment?: Environment | undefined } = {}, options?: RequestOptions): TillwayList<Route> {
    return listFor(this.#transport, { path: '/api/agent/routes', options, read: readRoutes }, params);
  }
}

const POLL_MS = 100;

/** The clock of a service that has its test clock enabled; `forbidden` where it has not. */
export class TestClockActions {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** What time it is for the service. */
  get(options?: RequestOptions): TillwayPromise<TestClock> {
    return get(this.#transport, { path: '/api/gateway/test-clock', read: resource<TestClock>('test_clock'), options });
  }

  /**
   * Moves time forward: `seconds` is a whole number of 1 to 2592000 (30 days). It answers at once, with the status
   * `advancing`; await `ready()` for what comes due on the way. An advance that is under way is `invalid_state`.
   */
  advance(params: { seconds: number }, options?: RequestOptions): TillwayPromise<TestClock> {
    // Asked twice, time would move twice.
    return callWith(this.#transport, {
      method: 'POST',
      path: '/api/gateway/test-clock/advance',
      body: params,
      repeatable: false,
      read: resource<TestClock>('test_clock'),
      options,
    });
  }

  /** Waits until time stands where it was to be moved, and everything that came due on the way is done. */
  async ready(options?: RequestOptions): Promise<TestClock> {
    for (;;) {
      const clock = await this.get(options);
      if (clock.status === 'ready') return clock;
      await this.#transport.sleep(POLL_MS, options?.signal);
    }
  }
}
