import { type EndpointPermission, type Endpoint, scopesOf } from '../../contract/endpoint.ts';
import type { KeyScope } from '../../domain/api-key.ts';
import { GatewayError } from '../../domain/gateway-error.ts';
import { PERMISSIONS, type Permission, type Role, STEP_UP_MS, can, needsStepUp } from '../../domain/permission.ts';
import type { Principal } from '../../domain/principal.ts';
import { ENVIRONMENTS, type Environment } from '../../domain/route.ts';

/** The principal of the request; undefined if the service requires none, and for work of the service itself. */
export interface WithCaller {
  caller: Principal | undefined;
}

/** True if the caller's key has the permission `access`. */
export function isAllowed({ caller }: WithCaller, access: EndpointPermission): boolean {
  return !caller?.key || scopesOf(access).includes(caller.key.scope);
}

/** Throws GatewayError `forbidden` if the caller's key lacks the permission `access`. */
export function assertAllowed({ caller }: WithCaller, access: EndpointPermission): void {
  if (!caller?.key || isAllowed({ caller }, access)) return;
  const needed = scopesOf(access);
  const message = `This needs an API key of scope ${wordsOf(needed)}; this one is ${caller.key.scope}.`;
  throw new PermissionRefusal('forbidden', message, {
    suggestion: `Use a key of scope ${needed[0]}: the operator makes one with "tillway keys create --scope ${needed[0]}".`,
  });
}

/**
 * Throws GatewayError `forbidden` if the caller lacks the permission, and {@link StepUpRefusal} if an operator must prove a factor
 * again. Operations call it for every action that the roles of operators separate; the scope of an API key is checked before.
 */
export function assertCan(deps: WithCaller & { realNow(): number }, permission: Permission): void {
  const { caller } = deps;
  if (!caller) return;
  if (!can(caller, permission)) {
    const own = caller.role === null ? 'an agent key' : `${caller.role} in ${caller.environment}`;
    const message = `This needs the role ${wordsOf(PERMISSIONS[permission])}; ${caller.name} is ${own}.`;
    throw new PermissionRefusal('forbidden', message, { suggestion: 'Ask an admin for the role.' });
  }
  if (needsStepUp(permission)) assertFresh(deps);
}

/** True if the caller has the permission. Without a caller, everything is permitted. */
export function callerCan({ caller }: WithCaller, permission: Permission): boolean {
  return !caller || can(caller, permission);
}

/** Throws {@link StepUpRefusal} if an operator has not proved a factor within {@link STEP_UP_MS}. */
export function assertFresh({ caller, realNow }: WithCaller & { realNow(): number }): void {
  if (caller?.kind !== 'operator' || realNow() - (caller.provenAt ?? -Infinity) <= STEP_UP_MS) return;
  throw new StepUpRefusal();
}

/** A `forbidden` error because of the role, the scope or the environment of the caller, which the audit records. */
export class PermissionRefusal extends GatewayError {}

/** A `forbidden` error for an action that an operator may do after proving a factor again. */
export class StepUpRefusal extends GatewayError {
  constructor() {
    super('forbidden', 'This action needs your passkey or password again.', {
      suggestion: 'Confirm that it is you; then repeat the action.',
    });
  }
}

/** Throws GatewayError `forbidden` for an environment other than the key's. */
export function assertEnvironment({ caller }: WithCaller, environment: Environment): void {
  if (caller && !maySee({ caller }, environment)) throw otherEnvironment(caller.environment, environment);
}

export function otherEnvironment(own: Environment, requested: Environment): PermissionRefusal {
  return new PermissionRefusal('forbidden', `This API key is of ${own}, and this is about ${requested}.`, {
    field: 'environment',
    suggestion: `Set "environment": "${own}" (on a command line, --environment ${own}), or use a key of ${requested} (sk_${requested === 'production' ? 'live' : 'sandbox'}_...); then resend.`,
  });
}

/** True if the caller may see records of `environment`. */
export function maySee({ caller }: WithCaller, environment: Environment): boolean {
  return !caller || caller.environment === environment;
}

/** Environments of a request: the one that it names, else all that the caller may see. Throws GatewayError `forbidden`. */
export function environmentsOf(deps: WithCaller, environment: Environment | undefined): readonly Environment[] {
  if (environment === undefined) return deps.caller ? [deps.caller.environment] : ENVIRONMENTS;
  assertEnvironment(deps, environment);
  return [environment];
}

/** Default environment of a request: the key's, else the sandbox. */
export function usualEnvironment({ caller }: WithCaller): Environment {
  return caller?.environment ?? 'sandbox';
}

/** Throws GatewayError `forbidden` for a caller that the endpoint rejects whatever the scope of its key. */
export function assertKey({ caller }: WithCaller, keys: Endpoint['keys']): void {
  if (keys === 'required' && !caller) {
    throw new GatewayError('forbidden', 'The API cannot create the first API key, because it has no key to check.', {
      suggestion: 'Have the operator run "tillway keys create" where the service runs, or set BOOTSTRAP_API_KEYS.',
    });
  }
  if (keys === 'sandbox') assertEnvironment({ caller }, 'sandbox');
  if (keys === 'production' && !maySee({ caller }, 'production')) {
    throw new PermissionRefusal(
      'forbidden',
      'This setting applies to production too, and this API key is of the sandbox.',
      {
        suggestion: 'Use an admin key of production (sk_live_...); then resend.',
      },
    );
  }
}

function wordsOf(names: readonly (KeyScope | Role)[]): string {
  return names.length === 1 ? names[0]! : `${names.slice(0, -1).join(', ')} or ${names.at(-1)}`;
}
