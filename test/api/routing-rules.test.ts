// @run needs=process
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import type { RoutingBacktest } from '../../sdk/src/index.ts';
import { createSession, startAt } from '../simulator/buyer.ts';
import { gatewayOf, pick } from '../support/gateway.ts';
import { refused } from '../support/refusal.ts';
import {
  type DryRun,
  type Rules,
  ask,
  decisionsOf,
  restarted,
  routingRows,
  saveRules,
  temporaryFile,
} from '../support/routing.ts';
import { type TestService, sessionBody, startTestService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { suiteService } from '../support/suite.ts';

// oxlint-disable unicorn/no-thenable -- the rule language says then

const LOCALS_ONLY = { id: 'locals', then: { only: { kind: 'local' } } };
const BACKUP_FIRST = { id: 'backup-first', then: { priority: 'sandbox_card_backup' } };
const NO_SMALL = { id: 'no-small', when: { amount: { lt: 1 } }, then: { reject: 'too_small' } };
const CALM = { id: 'calm', then: { explore: false } };
const SPLIT = ['sandbox_card_acquirer', 'sandbox_card_backup'].map((route) => ({ route, pct: 50 }));
const HALVES = { id: 'halves', then: { split: SPLIT } };
/** Invalid rules: they name a route that does not exist. */
const INVALID = '{"version":1,"rules":[{"id":"a","then":{"prefer":"rt_nowhere"}}]}';

const setOf = (...rules: unknown[]) => ({ version: 1, rules });

function rulesOf(on: TestService, version?: number): Promise<Rules> {
  return ask('GET', on, version === undefined ? 'rules' : `rules?version=${version}`);
}

async function offerOf(on: TestService, fields: Record<string, unknown> = {}) {
  const [offer] = await decisionsOf(on, await createSession(on, fields));
  return offer!;
}

const isLocal = ({ chosen }: { chosen: string | null }) => chosen!.startsWith('sandbox_local_');

/** Sends a request about routing that must be refused with 400 `invalid_input`. */
function rejected(on: TestService, request: string, body?: unknown) {
  return gatewayOf(on).refused('400 invalid_input', request.replace(' ', ' routing/'), body);
}

describe('the routing rules', () => {
  it('the routing rules are empty at first, and every saved rule set is a new version', async () => {
    await using on = await startTestService();
    const none = { object: 'routing_rules', version: 0, source: 'none', ruleSet: setOf() };
    assert.deepEqual(await rulesOf(on), { ...none, warnings: [], created: null });
    const first = await saveRules(on, LOCALS_ONLY);
    assert.deepEqual([first.version, first.source, first.ruleSet.rules], [1, 'api', [LOCALS_ONLY]]);
    const second = await saveRules(on, BACKUP_FIRST, LOCALS_ONLY);
    assert.equal(second.version, 2);
    assert.deepEqual(await rulesOf(on), second);
    assert.deepEqual(await rulesOf(on, 1), first);
    assert.deepEqual((await rulesOf(on, 0)).ruleSet.rules, []);
    await gatewayOf(on).refused('404 not_found', 'GET routing/rules?version=3');
    for (const version of ['-1', 'x', '1.5', '', '9999999999', '1&version=2', 'NaN'])
      await rejected(on, `GET rules?version=${version}`);
    assert.match((await rejected(on, 'GET rules?version=9999999999')).suggestion ?? '', /from 0 to 999999999;/);
  });

  it('the version of the routing rules stays the same if an equal rule set is saved again, also in another JSON notation', async () => {
    await using on = await startTestService();
    const first = await saveRules(on, NO_SMALL);
    const { id, when, then } = NO_SMALL;
    for (const rule of [NO_SMALL, { then, when, id }]) assert.deepEqual(await saveRules(on, rule), first);
    assert.equal((await saveRules(on)).version, 2);
    assert.equal((await saveRules(on, NO_SMALL)).version, 3);
  });

  it('the routing rules are rejected as a whole with every problem named, and the previous rule set stays active', async () => {
    await using on = await startTestService();
    await saveRules(on, LOCALS_ONLY);
    const before = await routingRows(on);
    const { issues } = await rejected(on, 'PUT rules', {
      version: 1,
      rules: [
        BACKUP_FIRST,
        { id: 'Big', when: { amount: { gt: 250_000 } }, then: { exclude: { kind: 'cash' } } },
        { id: 'unknown', when: { colour: 'red' }, then: { prefer: 'rt_nowhere', explore: 'no' } },
        { id: 'backup-first', then: { split: [{ route: 'sandbox_card_backup', pct: 60 }] } },
      ],
    });
    assert.deepEqual(
      issues.map(({ path, code }) => `${path} ${code}`),
      [
        'rules.1.id invalid_format',
        'rules.1.when.amount.gt invalid_value',
        'rules.1.then.exclude.kind invalid_value',
        'rules.2.when.colour unrecognized_keys',
        'rules.2.then.explore invalid_type',
        'rules.3.id duplicate_id',
        'rules.3.then.split not_100_percent',
      ],
    );
    for (const { message } of issues) assert.ok(message.length > 5);
    assert.deepEqual(await routingRows(on), before);
    assert.ok(isLocal(await offerOf(on)));
  });

  // test/routing/rules-check.test.ts tests every problem of a rule.
  it('PUT routing/rules rejects a body that is not a rule set', async () => {
    await using on = await startTestService();
    const url = `${on.url}/api/gateway/routing/rules`;
    const bodies = ['', 'null', '[]', '7', '"rules"', '{}', '{"version":1}', '{"version":2,"rules":[]}'];
    for (const member of ['"__proto__":{"a":1}', '"constructor":1']) bodies.push(`{"version":1,"rules":[],${member}}`);
    for (const body of bodies) await rejected(on, 'PUT rules', body);
    await refused([400, 'invalid_json'], 'PUT', url, '{"version":NaN,"rules":[]}');
    await refused([413, 'payload_too_large'], 'PUT', url, { ...setOf(), x: 'x'.repeat(128 * 1024) });
    await refused([415, 'unsupported_media_type'], 'PUT', url, '{}', { 'content-type': 'text/plain' });
    assert.equal((await rulesOf(on)).version, 0);
  });

  it('routing rules that are saved simultaneously get consecutive versions', async () => {
    await using on = await startTestService();
    const callers = Array.from({ length: 8 }, (_, index) => ({ id: `caller-${index}`, then: { smart: true } }));
    const saved = (await Promise.all(callers.map((rule) => saveRules(on, rule)))).toSorted(
      (a, b) => a.version - b.version,
    );
    for (const [index, { version, ruleSet }] of saved.entries()) {
      assert.equal(version, index + 1);
      assert.deepEqual((await rulesOf(on, version)).ruleSet, ruleSet);
    }
    assert.deepEqual(await rulesOf(on), saved.at(-1));
  });

  it('the routing rules are active on another instance within seconds', async () => {
    await using one = await startTestService({ live: true });
    await using other = await startTestService({ live: true, beside: one });
    const { router } = other.service.deps;
    const { refresh } = router;
    let refreshes = 0;
    router.refresh = async () => {
      const found = await refresh();
      // A refresh without an answer from the database is not counted.
      refreshes++;
      return found;
    };
    await saveRules(one, LOCALS_ONLY);
    refreshes = 0;
    // The first counted refresh may have started before the rules were saved; the second started after it.
    await until(() => refreshes >= 2);
    assert.ok(isLocal(await offerOf(other)));
  });
});

describe('a routing rule', () => {
  const on = suiteService();

  const refuseCheckout = (expected: string, amount: number) =>
    gatewayOf(on).refused(expected, 'POST sessions', sessionBody({ amount }));
  const refuseAction = (code: string, action: string, amount: number) =>
    refused([400, code], 'POST', `${on.url}/api/agent/actions/${action}`, sessionBody({ amount }));

  it('a routing rule that rejects a checkout answers 403 for a session and 400 forbidden for an action, and stores nothing', async () => {
    await saveRules(on, NO_SMALL);
    const before = await routingRows(on);
    const { message } = await refuseCheckout('403 forbidden', 0.5);
    assert.equal(message, 'This checkout is refused by routing rule no-small: too_small.');
    for (const action of ['checkout.create', 'checkout.preview']) await refuseAction('forbidden', action, 0.5);
    assert.deepEqual(await routingRows(on), before);
    await createSession(on);
  });

  it('a routing rule that excludes every route rejects the session, with the reason for each route', async () => {
    const effect = { exclude: { kind: ['card', 'wallet', 'local'] } };
    const { warnings } = await saveRules(on, { id: 'nothing-big', when: { amount: { gt: 500 } }, then: effect });
    assert.equal(warnings.length, 2);
    for (const { path, code } of warnings) assert.deepEqual([path, code], ['rules.0.then', 'no_route_left']);
    const { message } = await refuseCheckout('409 no_eligible_route', 501);
    for (const route of ['sandbox_card_acquirer', 'sandbox_card_backup', 'sandbox_wallet_express'])
      assert.ok(message.includes(`${route}: excluded by rule nothing-big`), message);
    await refuseAction('no_eligible_route', 'checkout.create', 501);
    await createSession(on, { amount: 500 });
  });

  it('a routing rule can exclude, order and prefer routes, and the explanation names the rule', async () => {
    await saveRules(on, { id: 'no-cards', then: { exclude: { kind: 'card' } } });
    const { candidates, chosen, rules } = await offerOf(on);
    assert.ok(!chosen?.includes('card'));
    for (const { kind, excluded } of candidates)
      assert.equal(excluded, kind === 'card' ? 'excluded by rule no-cards' : null);
    assert.deepEqual(rules, [{ id: 'no-cards', effect: 'exclude kind card' }]);
    await saveRules(on, { id: 'first', then: { priority: ['sandbox_local_ach', 'sandbox_card_backup'] } });
    const first = await offerOf(on);
    assert.deepEqual([first.mode, first.chosen], ['rule', 'sandbox_local_ach']);
    assert.equal(first.reason, 'sandbox_local_ach comes first by rule first');
    await saveRules(on, { id: 'wallets', then: { prefer: { kind: 'wallet' } } });
    const preferred = await offerOf(on);
    assert.equal(preferred.mode, 'exploit');
    for (const { kind, excluded } of preferred.candidates)
      assert.equal(excluded, kind === 'wallet' ? null : 'rule wallets prefers other routes');
  });
});

describe('a dry run of routing', () => {
  const on = suiteService();
  const dryRun = (body: unknown) => ask<DryRun>('POST', on, 'dry-run', body);

  it('a dry run of routing returns the offer of a checkout, also for rules that are not saved', async () => {
    const usual = await dryRun({ amount: 20 });
    const offer = await offerOf(on, { amount: 20 });
    assert.deepEqual([usual.chosen, usual.candidates], [offer.chosen, offer.candidates]);
    const supposed = await dryRun({ amount: 20, rules: setOf(LOCALS_ONLY) });
    assert.ok(isLocal(supposed));
    assert.deepEqual(supposed.rules, [{ id: 'locals', effect: 'only kind local' }]);
    assert.equal((await rulesOf(on)).version, 0);
  });

  it('a dry run of routing returns the route of an attempt, without exploration', async () => {
    const { purpose, kind, chosen, greedy, mode, candidates } = await dryRun({ amount: 20, kind: 'wallet' });
    assert.deepEqual([purpose, kind, mode, chosen], ['attempt', 'wallet', 'exploit', greedy]);
    assert.equal(candidates.find(({ rank }) => rank === 1)?.kind, 'wallet');
    for (const { index } of candidates) assert.equal(index, null);
  });

  it('a dry run of routing names the rule that rejects the checkout', async () => {
    const rules = setOf(NO_SMALL);
    assert.equal((await dryRun({ amount: 0.5, rules })).rejected, 'too_small');
    assert.equal((await dryRun({ amount: 5, rules })).rejected, null);
  });

  it('a dry run of routing rejects an invalid checkout and invalid rules', async () => {
    for (const amount of ['0', '-1', '1e999', '10000.01', '"10"'])
      await rejected(on, 'POST dry-run', `{"amount":${amount}}`);
    await rejected(on, 'POST dry-run', '{}');
    for (const member of [
      '"kind":"cash"',
      '"__proto__":{"kind":"card"}',
      '"rules":null',
      '"rules":[]',
      `"rules":${INVALID}`,
    ])
      await rejected(on, 'POST dry-run', `{"amount":10,${member}}`);
    const { issues } = await rejected(on, 'POST dry-run', { amount: 10, rules: { version: 1, rules: 7 } });
    assert.match(issues[0]!.path, /rules$/);
  });
});

describe('a backtest of routing rules', () => {
  const backtest = (on: TestService, body: unknown) => ask<RoutingBacktest>('POST', on, 'backtest', body);

  /** Creates ten small and ten large sessions with started card payments; returns the large sessions, newest first. */
  async function past(on: TestService): Promise<string[]> {
    const large: string[] = [];
    for (let count = 0; count < 10; count++) {
      for (const amount of [20, 400]) {
        const sessionId = await createSession(on, { amount });
        await startAt(on, sessionId, 'card');
        if (amount === 400) large.unshift(sessionId);
      }
    }
    return large;
  }

  it('a backtest of routing rules with the current rules finds no difference', async () => {
    await using on = await startTestService();
    await saveRules(on, HALVES, CALM);
    await past(on);
    for (const body of [{}, { rules: setOf(HALVES, CALM) }, { limit: 1000 }]) {
      const { decisions, different, was, wouldBe, changes } = await backtest(on, body);
      assert.deepEqual([decisions, different, changes], [20, 0, []]);
      assert.deepEqual(was, wouldBe);
    }
    assert.equal((await backtest(on, { limit: 7 })).decisions, 7);
  });

  it('a backtest of routing rules with other rules lists exactly the sessions that would get another route, newest first, and writes nothing', async () => {
    await using on = await startTestService();
    const rest = { id: 'rest', then: { priority: 'sandbox_card_acquirer' } };
    await saveRules(on, rest);
    const large = await past(on);
    const before = await routingRows(on);
    const backup = { id: 'large', when: { amount: { gt: 100 } }, then: { priority: 'sandbox_card_backup' } };
    const { decisions, different, was, wouldBe, changes } = await backtest(on, { rules: setOf(backup, rest) });
    assert.deepEqual([decisions, different], [20, 10]);
    const change = ['sandbox_card_acquirer', 'sandbox_card_backup', 'sandbox_card_backup comes first by rule large'];
    assert.deepEqual(
      pick(changes, 'sessionId', 'was', 'wouldBe', 'reason'),
      large.map((id) => [id, ...change]),
    );
    assert.deepEqual([was.expectedSuccess, wouldBe.expectedSuccess], [0.93, 0.915]);
    const tooLarge = { id: 'small', when: backup.when, then: { reject: 'too_large' } };
    const rejections = await backtest(on, { rules: setOf(tooLarge, rest) });
    assert.deepEqual(
      pick(rejections.changes, 'sessionId', 'wouldBe'),
      large.map((id) => [id, null]),
    );
    assert.deepEqual(await routingRows(on), before);
  });

  it('a backtest of routing rules rejects invalid parameters', async () => {
    await using on = await startTestService();
    for (const body of [
      ...[0, 1001, 1.5, '5'].map((limit) => ({ limit })),
      ...[0, 1.01].map((margin) => ({ margin })),
      { objective: 'constructor' },
      { environment: '__proto__' },
      { rules: JSON.parse(INVALID) as object },
      { sessions: [] },
    ])
      await rejected(on, 'POST backtest', body);
    await backtest(on, { margin: 0.155 });
    const { message } = await rejected(on, 'POST backtest', { margin: 2 });
    assert.equal(message, 'margin: must be a number greater than 0 and at most 1, not 2.');
  });
});

describe('routing rules from a file', () => {
  it('routing rules from a file are active from the start, and the API cannot change them', async () => {
    using file = temporaryFile('rules.json', `\u{feff}${JSON.stringify(setOf(LOCALS_ONLY))}`);
    const variables = { ROUTING_RULES_FILE: file.path };
    await using on = await startTestService({ variables });
    const { version, source, ruleSet } = await rulesOf(on);
    assert.deepEqual([version, source, ruleSet.rules], [1, 'file', [LOCALS_ONLY]]);
    assert.ok(isLocal(await offerOf(on)));
    const { suggestion } = await gatewayOf(on).refused('409 invalid_state', 'PUT routing/rules', setOf());
    assert.match(suggestion, /ROUTING_RULES_FILE/);
    assert.equal((await rulesOf(on)).version, 1);
    await using again = await restarted(on, { variables });
    assert.equal((await rulesOf(again)).version, 1);
  });

  it('routing rules from a file stay active if the file becomes invalid, and the error is logged', async () => {
    using file = temporaryFile('rules.json', setOf(LOCALS_ONLY));
    const variables = { ROUTING_RULES_FILE: file.path };
    await using on = await startTestService({ variables });
    for (const broken of ['{', INVALID, '\u0000']) {
      writeFileSync(file.path, broken);
      await using again = await restarted(on, { variables });
      assert.deepEqual((await rulesOf(again)).ruleSet.rules, [LOCALS_ONLY]);
      const errors = again.logged.filter((line) => line.includes('"level":50'));
      assert.equal(errors.length, 1);
      assert.match(errors[0]!, /the routing rules in \S+ are wrong; version 1 stays in force/);
    }
    await using again = await restarted(on, { variables: { ROUTING_RULES_FILE: `${file.path}.gone` } });
    assert.deepEqual((await rulesOf(again)).ruleSet.rules, [LOCALS_ONLY]);
  });

  it('routing rules from a file prevent the start on a new database if the file is unreadable', async () => {
    for (const [content, name] of [
      ['{"version":1,', 'rules.json'],
      [INVALID, 'rules.json'],
      ['', 'rules.json'],
      ['', 'missing.json'],
      ['', '.'],
    ] as const) {
      using file = temporaryFile('rules.json', content);
      const path = join(dirname(file.path), name);
      await assert.rejects(startTestService({ variables: { ROUTING_RULES_FILE: path } }), (error: Error) =>
        error.message.startsWith(`the routing rules in ${path} are wrong: `),
      );
    }
  });
});
