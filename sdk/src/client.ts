import { fieldsOf } from './answers.ts';
import { call } from './call.ts';
import { EventsWithFeed, WaitingTestClock, WebhookHelpers } from './client-resources.ts';
import { ApiResources } from './generated/resources.ts';
import type { Capabilities, OperationSchemas } from './generated/types.ts';
import { TillwayPromise } from './promise.ts';
import { type Call, type QueryValue, type RequestOptions, type TillwayOptions, createTransport } from './transport.ts';

/** A request to an endpoint without a method in this client. */
export interface RawRequest extends RequestOptions {
  method: Call<unknown>['method'];
  /** Path after the base URL, for example `/api/gateway/sessions`. Values in the path must be percent-encoded. */
  path: string;
  query?: Record<string, QueryValue> | undefined;
  /** Body of the request, sent as JSON. */
  body?: unknown;
  /** Idempotency key, added to the body. A POST with a key is retried after failures, like a GET. */
  idempotencyKey?: string | undefined;
}

/**
 * A client of one Tillway service.
 *
 * ```ts
 * const tillway = new Tillway({ baseUrl: 'https://pay.example' });
 * const session = await tillway.sessions.create({ product: 'Field guide', amount: 49.99, customer: 'buyer@example.com' });
 * ```
 *
 * Failed calls reject with a `TillwayError`. Temporary failures are retried if that is safe.
 */
export class Tillway extends ApiResources {
  override readonly events: EventsWithFeed = new EventsWithFeed(this.transport);
  override readonly webhooks: WebhookHelpers = new WebhookHelpers(this.transport);
  override readonly testClock: WaitingTestClock = new WaitingTestClock(this.transport);

  /** Throws TypeError for invalid options. */
  constructor(options: TillwayOptions = {}) {
    super(createTransport(options));
  }

  /** Fetches the input and output schemas of one operation, for example `checkout.create`. */
  schema(operation: string, options?: RequestOptions): TillwayPromise<OperationSchemas> {
    return call(this.transport, {
      method: 'GET',
      path: '/api/agent/schema/{operation}',
      params: { operation },
      repeatable: true,
      read: fieldsOf('ok', 'inputSchema', 'outputSchema'),
      options,
    });
  }

  /** Fetches the machine-readable description of the whole service. */
  capabilities(options?: RequestOptions): TillwayPromise<Capabilities> {
    return call(this.transport, {
      method: 'GET',
      path: '/api/agent/capabilities',
      repeatable: true,
      read: fieldsOf('entrypoints', 'actions'),
      options,
    });
  }

  /**
   * Sends any request, with the same errors, timeouts and retries as the other methods. Resolves with the unchecked body: any
   * JSON except an error of the service.
   */
  request<Data = unknown>(request: RawRequest): TillwayPromise<Data> {
    const { method, path, query = {}, body, idempotencyKey, ...options } = request;
    const answered = this.transport.send<Data>({
      method,
      path,
      query,
      body: idempotencyKey === undefined ? body : { ...(body as object | undefined), idempotencyKey },
      // HTTP defines all methods except POST and PATCH as idempotent.
      repeatable: (method !== 'POST' && method !== 'PATCH') || idempotencyKey !== undefined,
      read: (answer) => answer as Data,
      options,
    });
    return new TillwayPromise(() => answered);
  }
}
