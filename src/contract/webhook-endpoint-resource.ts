import { z } from 'zod';
import type { SealedSecret, WebhookEndpoint } from '../domain/webhook-endpoint.ts';
import { SAMPLE_EVENT_ID, id, label, time, uri } from './described.ts';
import { environment, text } from './fields.ts';
import { timestamp } from './render.ts';
import { EVENT_TYPES } from './requests.ts';
import { webhookUrl } from './webhook-url.ts';

const SAMPLE_URL = 'https://shop.example/webhooks';
const SAMPLE_SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwxk5q1Zr9mT0=';
const SAMPLE_DESCRIPTION = 'Order system';
const MAX_DESCRIPTION = 500;
const MAX_OVERLAP_HOURS = 24;

type EventName = (typeof EVENT_TYPES)[number];

const events = z
  .custom<EventName[]>()
  .check((context) => {
    const message = faultOfEvents(context.value);
    if (message !== undefined) {
      context.issues.push({ code: 'custom', params: { issueCode: 'invalid_value' }, message, input: context.value });
    }
  })
  .describe('The types of events to send: at least one.')
  .meta({
    type: 'array',
    items: { type: 'string', enum: [...EVENT_TYPES] },
    minItems: 1,
    uniqueItems: true,
    examples: [['payment.paid', 'payment.failed']],
  });

function faultOfEvents(value: unknown): string | undefined {
  const known: readonly unknown[] = EVENT_TYPES;
  if (!Array.isArray(value) || value.length === 0)
    return `must be an array of one or more of ${EVENT_TYPES.join(', ')}`;
  if (value.some((type) => !known.includes(type))) return `must hold nothing but ${EVENT_TYPES.join(', ')}`;
  return new Set(value).size === value.length ? undefined : 'must hold each type once';
}

const url = webhookUrl.describe(
  'Where events are posted to: http or https, at most 2048 characters, no user name and no fragment; https in production.',
);
const description = text(0, MAX_DESCRIPTION)
  .describe('Your own words about it, at most 500 characters.')
  .meta({ examples: [SAMPLE_DESCRIPTION] });

/** Body of `POST /api/gateway/webhook-endpoints`. */
export const createEndpointRequest = z.strictObject({
  url,
  environment,
  events: events.default([...EVENT_TYPES]),
  description: description.default(''),
});
export type CreateEndpointRequest = z.output<typeof createEndpointRequest>;

/** Body of `PATCH /api/gateway/webhook-endpoints/{endpointId}`. */
export const changeEndpointRequest = z
  .strictObject({
    url: url.optional(),
    events: events.optional(),
    description: description.optional(),
    status: z
      .enum(['active', 'disabled'])
      .optional()
      .describe('active enables it: what waits is sent, and its failures are forgotten. disabled stops it.'),
  })
  .refine((fields: object) => Object.keys(fields).length > 0, {
    message: 'must name something to change: url, events, description or status',
    params: { issueCode: 'too_small' },
  });
export type ChangeEndpointRequest = z.output<typeof changeEndpointRequest>;

/** Body of `POST /api/gateway/webhook-endpoints/{endpointId}/rotate-secret`. */
export const rotateSecretRequest = z.strictObject({
  expiresInHours: z
    .number()
    .int()
    .min(0)
    .max(MAX_OVERLAP_HOURS)
    .default(MAX_OVERLAP_HOURS)
    .describe('How long every secret before still signs besides the new one, at most; 0 ends them at once.'),
});

export const webhookEndpoint = z.strictObject({
  id: id('whe', 'The endpoint.'),
  object: z.literal('webhook_endpoint').describe('Always webhook_endpoint.'),
  url: uri('Where events are posted to.', SAMPLE_URL),
  environment: z.enum(['sandbox', 'production']).describe('It gets the events of this environment.'),
  source: z
    .enum(['api', 'configuration'])
    .describe('api: made here; configuration: WEBHOOK_URL of the service, which is changed there.')
    .meta({ examples: ['api'] }),
  events: z
    .array(z.enum(EVENT_TYPES))
    .describe('The types of events that are sent to it.')
    .meta({ examples: [['payment.paid', 'payment.failed']] }),
  description: label('Your own words about it.', SAMPLE_DESCRIPTION),
  status: z
    .enum(['active', 'disabled'])
    .describe('disabled: it gets no new deliveries, and what waited for it goes on waiting.')
    .meta({ examples: ['active'] }),
  disabledReason: label('Why it is disabled, in words; null while it is active.', '')
    .nullable()
    .meta({ examples: [null] }),
  disabledAt: time('When it was disabled.')
    .nullable()
    .meta({ examples: [null] }),
  failingSince: time(
    'The first failure since the last success; null where none followed that. After 120 hours the next failure disables it.',
  )
    .nullable()
    .meta({ examples: [null] }),
  lastSuccessAt: time('When it last acknowledged a delivery, to the minute; null where it never has.').nullable(),
  secrets: z
    .array(
      z.strictObject({
        created: time('When it was made.'),
        expiresAt: time('When it ceases to sign; null for the newest.')
          .nullable()
          .meta({ examples: [null] }),
      }),
    )
    .describe('The secrets that deliveries are signed with, the newest first, without their values.'),
  created: time('When it was made.'),
});
export type WebhookEndpointResource = z.output<typeof webhookEndpoint>;

export const webhookEndpointWithSecret = webhookEndpoint.extend({
  secret: label('The new secret, which is shown in this answer and never again.', SAMPLE_SECRET),
});

export const deletedEndpoint = z.strictObject({
  id: id('whe', 'The endpoint.'),
  object: z.literal('webhook_endpoint').describe('Always webhook_endpoint.'),
  deleted: z.literal(true).describe('Always true.'),
});

export const webhookTest = z.strictObject({
  object: z.literal('webhook_test').describe('Always webhook_test.'),
  endpointId: id('whe', 'The endpoint.'),
  eventId: label('The id of the sample event, which no session has.', SAMPLE_EVENT_ID),
  type: z
    .enum(EVENT_TYPES)
    .describe('The type of the sample event.')
    .meta({ examples: ['payment.paid'] }),
  delivered: z.boolean().describe('Whether it was acknowledged: answered with 200.'),
  statusCode: z
    .number()
    .nullable()
    .describe('HTTP status of the answer, or null where none came.')
    .meta({ examples: [200] }),
  failure: label('Why it failed, in words; null where it was acknowledged.', '')
    .nullable()
    .meta({ examples: [null] }),
  durationMs: z
    .number()
    .describe('How long it took, in milliseconds.')
    .meta({ examples: [84] }),
  responseBody: label('The first 16 KiB of the answer, as text.', 'ok'),
  headers: z
    .array(z.string())
    .describe('The names of the headers that were sent.')
    .meta({ examples: [['content-type', 'x-gateway-event', 'x-gateway-signature']] }),
  sent: time('When it was sent.'),
});
export type WebhookTestResource = z.output<typeof webhookTest>;

/** An endpoint with the secrets that sign, as far as they are stored. */
export interface EndpointDetails {
  endpoint: WebhookEndpoint;
  secrets: readonly SealedSecret[];
}

/** `secrets` are those that sign now. */
export function renderEndpoint({ endpoint, secrets }: EndpointDetails): WebhookEndpointResource {
  return {
    id: endpoint.id,
    object: 'webhook_endpoint',
    url: endpoint.url,
    environment: endpoint.environment,
    source: endpoint.source,
    events: [...endpoint.events],
    description: endpoint.description,
    status: endpoint.status === 'active' ? 'active' : 'disabled',
    disabledReason: endpoint.disabledReason,
    disabledAt: nullable(endpoint.disabledAt),
    failingSince: nullable(endpoint.failingSince),
    lastSuccessAt: nullable(endpoint.lastSuccessAt),
    secrets: secrets
      .toReversed()
      .map(({ created, expiresAt }) => ({ created: timestamp(created), expiresAt: nullable(expiresAt) })),
    created: timestamp(endpoint.created),
  };
}

function nullable(instant: number | null): string | null {
  return instant === null ? null : timestamp(instant);
}
