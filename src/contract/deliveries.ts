import { z } from 'zod';
import { DELIVERY_STATUSES, type Delivery, type DeliveryAttempt, type LastAttempt } from '../domain/delivery.ts';
import { SAMPLE_EVENT_ID, id, label, time } from './described.ts';
import { timestamp } from './render.ts';
import { EVENT_TYPES } from './requests.ts';
import { webhookEvent } from './resources.ts';

const count = (what: string, example: number) =>
  z
    .number()
    .describe(what)
    .meta({ examples: [example] });

const lastAttempt = z.strictObject({
  at: time('When it began.'),
  durationMs: count('How long it took, in milliseconds.', 84),
  statusCode: count('HTTP status of the answer, or null where none came.', 500).nullable(),
  failure: label('Why it failed, in words; null where it was acknowledged.', 'answered 500').nullable(),
});

export const delivery = z.strictObject({
  id: id('dlv', 'The delivery.'),
  object: z.literal('delivery').describe('Always delivery.'),
  eventId: label('The event that is sent.', SAMPLE_EVENT_ID),
  endpointId: id('whe', 'The endpoint that it is sent to.'),
  sessionId: id('chk', 'The checkout session.'),
  environment: z.enum(['sandbox', 'production']).describe('That of the session and the endpoint.'),
  type: z
    .enum(EVENT_TYPES)
    .describe('The type of the event.')
    .meta({ examples: ['payment.paid'] }),
  status: z
    .enum(DELIVERY_STATUSES as ['pending', 'delivered', 'dead'])
    .describe(
      'pending: to be sent, or sent again; delivered: acknowledged with 200; dead: given up, until it is replayed.',
    )
    .meta({ examples: ['dead'] }),
  attempts: count('Attempts begun, those before a replay included.', 5),
  nextAttemptAt: time(
    'When the next attempt is due, or null where none is; while one is under way, when it would be repeated if lost.',
  )
    .nullable()
    .meta({ examples: [null] }),
  lastAttempt: lastAttempt
    .nullable()
    .describe(
      'The last attempt that has ended, or null before there is one. The whole log stands in the delivery itself.',
    ),
  created: time('When it was made: with its event, or by a later resend or recovery.'),
});
export type DeliveryResource = z.output<typeof delivery>;

const attempt = z.strictObject({
  number: count('1 for the first attempt; goes on growing after a replay.', 5),
  started: time('When it began.'),
  durationMs: count('How long it took, in milliseconds.', 84),
  statusCode: count('HTTP status of the answer, or null where none came.', 500).nullable(),
  failure: label('Why it failed, in words; null where it was acknowledged.', 'answered 500').nullable(),
  responseBody: label('The first 16 KiB of the answer, as text.', 'Internal Server Error'),
});

export const deliveryDetails = delivery.extend({
  log: z.array(attempt).describe('Every attempt that has ended, oldest first.'),
  payload: webhookEvent.describe('The event as sent.'),
});

export function renderDelivery(record: Delivery): DeliveryResource {
  return {
    id: record.id,
    object: 'delivery',
    eventId: record.eventId,
    endpointId: record.endpointId,
    sessionId: record.sessionId,
    environment: record.environment,
    type: record.type,
    status: record.status,
    attempts: record.attempts,
    nextAttemptAt: record.status === 'pending' ? timestamp(record.dueAt) : null,
    lastAttempt: record.lastAttempt && renderLast(record.lastAttempt),
    created: timestamp(record.created),
  };
}

function renderLast({ started, durationMs, statusCode, failure }: LastAttempt) {
  return { at: timestamp(started), durationMs, statusCode, failure };
}

/** `body` is the event's, as every attempt sends it. */
export function renderDeliveryDetails(record: Delivery, log: readonly DeliveryAttempt[], body: string) {
  return {
    ...renderDelivery(record),
    log: log.map(({ deliveryId: _delivery, started, ...rest }) => ({ ...rest, started: timestamp(started) })),
    payload: JSON.parse(body),
  };
}
