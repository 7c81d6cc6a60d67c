import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Access } from '../contract/endpoint.ts';
import type { ApiKey } from '../domain/api-key.ts';
import { GatewayError } from '../domain/errors.ts';
import { ENVIRONMENTS, type Environment } from '../domain/route.ts';
import { isFromElsewhere, originsOf } from '../html/page.ts';
import { assertAllowed, assertEnvironment } from '../operations/access/caller.ts';
import { restrictStore } from '../operations/access/restrict-store.ts';
import type { AppDeps } from './app.ts';

interface Filter {
  environment?: unknown;
}

type Hook = (request: FastifyRequest, reply: FastifyReply) => Promise<void>;

/** Both, in the options of a route: what has passed one alone is not admitted. */
interface Admission {
  onRequest: Hook;
  preHandler: Hook;
}

const entered = new WeakMap<FastifyRequest, AppDeps>();
const admitted = new WeakMap<FastifyRequest, AppDeps>();
const restricted = new WeakMap<AppDeps, Map<Environment, AppDeps>>();

/**
 * Hooks that let in who has the access: before anything of the body is read, and again once it is there, since whoever
 * sends it may take his time. Behind them, {@link depsOf} answers what the request may see and change. `pages` says
 * whether pages of other sites are refused here, or have been.
 */
export function admission(
  deps: AppDeps,
  access: Access | ((request: FastifyRequest) => Access),
  pages: 'refused' | 'known' = 'refused',
): Admission {
  const own = originsOf(Object.values(deps.urls));
  const onRequest: Hook = async (request, reply) => {
    const caller = await identified(deps, request, reply);
    if (!caller && pages === 'refused') refuseForeignPage(request, own);
    assertAllowed({ caller }, typeof access === 'string' ? access : access(request));
    const filter = ENVIRONMENTS.find((environment) => environment === (request.query as Filter).environment);
    if (filter) assertEnvironment({ caller }, filter);
    entered.set(request, caller ? { ...within(deps, caller.environment), caller } : deps);
  };
  const preHandler: Hook = async (request) => {
    const own = entered.get(request);
    if (!own) throw notAdmitted(request);
    // Of those no body is waited for.
    if (!isRead(request)) await assertStillKnown(deps, request);
    admitted.set(request, own);
  };
  return { onRequest, preHandler };
}

/** For a request that has been let in, and took long since. Throws KeyRefusal where its key was revoked meanwhile. */
export async function assertStillKnown({ gate }: AppDeps, request: FastifyRequest): Promise<void> {
  await gate.identify(authorizationOf(request));
}

/**
 * A page has any browser send what has no body, or one of plain text, to any address; where no key is asked for, that
 * would do. Our own pages name themselves, and programs name no origin.
 */
function refuseForeignPage(request: FastifyRequest, own: ReadonlySet<string>): void {
  if (isRead(request) || (request.headers.origin !== 'null' && !isFromElsewhere(request, own))) return;
  throw new GatewayError('forbidden', 'This request was sent by a page of another site.', {
    suggestion:
      'Send it from a program or from a page of this service; pages of others need an API key to be asked for.',
  });
}

function isRead({ method }: FastifyRequest): boolean {
  return method === 'GET' || method === 'HEAD';
}

/** The dependencies of an admitted request. */
export function depsOf(request: FastifyRequest): AppDeps {
  const deps = admitted.get(request);
  if (!deps) throw notAdmitted(request);
  return deps;
}

function notAdmitted({ method, routeOptions }: FastifyRequest): Error {
  return new Error(`${method} ${routeOptions.url} was not admitted`);
}

/** The key of a request. Who is refused is counted too, by address. */
async function identified(
  { gate }: AppDeps,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<ApiKey | undefined> {
  const { server } = request;
  let caller;
  try {
    caller = await gate.identify(authorizationOf(request));
  } catch (error) {
    await server.limitCall(request, reply, undefined);
    throw error;
  }
  await server.limitCall(request, reply, caller);
  return caller;
}

/** As they came: of two, Node would show the first alone. */
function authorizationOf({ raw: { rawHeaders } }: FastifyRequest): string[] {
  return rawHeaders.filter((_, index) => index % 2 === 1 && rawHeaders[index - 1]!.toLowerCase() === 'authorization');
}

/** The dependencies with a store that is kept to an environment, made when they are first asked for. */
function within(deps: AppDeps, environment: Environment): AppDeps {
  const made = restricted.get(deps) ?? new Map<Environment, AppDeps>();
  restricted.set(deps, made);
  const known = made.get(environment) ?? { ...deps, store: restrictStore(deps.store, environment) };
  made.set(environment, known);
  return known;
}
