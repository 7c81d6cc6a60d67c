import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Experiment } from '../../sdk/src/index.ts';
import { attempt, createSession, startAt } from '../simulator/buyer.ts';
import { runSql } from '../support/database.ts';
import { ask, decisionsOf, saveRules, temporaryFile } from '../support/routing.ts';
import { type TestService, startTestService } from '../support/service.ts';
import { commandsOn, runIn } from './terminal.ts';

// oxlint-disable unicorn/no-thenable -- `then` is a keyword of the rule language

const LOCAL_KIND_ONLY = { version: 1, rules: [{ id: 'locals', then: { only: { kind: 'local' } } }] };

/** The width of the widest line, except for reasons: they are sentences, which may wrap. */
const widest = (text: string) => {
  const lines = text.split('\n').filter((line) => !/^[a-z]+: /.test(line));
  return Math.max(...lines.map((line) => line.length));
};
const cells = (line: string) => line.split(/ {2,}/);

describe('tillway routes', { concurrency: 2 }, () => {
  let on: TestService;
  let sessionId: string;
  before(async () => {
    on = await startTestService();
    sessionId = await createSession(on);
    await startAt(on, sessionId, 'card');
  });
  after(() => on[Symbol.asyncDispose]());
  const { stdoutOf, json, stderrOf } = commandsOn(() => on, 'routes');

  it('`tillway routes` lists the routes, best first, also as the default command', async () => {
    const listed = await stdoutOf('list');
    assert.equal(await stdoutOf(), listed);
    const [headings, ...rows] = listed.trimEnd().split('\n');
    assert.deepEqual(cells(headings!), [
      'ROUTE',
      'KIND',
      'SCORE',
      'HEALTH',
      'SUCCESS',
      'OUTCOMES',
      'FEES',
      'CHARGE',
      'WHY',
    ]);
    assert.equal(rows.length, 6);
    const [route, kind, score, health, success, , fees, charge, why] = cells(rows[0]!);
    assert.deepEqual([route, kind, health], ['sandbox_card_acquirer', 'card', 'live']);
    assert.deepEqual([score, success, fees, why], ['90.3', '93.0 %', '2.9 %', 'as configured in the catalogue']);
    assert.equal(charge, '1.9 %');
    assert.ok(widest(listed) <= 120);
    assert.match(listed, /^sandbox_local_instant .* 1\.45 % /m);
    assert.match(await stdoutOf('list', '--environment', 'production'), /^card_stripe .* no provider is connected/m);
    const { data } = await json<{ data: { id: string }[] }>('list');
    assert.deepEqual(
      data.map(({ id }) => id),
      rows.map((row) => cells(row)[0]),
    );
  });

  it('`tillway routes` shows why a session got its route', async () => {
    const why = await stdoutOf('why', sessionId);
    const [offer, attempt] = await decisionsOf(on, sessionId);
    assert.ok(why.includes(`${offer?.created}  offer  (${offer?.id})\nexploit: ${offer?.reason}\n`));
    assert.ok(why.includes(`attempt ${attempt?.paymentId}  (${attempt?.id})\n${attempt?.mode}: ${attempt?.reason}\n`));
    const tables = why.split('\n\n').map((part) => part.split('\n').filter((line) => /^(?:#|\d|-) /.test(line)));
    assert.deepEqual(cells(tables[0]![0]!), ['#', 'ROUTE', 'SCORE', 'HEALTH', 'SUCCESS', 'COST']);
    assert.deepEqual(cells(tables[1]![0]!), ['#', 'ROUTE', 'SCORE', 'HEALTH', 'SUCCESS', 'COST', 'DRAWN', 'NOTES']);
    assert.equal(cells(tables[1]![1]!)[1], attempt?.chosen);
    assert.match(why, /^- {2}sandbox_wallet_express .* the buyer chose to pay by card$/m);
    assert.ok(widest(why) <= 120, String(widest(why)));
    assert.deepEqual(await json('why', sessionId), await ask('GET', on, `decisions/${sessionId}`));
  });

  it('`tillway routes` replays the decisions of a session', async () => {
    const [headings, ...rows] = (await stdoutOf('replay', sessionId)).trimEnd().split('\n');
    assert.deepEqual(cells(headings!), ['DECISION', 'SAME BYTES', 'CHOSEN', 'AGAIN']);
    assert.deepEqual(
      rows.map((row) => cells(row)[1]),
      ['yes', 'yes'],
    );
    assert.equal((await json<{ identical: boolean }>('replay', sessionId)).identical, true);
  });

  it('`tillway routes replay` exits with 1 if a stored decision was changed', async () => {
    const tampered = await createSession(on, { preferredRoute: 'wallet' });
    const [offer] = await decisionsOf(on, tampered);
    const replaced = `REPLACE(body, '"chosen":"${offer?.chosen}"', '"chosen":"sandbox_local_ach"')`;
    await runSql(on.databaseUrl, `UPDATE routing_decisions SET body = ${replaced} WHERE id = '${offer?.id}'`);
    const { code, stdout, stderr } = await runIn(on, 'routes', 'replay', tampered);
    assert.deepEqual([code, stderr], [1, '']);
    assert.match(stdout, /^dec_\w+ {2}NO +sandbox_local_ach +sandbox_wallet_express$/m);
    const asJson = await runIn(on, 'routes', 'replay', tampered, '--json');
    assert.deepEqual([asJson.code, (JSON.parse(asJson.stdout) as { identical: boolean }).identical], [1, false]);
  });

  it('`tillway routes` overrides the health of a route, and lists the changes', async () => {
    await using service = await startTestService();
    const commands = commandsOn(() => service, 'routes');
    assert.equal(await commands.stdoutOf('history'), 'None.\n');
    const until = '2027-01-15T12:00:00Z';
    const set = ['override', 'sandbox_card_backup', 'standby', '--until', until, '--reason', 'new\nline \u001b[2J'];
    assert.equal(
      await commands.stdoutOf(...set),
      'sandbox_card_backup is standby: disabled by the operator: new line  [2J\n',
    );
    const list = await commands.stdoutOf('list');
    assert.match(
      list,
      /^sandbox_card_backup .* disabled by the operator: new line  \[2J, until 2027-01-15T12:00:00Z$/m,
    );
    const ended = await commands.json<{ health: string }>('override', 'sandbox_card_backup', 'automatic');
    assert.equal(ended.health, 'degraded');
    await commands.stdoutOf('override', 'card_stripe', 'degraded');
    const [headings, ...rows] = (await commands.stdoutOf('history')).trimEnd().split('\n');
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
    assert.equal((await commands.stdoutOf('history', 'card_stripe')).trimEnd().split('\n').length, 2);
    assert.equal((await commands.stdoutOf('history --environment sandbox --limit 1')).trimEnd().split('\n').length, 2);
    assert.equal((await commands.json<{ data: unknown[] }>('history')).data.length, 3);
  });

  it('`tillway routes` checks, saves and shows rules', async () => {
    await using service = await startTestService();
    const commands = commandsOn(() => service, 'routes');
    using good = temporaryFile('good.json', LOCAL_KIND_ONLY);
    const ruleSet = (id: string, rule: object) => ({ version: 1, rules: [{ id, ...rule }] });
    using bad = temporaryFile('bad.json', ruleSet('A', { then: { prefer: 'rt_nowhere', explore: 1 } }));
    using marked = temporaryFile('marked.json', `\u{feff}${JSON.stringify(LOCAL_KIND_ONLY)}`);
    using broken = temporaryFile('broken.json', '{');
    using closed = temporaryFile('closed.json', ruleSet('off', { then: { reject: 'closed' } }));
    const doubt = { when: { hour: 1 }, then: { only: 'card_stripe' } };
    using doubtful = temporaryFile('doubtful.json', ruleSet('r', doubt));
    for (const { path } of [good, marked]) {
      const checked = await commands.stdoutOf('rules', 'check', path);
      assert.equal(checked, 'The rules are well formed; nothing was changed.\n');
    }
    for (const { path, code, warned } of [
      { path: closed.path, code: 1, warned: ['rejects_all', 'rejects_all'] },
      { path: doubtful.path, code: 0, warned: ['no_route_left'] },
    ]) {
      const text = await runIn(service, 'routes', 'rules', 'check', path);
      const document = await runIn(service, 'routes', 'rules', 'check', path, '--json');
      const { warnings } = JSON.parse(document.stdout) as { warnings: Record<'path' | 'code' | 'message', string>[] };
      assert.deepEqual([text.code, document.code, warnings.map((each) => each.code)], [code, code, warned]);
      for (const { path, message } of warnings)
        assert.ok(text.stdout.includes(`warning: ${path} ${message}\n`), text.stdout);
    }
    assert.match(await commands.stdoutOf('rules'), /^Version 0 \(none\)\n/);
    assert.match(await commands.stdoutOf('rules', 'save', good.path), /^Version 1 \(api\)\n\{\n {2}"version": 1/);
    assert.deepEqual((await commands.json<{ ruleSet: unknown }>('rules')).ruleSet, LOCAL_KIND_ONLY);
    assert.match(await commands.stdoutOf('rules', '--version', '1'), /^Version 1 \(api\)\n/);
    for (const command of ['check', 'save']) {
      const wrong = await commands.stderrOf(1, 'rules', command, bad.path);
      assert.match(wrong, /^ {2}\S*rules\.0\.id: must be /m);
      assert.match(wrong, /^ {2}\S*rules\.0\.then\.explore: must be /m);
      assert.ok((await commands.stderrOf(2, 'rules', command, broken.path)).includes(broken.path));
      await commands.stderrOf(2, 'rules', command, `${good.path}.gone`);
    }
    await commands.stderrOf(1, 'rules', '--version', '9');
    assert.match(await commands.stdoutOf('rules'), /^Version 1 /);
  });

  it('`tillway routes` dry-runs a checkout, also with rules that are not saved', async () => {
    using rules = temporaryFile('rules.json', LOCAL_KIND_ONLY);
    assert.match(await stdoutOf('dry-run', '20'), /^exploit: sandbox_card_acquirer over /);
    assert.match(await stdoutOf('dry-run', '20', '--kind', 'wallet'), /^exploit: sandbox_wallet_express over /);
    const metadata = ['--metadata', 'a=b=c', '--metadata', 'd='];
    const withOtherRules = await stdoutOf('dry-run', '20.5', '--rules', rules.path, ...metadata);
    assert.match(withOtherRules, /^exploit: sandbox_local_\w+ over .*\n {2}rule locals: only kind local\n#/);
    assert.ok(widest(withOtherRules) <= 120);
    assert.match(await stdoutOf('dry-run', '20', '--metadata', '__proto__=x'), /^exploit: /);
    const full = ['--customer', 'a@b.co', '--product', 'x', '--environment', 'production'];
    const { environment } = await json<{ environment: string }>('dry-run', '20', ...full);
    assert.equal(environment, 'production');
    using reject = temporaryFile('reject.json', { version: 1, rules: [{ id: 'no', then: { reject: 'closed' } }] });
    assert.match(await stdoutOf('dry-run', '20', '--rules', reject.path), /^refused by a rule: closed\n/);
  });

  it('`tillway routes` backtests rules that are not saved on past decisions', async () => {
    await using service = await startTestService();
    const commands = commandsOn(() => service, 'routes');
    await saveRules(service, { id: 'first', then: { priority: 'sandbox_card_acquirer' } });
    const past = await createSession(service);
    await startAt(service, past, 'card');
    assert.match(await commands.stdoutOf('backtest'), /^0 of 1 decisions differ\.\n\n +EXPECTED SUCCESS +COST\n/);
    const other = { version: 1, rules: [{ id: 'other', then: { priority: 'sandbox_card_backup' } }] };
    using rules = temporaryFile('rules.json', other);
    const changed = await commands.stdoutOf('backtest', '--rules', rules.path);
    assert.match(changed, /^1 of 1 decisions differ\.\n/);
    const [was, is] = ['sandbox_card_acquirer', 'sandbox_card_backup'];
    const change = `2026-03-01T12:00:00Z  ${past}\n  ${was} -> ${is}\n  ${is} comes first by rule other\n`;
    assert.ok(changed.endsWith(change), changed);
    using none = temporaryFile('none.json', LOCAL_KIND_ONLY);
    assert.match(await commands.stdoutOf('backtest', '--rules', none.path), /\n {2}sandbox_card_acquirer -> none\n/);
    const options = ['--margin', '0.155', '--objective', 'total', '--limit', '1000', '--environment', 'sandbox'];
    assert.equal((await commands.json<{ decisions: number }>('backtest', ...options)).decisions, 1);
  });

  it('`tillway routes experiment` starts, shows and stops an experiment', async () => {
    await using service = await startTestService();
    const commands = commandsOn(() => service, 'routes experiment');
    assert.equal(await commands.stderrOf(1), 'tillway: there is no experiment of sandbox\n');
    assert.match(await commands.stderrOf(1, 'start'), /^tillway: variant: has no effect/);
    assert.match(await commands.stderrOf(1, 'start', '--prefer', 'rt_nowhere'), /variant\.prefer/);
    const order = ['--priority', 'sandbox_card_backup, sandbox_card_acquirer', '--objective', 'total'];
    const settings = [
      '--margin',
      '0.15',
      '--share',
      '50',
      '--minimum',
      '100',
      '--guardrail',
      '0',
      '--name',
      'Backup\n',
    ];
    const started = await commands.stdoutOf('start', ...order, ...settings);
    const { id, variant, ...experiment } = await commands.json<Experiment>('show');
    const priority = ['sandbox_card_backup', 'sandbox_card_acquirer'];
    assert.deepEqual(variant, { priority, objective: 'total', margin: 0.15 });
    assert.partialDeepStrictEqual(experiment, { share: 50, minimumSample: 100, guardrailPoints: 0, name: 'Backup\n' });
    const [head, about, , counted, , headings, ...rows] = started.split('\n');
    assert.equal(head, `${id}  Backup   (sandbox, running)`);
    assert.equal(about, '50 % of the sessions since 2026-03-01T12:00:00Z');
    assert.equal(
      counted,
      'counted at 2026-03-01T12:00:00Z: sessions whose first payment began at least 15 minutes before',
    );
    assert.deepEqual(cells(headings!), ['ARM', 'SESSIONS', 'PAID', 'RATE', 'COST']);
    assert.deepEqual(rows.slice(0, 2).map(cells), [
      ['variant', '0', '0', '-', '-'],
      ['router', '0', '0', '-', '-'],
    ]);
    assert.equal(rows[3], 'No verdict yet: an arm has fewer sessions than the minimum sample.');

    for (let index = 0; index < 24; index++) {
      const sessionId = await createSession(service, { idempotencyKey: `cli-order-${index}` });
      await attempt(service, sessionId, 'card', 'paid');
    }
    await service.pass(15 * 60_000);
    const shown = await commands.stdoutOf();
    assert.match(shown, /^variant +\d+ +\d+ +100\.0 % +\d\.\d+ %$/m);
    assert.match(shown, /^Difference: 0\.00 points \(95 % interval: -\d+\.\d\d to \+\d+\.\d\d\)\. No verdict yet/m);
    assert.match(await commands.stdoutOf('stop'), /, ended 2026-03-01T12:15:00Z by the operator\n/);
    assert.match(await commands.stdoutOf(), /\(sandbox, ended\)\n/);
    assert.equal(await commands.stderrOf(1, 'stop'), 'tillway: no experiment of sandbox is running\n');
    assert.equal(
      await commands.stderrOf(1, '--environment', 'production'),
      'tillway: there is no experiment of production\n',
    );
  });

  const misuse: [args: string[], stderrOf: RegExp][] = [
    [['nothing'], /^tillway: unknown command 'nothing'\n\nUsage: +tillway routes \[options\] \[command\]/],
    [['__proto__'], /^tillway: unknown command '__proto__'\n/],
    [['rules', 'lint'], /^tillway: unknown command 'lint'\n/],
    [['why', ''], /^tillway: session must not be ""\n/],
    [['override', 'sandbox_card_backup'], /^tillway: missing required argument 'health'\n/],
    [['override', 'sandbox_card_backup', 'broken'], /Allowed choices are live, degraded, standby, automatic/],
    [['dry-run', 'NaN'], /^tillway: amount takes a number, such as 49\.99, not "NaN"\n/],
    [['backtest', '--margin', 'x'], /^tillway: --margin takes a number, such as 0\.15, not "x"\n/],
    [['experiment', 'start', '--guardrail', 'x'], /^tillway: --guardrail takes a number, such as 1, not "x"\n/],
    [['backtest', '--limit', '1e999'], /^tillway: --limit takes a whole number of 1 or more, such as 200, not "1e999"/],
  ];
  for (const [args, expected] of misuse) {
    it(`\`tillway routes\` exits with 2 and names the mistake: ${args.join(' ')}`, async () => {
      assert.match(await stderrOf(2, ...args), expected);
    });
  }
});
