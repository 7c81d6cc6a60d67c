import { type Command, Option } from 'commander';
import type { Discrepancy, ResolveParams } from '../../sdk/src/index.ts';
import { DISCREPANCY_KINDS, DISCREPANCY_STATUSES } from '../domain/records.ts';
import { type CommandContext, type Paint, describedCommand } from './context.ts';
import { commandGroup } from './group.ts';
import { listCommand } from './list.ts';
import { facts } from './table.ts';
import { type Cell, dollars, secondsOf, statusCell } from './words.ts';

const DISCREPANCY = 'dis_01m7x0f3t5w8z1b4e7h0k3n6q9s2v5y8a1c4';

interface Filters {
  kind?: Discrepancy['kind'];
  status?: Discrepancy['status'];
  sessionId?: string;
  environment?: Discrepancy['environment'];
}

export function discrepanciesCommand(context: CommandContext): Command {
  const list = listCommand<Discrepancy, Filters>(context, {
    name: 'discrepancies',
    options: [
      new Option('--status <status>', 'only those with this status').choices(DISCREPANCY_STATUSES),
      new Option('--kind <kind>', 'only those of this kind').choices(DISCREPANCY_KINDS),
      new Option('--session-id <id>', 'only those of this session'),
    ],
    examples: ['tillway discrepancies list --status open'],
    headings: ['DISCREPANCY', 'STATUS', 'KIND', 'EXPECTED', 'RECEIVED', 'ACTIONS', 'CREATED'],
    row: ({ id, status, kind, expected, received, actions, created }): Cell[] => [
      id,
      statusCell(status),
      kind,
      dollars(expected),
      dollars(received),
      actions.join(', '),
      secondsOf(created),
    ],
    list: (client, query) => client.discrepancies.list(query),
  });

  const get = describedCommand('get <discrepancy>', {
    summary: 'Show money that came twice, or not as it was asked for',
    examples: [`tillway discrepancies get ${DISCREPANCY}`],
  });
  get.action(async (id: string) => context.tell(get, await context.client(get).discrepancies.get(id), tellDiscrepancy));

  const resolve = describedCommand('resolve <discrepancy>', {
    summary: 'Give the money back, or take it as it is',
    details:
      'The actions that a discrepancy allows are shown with it. Accepting a wrong amount makes the order paid in full: ' +
      'payment.paid is sent, the shop fulfils, and the merchant bears the difference. A refund leaves the discrepancy open ' +
      'until it has succeeded. Where nothing can be booked, have the provider give the money back, and accept with a note of that.',
    examples: [
      `tillway discrepancies resolve ${DISCREPANCY} --action refund`,
      `tillway discrepancies resolve ${DISCREPANCY} --action accept --note "agreed by phone"`,
    ],
  })
    .addOption(
      new Option('--action <action>', 'what is to become of it').choices(['refund', 'accept']).makeOptionMandatory(),
    )
    .option('--note <text>', 'your words on it, at most 500 characters');
  resolve.action(async (id: string, { action, note }: ResolveParams) =>
    context.tell(resolve, await context.client(resolve).discrepancies.resolve(id, { action, note }), tellDiscrepancy),
  );

  return commandGroup('discrepancies', 'Money to resolve: list, show, refund or accept', [list, get, resolve], {
    otherwise: 'list',
  });
}

/** While a refund is under way nothing else can be done, and nothing needs to be. */
function statusOf({ status, refundId, actions }: Discrepancy): Cell {
  if (status !== 'open' || refundId === null || actions.length > 0) return statusCell(status);
  return { text: `open until refund ${refundId} has succeeded`, style: 'yellow' };
}

function tellDiscrepancy(discrepancy: Discrepancy, paint: Paint): string {
  const about: [string, Cell | null][] = [
    ['Discrepancy', discrepancy.id],
    ['Status', statusOf(discrepancy)],
    ['Kind', discrepancy.kind],
    ['Expected', dollars(discrepancy.expected)],
    ['Received', dollars(discrepancy.received)],
    ['Session', discrepancy.sessionId],
    ['Payment', discrepancy.paymentId],
    ['Provider', discrepancy.provider],
    ['Environment', discrepancy.environment],
    ['Actions', discrepancy.actions.length === 0 ? null : discrepancy.actions.join(', ')],
    ['Refund', discrepancy.refundId],
    ['Resolution', discrepancy.resolution],
    ['Note', discrepancy.note],
    ['Created', secondsOf(discrepancy.created)],
    ['Resolved', discrepancy.resolvedAt === null ? null : secondsOf(discrepancy.resolvedAt)],
  ];
  return facts(about, paint);
}
