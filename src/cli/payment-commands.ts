import type { CheckoutSession, Customer, Discrepancy, Invoice, Payment, Refund } from '../../sdk/src/index.ts';
import { FAILURE_CODES } from '../domain/failure.ts';
import {
  CUSTOMER_STATUSES,
  DISCREPANCY_KINDS,
  DISCREPANCY_STATUSES,
  INVOICE_STATUSES,
  PAYMENT_STATUSES,
  SESSION_STATUSES,
} from '../domain/records.ts';
import { MERCHANT_REFUND_REASONS, REFUND_STATUSES } from '../domain/refund-record.ts';
import { jsonOf } from './command-context.ts';
import { EXAMPLE } from './example-ids.ts';
import type { Resource } from './resource-command.ts';
import { amountOption, choiceOption, idOptions, option, statusOption, timeOption } from './options.ts';
import { dollars, statusCell } from './cells.ts';

export const sessions: Resource<CheckoutSession> = {
  name: 'sessions',
  summary: 'List, show and expire checkout sessions',
  one: 'session',
  filters: [
    option('--customer <customer>', 'sessions of this customer: email address or cus_ id'),
    statusOption(SESSION_STATUSES),
    option('--client-reference-id <text>', 'sessions with this client reference id'),
  ],
  examples: ['--status paid --customer buyer@example.com'],
  columns: ['id', 'status', 'amount', 'customer', 'product', 'created'],
  actions: { expire: { summary: 'Expire a session that the buyer has not started to pay' } },
};

export const payments: Resource<Payment> = {
  name: 'payments',
  summary: 'List and show payments',
  one: 'payment',
  filters: [
    statusOption(PAYMENT_STATUSES),
    option('--payment-id <id>', 'this payment (pay_), or the payments of this session (chk_)'),
    ...idOptions('customer', 'invoice'),
    timeOption('--from', 'payments created at or after this time'),
    timeOption('--until', 'payments created before this time'),
    option('--route <id>', 'payments of this route'),
    choiceOption('--reason <code>', 'failed payments with this failure code', FAILURE_CODES),
    amountOption('--amount-from', 'payments of at least this amount in US dollars'),
    amountOption('--amount-to', 'payments of at most this amount in US dollars'),
  ],
  examples: ['--status paid --limit 5', '--reason insufficient_funds --from 2026-01-15T00:00:00Z'],
  columns: ['id', 'status', 'amount', 'youGet', 'route', 'created'],
  cells: {
    failedBecause: ({ failure }) => failure?.message,
    failure: ({ failure: why }) => why && `${why.code} (${why.source})${why.reason === null ? '' : `: ${why.reason}`}`,
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
    examples: [EXAMPLE.payment, `${EXAMPLE.session} --json`],
  },
};

export const invoices: Resource<Invoice> = {
  name: 'invoices',
  summary: 'List and show invoices',
  one: 'invoice',
  filters: [statusOption(INVOICE_STATUSES), ...idOptions('payment', 'customer', 'invoice')],
  examples: ['--status open'],
  columns: ['id', 'status', 'amount', 'paymentId', 'created'],
};

export const refunds: Resource<Refund> = {
  name: 'refunds',
  summary: 'Create, list, show and confirm refunds',
  one: 'refund',
  filters: [statusOption(REFUND_STATUSES), ...idOptions('payment', 'session')],
  examples: ['--status failed'],
  columns: ['id', 'status', 'amount', 'paymentId', 'reason', 'created'],
  actions: {
    create: {
      on: 'payment',
      summary: 'Refund a payment to its buyer, fully or in part',
      details:
        'Takes a payment id (pay_...) or a session id (chk_...). Without --amount, refunds the remaining amount. With --idempotency-key the command can be repeated safely: it returns the first refund.',
      examples: [
        EXAMPLE.payment,
        `${EXAMPLE.payment} --amount 10 --reason requested_by_customer --idempotency-key refund-A-1001`,
      ],
      options: [
        amountOption('--amount', 'US dollars, not cents: 10.50'),
        choiceOption('--reason <reason>', 'reason of the refund', MERCHANT_REFUND_REASONS),
        option('--idempotency-key <key>', 'unique key of this request, 8 to 120 characters'),
      ],
    },
    paid: {
      summary: 'Confirm a refund that you have sent by hand, such as USDC',
      details:
        'The service verifies on the chain that the transaction is final and pays the refund. The command can be repeated.',
      examples: [`${EXAMPLE.refund} --tx 0x5f2b8c1d9e7a40365f2b8c1d9e7a40365f2b8c1d9e7a40365f2b8c1d9e7a4036`],
      options: [option('--tx <hash>', 'hash of the transaction that sent the money').makeOptionMandatory()],
      ask: (client, { tx }: { tx: string }, refund: string) => client.refunds.paid(refund, { txHash: tx }),
    },
    failed: {
      summary: 'Give up a refund that you were to send by hand',
      details: 'The refund then is failed, which is final. Its amount can be refunded again.',
      examples: [`${EXAMPLE.refund} --reason "the buyer names no address"`],
      options: [
        option('--reason <text>', 'why the buyer did not get the money, at most 200 characters').makeOptionMandatory(),
      ],
    },
  },
  order: ['create', 'list', 'get'],
};

export const discrepancies: Resource<Discrepancy> = {
  name: 'discrepancies',
  summary: 'List, show and resolve discrepancies',
  one: 'discrepancy',
  filters: [
    statusOption(DISCREPANCY_STATUSES),
    choiceOption('--kind <kind>', 'discrepancies of this kind', DISCREPANCY_KINDS),
    ...idOptions('session'),
  ],
  examples: ['--status open'],
  columns: ['id', 'status', 'kind', 'expected', 'received', 'actions', 'created'],
  cells: {
    // An open discrepancy with a refund and no actions waits for the refund: the merchant need not act.
    status: ({ status, refundId, actions }) =>
      status !== 'open' || refundId === null || actions.length > 0
        ? statusCell(status)
        : { text: `open until refund ${refundId} has succeeded`, style: 'yellow' },
  },
  get: { summary: 'Show a discrepancy, such as a wrong amount' },
  actions: {
    resolve: {
      summary: 'Resolve a discrepancy by refund or acceptance',
      details:
        'The field "actions" of the discrepancy lists the allowed actions. Accepting a wrong amount makes the session paid: ' +
        'payment.paid is sent, and the merchant bears the difference. With a refund, the discrepancy stays open ' +
        'until the refund succeeds. If refund is not allowed, refund at the provider, then accept with a note about it.',
      examples: [
        `${EXAMPLE.discrepancy} --action refund`,
        `${EXAMPLE.discrepancy} --action accept --note "agreed by phone"`,
      ],
      options: [
        choiceOption('--action <action>', 'how to resolve it', ['refund', 'accept']).makeOptionMandatory(),
        option('--note <text>', 'your note, at most 500 characters'),
      ],
    },
  },
};

export const customers: Resource<Customer> = {
  name: 'customers',
  summary: 'List, show, block, export and erase customers',
  one: 'customer',
  filters: [
    option('--email <email>', 'customer with exactly this email address'),
    statusOption(CUSTOMER_STATUSES),
    ...idOptions('customer'),
  ],
  examples: ['--email buyer@example.com'],
  columns: ['id', 'status', 'email', 'environment', 'created'],
  actions: {
    block: {
      summary: 'Block new sessions and payments of a customer',
      details: 'New sessions and new payments are rejected. Payments in progress continue and can still be paid.',
      examples: [`${EXAMPLE.customer} --reason chargebacks`],
      options: [option('--reason <text>', 'reason for your records, at most 500 characters')],
    },
    unblock: { summary: 'Unblock a customer' },
    export: { summary: 'Print all stored data about a buyer as JSON', show: jsonOf },
    erase: {
      summary: 'Erase the personal data of a buyer permanently; financial records stay',
      details:
        'This cannot be undone: repeat the id with --confirm. With SQLite, unused parts of the file can contain the erased text until the service restarts.',
      examples: [`${EXAMPLE.customer} --confirm ${EXAMPLE.customer}`],
      options: [option('--confirm <id>', 'the same id again').makeOptionMandatory()],
    },
  },
};
