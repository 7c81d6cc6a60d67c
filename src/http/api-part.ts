import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import type { Endpoint } from '../contract/endpoint.ts';
import { type PageQuery, pageOf } from '../contract/list-query.ts';
import { inputReader } from '../contract/input-problems.ts';
import { param } from '../html/html-page.ts';
import { type AuditedAction, withAudit } from '../operations/access/audit.ts';
import { assertKey } from '../operations/access/caller.ts';
import type { PageResult } from '../store/list-page.ts';
import { traced } from '../telemetry/tracing.ts';
import { admit } from './admission.ts';
import type { AppDeps, Part } from './app.ts';

export const JSON_TYPE = 'application/json; charset=utf-8';

type ReadBy<Schema> = Schema extends z.ZodType ? z.output<Schema> : never;
type QueryOf<Of> = Of extends { query: infer Schema } ? ReadBy<Schema> : never;
type BodyOf<Of> = Of extends { body: infer Schema } ? ReadBy<Schema> : never;

/** Request of an admitted caller, as a handler receives it. */
export interface Call<Of> {
  request: FastifyRequest;
  reply: FastifyReply;
  /** Dependencies restricted to the permissions and the environment of the caller. */
  deps: AppDeps;
  param(name: string): string;
  /** Query, parsed at each access; throws GatewayError `invalid_input`. */
  readonly query: QueryOf<Of>;
  /** Body, parsed at each access; an absent body counts as `{}`. Throws GatewayError `invalid_input`. */
  readonly body: BodyOf<Of>;
}

/** Filters of a list: the query parameters without the page parameters and without undefined values. */
type FilterOf<Query> = Defined<Omit<Query, keyof PageQuery>>;

/** Serves an endpoint. `handler` returns the response: an object, or text or a stream of the endpoint's `responseType`. */
type Serve = <Of extends Endpoint>(endpoint: Of, handler: (call: Call<Of>) => Promise<unknown>) => void;
type Page = ReturnType<typeof pageOf>;

/** Creates a handler that runs an operation on one record; the path parameter `parameter` is the id of the record. */
export function onRecord<Item>(
  parameter: string,
  operation: (deps: AppDeps, id: string) => Promise<Item>,
  render: (item: Item, deps: AppDeps) => unknown,
) {
  return async ({ deps, param: named }: Pick<Call<Endpoint>, 'deps' | 'param'>) =>
    render(await operation(deps, named(parameter)), deps);
}

/** Creates a handler that returns a page of records. */
export function listing<Query extends PageQuery & Record<string, unknown>, Item>(
  find: (deps: AppDeps, filter: FilterOf<Query>, page: Page) => Promise<PageResult<Item>>,
  render: (item: Item, deps: AppDeps) => unknown,
) {
  return async ({ deps, query }: { deps: AppDeps; readonly query: Query }) => {
    const { limit: _limit, startingAfter: _after, endingBefore: _before, ...filter } = query;
    const listed = await find(deps, defined(filter) as FilterOf<Query>, pageOf(query));
    return renderList(listed, (item) => render(item, deps));
  };
}

/** Creates a part of the app that serves API endpoints. The handlers receive only the caller's restricted dependencies. */
export function apiPart(define: (serve: Serve) => void): Part {
  return (app, unrestricted) => {
    define((endpoint, handler) => {
      const { operationId: name, method, path, access, keys, responseType } = endpoint;
      const read = readersOf(endpoint, unrestricted.urls.base);
      const audit = auditOf(endpoint);
      const type = responseType === 'text/csv' ? 'text/csv; charset=utf-8; header=present' : JSON_TYPE;
      app.route({
        method,
        url: path.replace(/\{(\w+)\}/g, ':$1'),
        ...admit(unrestricted, { access, audit }, async (request, reply, deps) => {
          const run = (own: AppDeps) => {
            assertKey(own, keys);
            return traced(own.tracing, { name }, () => handler(new ReadCall(request, reply, own, read)));
          };
          const action = audit(request);
          const answer = await (action ? withAudit(deps, action, run) : run(deps));
          const isReady = typeof answer === 'string' || answer instanceof Readable;
          return reply.type(type).send(isReady ? answer : JSON.stringify(answer));
        }),
      });
    });
  };
}

/** The audited action of a request: of an export, and of an endpoint for which a key needs the scope write or admin. */
function auditOf({ operationId: action, access, isExport }: Endpoint) {
  const isAudited = isExport === true || access === 'write' || access === 'admin';
  return ({ params }: FastifyRequest): AuditedAction | undefined =>
    isAudited ? { action, kind: isExport ? 'read' : 'change', params } : undefined;
}

/** Class instead of an object literal, because V8 frees the closures of an object literal's getters only in a major collection. */
class ReadCall<Of extends Endpoint> implements Call<Of> {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly deps: AppDeps;
  readonly #read: Readers<Of>;

  constructor(request: FastifyRequest, reply: FastifyReply, deps: AppDeps, read: Readers<Of>) {
    this.request = request;
    this.reply = reply;
    this.deps = deps;
    this.#read = read;
  }

  readonly param = (name: string) => param(this.request, name);

  get query(): QueryOf<Of> {
    return this.#read.query(this.request);
  }

  get body(): BodyOf<Of> {
    return this.#read.body(this.request);
  }
}

type Readers<Of extends Endpoint> = ReturnType<typeof readersOf<Of>>;

function readersOf<Of extends Endpoint>({ query, body }: Of, base: string) {
  const [queryReader, bodyReader] = [query && inputReader(query, 'query'), body && inputReader(body)];
  return {
    query: (request: FastifyRequest) =>
      queryReader?.read(request.query, `Parameters: GET ${base}/openapi.json`) as QueryOf<Of>,
    body: (request: FastifyRequest) =>
      bodyReader?.read(sentBody(request), `Schema: GET ${base}/openapi.json`) as BodyOf<Of>,
  };
}

/** Parsed JSON body of a request; `{}` if the request has no body. */
export function sentBody({ body }: FastifyRequest): unknown {
  return body === undefined ? {} : body;
}

export function renderList<Item, Rendered>(
  { items, hasMore, searchedTo }: PageResult<Item>,
  render: (item: Item) => Rendered,
) {
  return { object: 'list', data: items.map((item) => render(item)), hasMore, ...(searchedTo && { searchedTo }) };
}

/** Adds the header Idempotent-Replayed to the response of a repeated request. */
export function markReplayed(reply: FastifyReply, replayed: boolean | undefined): void {
  if (replayed) reply.header('idempotent-replayed', 'true');
}

type Defined<Fields> = { [Key in keyof Fields]?: Exclude<Fields[Key], undefined> };

/** Removes undefined fields. */
export function defined<Fields extends Record<string, unknown>>(fields: Fields): Defined<Fields> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Defined<Fields>;
}
