import type { Command } from 'commander';
import type { Delivery, DeliveryDetails, Page, WebhookEvent } from '../../sdk/src/index.ts';
import { ANSWER_CLASSES, DELIVERY_STATUSES } from '../domain/delivery.ts';
import type { CommandContext } from './command-context.ts';
import { feedCommand } from './feed-command.ts';
import { type Cells, columnsOf, showTable, usualCell } from './record-fields.ts';
import { resourceCommand } from './resource-command.ts';
import { EVENT_TYPES, choiceOption, idOptions, statusOption, timeOption } from './options.ts';
import { type Cell, dollars, statusCell } from './cells.ts';

const EVENT: Cells<WebhookEvent> = {
  type: ({ type }) => typeCell(type),
  session: ({ data }) => data.session_id,
  customer: ({ data }) => data.customer_id,
  amount: ({ data }) => dollars(data.amount),
  youGet: ({ data }) => dollars(data.fees.merchant_net),
  route: ({ data }) => `${data.route.id}  ${data.route.label}`,
  reference: ({ data }) => data.tx_hash,
  metadata: ({ data }) => usualCell('metadata', data.metadata),
};
const EVENT_COLUMNS = ['id', 'type', 'amount', 'created'];

export function eventsCommand(context: CommandContext): Command {
  return resourceCommand<WebhookEvent>(context, {
    name: 'events',
    summary: 'List, follow, show and resend events',
    one: 'event',
    filters: [choiceOption('--type <type>', 'events of this type', EVENT_TYPES), ...idOptions('session')],
    examples: ['tillway events list --type payment.paid --all'],
    columns: EVENT_COLUMNS,
    cells: EVENT,
    get: { summary: 'Show the event that webhooks send' },
    actions: {
      resend: {
        summary: 'Send an event again to every active endpoint of its environment',
        show: ({ data }: Page<Delivery>, paint) =>
          showTable(columnsOf('delivery', DELIVERY_COLUMNS, DELIVERY))(data, paint),
      },
    },
    others: [feedCommand(context, columnsOf('event', EVENT_COLUMNS, EVENT))],
    order: ['list', 'feed', 'get'],
  });
}

function typeCell(type: string): Cell {
  const status = statusCell(type.replace('payment.', '').replace('provider_', ''));
  return typeof status === 'string' ? type : { ...status, text: type };
}

const DELIVERY_COLUMNS = ['id', 'status', 'type', 'attempts', 'nextAttemptAt', 'created', 'lastAttempt'];
const DELIVERY: Cells<Delivery> = { lastAttempt: ({ lastAttempt }) => lastAttempt && outcomeCell(lastAttempt) };

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
    filters: [
      statusOption(DELIVERY_STATUSES),
      choiceOption('--status-class <class>', 'deliveries whose last response had this class', ANSWER_CLASSES),
      choiceOption('--type <type>', 'deliveries of events of this type', EVENT_TYPES),
      ...idOptions('endpoint', 'session', 'event'),
      timeOption('--created-from', 'deliveries created at or after this time'),
      timeOption('--created-until', 'deliveries created before this time'),
    ],
    examples: [
      'tillway deliveries list --status dead',
      'tillway deliveries list --status-class 5xx --created-from 2026-01-15T06:00:00Z',
    ],
    columns: DELIVERY_COLUMNS,
    cells: DELIVERY,
    get: { summary: 'Show a webhook delivery with the log of its attempts' },
    more: ({ log }, paint) => (log.length === 0 ? '' : `\n${showLog(log, paint)}`),
    actions: {
      replay: {
        summary: 'Send a webhook delivery again',
        details: 'Sends the same body and event id as the first attempt.',
      },
    },
  });
}

function outcomeCell({ failure }: { failure: string | null }): Cell {
  return failure === null ? { text: 'acknowledged', style: 'green' } : { text: failure, style: 'red' };
}
