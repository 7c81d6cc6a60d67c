import type { Command } from 'commander';
import { assetAmount } from '../domain/money.ts';
import type { WalletAddress, WalletAddresses } from '../operations/providers/wallet-addresses.ts';
import { type CommandContext, CommandError, type Paint, describedCommand, ownOptions } from './command-context.ts';
import type { LocalCommands } from './local-commands.ts';
import { onDatabase } from './local-database.ts';
import { providersNamed } from './local-providers.ts';
import { option, wholeNumberOption } from './options.ts';
import { showTable } from './record-fields.ts';

const SCANNED = 1000;

const showAddresses = showTable<WalletAddress>({
  PATH: 'path',
  ADDRESS: 'address',
  BALANCE: ({ units }) => usdcOf(units),
  PAYMENT: 'paymentId',
});

/** `tillway providers addresses`: the addresses that a provider has given to payments, and its counter. */
export function addressesCommand(context: CommandContext, local: LocalCommands): Command {
  const command = describedCommand('addresses <provider>', {
    summary: 'List the addresses of the payments of a USDC provider, with their balances',
    details:
      'Reads the database of DATABASE_URL and asks the nodes of the provider. The balances are the newest ones on the chain of this provider. With --skip-to, raises the counter of the addresses first, after a backup was restored.',
    examples: ['tillway providers addresses base', 'tillway providers addresses base --skip-to 120'],
    options: [wholeNumberOption('--skip-to', 'next index to use; the counter is never lowered', '120')],
    remote: false,
  });
  return command.action(async (named: string) => {
    const { skipTo } = ownOptions(command) as { skipTo?: number };
    const [{ id, addressBook }] = providersNamed(await local.providers(), named);
    if (!addressBook) throw new CommandError(2, `the provider ${id} has no addresses of its own`);
    const book = await addressBook();
    await onDatabase({ context, command, local }, 'refused', async ({ database }) => {
      const [{ listAddresses, skipAddresses }, { createWalletStore }] = await Promise.all([
        import('../operations/providers/wallet-addresses.ts'),
        import('../providers/evm-wallet-store.ts'),
      ]);
      const store = createWalletStore(database, book.wallet);
      if (skipTo !== undefined) await skipAddresses(store, skipTo);
      context.tell(command, await answered(listAddresses(book, store)), tellAddresses);
    });
  });
}

/** `tillway providers scan`: the addresses of a public key that have a balance, without settings and a database. */
export function scanCommand(context: CommandContext): Command {
  const command = describedCommand('scan', {
    summary: 'Find the USDC on the addresses of an extended public key',
    details: 'For a recovery: needs no settings and no database. Exit code 1: no address has a balance.',
    examples: ['tillway providers scan --xpub xpub6... --rpc https://mainnet.base.org'],
    options: [
      option('--xpub <xpub>', "extended public key of the account m/44'/60'/n'").makeOptionMandatory(),
      option('--rpc <url>', 'URL of an RPC node of the chain').makeOptionMandatory(),
      option('--chain <chain>', 'name of the chain, as in USDC_CHAIN; default base').default('base'),
      option('--token <address>', 'address of the token; only for the chain local'),
      wholeNumberOption('--to', `number of addresses; default ${SCANNED}`, '5000'),
    ],
    remote: false,
  });
  return command.action(async () => {
    const { rpc, to = SCANNED, ...settings } = ownOptions(command) as unknown as ScanOptions;
    const [{ ADAPTERS }, { CHAINS }, { scanAddresses }] = await Promise.all([
      import('../providers/all.ts'),
      import('../providers/evm-chains.ts'),
      import('../operations/providers/wallet-addresses.ts'),
    ]);
    const environment = CHAINS.get(settings.chain)?.environment ?? 'sandbox';
    const scanned = { id: 'scan', environment, settings: { ...settings, rpc: [rpc] } };
    const instance = ADAPTERS.get('evm-usdc')!.read(scanned);
    if (Array.isArray(instance)) {
      const faults = instance.map(({ setting, message }) =>
        setting === undefined ? message : `--${setting} ${message}`,
      );
      throw new CommandError(2, faults.join('; '));
    }
    const { now } = context.terminal;
    const data = await answered(scanAddresses(await instance.addressBook!({ now }), to));
    context.tell(command, { ok: data.length > 0, scanned: to, data }, (_, paint) => {
      const total = data.reduce((sum, { units }) => sum + units, 0);
      return `${showAddresses(data, paint)}${usdcOf(total)} on ${data.length} of ${to} addresses.\n`;
    });
    if (data.length === 0) context.fail();
  });
}

interface ScanOptions {
  xpub: string;
  rpc: string;
  chain: string;
  token?: string;
  to?: number;
}

function tellAddresses({ addresses, nextIndex, skipped, longestUnused }: WalletAddresses, paint: Paint): string {
  const skip = skipped === 0 ? '' : `, ${skipped} of the earlier ones skipped`;
  return `${showAddresses(addresses, paint)}Next index: ${nextIndex}${skip}.
Longest run of unused addresses: ${longestUnused}. Set the gap limit of the wallet to ${longestUnused + 1} or more.
`;
}

/** The answer of the nodes; throws {@link CommandError} 1 if there is none. */
async function answered<Answer>(asked: Promise<Answer>): Promise<Answer> {
  try {
    return await asked;
  } catch (error) {
    throw new CommandError(1, `The balances cannot be read: ${(error as Error).message}`, '', error);
  }
}

function usdcOf(units: number): string {
  return `${assetAmount(units, 6)} USDC`;
}
