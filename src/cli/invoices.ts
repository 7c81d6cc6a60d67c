import { type Command, Option } from 'commander';
import type { Invoice } from '../../sdk/src/index.ts';
import { INVOICE_STATUSES } from '../domain/records.ts';
import { type CommandContext, type Paint, describedCommand } from './context.ts';
import { commandGroup } from './group.ts';
import { listCommand } from './list.ts';
import { facts } from './table.ts';
import { type Cell, dollars, metadataFact, secondsOf, statusCell } from './words.ts';

interface Filters {
  customerId?: string;
  invoiceId?: string;
  paymentId?: string;
  status?: Invoice['status'];
  environment?: Invoice['environment'];
}

export function invoicesCommand(context: CommandContext): Command {
  const list = listCommand<Invoice, Filters>(context, {
    name: 'invoices',
    options: [
      new Option('--status <status>', 'only those with this status').choices(INVOICE_STATUSES),
      new Option('--payment-id <id>', 'only that of this payment'),
      new Option('--customer-id <id>', 'only those of this customer'),
      new Option('--invoice-id <id>', 'only this invoice'),
    ],
    examples: ['tillway invoices list --status open'],
    headings: ['INVOICE', 'STATUS', 'AMOUNT', 'PAYMENT', 'CREATED'],
    row: ({ id, status, amount, paymentId, created }): Cell[] => [
      id,
      statusCell(status),
      dollars(amount),
      paymentId,
      secondsOf(created),
    ],
    list: (client, query) => client.invoices.list(query),
  });

  const get = describedCommand('get <invoice>', {
    summary: 'Show an invoice',
    examples: ['tillway invoices get inv_01m7x0e6bp8d3g7k2n5q9t4w1z6c0f3h8j5m'],
  });
  get.action(async (id: string) => context.tell(get, await context.client(get).invoices.get(id), tellInvoice));

  return commandGroup('invoices', 'List and show invoices', [list, get], { otherwise: 'list' });
}

function tellInvoice(invoice: Invoice, paint: Paint): string {
  const { id, status, amount, paymentId, sessionId, customerId, metadata, environment, created } = invoice;
  const about: [string, Cell | null][] = [
    ['Invoice', id],
    ['Status', statusCell(status)],
    ['Amount', dollars(amount)],
    ['Payment', paymentId],
    ['Session', sessionId],
    ['Customer', customerId],
    ['Metadata', metadataFact(metadata)],
    ['Environment', environment],
    ['Created', secondsOf(created)],
  ];
  return facts(about, paint);
}
