import { closeSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import { type Command, Option } from 'commander';
import type { LedgerBalances, LedgerEntry, LedgerExportParams } from '../../sdk/src/index.ts';
import { ACCOUNTS, POSTING_KINDS } from '../domain/ledger.ts';
import { type CommandContext, type Paint, CommandError, describedCommand } from './context.ts';
import { commandGroup } from './group.ts';
import { listCommand } from './list.ts';
import { table } from './table.ts';
import { environmentOption, timeOption } from './values.ts';
import { type Cell, dollars, plain, secondsOf } from './words.ts';

const SESSION = 'chk_01m7x0e4kq3v8n5c2t9y6w1r4b7d0f3h5j8m';

/** The books. */
export function ledgerCommand(context: CommandContext): Command {
  const journal = listCommand<LedgerEntry, LedgerExportParams>(context, {
    name: 'ledger entries',
    path: 'ledger journal',
    options: filterOptions(),
    examples: [`tillway ledger journal --session-id ${SESSION}`, 'tillway ledger journal --account merchant_payable'],
    headings: ['CREATED', 'KIND', 'ACCOUNT', 'DEBIT', 'CREDIT', 'ENTRY'],
    row: ({ id, created, kind, account, debit, credit }): Cell[] => [
      secondsOf(created),
      kind,
      account,
      debit === 0 ? '' : dollars(debit),
      credit === 0 ? '' : dollars(credit),
      id,
    ],
    list: (client, query) => client.ledger.entries(query),
  });
  return commandGroup(
    'ledger',
    'Balances, journal and export of the books',
    [balancesCommand(context), journal, exportCommand(context)],
    { otherwise: 'balances' },
  );
}

function balancesCommand(context: CommandContext): Command {
  const command = describedCommand('balances', {
    summary: 'Show what every account holds',
    details:
      'Debits are positive: provider_clearing is what the provider holds for us, and a negative merchant_payable is what the merchant is owed.',
    examples: ['tillway ledger balances', 'tillway ledger balances --at 2026-01-01T00:00:00Z --environment production'],
  })
    .addOption(timeOption('--at', 'what was booked before then; default now'))
    .addOption(environmentOption('only those of this environment; left out, both'));
  return command.action(async (options: { at?: string; environment?: LedgerExportParams['environment'] }) => {
    const { at, environment } = options;
    context.tell(command, await context.client(command).ledger.balances({ at, environment }), tellBalances);
  });
}

function tellBalances({ at, environments }: LedgerBalances, paint: Paint): string {
  const rows = environments.flatMap(({ environment, accounts, total }) => [
    ...accounts.map(({ account, debits, credits, balance }): Cell[] => [
      environment,
      account,
      dollars(debits),
      dollars(credits),
      dollars(balance),
    ]),
    [environment, 'in all', '', '', { text: dollars(total), style: total === 0 ? 'green' : 'red' }] satisfies Cell[],
  ]);
  return `At ${plain(secondsOf(at))}\n${table(['ENVIRONMENT', 'ACCOUNT', 'DEBITS', 'CREDITS', 'BALANCE'], rows, paint)}`;
}

function exportCommand(context: CommandContext): Command {
  const command = describedCommand('export', {
    summary: 'Write the journal as CSV, oldest entry first',
    details: 'To the standard output, or with --out to a file, which is there only once it is whole.',
    examples: ['tillway ledger export --out ledger.csv', 'tillway ledger export --from 2026-01-01T00:00:00Z | head'],
  }).option('--out <file>', 'write to this file');
  for (const option of filterOptions()) command.addOption(option);
  command.addOption(environmentOption('only entries of this environment; left out, both'));
  return command.action(async () => {
    const { out, ...options } = command.opts<{ out?: string; url?: string } & LedgerExportParams>();
    const { account, kind, sessionId, paymentId, from, until, environment } = options;
    const filter = { account, kind, sessionId, paymentId, from, until, environment };
    const parts = context.client(command).ledger.export(filter);
    if (out === undefined) {
      for await (const part of parts) context.terminal.write(part);
      return;
    }
    const bytes = await writeWhole(out, parts);
    context.tell(command, { file: out, bytes }, () => `Wrote ${bytes} bytes to ${out}.\n`);
  });
}

/** Writes beside the file and then takes its place, so that a part is never taken for the whole; answers the bytes. */
async function writeWhole(file: string, parts: AsyncIterable<string>): Promise<number> {
  const draft = `${file}.part`;
  let bytes = 0;
  const handle = attempt(file, () => openSync(draft, 'w'));
  try {
    for await (const part of parts) bytes += attempt(file, () => writeSync(handle, part));
    closeSync(handle);
    attempt(file, () => renameSync(draft, file));
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
  return bytes;
}

function attempt<Result>(file: string, write: () => Result): Result {
  try {
    return write();
  } catch (error) {
    throw new CommandError(1, `${file} cannot be written: ${(error as Error).message}`);
  }
}

function filterOptions(): Option[] {
  return [
    new Option('--account <account>', 'only entries of this account').choices(ACCOUNTS),
    new Option('--kind <kind>', 'only entries of this kind').choices(POSTING_KINDS),
    new Option('--session-id <id>', 'only entries of this session'),
    new Option('--payment-id <id>', 'only entries of this payment'),
    timeOption('--from', 'only entries booked then or later'),
    timeOption('--until', 'only entries booked before'),
  ];
}
