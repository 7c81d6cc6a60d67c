import type { Command } from 'commander';
import type { ExaminedDatabase, OpenedStore } from '../store/database.ts';
import type { Environment } from '../domain/route.ts';
import type { AddressBook, CheckResult } from '../providers/provider.ts';
import type { SecretBox } from '../webhooks/secret-box.ts';
import { type CommandContext, CommandError, OutputClosedError, describedCommand, jsonOf } from './command-context.ts';
import { plain } from './cells.ts';

/** Actions for commands that run on this machine instead of sending requests to a service. */
export interface LocalCommands {
  /** Resolves once the service is ready; the service runs until a signal stops it. */
  serve(): Promise<void>;
  database(): Promise<LocalDatabase>;
  /** The configured providers, without the simulated one; rejects for settings with a fault. */
  providers(): Promise<readonly LocalProvider[]>;
}

export interface LocalProvider {
  id: string;
  environment: Environment;
  /** Default routes, in the form of the catalogue file. */
  routes: readonly unknown[];
  check(): Promise<CheckResult>;
  /** Only for providers that derive an address for each payment. */
  addressBook?(): Promise<AddressBook>;
}

/** Database that DATABASE_URL names. */
export interface LocalDatabase {
  /** Location of the database, without credentials. */
  name: string;
  /** Public URL of the dashboard, for the links of invitations. */
  dashboardUrl: string;
  /** Opens the database read-only. */
  examine(): Promise<ExaminedDatabase>;
  /** Applies the missing migrations and returns them, oldest first. */
  migrate(): Promise<readonly { version: number; name: string }[]>;
  /** Opens the database for reading and writing, after applying missing migrations. */
  open(): Promise<OpenedStore>;
  /** The secret box for its webhook secrets, and the number of encryption keys. */
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
    summary: 'Apply missing database migrations',
    details:
      'Works on the database of DATABASE_URL. The service also migrates at its start; use this command to migrate earlier.',
    examples: ['tillway migrate', 'tillway migrate --json'],
    remote: false,
  });
  return command.action(async () => {
    const { database, applied } = await migrated(local).catch((error: Error) => {
      throw new CommandError(1, `The database could not be migrated: ${error.message}`, '', error);
    });
    context.tell(command, { ok: true, database, applied }, (_, paint) => {
      const lines = applied.map(({ version, name }) => `${paint('green', 'applied')}  ${version} ${name}\n`);
      const state = applied.length === 0 ? 'No migration was missing.' : 'The database is up to date.';
      return `Database: ${database}\n${lines.join('')}${state}\n`;
    });
  });
}

async function migrated(local: LocalCommands) {
  const { name: database, migrate } = await local.database();
  return { database, applied: (await migrate()).map(({ version, name }) => ({ version, name })) };
}

export function doctorCommand(context: CommandContext, local: LocalCommands): Command {
  const command = describedCommand('doctor', {
    summary: 'Check every invariant of the database',
    details:
      'Reads the database of DATABASE_URL and changes nothing. Exit code 0: all invariants hold; 1: one is broken; 2: the database could not be checked.',
    examples: ['tillway doctor', 'tillway doctor --json'],
    remote: false,
  });
  return command.action(async () => {
    const json = context.isJson(command);
    const { terminal } = context;
    // A closed output does not stop the check, because callers may need only the exit code.
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
        const { doctor } = await import('./doctor-report.ts');
        const configured = await local.providers();
        const books = await Promise.all(configured.flatMap(({ addressBook }) => addressBook?.() ?? []));
        if ((await doctor(database, write, { json, database: name, books })) !== 0) context.fail();
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
