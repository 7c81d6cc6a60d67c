import type { RouteSummary, WebhookEvent } from './generated/types.ts';
import type { Page } from './list.ts';

// Readers check that a response is the expected one. A proxy or another service can also answer 200 with JSON, which would
// otherwise become a resource with only undefined fields.

/** Function that checks a response body, and returns it with its type. Throws TypeError for an unexpected body. */
export type Reader<Data> = (body: unknown) => Data;

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Creates a reader for a resource, whose `object` field must be `name`. */
export function resource<Data extends { object: string }>(name: Data['object']): Reader<Data> {
  return (body) => {
    if (isObject(body) && body['object'] === name) return body as unknown as Data;
    throw new TypeError(`the response contains no ${name}`);
  };
}

/** Reads a page of a list. */
export function readPage<Item extends { id: string }>(body: unknown): Page<Item> {
  const page = readFeedPage<Item>(body);
  const { searchedTo } = body as { searchedTo?: unknown };
  if (typeof searchedTo === 'string') return { ...page, searchedTo };
  // Rejects the page: it has no record as a cursor for the next page, and an end of the list here would hide records.
  if (page.hasMore && page.data.length === 0) throw new TypeError('the response has hasMore, but no records');
  return page;
}

/** Reads a page of the feed, which can be empty even if hasMore is true. */
export function readFeedPage<Item extends { id: string }>(body: unknown): Page<Item> {
  const { data, hasMore } = resource<Page<Item>>('list')(body);
  return pageOf(data, hasMore);
}

/** Reads the routes of an environment as the only page of a list. */
export function readRoutes(body: unknown): Page<RouteSummary> {
  const { routes } = fieldsOf<{ ok: true; routes: RouteSummary[] }>('ok', 'routes')(body);
  return pageOf(routes, false);
}

function pageOf<Item>(data: unknown, hasMore: unknown): Page<Item> {
  const isPage =
    typeof hasMore === 'boolean' &&
    Array.isArray(data) &&
    data.every((item) => isObject(item) && typeof item['id'] === 'string');
  if (!isPage) throw new TypeError('the response contains no list page');
  return { object: 'list', data, hasMore };
}

/** Creates a reader for the `result` of an action. */
export function resultOf<Result>(action: string): Reader<Result> {
  return (body) => {
    if (isObject(body) && body['ok'] === true && body['action'] === action && isObject(body['result'])) {
      return body['result'] as Result;
    }
    throw new TypeError(`the response contains no result of ${action}`);
  };
}

/** Creates a reader for a response without `object`: each of the named fields must be an object, an array or `true`. */
export function fieldsOf<Data extends object>(...names: (keyof Data & string)[]): Reader<Data> {
  return (body) => {
    const has = (name: string) => isObject(body) && (body[name] === true || Object(body[name]) === body[name]);
    if (names.every(has)) return body as Data;
    throw new TypeError(`the response lacks ${names.join(', ')}`);
  };
}

export function readEvent(body: unknown): WebhookEvent {
  if (isEvent(body)) return body;
  throw new TypeError('the response contains no event');
}

/** True if a value has the fields that events of all types have in common. */
export function isEvent(value: unknown): value is WebhookEvent {
  if (!isObject(value) || !isObject(value['data'])) return false;
  const { id, type, livemode, created, data } = value;
  const texts = [
    id,
    type,
    created,
    ...(type === 'route.health_changed' ? [data['to']] : [data['session_id'], data['status']]),
  ];
  return texts.every((each) => typeof each === 'string') && typeof livemode === 'boolean';
}
