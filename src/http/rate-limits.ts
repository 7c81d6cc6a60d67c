import { isIP } from 'node:net';
import rateLimit, { normalizeIP } from '@fastify/rate-limit';
import type { FastifyBaseLogger, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { GatewayError } from '../domain/gateway-error.ts';
import { isId } from '../domain/id.ts';
import type { Environment } from '../domain/route.ts';
import type { Clock } from '../runtime.ts';
import { bareAddress } from './proxies.ts';
import { WindowStore } from './window-store.ts';

/** Limits of one caller, and of all together. Undefined: unlimited. */
export interface Limits {
  /** Addresses and networks (CIDR) whose X-Forwarded-For is trusted. */
  trustedProxies: readonly string[];
  maxConnections: number;
  headersTimeoutMs: number;
  requestTimeoutMs: number;
  /** `standard` limits calls of the API to {@link CALLS_PER_SECOND}. */
  api: 'off' | 'standard';
  /** Requests for public pages per minute and address; status requests of open pages: {@link STATUS_POLLS_PER_PAGE} as many. */
  pages: number | undefined;
  /** Callbacks per minute and address that fail verification. */
  callbacks: number | undefined;
  /** Payments begun per minute and address; also enables {@link PAYMENTS_PER_SESSION}. */
  payments: number | undefined;
}

interface LimitDeps {
  limits: Limits;
  clock: Clock;
  log: Pick<FastifyBaseLogger, 'warn'>;
}

export const CALLS_PER_SECOND = { production: 100, sandbox: 25 } as const;
export const PAYMENTS_PER_SESSION = 10;
/** Status requests of open checkouts for each page that the address may open, counted separately. */
export const STATUS_POLLS_PER_PAGE = 10;

const SECOND_MS = 1000;
const MINUTE_MS = 60_000;
// About 10 MB for each limit, at worst.
const PLACES = 50_000;

/** `call` is a call of the API, `forged` a callback that no connected provider has signed. */
type Kind = 'page' | 'look' | 'payment' | 'call' | 'forged';

declare module 'fastify' {
  interface FastifyInstance {
    /** Counts a request as one of this kind; throws GatewayError `rate_limited`. `caller` is the owner of the API key, if any. */
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

/** Limits the requests of one caller. Each process has its own counters. */
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

  // The limits of the API apply to authenticated callers, which are known later than the address.
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
    throw new GatewayError('rate_limited', 'There were too many requests in a short time.', {
      suggestion: `Wait ${seconds} s, as the Retry-After header says; then resend the same request.`,
    });
  }
}

/** https://www.ietf.org/archive/id/draft-ietf-httpapi-ratelimit-headers-10.html */
function append(reply: FastifyReply, name: string, item: string): void {
  const before = reply.getHeader(name);
  reply.header(name, before === undefined ? item : `${String(before)}, ${item}`);
}

/** The kind by which the first hook counts a request; undefined if it counts later, or not at all. */
function kindOf({ routeOptions: { url = '' }, method }: FastifyRequest): Kind | undefined {
  if (url === '/healthz' || url === '/readyz' || url.startsWith('/simulator/api/')) return undefined;
  // A page that asks the buyer to wait needs its stylesheet, which browsers request once.
  if (url.startsWith('/assets/')) return undefined;
  // Calls of the API count once the caller is known, and only forged callbacks count.
  if (url === '/mcp' || url.startsWith('/api/')) return undefined;
  if (url === '/checkout/:id/status') return 'look';
  return url === '/checkout/:id/pay' && method === 'POST' ? 'payment' : 'page';
}

/** The caller's IPv4 address, or the IPv6 network that a provider assigns to one customer. */
function addressOf(request: FastifyRequest): string {
  const ip = bareAddress(request.ip);
  // A proxy may forward any text in place of an address.
  return normalizeIP(isIP(ip) === 0 ? (request.socket.remoteAddress ?? '') : ip);
}

function sessionOf(request: FastifyRequest): string {
  const { id } = request.params as { id: string };
  return isId(id, 'chk') ? id : 'unknown';
}

/** Behind an untrusted proxy, or one that sends no address, all callers have one address and share its limits. */
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

const NOT_TRUSTED = 'X-Forwarded-For is not trusted: if a proxy of yours sent it, name its address in TRUSTED_PROXIES';
const NO_ADDRESS =
  'X-Forwarded-For names no address: have your proxy send those of its callers, or they share the limits of one';
