import {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
  fastify,
} from 'fastify';
import { GatewayError } from '../domain/gateway-error.ts';
import type { DashboardDeps } from '../dashboard/visit.ts';
import type { Clock } from '../runtime.ts';
import { sendError } from './error-responses.ts';
import { type RequestObserver, followRequests, inOrigin, requestIds } from './follow.ts';
import { commonHeaders } from './common-headers.ts';
import { MAX_BODY_BYTES, parseJsonBody } from './json-body.ts';
import { type Limits, limitRates } from './rate-limits.ts';
import { proxyMatcher } from './proxies.ts';
import { createConnections } from './http-server.ts';
import { closeGracefully } from './shutdown.ts';

// Log levels at which requests are logged.
const REQUEST_LEVELS = new Set(['trace', 'debug', 'info']);
// Every path in which something can be masked contains one of these.
const CAN_BE_SECRET = /[%@]|sk_|whsec_|\d(?:[ +-]?\d){12}/;
// A printable ASCII character, percent-encoded once or several times.
const PERCENT_ENCODED = /%(?:25)*([2-7][0-9a-f])/gi;

// Routes validate with zod. These no-op compilers keep Fastify from loading Ajv and its serializer at the start.
const NO_ROUTE_SCHEMAS = { buildValidator: rejectRouteSchema, buildSerializer: rejectRouteSchema };

/** Dependencies of the HTTP layer. */
export interface AppDeps extends DashboardDeps {
  /** Returns true until the shutdown begins. */
  isReady(): boolean;
  newRequestId(): string;
  /** True if the front page offers a test checkout; `while_open`: only while the service has no API key. */
  demo: boolean | 'while_open';
  /** Accepted host names; undefined if every host name is accepted. */
  allowedHosts: ReadonlySet<string> | undefined;
  limits: Limits;
  /** Observer for metrics; undefined if metrics are disabled. */
  requests: RequestObserver | undefined;
  /** Clock of this machine. Rate limits count its seconds, not the time of a test clock. */
  clock: Clock;
}

/** Adds the routes of one part of the HTTP layer to the app. */
export type Part = (app: FastifyInstance, deps: AppDeps) => void;

/** Creates the Fastify app with the given parts. The app does not listen yet. */
export async function createApp(deps: AppDeps, parts: readonly Part[]): Promise<FastifyInstance> {
  const { limits } = deps;
  const headers = commonHeaders(deps.urls);
  const paths = createPathTable();
  const connections = createConnections({ ...deps, ...limits, headers, allowedAt: paths.methodsAt });
  // The annotation keeps pino's type out of the type of the app.
  const loggerInstance: FastifyBaseLogger = deps.log;
  const app = fastify({
    loggerInstance,
    // Disables Fastify's request log, which contains the query; `logRequest` logs one line without the query.
    logController: new LogController({ disableRequestLogging: true }),
    // The log mixin adds the request id, because a child logger per request would be expensive.
    childLoggerFactory: (logger) => logger,
    bodyLimit: MAX_BODY_BYTES,
    genReqId: requestIds(limits.trustedProxies, deps.newRequestId),
    trustProxy: limits.trustedProxies.length > 0 && proxyMatcher(limits.trustedProxies),
    routerOptions: { maxParamLength: 20_000 },
    schemaController: { compilersFactory: NO_ROUTE_SCHEMAS },
    serverFactory: connections.serverFactory,
    clientErrorHandler: connections.clientErrorHandler,
    frameworkErrors: (...refused) => void refuseUnrouted(...refused),
    // Fastify must not reject requests during `close`, because `closeGracefully` answers them.
    return503OnClosing: false,
    forceCloseConnections: true,
  });

  /** Answers a request that Fastify rejected before routing, and for which it runs no hooks. */
  async function refuseUnrouted(error: Error, request: FastifyRequest, reply: FastifyReply): Promise<void> {
    reply.headers(headers).header('x-request-id', request.id);
    if (!deps.isReady()) reply.header('connection', 'close');
    let fault: unknown = error;
    try {
      await app.limit('page', request, reply);
    } catch (limited) {
      fault = limited;
    }
    sendError(fault, request, reply);
    logRequest(request, reply);
  }

  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => {
    try {
      done(null, parseJsonBody(body as Buffer));
    } catch (error) {
      done(error as Error);
    }
  });
  app.setErrorHandler((error, request, reply) => sendError(error, request, reply));
  app.addHook('onRoute', ({ url, method }) => paths.add(url, method));
  followRequests(app, deps);
  app.decorateRequest('admitted', null);
  app.addHook('onRequest', (request, reply, done) => {
    reply.headers(headers).header('x-request-id', request.id);
    done();
  });
  app.addHook('onResponse', (request, reply, done) => {
    logRequest(request, reply);
    done();
  });
  sendReadsTogether(app);
  closeGracefully(app, deps, connections);
  await limitRates(app, deps);
  // Adds this hook after the rate limits, so that requests that it rejects are counted, too.
  app.addHook('onRequest', (request, _reply, done) => {
    done(addressFault(request) ?? hostFault(request, deps.allowedHosts));
  });
  for (const part of parts) part(app, deps);
  // Rejects unknown paths and methods before Fastify reads the body.
  app.addHook('onRequest', (request, reply, done) => done(pathFault(request, reply, paths)));
  await app.ready();
  return app;
}

/**
 * Sends the answers to reads of one turn of the event loop together, at its end. A write to a client or proxy that waits on the same
 * machine wakes its process, which takes longer than the rest of a read; further writes find the process awake. The answers to changes
 * are together already, because their changes are committed together.
 */
function sendReadsTogether(app: FastifyInstance): void {
  let waiting: (() => void)[] = [];
  const sendAll = () => {
    const sent = waiting;
    waiting = [];
    for (const send of sent) send();
  };
  app.addHook('onSend', ({ method }, _reply, payload, done) => {
    // A stream keeps the asynchronous context of its request, with its trace.
    if (method !== 'GET' || typeof payload !== 'string') return done();
    if (waiting.push(done) === 1) setImmediate(sendAll);
  });
}

function logRequest(request: FastifyRequest, { statusCode: status, elapsedTime }: FastifyReply): void {
  const { log, method, url } = request;
  if (!REQUEST_LEVELS.has(log.level)) return;
  const durationMs = Math.round(elapsedTime * 10) / 10;
  inOrigin(request, () => log.info({ method, path: loggedPath(url), status, durationMs }, 'request'));
}

function createPathTable() {
  const served: { pattern: RegExp; methods: readonly string[] }[] = [];
  return {
    add(url: string, methods: string | readonly string[]): void {
      const source = url.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replace(/:[A-Za-z]+/g, '[^/]+');
      served.push({ pattern: new RegExp(`^${source}$`), methods: [methods].flat() });
    },
    /** Methods of a path, in the format of the Allow header; empty for an unknown path. */
    methodsAt(this: void, url: string): string {
      const path = pathOf(url);
      const methods = served.filter(({ pattern }) => pattern.test(path)).flatMap((entry) => entry.methods);
      return [...new Set(methods)].join(', ');
    },
  };
}

/** Error of a request without a route: 405 if the path supports another method, otherwise 404; undefined for a known route. */
function pathFault(
  request: FastifyRequest,
  reply: FastifyReply,
  paths: ReturnType<typeof createPathTable>,
): GatewayError | undefined {
  if (!request.is404) return undefined;
  const methods = paths.methodsAt(request.url);
  if (methods === '') {
    return new GatewayError('not_found', 'There is nothing at this path.', {
      suggestion: 'See GET /openapi.json for every path.',
    });
  }
  reply.header('allow', methods);
  return new GatewayError('method_not_allowed', `This path supports only ${methods}.`, {
    suggestion: `Use ${methods}.`,
  });
}

/** Rejects URLs with a NUL character, which PostgreSQL cannot store and no id contains. */
function addressFault({ url }: FastifyRequest): GatewayError | undefined {
  if (!url.includes('%00')) return undefined;
  if (pathOf(url).includes('%00')) return new GatewayError('not_found', 'There is nothing at this path.');
  return new GatewayError('invalid_input', 'The query contains a NUL character.', {
    suggestion: 'Remove %00 from the query; then resend.',
  });
}

function hostFault(request: FastifyRequest, allowed: AppDeps['allowedHosts']): GatewayError | undefined {
  // https://www.rfc-editor.org/rfc/rfc9112#section-3.2
  if (request.headers.host === undefined && request.raw.httpVersion === '1.1') {
    return new GatewayError('invalid_input', 'The request has no Host header.', {
      suggestion: 'Send a Host header, which HTTP/1.1 requires.',
    });
  }
  // Rejects several Host headers, because Node uses the first one, but a proxy may have used another one.
  if (countOf(request, 'host') > 1) {
    return new GatewayError('invalid_input', 'The request has more than one Host header.', {
      suggestion: 'Send exactly one Host header, which HTTP/1.1 requires.',
    });
  }
  return allowed && !allowed.has(hostNameOf(request)) ? unknownHost() : undefined;
}

// A service without API keys accepts every client that reaches its port. A request with an unknown host name is rejected as DNS
// rebinding: a page of another site can make a visitor's browser send requests to this machine.
function unknownHost(): GatewayError {
  return new GatewayError('forbidden', 'This service is not known under that host name.', {
    suggestion: 'Use the address in BASE_URL, or set BASE_URL to the address that you use.',
  });
}

function countOf({ raw: { rawHeaders } }: FastifyRequest, name: string): number {
  return rawHeaders.filter((text, index) => index % 2 === 0 && text.toLowerCase() === name).length;
}

/** Host name in the header of a request, in lower case and without the port. */
export function hostNameOf({ headers }: Pick<FastifyRequest, 'headers'>): string {
  return (headers.host ?? '').replace(/:\d+$/, '').toLowerCase();
}

function pathOf(url: string): string {
  const end = url.search(/[?#]/);
  return end === -1 ? url : url.slice(0, end);
}

/** Path for the log, with masked keys, secrets, email addresses and card numbers, which clients sometimes send instead of ids. */
function loggedPath(url: string): string {
  const path = pathOf(url);
  return CAN_BE_SECRET.test(path) ? maskedPath(path) : path;
}

function maskedPath(path: string): string {
  return path
    .split('/')
    .map((part) => {
      const plain = part.replace(PERCENT_ENCODED, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
      const masked = maskSecrets(plain);
      return masked === plain ? part : masked;
    })
    .join('/');
}

function maskSecrets(text: string): string {
  if (text.includes('@')) return '[address]';
  return text
    .replace(/sk_(?:sandbox|live)_.*/s, '[key]')
    .replace(/whsec_.*/s, '[secret]')
    .replace(/\d(?:[ +-]?\d){12,18}/g, '[number]');
}

function rejectRouteSchema(): never {
  throw new Error('routes have no Fastify schema: they validate with zod');
}
