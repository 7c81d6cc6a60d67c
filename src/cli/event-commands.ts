import type { Delivery, DeliveryDetails, Page, WebhookEvent } from '../../sdk/src/index.ts';
import { ANSWER_CLASSES, DELIVERY_STATUSES } from '../domain/delivery.ts';
import { EVERY_TYPE } from '../domain/webhook-endpoint.ts';
import { columnsOf, showRecord, showTable, usualCell } from './record-fields.ts';
import type { Resource } from './resource-command.ts';
import { choiceOption, idOptions, statusOption, timeOption } from './options.ts';
import { type Cell, dollars, statusCell } from './cells.ts';

export const events: Resource<WebhookEvent> = {
  name: 'events',
  summary: 'List, follow, show and resend events',
  one: 'event',
  filters: [choiceOption('--type <type>', 'events of this type', EVERY_TYPE), ...idOptions('session')],
  examples: ['--type payment.paid --all'],
  columns: ['id', 'type', 'amount', 'created'],
  cells: {
    type: ({ type }) => typeCell(type),
    session: (event) => paymentIn(event)?.session_id,
    customer: (event) => paymentIn(event)?.customer_id,
    amount: (event) => dollarsOf(paymentIn(event)?.amount),
    youGet: (event) => dollarsOf(paymentIn(event)?.fees.merchant_net),
    route: ({ data }) => `${data.route.id}  ${data.route.label}`,
    reference: (event) => paymentIn(event)?.tx_hash,
    metadata: (event) => usualCell('metadata', paymentIn(event)?.metadata),
    change: ({ data }) => ('words' in data ? data.words : undefined),
  },
  get: { summary: 'Show the event that webhooks send' },
  actions: {
    resend: {
      summary: 'Send an event again to every active endpoint that gets events of its type',
      show: ({ data }: Page<Delivery>, paint) => showTable(columnsOf(deliveries))(data, paint),
    },
  },
  order: ['list', 'feed', 'get'],
};

/** Data of an event about a payment; undefined for an event about a route. */
function paymentIn({ data }: WebhookEvent) {
  return 'session_id' in data ? data : undefined;
}

function dollarsOf(amount: number | undefined): Cell | undefined {
  return amount === undefined ? undefined : dollars(amount);
}

function typeCell(type: string): Cell {
  const status = statusCell(type.replace('payment.', '').replace('provider_', ''));
  return typeof status === 'string' ? type : { ...status, text: type };
}

const showLog = showTable<DeliveryDetails['log'][number]>({
  '#': 'number',
  STARTED: 'started',
  TOOK: ({ durationMs }) => `${durationMs} ms`,
  HTTP: 'statusCode',
  OUTCOME: outcomeCell,
  ANSWER: ({ responseBody }) => responseBody.slice(0, 60),
});

export const deliveries: Resource<Delivery> = {
  name: 'deliveries',
  summary: 'List, show and replay webhook deliveries',
  one: 'delivery',
  filters: [
    statusOption(DELIVERY_STATUSES),
    choiceOption('--status-class <class>', 'deliveries whose last response had this class', ANSWER_CLASSES),
    choiceOption('--type <type>', 'deliveries of events of this type', EVERY_TYPE),
    ...idOptions('endpoint', 'session', 'event'),
    timeOption('--created-from', 'deliveries created at or after this time'),
    timeOption('--created-until', 'deliveries created before this time'),
  ],
  examples: ['--status dead', '--status-class 5xx --created-from 2026-01-15T06:00:00Z'],
  columns: ['id', 'status', 'type', 'attempts', 'nextAttemptAt', 'created', 'lastAttempt'],
  cells: { lastAttempt: ({ lastAttempt }) => lastAttempt && outcomeCell(lastAttempt) },
  get: {
    summary: 'Show a webhook delivery with the log of its attempts',
    show(delivery: DeliveryDetails, paint) {
      const log = delivery.log.length === 0 ? '' : `\n${showLog(delivery.log, paint)}`;
      return showRecord('delivery', deliveries.cells)(delivery, paint) + log;
    },
  },
  actions: {
    replay: {
      summary: 'Send a webhook delivery again',
      details: 'Sends the same body and event id as the first attempt.',
    },
  },
};

function outcomeCell({ failure }: { failure: string | null }): Cell {
  return failure === null ? { text: 'acknowledged', style: 'green' } : { text: failure, style: 'red' };
}
