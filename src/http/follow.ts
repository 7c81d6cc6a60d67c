import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type Origin, currentOrigin, runWithOrigin } from '../telemetry/origin.ts';
import type { Span, Tracing } from '../telemetry/tracing.ts';
import { proxyMatcher } from './proxies.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Origin of the request; null before the first hook. */
    origin: Origin | null;
  }
}

/** Observer of completed requests, including requests whose clients disconnected. */
export interface RequestObserver {
  /** `route` is the template of the path. */
  request(route: string, method: string, status: number, seconds: number): void;
  /** Called when invalid HTTP was rejected before it became a request. */
  refused(status: number): void;
}

const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);
// Status that nginx logs for a client that disconnected before the response: https://nginx.org/en/docs/dev/development_guide.html#http_phases
const CALLER_LEFT = 499;

/** Runs each request in the context of its origin. Must be added before all other hooks. */
export function followRequests(
  app: FastifyInstance,
  { tracing, requests }: { tracing: Tracing | undefined; requests: RequestObserver | undefined },
): void {
  app.decorateRequest('origin', null);
  app.addHook('onRequest', (request, reply, done) => {
    const span = tracing && beginSpan(tracing, request);
    request.origin = { requestId: request.id, traceParent: span?.traceParent ?? null };
    if (span ?? requests) reply.raw.once('close', () => finish(request, reply, span, requests));
    runWithOrigin(request.origin, done);
  });
  // Restores the context, because the body arrives in socket events outside it.
  app.addHook('preValidation', (request, _reply, done) => {
    if (request.origin === null || request.origin === currentOrigin()) done();
    else runWithOrigin(request.origin, done);
  });
}

/** Runs work for a request from an event that occurs outside the context of the request. */
export function inOrigin<Result>({ id, origin }: FastifyRequest, work: () => Result): Result {
  return runWithOrigin(origin ?? { requestId: id, traceParent: null }, work);
}

function beginSpan(tracing: Tracing, request: FastifyRequest): Span {
  const parent = request.headers['traceparent'];
  const method = methodOf(request);
  const route = routeOf(request);
  return tracing.begin({
    name: `${method} ${route}`,
    kind: 'server',
    parent: typeof parent === 'string' ? parent : null,
    // Path, query and address are omitted; the log has them under the request id.
    attributes: {
      'http.request.method': method,
      'http.route': route,
      'url.scheme': request.protocol,
      'network.protocol.version': request.raw.httpVersion,
      'tillway.request_id': request.id,
    },
  });
}

function finish(
  request: FastifyRequest,
  reply: FastifyReply,
  span: Span | undefined,
  requests: RequestObserver | undefined,
): void {
  const status = reply.raw.writableFinished ? reply.statusCode : CALLER_LEFT;
  requests?.request(routeOf(request), methodOf(request), status, reply.elapsedTime / 1000);
  if (!span) return;
  span.set({ 'http.response.status_code': status });
  if (status >= 500) span.fail(String(status));
  span.end();
}

function routeOf({ routeOptions }: FastifyRequest): string {
  return routeOptions.url ?? '(none)';
}

/** Method name under the semantic conventions of OpenTelemetry, which use one name for all unknown methods. */
function methodOf({ method }: FastifyRequest): string {
  return METHODS.has(method) ? method : '_OTHER';
}

// Requires a letter, because a plain number could be personal data.
const REQUEST_ID = /^(?=.*[A-Za-z])[\w-]{16,64}$/;

/** Returns a function for request ids: the id of a trusted proxy if its format is safe, otherwise a new id. */
export function requestIds(
  trustedProxies: readonly string[],
  newRequestId: () => string,
): (request: IncomingMessage) => string {
  if (trustedProxies.length === 0) return newRequestId;
  const isTrusted = proxyMatcher(trustedProxies);
  return ({ headers, socket }) => {
    const named = headers['x-request-id'];
    if (typeof named !== 'string' || !REQUEST_ID.test(named)) return newRequestId();
    return isTrusted(socket.remoteAddress ?? '') ? named : newRequestId();
  };
}
