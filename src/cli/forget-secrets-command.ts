import type { Command } from 'commander';
import { type CommandContext, CommandError, type Paint, describedCommand } from './command-context.ts';
import { onDatabase } from './local-database.ts';
import type { LocalCommands } from './local-commands.ts';
import { showTable } from './record-fields.ts';
import { option } from './options.ts';

interface Forgotten {
  forgotten: boolean;
  endpoints: { id: string; url: string; environment: string; secrets: number; isDisabled: boolean }[];
}

/** `endpoints forget-secrets`: lets a service start again whose encryption key is lost. */
export function forgetSecretsCommand(context: CommandContext, local: LocalCommands): Command {
  const command = describedCommand('forget-secrets', {
    summary: 'Drop webhook secrets whose encryption key is lost',
    details:
      'Works on the database of DATABASE_URL. Secrets that no key of ENCRYPTION_KEY and no .key file beside the database ' +
      'opens are listed and, with --yes, dropped for good. An endpoint that loses its newest one so is disabled: rotate its ' +
      'secret, give the new one to the receiver, and enable it; what waits for it is sent then. Set the ENCRYPTION_KEY ' +
      'that the service has: without it, secrets that are not lost look as if they were.',
    examples: ['tillway endpoints forget-secrets', 'tillway endpoints forget-secrets --yes'],
    options: [option('--yes', 'drop them')],
    remote: false,
  });
  return command.action(async ({ yes = false }: { yes?: boolean }) => {
    // Loaded only by this command.
    const { closedEndpoints, forgetSecrets } = await import('../operations/webhook-endpoints/endpoint-secrets.ts');
    const { secrets } = await local.database();
    const { secretBox, keys } = await secrets();
    const closed = await onDatabase({ context, command, local }, 'refused', async (store) => {
      const deps = { store, now: () => store.now(), secretBox };
      const found = await closedEndpoints(deps);
      if (yes) await forgetSecrets(deps, found);
      return found;
    });
    const endpoints = closed.map(({ endpoint: { id, url, environment }, secrets: count, isSilenced }) => {
      return { id, url, environment, secrets: count, isDisabled: isSilenced };
    });
    const result: Forgotten = { forgotten: yes && closed.length > 0, endpoints };
    context.tell(command, result, (answer, paint) => inWords(answer, keys, paint));
    if (closed.length > 0 && !yes)
      throw new CommandError(1, 'Nothing was changed: --yes drops these secrets for good.');
  });
}

function inWords({ forgotten, endpoints }: Forgotten, keys: number, paint: Paint): string {
  const tried = keys === 0 ? 'There is no key here' : keys === 1 ? 'One key was tried' : `${keys} keys were tried`;
  if (endpoints.length === 0) return `${tried}. Every secret opens: there is nothing to forget.\n`;
  const next = forgotten
    ? 'They are dropped. Start the service; then, for each that is disabled: tillway endpoints rotate-secret <endpoint>, ' +
      'give the secret to the receiver, tillway endpoints enable <endpoint>.\n'
    : '';
  const listed = showTable<Forgotten['endpoints'][number]>({
    ENDPOINT: 'id',
    ENVIRONMENT: 'environment',
    SECRETS: ({ secrets }) => String(secrets),
    [forgotten ? 'NOW' : 'WOULD BE']: ({ isDisabled }) =>
      isDisabled ? 'disabled' : 'continues with its newest secret',
    URL: 'url',
  });
  return `${tried} (ENCRYPTION_KEY and the .key file beside the database). These do not open:\n${listed(endpoints, paint)}${next}`;
}
