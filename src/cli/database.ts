import type { Command } from 'commander';
import { GatewayError } from '../domain/errors.ts';
import type { Store } from '../store/store.ts';
import { type CommandContext, CommandError } from './context.ts';
import type { LocalCommands } from './local.ts';
import { plain } from './words.ts';

/**
 * Says which database that of DATABASE_URL is, opens it, works on it, and closes it again. One that is not there is an
 * error, unless it is `made`: then that is said, too.
 */
export async function onDatabase<Result>(
  { context, command, local }: { context: CommandContext; command: Command; local: LocalCommands },
  absent: 'refused' | 'made',
  work: (store: Store) => Promise<Result>,
): Promise<Result> {
  const { name, examine, migrate, open } = await local.database();
  const refusal = (error: Error) =>
    new CommandError(1, plain(`The database could not be opened: ${error.message}`), '', error);
  let isNew = false;
  try {
    if (absent === 'made') isNew = (await migrate()).some(({ version }) => version === 1);
    else await (await examine()).close();
  } catch (error) {
    throw refusal(error as Error);
  }
  const line = `Database: ${plain(name)}${isNew ? ', which was made now' : ''}\n`;
  // What --json writes is for programs.
  if (context.isJson(command)) context.terminal.complain(line);
  else context.terminal.write(line);
  const store = await open().catch((error: Error) => {
    throw refusal(error);
  });
  try {
    return await work(store);
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    const { code, message, details } = error;
    throw new CommandError(
      code === 'invalid_input' ? 2 : 1,
      `${message} ${details.suggestion ?? ''}`.trim(),
      '',
      error,
    );
  } finally {
    await store.close();
  }
}
