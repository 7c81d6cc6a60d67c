import { type Logger, symbols } from 'pino';
import { currentOrigin } from './origin.ts';

/** What pino writes into every line besides its own fields: on behalf of which request, and of which trace. */
export function originOfLine(_fields: object, _level: number, log: Logger): object {
  const { requestId, traceParent } = currentOrigin();
  // pino merges the line's own fields into this very object.
  const fields: { requestId?: string; traceId?: string } = {};
  if (requestId !== null && !isNamed(log)) fields.requestId = requestId;
  if (traceParent !== null) fields.traceId = traceParent.slice(3, 35);
  return fields;
}

/** A request's own logger has its id bound already. */
function isNamed(log: Logger): boolean {
  const bound = (log as unknown as Record<symbol, unknown>)[symbols.chindingsSym];
  return typeof bound === 'string' && bound.includes('"requestId":');
}

/** Why a request was answered 503, which its caller is told in general words only. */
export function logUnavailable(log: { warn(fields: object, message: string): void }, error: Error): void {
  const cause = error.cause instanceof Error ? { cause: error.cause.message } : {};
  log.warn({ reason: error.message, ...cause }, 'unavailable');
}
