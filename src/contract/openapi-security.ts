import { type Endpoint, scopesOf } from './endpoint.ts';

/** Authentication of a request. https://spec.openapis.org/oas/v3.1.1#security-scheme-object */
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
    'An API key, which the operator makes with `tillway keys create`. Required by every service that has one, and by every service that other machines can reach; a service without keys accepts requests of its own machine. A key sees and changes one environment only: `sk_sandbox_` the sandbox, `sk_live_` production. Its scope is its permission: `read`, `write`, `admin`, or `agent` with a spend limit for its checkouts.',
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
