import { type Command, Option } from 'commander';
import type { Refund, RefundParams } from '../../sdk/src/index.ts';
import { REFUND_STATUSES } from '../domain/refund.ts';
import { type CommandContext, type Paint, describedCommand } from './context.ts';
import { commandGroup } from './group.ts';
import { listCommand } from './list.ts';
import { facts } from './table.ts';
import { amountOf } from './values.ts';
import { type Cell, dollars, secondsOf, statusCell } from './words.ts';

const PAYMENT = 'pay_01m7x0e6bq5c8k1r4v7y2w9t6n3s0d8f5h2j';
const REFUND = 'ref_01m7x0f1q3v6y9b2e5h8k1n4r7t0w3z6a9d2';
const REASONS: readonly NonNullable<RefundParams['reason']>[] = [
  'requested_by_customer',
  'duplicate',
  'fraudulent',
  'other',
];

interface Filters {
  paymentId?: string;
  sessionId?: string;
  status?: Refund['status'];
  environment?: Refund['environment'];
}

interface CreateOptions {
  amount?: string;
  reason?: NonNullable<RefundParams['reason']>;
  idempotencyKey?: string;
}

export function refundsCommand(context: CommandContext): Command {
  const list = listCommand<Refund, Filters>(context, {
    name: 'refunds',
    options: [
      new Option('--status <status>', 'only those with this status').choices(REFUND_STATUSES),
      new Option('--payment-id <id>', 'only those of this payment'),
      new Option('--session-id <id>', 'only those of this session'),
    ],
    examples: ['tillway refunds list --status failed'],
    headings: ['REFUND', 'STATUS', 'AMOUNT', 'PAYMENT', 'REASON', 'CREATED'],
    row: ({ id, status, amount, paymentId, reason, created }): Cell[] => [
      id,
      statusCell(status),
      dollars(amount),
      paymentId,
      reason ?? '',
      secondsOf(created),
    ],
    list: (client, query) => client.refunds.list(query),
  });

  const get = describedCommand('get <refund>', {
    summary: 'Show a refund',
    examples: [`tillway refunds get ${REFUND}`],
  });
  get.action(async (id: string) => context.tell(get, await context.client(get).refunds.get(id), tellRefund));

  return commandGroup('refunds', 'Give money back, list and show refunds', [createCommand(context), list, get], {
    otherwise: 'list',
  });
}

function createCommand(context: CommandContext): Command {
  const create = describedCommand('create <payment>', {
    summary: 'Give a payment back to its buyer, whole or in part',
    details:
      'Takes a payment (pay_...) or a session (chk_...). Without --amount, all that is left. With --idempotency-key the same command can be sent again: it answers the first refund.',
    examples: [
      `tillway refunds create ${PAYMENT}`,
      `tillway refunds create ${PAYMENT} --amount 10 --reason requested_by_customer --idempotency-key refund-A-1001`,
    ],
  })
    .option('--amount <number>', 'US dollars, not cents: 10.50')
    .addOption(new Option('--reason <reason>', 'for your own records').choices(REASONS))
    .option('--idempotency-key <key>', 'your key of this refund, 8 to 120 characters');
  return create.action(async (id: string, { amount, reason, idempotencyKey }: CreateOptions) => {
    const params = {
      amount: amount === undefined ? undefined : amountOf('--amount', amount),
      reason,
      idempotencyKey,
    };
    context.tell(create, await context.client(create).refunds.create(id, params), tellRefund);
  });
}

function tellRefund(refund: Refund, paint: Paint): string {
  const about: [string, Cell | null][] = [
    ['Refund', refund.id],
    ['Status', statusCell(refund.status)],
    ['Failed because', refund.failureReason],
    ['Amount', dollars(refund.amount)],
    ['Reason', refund.reason],
    ['Payment', refund.paymentId],
    ['Session', refund.sessionId],
    ['Environment', refund.environment],
    ['Created', secondsOf(refund.created)],
    ['Updated', secondsOf(refund.updated)],
  ];
  return facts(about, paint);
}
