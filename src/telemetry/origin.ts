import { AsyncLocalStorage } from 'node:async_hooks';

/** Request and trace that caused a change or a log line. Neither contains personal data, so both may be stored. */
export interface Origin {
  /** Id of the HTTP request; null without one. */
  readonly requestId: string | null;
  /** The current span as W3C `traceparent`; null without tracing. */
  readonly traceParent: string | null;
}

export const NO_ORIGIN: Origin = { requestId: null, traceParent: null };
const origins = new AsyncLocalStorage<Origin>();

/** Origin of the running code. */
export function currentOrigin(): Origin {
  return origins.getStore() ?? NO_ORIGIN;
}

/** Runs `work`, and everything that it starts, with this origin. */
export function runWithOrigin<Result>(origin: Origin, work: () => Result): Result {
  return origins.run(origin, work);
}

/** Runs work that several requests share, such as a batch or a connection, without an origin. */
export function runWithoutOrigin<Result>(work: () => Result): Result {
  return origins.run(NO_ORIGIN, work);
}

const TRACE_PARENT = 'traceparent';

/** Headers that let the next service continue the trace; none without tracing. */
export function traceHeaders(): Record<string, string> {
  const { traceParent } = currentOrigin();
  return traceParent === null ? {} : { [TRACE_PARENT]: traceParent };
}
