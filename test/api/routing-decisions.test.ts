import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { DEFAULT_POLICY } from '../../src/routing/routing-policy.ts';
import { createSession, start, startAt } from '../simulator/buyer.ts';
import { runSql } from '../support/database.ts';
import { connect, startFakeProvider } from '../support/fake-provider.ts';
import { paymentsOf } from '../support/gateway.ts';
import {
  type Decision,
  ask,
  decisionsOf,
  replayOf,
  restarted,
  routingBodies,
  routingRows,
  saveRules,
  twinRoutes,
} from '../support/routing.ts';
import { type TestService, call, sessionBody, startTestService } from '../support/service.ts';
import { suiteService } from '../support/suite.ts';

// oxlint-disable unicorn/no-thenable -- the rule language says then

const LOCALS_ONLY = { id: 'locals', then: { only: { kind: 'local' } } };

interface Chosen {
  id: string;
  route: { id: string };
  feeSplit: Record<string, number>;
}

const BATCH_SIZE = 20;
/**
 * One decision in 100 takes the least recently tried route, so 6000 sessions contain one almost certainly. No worker reads outcomes in
 * between, so the router takes every route for untried.
 */
const MAX_SESSIONS = 6000;

async function act({ url }: TestService, action: string, body: unknown): Promise<Chosen> {
  const { status, body: answer } = await call<{ result: Chosen }>('POST', `${url}/api/agent/actions/${action}`, body);
  assert.equal(status, 200, JSON.stringify(answer));
  return answer.result;
}

describe('the decisions about a session', () => {
  const on = suiteService();

  it('the first routing decision of a session is the offer, with the scores of every route of the environment', async () => {
    const sessionId = await createSession(on);
    const [offer, ...others] = await decisionsOf(on, sessionId);
    assert.ok(offer);
    assert.equal(others.length, 0);
    const { chosen, candidates } = offer;
    const none = { paymentId: null, seed: null, tokensBefore: null };
    assert.partialDeepStrictEqual(offer, { purpose: 'offer', mode: 'exploit', greedy: chosen, ...none });
    const ranks = candidates.map(({ rank }) => rank!).toSorted((a, b) => a - b);
    assert.deepEqual(ranks, [1, 2, 3, 4, 5, 6]);
    assert.equal(candidates.find(({ rank }) => rank === 1)?.route, chosen);
    assert.match(offer.reason, new RegExp(`^${chosen} over \\w+: expected success [\\d.]+ % against [\\d.]+ %, cost `));
    for (const { score, low, expectedSuccess, high } of candidates) {
      assert.ok(score >= 0 && score <= 100);
      assert.ok(0 <= low && low <= expectedSuccess && expectedSuccess <= high && high <= 1);
    }
  });

  it('the routing decisions about a session contain the attempt and the route of its payment once the buyer has started to pay', async () => {
    const sessionId = await createSession(on);
    await startAt(on, sessionId, 'wallet');
    const [offer, attempt, ...others] = await decisionsOf(on, sessionId);
    assert.equal(others.length, 0);
    const payments = await paymentsOf(on, sessionId);
    assert.deepEqual(
      payments.map(({ id, route }) => [id, route.id]),
      [[attempt?.paymentId, attempt?.chosen]],
    );
    assert.deepEqual([offer?.purpose, attempt?.purpose, attempt?.kind], ['offer', 'attempt', 'wallet']);
    assert.match(String(attempt?.seed), /^[0-9a-f]{16}$/);
    for (const { kind, rank, excluded, index } of attempt!.candidates) {
      const isWallet = kind === 'wallet';
      assert.deepEqual([rank !== null, index !== null], [isWallet, isWallet]);
      assert.equal(excluded, isWallet ? null : 'the buyer chose to pay by wallet');
    }
  });

  it('the routing decisions about a session contain one more decision for each failover, which names the refusing route', async () => {
    const sessionId = await createSession(on, { customer: 'buyer+handoff_error@example.com' });
    await startAt(on, sessionId, 'card');
    const [, first, second, ...others] = await decisionsOf(on, sessionId);
    assert.equal(others.length, 0);
    assert.notEqual(first?.paymentId, second?.paymentId);
    assert.notEqual(first?.chosen, second?.chosen);
    const refusing = second?.candidates.find(({ route }) => route === first?.chosen);
    assert.match(String(refusing?.excluded), /^did not take this payment: /);
    assert.ok(second);
    const ranked = second.candidates.filter(({ rank }) => rank !== null);
    assert.deepEqual(
      ranked.map(({ route }) => route),
      [second.chosen],
    );
    const routes = new Map((await paymentsOf(on, sessionId)).map(({ id, route }) => [id, route.id]));
    for (const { paymentId, chosen } of [first!, second]) assert.equal(routes.get(paymentId!), chosen);
  });

  it('the routing decisions about a session contain no buyer data and no metadata, neither in the response nor in the database', async () => {
    await using provider = await startFakeProvider();
    await using shop = await startTestService();
    await saveRules(
      shop,
      { id: 'vip', when: { 'metadata.tier': 'secret-tier' }, then: { explore: false } },
      {
        id: 'by-customer',
        when: { customer: { prefix: 'private.person' } },
        then: { split: [{ route: 'sandbox_card_backup', pct: 100 }], by: 'customer' },
      },
    );
    const sessionId = await createSession(shop, {
      customer: 'private.person@example.com',
      product: 'Embarrassing thing',
      metadata: { tier: 'secret-tier', note: 'secret-note' },
      clientReferenceId: 'secret-reference',
    });
    provider.answer = 'refuse';
    connect(shop.service, provider);
    assert.equal((await start(shop, sessionId, 'card')).outcome, 'refused');
    const decisions = await decisionsOf(shop, sessionId);
    assert.deepEqual(
      decisions[0]?.rules.map(({ id }) => id),
      ['vip', 'by-customer'],
    );
    assert.ok(decisions.length >= 2);
    const published = `${JSON.stringify(decisions)}${await routingBodies(shop)}`;
    assert.ok(published.includes(sessionId));
    assert.doesNotMatch(published, /private\.person|secret-|Embarrassing/i);
  });
});

describe('a replay of routing decisions', () => {
  /** Starts card payments until both exploration modes (`explore` and `floor`) have occurred; returns the sessions. */
  async function startUntilExplored(on: TestService): Promise<{ id: string; decisions: Decision[] }[]> {
    const sessions: { id: string; decisions: Decision[] }[] = [];
    const modes = new Set<string>();
    while (!(modes.has('explore') && modes.has('floor')) && sessions.length < MAX_SESSIONS) {
      const some = await Promise.all(
        Array.from({ length: BATCH_SIZE }, async () => {
          const id = await createSession(on);
          assert.equal((await start(on, id, 'card')).outcome, 'continue');
          return { id, decisions: await decisionsOf(on, id) };
        }),
      );
      for (const { decisions } of some) modes.add(decisions[1]!.mode);
      sessions.push(...some);
    }
    assert.deepEqual([...modes].toSorted(), ['exploit', 'explore', 'floor']);
    return sessions;
  }

  const same = { identical: true, note: null };

  async function assertReplays(on: TestService, sessions: readonly { id: string; decisions: Decision[] }[]) {
    for (const { id, decisions } of sessions) {
      const { identical, decisions: replayed } = await replayOf(on, id);
      assert.ok(identical, id);
      const expected = decisions.map((decision) => ({
        ...same,
        id: decision.id,
        chosen: decision.chosen,
        again: decision.chosen,
      }));
      assert.deepEqual(replayed, expected);
    }
  }

  it('a replay of routing decisions gives identical decisions for offers and attempts, including exploration, also after a restart', async () => {
    using routes = twinRoutes();
    await using provider = await startFakeProvider();
    provider.answer = 'accept_without_page';
    const variables = { ROUTES_FILE: routes.path };
    await using on = await startTestService({ variables });
    connect(on.service, provider);
    const sessions = await startUntilExplored(on);
    const rare = sessions.filter(({ decisions }) => decisions[1]!.mode !== 'exploit').slice(-10);
    const some = [...sessions.slice(0, 10), ...rare];
    await assertReplays(on, some);
    for (const { decisions } of rare) {
      const { mode, chosen, greedy, exploreLoss, tokensBefore, tokensAfter } = decisions[1]!;
      if (mode === 'explore') assert.notEqual(chosen, greedy);
      assert.ok(exploreLoss >= 0 && exploreLoss < 0.05);
      assert.ok(tokensBefore! >= 0 && tokensAfter! >= 0 && tokensAfter! <= 1);
    }
    await using again = await restarted(on, { variables });
    assert.notEqual(again.service.deps.router.seed, on.service.deps.router.seed);
    await assertReplays(again, some);
    for (const { id, decisions } of some.slice(0, 5)) assert.deepEqual(await decisionsOf(again, id), decisions);
  });

  it('a replay of routing decisions gives identical decisions after a failover and for rules that are no longer active', async () => {
    await using on = await startTestService();
    await saveRules(on, {
      id: 'costly',
      then: { margin: 0.1, objective: 'total', failover: 'any', prefer: 'sandbox_card_backup' },
    });
    const sessionId = await createSession(on, { customer: 'buyer+handoff_error@example.com' });
    await startAt(on, sessionId, 'card');
    await saveRules(on);
    await on.pass(3600_000);
    const decisions = await decisionsOf(on, sessionId);
    const versions = decisions.map(({ rulesVersion }) => rulesVersion);
    assert.deepEqual(versions, [1, 1, 1]);
    await assertReplays(on, [{ id: sessionId, decisions }]);
  });

  it('a replay of routing decisions reports a stored decision that was modified', async () => {
    await using on = await startTestService();
    const sessionId = await createSession(on);
    await startAt(on, sessionId, 'card');
    const [offer, attempt] = (await decisionsOf(on, sessionId)) as [Decision, Decision];
    const other = attempt.chosen === 'sandbox_card_backup' ? 'sandbox_card_acquirer' : 'sandbox_card_backup';
    const body = `REPLACE(body, '"chosen":"${attempt.chosen}"', '"chosen":"${other}"')`;
    await runSql(on.databaseUrl, `UPDATE routing_decisions SET body = ${body} WHERE id = '${attempt.id}'`);
    const { identical, decisions } = await replayOf(on, sessionId);
    assert.equal(identical, false);
    assert.deepEqual(decisions, [
      { ...same, id: offer.id, chosen: offer.chosen, again: offer.chosen },
      { id: attempt.id, identical: false, chosen: other, again: attempt.chosen, note: null },
    ]);
  });

  it('a replay of routing decisions reports a modified snapshot, and a decision made by another algorithm', async () => {
    await using on = await startTestService();
    const sessionId = await createSession(on);
    const [offer] = await decisionsOf(on, sessionId);
    await runSql(on.databaseUrl, `UPDATE routing_snapshots SET body = REPLACE(body, '"p":0.93', '"p":0.13')`);
    const { identical, decisions } = await replayOf(on, sessionId);
    assert.deepEqual([identical, decisions[0]?.identical], [false, false]);
    assert.notEqual(decisions[0]?.again, offer?.chosen);
    await runSql(
      on.databaseUrl,
      `UPDATE routing_decisions SET body = REPLACE(body, '"${DEFAULT_POLICY.algorithm}"', '"sdts/1"')`,
    );
    assert.equal((await replayOf(on, sessionId)).decisions[0]?.note, 'decided by algorithm sdts/1');
  });
});

describe('a request that only reads', () => {
  it('a read-only routing request returns the same route and fees as checkout.create', async () => {
    await using on = await startTestService();
    for (const fields of [{}, { preferredRoute: 'local' }, { preferredRoute: 'wallet', amount: 1234.56 }]) {
      const body = sessionBody(fields);
      const preview = await act(on, 'checkout.preview', body);
      const created = await act(on, 'checkout.create', body);
      const { preferredRoute, amount } = body;
      const fees = await act(on, 'fees.estimate', { amount, ...(preferredRoute !== undefined && { preferredRoute }) });
      assert.deepEqual([preview.route, preview.feeSplit], [created.route, created.feeSplit]);
      assert.deepEqual([fees.route, fees.feeSplit], [created.route, created.feeSplit]);
      assert.equal((await decisionsOf(on, created.id))[0]?.chosen, created.route.id);
    }
  });

  it('a read-only routing request returns the best known route, without exploration', async () => {
    using routes = twinRoutes();
    await using provider = await startFakeProvider();
    provider.answer = 'accept_without_page';
    await using on = await startTestService({ variables: { ROUTES_FILE: routes.path } });
    connect(on.service, provider);
    const readOnlyAnswers = async () => ({
      routes: (await call<unknown>('GET', `${on.url}/api/agent/routes`)).body,
      fees: await act(on, 'fees.estimate', { amount: 20, preferredRoute: 'card' }),
    });
    const before = await readOnlyAnswers();
    const attemptedRoutes = new Set<string>();
    for (let count = 0; count < 60 && attemptedRoutes.size < 2; count++) {
      const sessionId = await createSession(on, { preferredRoute: 'card' });
      await start(on, sessionId, 'card');
      const [offer, attempt] = await decisionsOf(on, sessionId);
      assert.equal(offer?.chosen, before.fees.route.id);
      attemptedRoutes.add(attempt!.chosen!);
      assert.deepEqual(await readOnlyAnswers(), before);
    }
    assert.equal(attemptedRoutes.size, 2);
  });

  it('preview, estimate, list, dry run, backtest and replay write nothing to the database', async () => {
    await using on = await startTestService();
    const sessionId = await createSession(on);
    await startAt(on, sessionId, 'card');
    await on.pass(60_000);
    const before = await routingRows(on);
    assert.ok(before['routing_decisions']! > 0 && before['routing_snapshots']! > 0);
    const rules = { version: 1, rules: [LOCALS_ONLY] };
    await act(on, 'checkout.preview', sessionBody({ preferredRoute: 'wallet' }));
    await act(on, 'fees.estimate', { amount: 20, preferredRoute: 'local' });
    assert.equal((await call('GET', `${on.url}/api/agent/routes`)).status, 200);
    await ask('GET', on, 'routes');
    await ask('POST', on, 'dry-run', { amount: 20, kind: 'card', rules });
    await ask('POST', on, 'dry-run', { amount: 20, preferredRoute: 'wallet' });
    await ask('POST', on, 'backtest', { rules });
    await replayOf(on, sessionId);
    await ask('GET', on, 'transitions');
    await ask('GET', on, 'rules');
    await on.service.runDue();
    assert.deepEqual(await routingRows(on), before);
  });
});
