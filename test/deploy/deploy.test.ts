// @run needs=process
import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { validate } from 'dockerfile-utils';
import { parse } from 'yaml';
import { readConfig } from '../../src/config.ts';
import { commandOf, createDataFolder, environmentOf, finalStageOf, createImageContents, valuesOf } from './image.ts';

const read = (name: string) => readFileSync(new URL(`../../deploy/${name}`, import.meta.url), 'utf8');
const KEY = `sk_sandbox_${'K'.repeat(43)}`;
const DATA_KEY = Buffer.alloc(32, 7).toString('base64');
/** Unprivileged account, as in the image and the unit. Without root, the test run itself is unprivileged. */
const ACCOUNT = process.getuid?.() === 0 ? { uid: 1000, gid: 1000 } : undefined;

/** Settings of a unit file in their order, without the section headings. */
function settingsOf(unit: string): [name: string, value: string][] {
  return [...unit.matchAll(/^([A-Za-z]+)=(.*)$/gm)].map(([, name, value]) => [name!, value!]);
}

describe('the Dockerfile', () => {
  const text = read('Dockerfile');
  const stage = finalStageOf(text);

  test('the Dockerfile passes the linter, which detects injected faults', () => {
    assert.deepEqual(validate(text), []);
    assert.notDeepEqual(validate(text.replace('WORKDIR /app', 'WORKDIR app/')), []);
    assert.notDeepEqual(validate(text.replace('ENTRYPOINT', 'ENTRYPOINTS')), []);
  });

  test('the Dockerfile uses no root, has a health check, and starts the service without a shell, so that it gets signals', () => {
    assert.deepEqual(valuesOf(stage, 'USER'), ['1000:1000']);
    assert.equal(valuesOf(stage, 'HEALTHCHECK').length, 1);
    assert.deepEqual(commandOf(valuesOf(stage, 'ENTRYPOINT')[0]!), ['node', '/app/src/main.ts', 'serve']);
    assert.deepEqual(valuesOf(stage, 'ADD'), []);
  });
});

describe('the service with the files and packages of the image', () => {
  const stage = finalStageOf(read('Dockerfile'));
  let folder: string;
  let app: string;
  let variables: Record<string, string>;

  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'tillway-image-'));
    chmodSync(folder, 0o755);
    app = createImageContents(stage, folder);
    const data = createDataFolder(folder, ACCOUNT);
    variables = { ...environmentOf(stage), DATABASE_URL: `sqlite:${join(data, 'tillway.db')}`, PORT: '0' };
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  function start(more: Record<string, string>): ChildProcess {
    const [, program, ...args] = commandOf(valuesOf(stage, 'ENTRYPOINT')[0]!);
    const path = join(app, program!.replace(/^\/app\//, ''));
    const env = { ...variables, PATH: join(folder, 'bin'), ...more };
    return spawn(join(folder, 'bin', 'node'), [path, ...args], {
      env,
      cwd: app,
      stdio: ['ignore', 'pipe', 'pipe'],
      ...ACCOUNT,
    });
  }

  test('the service in the image does not start without an API key, and names the missing variable', async () => {
    const child = start({});
    const [code, output] = await Promise.all([exitOf(child), textOf(child)]);
    assert.equal(code, 1);
    assert.match(output, /BOOTSTRAP_API_KEYS/);
  });

  test('the service in the image runs as an unprivileged user, is healthy, creates a session and exits after SIGTERM', async () => {
    const child = start({ BOOTSTRAP_API_KEYS: KEY, SHUTDOWN_DELAY: '0' });
    const ended = exitOf(child);
    try {
      const port = await portOf(child);
      const answer = await fetch(`http://127.0.0.1:${port}/api/gateway/sessions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${KEY}` },
        body: JSON.stringify({ product: 'Field guide', amount: 49.99, customer: 'buyer@example.com' }),
      });
      assert.equal(answer.status, 200);
      assert.equal((await fetch(`http://127.0.0.1:${port}/api/gateway/sessions`)).status, 401);

      const [, ...check] = commandOf(valuesOf(stage, 'HEALTHCHECK')[0]!);
      const healthOf = (at: string) =>
        spawnSync(join(folder, 'bin', 'node'), check, { env: { PORT: at }, ...ACCOUNT }).status;
      assert.equal(healthOf(port), 0);
      assert.equal(healthOf('1'), 1);
    } finally {
      child.kill('SIGTERM');
    }
    assert.equal(await ended, 0);
  });

  test('the service starts with the command and environment of the systemd unit, and only its user can read its database', async () => {
    const settings = settingsOf(read('tillway.service'));
    const [program, script, ...args] = settings.find(([name]) => name === 'ExecStart')![1].split(' ');
    assert.equal(program, '/usr/bin/node');
    const state = createDataFolder(folder, ACCOUNT, 'state');
    chmodSync(state, 0o700);
    const pairs = settings.filter(([name]) => name === 'Environment').map(([, value]) => value.split(/=(.*)/s));
    const env = Object.fromEntries(
      pairs.map(([name, value]) => [name!, value!.replace('/var/lib/tillway', state)]),
    ) as Record<string, string>;
    assert.match(env['DATABASE_URL']!, /^sqlite:.*\/state\//);
    const umask = settings.find(([name]) => name === 'UMask')![1];
    const command = `umask ${umask}; exec "$0" "$@"`;
    const path = script!.replace('/opt/tillway', app);
    const child = spawn('/bin/sh', ['-c', command, join(folder, 'bin', 'node'), path, ...args], {
      env: { ...env, PORT: '0', BOOTSTRAP_API_KEYS: KEY, SHUTDOWN_DELAY: '0' },
      cwd: app,
      stdio: ['ignore', 'pipe', 'pipe'],
      ...ACCOUNT,
    });
    const ended = exitOf(child);
    try {
      const port = await portOf(child);
      assert.equal((await fetch(`http://127.0.0.1:${port}/readyz`)).status, 200);
      assert.equal(statSync(join(state, 'tillway.db')).mode & 0o077, 0);
      if (ACCOUNT) assert.equal(statSync(join(state, 'tillway.db')).uid, ACCOUNT.uid);
    } finally {
      child.kill('SIGTERM');
    }
    assert.equal(await ended, 0);
  });
});

describe('the systemd unit', () => {
  const settings = settingsOf(read('tillway.service'));
  const valueOf = (name: string) => settings.find(([settingName]) => settingName === name)?.[1];

  test('the systemd unit runs the service as a dedicated user that can write only to its state folder', () => {
    assert.equal(valueOf('ExecStart'), '/usr/bin/node /opt/tillway/src/main.ts serve');
    assert.equal(valueOf('User'), 'tillway');
    assert.equal(valueOf('StateDirectory'), 'tillway');
    for (const name of ['ProtectSystem', 'NoNewPrivileges', 'PrivateTmp', 'RestrictNamespaces', 'SystemCallFilter']) {
      assert.ok(valueOf(name), name);
    }
    assert.equal(valueOf('CapabilityBoundingSet'), '');
  });

  test('the systemd unit restarts the service without a limit, because a database can be unavailable for long', () => {
    assert.equal(valueOf('Restart'), 'always');
    assert.equal(valueOf('RestartSec'), '5');
    assert.equal(valueOf('StartLimitIntervalSec'), '0');
    const compose = parse(read('compose.yaml')) as { services: Record<string, { restart: string }> };
    for (const { restart } of Object.values(compose.services)) assert.equal(restart, 'unless-stopped');
  });

  test('the systemd unit allows more time for a shutdown than the service takes', () => {
    const config = readConfig({});
    assert.ok(Number(valueOf('TimeoutStopSec')) * 1000 > config.shutdownDelayMs + config.shutdownTimeoutMs);
  });
});

describe('the compose file', () => {
  const compose = parse(read('compose.yaml')) as {
    services: Record<string, { environment: Record<string, string>; ports?: string[]; cap_drop?: string[] }>;
  };
  const { tillway, database } = compose.services;

  test('the compose file requires every secret, and the example file contains every secret', () => {
    const required = [...read('compose.yaml').matchAll(/\$\{(\w+):\?/g)].map(([, name]) => name!);
    assert.deepEqual([...new Set(required)].toSorted(), [
      'BASE_URL',
      'BOOTSTRAP_API_KEYS',
      'ENCRYPTION_KEY',
      'POSTGRES_PASSWORD',
    ]);
    for (const name of required) assert.match(read('compose.env.example'), new RegExp(`^${name}=`, 'm'));
  });

  test('the compose file sets only documented variables, to valid values', () => {
    const secrets = { BASE_URL: 'https://pay.example', BOOTSTRAP_API_KEYS: KEY, ENCRYPTION_KEY: DATA_KEY };
    const filled = Object.entries(tillway!.environment).map(([name, value]) => {
      const text = value.replaceAll(/\$\{(\w+)(?::[?-]([^}]*))?\}/g, (_, variable: string, fallback: string) =>
        Object.hasOwn(secrets, variable) ? secrets[variable as keyof typeof secrets] : fallback,
      );
      return [name, name === 'DATABASE_URL' ? text.replace('is needed', 'word') : text];
    });
    const variables = Object.fromEntries(filled) as Record<string, string>;
    const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');
    for (const name of Object.keys(variables)) assert.ok(readme.includes(`| \`${name}\``), name);
    const config = readConfig({ HOST: '0.0.0.0', ...variables });
    assert.equal(config.database.kind, 'postgres');
    assert.equal(config.baseUrl, 'https://pay.example');
  });

  test('the compose file publishes ports only on loopback, and drops all capabilities', () => {
    for (const port of [...(tillway!.ports ?? []), ...(database!.ports ?? [])]) assert.match(port, /^127\.0\.0\.1:/);
    assert.deepEqual(tillway!.cap_drop, ['ALL']);
  });
});

function exitOf(child: ChildProcess): Promise<number | null> {
  return new Promise((resolve) => child.once('exit', resolve));
}

async function textOf(child: ChildProcess): Promise<string> {
  const parts: string[] = [];
  for (const stream of [child.stdout!, child.stderr!]) stream.on('data', (part: Buffer) => parts.push(part.toString()));
  // The event "close" follows the last output; "exit" may precede it.
  await once(child, 'close');
  return parts.join('');
}

/** Port in the log line of the service about its address. */
async function portOf(child: ChildProcess): Promise<string> {
  let text = '';
  child.stderr!.on('data', (part: Buffer) => (text += part.toString()));
  for await (const part of child.stdout!) {
    text += String(part);
    const port = /"url":"http:\/\/[^"]*:(\d+)"/.exec(text)?.[1];
    if (port !== undefined) return port;
  }
  throw new Error(`the process exited without listening: ${text}`);
}
