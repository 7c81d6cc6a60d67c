import type { FastifyBaseLogger, FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { type ActionError, ERROR_EXAMPLES } from '../contract/error-contract.ts';
import { type ErrorCode, GatewayError, KeyRefusal } from '../domain/gateway-error.ts';
import { sendPage } from '../html/html-page.ts';
import { logUnavailable } from '../telemetry/log.ts';
import { inOrigin } from './follow.ts';

/** HTTP status of each error code. */
export const HTTP_STATUS: Record<ErrorCode, number> = {
  invalid_input: 400,
  invalid_json: 400,
  invalid_signature: 400,
  unauthorized: 401,
  forbidden: 403,
  not_found: 404,
  unknown_operation: 404,
  method_not_allowed: 405,
  invalid_state: 409,
  payload_too_large: 413,
  unsupported_media_type: 415,
  idempotency_conflict: 422,
  no_eligible_route: 409,
  spend_limit_exceeded: 403,
  rate_limited: 429,
  unavailable: 503,
  internal_error: 500,
};

const RETRY_AFTER_SECONDS = 1;

// Action endpoints return 400 for all other errors. The errors listed here occur before the action runs, or in the service itself.
const NOT_OF_THE_ACTION = new Set<ErrorCode>([
  'unauthorized',
  'payload_too_large',
  'unsupported_media_type',
  'rate_limited',
  'unavailable',
  'internal_error',
  'method_not_allowed',
]);

/** Name of the additional property in error responses of agent endpoints. */
type Envelope = 'action' | 'operation' | undefined;

/** HTTP status of an error code on an endpoint with the given envelope. */
export function httpStatusOf(code: ErrorCode, envelope: Envelope): number {
  return envelope === 'action' && !NOT_OF_THE_ACTION.has(code) ? 400 : HTTP_STATUS[code];
}

/** Converts an error to the error that the caller sees. Logs the details of an internal error, which the caller does not see. */
export function refusalOf(error: unknown, log: Pick<FastifyBaseLogger, 'error' | 'warn'>): GatewayError {
  const refusal = asGatewayError(error);
  if (refusal.code === 'internal_error') log.error({ err: error }, 'request failed');
  else if (refusal.code === 'unavailable') logUnavailable(log, refusal);
  return refusal;
}

/** Headers of an error response: the authentication scheme or Retry-After. */
export function refusalHeaders(refusal: GatewayError, reply: Pick<FastifyReply, 'hasHeader'>): Record<string, string> {
  // https://www.rfc-editor.org/rfc/rfc6750#section-3
  if (refusal instanceof KeyRefusal) return { 'www-authenticate': 'Bearer' };
  const isForLater = refusal.code === 'unavailable' || refusal.code === 'rate_limited';
  // Preserves the Retry-After of the rate limiter, which is more exact.
  return isForLater && !reply.hasHeader('retry-after') ? { 'retry-after': String(RETRY_AFTER_SECONDS) } : {};
}

/** Sends an error response: the error page of the Fastify scope of the request, or else JSON. */
export function sendError(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const refusal = inOrigin(request, () => refusalOf(error, request.log));
  const { envelope, name } = namedIn(request);
  const status = httpStatusOf(refusal.code, envelope);
  reply.headers(refusalHeaders(refusal, reply));
  const page = request.server.errorPage?.(refusal, request, reply);
  if (page) return sendPage(reply, status, page);
  const named = envelope === undefined ? {} : { [envelope]: name };
  return reply
    .code(status)
    .type('application/json; charset=utf-8')
    .send(JSON.stringify({ ok: false, ...named, error: renderError(refusal) }));
}

const AGENT_PATH = /^\/api\/agent\/(actions|schema)\/([^/?#]+)(?:[?#]|$)/;

/** Action or operation that the path names. Reads the path, because a request with a wrong method has no route parameters. */
function namedIn({ url }: FastifyRequest): { envelope: Envelope; name: string } {
  const match = AGENT_PATH.exec(url);
  if (!match) return { envelope: undefined, name: '' };
  return { envelope: match[1] === 'actions' ? 'action' : 'operation', name: decoded(match[2]!) };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export function renderError({ code, message, details }: GatewayError): ActionError {
  return { code, message, ...details };
}

function asGatewayError(error: unknown): GatewayError {
  if (error instanceof GatewayError) return error;
  const { code, statusCode } = error as Partial<FastifyError>;
  switch (code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return usualError('payload_too_large');
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
    case 'FST_ERR_CTP_EMPTY_TYPE':
      return usualError('unsupported_media_type');
    case 'FST_ERR_BAD_URL':
      return new GatewayError('not_found', 'The path is not a valid URL path.');
    default:
      if (statusCode !== undefined && statusCode >= 400 && statusCode < 500) {
        return new GatewayError('invalid_input', 'The request is malformed.');
      }
      return usualError('internal_error');
  }
}

/** Creates an error with the message and the suggestion of the contract's example for the code. */
function usualError(code: ErrorCode): GatewayError {
  const { message, ...details } = ERROR_EXAMPLES[code];
  return new GatewayError(code, message, details);
}
