import { delivery, deliveryDetails } from './deliveries.ts';
import { SAMPLE_DELIVERY_ID, SAMPLE_ENDPOINT_ID, SAMPLE_EVENT_ID, SAMPLE_RECOVERY_ID } from './described.ts';
import type { Endpoint } from './endpoint.ts';
import { deliveriesQuery, eventsQuery } from './queries.ts';
import { recoverRequest, recovery } from './recoveries.ts';
import { listOf, webhookEvent } from './resources.ts';

const eventId = {
  eventId: { description: 'An event: evt_, the id of its session, _ and a status.', example: SAMPLE_EVENT_ID },
};

const deliveryId = { deliveryId: { description: 'A delivery: dlv_...', example: SAMPLE_DELIVERY_ID } };

const endpointId = { endpointId: { description: 'A webhook endpoint: whe_...', example: SAMPLE_ENDPOINT_ID } };

/** Events and their deliveries. */
export const WEBHOOK_ENDPOINTS = {
  listEvents: {
    operationId: 'listEvents',
    method: 'GET',
    access: 'read',
    path: '/api/gateway/events',
    tag: 'events',
    summary: 'List events',
    description:
      'Newest first by created, whether or not a webhook endpoint is registered. Every item is the JSON text of its deliveries, byte for byte.\n\nTo follow events, take the feed: after=, with the id of the last event that you have read, or empty for all. It answers oldest first, in the order in which events became visible: none ever appears before one that you have read, however many are being made. Keep the last id, and ask with it again; hasMore says whether there is more at once. Lists by created have no such promise: an event can appear some seconds after its created, below newer ones.',
    query: eventsQuery,
    response: listOf(webhookEvent),
    errors: [],
  },
  getEvent: {
    operationId: 'getEvent',
    method: 'GET',
    access: 'read',
    path: '/api/gateway/events/{eventId}',
    tag: 'events',
    summary: 'Get an event',
    description: 'One event: the JSON text that its deliveries send, byte for byte.',
    params: eventId,
    response: webhookEvent,
    errors: ['not_found'],
  },
  resendEvent: {
    operationId: 'resendEvent',
    method: 'POST',
    access: 'write',
    path: '/api/gateway/events/{eventId}/resend',
    tag: 'events',
    summary: 'Resend an event',
    description:
      'Sends the event again to every active webhook endpoint of its environment, and answers with the deliveries. Where it has a delivery to the endpoint, that is replayed; an endpoint that was registered later gets one now. Takes no body.',
    params: eventId,
    response: listOf(delivery),
    errors: ['not_found', 'invalid_state'],
  },
  listDeliveries: {
    operationId: 'listDeliveries',
    method: 'GET',
    access: 'read',
    path: '/api/gateway/deliveries',
    tag: 'deliveries',
    summary: 'List webhook deliveries',
    description:
      'Newest first, each with its last attempt. status=dead lists what was given up after its last attempt; statusClass=5xx with endpointId what an endpoint fails with. All filters can be combined.',
    query: deliveriesQuery,
    response: listOf(delivery),
    errors: [],
  },
  getDelivery: {
    operationId: 'getDelivery',
    method: 'GET',
    access: 'read',
    path: '/api/gateway/deliveries/{deliveryId}',
    tag: 'deliveries',
    summary: 'Get a webhook delivery',
    description: 'One delivery with the log of its attempts and the event as sent.',
    params: deliveryId,
    response: deliveryDetails,
    errors: ['not_found'],
  },
  replayDelivery: {
    operationId: 'replayDelivery',
    method: 'POST',
    access: 'write',
    path: '/api/gateway/deliveries/{deliveryId}/replay',
    tag: 'deliveries',
    summary: 'Replay a webhook delivery',
    description:
      'Sends the event again. A dead or delivered delivery becomes pending, due now, with the whole retry schedule before it; a pending one does not wait for its next attempt, and keeps its schedule. The attempt log is kept.\n\nThe bytes and the event id are those of the first attempt: a receiver that has processed the event will know it. Later events of the session that are still pending wait for it. Takes no body.',
    params: deliveryId,
    response: delivery,
    errors: ['not_found', 'invalid_state'],
  },
  recoverDeliveries: {
    operationId: 'recoverDeliveries',
    method: 'POST',
    access: 'write',
    path: '/api/gateway/webhook-endpoints/{endpointId}/recover',
    tag: 'deliveries',
    summary: 'Recover a time range',
    description:
      'Sends an endpoint every event of a time that it has not acknowledged, after an outage of it for example: each once, the first attempts one after the other in the order in which the events happened. One that fails goes into its retry schedule, and does not hold the others up; later events of its session wait for it.\n\nWhat was given up is sent again, what was made while the endpoint did not exist or was disabled is sent now, what is on its way already is left to that. Asking twice sends nothing twice. A long range is read on by itself, also over restarts: get the recovery to see how far it is.',
    params: endpointId,
    body: recoverRequest,
    requestExample: { from: '2026-01-15T06:00:00.000Z', until: '2026-01-15T09:30:00.000Z' },
    response: recovery,
    errors: ['not_found', 'invalid_state'],
    errorExamples: {
      invalid_state: {
        message: `Webhook endpoint ${SAMPLE_ENDPOINT_ID} is disabled: it answered 410, which says that it takes no events any more.`,
        suggestion: `PATCH /api/gateway/webhook-endpoints/${SAMPLE_ENDPOINT_ID} with {"status": "active"}, then recover.`,
      },
    },
  },
  getRecovery: {
    operationId: 'getRecovery',
    method: 'GET',
    access: 'read',
    path: '/api/gateway/recoveries/{recoveryId}',
    tag: 'deliveries',
    summary: 'Get a recovery',
    description: 'How far a recovery has got. What is sent because of it stands among the deliveries of its endpoint.',
    params: { recoveryId: { description: 'A recovery: rcv_...', example: SAMPLE_RECOVERY_ID } },
    response: recovery,
    errors: ['not_found'],
  },
} as const satisfies Record<string, Endpoint>;
