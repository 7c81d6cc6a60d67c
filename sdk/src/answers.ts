import type { RouteSummary, WebhookEvent } from './generated/types.ts';
import type { Page } from './list.ts';

// A proxy or another service can also answer 200 with JSON. Read as a resource, it would have only undefined fields.
// Therefore each response must identify itself.

/** Function that checks a response body. It throws TypeError if the body is not the expected response. */
export type Reader<Data> = (body: unknown) => Data;

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Reader of a resource, which has its name in `object`. */
export function resource<Data extends { object: string }>(name: Data['object']): Reader<Data> {
  return (body) => {
    if (isObject(body) && body['object'] === name) return body as unknown as Data;
    throw new TypeError(`the answer holds no ${name}`);
  };
}

export function readPage<Item extends { id: string }>(body: unknown): Page<Item> {
  const page = readFeedPage<Item>(body);
  // Without a record there is no position to continue from, and ending the list would hide the rest.
  if (page.hasMore && page.data.length === 0) throw new TypeError('the answer promises more records, and holds none');
  return page;
}

/** A page of the feed, which can be empty although more follows. */
export function readFeedPage<Item extends { id: string }>(body: unknown): Page<Item> {
  const { data, hasMore } = resource<Page<Item>>('list')(body);
  return pageOf(data, hasMore);
}

/** The routes of an environment, as a list of one page. */
export function readRoutes(body: unknown): Page<RouteSummary> {
  const { routes } = fieldsOf<{ ok: true; routes: RouteSummary[] }>('ok', 'routes')(body);
  return pageOf(routes, false);
}

function pageOf<Item>(data: unknown, hasMore: unknown): Page<Item> {
  const isPage =
    typeof hasMore === 'boolean' &&
    Array.isArray(data) &&
    data.every((item) => isObject(item) && typeof item['id'] === 'string');
  if (!isPage) throw new TypeError('the answer holds no page of a list');
  return { object: 'list', data, hasMore };
}

/** Reader of the `result` of an action. */
export function resultOf<Result>(action: string): Reader<Result> {
  return (body) => {
    if (isObject(body) && body['ok'] === true && body['action'] === action && isObject(body['result'])) {
      return body['result'] as Result;
    }
    throw new TypeError(`the answer holds no result of ${action}`);
  };
}

/** Reader of a response that has no name, only these fields: each an object, an array or `true`. */
export function fieldsOf<Data extends object>(...names: (keyof Data & string)[]): Reader<Data> {
  return (body) => {
    const has = (name: string) => isObject(body) && (body[name] === true || Object(body[name]) === body[name]);
    if (names.every(has)) return body as Data;
    throw new TypeError(`the answer holds no ${names.join(', ')}`);
  };
}

export function readEvent(body: unknown): WebhookEvent {
  if (isEvent(body)) return body;
  throw new TypeError('the answer holds no event');
}

/** Tells whether a value has the fields that events of all types share. */
export function isEvent(value: unknown): value is WebhookEvent {
  if (!isObject(value) || !isObject(value['data'])) return false;
  const { id, type, livemode, created, data } = value;
  const texts = [id, type, created, data['session_id'], data['status']];
  return texts.every((each) => typeof each === 'string') && typeof livemode === 'boolean';
}
