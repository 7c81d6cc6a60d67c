import { GatewayError } from '../domain/errors.ts';

/** An id that names nothing. `prefix` is what ids of such a record start with. */
export function recordNotFound(record: string, id: string, prefix: string): GatewayError {
  const article = /^[aeio]/i.test(record) ? 'an' : 'a';
  return new GatewayError('not_found', `No ${record} ${JSON.stringify(id.slice(0, 80))} exists.`, {
    suggestion: `Use the id of ${article} ${record} as a list or an earlier answer gave it: ${prefix} and 36 characters.`,
  });
}

export function sessionNotFound(id: string): GatewayError {
  return recordNotFound('session', id, 'chk_');
}

export function eventNotFound(id: string): GatewayError {
  return new GatewayError('not_found', `No event ${JSON.stringify(id.slice(0, 80))} exists.`, {
    suggestion:
      'Use the id of an event as a list or a delivery gave it: evt_, the id of its session, and _paid, _failed or _provider_pending.',
  });
}
