// @run needs=process
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { promisify } from 'node:util';
import { startTestService } from '../support/service.ts';
import {
  type CommandResult,
  SERVICE_FILE,
  freePort,
  startProgram,
  startServiceProgram,
  httpStatusOf,
  takenPort,
  temporaryFolder,
} from './program.ts';
import { until } from '../support/until.ts';

describe('the service process at its start', { concurrency: 2 }, () => {
  it('the service logs one line with its address at its start', async () => {
    using folder = temporaryFolder();
    await using service = await startServiceProgram({ DATABASE_URL: `sqlite:${folder.path('a.db')}` });
    // The service answers requests shortly before it logs the line.
    await until(() => /Tillway is ready.*\n/.test(service.stdout()));
    const lines = service.stdout().split('\n');
    const ready = lines.filter((line) => line.includes('Tillway is ready'));
    assert.equal(ready.length, 1);
    const { level, time, msg, url } = JSON.parse(ready[0]!) as Record<string, unknown>;
    assert.deepEqual([level, msg, url], [30, `Tillway is ready: open ${service.url}`, service.url]);
    assert.match(String(time), /^\d{4}-\d\d-\d\dT/);
    assert.equal(service.stderr(), '');
  });

  // test/config.test.ts tests the messages of all settings.
  it('the service exits with 1 and one line that names every invalid setting, without showing a secret', async () => {
    const line = await startError({ PORT: 'x', LOG_LEVEL: 'y', WEBHOOK_SECRET: 'whsec_do-not-show' });
    assert.match(line, /^Configuration: PORT must /);
    for (const name of ['LOG_LEVEL', 'WEBHOOK_SECRET']) assert.ok(line.includes(name), name);
    assert.ok(!line.includes('do-not-show'));
  });

  it('the service exits with 1 and one line if its port or the port for metrics is taken', async () => {
    using folder = temporaryFolder();
    await using taken = await takenPort();
    const { port } = taken;
    const local = { DATABASE_URL: `sqlite:${folder.path('a.db')}` };
    const line = await startError({ ...local, PORT: String(port) });
    const message = 'PORT must be a free port';
    assert.match(line, new RegExp(`^Tillway cannot start: ${message}: .*127\\.0\\.0\\.1:${port}\n?$`));
    const metrics = await startError({ ...local, PORT: '0', METRICS_PORT: String(port), LOG_LEVEL: 'error' });
    assert.match(metrics, new RegExp(`METRICS_${message}`));
  });

  it('the error for a database folder that cannot be read names DATABASE_URL', async () => {
    using folder = temporaryFolder();
    writeFileSync(folder.path('file'), '');
    const database = `sqlite:${folder.path('file')}/a.db`;
    const line = await startError({ DATABASE_URL: database, PORT: '0' });
    assert.ok(line.startsWith(`Tillway cannot start: DATABASE_URL ${database}: `), line);
  });

  /** The only line on stderr of a process whose start must fail. */
  async function startError(variables: Record<string, string>): Promise<string> {
    await using program = startProgram(SERVICE_FILE, variables);
    assert.equal(await program.exited, 1);
    // stdout may contain the log line about a new database.
    assert.match(program.stdout(), /^(?:\{[^\n]*created a new, empty database[^\n]*\n)?$/);
    const lines = program.stderr().split('\n');
    assert.equal(lines.length, 2, program.stderr());
    assert.equal(lines[1], '');
    return lines[0]!;
  }
});

describe('the service does not start', () => {
  for (const [name, value, message] of [
    ['HOST', '0.0.0.0', /^HOST must be a loopback address while there is no active API key: /],
    ['BASE_URL', 'https://pay.example', /^BASE_URL must have a loopback address while there is no/],
    ['HOST', '127.0.0.256', /^HOST must be an address or name of this machine, not 127\.0\.0\.256: /],
    ['ROUTES_FILE', '/nowhere/routes.json', /^ROUTES_FILE \/nowhere\/routes\.json: /],
  ] as const) {
    it(`the service does not start with ${name}=${value}`, () =>
      assert.rejects(startTestService({ variables: { [name]: value } }), { message }));
  }

  it('the service does not start with a production provider and without an API key, even with ALLOW_UNAUTHENTICATED', async () => {
    const live = {
      STRIPE_SECRET_KEY: 'sk_live_abc',
      STRIPE_WEBHOOK_SECRET: 'whsec_abc',
      BASE_URL: 'https://pay.example',
      ALLOW_UNAUTHENTICATED: 'true',
    };
    const message = /^the provider stripe takes real money, and there is no active API key: /;
    await assert.rejects(startTestService({ variables: live }), { message });
    await using on = await startTestService({
      variables: { ...live, BOOTSTRAP_API_KEYS: `sk_live_${'a'.repeat(43)}` },
    });
    assert.ok(on.service.deps.providers.has('stripe'));
  });

  it('the service does not start on a database that it cannot open, and the message names the database', async () => {
    using folder = temporaryFolder();
    writeFileSync(folder.path('file'), 'not a folder');
    writeFileSync(folder.path('text.db'), 'this is not a database. '.repeat(100));
    mkdirSync(folder.path('folder.db'));
    for (const name of ['file/a.db', 'text.db', 'folder.db']) {
      const databaseUrl = `sqlite:${folder.path(name)}`;
      await assert.rejects(startTestService({ beside: { databaseUrl } }), { message: new RegExp(name.split('/')[0]!) });
    }
  });
});

describe('bin/tillway.js, which npm starts', () => {
  const LAUNCHER = new URL('../../bin/tillway.js', import.meta.url).pathname;
  // --no-strip-types simulates an older Node.js without TypeScript support: the launcher then starts the Node.js of the npm package.
  for (const [name, flags] of [
    ['on a Node.js with TypeScript support', []],
    ['on an older Node.js', ['--no-strip-types']],
  ] as const) {
    const run = (env: NodeJS.ProcessEnv, ...args: string[]): Promise<CommandResult> =>
      promisify(execFile)(process.execPath, [...flags, LAUNCHER, ...args], { env }).then(
        (result) => ({ code: 0, ...result }),
        (error: CommandResult) => error,
      );

    it(`bin/tillway.js forwards arguments, output and exit code, and caches compiled sources for the user, ${name}`, async () => {
      using home = temporaryFolder();
      const [HOME, XDG_CACHE_HOME] = [home.path(''), home.path('caches')];
      assert.match((await run({ HOME }, '--version')).stdout, /^\d+\.\d+\.\d+\n$/);
      assert.ok(readdirSync(home.path('.cache/tillway'), { recursive: true }).length > 50);
      const wrong = await run({ HOME, XDG_CACHE_HOME }, 'fees', 'a b');
      assert.equal(wrong.code, 2);
      assert.match(wrong.stderr, /^tillway: amount takes a number, such as 49\.99, not "a b"\n/);
      assert.ok(existsSync(home.path('caches/tillway')));
      // The launcher works without a cache folder.
      assert.equal((await run({ XDG_CACHE_HOME: '/dev/null' }, '--version')).code, 0);
    });

    it(`bin/tillway.js forwards signals, ${name}`, async () => {
      using folder = temporaryFolder();
      const port = String(await freePort());
      const variables = { DATABASE_URL: `sqlite:${folder.path('a.db')}`, PORT: port };
      const child = spawn(process.execPath, [...flags, LAUNCHER, 'serve'], {
        env: variables,
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      let stdout = '';
      child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
      const exited = new Promise<number | null>((resolve) => child.once('close', resolve));
      try {
        await until(async () => (await httpStatusOf(`http://127.0.0.1:${port}/readyz`)) === 200);
        child.kill('SIGINT');
        assert.equal(await exited, 0);
        assert.match(stdout, /"msg":"stopped"/);
      } finally {
        child.kill('SIGKILL');
      }
    });
  }
});
