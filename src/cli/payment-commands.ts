import type { Command } from 'commander';
import type { CheckoutSession, Customer, Invoice, Payment, Refund, CreateRefundParams } from '../../sdk/src/index.ts';
import { CUSTOMER_STATUSES, INVOICE_STATUSES, PAYMENT_STATUSES, SESSION_STATUSES } from '../domain/records.ts';
import { REFUND_STATUSES } from '../domain/refund-record.ts';
import { type CommandContext, jsonOf } from './command-context.ts';
import { EXAMPLE } from './example-ids.ts';
import { resourceCommand } from './resource-command.ts';
import { amountOption, choiceOption, idOptions, option, statusOption } from './options.ts';
import { dollars, statusCell } from './cells.ts';

export function sessionsCommand(context: CommandContext): Command {
  return resourceCommand<CheckoutSession>(context, {
    name: 'sessions',
    summary: 'List, show and expire checkout sessions',
    one: 'session',
    filters: [
      option('--customer <customer>', 'sessions of this customer: email address or cus_ id'),
      statusOption(SESSION_STATUSES),
      option('--client-reference-id <text>', 'sessions with this client reference id'),
    ],
    examples: ['tillway sessions list --status paid --customer buyer@example.com'],
    columns: ['id', 'status', 'amount', 'customer', 'product', 'created'],
    actions: { expire: { summary: 'Expire a session that the buyer has not started to pay' } },
  });
}

export function paymentsCommand(context: CommandContext): Command {
  return resourceCommand<Payment>(context, {
    name: 'payments',
    summary: 'List and show payments',
    one: 'payment',
    filters: [
      statusOption(PAYMENT_STATUSES),
      option('--payment-id <id>', 'this payment (pay_), or the payments of this session (chk_)'),
      ...idOptions('customer', 'invoice'),
    ],
    examples: ['tillway payments list --status paid --limit 5'],
    columns: ['id', 'status', 'amount', 'youGet', 'route', 'created'],
    cells: {
      failedBecause: ({ failure }) => failure?.message,
      failure: ({ failure: why }) =>
        why && `${why.code} (${why.source})${why.reason === null ? '' : `: ${why.reason}`}`,
      ledgerStatus: ({ status, ledgerStatus }) =>
        status === 'failed' && ledgerStatus === 'pending' ? null : statusCell(ledgerStatus),
      buyerPays: ({ fees }) => dollars(fees.total),
      gatewayFee: ({ fees }) => dollars(fees.gateway_fee),
      youGet: ({ status, fees }) => (status === 'failed' ? null : dollars(fees.merchant_net)),
      route: ({ route }) => route.id,
      routeLabel: ({ route }) => route.label,
    },
    get: {
      details:
        'Takes a payment id (pay_...) or a session id (chk_...). For a session, shows its paid payment, else the newest payment.',
      examples: [`tillway payments get ${EXAMPLE.payment}`, `tillway payments get ${EXAMPLE.session} --json`],
    },
  });
}

export function invoicesCommand(context: CommandContext): Command {
  return resourceCommand<Invoice>(context, {
    name: 'invoices',
    summary: 'List and show invoices',
    one: 'invoice',
    filters: [statusOption(INVOICE_STATUSES), ...idOptions('payment', 'customer', 'invoice')],
    examples: ['tillway invoices list --status open'],
    columns: ['id', 'status', 'amount', 'paymentId', 'created'],
  });
}

const REASONS: readonly NonNullable<CreateRefundParams['reason']>[] = [
  'requested_by_customer',
  'duplicate',
  'fraudulent',
  'other',
];

export function refundsCommand(context: CommandContext): Command {
  return resourceCommand<Refund>(context, {
    name: 'refunds',
    summary: 'Create, list and show refunds',
    one: 'refund',
    filters: [statusOption(REFUND_STATUSES), ...idOptions('payment', 'session')],
    examples: ['tillway refunds list --status failed'],
    columns: ['id', 'status', 'amount', 'paymentId', 'reason', 'created'],
    actions: {
      create: {
        on: 'payment',
        summary: 'Refund a payment to its buyer, fully or in part',
        details:
          'Takes a payment id (pay_...) or a session id (chk_...). Without --amount, refunds the remaining amount. With --idempotency-key the command can be repeated safely: it returns the first refund.',
        examples: ['', '--amount 10 --reason requested_by_customer --idempotency-key refund-A-1001'],
        options: [
          amountOption('--amount', 'US dollars, not cents: 10.50'),
          choiceOption('--reason <reason>', 'reason of the refund', REASONS),
          option('--idempotency-key <key>', 'unique key of this request, 8 to 120 characters'),
        ],
      },
    },
    order: ['create', 'list', 'get'],
  });
}

export function customersCommand(context: CommandContext): Command {
  return resourceCommand<Customer>(context, {
    name: 'customers',
    summary: 'List, show, block, export and erase customers',
    one: 'customer',
    filters: [
      option('--email <email>', 'customer with exactly this email address'),
      statusOption(CUSTOMER_STATUSES),
      ...idOptions('customer'),
    ],
    examples: ['tillway customers list --email buyer@example.com'],
    columns: ['id', 'status', 'email', 'environment', 'created'],
    actions: {
      block: {
        summary: 'Block new sessions and payments of a customer',
        details: 'New sessions and new payments are rejected. Payments in progress continue and can still be paid.',
        examples: ['--reason chargebacks'],
        options: [option('--reason <text>', 'reason for your records, at most 500 characters')],
      },
      unblock: { summary: 'Unblock a customer' },
      export: { summary: 'Print all stored data about a buyer as JSON', show: jsonOf },
      erase: {
        summary: 'Erase the personal data of a buyer permanently; financial records stay',
        details:
          'This cannot be undone: repeat the id with --confirm. With SQLite, unused parts of the file can contain the erased text until the service restarts.',
        examples: [`--confirm ${EXAMPLE.customer}`],
        options: [option('--confirm <id>', 'the same id again').makeOptionMandatory()],
      },
    },
  });
}
