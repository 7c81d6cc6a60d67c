import type { ErrorCode } from '../domain/errors.ts';
import { type Access, scopesOf } from './endpoint.ts';
import { ERROR_EXAMPLES, SCOPE_NEEDED } from './error-examples.ts';

/** How a request says who asks. https://spec.openapis.org/oas/v3.1.1#security-scheme-object */
export interface SecurityScheme {
  type: 'http';
  scheme: 'bearer';
  bearerFormat: string;
  description: string;
}

/** One of them is enough: by each of its names, the scopes of which one is needed. */
export type Security = Record<string, readonly string[]>[];

export const SECURITY_SCHEMES: Record<string, SecurityScheme> = {
  apiKey: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'sk_sandbox_... or sk_live_...',
    description:
      'An API key, which the operator makes with `tillway keys create`. Asked for by every service that has one, and by every one that other machines reach; a service without keys takes requests of its own machine. A key sees and changes one environment only: `sk_sandbox_` the sandbox, `sk_live_` production. Its scope says what it may do: `read`, `write`, `admin`, or `agent` with a limit of what its checkouts may cost.',
  },
};

/** Nothing, where the service has no keys; else a key that reaches so far. */
export function securityOf(access: Access): Security {
  return [{}, { apiKey: scopesOf(access) }];
}

/** What a refusal looks like. Where an endpoint itself forbids nothing, it is a key that does not reach so far. */
export function exampleOfError(code: ErrorCode, errors: readonly ErrorCode[]) {
  return code === 'forbidden' && !errors.includes(code) ? SCOPE_NEEDED : ERROR_EXAMPLES[code];
}
