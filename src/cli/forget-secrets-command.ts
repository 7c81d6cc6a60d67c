import type { Command } from 'commander';
import { type CommandContext, type Paint, describedCommand } from './command-context.ts';
import { onDatabase } from './local-database.ts';
import type { LocalCommands } from './local-commands.ts';
import { showTable } from './record-fields.ts';
import { option } from './options.ts';

interface Forgotten {
  forgotten: boolean;
  endpoints: { id: string; url: string; environment: string; secrets: number; isDisabled: boolean }[];
}

/** The `endpoints forget-secrets` command: makes a service start again after the loss of its encryption key. */
export function forgetSecretsCommand(context: CommandContext, local: LocalCommands): Command {
  const command = describedCommand('forget-secrets', {
    summary: 'Delete webhook secrets whose encryption key is lost',
    details:
      'Works on the database of DATABASE_URL. Lists the secrets that neither ENCRYPTION_KEY nor the .key file beside the database ' +
      'can decrypt and, with --yes, deletes them permanently. An endpoint that loses its newest secret is disabled: rotate its ' +
      'secret, give the new secret to the receiver, and enable the endpoint; pending deliveries are then sent. Set ENCRYPTION_KEY ' +
      'to the value of the service; otherwise intact secrets are listed too.',
    examples: ['tillway endpoints forget-secrets', 'tillway endpoints forget-secrets --yes'],
    options: [option('--yes', 'delete the listed secrets')],
    remote: false,
  });
  return command.action(async ({ yes = false }: { yes?: boolean }) => {
    // Imported here, because only this command needs it.
    const { findLostSecrets, forgetSecrets } = await import('../operations/webhook-endpoints/endpoint-secrets.ts');
    const { secrets } = await local.database();
    const { secretBox, keys } = await secrets();
    const on = { context, command, local, action: 'forgetSecrets' };
    const lost = await onDatabase(on, 'refused', async (store) => {
      const deps = { store, now: () => store.now(), secretBox };
      const found = await findLostSecrets(deps);
      if (yes) await forgetSecrets(deps, found);
      return found;
    });
    const endpoints = lost.map(({ endpoint: { id, url, environment }, secrets: count, isSilenced }) => {
      return { id, url, environment, secrets: count, isDisabled: isSilenced };
    });
    const result: Forgotten = { forgotten: yes && lost.length > 0, endpoints };
    context.tell(command, result, (answer, paint) => inWords(answer, keys, paint));
    if (lost.length === 0 || yes) return;
    context.terminal.complain('tillway: Nothing was changed. Add --yes to delete these secrets permanently.\n');
    context.fail();
  });
}

function inWords({ forgotten, endpoints }: Forgotten, keys: number, paint: Paint): string {
  const tried = keys === 0 ? 'No encryption key was found' : keys === 1 ? 'Tried one key' : `Tried ${keys} keys`;
  if (endpoints.length === 0) return `${tried}. All secrets can be decrypted: there is nothing to delete.\n`;
  const next = forgotten
    ? 'They were deleted. Start the service. Then, for each disabled endpoint: tillway endpoints rotate-secret <endpoint>, ' +
      'give the new secret to the receiver, and tillway endpoints enable <endpoint>.\n'
    : '';
  const listed = showTable<Forgotten['endpoints'][number]>({
    ENDPOINT: 'id',
    ENVIRONMENT: 'environment',
    SECRETS: ({ secrets }) => String(secrets),
    [forgotten ? 'NOW' : 'WOULD BE']: ({ isDisabled }) =>
      isDisabled ? 'disabled' : 'continues with its newest secret',
    URL: 'url',
  });
  return `${tried} (ENCRYPTION_KEY and the .key file beside the database). These secrets cannot be decrypted:\n${listed(endpoints, paint)}${next}`;
}
