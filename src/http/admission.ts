import type { FastifyReply, FastifyRequest } from 'fastify';
import type { EndpointPermission } from '../contract/endpoint.ts';
import { GatewayError } from '../domain/gateway-error.ts';
import { type Principal, principalOfKey } from '../domain/principal.ts';
import { ENVIRONMENTS, type Environment } from '../domain/route.ts';
import { isFromForeignSite, originsOf } from '../html/html-page.ts';
import { type AuditedAction, recordRefusal } from '../operations/access/audit.ts';
import { PermissionRefusal, assertAllowed, assertEnvironment } from '../operations/access/caller.ts';
import { restrictStore } from '../operations/access/restrict-store.ts';
import type { AppDeps } from './app.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Dependencies of the admitted caller; null before the admission. */
    admitted: AppDeps | null;
  }
}

interface Admission {
  access: EndpointPermission | ((request: FastifyRequest) => EndpointPermission);
  /** `refused`: the route rejects requests from pages of other sites; `known`: an earlier hook has already checked the origin. */
  pages?: 'refused' | 'known';
  /** The action of a request whose refusals the audit records. */
  audit?(request: FastifyRequest): AuditedAction | undefined;
}

const restricted = new WeakMap<AppDeps, Map<Environment, AppDeps>>();

/**
 * Wraps a handler so that only admitted callers reach it. Checks the API key before the body is read and, for writing requests,
 * again afterwards, because the key can be revoked while a slow body arrives.
 */
export function admit(
  unrestricted: AppDeps,
  { access, pages = 'refused', audit }: Admission,
  handler: (request: FastifyRequest, reply: FastifyReply, deps: AppDeps) => Promise<unknown>,
) {
  const ownOrigins = originsOf(Object.values(unrestricted.urls));
  return {
    async onRequest(this: void, request: FastifyRequest, reply: FastifyReply): Promise<void> {
      const caller = await identify(unrestricted, request, reply);
      if (!caller && pages === 'refused') refuseForeignPage(request, ownOrigins);
      const named = (request.query as { environment?: unknown }).environment;
      const filter = ENVIRONMENTS.find((environment) => environment === named);
      try {
        assertAllowed({ caller }, typeof access === 'string' ? access : access(request));
        if (filter) assertEnvironment({ caller }, filter);
      } catch (error) {
        const action = audit?.(request);
        if (action && error instanceof PermissionRefusal) await recordRefusal({ ...unrestricted, caller }, action);
        throw error;
      }
      request.admitted = caller ? { ...restrictTo(unrestricted, caller.environment), caller } : unrestricted;
    },
    async handler(this: void, request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
      const deps = request.admitted;
      if (!deps) throw new Error(`${request.method} ${request.routeOptions.url} was not admitted`);
      if (!isRead(request)) await assertKeyActive(deps);
      return handler(request, reply, deps);
    },
  };
}

/** Throws KeyRefusal if the API key of an admitted caller has been revoked in the meantime. */
export function assertKeyActive({ gate, caller }: AppDeps): Promise<void> {
  return gate.assertActive(caller?.key);
}

/** Rejects writing requests from pages of other sites. Pages of this service send its origin, and programs send no origin. */
function refuseForeignPage(request: FastifyRequest, ownOrigins: ReadonlySet<string>): void {
  if (isRead(request) || (request.headers.origin !== 'null' && !isFromForeignSite(request, ownOrigins))) return;
  throw new GatewayError('forbidden', 'The request was sent by a page of another site.', {
    suggestion: 'Send it from a program or from a page of this service. Pages of other sites need an API key.',
  });
}

function isRead({ method }: FastifyRequest): boolean {
  return method === 'GET' || method === 'HEAD';
}

/** Verifies the API key of a request, and counts the request: by its key, or by its address if the key is rejected. */
async function identify(
  { gate }: AppDeps,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<Principal | undefined> {
  const { server } = request;
  let caller;
  try {
    caller = await gate.identify(authorizationOf(request));
  } catch (error) {
    await server.limit('call', request, reply);
    throw error;
  }
  await server.limit('call', request, reply, caller);
  return caller && principalOfKey(caller);
}

/** Values of all Authorization headers, because Node's parsed headers contain only the first. */
function authorizationOf({ headers, raw: { rawHeaders } }: FastifyRequest): string[] {
  if (headers.authorization === undefined) return [];
  return rawHeaders.filter((_, index) => index % 2 === 1 && rawHeaders[index - 1]!.toLowerCase() === 'authorization');
}

/** Dependencies whose store is restricted to one environment. Created at the first use and cached. */
function restrictTo(unrestricted: AppDeps, environment: Environment): AppDeps {
  const byEnvironment = restricted.get(unrestricted) ?? new Map<Environment, AppDeps>();
  restricted.set(unrestricted, byEnvironment);
  const deps = byEnvironment.get(environment) ?? {
    ...unrestricted,
    store: restrictStore(unrestricted.store, environment),
  };
  byEnvironment.set(environment, deps);
  return deps;
}
