import { z } from 'zod';
import {
  ANSWER_CLASSES,
  DELIVERY_STATUSES,
  type Delivery,
  type DeliveryAttempt,
  type Recovery,
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
  failure: field.label('Reason of the failure in words; null if it was acknowledged.', 'answered 500').nullable(),
};

const delivery = resource('Delivery', 'delivery', {
  id: field.id('dlv', 'The delivery.'),
  eventId: field.label('The event that is sent.', SAMPLE_IDS.evt),
  endpointId: field.id('whe', 'The endpoint that it is sent to.'),
  sessionId: field.id('chk', 'The checkout session.'),
  environment: field.environmentOf('Environment of the session and the endpoint.'),
  type: field.choice(EVERY_TYPE, 'The type of the event.', 'payment.paid'),
  status: field.choice(
    DELIVERY_STATUSES,
    'pending: to be sent, or sent again; delivered: acknowledged with 200; dead: abandoned, until it is replayed.',
    'dead',
  ),
  attempts: field.count('Attempts begun, including those before a replay.', 5),
  nextAttemptAt: field.orNull(
    field.time('Due time of the next attempt, or null; during an attempt, due time if that is lost.'),
  ),
  lastAttempt: z
    .strictObject({ at: field.time('Start time.'), ...outcome })
    .nullable()
    .describe('The last attempt that has ended, or null. A single delivery contains the whole log.'),
  created: field.time('Creation time: that of its event, or of a later resend or recovery.'),
});
export type DeliveryResource = z.output<typeof delivery>;

const attempt = z.strictObject({
  number: field.count('1 for the first attempt; continues to grow after a replay.', 5),
  started: field.time('Start time.'),
  ...outcome,
  responseBody: field.label('The first 16 KiB of the response, as text.', 'Internal Server Error'),
});

export const deliveryDetails = named(
  'DeliveryDetails',
  delivery.extend({
    log: z.array(attempt).describe('Every attempt that has ended, oldest first.'),
    payload: webhookEvent.describe('The event as sent.'),
  }),
);

const renderAttempt = rendererOf(attempt);

export const renderDelivery = rendererFrom(delivery, (record: Delivery) => ({
  ...record,
  nextAttemptAt: record.status === 'pending' ? record.dueAt : null,
  lastAttempt: record.lastAttempt && { ...record.lastAttempt, at: record.lastAttempt.started },
}));

/** `body` is the event's, as every attempt sends it. */
export function renderDeliveryDetails(record: Delivery, log: readonly DeliveryAttempt[], body: string) {
  return { ...renderDelivery(record), log: log.map(renderAttempt), payload: JSON.parse(body) };
}

const typeFilter = anyText(
  'Only deliveries of events of this type. A type that does not exist matches nothing.',
  'payment.paid',
);

const deliveriesQuery = listQuery('dlv', {
  endpointId: idOf('Only deliveries to this webhook endpoint', 'whe'),
  sessionId: idOf('Only deliveries of this session', 'chk'),
  eventId: anyText('Only deliveries of this event: its whole id.', SAMPLE_IDS.evt),
  type: typeFilter,
  status: statusFilter.meta({ examples: ['dead'] }),
  statusClass: z.optional(
    field.choice(
      ANSWER_CLASSES,
      'Only deliveries whose last attempt had such a response; none: no response. Deliveries without an attempt match no class.',
    ),
  ),
  createdFrom: z.optional(moment('Only deliveries made then or later: ISO 8601.')),
  createdUntil: z.optional(moment('Only deliveries made before: ISO 8601.')),
  environment,
});

const recoverRequest = z.strictObject({
  from: moment('Events made then or later. ISO 8601.').meta({ examples: ['2026-01-15T06:00:00.000Z'] }),
  until: z.optional(moment('Events made before. Default, and limit: now. ISO 8601.')),
  all: z.boolean().default(false).describe('true: also events that the endpoint has acknowledged. Default false.'),
});

const recovery = resource('Recovery', 'recovery', {
  id: field.id('rcv', 'The recovery.'),
  endpointId: field.id('whe', 'The endpoint.'),
  environment: field.environmentOf('Environment of the endpoint.'),
  from: field.time('Start of the range of events.', '2026-01-15T06:00:00.000Z'),
  until: field.time('End of the range of events.'),
  all: field.flag('True if acknowledged events are sent too.', false),
  status: field.choice(
    ['running', 'done', 'stopped'],
    'running: the service is still reading a long range; done: it has read the whole range; stopped: the endpoint was disabled or deleted meanwhile.',
    'done',
  ),
  queued: field.count('Events that the recovery sends.', 42),
  pending: field.count('Events whose delivery was pending already.', 3),
  delivered: field.count('Events that the endpoint has acknowledged, and that are not sent.', 117),
  created: field.time('Request time.'),
});

export const renderRecovery = rendererFrom(recovery, (record: Recovery) => ({ ...record, all: record.everything }));

export const EVENT_ENDPOINTS = endpoints('events', {
  listEvents: {
    route: 'GET /api/gateway/events',
    summary: 'List events',
    description:
      'Newest first by created, whether or not a webhook endpoint is registered. Every item is the JSON text of its deliveries, byte for byte.\n\nTo follow events, take the feed: after=, with the id of the last event that you have read, or empty for all. It answers oldest first, in the order in which events became visible: none ever appears before one that you have read, however many are being made. Store the last id and ask with it again; hasMore says whether there is more at once. Lists by created have no such promise: an event can appear some seconds after its created, below newer ones.',
    query: eventsQuery,
    response: listOf(webhookEvent),
  },
  getEvent: {
    route: 'GET /api/gateway/events/{eventId}',
    summary: 'Get an event',
    description: 'One event: the JSON text that its deliveries send, byte for byte.',
    response: webhookEvent,
  },
  resendEvent: {
    route: 'POST /api/gateway/events/{eventId}/resend',
    summary: 'Resend an event',
    description:
      'Sends the event again to every active webhook endpoint of its environment, and answers with the deliveries. An existing delivery to the endpoint is replayed; an endpoint that was registered later gets one now. Takes no body.',
    response: listOf(delivery),
    errors: ['invalid_state'],
  },
});

export const DELIVERY_ENDPOINTS = endpoints('deliveries', {
  listDeliveries: {
    route: 'GET /api/gateway/deliveries',
    summary: 'List webhook deliveries',
    description:
      'Newest first, each with its last attempt. status=dead lists deliveries that were abandoned after their last attempt; statusClass=5xx with endpointId lists the failures of one endpoint. All filters can be combined.',
    query: deliveriesQuery,
    response: listOf(delivery),
  },
  getDelivery: {
    route: 'GET /api/gateway/deliveries/{deliveryId}',
    summary: 'Get a webhook delivery',
    description: 'One delivery with the log of its attempts and the event as sent.',
    response: deliveryDetails,
  },
  replayDelivery: {
    route: 'POST /api/gateway/deliveries/{deliveryId}/replay',
    summary: 'Replay a webhook delivery',
    description:
      'Sends the event again. A dead or delivered delivery becomes pending, due now, with a new retry schedule; a pending one does not wait for its next attempt, and its schedule continues. The attempt log is preserved.\n\nThe bytes and the event id are those of the first attempt: a receiver that has processed the event will recognise it. Later events of the session that are still pending wait for it. Takes no body.',
    response: delivery,
    errors: ['invalid_state'],
  },
  recoverDeliveries: {
    route: 'POST /api/gateway/webhook-endpoints/{endpointId}/recover',
    summary: 'Recover a time range',
    description:
      'Sends an endpoint, for example after an outage, every event of a time range that it has not acknowledged: each once, the first attempts one after the other in the order of the events. A failed attempt is retried on the usual schedule without delaying the others; later events of its session wait for it.\n\nIncludes dead deliveries and events made while the endpoint did not exist or was disabled; pending deliveries are unchanged. Asking twice sends nothing twice. The service continues to read a long range by itself, also after restarts: get the recovery to see its progress.',
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
    description:
      'The progress of a recovery. The deliveries that it causes are in the list of deliveries of its endpoint.',
    response: recovery,
  },
});
