import { isUtf8 } from 'node:buffer';
import type { Command } from 'commander';
import type {
  Discrepancy,
  SettlePaymentParams,
  SettlementImport,
  ImportSettlementsParams,
} from '../../sdk/src/index.ts';
import { DISCREPANCY_KINDS, DISCREPANCY_STATUSES } from '../domain/records.ts';
import { type CommandContext, CommandError, type Paint, serviceCommand } from './command-context.ts';
import { EXAMPLE } from './example-ids.ts';
import { showRecord, showTable } from './record-fields.ts';
import { commandGroup } from './command-group.ts';
import type { Resource } from './resource-command.ts';
import {
  amountOption,
  choiceOption,
  contentOf,
  environmentOption,
  idOptions,
  option,
  statusOption,
  timeOption,
} from './options.ts';
import { plain, statusCell } from './cells.ts';

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

export function settlementsCommand(context: CommandContext): Command {
  const importFile = serviceCommand(context, 'import <file>', {
    summary: 'Import settlements from a CSV file',
    details: `Columns: payment_id or reference (the provider's payment id), amount, currency, and optionally settled_at. Importing a file again changes nothing. The file name - reads standard input. Exit code 1 if a line did not match a payment.`,
    examples: ['tillway settlements import payouts.csv --dry-run', 'tillway settlements import payouts.csv'],
    options: [
      option('--dry-run', 'report the matches, but record nothing'),
      environmentOption('settle payments of this environment; default both'),
    ],
    ask: async ({ settlements }, options: ImportSettlementsParams, file) =>
      settlements.import(await textOf(context, file), options),
    show: showImport,
    isFailure: ({ notMatched }) => notMatched.lines > 0,
  });
  const record = serviceCommand(context, 'record <payment>', {
    summary: 'Record the payout of the remaining amount of a payment',
    details: 'Takes a payment id (pay_...) or session id (chk_...). Shows an existing settlement unchanged.',
    examples: [`tillway settlements record ${EXAMPLE.payment} --reference PO-2026-0115`],
    options: [
      amountOption('--amount', 'expected remaining amount; fails if it differs. US dollars: 48.54'),
      option('--reference <text>', 'reference of the payout'),
      timeOption('--settled-at', 'time of the payout; default now'),
    ],
    ask: ({ settlements }, options: SettlePaymentParams, id) => settlements.settle(id, options),
    show(settlement, paint, { reference }) {
      const isOther = reference !== undefined && settlement.reference !== reference;
      const before = isOther ? `Already settled with another reference; ${plain(reference)} was not recorded.\n` : '';
      return before + showRecord('settlement')(settlement, paint);
    },
  });
  return commandGroup('settlements', 'Record payouts to the merchant', [importFile, record]);
}

async function textOf({ terminal }: CommandContext, file: string): Promise<string> {
  const bytes = await contentOf(file, terminal);
  if (isUtf8(bytes)) return new TextDecoder().decode(bytes);
  throw new CommandError(2, `${file} cannot be read: it is not UTF-8`);
}

const showEntries = showTable<SettlementImport['entries'][number]>({
  LINE: ({ line }) => String(line),
  PAYMENT: ({ paymentId, reference }) => paymentId ?? reference,
  AMOUNT: 'amount',
  RESULT: ({ code }) => (code === null ? { text: 'already settled', style: 'dim' } : { text: code, style: 'red' }),
  WHY: 'message',
});

function showImport({ message, entries, ignoredColumns }: SettlementImport, paint: Paint): string {
  const others = entries.filter(({ status }) => status !== 'matched');
  const ignored = ignoredColumns.length === 0 ? '' : `Ignored columns: ${plain(ignoredColumns.join(', '))}\n`;
  return `${plain(message)}\n${ignored}${others.length === 0 ? '' : showEntries(others, paint)}`;
}
