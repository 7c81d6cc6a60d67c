import { currentOrigin } from './origin.ts';

/** Fields of every log line about its origin: the request and the trace. */
export function originOfLine(): object {
  const { requestId, traceParent } = currentOrigin();
  // pino merges the line's own fields into this very object.
  const fields: { requestId?: string; traceId?: string } = {};
  if (requestId !== null) fields.requestId = requestId;
  if (traceParent !== null) fields.traceId = traceParent.slice(3, 35);
  return fields;
}

/** Logs the reason of an answer 503, which gives the caller general words only. */
export function logUnavailable(log: { warn(fields: object, message: string): void }, error: Error): void {
  const cause = error.cause instanceof Error ? { cause: error.cause.message } : {};
  log.warn({ reason: error.message, ...cause }, 'unavailable');
}
