import { isUtf8 } from 'node:buffer';
import type { Command } from 'commander';
import type {
  Discrepancy,
  SettlePaymentParams,
  Settlement,
  SettlementImport,
  ImportSettlementsParams,
} from '../../sdk/src/index.ts';
import { DISCREPANCY_KINDS, DISCREPANCY_STATUSES } from '../domain/records.ts';
import { type CommandContext, CommandError, type Paint, serviceCommand } from './command-context.ts';
import { EXAMPLE } from './example-ids.ts';
import { showRecord, showTable } from './record-fields.ts';
import { commandGroup } from './command-group.ts';
import { resourceCommand } from './resource-command.ts';
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

export function discrepanciesCommand(context: CommandContext): Command {
  return resourceCommand<Discrepancy>(context, {
    name: 'discrepancies',
    summary: 'List, show and resolve discrepancies',
    one: 'discrepancy',
    filters: [
      statusOption(DISCREPANCY_STATUSES),
      choiceOption('--kind <kind>', 'only those of this kind', DISCREPANCY_KINDS),
      ...idOptions('session'),
    ],
    examples: ['tillway discrepancies list --status open'],
    columns: ['id', 'status', 'kind', 'expected', 'received', 'actions', 'created'],
    cells: {
      // An open discrepancy without actions waits for its refund, and no action is needed.
      status: ({ status, refundId, actions }) =>
        status !== 'open' || refundId === null || actions.length > 0
          ? statusCell(status)
          : { text: `open until refund ${refundId} has succeeded`, style: 'yellow' },
    },
    get: { summary: 'Show a discrepancy, such as a wrong amount' },
    actions: {
      resolve: {
        summary: 'Refund the money, or accept it',
        details:
          'The actions that a discrepancy allows are shown with it. Accepting a wrong amount makes the order paid in full: ' +
          'payment.paid is sent, the shop fulfils, and the merchant bears the difference. A refund leaves the discrepancy open ' +
          'until it has succeeded. Where nothing can be booked, have the provider give the money back, and accept with a note of that.',
        examples: ['--action refund', '--action accept --note "agreed by phone"'],
        options: [
          choiceOption('--action <action>', 'what is to become of it', ['refund', 'accept']).makeOptionMandatory(),
          option('--note <text>', 'your note, at most 500 characters'),
        ],
      },
    },
  });
}

export function settlementsCommand(context: CommandContext): Command {
  const importFile = serviceCommand(context, 'import <file>', {
    summary: 'Settle the payments that a CSV file names',
    details: `Columns: payment_id or reference (the provider's id of the payment), amount, currency, and settled_at if it is there. The same file again changes nothing. - reads the standard input. Exit code 1 if a line did not match.`,
    examples: ['tillway settlements import payouts.csv --dry-run', 'tillway settlements import payouts.csv'],
    options: [
      option('--dry-run', 'report what would be recorded, and record nothing'),
      environmentOption('settle payments of this environment only; default: both'),
    ],
    ask: async ({ settlements }, options: ImportSettlementsParams, file) =>
      settlements.import(await textOf(context, file), options),
    show: showImport,
    isFailure: ({ notMatched }) => notMatched.lines > 0,
  });
  const record = serviceCommand(context, 'record <payment>', {
    summary: 'Record that the rest of a payment was paid out',
    details: 'Takes a payment (pay_...) or a session (chk_...). An earlier record is shown and stays.',
    examples: [`tillway settlements record ${EXAMPLE.payment} --reference PO-2026-0115`],
    options: [
      amountOption('--amount', 'refuse where it is not what is left, US dollars: 48.54'),
      option('--reference <text>', 'reference of the payout'),
      timeOption('--settled-at', 'when it was paid out; default now'),
    ],
    ask: ({ settlements }, options: SettlePaymentParams, id) => settlements.settle(id, options),
    show(settlement, paint, { reference }) {
      const isOther = reference !== undefined && settlement.reference !== reference;
      const before = isOther ? `Recorded before, and left as it was: not as ${plain(reference)}.\n` : '';
      return before + showSettlement(settlement, paint);
    },
  });
  return commandGroup('settlements', 'Record what was paid out to the merchant', [importFile, record]);
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

const showSettlement = showRecord<Settlement>('settlement');
