import { type Command, Option } from 'commander';
import type { CheckoutSession } from '../../sdk/src/index.ts';
import { SESSION_STATUSES } from '../domain/records.ts';
import { type CommandContext, type Paint, describedCommand } from './context.ts';
import { commandGroup } from './group.ts';
import { listCommand } from './list.ts';
import { facts } from './table.ts';
import { type Cell, dollars, metadataFact, secondsOf, statusCell } from './words.ts';

const SESSION = 'chk_01m7x0e4kq3v8n5c2t9y6w1r4b7d0f3h5j8m';

interface Filters {
  customer?: string;
  status?: CheckoutSession['status'];
  clientReferenceId?: string;
  environment?: CheckoutSession['environment'];
}

export function sessionsCommand(context: CommandContext): Command {
  const list = listCommand<CheckoutSession, Filters>(context, {
    name: 'sessions',
    options: [
      new Option('--customer <customer>', 'only those of this customer: email address or cus_ id'),
      new Option('--status <status>', 'only those with this status').choices(SESSION_STATUSES),
      new Option('--client-reference-id <text>', 'only those that carry this reference of yours'),
    ],
    examples: ['tillway sessions list --status paid --customer buyer@example.com'],
    headings: ['SESSION', 'STATUS', 'AMOUNT', 'CUSTOMER', 'PRODUCT', 'CREATED'],
    row: ({ id, status, amount, customer, product, created }): Cell[] => [
      id,
      statusCell(status),
      dollars(amount),
      customer,
      product,
      secondsOf(created),
    ],
    list: (client, query) => client.sessions.list(query),
  });

  const get = describedCommand('get <session>', {
    summary: 'Show a checkout session',
    examples: [`tillway sessions get ${SESSION}`],
  });
  get.action(async (id: string) => context.tell(get, await context.client(get).sessions.get(id), tellSession));

  const expire = describedCommand('expire <session>', {
    summary: 'Withdraw a session that no buyer has started to pay',
    examples: [`tillway sessions expire ${SESSION}`],
  });
  expire.action(async (id: string) =>
    context.tell(expire, await context.client(expire).sessions.expire(id), tellSession),
  );

  return commandGroup('sessions', 'List, show and expire checkout sessions', [list, get, expire], {
    otherwise: 'list',
  });
}

function tellSession(session: CheckoutSession, paint: Paint): string {
  const { id, status, product, amount, customer, customerId, redirectUrl, clientReferenceId } = session;
  const about: [string, Cell | null][] = [
    ['Session', id],
    ['Status', statusCell(status)],
    ['Product', product],
    ['Amount', dollars(amount)],
    ['Customer', `${customer}  ${customerId}`],
    ['Checkout', { text: session.checkoutUrl, style: 'cyan' }],
    ['Returns to', redirectUrl],
    ['Reference', clientReferenceId],
    ['Metadata', metadataFact(session.metadata)],
    ['Environment', session.environment],
    ['Created', secondsOf(session.created)],
    ['Expires', secondsOf(session.expiresAt)],
  ];
  return facts(about, paint);
}
