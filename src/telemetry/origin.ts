import { AsyncLocalStorage } from 'node:async_hooks';

/** Request and trace that caused a change or a log line. The ids contain no personal data, so they may be stored. */
export interface Origin {
  /** Id of the HTTP request; null outside a request. */
  readonly requestId: string | null;
  /** The current span as W3C `traceparent`; null if tracing is disabled. */
  readonly traceParent: string | null;
}

/** Origin of code that no request has caused. */
export const NO_ORIGIN: Origin = { requestId: null, traceParent: null };
const origins = new AsyncLocalStorage<Origin>();

/** Origin of the code that runs now. */
export function currentOrigin(): Origin {
  return origins.getStore() ?? NO_ORIGIN;
}

/** Runs `work`, and all asynchronous work that it starts, with the given origin. */
export function runWithOrigin<Result>(origin: Origin, work: () => Result): Result {
  return origins.run(origin, work);
}

/** Runs work that several requests share, such as a batch or a connection, without an origin. */
export function runWithoutOrigin<Result>(work: () => Result): Result {
  return origins.run(NO_ORIGIN, work);
}

/** Headers for an outgoing request, with which the receiver continues the trace; empty if tracing is disabled. */
export function traceHeaders(): Record<string, string> {
  const { traceParent } = currentOrigin();
  return traceParent === null ? {} : { traceparent: traceParent };
}
