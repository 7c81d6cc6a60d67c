import { pino } from 'pino';
import { ConfigError, readConfig } from './config.ts';
import { createRandomBytes, systemClock } from './runtime.ts';
import { startService } from './service.ts';
import { openSqlite } from './store/sqlite.ts';

/** The process: settings, service, signals, exit code. */
async function main(): Promise<void> {
  const config = readConfig(process.env);
  const log = pino({ level: config.logLevel, base: null, timestamp: pino.stdTimeFunctions.isoTime });
  const service = await startService(config, {
    clock: systemClock,
    randomBytes: createRandomBytes(),
    log,
    openStore: openSqlite,
    background: true,
    onFatal(error) {
      log.fatal({ err: error }, 'the database is lost; stopping');
      process.exit(1);
    },
  });
  const webhooks = config.webhook ? new URL(config.webhook.url).host : 'off: WEBHOOK_URL is not set';
  log.info({ url: service.url, database: config.databasePath, webhooks }, `Tillway is ready: open ${service.url}`);

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

main().catch((error: unknown) => {
  const known = error instanceof ConfigError;
  process.stderr.write(`${known ? 'Configuration: ' : 'Tillway cannot start: '}${(error as Error).message}\n`);
  process.exit(1);
});
