import { currentOrigin } from './origin.ts';

/** Fields that every log line has about its origin: the ids of the request and the trace. */
export function originOfLine(): object {
  const { requestId, traceParent } = currentOrigin();
  // Creates a new object for each line, because pino merges the fields of the line into the object.
  const fields: { requestId?: string; traceId?: string } = {};
  if (requestId !== null) fields.requestId = requestId;
  if (traceParent !== null) fields.traceId = traceParent.slice(3, 35);
  return fields;
}

/** Logs the reason of a 503 response, because the response itself has only a general message. */
export function logUnavailable(log: { warn(fields: object, message: string): void }, error: Error): void {
  const cause = error.cause instanceof Error ? { cause: error.cause.message } : {};
  log.warn({ reason: error.message, ...cause }, 'unavailable');
}
