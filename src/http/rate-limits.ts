import { isIP } from 'node:net';
import rateLimit, { normalizeIP } from '@fastify/rate-limit';
import type { FastifyBaseLogger, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { GatewayError } from '../domain/gateway-error.ts';
import { isId } from '../domain/id.ts';
import type { Environment } from '../domain/route.ts';
import type { Clock } from '../runtime.ts';
import { bareAddress } from './proxies.ts';
import { WindowStore } from './window-store.ts';

/** Limits of connections, times and request rates; an undefined rate is unlimited. */
export interface Limits {
  /** Addresses and networks (CIDR) whose X-Forwarded-For is trusted. */
  trustedProxies: readonly string[];
  maxConnections: number;
  headersTimeoutMs: number;
  requestTimeoutMs: number;
  /** `standard` limits the API calls of each key to {@link CALLS_PER_SECOND}. */
  api: 'off' | 'standard';
  /** Requests for public pages per minute and address; status requests: {@link STATUS_POLLS_PER_PAGE} times as many. */
  pages: number | undefined;
  /** Callbacks with a failed verification, per minute and address. */
  callbacks: number | undefined;
  /** Started payments per minute and address. If set, {@link PAYMENTS_PER_SESSION} applies as well. */
  payments: number | undefined;
}

interface LimitDeps {
  limits: Limits;
  clock: Clock;
  log: Pick<FastifyBaseLogger, 'warn'>;
}

/** API calls per second and API key, separately for reads and writes. */
export const CALLS_PER_SECOND = { production: 100, sandbox: 25 } as const;
/** Started payments per minute and session. */
export const PAYMENTS_PER_SESSION = 10;
/** Tries to log in to the dashboard, per minute and address. */
const LOGINS = 10;
/** Ratio of the limit of status requests, which open checkout pages send, to the limit of page requests. */
export const STATUS_POLLS_PER_PAGE = 10;

const SECOND_MS = 1000;
const MINUTE_MS = 60_000;
// Maximum number of keys (addresses, API keys, sessions) per limit, which bounds its memory to about 10 MB.
const PLACES = 50_000;

/** Kind of a counted request: `call` is an API call, `look` a status request, `forged` a callback that failed verification, `login` a try to log in. */
type Kind = 'page' | 'look' | 'payment' | 'call' | 'forged' | 'login';

declare module 'fastify' {
  interface FastifyInstance {
    /** Counts a request; throws GatewayError `rate_limited` above the limit of its kind. `caller` is the API key of the request. */
    limit(
      kind: Kind,
      request: FastifyRequest,
      reply: FastifyReply,
      caller?: { id: string; environment: Environment },
    ): Promise<void>;
  }
}

interface Limit {
  name: string;
  lengthMs: number;
  take: ReturnType<FastifyInstance['createRateLimit']>;
}

/** Adds the rate limits to the app. Each process counts by itself. */
export async function limitRates(app: FastifyInstance, deps: LimitDeps): Promise<void> {
  const { limits, clock } = deps;
  const callers = new WeakMap<FastifyRequest, Parameters<FastifyInstance['limit']>[3]>();
  const Store = class extends WindowStore {
    constructor() {
      super(() => clock.now(), PLACES);
    }
  };
  await app.register(rateLimit, { global: false, store: Store });

  function limit(
    name: string,
    max: number | ((request: FastifyRequest) => number) | undefined,
    keyGenerator = addressOf,
    lengthMs = MINUTE_MS,
  ): Limit[] {
    if (max === undefined) return [];
    return [{ name, lengthMs, take: app.createRateLimit({ max, timeWindow: lengthMs, keyGenerator }) }];
  }

  // API calls are counted per API key, so these limits apply after the authentication.
  const maxOf = (request: FastifyRequest) => CALLS_PER_SECOND[callers.get(request)?.environment ?? 'production'];
  const callerOf = (request: FastifyRequest) => callers.get(request)?.id ?? addressOf(request);
  const calls = (name: string) => (limits.api === 'off' ? [] : limit(name, maxOf, callerOf, SECOND_MS));
  const [reads, writes] = [calls('reads'), calls('writes')];
  const pages = limit('pages', limits.pages);
  const counted: Record<Exclude<Kind, 'call'>, Limit[]> = {
    page: pages,
    look: limit('looks', limits.pages && limits.pages * STATUS_POLLS_PER_PAGE),
    payment: [
      ...pages,
      ...limit('payments-by-address', limits.payments),
      ...limit('payments-by-session', limits.payments && PAYMENTS_PER_SESSION, sessionOf),
    ],
    forged: limit('forged-callbacks', limits.callbacks),
    login: [...pages, ...limit('logins', LOGINS)],
  };
  const take: FastifyInstance['limit'] = async (kind, request, reply, caller) => {
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    const due = kind === 'call' ? (isRead ? reads : writes) : counted[kind];
    if (due.length === 0) return;
    callers.set(request, caller);
    await takeAll(due, request, reply);
  };
  app.decorate('limit', take);
  app.addHook('onRequest', async (request, reply) => {
    const kind = kindOf(request);
    if (kind) await take(kind, request, reply);
  });
  app.addHook('onRequest', warnOfProxies(deps));
}

async function takeAll(limits: readonly Limit[], request: FastifyRequest, reply: FastifyReply): Promise<void> {
  for (const { name, lengthMs, take } of limits) {
    const taken = await take(request);
    if (taken.isAllowed) continue;
    const { max, remaining, ttlInSeconds: seconds, isExceeded } = taken;
    append(reply, 'ratelimit-policy', `"${name}";q=${max};w=${lengthMs / SECOND_MS}`);
    append(reply, 'ratelimit', `"${name}";r=${remaining};t=${seconds}`);
    if (!isExceeded) continue;
    reply.header('retry-after', String(seconds));
    throw new GatewayError('rate_limited', 'Too many requests were sent in a short time.', {
      suggestion: `Wait ${seconds} s, as the Retry-After header says; then resend the same request.`,
    });
  }
}

/** Appends an item to a RateLimit header: https://www.ietf.org/archive/id/draft-ietf-httpapi-ratelimit-headers-10.html */
function append(reply: FastifyReply, name: string, item: string): void {
  const before = reply.getHeader(name);
  reply.header(name, before === undefined ? item : `${String(before)}, ${item}`);
}

const LOGIN_PATHS = new Set(['/dashboard/login', '/dashboard/join']);

/** Kind of a request that is counted before it is handled; undefined if the request is counted later or not at all. */
function kindOf({ routeOptions: { url = '' }, method }: FastifyRequest): Kind | undefined {
  if (url === '/healthz' || url === '/readyz' || url.startsWith('/simulator/api/')) return undefined;
  // Stylesheets are not counted, because the page "Too many requests" needs its stylesheet.
  if (url.startsWith('/assets/')) return undefined;
  // API calls are counted after authentication, and callbacks only if their signature is invalid.
  if (url === '/mcp' || url.startsWith('/api/')) return undefined;
  if (url === '/checkout/:id/status') return 'look';
  if (method === 'POST' && LOGIN_PATHS.has(url)) return 'login';
  return url === '/checkout/:id/pay' && method === 'POST' ? 'payment' : 'page';
}

/** Key of a client: its IPv4 address, or the IPv6 network of its address, because one customer has a whole network. */
function addressOf(request: FastifyRequest): string {
  const ip = bareAddress(request.ip);
  // X-Forwarded-For can contain any text. If it contains no valid address, uses the address of the proxy.
  return normalizeIP(isIP(ip) === 0 ? (request.socket.remoteAddress ?? '') : ip);
}

function sessionOf(request: FastifyRequest): string {
  const { id } = request.params as { id: string };
  return isId(id, 'chk') ? id : 'unknown';
}

/** Hook that warns once about a proxy that is untrusted or sends no valid address: all its clients share one rate limit. */
function warnOfProxies({
  limits,
  log,
}: LimitDeps): (request: FastifyRequest, reply: FastifyReply, done: () => void) => void {
  const isTrusting = limits.trustedProxies.length > 0;
  let isWarned = false;
  return ({ headers, socket, ip }, _reply, done) => {
    if (!isWarned && headers['x-forwarded-for'] !== undefined && (!isTrusting || isIP(bareAddress(ip)) === 0)) {
      isWarned = true;
      log.warn({ from: socket.remoteAddress }, isTrusting ? NO_ADDRESS : NOT_TRUSTED);
    }
    done();
  };
}

const NOT_TRUSTED = 'X-Forwarded-For is not trusted: if your own proxy sent it, add its address to TRUSTED_PROXIES';
const NO_ADDRESS =
  'X-Forwarded-For contains no address: configure your proxy to send client addresses, or all clients share one rate limit';
