import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import type { Settlement, SettlementImport } from '../../sdk/src/index.ts';
import { type CommandContext, type Paint, CommandError, describedCommand } from './context.ts';
import { commandGroup } from './group.ts';
import { facts, table } from './table.ts';
import { amountOf, environmentOption, timeOption } from './values.ts';
import { type Cell, dollars, plain, secondsOf } from './words.ts';

const PAYMENT = 'pay_01m7x0e6bq5c8k1r4v7y2w9t6n3s0d8f5h2j';
const STDIN = '-';

/** What of the payments has been paid out to the merchant. */
export function settlementsCommand(context: CommandContext): Command {
  return commandGroup('settlements', 'Record what was paid out to the merchant', [
    importCommand(context),
    recordCommand(context),
  ]);
}

function importCommand(context: CommandContext): Command {
  const command = describedCommand('import <file>', {
    summary: 'Settle the payments that a CSV file names',
    details: `Columns: payment_id or reference (the provider's id of the payment), amount, currency, and settled_at if it is there. The same file again changes nothing. - reads the standard input. Exits with 1 where a line did not match.`,
    examples: ['tillway settlements import payouts.csv --dry-run', 'tillway settlements import payouts.csv'],
  })
    .option('--dry-run', 'say what would be recorded, and record nothing')
    .addOption(environmentOption('settle payments of this environment only; left out, both'));
  return command.action(
    async (file: string, options: { dryRun?: boolean; environment?: Settlement['environment'] }) => {
      const { dryRun, environment } = options;
      const csv = await textOf(context, file);
      const answer = await context.client(command).settlements.import(csv, { dryRun, environment });
      context.tell(command, answer, tellImport);
      if (answer.notMatched.lines > 0) context.fail();
    },
  );
}

function recordCommand(context: CommandContext): Command {
  const command = describedCommand('record <payment>', {
    summary: 'Record that what is left of a payment was paid out',
    details: 'Takes a payment (pay_...) or a session (chk_...). What was recorded before is shown, and stays.',
    examples: [`tillway settlements record ${PAYMENT} --reference PO-2026-0115`],
  })
    .option('--amount <number>', 'refuse where it is not what is left, US dollars: 48.54')
    .option('--reference <text>', 'what the payout is called')
    .addOption(timeOption('--settled-at', 'when it was paid out; default now'));
  interface Options {
    amount?: string;
    reference?: string;
    settledAt?: string;
  }
  return command.action(async (id: string, { amount, reference, settledAt }: Options) => {
    const params = { amount: amount === undefined ? undefined : amountOf('--amount', amount), reference, settledAt };
    context.tell(command, await context.client(command).settlements.settle(id, params), (settlement, paint) => {
      const isOther = reference !== undefined && settlement.reference !== reference;
      const before = isOther ? `Recorded before, and left as it was: not as ${plain(reference)}.\n` : '';
      return before + tellSettlement(settlement, paint);
    });
  });
}

async function textOf({ terminal }: CommandContext, file: string): Promise<string> {
  try {
    const bytes = file === STDIN ? await terminal.readInput() : readFileSync(file);
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    throw new CommandError(2, `${file} cannot be read: ${(error as Error).message}`);
  }
}

function tellImport({ message, entries, ignoredColumns }: SettlementImport, paint: Paint): string {
  const others = entries.filter(({ status }) => status !== 'matched');
  const rows = others.map(({ line, paymentId, reference, amount, code, message: words }): Cell[] => [
    String(line),
    paymentId ?? reference ?? '',
    amount === null ? '' : dollars(amount),
    code === null ? { text: 'already settled', style: 'dim' } : { text: code, style: 'red' },
    words,
  ]);
  const ignored = ignoredColumns.length === 0 ? '' : `Columns passed over: ${plain(ignoredColumns.join(', '))}\n`;
  const listed = rows.length === 0 ? '' : table(['LINE', 'PAYMENT', 'AMOUNT', 'RESULT', 'WHY'], rows, paint);
  return `${plain(message)}\n${ignored}${listed}`;
}

function tellSettlement(settlement: Settlement, paint: Paint): string {
  const about: [string, Cell | null][] = [
    ['Payment', settlement.paymentId],
    ['Session', settlement.sessionId],
    ['Environment', settlement.environment],
    ['Paid out', dollars(settlement.amount)],
    ['Told by', settlement.source],
    ['Reference', settlement.reference],
    ['Settled', secondsOf(settlement.settledAt)],
    ['Recorded', secondsOf(settlement.created)],
  ];
  return facts(about, paint);
}
