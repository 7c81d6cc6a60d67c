import { isObject } from './answers.ts';
import { type Page, TillwayList } from './list.ts';
import { TillwayPromise } from './promise.ts';
import type { Call, Transport } from './transport.ts';

/** Base class of the resources. The transport is a private field, so that a logged resource does not print the transport. */
export class Resource {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  protected get transport(): Transport {
    return this.#transport;
  }
}

/** Sends a request. If the parameters or the file are invalid, rejects with TypeError and sends nothing. */
export function call<Data>(transport: Transport, request: Call<Data>): TillwayPromise<Data> {
  const problem = problemOf(request);
  const answered = problem === undefined ? transport.send(request) : Promise.reject(new TypeError(problem));
  return new TillwayPromise(() => answered);
}

function problemOf(request: Call<unknown>): string | undefined {
  const { method, path, body, file } = request;
  if (file && typeof file.text !== 'string') return `${method} ${path}: the file must be a string with its content`;
  if (!('body' in request) || isObject(body)) return undefined;
  const kind = body === null ? 'null' : Array.isArray(body) ? 'an array' : typeof body;
  return `${method} ${path}: the parameters must be an object, not ${kind}`;
}

/** Creates a list, which fetches each page when it is read. */
export function listOf<Item extends { id: string }>(
  transport: Transport,
  { query = {}, ...request }: Call<Page<Item>>,
): TillwayList<Item> {
  const fetchPage = (position: object) => transport.send({ ...request, query: { ...query, ...position } });
  return new TillwayList(fetchPage, query);
}

/** Adds an idempotency key to the parameters if the caller gave none, so that retries are safe. */
export function withKey<Params extends { idempotencyKey?: string | undefined }>(
  transport: Transport,
  params: Params,
): Params {
  // Returns values that are not objects unchanged, so that `call` rejects them.
  return isObject(params) ? { ...params, idempotencyKey: params.idempotencyKey ?? transport.newKey() } : params;
}
