import type { z } from 'zod';
import type { KeyScope } from '../domain/api-key.ts';
import type { ErrorCode, ErrorDetails } from '../domain/gateway-error.ts';
import type { Environment } from '../domain/route.ts';
import type { EndpointTag } from './openapi-tags.ts';
import { SAMPLE_IDS, SAMPLE_ROUTE_ID } from './sample-ids.ts';

/**
 * Permission that an endpoint requires. `look`: every key has it; `create`: to create sessions (scopes agent, write and admin);
 * `read` and `write`: to read and change the merchant's records; `admin`: to change the operator's settings.
 */
export type EndpointPermission = 'look' | 'create' | 'read' | 'write' | 'admin';

const SCOPES: Record<EndpointPermission, readonly KeyScope[]> = {
  look: ['read', 'write', 'admin', 'agent'],
  create: ['write', 'admin', 'agent'],
  read: ['read', 'write', 'admin'],
  write: ['write', 'admin'],
  admin: ['admin'],
};

/** Scopes of the API keys that have a permission. */
export function scopesOf(access: EndpointPermission): readonly KeyScope[] {
  return SCOPES[access];
}

/** Example of the error object in a response, without its code. */
export type ErrorExample = { message: string } & ErrorDetails;

interface PathParameter {
  description: string;
  example: string;
  /** All possible values; undefined if the values are not limited. */
  enum?: readonly string[];
}

/** Definition of an endpoint in a contract file. */
interface EndpointDefinition {
  /** Method and path, with `{name}` for path parameters. */
  route: `${Endpoint['method']} /${string}`;
  /** Default: `read` for GET, else `write`. */
  access?: EndpointPermission;
  /** Restriction beside the scope. `required`: rejects requests without a key; an environment: rejects keys of the other environment. */
  keys?: 'required' | Environment;
  summary: string;
  description: string;
  query?: z.ZodType;
  body?: z.ZodType;
  /** Default: JSON. */
  bodyType?: 'text/csv';
  requestExample?: unknown;
  response: z.ZodType;
  /** Default: JSON. Errors are always JSON. */
  responseType?: 'text/csv';
  /** An export of many records, which the audit records. */
  isExport?: true;
  /** The response has an ETag, and a request with a matching If-None-Match gets a 304. */
  etag?: true;
  /** Property that error responses have beside `ok` and `error`: the name of the requested action or operation. */
  envelope?: 'action' | 'operation';
  /** Error codes of this endpoint. `endpointOf` adds `not_found` for a path with parameters, `errorCodesOf` the common codes. */
  errors?: readonly ErrorCode[];
  /** Examples of errors of this endpoint, instead of the common example of the code. */
  errorExamples?: Partial<Record<ErrorCode, ErrorExample>>;
}

/** An endpoint of the API. The server and the OpenAPI document both use this definition. */
export interface Endpoint extends Omit<EndpointDefinition, 'route'> {
  operationId: string;
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  path: string;
  tag: EndpointTag;
  access: EndpointPermission;
  params: Record<string, PathParameter>;
  errors: readonly ErrorCode[];
}

/** Type of an endpoint, with the exact types of its query and body. */
type Defined<Definition> = Omit<Endpoint, 'query' | 'body'> &
  Pick<Definition, Extract<keyof Definition, 'query' | 'body'>>;

/** Creates the endpoints of a tag from their definitions by operation id. */
export function endpoints<const Definitions extends Record<string, EndpointDefinition>>(
  tag: EndpointTag,
  definitions: Definitions,
) {
  return Object.fromEntries(
    Object.entries(definitions).map(([operationId, definition]) => [
      operationId,
      endpointOf(tag, operationId, definition),
    ]),
  ) as unknown as { [Id in keyof Definitions]: Defined<Definitions[Id]> };
}

/** Definition of an endpoint that reads one record. */
export function get<Response extends z.ZodType>(
  path: `/${string}`,
  summary: string,
  response: Response,
  description: string,
) {
  return { route: `GET ${path}`, summary, description, response } as const;
}

/** Creates an endpoint from its definition: adds the default permission, the path parameters and `not_found`. */
export function endpointOf(tag: EndpointTag, operationId: string, definition: EndpointDefinition): Endpoint {
  const { route, errors = [], ...rest } = definition;
  const [method, path] = route.split(' ') as [Endpoint['method'], string];
  const names = Array.from(path.matchAll(/\{(\w+)\}/g), ([, name]) => name as keyof typeof PATH_PARAMETERS);
  const access = method === 'GET' ? 'read' : 'write';
  return {
    access,
    ...rest,
    operationId,
    tag,
    method,
    path,
    params: Object.fromEntries(names.map((name) => [name, PATH_PARAMETERS[name]])),
    errors: names.length === 0 || errors.includes('not_found') ? errors : [...errors, 'not_found'],
  };
}

const PATH_PARAMETERS = {
  sessionId: { description: 'A checkout session: chk_...', example: SAMPLE_IDS.chk },
  customerId: { description: 'A customer: cus_...', example: SAMPLE_IDS.cus },
  paymentId: { description: 'A payment (pay_...) or a session (chk_...).', example: SAMPLE_IDS.pay },
  invoiceId: { description: 'An invoice: inv_...', example: SAMPLE_IDS.inv },
  refundId: { description: 'A refund: ref_...', example: SAMPLE_IDS.ref },
  discrepancyId: { description: 'A discrepancy: dis_...', example: SAMPLE_IDS.dis },
  eventId: {
    description: 'An event: evt_ and the id of a health transition, or evt_, the id of a session and a suffix.',
    example: SAMPLE_IDS.evt,
  },
  deliveryId: { description: 'A delivery: dlv_...', example: SAMPLE_IDS.dlv },
  recoveryId: { description: 'A recovery: rcv_...', example: SAMPLE_IDS.rcv },
  endpointId: { description: 'A webhook endpoint: whe_...', example: SAMPLE_IDS.whe },
  routeId: { description: 'The id of a route.', example: SAMPLE_ROUTE_ID },
  experimentId: { description: 'An experiment: exp_...', example: SAMPLE_IDS.exp },
  keyId: { description: 'An API key: key_...', example: SAMPLE_IDS.key },
  operation: { description: 'Name of an operation.', example: 'checkout.create' },
} satisfies Record<string, PathParameter>;

/** Error codes that every endpoint can return. */
const EVERYWHERE: readonly ErrorCode[] = ['unauthorized', 'forbidden', 'rate_limited', 'internal_error', 'unavailable'];

/** Error codes of every method that allows a body: the server also checks bodies that the endpoint ignores. */
const OF_A_BODY: readonly ErrorCode[] = ['payload_too_large', 'unsupported_media_type'];

/** All error codes that an endpoint can return. */
export function errorCodesOf({ errors, method, bodyType }: Endpoint): ErrorCode[] {
  const body = method === 'GET' ? [] : OF_A_BODY;
  const syntax: ErrorCode[] = method === 'GET' || bodyType !== undefined ? [] : ['invalid_json'];
  // Every endpoint rejects a malformed request, such as one without a Host header, with invalid_input.
  return [...new Set<ErrorCode>(['invalid_input', ...syntax, ...errors, ...body, ...EVERYWHERE])];
}
