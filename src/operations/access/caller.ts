import { type Access, type Endpoint, scopesOf } from '../../contract/endpoint.ts';
import type { ApiKey, KeyScope } from '../../domain/api-key.ts';
import { GatewayError } from '../../domain/errors.ts';
import { ENVIRONMENTS, type Environment } from '../../domain/route.ts';
import { otherEnvironment } from './confine.ts';

/** Who asks: a key, or undefined where the service asks for none. */
export interface Asked {
  caller: ApiKey | undefined;
}

/** Whether the caller's key has that access. */
export function isAllowed({ caller }: Asked, access: Access): boolean {
  return !caller || scopesOf(access).includes(caller.scope);
}

/** Throws GatewayError `forbidden` where the key of the caller does not reach so far. */
export function assertAllowed({ caller }: Asked, access: Access): void {
  if (!caller || isAllowed({ caller }, access)) return;
  const needed = scopesOf(access);
  throw new GatewayError(
    'forbidden',
    `This needs an API key of scope ${wordsOf(needed)}; this one is ${caller.scope}.`,
    {
      suggestion: `Use a key of scope ${needed[0]}: the operator makes one with "tillway keys create --scope ${needed[0]}".`,
    },
  );
}

/** Throws GatewayError `forbidden` for the environment that the caller's key is not of. */
export function assertEnvironment({ caller }: Asked, environment: Environment): void {
  if (caller && !isOf({ caller }, environment)) throw otherEnvironment(caller.environment, environment);
}

/** Whether the caller may know of what is of that environment. */
export function isOf({ caller }: Asked, environment: Environment): boolean {
  return !caller || caller.environment === environment;
}

/** The environments that a question is about, where it names one or none. Throws GatewayError `forbidden`. */
export function environmentsOf(asked: Asked, environment: Environment | undefined): readonly Environment[] {
  if (environment === undefined) return asked.caller ? [asked.caller.environment] : ENVIRONMENTS;
  assertEnvironment(asked, environment);
  return [environment];
}

/** Where a question names no environment and is about one: the key's, else the sandbox. */
export function usualEnvironment({ caller }: Asked): Environment {
  return caller?.environment ?? 'sandbox';
}

/** Throws GatewayError `forbidden` for a caller that the endpoint rejects whatever the scope of its key. */
export function assertKey({ caller }: Asked, keys: Endpoint['keys']): void {
  if (keys === 'required' && !caller) {
    throw new GatewayError('forbidden', 'The API cannot create the first API key, because it has no key to check.', {
      suggestion: 'Have the operator run "tillway keys create" where the service runs, or set BOOTSTRAP_API_KEYS.',
    });
  }
  if (keys === 'sandbox') assertEnvironment({ caller }, 'sandbox');
  if (keys === 'production' && !isOf({ caller }, 'production')) {
    throw new GatewayError('forbidden', 'This setting applies to production too, and this API key is of the sandbox.', {
      suggestion: 'Use an admin key of production (sk_live_...); then resend.',
    });
  }
}

function wordsOf(scopes: readonly KeyScope[]): string {
  return scopes.length === 1 ? scopes[0]! : `${scopes.slice(0, -1).join(', ')} or ${scopes.at(-1)}`;
}
