import { type Command, Option } from 'commander';
import type { AnswerClass, Delivery, DeliveryDetails } from '../../sdk/src/index.ts';
import { ANSWER_CLASSES, DELIVERY_STATUSES } from '../domain/delivery.ts';
import { type CommandContext, type Paint, describedCommand } from './context.ts';
import { commandGroup } from './group.ts';
import { listCommand } from './list.ts';
import { facts, table } from './table.ts';
import { EVENT_TYPES, timeOption } from './values.ts';
import { type Cell, secondsOf, statusCell } from './words.ts';

const DELIVERY = 'dlv_01m7x0e9z9f4k8p2s6w1b5d0h3m7q9t2x6c4';

interface Filters {
  endpointId?: string;
  sessionId?: string;
  eventId?: string;
  type?: Delivery['type'];
  status?: Delivery['status'];
  statusClass?: AnswerClass;
  createdFrom?: string;
  createdUntil?: string;
  environment?: Delivery['environment'];
}

export function deliveriesCommand(context: CommandContext): Command {
  const list = listCommand<Delivery, Filters>(context, {
    name: 'deliveries',
    options: [
      new Option('--status <status>', 'only those with this status').choices(DELIVERY_STATUSES),
      new Option('--status-class <class>', 'only those whose last attempt had such an answer').choices(ANSWER_CLASSES),
      new Option('--type <type>', 'only those of events of this type').choices(EVENT_TYPES),
      new Option('--endpoint-id <id>', 'only those to this endpoint'),
      new Option('--session-id <id>', 'only those of this session'),
      new Option('--event-id <id>', 'only those of this event'),
      timeOption('--created-from', 'only those made then or later'),
      timeOption('--created-until', 'only those made before'),
    ],
    examples: [
      'tillway deliveries list --status dead',
      'tillway deliveries list --status-class 5xx --created-from 2026-01-15T06:00:00Z',
    ],
    headings: DELIVERY_HEADINGS,
    row: deliveryRow,
    list: (client, query) => client.deliveries.list(query),
  });

  const get = describedCommand('get <delivery>', {
    summary: 'Show a webhook delivery with the log of its attempts',
    examples: [`tillway deliveries get ${DELIVERY}`],
  });
  get.action(async (id: string) => context.tell(get, await context.client(get).deliveries.get(id), tellDetails));

  const replay = describedCommand('replay <delivery>', {
    summary: 'Send a webhook delivery again',
    details: 'The bytes and the event id are those of the first attempt.',
    examples: [`tillway deliveries replay ${DELIVERY}`],
  });
  replay.action(async (id: string) =>
    context.tell(replay, await context.client(replay).deliveries.replay(id), tellDelivery),
  );

  return commandGroup('deliveries', 'List, show and replay webhook deliveries', [list, get, replay], {
    otherwise: 'list',
  });
}

export const DELIVERY_HEADINGS = ['DELIVERY', 'STATUS', 'EVENT', 'ATTEMPTS', 'NEXT', 'CREATED', 'LAST'];

export function deliveryRow({ id, status, type, attempts, nextAttemptAt, lastAttempt, created }: Delivery): Cell[] {
  const next = nextAttemptAt === null ? '' : secondsOf(nextAttemptAt);
  return [id, statusCell(status), type, String(attempts), next, secondsOf(created), outcomeCell(lastAttempt)];
}

function outcomeCell(attempt: { failure: string | null } | null): Cell {
  if (attempt === null) return '';
  return attempt.failure === null ? { text: 'acknowledged', style: 'green' } : { text: attempt.failure, style: 'red' };
}

function tellDelivery(delivery: Delivery, paint: Paint): string {
  const { id, status, type, eventId, endpointId, sessionId, environment, attempts, nextAttemptAt, created } = delivery;
  const about: [string, Cell | null][] = [
    ['Delivery', id],
    ['Status', statusCell(status)],
    ['Event', `${type}  ${eventId}`],
    ['Session', sessionId],
    ['Endpoint', endpointId],
    ['Environment', environment],
    ['Attempts', String(attempts)],
    ['Next attempt', nextAttemptAt === null ? null : secondsOf(nextAttemptAt)],
    ['Created', secondsOf(created)],
  ];
  return facts(about, paint);
}

function tellDetails(delivery: DeliveryDetails, paint: Paint): string {
  if (delivery.log.length === 0) return tellDelivery(delivery, paint);
  const rows = delivery.log.map(({ number, started, durationMs, statusCode, failure, responseBody }): Cell[] => [
    String(number),
    secondsOf(started),
    `${durationMs} ms`,
    statusCode === null ? '' : String(statusCode),
    outcomeCell({ failure }),
    responseBody.slice(0, 60),
  ]);
  return `${tellDelivery(delivery, paint)}\n${table(['#', 'STARTED', 'TOOK', 'HTTP', 'OUTCOME', 'ANSWER'], rows, paint)}`;
}
