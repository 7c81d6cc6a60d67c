import type { Command } from 'commander';
import type { ExaminedDatabase } from '../store/examined.ts';
import type { Store } from '../store/store.ts';
import type { SecretBox } from '../webhooks/secret-box.ts';
import { type CommandContext, CommandError, OutputClosedError, describedCommand, jsonOf } from './context.ts';
import { plain } from './words.ts';

/** What the commands need that work on this machine instead of asking a service: settings and database. */
export interface LocalCommands {
  /** Resolves once the service is ready; it goes on until a signal stops it. */
  serve(): Promise<void>;
  database(): Promise<LocalDatabase>;
}

/** The database of the settings. */
export interface LocalDatabase {
  /** Where it is, without who and how. */
  name: string;
  /** Opens it only to look at it. */
  examine(): Promise<ExaminedDatabase>;
  /** Brings it up to date, and answers what was missing, oldest first. */
  migrate(): Promise<readonly { version: number; name: string }[]>;
  /** Opens it to read and write, brought up to date. */
  open(): Promise<Store>;
  /** What opens the webhook secrets in it, and with how many keys. */
  secrets(): Promise<{ secretBox: SecretBox; keys: number }>;
}

export function serveCommand(local: LocalCommands): Command {
  const command = describedCommand('serve', {
    summary: 'Run the service',
    details: 'Settings are environment variables, listed in README.md.',
    examples: ['tillway serve', 'PORT=8080 DATABASE_URL=sqlite:./data/tillway.db tillway serve'],
    remote: false,
    data: false,
  });
  return command.action(() => local.serve());
}

export function migrateCommand(context: CommandContext, local: LocalCommands): Command {
  const command = describedCommand('migrate', {
    summary: 'Bring the database up to this version',
    details:
      'The service does so itself when it starts; this is for those who do it before. The database is that of DATABASE_URL.',
    examples: ['tillway migrate', 'tillway migrate --json'],
    remote: false,
  });
  return command.action(async () => {
    const { database, missing } = await migrated(local).catch((error: Error) => {
      throw new CommandError(1, `The database could not be migrated: ${error.message}`, '', error);
    });
    const applied = missing.map(({ version, name }) => ({ version, name }));
    context.tell(command, { ok: true, database, applied }, (_, paint) => {
      const lines = applied.map(({ version, name }) => `${paint('green', 'applied')}  ${version} ${name}\n`);
      const state = applied.length === 0 ? 'It was up to date already.' : 'It is up to date.';
      return `Database: ${database}\n${lines.join('')}${state}\n`;
    });
  });
}

async function migrated(
  local: LocalCommands,
): Promise<{ database: string; missing: Awaited<ReturnType<LocalDatabase['migrate']>> }> {
  const { name: database, migrate } = await local.database();
  return { database, missing: await migrate() };
}

export function doctorCommand(context: CommandContext, local: LocalCommands): Command {
  const command = describedCommand('doctor', {
    summary: 'Check every invariant of the database',
    details:
      'Changes nothing. Exit code 0: all hold; 1: one is broken; 2: the database could not be checked. The database is that of DATABASE_URL.',
    examples: ['tillway doctor', 'tillway doctor --json'],
    remote: false,
  });
  return command.action(async () => {
    const json = context.isJson(command);
    const { terminal } = context;
    // Who reads the first line alone still waits for the exit code.
    const write = (text: string) => {
      try {
        terminal.write(text);
      } catch (error) {
        if (!(error instanceof OutputClosedError)) throw error;
      }
    };
    try {
      const { name, examine } = await local.database();
      const database = await examine();
      try {
        const { doctor } = await import('./doctor.ts');
        if ((await doctor(database, write, { json, database: name })) !== 0) context.fail();
      } finally {
        await database.close();
      }
    } catch (error) {
      const message = plain(`The database could not be checked: ${(error as Error).message}`);
      if (json) write(`${jsonOf({ ok: false, error: message })}\n`);
      terminal.complain(`tillway: ${message}\n`);
      context.fail(2);
    }
  });
}
