import type { Command } from 'commander';
import { createIdSource } from '../domain/id.ts';
import type { OpenedStore } from '../store/database.ts';
import { type CommandContext, CommandError } from './command-context.ts';
import type { LocalCommands, LocalDatabase } from './local-commands.ts';
import { plain } from './cells.ts';

export const WORKS_ON_DATABASE = 'Works on the database of DATABASE_URL, also while the service runs.';

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
  work: (store: OpenedStore, database: LocalDatabase) => Promise<Result>,
): Promise<Result> {
  const database = await local.database();
  const { name, examine, migrate, open } = database;
  const opened = async <Opened>(opening: Promise<Opened>): Promise<Opened> =>
    opening.catch((error: Error) => {
      throw new CommandError(1, plain(`The database could not be opened: ${error.message}`), '', error);
    });
  let isNew = false;
  if (absent === 'made') isNew = (await opened(migrate())).some(({ name }) => name === 'schema');
  else await opened(examine().then((examined) => examined.close()));
  const line = `Database: ${plain(name)}${isNew ? ' (created now)' : ''}\n`;
  // With --json, standard output contains only the document.
  if (context.isJson(command)) context.terminal.complain(line);
  else context.terminal.write(line);
  const store = await opened(open());
  try {
    return await work(action === undefined ? store : await auditedStore(store, action, context), database);
  } finally {
    await store.close();
  }
}

async function auditedStore(store: OpenedStore, action: string, { terminal }: CommandContext): Promise<OpenedStore> {
  const { audited } = await import('../operations/access/audit.ts');
  const newId = createIdSource(() => store.now(), terminal.randomBytes);
  return audited({ store, newId }, action, { kind: 'command', id: 'command', name: 'local command' }).store;
}
