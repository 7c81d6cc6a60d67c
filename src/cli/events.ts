import { type Command, Option } from 'commander';
import type { WebhookEvent } from '../../sdk/src/index.ts';
import { type CommandContext, type Paint, describedCommand } from './context.ts';
import { DELIVERY_HEADINGS, deliveryRow } from './deliveries.ts';
import { feedCommand } from './feed.ts';
import { commandGroup } from './group.ts';
import { listCommand } from './list.ts';
import { facts, table } from './table.ts';
import { EVENT_TYPES } from './values.ts';
import { type Cell, dollars, metadataFact, secondsOf, statusCell } from './words.ts';

const EVENT = 'evt_chk_01m7x0e4kq3v8n5c2t9y6w1r4b7d0f3h5j8m_paid';

interface Filters {
  sessionId?: string;
  type?: WebhookEvent['type'];
  environment?: 'sandbox' | 'production';
}

export function eventsCommand(context: CommandContext): Command {
  const list = listCommand<WebhookEvent, Filters>(context, {
    name: 'events',
    options: [
      new Option('--type <type>', 'only those of this type').choices(EVENT_TYPES),
      new Option('--session-id <id>', 'only those of this session'),
    ],
    examples: ['tillway events list --type payment.paid --all'],
    headings: HEADINGS,
    row: eventRow,
    list: (client, query) => client.events.list(query),
  });

  const get = describedCommand('get <event>', {
    summary: 'Show an event as webhooks send it',
    examples: [`tillway events get ${EVENT}`],
  });
  get.action(async (id: string) => context.tell(get, await context.client(get).events.get(id), tellEvent));

  const resend = describedCommand('resend <event>', {
    summary: 'Send an event again to every active endpoint of its environment',
    examples: [`tillway events resend ${EVENT}`],
  });
  resend.action(async (id: string) =>
    context.tell(resend, await context.client(resend).events.resend(id), ({ data }, paint) =>
      table(DELIVERY_HEADINGS, data.map(deliveryRow), paint),
    ),
  );

  const feed = feedCommand(context, { headings: HEADINGS, row: eventRow });
  return commandGroup('events', 'List, follow, show and resend events', [list, feed, get, resend], {
    otherwise: 'list',
  });
}

const HEADINGS = ['EVENT', 'TYPE', 'AMOUNT', 'CREATED'];

function eventRow({ id, type, created, data }: WebhookEvent): Cell[] {
  return [id, typeCell(type), dollars(data.amount), secondsOf(created)];
}

function typeCell(type: string): Cell {
  const status = statusCell(type.replace('payment.', '').replace('provider_', ''));
  return typeof status === 'string' ? type : { ...status, text: type };
}

function tellEvent({ id, type, livemode, created, data }: WebhookEvent, paint: Paint): string {
  const about: [string, Cell | null][] = [
    ['Event', id],
    ['Type', typeCell(type)],
    ['Session', data.session_id],
    ['Customer', data.customer_id],
    ['Amount', dollars(data.amount)],
    ['You get', dollars(data.fees.merchant_net)],
    ['Route', `${data.route.id}  ${data.route.label}`],
    ['Reference', data.tx_hash],
    ['Metadata', metadataFact(data.metadata)],
    ['Live', livemode ? 'yes, real money' : 'no, test money'],
    ['Created', secondsOf(created)],
  ];
  return facts(about, paint);
}
