import type { Command } from 'commander';
import { createIdSource } from '../domain/id.ts';
import { GatewayError } from '../domain/gateway-error.ts';
import type { OpenedStore } from '../store/database.ts';
import { type CommandContext, CommandError } from './command-context.ts';
import type { LocalCommands } from './local-commands.ts';
import { plain } from './cells.ts';

/**
 * Runs `work` on the database of DATABASE_URL. A missing database is an error (`refused`) or is created (`made`). The audit records a change
 * as `action`.
 */
export async function onDatabase<Result>(
  {
    context,
    command,
    local,
    action,
  }: { context: CommandContext; command: Command; local: LocalCommands; action?: string },
  absent: 'refused' | 'made',
  work: (store: OpenedStore) => Promise<Result>,
): Promise<Result> {
  const { name, examine, migrate, open } = await local.database();
  const opened = async <Opened>(opening: Promise<Opened>): Promise<Opened> =>
    opening.catch((error: Error) => {
      throw new CommandError(1, plain(`The database could not be opened: ${error.message}`), '', error);
    });
  let isNew = false;
  if (absent === 'made') isNew = (await opened(migrate())).some(({ name }) => name === 'schema');
  else await opened(examine().then((database) => database.close()));
  const line = `Database: ${plain(name)}${isNew ? ' (created now)' : ''}\n`;
  // With --json, standard output contains only the document.
  if (context.isJson(command)) context.terminal.complain(line);
  else context.terminal.write(line);
  const store = await opened(open());
  try {
    return await work(action === undefined ? store : await auditedStore(store, action, context));
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    const { code, message, details } = error;
    const text = `${message} ${details.suggestion ?? ''}`.trim();
    throw new CommandError(code === 'invalid_input' ? 2 : 1, text, '', error);
  } finally {
    await store.close();
  }
}

async function auditedStore(store: OpenedStore, action: string, { terminal }: CommandContext): Promise<OpenedStore> {
  const { audited } = await import('../operations/access/audit.ts');
  const newId = createIdSource(() => store.now(), terminal.randomBytes);
  return audited({ store, newId }, action, { kind: 'command', id: 'command', name: 'local command' }).store;
}
