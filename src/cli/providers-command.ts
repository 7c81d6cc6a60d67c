import type { Command } from 'commander';
import type { ListProvidersParams, ProviderInstance } from '../../sdk/src/index.ts';
import type { CheckResult, Finding } from '../providers/provider.ts';
import { type CommandContext, type Paint, describedCommand, serviceCommand } from './command-context.ts';
import { commandGroup } from './command-group.ts';
import type { LocalCommands } from './local-commands.ts';
import { providersNamed } from './local-providers.ts';
import { addressesCommand, scanCommand } from './address-commands.ts';
import { environmentOption } from './options.ts';
import { plain } from './cells.ts';
import { showTable } from './record-fields.ts';

type Checked = CheckResult & { id: string; environment: string };

const STYLES = { ok: 'green', warning: 'yellow', error: 'red' } as const;
const LEVEL_WIDTH = 'warning'.length;

/** `tillway providers`: the connected providers, checks of the configured providers, and their default routes. */
export function providersCommand(context: CommandContext, local: LocalCommands): Command {
  const list = serviceCommand(context, 'list', {
    summary: 'List the providers of a service, and whether they are ready',
    examples: ['tillway providers list'],
    options: [environmentOption('providers of this environment; default both')],
    ask: ({ providers }, options: ListProvidersParams) => providers.list(options),
    show: ({ data }, paint) => showProviders(data, paint),
  });
  const commands = [
    list,
    checkCommand(context, local),
    defaultRoutesCommand(context, local),
    addressesCommand(context, local),
    scanCommand(context),
  ];
  return commandGroup('providers', 'Show and check the payment providers', commands, { otherwise: 'list' });
}

const showProviders = showTable<ProviderInstance>({
  PROVIDER: 'id',
  ADAPTER: 'adapter',
  ENVIRONMENT: 'environment',
  READY: ({ ready }) => (ready ? { text: 'yes', style: 'green' } : { text: 'NO', style: 'red' }),
  ROUTES: 'routes',
  CHECKED: 'checkedAt',
  WHY: 'reason',
});

function checkCommand(context: CommandContext, local: LocalCommands): Command {
  const command = describedCommand('check [provider]', {
    summary: 'Check the configured providers: credentials, account, webhooks',
    details:
      'Reads the settings that the service reads, asks each provider, and changes nothing. Exit code 0: all can take payments; 1: one cannot, or a setting is wrong; 2: there is nothing to check.',
    examples: ['tillway providers check', 'tillway providers check stripe_test --json'],
    remote: false,
  });
  return command.action(async (named: string | undefined) => {
    const configured = providersNamed(await local.providers(), named);
    const data = await Promise.all(
      configured.map(async ({ id, environment, check }): Promise<Checked> => ({ id, environment, ...(await check()) })),
    );
    const ok = data.every(({ ready }) => ready);
    context.tell(command, { ok, data }, (_, paint) => data.map((each) => tellCheck(each, paint)).join('\n'));
    if (!ok) context.fail();
  });
}

function defaultRoutesCommand(context: CommandContext, local: LocalCommands): Command {
  const command = describedCommand('routes <provider>', {
    summary: 'Print the default routes of a configured provider, as entries for ROUTES_FILE',
    examples: ['tillway providers routes stripe_test'],
    remote: false,
    data: false,
  });
  return command.action(async (named: string) => {
    const [{ routes }] = providersNamed(await local.providers(), named);
    context.terminal.write(`${JSON.stringify({ routes }, null, 2)}\n`);
  });
}

function tellCheck({ id, environment, ready, findings, unavailable = {} }: Checked, paint: Paint): string {
  const state = ready ? paint('green', 'ready') : paint('red', 'NOT READY');
  const methods = Object.entries(unavailable).map(([network, reason]): Finding => ({
    level: 'warning',
    message: `routes over ${network} are in standby: ${reason}`,
  }));
  const lines = [...findings, ...methods].map(({ level, message, todo }) => {
    const advice = todo === undefined ? '' : `. ${todo}`;
    return `  ${paint(STYLES[level], level.padEnd(LEVEL_WIDTH))}  ${plain(message + advice)}\n`;
  });
  return `${paint('bold', plain(id))} (${environment}): ${state}\n${lines.join('')}`;
}
