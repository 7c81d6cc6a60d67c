import type { z } from 'zod';
import type { KeyScope } from '../domain/api-key.ts';
import type { ErrorCode } from '../domain/errors.ts';
import type { Environment } from '../domain/route.ts';
import type { ActionError } from './resources.ts';

export type EndpointTag =
  | 'sessions'
  | 'customers'
  | 'payments'
  | 'refunds'
  | 'discrepancies'
  | 'invoices'
  | 'events'
  | 'deliveries'
  | 'webhook endpoints'
  | 'ledger'
  | 'settlement'
  | 'routing'
  | 'test clock'
  | 'keys'
  | 'agent';

/**
 * What a key must be allowed to do: `look` any key is; `create` one that may begin sessions (scopes agent, write, admin);
 * `read` and `write` the merchant's records; `admin` the operator's settings.
 */
export type Access = 'look' | 'create' | 'read' | 'write' | 'admin';

const SCOPES: Record<Access, readonly KeyScope[]> = {
  look: ['read', 'write', 'admin', 'agent'],
  create: ['write', 'admin', 'agent'],
  read: ['read', 'write', 'admin'],
  write: ['write', 'admin'],
  admin: ['admin'],
};

/** The scopes of keys that have an access. */
export function scopesOf(access: Access): readonly KeyScope[] {
  return SCOPES[access];
}

/** One endpoint of the API, as the server serves it and the OpenAPI document describes it. */
export interface Endpoint {
  operationId: string;
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  access: Access;
  /**
   * Restriction that applies whatever the scope of the key. `required` rejects callers without a key, even if the
   * service has no keys. An environment rejects keys of the other environment.
   */
  keys?: 'required' | Environment;
  /** With `{name}` for path parameters. */
  path: string;
  tag: EndpointTag;
  summary: string;
  description: string;
  /** Description, example and, where the set is closed, values of each path parameter. */
  params?: Record<string, { description: string; example: string; enum?: readonly string[] }>;
  query?: z.ZodType;
  body?: z.ZodType;
  /** Left out: JSON. */
  bodyType?: 'text/csv';
  requestExample?: unknown;
  response: z.ZodType;
  /** Left out: JSON. Errors always are. */
  responseType?: 'text/csv';
  /** Whether the response has an ETag, so that a request with a matching If-None-Match gets a 304. */
  etag?: true;
  /** What errors carry besides `ok` and `error`: the name of the action or operation. */
  envelope?: 'action' | 'operation';
  /** Error codes, besides those that `errorCodesOf` adds to every endpoint. */
  errors: readonly ErrorCode[];
  /** What an error looks like here, where the usual example of its code would mislead. */
  errorExamples?: Partial<Record<ErrorCode, Omit<ActionError, 'code'>>>;
}

/** Error codes of authentication, limits and service failures, possible on every endpoint. */
const EVERYWHERE: readonly ErrorCode[] = ['unauthorized', 'forbidden', 'rate_limited', 'internal_error', 'unavailable'];

/** Error codes of a request body. The server reads a body if the method allows one, even if the endpoint ignores it. */
const OF_A_BODY: readonly ErrorCode[] = ['payload_too_large', 'unsupported_media_type'];

/** Every error code that an endpoint can return. */
export function errorCodesOf({ errors, method, bodyType }: Endpoint): ErrorCode[] {
  const body = method === 'GET' ? [] : OF_A_BODY;
  const syntax: ErrorCode[] = method === 'GET' || bodyType !== undefined ? [] : ['invalid_json'];
  // Every endpoint rejects a malformed request, such as one without a Host header, with invalid_input.
  return [...new Set<ErrorCode>(['invalid_input', ...syntax, ...errors, ...body, ...EVERYWHERE])];
}
