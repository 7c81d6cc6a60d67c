import { type FastifyBaseLogger, type FastifyInstance, type FastifyRequest, LogController, fastify } from 'fastify';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { GatewayError } from '../domain/errors.ts';
import type { Deps } from '../operations/deps.ts';
import { rawErrorResponse, sendError } from './errors.ts';
import { MAX_BODY_BYTES, parseJsonBody } from './json-body.ts';

const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 30_000;
const KEEP_ALIVE_TIMEOUT_MS = 65_000;
const CONNECTION_CHECK_MS = 1000;

/** What the HTTP side needs besides the operations' dependencies. */
export interface AppDeps extends Deps {
  /** Turns false when the process is about to end. */
  isReady(): boolean;
  newRequestId(): string;
  /** Whether the front page lets a person create a test checkout. */
  demo: boolean;
  /** Names under which this service is called; undefined where any will do. */
  allowedHosts: ReadonlySet<string> | undefined;
}

/** A part of the HTTP side: adds its routes to the app. */
export type Part = (app: FastifyInstance, deps: AppDeps) => void;

/** The whole HTTP side as a function of its dependencies; nothing listens yet. */
export async function createApp(deps: AppDeps, parts: readonly Part[]): Promise<FastifyInstance> {
  // Named by Fastify's own type, or the app would carry pino's in its type everywhere.
  const loggerInstance: FastifyBaseLogger = deps.log;
  const app = fastify({
    loggerInstance,
    // One line a request, with the path but not the query: addresses can stand in it.
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'requestId' }),
    bodyLimit: MAX_BODY_BYTES,
    genReqId: () => deps.newRequestId(),
    requestTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    http: {
      headersTimeout: HEADERS_TIMEOUT_MS,
      connectionsCheckingInterval: CONNECTION_CHECK_MS,
      // Refused below, in the error envelope.
      requireHostHeader: false,
    },
    routerOptions: { maxParamLength: 20_000 },
    clientErrorHandler,
    frameworkErrors: (error, request, reply) => void sendError(error, request, reply),
    // Requests under way at a stop are finished, not refused.
    return503OnClosing: false,
  });

  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => {
    try {
      done(null, parseJsonBody(body as Buffer));
    } catch (error) {
      done(error as Error);
    }
  });
  app.setErrorHandler((error, request, reply) => sendError(error, request, reply));
  // Node's own answer has no body.
  app.server.on('checkExpectation', ({ socket }: IncomingMessage) => socket.end(rawErrorResponse(417)));
  refuseUnknownPaths(app);
  app.addHook('onRequest', (request, reply, done) => {
    reply.headers({
      'x-request-id': request.id,
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'cross-origin-opener-policy': 'same-origin',
    });
    done(addressFault(request) ?? hostFault(request, deps.allowedHosts));
  });
  app.addHook('onResponse', (request, reply, done) => {
    const { method, url } = request;
    const durationMs = Math.round(reply.elapsedTime * 10) / 10;
    request.log.info({ method, path: loggedPath(url), status: reply.statusCode, durationMs }, 'request');
    done();
  });
  for (const part of parts) part(app, deps);
  await app.ready();
  return app;
}

/** 405 where the path is served with another method, else 404. */
function refuseUnknownPaths(app: FastifyInstance): void {
  const served: { pattern: RegExp; methods: Set<string> }[] = [];
  app.addHook('onRoute', ({ url, method }) => {
    const source = url.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replace(/:[A-Za-z]+/g, '[^/]+');
    served.push({ pattern: new RegExp(`^${source}$`), methods: new Set([method].flat()) });
  });
  app.setNotFoundHandler((request, reply) => {
    const path = pathOf(request.url);
    const allowed = served.filter(({ pattern }) => pattern.test(path)).flatMap(({ methods }) => [...methods]);
    if (allowed.length === 0) {
      throw new GatewayError('not_found', 'There is nothing at this path.', {
        suggestion: 'See GET /openapi.json for every path.',
      });
    }
    const methods = [...new Set(allowed)].join(', ');
    reply.header('allow', methods);
    throw new GatewayError('method_not_allowed', `This path takes ${methods} only.`, {
      suggestion: `Use one of ${methods}.`,
    });
  });
}

/** No id, address or reference has a NUL character, and PostgreSQL takes it in no text. */
function addressFault({ url }: FastifyRequest): GatewayError | undefined {
  if (!url.includes('%00')) return undefined;
  if (pathOf(url).includes('%00')) return new GatewayError('not_found', 'There is nothing at this path.');
  return new GatewayError('invalid_input', 'The query has a NUL character in it.', {
    suggestion: 'Remove %00 from the query; then resend.',
  });
}

function hostFault(request: FastifyRequest, allowed: AppDeps['allowedHosts']): GatewayError | undefined {
  // https://www.rfc-editor.org/rfc/rfc9112#section-3.2
  if (request.headers.host === undefined && request.raw.httpVersion === '1.1') {
    return new GatewayError('invalid_input', 'The request has no Host header.', {
      suggestion: 'Send a Host header, as HTTP/1.1 demands.',
    });
  }
  return allowed && !allowed.has(hostNameOf(request)) ? unknownHost() : undefined;
}

// Without credentials, whoever can reach the port may use it; a name that is not ours means a page elsewhere has been
// pointed at this machine (DNS rebinding) to make a visitor's browser do so.
function unknownHost(): GatewayError {
  return new GatewayError('forbidden', 'This service is not known under that host name.', {
    suggestion: 'Use the address in BASE_URL, or set BASE_URL to the address that you use.',
  });
}

function hostNameOf(request: FastifyRequest): string {
  return (request.headers.host ?? '').replace(/:\d+$/, '').toLowerCase();
}

function pathOf(url: string): string {
  const end = url.search(/[?#]/);
  return end === -1 ? url : url.slice(0, end);
}

/** A path as it may stand in a log: email addresses and card numbers get sent where ids belong. */
function loggedPath(url: string): string {
  return pathOf(url)
    .replace(/[^/]*(?:@|%40)[^/]*/gi, '[address]')
    .replace(/\d(?:(?:[ +-]|%20)?\d){12,18}/g, '[number]');
}

function clientErrorHandler(error: Error & { code?: string }, socket: Socket): void {
  if (!socket.writable) return;
  const status = { HPE_HEADER_OVERFLOW: 431, ERR_HTTP_REQUEST_TIMEOUT: 408 }[error.code ?? ''] ?? 400;
  socket.end(rawErrorResponse(status));
}
