import { type Command, Option } from 'commander';
import type { Customer } from '../../sdk/src/index.ts';
import { CUSTOMER_STATUSES } from '../domain/records.ts';
import { type CommandContext, type Paint, describedCommand, jsonOf } from './context.ts';
import { commandGroup } from './group.ts';
import { listCommand } from './list.ts';
import { facts } from './table.ts';
import { type Cell, secondsOf, statusCell } from './words.ts';

const CUSTOMER = 'cus_01m7x0e4kp6z2s8d4g1k7n0q3v9x5b2f8h4c';

interface Filters {
  customerId?: string;
  email?: string;
  status?: Customer['status'];
  environment?: Customer['environment'];
}

export function customersCommand(context: CommandContext): Command {
  const list = listCommand<Customer, Filters>(context, {
    name: 'customers',
    options: [
      new Option('--email <email>', 'only the customer of this address: the whole address'),
      new Option('--status <status>', 'only those with this status').choices(CUSTOMER_STATUSES),
      new Option('--customer-id <id>', 'only this customer'),
    ],
    examples: ['tillway customers list --email buyer@example.com'],
    headings: ['CUSTOMER', 'STATUS', 'EMAIL', 'ENVIRONMENT', 'CREATED'],
    row: ({ id, status, email, environment, created }): Cell[] => [
      id,
      statusCell(status),
      email,
      environment,
      secondsOf(created),
    ],
    list: (client, query) => client.customers.list(query),
  });

  const get = describedCommand('get <customer>', {
    summary: 'Show a customer',
    examples: [`tillway customers get ${CUSTOMER}`],
  });
  get.action(async (id: string) => context.tell(get, await context.client(get).customers.get(id), tellCustomer));

  const commands = [
    list,
    get,
    blockCommand(context),
    unblockCommand(context),
    exportCommand(context),
    eraseCommand(context),
  ];
  return commandGroup('customers', 'List, show, block, export and erase customers', commands, { otherwise: 'list' });
}

function blockCommand(context: CommandContext): Command {
  const block = describedCommand('block <customer>', {
    summary: 'Take nothing of a customer any more',
    details: 'No session is created and no payment begun from now on. What is under way goes on, and its money counts.',
    examples: [`tillway customers block ${CUSTOMER} --reason chargebacks`],
  }).option('--reason <text>', 'why, for your own records: at most 500 characters');
  return block.action(async (id: string, { reason }: { reason?: string }) =>
    context.tell(block, await context.client(block).customers.block(id, { reason }), tellCustomer),
  );
}

function unblockCommand(context: CommandContext): Command {
  const unblock = describedCommand('unblock <customer>', {
    summary: 'Undo a block',
    examples: [`tillway customers unblock ${CUSTOMER}`],
  });
  return unblock.action(async (id: string) =>
    context.tell(unblock, await context.client(unblock).customers.unblock(id), tellCustomer),
  );
}

function exportCommand(context: CommandContext): Command {
  const command = describedCommand('export <customer>', {
    summary: 'Print everything that is kept about one buyer, as JSON',
    examples: [`tillway customers export ${CUSTOMER}`],
  });
  return command.action(async (id: string) =>
    context.tell(command, await context.client(command).customers.export(id), jsonOf),
  );
}

function eraseCommand(context: CommandContext): Command {
  const erase = describedCommand('erase <customer>', {
    summary: 'Erase what can name a buyer, for good; the money records stay',
    details:
      'Nothing brings it back: --confirm takes the id once more. With SQLite, remnants of the old text can lie in unused parts of the file until the service is started again.',
    examples: [`tillway customers erase ${CUSTOMER} --confirm ${CUSTOMER}`],
  }).requiredOption('--confirm <id>', 'the id of the customer once more');
  return erase.action(async (id: string, { confirm }: { confirm: string }) =>
    context.tell(erase, await context.client(erase).customers.erase(id, { confirm }), tellCustomer),
  );
}

function tellCustomer({ id, status, statusReason, email, environment, created }: Customer, paint: Paint): string {
  return facts(
    [
      ['Customer', id],
      ['Status', statusCell(status)],
      ['Reason', statusReason],
      ['Email', email],
      ['Environment', environment],
      ['Created', secondsOf(created)],
    ],
    paint,
  );
}
