// @run needs=process
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, describe, it, test } from 'node:test';
import { createSession, start, startAt } from '../simulator/buyer.ts';
import {
  type DryRun,
  type Rules,
  ask,
  decisionsOf,
  restarted,
  routingRows,
  saveRules,
  temporaryFile,
  tryRules,
} from '../support/routing.ts';
import { type TestService, call, sessionBody, startTestService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { refused } from '../support/refusal.ts';

// oxlint-disable unicorn/no-thenable -- the rule language says then

const LOCALS_ONLY = { id: 'locals', then: { only: { kind: 'local' } } };
const BACKUP_FIRST = { id: 'backup-first', then: { priority: 'sandbox_card_backup' } };
const NO_SMALL = { id: 'no-small', when: { amount: { lt: 1 } }, then: { reject: 'too_small' } };
const HALVES = {
  id: 'halves',
  then: {
    split: [
      { route: 'sandbox_card_acquirer', pct: 50 },
      { route: 'sandbox_card_backup', pct: 50 },
    ],
  },
};

function rulesOf(on: TestService, version?: number): Promise<Rules> {
  return ask('GET', on, version === undefined ? 'rules' : `rules?version=${version}`);
}

async function offeredTo(on: TestService, wish: Record<string, unknown> = {}) {
  const [offer] = await decisionsOf(on, await createSession(on, wish));
  return offer!;
}

describe('the routing rules', () => {
  it('start empty, and every saved set is a new version', async () => {
    await using on = await startTestService();
    const none = { object: 'routing_rules', version: 0, source: 'none', ruleSet: { version: 1, rules: [] } };
    assert.deepEqual(await rulesOf(on), { ...none, warnings: [], created: null });
    const first = await saveRules(on, LOCALS_ONLY);
    assert.deepEqual([first.version, first.source, first.ruleSet.rules], [1, 'api', [LOCALS_ONLY]]);
    const second = await saveRules(on, BACKUP_FIRST, LOCALS_ONLY);
    assert.equal(second.version, 2);
    assert.deepEqual(await rulesOf(on), second);
    assert.deepEqual(await rulesOf(on, 1), first);
    assert.deepEqual((await rulesOf(on, 0)).ruleSet.rules, []);
    await refused([404, 'not_found'], 'GET', `${on.url}/api/gateway/routing/rules?version=3`);
    for (const version of ['-1', 'x', '1.5', '', '9999999999', '1&version=2', 'NaN']) {
      await refused([400, 'invalid_input'], 'GET', `${on.url}/api/gateway/routing/rules?version=${version}`);
    }
  });

  it('have no new version if the same set is saved again, in any notation', async () => {
    await using on = await startTestService();
    const first = await saveRules(on, NO_SMALL);
    assert.deepEqual(await saveRules(on, NO_SMALL), first);
    const { id, when, then } = NO_SMALL;
    assert.deepEqual(await saveRules(on, { then, when, id }), first);
    const other = await saveRules(on);
    assert.equal(other.version, 2);
    assert.equal((await saveRules(on, NO_SMALL)).version, 3);
  });

  it('are rejected as a whole, with every problem named, and the previous set stays in force', async () => {
    await using on = await startTestService();
    await saveRules(on, LOCALS_ONLY);
    const before = await routingRows(on);
    const { status, body } = await tryRules(on, {
      version: 1,
      rules: [
        BACKUP_FIRST,
        { id: 'Big', when: { amount: { gt: 250_000 } }, then: { exclude: { kind: 'cash' } } },
        { id: 'unknown', when: { colour: 'red' }, then: { prefer: 'rt_nowhere', explore: 'no' } },
        { id: 'backup-first', then: { split: [{ route: 'sandbox_card_backup', pct: 60 }] } },
      ],
    });
    assert.deepEqual([status, body.error.code], [400, 'invalid_input']);
    assert.deepEqual(
      body.error.issues?.map(({ path, code }) => `${path} ${code}`),
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
    for (const { message } of body.error.issues ?? []) assert.ok(message.length > 5);
    assert.deepEqual(await routingRows(on), before);
    assert.equal((await offeredTo(on)).chosen?.startsWith('sandbox_local_'), true);
  });

  // test/routing/rules-check.test.ts has every problem of a rule.
  it('are rejected unless the body is a rule set', async () => {
    await using on = await startTestService();
    const url = `${on.url}/api/gateway/routing/rules`;
    const shapes = ['', 'null', '[]', '7', '"rules"', '{}', '{"version":1}', '{"version":2,"rules":[]}'];
    const members = ['"__proto__":{"a":1}', '"constructor":1'].map((text) => `{"version":1,"rules":[],${text}}`);
    const rules = [
      '"then":{"smart":true,"__proto__":{"reject":"x"}}',
      '"when":{"__proto__":"x"},"then":{"smart":true}',
      '"when":{"amount":{"toString":1}},"then":{"smart":true}',
      '"when":{"amount":1e999},"then":{"smart":true}',
      '"then":{"prefer":"__proto__"}',
      String.raw`"when":{"product":"\ud800"},"then":{"smart":true}`,
    ].map((text) => `{"version":1,"rules":[{"id":"a",${text}}]}`);
    for (const body of [...shapes, ...members, ...rules]) await refused([400, 'invalid_input'], 'PUT', url, body);
    await refused([400, 'invalid_json'], 'PUT', url, '{"version":NaN,"rules":[]}');
    const filler = 'x'.repeat(128 * 1024);
    await refused([413, 'payload_too_large'], 'PUT', url, `{"version":1,"rules":[],"x":"${filler}"}`);
    await refused([415, 'unsupported_media_type'], 'PUT', url, '{}', { 'content-type': 'text/plain' });
    assert.equal((await rulesOf(on)).version, 0);
  });

  it('that are saved simultaneously get one version each, without a gap', async () => {
    await using on = await startTestService();
    const callers = Array.from({ length: 8 }, (_, index) => `caller-${index}`);
    const saved = await Promise.all(callers.map((id) => saveRules(on, { id, then: { smart: true } })));
    const versions = saved.map(({ version }) => version).toSorted((a, b) => a - b);
    assert.deepEqual(versions, [1, 2, 3, 4, 5, 6, 7, 8]);
    for (const { version, ruleSet } of saved) assert.deepEqual((await rulesOf(on, version)).ruleSet, ruleSet);
    assert.deepEqual(
      await rulesOf(on),
      saved.find(({ version }) => version === 8),
    );
  });

  it('are in force after a restart', async () => {
    await using on = await startTestService();
    const saved = await saveRules(on, LOCALS_ONLY);
    await using again = await restarted(on);
    assert.deepEqual(await rulesOf(again), saved);
    const { chosen, rulesVersion } = await offeredTo(again);
    assert.deepEqual([chosen?.startsWith('sandbox_local_'), rulesVersion], [true, 1]);
  });

  it('are in force on another instance within seconds', async () => {
    await using one = await startTestService({ live: true });
    await using other = await startTestService({ live: true, beside: one });
    const { router } = other.service.deps;
    const { refresh } = router;
    let looks = 0;
    router.refresh = async () => {
      const found = await refresh();
      // One that the database did not answer in time has seen nothing.
      looks++;
      return found;
    };
    await saveRules(one, LOCALS_ONLY);
    looks = 0;
    // The first may have begun before; a second one began after the rules were saved.
    await until(() => looks >= 2);
    assert.ok((await offeredTo(other)).chosen!.startsWith('sandbox_local_'));
  });
});

describe('a rule', () => {
  let on: TestService;
  before(async () => {
    on = await startTestService();
  });
  after(() => on[Symbol.asyncDispose]());

  it('refuses a session with 403, and an action with 400 forbidden, and nothing is stored', async () => {
    await saveRules(on, NO_SMALL);
    const before = await routingRows(on);
    const body = sessionBody({ amount: 0.5 });
    const refusal = await refused([403, 'forbidden'], 'POST', `${on.url}/api/gateway/sessions`, body);
    assert.equal(refusal.message, 'This checkout is refused by routing rule no-small: too_small.');
    for (const action of ['checkout.create', 'checkout.preview']) {
      await refused([400, 'forbidden'], 'POST', `${on.url}/api/agent/actions/${action}`, body);
    }
    assert.deepEqual(await routingRows(on), before);
    await createSession(on);
  });

  it('that leaves a session no route refuses it, with the reason for each route', async () => {
    const rules = await saveRules(on, {
      id: 'nothing-big',
      when: { amount: { gt: 500 } },
      then: { exclude: { kind: ['card', 'wallet', 'local'] } },
    });
    assert.deepEqual(
      rules.warnings.map(({ path, code }) => `${path} ${code}`),
      ['rules.0.then no_route_left', 'rules.0.then no_route_left'],
    );
    const body = sessionBody({ amount: 501 });
    const { message } = await refused([409, 'no_eligible_route'], 'POST', `${on.url}/api/gateway/sessions`, body);
    for (const route of ['sandbox_card_acquirer', 'sandbox_card_backup', 'sandbox_wallet_express']) {
      assert.ok(message.includes(`${route}: excluded by rule nothing-big`), message);
    }
    await refused([400, 'no_eligible_route'], 'POST', `${on.url}/api/agent/actions/checkout.create`, body);
    await createSession(on, { amount: 500 });
  });

  it('excludes, orders and prefers, and the explanation names it', async () => {
    await saveRules(on, { id: 'no-cards', then: { exclude: { kind: 'card' } } });
    const { candidates, chosen, rules } = await offeredTo(on);
    assert.ok(!chosen?.includes('card'));
    for (const { kind, excluded } of candidates) {
      assert.equal(excluded, kind === 'card' ? 'excluded by rule no-cards' : null);
    }
    assert.deepEqual(rules, [{ id: 'no-cards', effect: 'exclude kind card' }]);
    await saveRules(on, { id: 'first', then: { priority: ['sandbox_local_ach', 'sandbox_card_backup'] } });
    const first = await offeredTo(on);
    assert.deepEqual([first.mode, first.chosen], ['rule', 'sandbox_local_ach']);
    assert.equal(first.reason, 'sandbox_local_ach comes first by rule first');
    await saveRules(on, { id: 'wallets', then: { prefer: { kind: 'wallet' } } });
    const tiers = await offeredTo(on);
    assert.equal(tiers.mode, 'exploit');
    for (const { kind, excluded } of tiers.candidates) {
      assert.equal(excluded, kind === 'wallet' ? null : 'rule wallets prefers other routes');
    }
  });

  // test/routing/rules.test.ts checks the shares.
  it('splits sessions, or customers in any case, and the attempt has the share of the offer', async () => {
    await saveRules(on, HALVES);
    const chosen = new Set<string>();
    // All of 40 fair draws are equal once in 10^12 times.
    for (let count = 0; count < 40; count++) {
      const sessionId = await createSession(on, { customer: `buyer${count}@example.com` });
      await startAt(on, sessionId, 'card');
      const [offer, attempt] = await decisionsOf(on, sessionId);
      assert.deepEqual([offer?.mode, attempt?.mode, attempt?.chosen], ['rule', 'rule', offer?.chosen]);
      chosen.add(offer!.chosen!);
    }
    assert.deepEqual([...chosen].toSorted(), ['sandbox_card_acquirer', 'sandbox_card_backup']);
    await saveRules(on, { ...HALVES, then: { ...HALVES.then, by: 'customer' } });
    for (let buyer = 0; buyer < 10; buyer++) {
      const first = await offeredTo(on, { customer: `buyer${buyer}@example.com` });
      const again = await offeredTo(on, { customer: `BUYER${buyer}@Example.com` });
      assert.equal(first.chosen, again.chosen);
    }
  });

  it('can test metadata with any key', async () => {
    const keys = ['tier', 'constructor', 'toString', '__proto__', 'hasOwnProperty', 'Größe 🦉', 'a.b'];
    for (const key of keys) {
      await saveRules(on, { ...LOCALS_ONLY, when: { [`metadata.${key}`]: { exists: true } } });
      const without = await offeredTo(on);
      assert.deepEqual(without.rules, [], key);
      const raw = `{"product":"x","amount":9,"customer":"a@b.co","metadata":{${JSON.stringify(key)}:"vip"}}`;
      const { status, body } = await call<{ id: string }>('POST', `${on.url}/api/gateway/sessions`, raw);
      assert.equal(status, 200, key);
      assert.deepEqual((await decisionsOf(on, body.id))[0]?.rules, [{ id: 'locals', effect: 'only kind local' }], key);
    }
    const vip = { ...LOCALS_ONLY, when: { any: [{ 'metadata.tier': ['gold', 'vip'] }, { amount: { gte: 2000 } }] } };
    await saveRules(on, vip);
    assert.ok((await offeredTo(on, { metadata: { tier: 'vip' } })).chosen?.startsWith('sandbox_local_'));
    assert.ok((await offeredTo(on, { amount: 2000 })).chosen?.startsWith('sandbox_local_'));
    assert.ok(!(await offeredTo(on, { metadata: { tier: 'VIP' } })).chosen?.startsWith('sandbox_local_'));
  });

  it('changes the weight of fees, and whose cost counts', async () => {
    await saveRules(on);
    const usual = await offeredTo(on);
    await saveRules(on, { id: 'thin', then: { margin: 0.1, objective: 'total' } });
    const thin = await offeredTo(on);
    assert.notEqual(thin.chosen, usual.chosen);
    const costs = (decision: typeof usual) => new Map(decision.candidates.map(({ route, cost }) => [route, cost]));
    assert.equal(costs(usual).get('sandbox_card_acquirer'), 0.029);
    assert.equal(costs(thin).get('sandbox_card_acquirer'), 0.019);
    assert.deepEqual(thin.rules, [{ id: 'thin', effect: 'margin 0.1; objective total' }]);
  });

  it('forbids exploration, so that every attempt takes the best route', async () => {
    await saveRules(on, { id: 'calm', then: { explore: false } });
    for (let count = 0; count < 30; count++) {
      const sessionId = await createSession(on);
      await startAt(on, sessionId, 'card');
      const [, attempt] = await decisionsOf(on, sessionId);
      assert.deepEqual([attempt?.mode, attempt?.chosen], ['exploit', attempt?.greedy]);
    }
  });

  it('limits how many routes are tried, and of which kind', async () => {
    const customer = 'buyer+handoff_down@example.com';
    const triedUnder = async (then: Record<string, unknown>) => {
      await saveRules(on, { id: 'tries', then });
      const sessionId = await createSession(on, { customer });
      assert.equal((await start(on, sessionId, 'card')).outcome, 'refused');
      const [, ...attempts] = await decisionsOf(on, sessionId);
      return attempts.map(({ kind, candidates, chosen }) => {
        return [kind, candidates.find(({ route }) => route === chosen)?.kind];
      });
    };
    assert.equal((await triedUnder({ maxAttempts: 1, failover: 'any' })).length, 1);
    assert.equal((await triedUnder({ failover: 'none' })).length, 1);
    assert.deepEqual(await triedUnder({ failover: 'same_kind' }), [
      ['card', 'card'],
      ['card', 'card'],
    ]);
    const any = await triedUnder({ failover: 'any' });
    assert.equal(any.length, 3);
    assert.notEqual(any[2]?.[1], 'card');
  });
});

describe('a dry run', () => {
  let on: TestService;
  before(async () => {
    on = await startTestService();
  });
  after(() => on[Symbol.asyncDispose]());
  const dryRun = (body: unknown) => ask<DryRun>('POST', on, 'dry-run', body);

  it('returns the offer of a checkout, also under rules that are not saved', async () => {
    const usual = await dryRun({ amount: 20 });
    const offer = await offeredTo(on, { amount: 20 });
    assert.deepEqual([usual.chosen, usual.candidates], [offer.chosen, offer.candidates]);
    const supposed = await dryRun({ amount: 20, rules: { version: 1, rules: [LOCALS_ONLY] } });
    assert.ok(supposed.chosen?.startsWith('sandbox_local_'));
    assert.deepEqual(supposed.rules, [{ id: 'locals', effect: 'only kind local' }]);
    assert.equal((await rulesOf(on)).version, 0);
  });

  it('returns the route of an attempt, without drawing', async () => {
    const { purpose, kind, chosen, greedy, mode, candidates } = await dryRun({ amount: 20, kind: 'wallet' });
    assert.deepEqual([purpose, kind, mode, chosen], ['attempt', 'wallet', 'exploit', greedy]);
    assert.equal(candidates.find(({ rank }) => rank === 1)?.kind, 'wallet');
    for (const { index } of candidates) assert.equal(index, null);
  });

  it('names the rule that refuses the checkout', async () => {
    const rules = { version: 1, rules: [NO_SMALL] };
    assert.equal((await dryRun({ amount: 0.5, rules })).rejected, 'too_small');
    assert.equal((await dryRun({ amount: 5, rules })).rejected, null);
  });

  it('rejects a checkout that could not be created, and rules that could not be saved', async () => {
    const url = `${on.url}/api/gateway/routing/dry-run`;
    for (const body of [
      '{}',
      '{"amount":0}',
      '{"amount":-1}',
      '{"amount":1e999}',
      '{"amount":10000.01}',
      '{"amount":"10"}',
      '{"amount":10,"kind":"cash"}',
      '{"amount":10,"kind":"__proto__"}',
      '{"amount":10,"environment":"constructor"}',
      '{"amount":10,"customer":"nobody"}',
      '{"amount":10,"colour":"red"}',
      '{"amount":10,"__proto__":{"kind":"card"}}',
      '{"amount":10,"rules":null}',
      '{"amount":10,"rules":[]}',
      '{"amount":10,"rules":{"version":1,"rules":[{"id":"a","then":{"prefer":"rt_nowhere"}}]}}',
    ]) {
      await refused([400, 'invalid_input'], 'POST', url, body);
    }
    const { issues } = await refused([400, 'invalid_input'], 'POST', url, {
      amount: 10,
      rules: { version: 1, rules: 7 },
    });
    assert.match(String(issues?.[0]?.path), /rules$/);
  });
});

describe('a backtest', () => {
  interface Backtest {
    decisions: number;
    different: number;
    was: { expectedSuccess: number; cost: number };
    wouldBe: { expectedSuccess: number; cost: number };
    changes: { sessionId: string; was: string; wouldBe: string | null; reason: string }[];
  }
  const backtest = (on: TestService, body: unknown) => ask<Backtest>('POST', on, 'backtest', body);

  /** Ten small sessions and ten large ones, whose buyers started to pay by card. */
  async function past(on: TestService): Promise<{ small: string[]; large: string[] }> {
    const sessions = { small: new Array<string>(), large: new Array<string>() };
    for (let count = 0; count < 10; count++) {
      for (const [size, amount] of [['small', 20] as const, ['large', 400] as const]) {
        const sessionId = await createSession(on, { amount });
        await startAt(on, sessionId, 'card');
        sessions[size].push(sessionId);
      }
    }
    return sessions;
  }

  it('with the same rules finds no difference', async () => {
    await using on = await startTestService();
    await saveRules(on, HALVES, { id: 'calm', then: { explore: false } });
    await past(on);
    const rules = { version: 1, rules: [HALVES, { id: 'calm', then: { explore: false } }] };
    for (const body of [{}, { rules }, { limit: 1000 }]) {
      const { decisions, different, was, wouldBe, changes } = await backtest(on, body);
      assert.deepEqual([decisions, different, changes], [20, 0, []]);
      assert.deepEqual(was, wouldBe);
    }
    assert.equal((await backtest(on, { limit: 7 })).decisions, 7);
  });

  it('with other rules lists exactly the sessions that would differ, newest first, and writes nothing', async () => {
    await using on = await startTestService();
    await saveRules(on, { id: 'acquirer', then: { priority: 'sandbox_card_acquirer' } });
    const { large } = await past(on);
    const before = await routingRows(on);
    const rules = {
      version: 1,
      rules: [
        { id: 'large', when: { amount: { gt: 100 } }, then: { priority: 'sandbox_card_backup' } },
        { id: 'rest', then: { priority: 'sandbox_card_acquirer' } },
      ],
    };
    const { decisions, different, was, wouldBe, changes } = await backtest(on, { rules });
    assert.deepEqual([decisions, different], [20, 10]);
    assert.deepEqual(
      changes.map(({ sessionId }) => sessionId),
      large.toReversed(),
    );
    for (const change of changes) {
      assert.deepEqual(
        [change.was, change.wouldBe, change.reason],
        ['sandbox_card_acquirer', 'sandbox_card_backup', 'sandbox_card_backup comes first by rule large'],
      );
    }
    assert.deepEqual([was.expectedSuccess, wouldBe.expectedSuccess], [0.93, 0.915]);
    assert.deepEqual(await routingRows(on), before);
  });

  it('lists the sessions that the rules would refuse', async () => {
    await using on = await startTestService();
    const { large } = await past(on);
    const rules = {
      version: 1,
      rules: [{ id: 'small', when: { amount: { gt: 100 } }, then: { reject: 'too_large' } }],
    };
    const { different, changes } = await backtest(on, { rules });
    assert.equal(different, 10);
    assert.deepEqual(
      changes.map(({ sessionId, wouldBe }) => [sessionId, wouldBe]),
      large.toReversed().map((id) => [id, null]),
    );
  });

  it('rejects invalid parameters', async () => {
    await using on = await startTestService();
    const url = `${on.url}/api/gateway/routing/backtest`;
    for (const body of [
      { limit: 0 },
      { limit: 1001 },
      { limit: 1.5 },
      { limit: '5' },
      { margin: 0 },
      { margin: 1.01 },
      { objective: 'constructor' },
      { environment: '__proto__' },
      { rules: { version: 1, rules: [{ id: 'a', then: { only: 'rt_nowhere' } }] } },
      { sessions: [] },
    ]) {
      await refused([400, 'invalid_input'], 'POST', url, body);
    }
    assert.equal((await call('POST', url, { margin: 0.155 })).status, 200);
    const { message } = await refused([400, 'invalid_input'], 'POST', url, { margin: 2 });
    assert.equal(message, 'margin: must be a number greater than 0 and at most 1, not 2.');
  });
});

describe('rules of a file', () => {
  it('are in force from the start, and the API cannot change them', async () => {
    using file = temporaryFile('rules.json', { version: 1, rules: [LOCALS_ONLY] });
    const variables = { ROUTING_RULES_FILE: file.path };
    await using on = await startTestService({ variables });
    const { version, source, ruleSet } = await rulesOf(on);
    assert.deepEqual([version, source, ruleSet.rules], [1, 'file', [LOCALS_ONLY]]);
    assert.ok((await offeredTo(on)).chosen?.startsWith('sandbox_local_'));
    const url = `${on.url}/api/gateway/routing/rules`;
    const { suggestion } = await refused([409, 'invalid_state'], 'PUT', url, { version: 1, rules: [] });
    assert.match(suggestion, /ROUTING_RULES_FILE/);
    assert.equal((await rulesOf(on)).version, 1);
    await using again = await restarted(on, { variables });
    assert.equal((await rulesOf(again)).version, 1);
  });

  it('that becomes invalid keeps the previous rules in force, and the error is logged', async () => {
    using file = temporaryFile('rules.json', { version: 1, rules: [LOCALS_ONLY] });
    const variables = { ROUTING_RULES_FILE: file.path };
    await using on = await startTestService({ variables });
    for (const broken of ['{', '{"version":1,"rules":[{"id":"a","then":{"prefer":"rt_nowhere"}}]}', '\u0000']) {
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

  it('that is unreadable prevents the start on a fresh database', async () => {
    for (const [content, name] of [
      ['{"version":1,', 'rules.json'],
      ['{"version":1,"rules":[{"id":"a","then":{"prefer":"rt_nowhere"}}]}', 'rules.json'],
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

test('rejecting a large rule set costs little processor time', async () => {
  await using on = await startTestService();
  const rules = Array.from({ length: 2000 }, (_, index) => ({ id: `r${index}`, when: { x: 1 }, then: { y: 2 } }));
  const body = JSON.stringify({ version: 1, rules });
  assert.ok(body.length < 128 * 1024);
  // Of the processor: how long it is left to others says nothing.
  const before = process.cpuUsage();
  const { error } = (await tryRules(on, body)).body;
  const { user, system } = process.cpuUsage(before);
  assert.ok((error.issues?.length ?? 0) <= 51);
  assert.ok(user + system < 2_000_000, `${user + system} us`);
});
