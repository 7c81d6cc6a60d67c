import assert from 'node:assert/strict';
import { describe, it, test } from 'node:test';
import type { z } from 'zod';
import type { transitionResource } from '../../src/contract/routing-contract.ts';
import { createRouter } from '../../src/operations/routing/router.ts';
import { attempt, createSession, start } from '../simulator/buyer.ts';
import { connect, startFakeProvider } from '../support/fake-provider.ts';
import { gatewayOf } from '../support/gateway.ts';
import type { List } from '../support/merchant.ts';
import { type Standing, ask, decisionsOf, standings } from '../support/routing.ts';
import { type TestService, call, startTestService } from '../support/service.ts';

type Page = List<z.output<typeof transitionResource>>;

const ACQUIRER = 'sandbox_card_acquirer';
const BACKUP = 'sandbox_card_backup';
const MINUTE_MS = 60_000;

function override(on: TestService, routeId: string, body: unknown): Promise<Standing> {
  return ask('PUT', on, `routes/${routeId}/health`, body);
}

function transitions(on: TestService, query = ''): Promise<Page> {
  return ask('GET', on, `transitions${query}`);
}

async function offerOf(on: TestService, fields: Record<string, unknown> = {}) {
  const [offer] = await decisionsOf(on, await createSession(on, fields));
  return offer!;
}

async function listRoutes(on: TestService, environment = 'sandbox') {
  const { body } = await call<{ routes: { id: string; health: string; score: number }[] }>(
    'GET',
    `${on.url}/api/agent/routes?environment=${environment}`,
  );
  return new Map(body.routes.map((route) => [route.id, route]));
}

async function startRefusing(stack: AsyncDisposableStack): Promise<TestService> {
  const provider = stack.use(await startFakeProvider());
  const on = stack.use(await startTestService());
  provider.answer = 'refuse';
  connect(on.service, provider);
  return on;
}

async function startPayments(on: TestService, count: number): Promise<void> {
  for (let index = 0; index < count; index++) {
    await start(on, await createSession(on), 'card');
    await on.pass(1000);
  }
}

describe("the operator's override of a route's health", () => {
  it('a health override of the operator disables a route, even if no other route is left', async () => {
    await using on = await startTestService();
    const { health, words, score, ...standing } = await override(on, ACQUIRER, { health: 'standby', reason: 'works' });
    assert.deepEqual([health, words, score], ['standby', 'standby: disabled by the operator: works', 0]);
    assert.deepEqual(standing.override, { health: 'standby', until: null, reason: 'works' });
    const offer = await offerOf(on, { preferredRoute: 'card' });
    assert.equal(offer.chosen, BACKUP);
    assert.equal(offer.candidates.find(({ route }) => route === ACQUIRER)?.excluded, 'disabled by the operator: works');
    await override(on, BACKUP, { health: 'standby' });
    const sessionId = await createSession(on);
    assert.deepEqual(await start(on, sessionId, 'card'), { outcome: 'no_route' });
    assert.equal((await decisionsOf(on, sessionId)).length, 1);
    const page = await (await fetch(`${on.url}/checkout/${sessionId}`)).text();
    assert.doesNotMatch(page, /value="card"/);
    assert.equal((await listRoutes(on)).get(ACQUIRER)?.health, 'standby');
  });

  it('a health override of the operator expires at its `until` time, and the route becomes degraded', async () => {
    await using on = await startTestService();
    const until = new Date(on.clock.now() + 10 * MINUTE_MS).toISOString();
    const { override: stored } = await override(on, ACQUIRER, { health: 'standby', until, reason: 'works' });
    assert.equal(stored?.until, until);
    await on.pass(10 * MINUTE_MS - 1);
    assert.equal((await standings(on)).get(ACQUIRER)?.health, 'standby');
    await on.pass(1);
    const after = (await standings(on)).get(ACQUIRER)!;
    assert.deepEqual([after.health, after.override], ['degraded', null]);
    assert.equal(after.words, "degraded: the operator's override (standby) has ended");
    const { data } = await transitions(on, `?routeId=${ACQUIRER}`);
    assert.deepEqual(
      data.map(({ from, to, cause }) => [from, to, cause]),
      [
        ['standby', 'degraded', 'override_ended'],
        ['live', 'standby', 'override'],
      ],
    );
  });

  it('a health override of the operator is removed by `automatic`, which is rejected without an override', async () => {
    await using on = await startTestService();
    const path = `routing/routes/${ACQUIRER}/health`;
    await gatewayOf(on).refused('409 invalid_state', `PUT ${path}`, { health: 'automatic' });
    await override(on, ACQUIRER, { health: 'standby' });
    const { health, override: stored } = await override(on, ACQUIRER, { health: 'automatic' });
    assert.deepEqual([health, stored], ['degraded', null]);
    await override(on, ACQUIRER, { health: 'standby' });
    const fields = { until: new Date(on.clock.now() + MINUTE_MS).toISOString(), reason: 'works' };
    const body = { health: 'automatic', ...fields };
    const { issues, suggestion } = await gatewayOf(on).refused('400 invalid_input', `PUT ${path}`, body);
    assert.deepEqual(
      issues.map((issue) => issue.path),
      ['until', 'reason'],
    );
    assert.match(suggestion, /^Remove until; remove reason; then resend/);
    assert.equal((await standings(on)).get(ACQUIRER)?.override?.reason, 'no reason given');
  });

  it('a health override of the operator rejects a past time and unknown values', async () => {
    await using on = await startTestService();
    const reject = (body: unknown) =>
      gatewayOf(on).refused('400 invalid_input', `PUT routing/routes/${ACQUIRER}/health`, body);
    const past = new Date(on.clock.now()).toISOString();
    for (const until of [past, '2027-02-30T12:00:00Z', '2027-01-15', 'tomorrow', 1_900_000_000_000, null])
      await reject({ health: 'standby', until });
    for (const reason of ['', 'x'.repeat(201), 'a\u0000b']) await reject({ health: 'standby', reason });
    for (const health of ['off', 'constructor', null, undefined]) await reject({ health });
    for (const body of [{ health: 'standby', colour: 'red' }, [], 'null']) await reject(body);
    await reject('{"health":"standby","__proto__":{"until":"x"}}');
    assert.deepEqual((await transitions(on)).data, []);
    assert.equal((await standings(on)).get(ACQUIRER)?.health, 'live');
  });

  it('of many simultaneous health overrides, the last one applies, and each override causes one transition', async () => {
    await using on = await startTestService();
    const reasons = Array.from({ length: 5 }, (_, index) => `reason ${index}`);
    await Promise.all(reasons.map((reason) => override(on, ACQUIRER, { health: 'degraded', reason })));
    const { data } = await transitions(on);
    assert.deepEqual(
      data.map(({ words }) => words).toSorted(),
      reasons.map((reason) => `degraded: set by the operator (${reason})`),
    );
    assert.equal((await standings(on)).get(ACQUIRER)?.words, data[0]?.words);
  });
});

// test/api/lists.test.ts tests the rules common to all lists.
test('health transitions are listed newest first, and filtered by route and environment', async () => {
  await using on = await startTestService();
  for (const [index, routeId] of [ACQUIRER, BACKUP, 'card_stripe', ACQUIRER].entries()) {
    await on.pass(1000);
    await override(on, routeId, { health: index === 3 ? 'live' : 'degraded', reason: `change ${index}` });
  }
  const { data } = await transitions(on);
  assert.deepEqual(
    data.map(({ routeId, environment, from, to }) => `${routeId} ${environment} ${from} ${to}`),
    [
      `${ACQUIRER} sandbox degraded live`,
      'card_stripe production live degraded',
      `${BACKUP} sandbox live degraded`,
      `${ACQUIRER} sandbox live degraded`,
    ],
  );
  assert.deepEqual((await transitions(on, `?routeId=${ACQUIRER}`)).data, [data[0], data[3]]);
  assert.deepEqual((await transitions(on, '?environment=production')).data, [data[1]]);
  assert.deepEqual((await transitions(on, '?routeId=nowhere')).data, []);
});

test('a route that the catalogue disables is disabled, although another instance changes its health at the start', async () => {
  await using on = await startTestService();
  const { store, newId, log, ...deps } = on.service.deps;
  const routes = deps.routes.map((route) => (route.id === ACQUIRER ? { ...route, health: 'standby' as const } : route));
  let reads = 0;
  const slow: typeof store = {
    ...store,
    async routeHealth() {
      const read = await store.routeHealth();
      if (++reads === 1) await override(on, ACQUIRER, { health: 'degraded' });
      return read;
    },
  };
  const catalogue = () => ({ ...deps, routes });
  const other = createRouter({ store: slow, newId, log, seed: 'other', random: () => 0, catalogue });
  for (let count = 0; count < 2; count++) await other.refresh();
  await on.service.deps.router.refresh();
  assert.equal((await standings(on)).get(ACQUIRER)?.words, 'standby: disabled in the catalogue');
});

test('routes without a provider are in standby, and no payment uses them', async () => {
  await using on = await startTestService();
  const production = await standings(on, 'production');
  assert.deepEqual(
    [...production.values()].map(({ id, health, words, score }) => [id, health, words, score]),
    [
      ['card_stripe', 'standby', 'standby: no provider is connected for stripe', 0],
      ['local_adyen', 'standby', 'standby: no provider is connected for adyen', 0],
      ['wallet_paypal', 'standby', 'standby: no provider is connected for paypal', 0],
    ],
  );
  for (const { health, score } of (await listRoutes(on, 'production')).values())
    assert.deepEqual([health, score], ['standby', 0]);
  const sessionId = await createSession(on, { environment: 'production' });
  const [offer] = await decisionsOf(on, sessionId);
  assert.equal(
    offer?.reason,
    'no route can take a payment now; card_stripe is what is quoted (no provider is connected for stripe)',
  );
  assert.deepEqual(await start(on, sessionId, 'card'), { outcome: 'no_route' });
});

describe('the score of a route', () => {
  it('the score of a route decreases after failures of the provider, but not after failures of the buyer', async () => {
    await using on = await startTestService();
    const before = (await listRoutes(on)).get(ACQUIRER)!;
    await override(on, BACKUP, { health: 'standby' });
    for (let count = 0; count < 4; count++) {
      await attempt(on, await createSession(on), 'card', 'decline_then_paid');
      await on.pass(1000);
    }
    assert.deepEqual((await listRoutes(on)).get(ACQUIRER), before);
    const scores = [before.score];
    for (let count = 0; count < 4; count++) {
      await attempt(on, await createSession(on), 'card', 'provider_error');
      await on.pass(1000);
      scores.push((await listRoutes(on)).get(ACQUIRER)!.score);
    }
    for (const [index, score] of scores.entries()) assert.ok(score <= (scores[index - 1] ?? 100), String(scores));
    assert.ok(scores.at(-1)! < before.score - 5, JSON.stringify(scores));
    const { score, expectedSuccess, lastOutcomeAt } = (await standings(on)).get(ACQUIRER)!;
    assert.equal(score, scores.at(-1));
    assert.ok(expectedSuccess < 0.93);
    assert.notEqual(lastOutcomeAt, null);
  });

  it('the score of a route is 0 after three refused handoffs, and the description names the cause', async () => {
    await using stack = new AsyncDisposableStack();
    const on = await startRefusing(stack);
    // Only outcomes later than the stored state count, so the stopped test clock is advanced.
    await on.pass(1000);
    await startPayments(on, 3);
    const { health, words, retryAt } = (await standings(on)).get(ACQUIRER)!;
    assert.equal(health, 'standby');
    assert.match(words, /^standby: 3 handoff errors in a row, next try at \d\d:\d\d:\d\d UTC$/);
    assert.ok(Date.parse(retryAt!) > on.clock.now());
    assert.equal((await listRoutes(on)).get(ACQUIRER)?.score, 0);
    const { data } = await transitions(on, `?routeId=${ACQUIRER}`);
    assert.deepEqual([data[0]?.cause, data[0]?.words], ['handoff_errors_in_a_row', words]);
    const panic = await offerOf(on, { preferredRoute: 'card' });
    assert.notEqual(panic.candidates.find(({ rank }) => rank === 1)?.kind, 'card');
  });
});
