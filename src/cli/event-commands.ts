import type { Command } from 'commander';
import type { Delivery, DeliveryDetails, Page, WebhookEvent } from '../../sdk/src/index.ts';
import { ANSWER_CLASSES, DELIVERY_STATUSES } from '../domain/delivery.ts';
import type { CommandContext } from './command-context.ts';
import { EXAMPLE } from './example-ids.ts';
import { feedCommand } from './feed-command.ts';
import { type Fields, showTable } from './record-fields.ts';
import { resourceCommand } from './resource-command.ts';
import { EVENT_TYPES, choiceOption, option, timeOption } from './options.ts';
import { type Cell, dollars, metadataFact, statusCell } from './cells.ts';

const EVENT_COLUMNS: Fields<WebhookEvent> = {
  EVENT: 'id',
  TYPE: ({ type }) => typeCell(type),
  AMOUNT: ({ data }) => dollars(data.amount),
  CREATED: 'created',
};

export function eventsCommand(context: CommandContext): Command {
  return resourceCommand<WebhookEvent>(context, {
    name: 'events',
    summary: 'List, follow, show and resend events',
    one: 'event',
    id: EXAMPLE.event,
    filters: [
      choiceOption('--type <type>', 'only those of this type', EVENT_TYPES),
      option('--session-id <id>', 'only those of this session'),
    ],
    examples: ['tillway events list --type payment.paid --all'],
    columns: EVENT_COLUMNS,
    get: { summary: 'Show an event as webhooks send it' },
    facts: {
      Event: 'id',
      Type: ({ type }) => typeCell(type),
      Session: ({ data }) => data.session_id,
      Customer: ({ data }) => data.customer_id,
      Amount: ({ data }) => dollars(data.amount),
      'You get': ({ data }) => dollars(data.fees.merchant_net),
      Route: ({ data }) => `${data.route.id}  ${data.route.label}`,
      Reference: ({ data }) => data.tx_hash,
      Metadata: ({ data }) => metadataFact(data.metadata),
      Live: ({ livemode }) => (livemode ? 'yes, real money' : 'no, test money'),
      Created: 'created',
    },
    actions: {
      resend: {
        summary: 'Send an event again to every active endpoint of its environment',
        run: ({ events }, id) => events.resend(id),
        show: ({ data }: Page<Delivery>, paint) => showTable(DELIVERY_COLUMNS)(data, paint),
      },
    },
    others: [feedCommand(context, EVENT_COLUMNS)],
    order: ['list', 'feed', 'get'],
    from: ({ events }) => events,
  });
}

function typeCell(type: string): Cell {
  const status = statusCell(type.replace('payment.', '').replace('provider_', ''));
  return typeof status === 'string' ? type : { ...status, text: type };
}

const DELIVERY_COLUMNS: Fields<Delivery> = {
  DELIVERY: 'id',
  STATUS: 'status',
  EVENT: 'type',
  ATTEMPTS: 'attempts',
  NEXT: 'nextAttemptAt',
  CREATED: 'created',
  LAST: ({ lastAttempt }) => lastAttempt && outcomeCell(lastAttempt),
};

const showLog = showTable<DeliveryDetails['log'][number]>({
  '#': 'number',
  STARTED: 'started',
  TOOK: ({ durationMs }) => `${durationMs} ms`,
  HTTP: 'statusCode',
  OUTCOME: outcomeCell,
  ANSWER: ({ responseBody }) => responseBody.slice(0, 60),
});

export function deliveriesCommand(context: CommandContext): Command {
  return resourceCommand<Delivery, DeliveryDetails>(context, {
    name: 'deliveries',
    summary: 'List, show and replay webhook deliveries',
    one: 'delivery',
    id: EXAMPLE.delivery,
    filters: [
      choiceOption('--status <status>', 'only those with this status', DELIVERY_STATUSES),
      choiceOption('--status-class <class>', 'only those whose last attempt had such an answer', ANSWER_CLASSES),
      choiceOption('--type <type>', 'only those of events of this type', EVENT_TYPES),
      option('--endpoint-id <id>', 'only those to this endpoint'),
      option('--session-id <id>', 'only those of this session'),
      option('--event-id <id>', 'only those of this event'),
      timeOption('--created-from', 'only those made then or later'),
      timeOption('--created-until', 'only those made before'),
    ],
    examples: [
      'tillway deliveries list --status dead',
      'tillway deliveries list --status-class 5xx --created-from 2026-01-15T06:00:00Z',
    ],
    columns: DELIVERY_COLUMNS,
    get: { summary: 'Show a webhook delivery with the log of its attempts' },
    facts: {
      Delivery: 'id',
      Status: 'status',
      Event: ({ type, eventId }) => `${type}  ${eventId}`,
      Session: 'sessionId',
      Endpoint: 'endpointId',
      Environment: 'environment',
      Attempts: 'attempts',
      'Next attempt': 'nextAttemptAt',
      Created: 'created',
    },
    more: ({ log }, paint) => (log.length === 0 ? '' : `\n${showLog(log, paint)}`),
    actions: {
      replay: {
        summary: 'Send a webhook delivery again',
        details: 'The bytes and the event id are those of the first attempt.',
        run: ({ deliveries }, id) => deliveries.replay(id),
      },
    },
    from: ({ deliveries }) => deliveries,
  });
}

function outcomeCell({ failure }: { failure: string | null }): Cell {
  return failure === null ? { text: 'acknowledged', style: 'green' } : { text: failure, style: 'red' };
}
