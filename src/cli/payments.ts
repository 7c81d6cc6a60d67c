import { type Command, Option } from 'commander';
import type { Payment, PaymentFailure } from '../../sdk/src/index.ts';
import { PAYMENT_STATUSES } from '../domain/records.ts';
import { type CommandContext, type Paint, describedCommand } from './context.ts';
import { commandGroup } from './group.ts';
import { listCommand } from './list.ts';
import { facts } from './table.ts';
import { type Cell, dollars, metadataFact, secondsOf, statusCell } from './words.ts';

interface Filters {
  customerId?: string;
  invoiceId?: string;
  paymentId?: string;
  status?: Payment['status'];
  environment?: Payment['environment'];
}

export function paymentsCommand(context: CommandContext): Command {
  const list = listCommand<Payment, Filters>(context, {
    name: 'payments',
    options: [
      new Option('--status <status>', 'only those with this status').choices(PAYMENT_STATUSES),
      new Option('--payment-id <id>', 'only this payment (pay_), or those of this session (chk_)'),
      new Option('--customer-id <id>', 'only those of this customer'),
      new Option('--invoice-id <id>', 'only that of this invoice'),
    ],
    examples: ['tillway payments list --status paid --limit 5'],
    headings: ['PAYMENT', 'STATUS', 'AMOUNT', 'YOU GET', 'ROUTE', 'CREATED'],
    row: ({ id, status, amount, fees, route, created }): Cell[] => [
      id,
      statusCell(status),
      dollars(amount),
      status === 'failed' ? '' : dollars(fees.merchant_net),
      route.id,
      secondsOf(created),
    ],
    list: (client, query) => client.payments.list(query),
  });

  const get = describedCommand('get <payment>', {
    summary: 'Show a payment',
    details:
      'Takes a payment (pay_...) or a session (chk_...): then the payment that paid it, else the newest attempt.',
    examples: [
      'tillway payments get pay_01m7x0e6bq5c8k1r4v7y2w9t6n3s0d8f5h2j',
      'tillway payments get chk_01m7x0e4kq3v8n5c2t9y6w1r4b7d0f3h5j8m --json',
    ],
  });
  get.action(async (id: string) => context.tell(get, await context.client(get).payments.get(id), tellPayment));

  return commandGroup('payments', 'List and show payments', [list, get], { otherwise: 'list' });
}

function tellPayment(payment: Payment, paint: Paint): string {
  const { id, status, failure, ledgerStatus, amount, fees, route } = payment;
  const about: [string, Cell | null][] = [
    ['Payment', id],
    ['Status', statusCell(status)],
    ['Failed because', failure && failure.message],
    ['Failure', failure && failureFact(failure)],
    ['Settlement', status === 'failed' && ledgerStatus === 'pending' ? null : statusCell(ledgerStatus)],
    ['Amount', dollars(amount)],
    [
      'Buyer pays',
      fees.buyer_fee === 0 ? dollars(fees.total) : `${dollars(fees.total)} with ${dollars(fees.buyer_fee)} fee`,
    ],
    ['Refunded', payment.refundedAmount === 0 ? null : dollars(payment.refundedAmount)],
    ['Refund pending', payment.refundPendingAmount === 0 ? null : dollars(payment.refundPendingAmount)],
    ['Gateway fee', dollars(fees.gateway_fee)],
    ['You get', status === 'failed' ? null : dollars(fees.merchant_net)],
    ['Route', `${route.id}  ${route.label}`],
    ['Session', payment.sessionId],
    ['Invoice', payment.invoiceId],
    ['Customer', payment.customerId],
    ['Metadata', metadataFact(payment.metadata)],
    ['Environment', payment.environment],
    ['Created', secondsOf(payment.created)],
  ];
  return facts(about, paint);
}

/** One line: `insufficient_funds (buyer): the provider's reason`. */
function failureFact({ code, source, reason }: PaymentFailure): string {
  return `${code} (${source})${reason === null ? '' : `: ${reason}`}`;
}
