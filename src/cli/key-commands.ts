import type { Command } from 'commander';
import type { ApiKeyResource } from '../contract/api-key-contract.ts';
import { KEY_SCOPES, type KeyScope } from '../domain/api-key.ts';
import { createIdSource } from '../domain/id.ts';
import { centsFromAmount } from '../domain/money.ts';
import type { Environment } from '../domain/route.ts';
import { type CommandContext, CommandError, type Paint, describedCommand } from './command-context.ts';
import { WORKS_ON_DATABASE, onDatabase } from './local-database.ts';
import { EXAMPLE } from './example-ids.ts';
import { showTable } from './record-fields.ts';
import { commandGroup } from './command-group.ts';
import type { LocalCommands } from './local-commands.ts';
import { amountOf, choiceOption, environmentOption, option } from './options.ts';
import { dollars, plain } from './cells.ts';

const PAGE_SIZE = 100;
const MAX_LIMIT_CENTS = 100_000_000;

interface NewKey {
  name: string;
  scope: KeyScope;
  environment: Environment;
  spendPerCheckout?: number;
  spendPerDay?: number;
}

/** The `keys` commands. They access the database directly, because creating the first key through the API would need a key. */
export function keysCommand(context: CommandContext, local: LocalCommands): Command {
  return commandGroup(
    'keys',
    'Create, list and revoke the API keys of this database',
    [createCommand(context, local), listCommand(context, local), revokeCommand(context, local)],
    { otherwise: 'list' },
  );
}

function createCommand(context: CommandContext, local: LocalCommands): Command {
  const command = describedCommand('create', {
    summary: 'Create an API key, and print it once',
    details: `${WORKS_ON_DATABASE} A missing database is created, for example before the first start. With its first key a service requires a key from every caller. A running service knows the key within a second.\n\nScopes: read the merchant's records; write creates and changes them too; admin has keys and other settings too; agent discovers, previews and creates checkouts within its limits, and reads single sessions and payments.`,
    examples: [
      'tillway keys create --name "Shop backend" --scope write --environment production',
      'tillway keys create --name "Buying agent" --scope agent --spend-per-checkout 50 --spend-per-day 200',
    ],
    options: [
      option('--name <name>', 'purpose of the key').makeOptionMandatory(),
      choiceOption('--scope <scope>', 'permissions of the key', KEY_SCOPES).makeOptionMandatory(),
      environmentOption('environment that the key can access; default sandbox').default('sandbox'),
      limitOption('--spend-per-checkout', 'for scope agent: maximum total of one checkout, in US dollars'),
      limitOption('--spend-per-day', 'for scope agent: maximum total of all checkouts of a UTC day, in US dollars'),
    ],
    remote: false,
  });
  return command.action(async (options: NewKey) => {
    checkLimits(options);
    const { scope, environment, spendPerCheckout = null, spendPerDay = null } = options;
    const name = nameOf(options.name);
    const { randomBytes } = context.terminal;
    const { createApiKey, renderApiKey } = await loadOperations();
    const on = { context, command, local, action: 'createApiKey' };
    const created = await onDatabase(on, 'made', async (store) => {
      const now = () => store.now();
      const { text, ...made } = await createApiKey(
        { store, now, newId: createIdSource(now, randomBytes), randomBytes },
        { name, scope, environment, spendPerCheckout, spendPerDay, source: 'command' },
      );
      return { ...renderApiKey(made), key: text };
    });
    context.tell(command, created, showCreated);
  });
}

function listCommand(context: CommandContext, local: LocalCommands): Command {
  const command = describedCommand('list', {
    summary: 'List API keys, newest first',
    details: `${WORKS_ON_DATABASE} Keys are stored as hashes only: the column ENDS shows the last four characters.`,
    examples: ['tillway keys list', 'tillway keys list --environment production --json'],
    options: [environmentOption('keys of this environment; default both')],
    remote: false,
  });
  return command.action(async ({ environment }: { environment?: Environment }) => {
    const filter = environment === undefined ? {} : { environment };
    const { listApiKeys, renderApiKey } = await loadOperations();
    const data = await onDatabase({ context, command, local }, 'refused', async (store) => {
      const found: ApiKeyResource[] = [];
      for (let hasMore = true; hasMore;) {
        const last = found.at(-1)?.id;
        const page = { limit: PAGE_SIZE, ...(last !== undefined && { startingAfter: last }) };
        const listed = await listApiKeys({ store, now: () => store.now() }, filter, page);
        found.push(...listed.items.map(renderApiKey));
        ({ hasMore } = listed);
      }
      return found;
    });
    context.tell(command, { object: 'list', data, hasMore: false }, (_, paint) => showKeys(data, paint));
  });
}

function revokeCommand(context: CommandContext, local: LocalCommands): Command {
  const command = describedCommand('revoke <key>', {
    summary: 'Revoke an API key permanently',
    details: `${WORKS_ON_DATABASE} A running service rejects the key within a second. It still requires keys after the last key is revoked.`,
    examples: [`tillway keys revoke ${EXAMPLE.key}`],
    remote: false,
  });
  return command.action(async (id: string) => {
    const { revokeApiKey, renderApiKey } = await loadOperations();
    const on = { context, command, local, action: 'revokeApiKey' };
    const revoked = await onDatabase(on, 'refused', async (store) =>
      renderApiKey(await revokeApiKey({ store, now: () => store.now() }, id)),
    );
    context.tell(command, revoked, ({ name }) => `Revoked: ${id} (${plain(name)})\n`);
  });
}

/** Imported lazily, because only the key commands need these modules. */
async function loadOperations() {
  const [operations, { renderApiKey }] = await Promise.all([
    import('../operations/api-keys.ts'),
    import('../contract/api-key-contract.ts'),
  ]);
  return { ...operations, renderApiKey };
}

/** Throws {@link CommandError} 2 for limits that do not fit the scope, before a database is created for the key. */
function checkLimits({ scope, spendPerCheckout, spendPerDay }: NewKey): void {
  const hasLimits = spendPerCheckout !== undefined || spendPerDay !== undefined;
  if (hasLimits === (scope === 'agent')) return;
  throw new CommandError(
    2,
    hasLimits
      ? '--spend-per-checkout and --spend-per-day apply only to keys with --scope agent'
      : '--scope agent needs --spend-per-checkout, --spend-per-day or both, in US dollars',
  );
}

function nameOf(text: string): string {
  const name = text.trim();
  const length = Array.from(name).length;
  if (length >= 1 && length <= 120 && name.isWellFormed() && !name.includes('\0')) return name;
  throw new CommandError(2, '--name takes 1 to 120 characters, such as "Shop backend"');
}

/** Option for an amount in US dollars, converted to cents. */
function limitOption(name: string, description: string) {
  return option(`${name} <amount>`, description, (text) => {
    const cents = centsFromAmount(amountOf(name, text));
    if (cents !== undefined && cents > 0 && cents <= MAX_LIMIT_CENTS) return cents;
    throw new CommandError(2, `${name} takes more than 0 and at most 1000000 US dollars, such as 50, not ${text}`);
  });
}

function showCreated(created: ApiKeyResource & { key: string }, paint: Paint): string {
  const { id, name, environment, scope, key, spendPerCheckout, spendPerDay } = created;
  const perCheckout = spendPerCheckout === null ? '' : `, ${dollars(spendPerCheckout)} a checkout`;
  const perDay = spendPerDay === null ? '' : `, ${dollars(spendPerDay)} a day`;
  return [
    `${paint('green', 'Created')}  ${id} (${plain(name)}): ${environment}, ${scope}${perCheckout}${perDay}`,
    '',
    key,
    '',
    'The key is shown only now; the database stores its hash. Send it as Authorization: Bearer, set it as apiKey of',
    'the SDK, and as TILLWAY_API_KEY for this program. A running service accepts it within a second.',
    '',
  ].join('\n');
}

const showKeys = showTable<ApiKeyResource>({
  KEY: 'id',
  STATUS: 'status',
  ENVIRONMENT: 'environment',
  SCOPE: 'scope',
  ENDS: 'last4',
  'SPENT TODAY': ({ spentToday }) => (spentToday === null ? null : dollars(spentToday)),
  'LAST USED': 'lastUsedAt',
  CREATED: 'created',
  NAME: 'name',
});
