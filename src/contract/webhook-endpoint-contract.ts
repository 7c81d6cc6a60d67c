import { z } from 'zod';
import {
  ENDPOINT_SOURCES,
  EVERY_TYPE,
  type EventType,
  STATUS_TYPES,
  type SealedSecret,
  type WebhookEndpoint,
} from '../domain/webhook-endpoint.ts';
import { endpoints } from './endpoint.ts';
import { checkedText, environment, text } from './request-fields.ts';
import { environment as environmentFilter, list, listQuery } from './list-query.ts';
import * as field from './resource-fields.ts';
import { named, rendererFrom, resource } from './resource.ts';
import { SAMPLE_IDS } from './sample-ids.ts';

const SAMPLE_URL = 'https://shop.example/webhooks';
const SAMPLE_SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwxk5q1Zr9mT0=';
const SAMPLE_DESCRIPTION = 'Order system';
const SAMPLE_TYPES: EventType[] = ['payment.paid', 'payment.failed'];
const MAX_URL_LENGTH = 2048;
const MAX_DESCRIPTION = 500;
const MAX_OVERLAP_HOURS = 24;
const UNSAFE = /[\u0000-\u0020\u007f-\u009f\\]/;

/** URL of a webhook endpoint. The schema does not check the address of the host; the dispatcher does that for each attempt. */
const url = checkedText('uri', urlFault)
  .describe(
    'The URL to which events are posted: http or https, at most 2048 characters, no user name and no fragment; https in production.',
  )
  .meta({ format: 'uri', maxLength: MAX_URL_LENGTH, examples: [SAMPLE_URL] });

function urlFault(value: string): string | undefined {
  if (value.length > MAX_URL_LENGTH) return `must be a URL of at most ${MAX_URL_LENGTH} characters`;
  if (!value.isWellFormed() || UNSAFE.test(value)) return 'must not contain spaces, backslashes or control characters';
  const parsed = URL.parse(value);
  if (!parsed || !/^https?:\/\/[^/]/i.test(value)) return 'must be an absolute http or https URL';
  if (parsed.username !== '' || parsed.password !== '' || /^[^/]*\/\/[^/?#]*@/.test(value)) {
    return 'must not contain a user name or password: the signature authenticates deliveries';
  }
  return value.includes('#') ? 'must not contain a fragment, which is never sent' : undefined;
}

const events = z
  .custom<EventType[]>()
  .check((context) => {
    const message = faultOfEvents(context.value);
    if (message !== undefined) {
      context.issues.push({ code: 'custom', params: { issueCode: 'invalid_value' }, message, input: context.value });
    }
  })
  .describe('The types of events to send: at least one.')
  .meta({
    type: 'array',
    items: { type: 'string', enum: [...EVERY_TYPE] },
    minItems: 1,
    uniqueItems: true,
    examples: [SAMPLE_TYPES],
  });

function faultOfEvents(value: unknown): string | undefined {
  const known: readonly unknown[] = EVERY_TYPE;
  if (!Array.isArray(value) || value.length === 0) return `must be an array of one or more of ${EVERY_TYPE.join(', ')}`;
  if (value.some((type) => !known.includes(type))) return `must contain only ${EVERY_TYPE.join(', ')}`;
  return new Set(value).size === value.length ? undefined : 'must contain each type once';
}

const description = field.described(
  text(0, MAX_DESCRIPTION),
  'Your own description of the endpoint, at most 500 characters.',
  SAMPLE_DESCRIPTION,
);

export const createEndpointRequest = z.strictObject({
  url,
  environment,
  events: events.default([...STATUS_TYPES]),
  description: description.default(''),
});
export type CreateEndpointRequest = z.output<typeof createEndpointRequest>;

const changeEndpointRequest = z
  .strictObject({
    url: url.optional(),
    events: events.optional(),
    description: description.optional(),
    status: z.optional(
      field.choice(
        ['active', 'disabled'],
        'active enables the endpoint: pending deliveries are sent, and failingSince is reset. disabled disables it.',
      ),
    ),
  })
  .refine((fields: object) => Object.keys(fields).length > 0, {
    message: 'must contain a field to change: url, events, description or status',
    params: { issueCode: 'too_small' },
  });
export type ChangeEndpointRequest = z.output<typeof changeEndpointRequest>;

const rotateSecretRequest = z.strictObject({
  expiresInHours: z
    .int()
    .min(0)
    .max(MAX_OVERLAP_HOURS)
    .default(MAX_OVERLAP_HOURS)
    .describe('Hours for which earlier secrets still sign beside the new secret, at most; 0: they stop now.'),
});

const endpointsQuery = listQuery('whe', { environment: environmentFilter });

const webhookEndpoint = resource('WebhookEndpoint', 'webhook_endpoint', {
  id: field.id('whe', 'The endpoint.'),
  url: field.uri('The URL to which events are posted.', SAMPLE_URL),
  environment: field.environmentOf('Environment whose events the endpoint receives.'),
  source: field.choice(
    ENDPOINT_SOURCES,
    'api: created through this API; configuration: WEBHOOK_URL of the service, which is changed there.',
    'api',
  ),
  events: z
    .array(z.enum(EVERY_TYPE))
    .describe('The event types that the endpoint receives.')
    .meta({ examples: [SAMPLE_TYPES] }),
  description: field.label('Your own description of the endpoint.', SAMPLE_DESCRIPTION),
  status: field.choice(['active', 'disabled'], 'disabled: no new deliveries; pending deliveries wait.', 'active'),
  disabledReason: field.orNull(field.label('Reason why it is disabled, as text; null while active.', '')),
  disabledAt: field.orNull(field.time('Time of disabling.')),
  failingSince: field.orNull(
    field.time('Time of the first failure since the last success, or null. Failing for 120 hours disables it.'),
  ),
  lastSuccessAt: field.time('Last acknowledged delivery, to the minute, or null.').nullable(),
  secrets: z
    .array(
      z.strictObject({
        created: field.time('Creation time.'),
        expiresAt: field.orNull(field.time('Expiry time; null for the newest.')),
      }),
    )
    .describe('The secrets that sign deliveries, the newest first, without their values.'),
  created: field.time('Creation time.'),
});
export type WebhookEndpointResource = z.output<typeof webhookEndpoint>;

const webhookEndpointWithSecret = named(
  'WebhookEndpointWithSecret',
  webhookEndpoint.extend({
    secret: field.label('The new secret, which is shown only in this response.', SAMPLE_SECRET),
  }),
);

const deletedEndpoint = named(
  'DeletedWebhookEndpoint',
  webhookEndpoint.pick({ id: true, object: true }).extend({ deleted: z.literal(true).describe('Always true.') }),
);

const webhookTest = resource('WebhookTest', 'webhook_test', {
  endpointId: field.id('whe', 'The endpoint.'),
  eventId: field.label('Id of the sample event, whose session does not exist.', SAMPLE_IDS.evt),
  type: field.choice(EVERY_TYPE, 'The type of the sample event.', 'payment.paid'),
  delivered: z.boolean().describe('True if the endpoint answered with 200.'),
  statusCode: field.count('HTTP status of the response, or null without a response.', 200).nullable(),
  failure: field.orNull(field.label('Reason of the failure in words; null if it was acknowledged.', '')),
  durationMs: field.count('Duration in milliseconds.', 84),
  responseBody: field.label('The first 16 KiB of the response, as text.', 'ok'),
  headers: z
    .array(z.string())
    .describe('The names of the headers that were sent.')
    .meta({ examples: [['content-type', 'x-gateway-event', 'x-gateway-signature']] }),
  sent: field.time('Sending time.'),
});
export type WebhookTestResource = z.output<typeof webhookTest>;

/** A webhook endpoint with its secrets that still sign deliveries. */
export interface EndpointDetails {
  endpoint: WebhookEndpoint;
  secrets: readonly SealedSecret[];
}

export const renderEndpoint = rendererFrom(webhookEndpoint, ({ endpoint, secrets }: EndpointDetails) => ({
  ...endpoint,
  status: endpoint.status === 'active' ? 'active' : 'disabled',
  secrets: secrets.toReversed(),
}));

/** Endpoints that manage webhook endpoints. Only the operator may use them, because they redirect payment events. */
export const WEBHOOK_ENDPOINT_ENDPOINTS = endpoints('webhook endpoints', {
  createWebhookEndpoint: {
    route: 'POST /api/gateway/webhook-endpoints',
    access: 'admin',
    summary: 'Create a webhook endpoint',
    description:
      'Events of its environment and types are sent to it from now on, signed with the secret that this response shows, and no response ever again. It is stored encrypted. At most 20 in an environment.\n\nA URL to which nothing could ever be delivered is refused; the address behind a host name is checked at every connection.',
    body: createEndpointRequest,
    requestExample: { url: SAMPLE_URL, events: SAMPLE_TYPES },
    response: webhookEndpointWithSecret,
    errors: ['invalid_state'],
  },
  listWebhookEndpoints: list(
    '/api/gateway/webhook-endpoints',
    'List webhook endpoints',
    endpointsQuery,
    webhookEndpoint,
    'Newest first, including the one that the configuration of the service names. No secret is shown.',
  ),
  getWebhookEndpoint: {
    route: 'GET /api/gateway/webhook-endpoints/{endpointId}',
    summary: 'Get a webhook endpoint',
    description: 'One endpoint: whether it is active, why not, since when it fails. No secret is shown.',
    response: webhookEndpoint,
  },
  updateWebhookEndpoint: {
    route: 'PATCH /api/gateway/webhook-endpoints/{endpointId}',
    access: 'admin',
    summary: 'Update a webhook endpoint',
    description:
      'Changes only the given fields. A disabled endpoint gets no new deliveries, and pending ones wait; "status": "active" enables it: its failures are forgotten, and pending deliveries are sent. The endpoint that the configuration names can be enabled here, and is changed there.',
    body: changeEndpointRequest,
    requestExample: { status: 'active' },
    response: webhookEndpoint,
    errors: ['invalid_state'],
  },
  deleteWebhookEndpoint: {
    route: 'DELETE /api/gateway/webhook-endpoints/{endpointId}',
    access: 'admin',
    summary: 'Delete a webhook endpoint',
    description:
      'Permanent: its secrets and its URL are erased, and its pending deliveries become dead. Earlier deliveries still name its id.',
    response: deletedEndpoint,
    errors: ['invalid_state'],
  },
  rotateWebhookSecret: {
    route: 'POST /api/gateway/webhook-endpoints/{endpointId}/rotate-secret',
    access: 'admin',
    summary: 'Rotate the secret of a webhook endpoint',
    description:
      'Makes a new secret, which this response shows, and no response ever again. For expiresInHours more, deliveries also carry a signature of each earlier secret: a receiver that knows any of them accepts them. At most 10 earlier ones can sign at a time.',
    body: rotateSecretRequest,
    requestExample: { expiresInHours: 24 },
    response: webhookEndpointWithSecret,
    errors: ['invalid_state'],
  },
  testWebhookEndpoint: {
    route: 'POST /api/gateway/webhook-endpoints/{endpointId}/test',
    summary: 'Send a test delivery',
    description:
      'Posts a sample payment.paid event to the endpoint at once, even if it is disabled, signed as its deliveries are, and answers the result. The sample is not of live mode and names a session that does not exist. Nothing is stored or retried. Takes no body.',
    response: webhookTest,
    errors: ['invalid_state'],
  },
});
