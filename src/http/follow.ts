import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type Origin, currentOrigin, runWithOrigin } from '../telemetry/origin.ts';
import type { Span, Tracing } from '../telemetry/tracing.ts';
import { proxyMatcher } from './proxies.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Origin (request id and trace) of the request; null before the first hook. */
    origin: Origin | null;
  }
}

/** Observer of completed requests, including requests whose clients disconnected. */
export interface RequestObserver {
  /** Called for each completed request. `route` is the path with its parameter names, such as `/checkout/:id`. */
  request(route: string, method: string, status: number, seconds: number): void;
  /** Called for invalid HTTP that was rejected before Fastify received a request. */
  refused(status: number): void;
}

const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);
// Status for a client that disconnected before the response, as in the log of nginx: https://nginx.org/en/docs/dev/development_guide.html#http_phases
const CALLER_LEFT = 499;

/** Runs each request in the asynchronous context of its origin. Must be called before other hooks are added. */
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
  // Restores the context: after the body was read, the code runs in the context of a socket event.
  app.addHook('preValidation', (request, _reply, done) => {
    if (request.origin === null || request.origin === currentOrigin()) done();
    else runWithOrigin(request.origin, done);
  });
}

/** Runs `work` in the context of the request's origin, for events that occur outside this context. */
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
    // Omits the path, the query and the client address, which can be personal data.
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

/** Method name according to OpenTelemetry's semantic conventions, which use `_OTHER` for all unknown methods. */
function methodOf({ method }: FastifyRequest): string {
  return METHODS.has(method) ? method : '_OTHER';
}

// A request id must contain a letter, because a number alone could be personal data, such as a card number.
const REQUEST_ID = /^(?=.*[A-Za-z])[\w-]{16,64}$/;

/** Returns a function that gives a request its id: the id that a trusted proxy sent, if its format is safe, or a new id. */
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
