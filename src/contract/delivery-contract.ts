import { z } from 'zod';
import {
  ANSWER_CLASSES,
  DELIVERY_STATUSES,
  type Delivery,
  type DeliveryAttempt,
  type Recovery,
  sessionOfDelivery,
} from '../domain/delivery.ts';
import { EVERY_TYPE } from '../domain/webhook-endpoint.ts';
import { endpoints } from './endpoint.ts';
import { eventsQuery, webhookEvent } from './event-contract.ts';
import { moment } from './request-fields.ts';
import { anyText, environment, idOf, listOf, listQuery, status as statusFilter } from './list-query.ts';
import * as field from './resource-fields.ts';
import { named, rendererFrom, rendererOf, resource } from './resource.ts';
import { SAMPLE_IDS } from './sample-ids.ts';

const outcome = {
  durationMs: field.count('Duration in milliseconds.', 84),
  statusCode: field.count('HTTP status of the response, or null without a response.', 500).nullable(),
  failure: field.label('Reason of the failure as text; null for a success.', 'answered 500').nullable(),
};

const delivery = resource('Delivery', 'delivery', {
  id: field.id('dlv', 'The delivery.'),
  eventId: field.label('The event that is sent.', SAMPLE_IDS.evt),
  endpointId: field.id('whe', 'The endpoint that receives the event.'),
  sessionId: field.id('chk', 'The checkout session; null for an event about a route.').nullable(),
  environment: field.environmentOf('Environment of the event and the endpoint.'),
  type: field.choice(EVERY_TYPE, 'The type of the event.', 'payment.paid'),
  status: field.choice(
    DELIVERY_STATUSES,
    'pending: waits for its first or next attempt; delivered: acknowledged with 200; dead: not retried unless it is replayed.',
    'dead',
  ),
  attempts: field.count('Number of started attempts, including those before a replay.', 5),
  nextAttemptAt: field.orNull(
    field.time(
      'Due time of the next attempt, or null. During an attempt: time of its repetition if the service crashes.',
    ),
  ),
  lastAttempt: z
    .strictObject({ at: field.time('Start time.'), ...outcome })
    .nullable()
    .describe('The last completed attempt, or null. "Get a webhook delivery" returns all attempts.'),
  created: field.time('Creation time: the time of the event, or of a later resend or recovery.'),
});
export type DeliveryResource = z.output<typeof delivery>;

const attempt = z.strictObject({
  number: field.count('1 for the first attempt; a replay continues the numbering.', 5),
  started: field.time('Start time.'),
  ...outcome,
  responseBody: field.label('The first 16 KiB of the response, as text.', 'Internal Server Error'),
});

export const deliveryDetails = named(
  'DeliveryDetails',
  delivery.extend({
    log: z.array(attempt).describe('All completed attempts, oldest first.'),
    payload: webhookEvent.describe('The event as sent.'),
  }),
);

const renderAttempt = rendererOf(attempt);

export const renderDelivery = rendererFrom(delivery, (record: Delivery) => ({
  ...record,
  sessionId: sessionOfDelivery(record),
  nextAttemptAt: record.status === 'pending' ? record.dueAt : null,
  lastAttempt: record.lastAttempt && { ...record.lastAttempt, at: record.lastAttempt.started },
}));

/** Renders a delivery with its attempt log. `body` is the JSON text of the event, which every attempt sends. */
export function renderDeliveryDetails(record: Delivery, log: readonly DeliveryAttempt[], body: string) {
  return { ...renderDelivery(record), log: log.map(renderAttempt), payload: JSON.parse(body) };
}

const typeFilter = anyText('Only deliveries of events of this type. An unknown type matches nothing.', 'payment.paid');

const deliveriesQuery = listQuery('dlv', {
  endpointId: idOf('Only deliveries to this webhook endpoint', 'whe'),
  sessionId: idOf('Only deliveries of this session', 'chk'),
  eventId: anyText('Only deliveries of the event with exactly this id.', SAMPLE_IDS.evt),
  type: typeFilter,
  status: statusFilter.meta({ examples: ['dead'] }),
  statusClass: z.optional(
    field.choice(
      ANSWER_CLASSES,
      'Only deliveries whose last attempt got a response of this class; none: no response. Deliveries without an attempt match no class.',
    ),
  ),
  createdFrom: z.optional(moment('Only deliveries created at or after this time: ISO 8601.')),
  createdUntil: z.optional(moment('Only deliveries created before this time: ISO 8601.')),
  environment,
});

const recoverRequest = z.strictObject({
  from: moment('Start of the time range, inclusive. ISO 8601.').meta({ examples: ['2026-01-15T06:00:00.000Z'] }),
  until: z.optional(moment('End of the time range, exclusive. Default and latest value: now. ISO 8601.')),
  all: z.boolean().default(false).describe('true: also sends acknowledged events. Default false.'),
});

const recovery = resource('Recovery', 'recovery', {
  id: field.id('rcv', 'The recovery.'),
  endpointId: field.id('whe', 'The endpoint.'),
  environment: field.environmentOf('Environment of the endpoint.'),
  from: field.time('Start of the time range, inclusive.', '2026-01-15T06:00:00.000Z'),
  until: field.time('End of the time range, exclusive.'),
  all: field.flag('True if acknowledged events are sent too.', false),
  status: field.choice(
    ['running', 'done', 'stopped'],
    'running: the service is still reading the time range; done: the whole range was read; stopped: the endpoint was disabled or deleted during the recovery.',
    'done',
  ),
  queued: field.count('Events that the recovery sends.', 42),
  pending: field.count('Events whose delivery was already pending.', 3),
  delivered: field.count('Events that are not sent because the endpoint has acknowledged them.', 117),
  created: field.time('Request time.'),
});

export const renderRecovery = rendererFrom(recovery, (record: Recovery) => ({ ...record, all: record.everything }));

export const EVENT_ENDPOINTS = endpoints('events', {
  listEvents: {
    route: 'GET /api/gateway/events',
    summary: 'List events',
    description:
      'Newest first by created, whether or not a webhook endpoint is registered. Every item has exactly the bytes that its deliveries send.\n\nTo read events without gaps, use the feed: after= with the id of the last event that you have read, or empty to start with the oldest. The feed returns events oldest first in a fixed order: new events always follow events that you have read. Store the last id and use it as after in the next request; hasMore tells whether more events exist now. A list by created has no fixed order: an event can appear some seconds after its created time, below newer events.',
    query: eventsQuery,
    response: listOf(webhookEvent),
  },
  getEvent: {
    route: 'GET /api/gateway/events/{eventId}',
    summary: 'Get an event',
    description: 'One event, with exactly the bytes that its deliveries send.',
    response: webhookEvent,
  },
  resendEvent: {
    route: 'POST /api/gateway/events/{eventId}/resend',
    summary: 'Resend an event',
    description:
      'Sends the event again to every active webhook endpoint of its environment, and returns the deliveries. Existing deliveries are replayed; an endpoint without a delivery of the event gets a new one. Takes no body.',
    response: listOf(delivery),
    errors: ['invalid_state'],
  },
});

export const DELIVERY_ENDPOINTS = endpoints('deliveries', {
  listDeliveries: {
    route: 'GET /api/gateway/deliveries',
    summary: 'List webhook deliveries',
    description:
      'Newest first, each with its last attempt. status=dead lists deliveries whose attempts all failed; statusClass=5xx with endpointId lists the failures of one endpoint. All filters can be combined.',
    query: deliveriesQuery,
    response: listOf(delivery),
  },
  getDelivery: {
    route: 'GET /api/gateway/deliveries/{deliveryId}',
    summary: 'Get a webhook delivery',
    description: 'One delivery with its attempt log and the event that was sent.',
    response: deliveryDetails,
  },
  replayDelivery: {
    route: 'POST /api/gateway/deliveries/{deliveryId}/replay',
    summary: 'Replay a webhook delivery',
    description:
      'Sends the event again. A dead or delivered delivery becomes pending, is due now, and gets a new retry schedule; a pending delivery becomes due now and continues its schedule. The attempt log is preserved.\n\nThe replay sends the same bytes and event id as the first attempt, so a receiver can recognise an event that it has processed. Later pending events of the session wait for the replay. Takes no body.',
    response: delivery,
    errors: ['invalid_state'],
  },
  recoverDeliveries: {
    route: 'POST /api/gateway/webhook-endpoints/{endpointId}/recover',
    summary: 'Recover a time range',
    description:
      'Sends all unacknowledged events of a time range to an endpoint, for example after an outage. Each event is sent once, in the order of the events. A failed attempt is retried on the usual schedule and delays only later events of its session.\n\nIncludes dead deliveries, and events from times when the endpoint did not exist or was disabled; pending deliveries are unchanged. Repeating the request sends no event twice. The service reads a long range in the background, also after restarts: get the recovery to see its progress.',
    body: recoverRequest,
    requestExample: { from: '2026-01-15T06:00:00.000Z', until: '2026-01-15T09:30:00.000Z' },
    response: recovery,
    errors: ['invalid_state'],
    errorExamples: {
      invalid_state: {
        message: `Webhook endpoint ${SAMPLE_IDS.whe} is disabled: it answered 410, which says that it takes no events any more.`,
        suggestion: `PATCH /api/gateway/webhook-endpoints/${SAMPLE_IDS.whe} with {"status": "active"}, then recover.`,
      },
    },
  },
  getRecovery: {
    route: 'GET /api/gateway/recoveries/{recoveryId}',
    summary: 'Get a recovery',
    description: 'The progress of a recovery. To see its deliveries, list the deliveries of the endpoint.',
    response: recovery,
  },
});
