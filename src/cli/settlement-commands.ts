import { isUtf8 } from 'node:buffer';
import type { Command } from 'commander';
import type { SettlePaymentParams, SettlementImport, ImportSettlementsParams } from '../../sdk/src/index.ts';
import { type CommandContext, CommandError, type Paint, serviceCommand } from './command-context.ts';
import { EXAMPLE } from './example-ids.ts';
import { showRecord, showTable } from './record-fields.ts';
import { commandGroup } from './command-group.ts';
import { amountOption, contentOf, environmentOption, option, timeOption } from './options.ts';
import { plain } from './cells.ts';

export function settlementsCommand(context: CommandContext): Command {
  const importFile = serviceCommand(context, 'import <file>', {
    summary: 'Import settlements from a CSV file',
    details: `Columns: payment_id or reference (the provider's payment id), amount, currency, and optionally settled_at and cost (the provider's charge). Importing a file again changes nothing. The file name - reads standard input. Exit code 1 if a line did not match a payment.`,
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
