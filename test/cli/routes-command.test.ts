import assert from 'node:assert/strict';
import { type Server, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { createSession, startAt } from '../simulator/buyer.ts';
import { runSql } from '../support/database.ts';
import { ask, decisionsOf, saveRules, standings, temporaryFile } from '../support/routing.ts';
import { type TestService, startTestService } from '../support/service.ts';
import { freePort } from '../process/program.ts';
import { type Ended, runWith } from './terminal.ts';

// oxlint-disable unicorn/no-thenable -- the rule language says then

const LOCALS = { version: 1, rules: [{ id: 'locals', then: { only: { kind: 'local' } } }] };

function run({ TILLWAY_URL: url }: Record<string, string>, ...args: string[]): Promise<Ended> {
  return runWith({ url }, 'routes', ...args);
}

/** What was written, of a command that did what it was asked to. */
async function told(on: { url: string }, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await run({ TILLWAY_URL: on.url }, ...args);
  assert.deepEqual([code, stderr], [0, ''], stdout);
  return stdout;
}

async function json<Body>(on: { url: string }, ...args: string[]): Promise<Body> {
  return JSON.parse(await told(on, ...args, '--json')) as Body;
}

/** What was complained of; nothing may stand in the output. */
async function complaint(code: 1 | 2, variables: Record<string, string>, ...args: string[]): Promise<string> {
  const ended = await run(variables, ...args);
  assert.deepEqual([ended.code, ended.stdout], [code, ''], ended.stderr);
  assert.match(ended.stderr, /^tillway: .+\n/);
  return ended.stderr;
}

/** Of all lines but the reasons: they are sentences, which may wrap. */
const widest = (text: string) => {
  const lines = text.split('\n').filter((line) => !/^[a-z]+: /.test(line));
  return Math.max(...lines.map((line) => line.length));
};
const cells = (line: string) => line.split(/ {2,}/);

describe('tillway routes', { concurrency: 2 }, () => {
  let on: TestService;
  let sessionId: string;
  let env: Record<string, string>;
  before(async () => {
    on = await startTestService();
    env = { TILLWAY_URL: on.url };
    sessionId = await createSession(on);
    await startAt(on, sessionId, 'card');
  });
  after(() => on[Symbol.asyncDispose]());

  it('lists the routes, best first, without a command too', async () => {
    const listed = await told(on, 'list');
    assert.equal(await told(on), listed);
    const [headings, ...rows] = listed.trimEnd().split('\n');
    assert.deepEqual(cells(headings!), ['ROUTE', 'KIND', 'SCORE', 'HEALTH', 'SUCCESS', 'OUTCOMES', 'FEES', 'WHY']);
    assert.equal(rows.length, 6);
    assert.deepEqual(cells(rows[0]!).toSpliced(5, 1), [
      'sandbox_card_acquirer',
      'card',
      '90.3',
      'live',
      '93.0 %',
      '2.9 %',
      'as configured in the catalogue',
    ]);
    assert.ok(widest(listed) <= 120);
    assert.match(listed, /^sandbox_local_instant .* 1\.45 % /m);
    assert.match(await told(on, 'list', '--environment', 'production'), /^card_stripe .* no provider is connected/m);
    const { data } = await json<{ data: { id: string }[] }>(on, 'list');
    assert.deepEqual(
      data.map(({ id }) => id),
      rows.map((row) => cells(row)[0]),
    );
  });

  it('tells why a session got its route', async () => {
    const why = await told(on, 'why', sessionId);
    const [offer, attempt] = await decisionsOf(on, sessionId);
    assert.ok(why.includes(`${offer?.created}  offer  (${offer?.id})\nexploit: ${offer?.reason}\n`));
    assert.ok(why.includes(`attempt ${attempt?.paymentId}  (${attempt?.id})\n${attempt?.mode}: ${attempt?.reason}\n`));
    const tables = why.split('\n\n').map((part) => part.split('\n').filter((line) => /^(?:#|\d|-) /.test(line)));
    assert.deepEqual(cells(tables[0]![0]!), ['#', 'ROUTE', 'SCORE', 'HEALTH', 'SUCCESS', 'COST']);
    assert.deepEqual(cells(tables[1]![0]!), ['#', 'ROUTE', 'SCORE', 'HEALTH', 'SUCCESS', 'COST', 'DRAWN', 'KEPT OUT']);
    assert.equal(cells(tables[1]![1]!)[1], attempt?.chosen);
    assert.match(why, /^- {2}sandbox_wallet_express .* the buyer chose to pay by card$/m);
    assert.ok(widest(why) <= 120, String(widest(why)));
    assert.deepEqual(await json(on, 'why', sessionId), await ask('GET', on, `decisions/${sessionId}`));
  });

  it('makes the decisions of a session again', async () => {
    const [headings, ...rows] = (await told(on, 'replay', sessionId)).trimEnd().split('\n');
    assert.deepEqual(cells(headings!), ['DECISION', 'SAME BYTES', 'CHOSEN', 'AGAIN']);
    assert.deepEqual(
      rows.map((row) => cells(row)[1]),
      ['yes', 'yes'],
    );
    assert.equal((await json<{ identical: boolean }>(on, 'replay', sessionId)).identical, true);
  });

  it('exits with 1 where a decision was tampered with', async () => {
    const tampered = await createSession(on, { preferredRoute: 'wallet' });
    const [offer] = await decisionsOf(on, tampered);
    const other = '"chosen":"sandbox_local_ach"';
    await runSql(
      on.databaseUrl,
      `UPDATE routing_decisions SET body = REPLACE(body, '"chosen":"${offer?.chosen}"', '${other}') WHERE id = '${offer?.id}'`,
    );
    const { code, stdout, stderr } = await run(env, 'replay', tampered);
    assert.deepEqual([code, stderr], [1, '']);
    assert.match(stdout, /^dec_\w+ {2}NO +sandbox_local_ach +sandbox_wallet_express$/m);
    const asJson = await run(env, 'replay', tampered, '--json');
    assert.deepEqual([asJson.code, (JSON.parse(asJson.stdout) as { identical: boolean }).identical], [1, false]);
  });

  it('overrides the health of a route, and tells what has been', async () => {
    await using own = await startTestService();
    assert.equal(await told(own, 'history'), 'None.\n');
    const until = '2027-01-15T12:00:00Z';
    const set = ['override', 'sandbox_card_backup', 'standby', '--until', until, '--reason', 'new\nline \u001b[2J'];
    assert.equal(await told(own, ...set), 'sandbox_card_backup is standby: disabled by the operator: new line  [2J\n');
    const list = await told(own, 'list');
    assert.match(
      list,
      /^sandbox_card_backup .* disabled by the operator: new line  \[2J, until 2027-01-15T12:00:00Z$/m,
    );
    const ended = await json<{ health: string }>(own, 'override', 'sandbox_card_backup', 'automatic');
    assert.equal(ended.health, 'degraded');
    await told(own, 'override', 'card_stripe', 'degraded');
    const [headings, ...rows] = (await told(own, 'history')).trimEnd().split('\n');
    assert.deepEqual(cells(headings!), ['TIME', 'ROUTE', 'FROM', 'TO', 'WHY']);
    assert.deepEqual(
      rows.map((row) => cells(row).slice(1, 4)),
      [
        ['card_stripe', 'live', 'degraded'],
        ['sandbox_card_backup', 'standby', 'degraded'],
        ['sandbox_card_backup', 'live', 'standby'],
      ],
    );
    for (const row of rows) assert.match(row, /^2026-03-01T12:00:00Z /);
    assert.equal((await told(own, 'history', 'card_stripe')).trimEnd().split('\n').length, 2);
    assert.equal(
      (await told(own, 'history', '--environment', 'sandbox', '--limit', '1')).trimEnd().split('\n').length,
      2,
    );
    assert.equal((await json<{ data: unknown[] }>(own, 'history')).data.length, 3);
  });

  it('checks, saves and shows rules', async () => {
    await using own = await startTestService();
    using good = temporaryFile('good.json', LOCALS);
    using bad = temporaryFile('bad.json', {
      version: 1,
      rules: [{ id: 'A', then: { prefer: 'rt_nowhere', explore: 1 } }],
    });
    using broken = temporaryFile('broken.json', '{');
    assert.equal(await told(own, 'rules', 'check', good.path), 'The rules are well formed; nothing was changed.\n');
    using closed = temporaryFile('closed.json', { version: 1, rules: [{ id: 'off', then: { reject: 'closed' } }] });
    using doubtful = temporaryFile('doubtful.json', {
      version: 1,
      rules: [{ id: 'r', when: { hour: 1 }, then: { only: 'card_stripe' } }],
    });
    for (const { path, code, warned } of [
      { path: closed.path, code: 1, warned: ['rejects_all', 'rejects_all'] },
      { path: doubtful.path, code: 0, warned: ['no_route_left'] },
    ]) {
      const text = await run({ TILLWAY_URL: own.url }, 'rules', 'check', path);
      const document = await run({ TILLWAY_URL: own.url }, 'rules', 'check', path, '--json');
      const { warnings } = JSON.parse(document.stdout) as {
        warnings: { path: string; code: string; message: string }[];
      };
      assert.deepEqual([text.code, document.code, warnings.map((each) => each.code)], [code, code, warned]);
      for (const { path, message } of warnings)
        assert.ok(text.stdout.includes(`warning: ${path} ${message}\n`), text.stdout);
    }
    assert.match(await told(own, 'rules'), /^Version 0 \(none\)\n/);
    assert.match(await told(own, 'rules', 'save', good.path), /^Version 1 \(api\)\n\{\n {2}"version": 1/);
    assert.deepEqual((await json<{ ruleSet: unknown }>(own, 'rules')).ruleSet, LOCALS);
    assert.match(await told(own, 'rules', '--version', '1'), /^Version 1 \(api\)\n/);
    const variables = { TILLWAY_URL: own.url };
    for (const command of ['check', 'save']) {
      const wrong = await complaint(1, variables, 'rules', command, bad.path);
      assert.match(wrong, /^ {2}\S*rules\.0\.id: must be /m);
      assert.match(wrong, /^ {2}\S*rules\.0\.then\.explore: must be /m);
      assert.ok((await complaint(2, variables, 'rules', command, broken.path)).includes(broken.path));
      await complaint(2, variables, 'rules', command, `${good.path}.gone`);
    }
    await complaint(1, variables, 'rules', '--version', '9');
    assert.match(await told(own, 'rules'), /^Version 1 /);
  });

  it('supposes a checkout, and other rules', async () => {
    using rules = temporaryFile('rules.json', LOCALS);
    assert.match(await told(on, 'dry-run', '20'), /^exploit: sandbox_card_acquirer over /);
    assert.match(await told(on, 'dry-run', '20', '--kind', 'wallet'), /^exploit: sandbox_wallet_express over /);
    const supposed = await told(
      on,
      'dry-run',
      '20.5',
      '--rules',
      rules.path,
      '--metadata',
      'a=b=c',
      '--metadata',
      'd=',
    );
    assert.match(supposed, /^exploit: sandbox_local_\w+ over .*\n {2}rule locals: only kind local\n#/);
    assert.ok(widest(supposed) <= 120);
    assert.match(await told(on, 'dry-run', '20', '--metadata', '__proto__=x'), /^exploit: /);
    const full = ['--customer', 'a@b.co', '--product', 'x', '--environment', 'production'];
    const { environment } = await json<{ environment: string }>(on, 'dry-run', '20', ...full);
    assert.equal(environment, 'production');
    using reject = temporaryFile('reject.json', { version: 1, rules: [{ id: 'no', then: { reject: 'closed' } }] });
    assert.match(await told(on, 'dry-run', '20', '--rules', reject.path), /^refused by a rule: closed\n/);
  });

  it('tells what other rules would have changed', async () => {
    await using own = await startTestService();
    await saveRules(own, { id: 'first', then: { priority: 'sandbox_card_acquirer' } });
    const past = await createSession(own);
    await startAt(own, past, 'card');
    assert.match(await told(own, 'backtest'), /^0 of 1 decisions fall differently\.\n\n +EXPECTED SUCCESS +COST\n/);
    const other = { version: 1, rules: [{ id: 'other', then: { priority: 'sandbox_card_backup' } }] };
    using rules = temporaryFile('rules.json', other);
    const changed = await told(own, 'backtest', '--rules', rules.path);
    assert.match(changed, /^1 of 1 decisions fall differently\.\n/);
    assert.ok(
      changed.endsWith(
        `2026-03-01T12:00:00Z  ${past}\n  sandbox_card_acquirer -> sandbox_card_backup\n  sandbox_card_backup comes first by rule other\n`,
      ),
      changed,
    );
    using none = temporaryFile('none.json', LOCALS);
    assert.match(await told(own, 'backtest', '--rules', none.path), /\n {2}sandbox_card_acquirer -> none\n/);
    const options = ['--margin', '0.155', '--objective', 'total', '--limit', '1000', '--environment', 'sandbox'];
    assert.equal((await json<{ decisions: number }>(own, 'backtest', ...options)).decisions, 1);
  });

  it('says how it is used', async () => {
    const { code, stdout, stderr } = await run({}, '--help');
    assert.deepEqual([code, stderr], [0, '']);
    assert.match(stdout, /^Usage: tillway routes <command>/);
    assert.ok(widest(stdout) <= 120);
    for (const command of ['list', 'why', 'replay', 'history', 'override', 'rules', 'dry-run', 'backtest']) {
      assert.match(stdout, new RegExp(`^ {2}${command}\\b`, 'm'));
    }
    assert.match((await run({}, 'why', '-h')).stdout, /^Usage: tillway routes why <session> /);
  });

  const misuse: [args: string[], complaint: RegExp][] = [
    [['nothing'], /^tillway: unknown command 'nothing'\n\nUsage: +tillway routes <command> /],
    [['constructor'], /^tillway: unknown command 'constructor'\n/],
    [['__proto__'], /^tillway: unknown command '__proto__'\n/],
    [['lst'], /^tillway: unknown command 'lst'\n\(Did you mean list\?\)\n/],
    [['list', 'all'], /^tillway: too many arguments for 'list'\. Expected 0 arguments but got 1\.\n/],
    [['rules', 'lint'], /^tillway: unknown command 'lint'\n/],
    [['why'], /^tillway: missing required argument 'session'\n\nUsage: +tillway routes why <session> /],
    [['why', ''], /^tillway: session must be more than ""\n/],
    [['replay'], /^tillway: missing required argument 'session'\n/],
    [['override', 'sandbox_card_backup'], /^tillway: missing required argument 'health'\n/],
    [
      ['override', 'sandbox_card_backup', 'broken'],
      /^tillway: .* Allowed choices are live, degraded, standby, automatic/,
    ],
    [['rules', 'save'], /^tillway: missing required argument 'file'\n/],
    [['dry-run'], /^tillway: missing required argument 'amount'\n/],
    [['dry-run', 'much'], /^tillway: amount takes a number, such as 49\.99, not "much"\n/],
    [['dry-run', 'NaN'], /^tillway: amount takes a number, such as 49\.99, not "NaN"\n/],
    [['dry-run', '1e300'], /^tillway: amount takes a number, such as 49\.99, not "1e300"\n/],
    [['dry-run', ''], /^tillway: amount must be more than ""\n/],
    [['dry-run', '1', '--kind', 'cash'], /^tillway: .*'--kind <kind>'.* Allowed choices are card, wallet, local/],
    [['dry-run', '1', '--metadata', 'a'], /^tillway: --metadata takes KEY=VALUE, such as orderId=A-1001, not "a"\n/],
    [['backtest', '--margin', 'x'], /^tillway: --margin takes a number, such as 0\.15, not "x"\n/],
    [
      ['backtest', '--limit', '1e999'],
      /^tillway: --limit takes a whole number of 1 or more, such as 200, not "1e999"\n/,
    ],
    [['backtest', '--limit', '0'], /^tillway: --limit takes a whole number of 1 or more/],
    [['list', '--environment', 'test'], /^tillway: .* Allowed choices are sandbox, production/],
    [['list', '--kind', 'card'], /^tillway: unknown option '--kind'\n/],
    [['list', '--colour'], /^tillway: unknown option '--colour'\n/],
    [['list', '--url', 'nonsense'], /^tillway: nonsense is not a URL such as http:/],
    [['list', '--url', 'localhost:3000'], /^tillway: localhost:3000 is not a URL such as http:/],
  ];
  for (const [args, expected] of misuse) {
    it(`exits with 2 and says what is wrong: ${args.join(' ')}`, async () => {
      assert.match(await complaint(2, env, ...args), expected);
    });
  }

  it('exits with 1 where the service refuses, and says why', async () => {
    assert.match(await complaint(1, env, 'why', 'chk_nobody'), /^tillway: No session "chk_nobody" exists\.\n/);
    await complaint(1, env, 'replay', '../rules');
    await complaint(1, env, 'override', 'nowhere', 'standby');
    await complaint(1, env, 'override', '__proto__', 'standby');
    await complaint(1, env, 'override', 'sandbox_card_backup', 'automatic');
    await complaint(1, env, 'override', 'sandbox_card_backup', 'standby', '--until', '2020-01-01T00:00:00Z');
    await complaint(1, env, 'dry-run', '0');
    await complaint(1, env, 'dry-run', `1${'0'.repeat(300)}`);
    await complaint(1, env, 'backtest', '--limit', '1001');
    assert.equal((await standings(on)).get('sandbox_card_backup')?.health, 'live');
  });

  it('exits with 1 where there is no service, or another one', async () => {
    const nobody = `http://127.0.0.1:${await freePort()}`;
    assert.match(
      await complaint(1, {}, 'list', '--url', nobody),
      new RegExp(`^tillway: ${nobody} cannot be reached: is it running\\? Start it with: tillway serve, `),
    );
    const answers: [status: number, body: string][] = [
      [200, '{}'],
      [200, 'null'],
      [200, '<html>'],
      [404, '[]'],
      [502, ''],
      [301, ''],
    ];
    let answer = answers[0]!;
    const server: Server = createServer((_request, response) => response.writeHead(answer[0]).end(answer[1]));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    try {
      for (answer of answers) {
        const said = await complaint(1, { TILLWAY_URL: url }, 'list');
        assert.ok(said.startsWith(`tillway: ${url} answered ${answer[0]}, and not as Tillway does\n`), said);
      }
    } finally {
      server.close();
    }
  });
});
