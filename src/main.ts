#!/usr/bin/env node
import { pino } from 'pino';
import { doctor } from './cli/doctor.ts';
import { routesCommand } from './cli/routes.ts';
import { type Config, ConfigError, readConfig } from './config.ts';
import { createRandomBytes, systemClock } from './runtime.ts';
import { startService } from './service.ts';
import { describeDatabase, examineDatabase, openStore } from './store/open.ts';

const USAGE = `Usage: tillway [command]

  serve             Run the service. This is what happens without a command.
  doctor [--json]   Check every invariant of the database. Changes nothing. Exit code 0: all hold, 1: one is broken,
                    2: the database could not be checked.
  routes [command]  Ask a running service about its routes: why, rules, health. See tillway routes --help.

Settings are environment variables: DATABASE_URL and others, listed in README.md.
`;

/** The process: command, settings, service, signals, exit code. */
async function main(command = 'serve', ...options: string[]): Promise<void> {
  if (command === 'serve' && options.length === 0) return serve(readConfig(process.env));
  if (command === 'doctor' && options.every((option) => option === '--json')) {
    process.exitCode = await examine(readConfig(process.env), options.length > 0);
    return;
  }
  if (command === 'routes') {
    process.exitCode = await routesCommand(options, {
      url: process.env['TILLWAY_URL'] || 'http://127.0.0.1:3000',
      write: (text) => void process.stdout.write(text),
      complain: (text) => void process.stderr.write(text),
    });
    return;
  }
  const asked = ['help', '--help', '-h'].includes(command);
  if (!asked) process.stderr.write(`tillway: "${[command, ...options].join(' ')}" is not understood\n\n`);
  (asked ? process.stdout : process.stderr).write(USAGE);
  process.exitCode = asked ? 0 : 2;
}

async function examine(config: Config, json: boolean): Promise<number> {
  try {
    const database = await examineDatabase(config.database);
    try {
      const named = describeDatabase(config.database);
      return await doctor(database, (text) => process.stdout.write(text), { json, database: named });
    } finally {
      await database.close();
    }
  } catch (error) {
    const message = `The database could not be checked: ${(error as Error).message}`;
    if (json) process.stdout.write(`${JSON.stringify({ ok: false, error: message }, null, 2)}\n`);
    process.stderr.write(`${message}\n`);
    return 2;
  }
}

async function serve(config: Config): Promise<void> {
  const log = pino({ level: config.logLevel, base: null, timestamp: pino.stdTimeFunctions.isoTime });
  const service = await startService(config, {
    clock: systemClock,
    randomBytes: createRandomBytes(),
    log,
    openStore,
    background: true,
    onFatal(error) {
      log.fatal({ err: error }, 'the database is lost; stopping');
      process.exit(1);
    },
  });
  const webhooks = config.webhook ? new URL(config.webhook.url).host : 'off: WEBHOOK_URL is not set';
  const database = describeDatabase(config.database);
  log.info({ url: service.url, database, webhooks }, `Tillway is ready: open ${config.baseUrl ?? service.url}`);

  process.once('SIGTERM', () => void stop('SIGTERM', config.shutdownDelayMs));
  process.once('SIGINT', () => void stop('SIGINT', 0));

  async function stop(signal: string, delayMs: number): Promise<void> {
    log.info({ signal }, 'stopping');
    // A request that never ends must not keep the process alive.
    setTimeout(() => process.exit(1), delayMs + config.shutdownTimeoutMs).unref();
    await service.stop(delayMs);
    log.info('stopped');
    process.exit(0);
  }
}

main(...process.argv.slice(2)).catch((error: unknown) => {
  const known = error instanceof ConfigError;
  process.stderr.write(`${known ? 'Configuration: ' : 'Tillway cannot start: '}${(error as Error).message}\n`);
  process.exit(1);
});
