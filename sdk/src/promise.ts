/** What is known of an answer besides its data. */
export interface ResponseInfo {
  /** HTTP status. */
  status: number;
  headers: Headers;
  /** The `x-request-id`, as the log of the service names it. */
  requestId: string | undefined;
  /** Whether this is the answer to an earlier request with the same idempotency key: nothing was created now. */
  replayed: boolean;
  /** How many requests it took, retries included. */
  attempts: number;
}

export interface Answered<Data> {
  data: Data;
  response: ResponseInfo;
}

/** A promise of the data alone; `withResponse()` has the rest of the answer too. */
export class TillwayPromise<Data> extends Promise<Data> {
  readonly #answered: () => Promise<Answered<Data>>;

  /** What `then`, `catch` and `finally` make are plain promises. */
  static override get [Symbol.species](): PromiseConstructor {
    return Promise;
  }

  constructor(answered: () => Promise<Answered<Data>>) {
    // Never settled itself: `then` goes to the answer, so that one rejection is not reported twice.
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

  /** The data with status, headers, request id, and whether a create was a replay. */
  withResponse(): Promise<Answered<Data>> {
    return this.#answered();
  }
}
