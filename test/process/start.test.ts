// @run on=sqlite,postgres needs=process
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { describe, it } from 'node:test';
import { TEST_DATABASE } from '../support/database.ts';
import { SERVICE, startProgram, startServiceProgram, takenPort, temporaryFolder } from './program.ts';
import { until } from '../support/until.ts';

describe('the process, at its start,', { concurrency: 2 }, () => {
  it('logs one line that says where it is', async () => {
    using folder = temporaryFolder();
    await using service = await startServiceProgram({ DATABASE_URL: `sqlite:${folder.path('a.db')}` });
    // It answers before it says so.
    await until(() => /Tillway is ready.*\n/.test(service.stdout()));
    const lines = service
      .stdout()
      .split('\n')
      .filter((line) => line.includes('Tillway is ready'));
    assert.equal(lines.length, 1);
    const { level, time, msg, url } = JSON.parse(lines[0]!) as Record<string, unknown>;
    assert.deepEqual([level, msg, url], [30, `Tillway is ready: open ${service.url}`, service.url]);
    assert.match(String(time), /^\d{4}-\d\d-\d\dT/);
    assert.equal(service.stderr(), '');
  });

  const wrong: [name: string, value: string, complaint: RegExp][] = [
    ['PORT', 'eighty', /^Configuration: PORT must /],
    ['PORT', '70000', /^Configuration: PORT /],
    ['HOST', '0.0.0.0', /^Tillway cannot start: HOST must be a loopback address while there is no active API key: /],
    [
      'BOOTSTRAP_API_KEYS',
      'sk_live_short',
      /^Configuration: BOOTSTRAP_API_KEYS must be keys separated by commas, (?!.*short)/,
    ],
    [
      'BASE_URL',
      'https://pay.example',
      /^Tillway cannot start: BASE_URL must be of a loopback address while there is no/,
    ],
    [
      'HOST',
      '127.0.0.256',
      /^Tillway cannot start: HOST must be an address or a name of this machine, not 127\.0\.0\.256: /,
    ],
    ['DATABASE_URL', '', /^Configuration: DATABASE_URL is set but empty: unset it, or give it a value$/],
    ['DATABASE_URL', 'sqlite::memory:', /^Configuration: DATABASE_URL must name a file/],
    ['DATABASE_URL', 'mysql://localhost/x', /^Configuration: DATABASE_URL must be sqlite:/],
    ['BASE_URL', 'tillway.example', /^Configuration: BASE_URL must /],
    ['LOG_LEVEL', 'loud', /^Configuration: LOG_LEVEL /],
    ['SESSION_TTL', '-5', /^Configuration: SESSION_TTL must /],
    ['WEBHOOK_URL', 'http://shop.example/hooks', /^Configuration: WEBHOOK_SECRET is needed with WEBHOOK_URL/],
    ['WEBHOOK_SECRET', 'whsec_short', /^Configuration: WEBHOOK_SECRET must be whsec_/],
    ['ROUTES_FILE', '/nowhere/routes.json', /^Tillway cannot start: ROUTES_FILE \/nowhere\/routes\.json: /],
  ];
  // What is refused before there is a database is refused alike with each.
  const refused = wrong.filter(
    ([, , { source }]) => TEST_DATABASE === 'sqlite' || !source.startsWith('^Configuration'),
  );
  for (const [name, value, complaint] of refused) {
    it(`is refused with exit code 1 and one line: ${name}=${value}`, async () => {
      using folder = temporaryFolder();
      const line = await refusal({ DATABASE_URL: `sqlite:${folder.path('a.db')}`, PORT: '0', [name]: value });
      assert.match(line, complaint);
      assert.ok(!existsSync(':memory:'));
    });
  }

  it('names every wrong setting in that one line, and no secret', async () => {
    const line = await refusal({ PORT: 'x', LOG_LEVEL: 'y', WEBHOOK_SECRET: 'whsec_do-not-show' });
    for (const name of ['PORT', 'LOG_LEVEL', 'WEBHOOK_SECRET']) assert.ok(line.includes(name), name);
    assert.ok(!line.includes('do-not-show'));
  });

  it('is refused where the port is taken', async () => {
    using folder = temporaryFolder();
    await using taken = await takenPort();
    const { port } = taken;
    const local = { DATABASE_URL: `sqlite:${folder.path('a.db')}` };
    const line = await refusal({ ...local, PORT: String(port) });
    assert.match(
      line,
      new RegExp(`^Tillway cannot start: PORT must be a port that is free: .*127\\.0\\.0\\.1:${port}\n?$`),
    );
    const metrics = await refusal({ ...local, PORT: '0', METRICS_PORT: String(port), LOG_LEVEL: 'error' });
    assert.match(metrics, /METRICS_PORT must be a port that is free/);
  });

  it('is refused where the database cannot be opened, and says which one', async () => {
    using folder = temporaryFolder();
    writeFileSync(folder.path('file'), 'not a folder');
    writeFileSync(folder.path('text.db'), 'this is not a database. '.repeat(100));
    mkdirSync(folder.path('folder.db'));
    for (const name of ['file/a.db', 'text.db', 'folder.db']) {
      const line = await refusal({ DATABASE_URL: `sqlite:${folder.path(name)}`, PORT: '0' });
      assert.ok(line.startsWith('Tillway cannot start: '), line);
      assert.ok(line.includes(name.split('/')[0]!), line);
    }
  });

  it('is refused where the database is of a newer version', async () => {
    using folder = temporaryFolder();
    const variables = { DATABASE_URL: `sqlite:${folder.path('a.db')}`, SHUTDOWN_DELAY: '0' };
    const before = await startServiceProgram(variables);
    before.signal('SIGTERM');
    assert.equal(await before.exited, 0);
    const database = new DatabaseSync(folder.path('a.db'));
    database.exec("INSERT INTO schema_migrations (version, name, hash) VALUES (999, 'from-the-future', 'x')");
    database.close();
    const line = await refusal({ ...variables, PORT: '0' });
    assert.match(
      line,
      /^Tillway cannot start: DATABASE_URL sqlite:.*a\.db: the database has migration 999 \(from-the-future\)/,
    );
  });

  /** The one line on stderr of a process that must not start. */
  async function refusal(variables: Record<string, string>): Promise<string> {
    await using program = startProgram(SERVICE, variables);
    assert.equal(await program.exited, 1);
    // The log names a database that the start created.
    assert.match(program.stdout(), /^(?:\{[^\n]*created a new, empty database[^\n]*\n)?$/);
    const lines = program.stderr().split('\n');
    assert.equal(lines.length, 2, program.stderr());
    assert.equal(lines[1], '');
    return lines[0]!;
  }
});
