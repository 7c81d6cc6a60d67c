import type { Command } from 'commander';
import type { CheckoutSession, Customer, Invoice, Payment, Refund, RefundParams } from '../../sdk/src/index.ts';
import { CUSTOMER_STATUSES, INVOICE_STATUSES, PAYMENT_STATUSES, SESSION_STATUSES } from '../domain/records.ts';
import { REFUND_STATUSES } from '../domain/refund-record.ts';
import { type CommandContext, jsonOf } from './command-context.ts';
import { EXAMPLE } from './example-ids.ts';
import { resourceCommand } from './resource-command.ts';
import { amountOption, choiceOption, option } from './options.ts';
import { dollars, statusCell } from './cells.ts';

const statusOption = (statuses: readonly string[]) =>
  choiceOption('--status <status>', 'only those with this status', statuses);

export function sessionsCommand(context: CommandContext): Command {
  return resourceCommand<CheckoutSession>(context, {
    name: 'sessions',
    summary: 'List, show and expire checkout sessions',
    one: 'session',
    id: EXAMPLE.session,
    filters: [
      option('--customer <customer>', 'only those of this customer: email address or cus_ id'),
      statusOption(SESSION_STATUSES),
      option('--client-reference-id <text>', 'only those that carry this reference of yours'),
    ],
    examples: ['tillway sessions list --status paid --customer buyer@example.com'],
    columns: {
      SESSION: 'id',
      STATUS: 'status',
      AMOUNT: 'amount',
      CUSTOMER: 'customer',
      PRODUCT: 'product',
      CREATED: 'created',
    },
    get: { summary: 'Show a checkout session' },
    facts: {
      Session: 'id',
      Status: 'status',
      Product: 'product',
      Amount: 'amount',
      Customer: ({ customer, customerId }) => `${customer}  ${customerId}`,
      Checkout: ({ checkoutUrl }) => ({ text: checkoutUrl, style: 'cyan' }),
      'Returns to': 'redirectUrl',
      Reference: 'clientReferenceId',
      Metadata: 'metadata',
      Environment: 'environment',
      Created: 'created',
      Expires: 'expiresAt',
    },
    actions: {
      expire: {
        summary: 'Withdraw a session that no buyer has started to pay',
        run: ({ sessions }, id) => sessions.expire(id),
      },
    },
    from: ({ sessions }) => sessions,
  });
}

export function paymentsCommand(context: CommandContext): Command {
  return resourceCommand<Payment>(context, {
    name: 'payments',
    summary: 'List and show payments',
    one: 'payment',
    id: EXAMPLE.payment,
    filters: [
      statusOption(PAYMENT_STATUSES),
      option('--payment-id <id>', 'only this payment (pay_), or those of this session (chk_)'),
      option('--customer-id <id>', 'only those of this customer'),
      option('--invoice-id <id>', 'only that of this invoice'),
    ],
    examples: ['tillway payments list --status paid --limit 5'],
    columns: {
      PAYMENT: 'id',
      STATUS: 'status',
      AMOUNT: 'amount',
      'YOU GET': merchantAmount,
      ROUTE: ({ route }) => route.id,
      CREATED: 'created',
    },
    get: {
      summary: 'Show a payment',
      details:
        'Takes a payment (pay_...) or a session (chk_...): then the payment that paid it, else the newest attempt.',
      examples: [`tillway payments get ${EXAMPLE.payment}`, `tillway payments get ${EXAMPLE.session} --json`],
    },
    facts: {
      Payment: 'id',
      Status: 'status',
      'Failed because': ({ failure }) => failure?.message,
      Failure: ({ failure: why }) =>
        why && `${why.code} (${why.source})${why.reason === null ? '' : `: ${why.reason}`}`,
      Settlement: ({ status, ledgerStatus }) =>
        status === 'failed' && ledgerStatus === 'pending' ? null : statusCell(ledgerStatus),
      Amount: 'amount',
      'Buyer pays': ({ fees: { total, buyer_fee: fee } }) =>
        `${dollars(total)}${fee === 0 ? '' : ` with ${dollars(fee)} fee`}`,
      Refunded: ({ refundedAmount }) => (refundedAmount === 0 ? null : dollars(refundedAmount)),
      'Refund pending': ({ refundPendingAmount }) => (refundPendingAmount === 0 ? null : dollars(refundPendingAmount)),
      'Gateway fee': ({ fees }) => dollars(fees.gateway_fee),
      'You get': merchantAmount,
      Route: ({ route }) => `${route.id}  ${route.label}`,
      Session: 'sessionId',
      Invoice: 'invoiceId',
      Customer: 'customerId',
      Metadata: 'metadata',
      Environment: 'environment',
      Created: 'created',
    },
    from: ({ payments }) => payments,
  });
}

function merchantAmount({ status, fees }: Payment): string | null {
  return status === 'failed' ? null : dollars(fees.merchant_net);
}

export function invoicesCommand(context: CommandContext): Command {
  return resourceCommand<Invoice>(context, {
    name: 'invoices',
    summary: 'List and show invoices',
    one: 'invoice',
    id: EXAMPLE.invoice,
    filters: [
      statusOption(INVOICE_STATUSES),
      option('--payment-id <id>', 'only that of this payment'),
      option('--customer-id <id>', 'only those of this customer'),
      option('--invoice-id <id>', 'only this invoice'),
    ],
    examples: ['tillway invoices list --status open'],
    columns: { INVOICE: 'id', STATUS: 'status', AMOUNT: 'amount', PAYMENT: 'paymentId', CREATED: 'created' },
    get: { summary: 'Show an invoice' },
    facts: {
      Invoice: 'id',
      Status: 'status',
      Amount: 'amount',
      Payment: 'paymentId',
      Session: 'sessionId',
      Customer: 'customerId',
      Metadata: 'metadata',
      Environment: 'environment',
      Created: 'created',
    },
    from: ({ invoices }) => invoices,
  });
}

const REASONS: readonly NonNullable<RefundParams['reason']>[] = [
  'requested_by_customer',
  'duplicate',
  'fraudulent',
  'other',
];

export function refundsCommand(context: CommandContext): Command {
  return resourceCommand<Refund>(context, {
    name: 'refunds',
    summary: 'Give money back, list and show refunds',
    one: 'refund',
    id: EXAMPLE.refund,
    filters: [
      statusOption(REFUND_STATUSES),
      option('--payment-id <id>', 'only those of this payment'),
      option('--session-id <id>', 'only those of this session'),
    ],
    examples: ['tillway refunds list --status failed'],
    columns: {
      REFUND: 'id',
      STATUS: 'status',
      AMOUNT: 'amount',
      PAYMENT: 'paymentId',
      REASON: 'reason',
      CREATED: 'created',
    },
    get: { summary: 'Show a refund' },
    facts: {
      Refund: 'id',
      Status: 'status',
      'Failed because': 'failureReason',
      Amount: 'amount',
      Reason: 'reason',
      Payment: 'paymentId',
      Session: 'sessionId',
      Environment: 'environment',
      Created: 'created',
      Updated: 'updated',
    },
    actions: {
      create: {
        of: ['payment', EXAMPLE.payment],
        summary: 'Give a payment back to its buyer, whole or in part',
        details:
          'Takes a payment (pay_...) or a session (chk_...). Without --amount, all that is left. With --idempotency-key the same command can be sent again: it answers the first refund.',
        examples: ['', '--amount 10 --reason requested_by_customer --idempotency-key refund-A-1001'],
        options: [
          amountOption('--amount', 'US dollars, not cents: 10.50'),
          choiceOption('--reason <reason>', 'for your own records', REASONS),
          option('--idempotency-key <key>', 'your key of this refund, 8 to 120 characters'),
        ],
        run: ({ refunds }, id, options) => refunds.create(id, options),
      },
    },
    order: ['create', 'list', 'get'],
    from: ({ refunds }) => refunds,
  });
}

export function customersCommand(context: CommandContext): Command {
  return resourceCommand<Customer>(context, {
    name: 'customers',
    summary: 'List, show, block, export and erase customers',
    one: 'customer',
    id: EXAMPLE.customer,
    filters: [
      option('--email <email>', 'only the customer of this address: the whole address'),
      statusOption(CUSTOMER_STATUSES),
      option('--customer-id <id>', 'only this customer'),
    ],
    examples: ['tillway customers list --email buyer@example.com'],
    columns: { CUSTOMER: 'id', STATUS: 'status', EMAIL: 'email', ENVIRONMENT: 'environment', CREATED: 'created' },
    get: { summary: 'Show a customer' },
    facts: {
      Customer: 'id',
      Status: 'status',
      Reason: 'statusReason',
      Email: 'email',
      Environment: 'environment',
      Created: 'created',
    },
    actions: {
      block: {
        summary: 'Take nothing of a customer any more',
        details:
          'No session is created and no payment begun from now on. What is in progress goes on, and its money counts.',
        examples: ['--reason chargebacks'],
        options: [option('--reason <text>', 'why, for your own records: at most 500 characters')],
        run: ({ customers }, id, options) => customers.block(id, options),
      },
      unblock: { summary: 'Undo a block', run: ({ customers }, id) => customers.unblock(id) },
      export: {
        summary: 'Print everything that is kept about one buyer, as JSON',
        run: ({ customers }, id) => customers.export(id),
        show: jsonOf,
      },
      erase: {
        summary: 'Erase what can name a buyer, for good; the money records stay',
        details:
          'Nothing brings it back: --confirm takes the id once more. With SQLite, remnants of the old text can lie in unused parts of the file until the service is started again.',
        examples: [`--confirm ${EXAMPLE.customer}`],
        options: [option('--confirm <id>', 'the id of the customer once more').makeOptionMandatory()],
        run: ({ customers }, id, options) => customers.erase(id, options),
      },
    },
    from: ({ customers }) => customers,
  });
}
