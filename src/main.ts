import type { LocalCommands } from './cli/local-commands.ts';
import type { Terminal } from './cli/command-context.ts';
import type { Logger } from 'pino';

/** Time at exit in which a slow reader of the log can read the last lines. */
const LAST_LINES_MS = 1000;

// Imports all modules dynamically, so that each command loads only the modules that it needs.

/** Runs the process: parses the command, reads settings, starts the service, and handles signals and the exit code. */
async function main(...args: string[]): Promise<void> {
  if (args.length === 1 && args[0] === 'serve') return serve();
  const { runTillway } = await import('./cli/program.ts');
  const local: LocalCommands = { serve, database, providers };
  process.exitCode = await runTillway(args, await createTerminal(), local);
}

async function createTerminal(): Promise<Terminal> {
  const { createRandomBytes, systemClock } = await import('./runtime.ts');
  const { hasColour } = await import('./cli/colour.ts');
  const { OutputClosedError } = await import('./cli/command-context.ts');
  const { setTimeout: sleep } = await import('node:timers/promises');
  const { env, stdin, stdout, stderr } = process;
  let isClosed = false;
  stdout.on('error', (error: NodeJS.ErrnoException) => {
    isClosed = true;
    // EPIPE is not a failure: the reader has closed the pipe. Other errors, such as a full disk, are failures.
    if (error.code === 'EPIPE') return;
    stderr.write(`tillway: the output could not be written: ${error.message}\n`);
    process.exit(1);
  });
  // Ignores errors of standard error, which cannot be reported anywhere.
  stderr.on('error', () => undefined);
  return {
    write(text) {
      if (isClosed) throw new OutputClosedError();
      stdout.write(text);
    },
    complain: (text) => void stderr.write(text),
    readInput: async () => Buffer.concat(await stdin.toArray()),
    colour: { output: hasColour(env, stdout.isTTY), errors: hasColour(env, stderr.isTTY) },
    columns: stdout.isTTY ? stdout.columns : undefined,
    url: env['TILLWAY_URL'],
    apiKey: env['TILLWAY_API_KEY'],
    webhookSecret: env['WEBHOOK_SECRET'],
    now: systemClock.now,
    randomBytes: createRandomBytes(),
    sleep: (ms, signal) => sleep(ms, undefined, { signal }).catch(() => undefined),
    interruption() {
      const controller = new AbortController();
      process.once('SIGINT', () => controller.abort());
      process.once('SIGTERM', () => controller.abort());
      return controller.signal;
    },
  };
}

async function database(): ReturnType<LocalCommands['database']> {
  const [{ readConfig }, store, { createRandomBytes, systemClock }] = await Promise.all([
    import('./config.ts'),
    import('./store/open.ts'),
    import('./runtime.ts'),
  ]);
  const { database: settings, encryptionKeys: configured, dashboard } = readConfig(process.env);
  const randomBytes = createRandomBytes();
  const tell = (fields: object, message: string) => void process.stderr.write(`${message} ${JSON.stringify(fields)}\n`);
  return {
    name: store.describeDatabase(settings),
    dashboardUrl: dashboard.url,
    examine: () => store.examineDatabase(settings),
    migrate: () => store.migrateDatabase(settings, { info: tell, warn: tell }),
    open: () =>
      store.openStore(settings, {
        clock: systemClock,
        random: () => Buffer.from(randomBytes(4)).readUInt32BE() / 2 ** 32,
        log: { info: tell, warn: tell },
        onFatal(error) {
          process.stderr.write(`tillway: the database is lost: ${error.message}\n`);
          process.exit(1);
        },
      }),
    async secrets() {
      const [{ loadEncryptionKeys }, { createSecretBox }] = await Promise.all([
        import('./service/webhook-deps.ts'),
        import('./webhooks/secret-box.ts'),
      ]);
      const keys = loadEncryptionKeys({ database: settings, configured, randomBytes, log: { warn: tell } });
      return { secretBox: createSecretBox(keys, randomBytes), keys: keys.known().length };
    },
  };
}

async function providers(): ReturnType<LocalCommands['providers']> {
  const [{ readConfig }, { localProviders }, { systemClock }, { pino }] = await Promise.all([
    import('./config.ts'),
    import('./service/connect-providers.ts'),
    import('./runtime.ts'),
    import('pino'),
  ]);
  return localProviders(readConfig(process.env), { now: systemClock.now, log: pino({ level: 'silent' }) });
}

async function serve(): Promise<void> {
  await limitYoungGeneration(true);
  const [{ readConfig }, runtime, { startService }, { describeDatabase, openStore }, { log, say, flushed, leave }] =
    await Promise.all([
      import('./config.ts'),
      import('./runtime.ts'),
      import('./service.ts'),
      import('./store/open.ts'),
      openLog(),
    ]);
  const config = readConfig(process.env);
  log.level = config.logLevel;
  process.once('uncaughtException', (error) => {
    log.fatal({ err: error }, 'unexpected error; stopping');
    void leave(1);
  });
  const surroundings = {
    clock: runtime.systemClock,
    randomBytes: runtime.createRandomBytes(),
    log,
    openStore,
    background: true,
    onFatal(error: Error) {
      log.fatal({ err: error }, `the database is lost; stopping: ${error.message}`);
      void leave(1);
    },
  };
  const service = await startService(config, surroundings).catch(async (error: Error) => {
    // Writes the pending log lines first, because they can explain the failure.
    await flushed();
    throw error;
  });
  await limitYoungGeneration(false);
  const webhooks = config.webhook ? new URL(config.webhook.url).host : 'none in WEBHOOK_URL';
  const shown = describeDatabase(config.database);
  const url = config.baseUrl ?? service.url;
  // Prints this line for a person at a terminal, because the log lines are JSON.
  if (process.stdout.isTTY) say(`Tillway is ready: ${url}  (press Ctrl-C to stop)\n`);
  const { metricsUrl: metrics } = service;
  log.info({ url: service.url, database: shown, webhooks, metrics }, `Tillway is ready: open ${url}`);

  // A repeated signal does not force the exit, because npm and terminals can send the same signal twice.
  const received = new Set<string>();
  process.on('SIGTERM', () => void stop('SIGTERM', config.shutdownDelayMs));
  process.on('SIGINT', () => void stop('SIGINT', 0));

  async function stop(signal: string, delayMs: number): Promise<void> {
    if (received.has(signal)) return;
    received.add(signal);
    log.info({ signal }, 'stopping');
    // Exits after the timeout, even if a request is still in progress.
    setTimeout(() => void giveUp(), delayMs + config.shutdownTimeoutMs).unref();
    await service.stop(delayMs);
    log.info('stopped');
    await leave(0);
  }

  async function giveUp(): Promise<void> {
    log.warn('requests or delivery attempts did not finish within SHUTDOWN_TIMEOUT and are aborted');
    await leave(1);
  }
}

/**
 * V8 enlarges the young generation while many objects survive, and keeps it. Most objects of the start survive, so without this limit
 * an idle service would keep 27 MB that it needs only under load.
 */
async function limitYoungGeneration(isLimited: boolean): Promise<void> {
  const { setFlagsFromString } = await import('node:v8');
  setFlagsFromString(`--semi-space-growth-factor=${isLimited ? 1 : 2}`);
}

interface ServiceLog {
  log: Logger;
  /** Writes a line for a person between the lines of the log. */
  say(line: string): void;
  flushed(): Promise<boolean>;
  /** Exits the process when the last log lines are written, or cannot be written. */
  leave(code: number): Promise<never>;
}

/** Creates the log on stdout. A separate thread writes it, because a write to a paused terminal blocks. */
async function openLog(): Promise<ServiceLog> {
  const [{ pino }, { originOfLine }, { createLogOutput }] = await Promise.all([
    import('pino'),
    import('./telemetry/log.ts'),
    import('./telemetry/log-output.ts'),
  ]);
  const output = createLogOutput(process.stdout.fd, (lines) =>
    log.warn({ lines }, 'log lines were lost, because the log was not read or could not be written'),
  );
  const log = pino({ base: null, timestamp: pino.stdTimeFunctions.isoTime, mixin: originOfLine }, output);
  const flushed = () => output.settle(LAST_LINES_MS);
  return {
    log,
    say: output.write,
    flushed,
    async leave(code) {
      // Uses SIGKILL, because exit() would wait for the writing thread, which waits for the reader of the log.
      if (!(await flushed())) process.kill(process.pid, 'SIGKILL');
      return process.exit(code);
    },
  };
}

main(...process.argv.slice(2)).catch(async (error: Error) => {
  const { ConfigError } = await import('./config.ts');
  const [command] = process.argv.slice(2);
  const fault = command === 'serve' ? 'Tillway cannot start' : 'tillway: unexpected error';
  process.stderr.write(`${error instanceof ConfigError ? 'Configuration' : fault}: ${error.message}\n`);
  process.exit(1);
});
