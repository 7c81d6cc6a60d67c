import { AsyncLocalStorage } from 'node:async_hooks';

/** What caused something. It may be kept and logged: neither field holds anything of a person. */
export interface Origin {
  /** Of the HTTP request; null where nobody asked. */
  readonly requestId: string | null;
  /** The span under way, as W3C `traceparent`; null where nothing is traced. */
  readonly traceParent: string | null;
}

export const NOBODY: Origin = { requestId: null, traceParent: null };
const origins = new AsyncLocalStorage<Origin>();

/** On whose behalf this code runs. */
export function currentOrigin(): Origin {
  return origins.getStore() ?? NOBODY;
}

/** Whatever `work` does, and whatever it starts, is done on behalf of `origin`. */
export function onBehalfOf<Result>(origin: Origin, work: () => Result): Result {
  return origins.run(origin, work);
}

/** For what several requests share, a batch or a connection: it belongs to none of them. */
export function onNobodysBehalf<Result>(work: () => Result): Result {
  return origins.run(NOBODY, work);
}

const TRACE_PARENT = 'traceparent';

/** The headers by which whoever is asked next continues the trace; none where nothing is traced. */
export function traceHeaders(): Record<string, string> {
  const { traceParent } = currentOrigin();
  return traceParent === null ? {} : { [TRACE_PARENT]: traceParent };
}
