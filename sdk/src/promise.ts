/** Metadata of a response. */
export interface ResponseInfo {
  /** HTTP status. */
  status: number;
  headers: Headers;
  /** Header `x-request-id`, which is also in the log of the service. */
  requestId: string | undefined;
  /** true if an earlier request with the same idempotency key created the record, and this request created nothing. */
  replayed: boolean;
  /** Number of requests, including retries. */
  attempts: number;
}

/** Data of a response, with the metadata of the response. */
export interface Answered<Data> {
  data: Data;
  response: ResponseInfo;
}

/** Promise of the response data; `withResponse()` also returns the metadata of the response. */
export class TillwayPromise<Data> extends Promise<Data> {
  readonly #answered: () => Promise<Answered<Data>>;

  /** Class of the promises that `then`, `catch` and `finally` return: plain promises. */
  static override get [Symbol.species](): PromiseConstructor {
    return Promise;
  }

  constructor(answered: () => Promise<Answered<Data>>) {
    // The base promise never settles. `then` uses the promise of `answered`, so that a rejection is not reported twice.
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

  /** Resolves with the data and the metadata of the response: status, headers, request id, `replayed` and attempts. */
  withResponse(): Promise<Answered<Data>> {
    return this.#answered();
  }
}
