/** A response without its data. */
export interface ResponseInfo {
  /** HTTP status. */
  status: number;
  headers: Headers;
  /** The `x-request-id`, which is also in the log of the service. */
  requestId: string | undefined;
  /** true for the response of an earlier request with the same idempotency key: nothing was created now. */
  replayed: boolean;
  /** Number of requests, with retries. */
  attempts: number;
}

export interface Answered<Data> {
  data: Data;
  response: ResponseInfo;
}

/** A promise of the data only; `withResponse()` adds the rest of the response. */
export class TillwayPromise<Data> extends Promise<Data> {
  readonly #answered: () => Promise<Answered<Data>>;

  /** The class of the promises from `then`, `catch` and `finally`. */
  static override get [Symbol.species](): PromiseConstructor {
    return Promise;
  }

  constructor(answered: () => Promise<Answered<Data>>) {
    // Never settled itself: `then` uses the inner promise, so that one rejection is not reported twice.
    super(() => undefined);
    this.#answered = answered;
  }

  // oxlint-disable-next-line unicorn/no-thenable -- it is a promise
  override then<Fulfilled = Data, Rejected = never>(
    onFulfilled?: ((data: Data) => Fulfilled | PromiseLike<Fulfilled>) | null,
    onRejected?: ((reason: unknown) => Rejected | PromiseLike<Rejected>) | null,
  ): Promise<Fulfilled | Rejected> {
    return this.#answered()
      .then(({ data }) => data)
      .then(onFulfilled, onRejected);
  }

  /** The data with status, headers, request id, and `replayed`. */
  withResponse(): Promise<Answered<Data>> {
    return this.#answered();
  }
}
