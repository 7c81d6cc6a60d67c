import { type Command, Option } from 'commander';
import type { Customer } from '../../sdk/src/index.ts';
import { CUSTOMER_STATUSES } from '../domain/records.ts';
import { type CommandContext, type Paint, describedCommand } from './context.ts';
import { commandGroup } from './group.ts';
import { listCommand } from './list.ts';
import { facts } from './table.ts';
import { type Cell, secondsOf, statusCell } from './words.ts';

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
    examples: ['tillway customers get cus_01m7x0e4kp6z2s8d4g1k7n0q3v9x5b2f8h4c'],
  });
  get.action(async (id: string) => context.tell(get, await context.client(get).customers.get(id), tellCustomer));

  return commandGroup('customers', 'List and show customers', [list, get], { otherwise: 'list' });
}

function tellCustomer({ id, status, email, environment, created }: Customer, paint: Paint): string {
  return facts(
    [
      ['Customer', id],
      ['Status', statusCell(status)],
      ['Email', email],
      ['Environment', environment],
      ['Created', secondsOf(created)],
    ],
    paint,
  );
}
