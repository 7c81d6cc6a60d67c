import type { Command } from 'commander';
import type { GetLedgerBalancesParams, LedgerBalances, LedgerEntry } from '../../sdk/src/index.ts';
import { ACCOUNTS, POSTING_KINDS } from '../domain/ledger.ts';
import { type CommandContext, type Paint, describedCommand, ownOptions, serviceCommand } from './command-context.ts';
import { EXAMPLE } from './example-ids.ts';
import { commandGroup } from './command-group.ts';
import { listCommand } from './list-command.ts';
import { table } from './table.ts';
import { choiceOption, environmentOption, option, timeOption } from './options.ts';
import { type Cell, dollars, plain, secondsOf } from './cells.ts';

const FILTERS = [
  choiceOption('--account <account>', 'entries of this account', ACCOUNTS),
  choiceOption('--kind <kind>', 'entries of this kind', POSTING_KINDS),
  option('--session-id <id>', 'entries of this session'),
  option('--payment-id <id>', 'entries of this payment'),
  timeOption('--from', 'entries booked at or after this time'),
  timeOption('--until', 'entries booked before this time'),
];

export function ledgerCommand(context: CommandContext): Command {
  const balances = serviceCommand(context, 'balances', {
    summary: 'Show the balance of every account',
    details:
      'Debits are positive: provider_clearing is the amount that providers hold; a negative merchant_payable is the amount owed to the merchant.',
    examples: ['tillway ledger balances', 'tillway ledger balances --at 2026-01-01T00:00:00Z --environment production'],
    options: [
      timeOption('--at', 'time of the balances, exclusive; default now'),
      environmentOption('accounts of this environment; default both'),
    ],
    ask: ({ ledger }, options: GetLedgerBalancesParams) => ledger.balances(options),
    show: showBalances,
  });
  const journal = listCommand<LedgerEntry>(context, {
    name: 'ledger entries',
    path: 'ledger journal',
    filters: FILTERS,
    examples: [`--session-id ${EXAMPLE.session}`, '--account merchant_payable'],
    one: 'entry',
    columns: ['created', 'kind', 'account', 'debit', 'credit', 'id'],
    cells: {
      debit: ({ debit }) => (debit === 0 ? null : dollars(debit)),
      credit: ({ credit }) => (credit === 0 ? null : dollars(credit)),
    },
    list: ({ ledger }, query) => ledger.entries(query),
  });
  const commands = [balances, journal, exportCommand(context)];
  return commandGroup('ledger', 'Balances, journal and export of the books', commands, { otherwise: 'balances' });
}

function showBalances({ at, environments }: LedgerBalances, paint: Paint): string {
  const rows = environments.flatMap(({ environment, accounts, total }): Cell[][] => [
    ...accounts.map(({ account, ...sums }) => {
      return [environment, account, dollars(sums.debits), dollars(sums.credits), dollars(sums.balance)];
    }),
    [environment, 'total', '', '', { text: dollars(total), style: total === 0 ? 'green' : 'red' }],
  ]);
  return `At ${plain(secondsOf(at))}\n${table(['ENVIRONMENT', 'ACCOUNT', 'DEBITS', 'CREDITS', 'BALANCE'], rows, paint)}`;
}

function exportCommand(context: CommandContext): Command {
  const command = describedCommand('export', {
    summary: 'Write the journal as CSV, oldest entry first',
    details: 'The output is complete only if the exit code is 0.',
    examples: [
      'tillway ledger export --account merchant_payable',
      'tillway ledger export --from 2026-01-01T00:00:00Z | head',
    ],
    options: [...FILTERS, environmentOption('entries of this environment; default both')],
    data: false,
  });
  return command.action(async () => {
    const parts = context.client(command).ledger.export(ownOptions(command));
    for await (const part of parts) context.terminal.write(part);
  });
}
