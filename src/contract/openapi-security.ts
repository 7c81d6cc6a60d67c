import type { ErrorCode } from '../domain/errors.ts';
import { type Endpoint, scopesOf } from './endpoint.ts';
import { ERROR_EXAMPLES, MALFORMED_REQUEST, SCOPE_NEEDED } from './error-examples.ts';

/** How a request says who asks. https://spec.openapis.org/oas/v3.1.1#security-scheme-object */
export interface SecurityScheme {
  type: 'http';
  scheme: 'bearer';
  bearerFormat: string;
  description: string;
}

/** Alternative requirements; a request must meet one of them. */
export type Security = Record<string, readonly string[]>[];

const scheme = (bearerFormat: string, description: string): SecurityScheme => ({
  type: 'http',
  scheme: 'bearer',
  bearerFormat,
  description,
});

export const SECURITY_SCHEMES: Record<string, SecurityScheme> = {
  apiKey: scheme(
    'sk_sandbox_... or sk_live_...',
    'An API key, which the operator makes with `tillway keys create`. Asked for by every service that has one, and by every one that other machines reach; a service without keys takes requests of its own machine. A key sees and changes one environment only: `sk_sandbox_` the sandbox, `sk_live_` production. Its scope says what it may do: `read`, `write`, `admin`, or `agent` with a limit of what its checkouts may cost.',
  ),
  sandboxKey: scheme('sk_sandbox_...', 'A sandbox API key; production keys are rejected.'),
  productionKey: scheme('sk_live_...', 'A production API key; sandbox keys are rejected.'),
};

/**
 * Alternative requirements: no key, if the service has none, or a key of one of the scopes. Each scope is a requirement of
 * its own, because all scopes of one requirement are needed together. https://spec.openapis.org/oas/v3.1.1#security-requirement-object
 */
export function securityOf({ access, keys }: Pick<Endpoint, 'access' | 'keys'>): Security {
  const name = keys === undefined || keys === 'required' ? 'apiKey' : `${keys}Key`;
  const withKey = scopesOf(access).map((scope) => ({ [name]: [scope] }));
  return keys === 'required' ? withKey : [{}, ...withKey];
}

/** Example of an error. An endpoint that does not list `forbidden` returns it only for keys without its scope. */
export function exampleOfError(code: ErrorCode, { errors, method }: Endpoint) {
  if (code === 'forbidden' && !errors.includes(code)) return SCOPE_NEEDED;
  if (code === 'invalid_input' && method === 'GET') return MALFORMED_REQUEST;
  return ERROR_EXAMPLES[code];
}
