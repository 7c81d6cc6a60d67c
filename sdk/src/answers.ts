import type { Capabilities, OperationSchema, Route, RouteList } from './types-agent.ts';
import type { DeliveryDetails, Page, WebhookEvent } from './types.ts';

// Something else than Tillway can answer 200 with JSON: a proxy, another service. Taken for a resource, it would be one
// whose every field is undefined. So each answer has to name what it is.

/** The data of an answer. Throws TypeError where it is not what such an answer holds. */
export type Reader<Data> = (body: unknown) => Data;

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A resource, which names itself in `object`. */
export function resource<Data extends { object: string }>(name: Data['object']): Reader<Data> {
  return (body) => {
    if (isObject(body) && body['object'] === name) return body as unknown as Data;
    throw new TypeError(`the answer holds no ${name}`);
  };
}

export function readDelivery(body: unknown): DeliveryDetails {
  const delivery = resource<DeliveryDetails>('delivery')(body);
  if (Array.isArray(delivery.log) && isEvent(delivery.payload)) return delivery;
  throw new TypeError('the answer holds no log of a delivery');
}

/** One page of a list. */
export function readPage<Item extends { id: string }>(body: unknown): Page<Item> {
  const page = resource<Page<Item>>('list')(body);
  return pageOf(page.data, page.hasMore);
}

/** The routes of an environment, as a list of one page. */
export function readRoutes(body: unknown): Page<Route> {
  const { ok, routes } = Object(body) as Partial<RouteList>;
  if (ok !== true) throw new TypeError('the answer holds no routes');
  return pageOf(routes, false);
}

function pageOf<Item>(data: unknown, hasMore: unknown): Page<Item> {
  const isPage =
    typeof hasMore === 'boolean' &&
    Array.isArray(data) &&
    data.every((item) => isObject(item) && typeof item['id'] === 'string');
  if (!isPage) throw new TypeError('the answer holds no page of a list');
  // Read on from what record? To end here would pass a part off as the whole.
  if (hasMore && data.length === 0) throw new TypeError('the answer promises more records, and holds none');
  return { object: 'list', data, hasMore };
}

/** The `result` of an action. */
export function resultOf<Result>(action: string): Reader<Result> {
  return (body) => {
    if (isObject(body) && body['ok'] === true && body['action'] === action && isObject(body['result'])) {
      return body['result'] as Result;
    }
    throw new TypeError(`the answer holds no result of ${action}`);
  };
}

export function readSchema(body: unknown): OperationSchema {
  if (isObject(body) && body['ok'] === true && isObject(body['inputSchema']) && isObject(body['outputSchema'])) {
    return body as unknown as OperationSchema;
  }
  throw new TypeError('the answer holds no schemas of an operation');
}

export function readCapabilities(body: unknown): Capabilities {
  if (
    isObject(body) &&
    typeof body['product'] === 'string' &&
    Array.isArray(body['entrypoints']) &&
    Array.isArray(body['actions'])
  ) {
    return body as unknown as Capabilities;
  }
  throw new TypeError('the answer holds no capabilities');
}

export function readEvent(body: unknown): WebhookEvent {
  if (isEvent(body)) return body;
  throw new TypeError('the answer holds no event');
}

/** Whether this has what every event has, of whatever type. */
export function isEvent(value: unknown): value is WebhookEvent {
  if (!isObject(value) || !isObject(value['data'])) return false;
  const { id, type, livemode, created, data } = value;
  const texts = [id, type, created, data['session_id'], data['status']];
  return texts.every((each) => typeof each === 'string') && typeof livemode === 'boolean';
}
