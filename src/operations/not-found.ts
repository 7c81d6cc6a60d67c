import { GatewayError } from '../domain/gateway-error.ts';

/** Returns `item`. Throws GatewayError `not_found` if it is undefined. */
export function found<Item>(item: Item | undefined, record: string, id: string, prefix: string): Item {
  if (item === undefined) throw recordNotFound(record, id, prefix);
  return item;
}

/** Error for an id that names no record. `prefix` starts the ids of such records. */
function recordNotFound(record: string, id: string, prefix: string): GatewayError {
  const article = /^[aeio]/i.test(record) ? 'an' : 'a';
  return new GatewayError('not_found', `No ${record} ${JSON.stringify(id.slice(0, 80))} exists.`, {
    suggestion: `Use the id of ${article} ${record} as a list or an earlier answer gave it: ${prefix} and 36 characters.`,
  });
}

export function sessionNotFound(id: string): GatewayError {
  return recordNotFound('session', id, 'chk_');
}

export function foundSession<Item>(item: Item | undefined, id: string): Item {
  return found(item, 'session', id, 'chk_');
}

export function eventNotFound(id: string): GatewayError {
  return new GatewayError('not_found', `No event ${JSON.stringify(id.slice(0, 80))} exists.`, {
    suggestion:
      'Use the id of an event as a list or a delivery gave it: evt_ and the id of a health transition, or evt_, the id of a session and a suffix, such as _paid.',
  });
}
