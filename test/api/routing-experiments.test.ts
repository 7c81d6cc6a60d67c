import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Experiment } from '../../sdk/src/index.ts';
import { instrumentById } from '../../src/simulator/test-instruments.ts';
import { attempt, createSession, fieldsOf, start, startAt, submit } from '../simulator/buyer.ts';
import { queryRows } from '../support/database.ts';
import { gatewayOf, paymentsOf, pick } from '../support/gateway.ts';
import { ADMIN, BOOTSTRAP, bearer } from '../support/keys.ts';
import { decisionsOf, replayOf, saveRules } from '../support/routing.ts';
import { type TestService, startTestService } from '../support/service.ts';

// oxlint-disable unicorn/no-thenable -- the rule language says then

const ACQUIRER = 'sandbox_card_acquirer';
const BACKUP = 'sandbox_card_backup';
const BACKUP_FIRST = { priority: [BACKUP, ACQUIRER] };
const HALF = { share: 50, minimumSample: 100 };
const MINUTE_MS = 60_000;

const PATH = 'routing/experiments';

function startExperiment(on: TestService, variant: unknown = BACKUP_FIRST, fields: object = HALF): Promise<Experiment> {
  return gatewayOf(on).post(PATH, { variant, ...fields });
}

function read(on: TestService, { id }: Experiment): Promise<Experiment> {
  return gatewayOf(on).get(`${PATH}/${id}`);
}

/** The arms of all sessions in experiments. */
async function armsOf({ databaseUrl }: TestService): Promise<Map<string, string>> {
  const rows = await queryRows(databaseUrl, 'SELECT session_id, arm FROM experiment_sessions');
  return new Map(rows.map((row) => [String(row['session_id']), String(row['arm'])]));
}

/** Id and effect of the experiment in each decision about a session. */
async function shownArms(on: TestService, sessionId: string) {
  const decisions = await decisionsOf(on, sessionId);
  return decisions.map(({ rules }) => rules.filter(({ id }) => id.startsWith('experiment ')));
}

async function createSessions(on: TestService, count: number, fields: Record<string, unknown> = {}): Promise<string[]> {
  const ids: string[] = [];
  for (let index = 0; index < count; index++) {
    ids.push(await createSession(on, { idempotencyKey: `order-${count}-${index}`, ...fields }));
  }
  return ids;
}

describe('the assignment of sessions to an experiment', () => {
  it('the quote and all attempts of a session have the same arm, which is recorded at the first attempt', async () => {
    await using on = await startTestService();
    const { id } = await startExperiment(on);
    const sessions = await createSessions(on, 40);
    assert.equal((await armsOf(on)).size, 0);
    for (const sessionId of sessions) await attempt(on, sessionId, 'card', 'declined');
    await on.pass(1000);
    const recorded = await armsOf(on);
    for (const sessionId of sessions) await startAt(on, sessionId, 'card');
    assert.deepEqual(await armsOf(on), recorded);

    const effects = { variant: `variant; priority ${BACKUP}, ${ACQUIRER}`, router: 'router' };
    for (const sessionId of sessions) {
      const arm = recorded.get(sessionId) as 'variant' | 'router';
      const shown = [{ id: `experiment ${id}`, effect: effects[arm] }];
      assert.deepEqual(await shownArms(on, sessionId), [shown, shown, shown]);
      assert.equal((await replayOf(on, sessionId)).identical, true);
      const [offer, first] = await decisionsOf(on, sessionId);
      if (arm === 'router') continue;
      assert.deepEqual([offer!.chosen, first!.chosen], [BACKUP, BACKUP]);
      assert.equal(first!.reason, `${BACKUP} comes first by rule experiment ${id}`);
    }
    const inVariant = [...recorded.values()].filter((arm) => arm === 'variant').length;
    assert.ok(inVariant > 8 && inVariant < 32, String(inVariant));
  });

  it('sessions are neither assigned nor recorded without a running experiment, nor in the other environment', async () => {
    await using on = await startTestService();
    const before = await createSession(on);
    await startAt(on, before, 'card');
    const experiment = await startExperiment(on, { smart: true }, { environment: 'production' });
    const other = await createSession(on);
    await startAt(on, other, 'card');
    await gatewayOf(on).post(`${PATH}/${experiment.id}/end`);
    assert.equal((await armsOf(on)).size, 0);
    for (const sessionId of [before, other]) assert.deepEqual(await shownArms(on, sessionId), [[], []]);
  });

  it('other instances assign sessions from their next refresh on, and no longer after the end', async () => {
    await using on = await startTestService();
    await using other = await startTestService({ beside: on });
    const { id } = await startExperiment(on);
    await other.pass(1000);
    const session = await createSession(other, { idempotencyKey: 'order-there' });
    await startAt(other, session, 'card');
    const [arm] = (await armsOf(on)).values();
    const sameKey = await createSession(on, { idempotencyKey: 'order-there' });
    const [[shown] = []] = await shownArms(on, sameKey);
    assert.ok(shown!.effect.startsWith(arm!), shown!.effect);
    await gatewayOf(on).post(`${PATH}/${id}/end`);
    await other.pass(1000);
    assert.deepEqual(await shownArms(other, await createSession(other, { idempotencyKey: 'order-later' })), [[]]);
  });

  it('a failover keeps the arm, and a session whose payment began before the experiment has none', async () => {
    await using on = await startTestService();
    const early = await createSession(on, { idempotencyKey: 'early-order' });
    await attempt(on, early, 'card', 'declined');
    await on.pass(1000);
    await startExperiment(on);
    await startAt(on, early, 'card');
    const customer = `buyer+handoff_down.${BACKUP}@example.com`;
    const sessions = await createSessions(on, 20, { customer });
    for (const sessionId of sessions) await start(on, sessionId, 'card');
    const arms = await armsOf(on);
    assert.deepEqual([...arms.keys()].toSorted(), sessions.toSorted());
    const moved = sessions.filter((sessionId) => arms.get(sessionId) === 'variant');
    assert.ok(moved.length > 0);
    const routes = (await paymentsOf(on, moved[0]!)).map(({ route }) => route.id);
    assert.deepEqual(routes, [BACKUP, ACQUIRER]);
  });

  it('exclusions, limits and rejections of the saved rules hold in the variant; its ordering and objective replace theirs', async () => {
    await using on = await startTestService();
    const small = { id: 'small', when: { amount: { lt: 5 } }, then: { reject: 'too_small' } };
    const first = { id: 'first', then: { priority: ACQUIRER, margin: 0.5, maxAttempts: 1 } };
    await saveRules(on, small, first);
    const priced = { prefer: BACKUP, margin: 0.15, objective: 'total' };
    const { id } = await startExperiment(on, priced);
    const sessions = await createSessions(on, 20);
    const variants = [];
    for (const sessionId of sessions) {
      const [offer] = await decisionsOf(on, sessionId);
      const words = offer!.rules.map((rule) => `${rule.id}: ${rule.effect}`);
      const isVariant = offer!.chosen === BACKUP;
      if (isVariant) variants.push(sessionId);
      const effect = isVariant ? `variant; margin 0.15; objective total; prefer ${BACKUP}` : 'router';
      const saved = `first: at most 1 attempt; margin 0.5${isVariant ? '' : `; priority ${ACQUIRER}`}`;
      assert.deepEqual(words, [saved, `experiment ${id}: ${effect}`]);
      const { cost } = offer!.candidates.find(({ route }) => route === ACQUIRER)!;
      // The objective `total` counts the provider's cost of 1.9 %, the usual one the fee of 2.9 %.
      assert.equal(cost, isVariant ? 0.019 : 0.029);
    }
    assert.ok(variants.length > 0 && variants.length < sessions.length);

    await saveRules(on, small, { id: 'no-backup', then: { exclude: BACKUP } });
    for (const sessionId of variants) await startAt(on, sessionId, 'card');
    for (const sessionId of variants)
      assert.deepEqual(
        (await paymentsOf(on, sessionId)).map(({ route }) => route.id),
        [ACQUIRER],
      );
    await gatewayOf(on).refused('403 forbidden', 'POST sessions', {
      product: 'Card',
      amount: 1,
      customer: 'buyer@example.com',
    });
  });
});

describe('the experiments', () => {
  it('one experiment of an environment runs at a time; equal requests start the same one', async () => {
    await using on = await startTestService();
    const api = gatewayOf(on);
    const [first, ...others] = await Promise.all(Array.from({ length: 4 }, () => startExperiment(on)));
    for (const other of others) assert.equal(other.id, first!.id);
    assert.partialDeepStrictEqual(first, {
      object: 'experiment',
      environment: 'sandbox',
      name: 'Experiment',
      variant: BACKUP_FIRST,
      share: 50,
      minimumSample: 100,
      guardrailPoints: 1,
      status: 'running',
      endedBy: null,
      endedAt: null,
      result: { difference: null, low: -100, high: 100, verdict: 'too_small' },
    });
    await api.refused('409 invalid_state', `POST ${PATH}`, { variant: { smart: true } });
    const production = await startExperiment(on, { objective: 'total' }, { environment: 'production' });
    assert.deepEqual(await api.ids(PATH), [production.id, first!.id]);

    const ended = await api.post<Experiment>(`${PATH}/${first!.id}/end`);
    assert.deepEqual([ended.status, ended.endedBy], ['ended', 'operator']);
    await on.pass(MINUTE_MS);
    assert.deepEqual(await api.post(`${PATH}/${first!.id}/end`), ended);
    assert.deepEqual(await read(on, first!), ended);
    const second = await startExperiment(on);
    assert.notEqual(second.id, first!.id);
    await api.post(`${PATH}/${production.id}/end`);
    const selector = { kind: 'card', network: 'card_network' };
    const reordered = { network: 'card_network', kind: 'card' };
    const third = await startExperiment(on, { prefer: selector }, { environment: 'production' });
    assert.equal((await startExperiment(on, { prefer: reordered }, { environment: 'production' })).id, third.id);
    assert.deepEqual(pick(await api.list<Experiment>(`${PATH}?environment=sandbox`), 'id', 'status'), [
      [second.id, 'running'],
      [first!.id, 'ended'],
    ]);
    assert.equal(second.share, 50);
  });

  it('an invalid experiment is rejected with every problem named, and leaves nothing behind', async () => {
    await using on = await startTestService();
    const api = gatewayOf(on);
    const issuesOf = async (body: unknown) => {
      const { issues } = await api.refused('400 invalid_input', `POST ${PATH}`, body);
      return issues.map(({ path, code }) => `${path} ${code}`);
    };
    for (const [variant, ...issues] of [
      [{}, 'variant too_small'],
      [{ by: 'customer' }, 'variant too_small', 'variant.by unrecognized_keys'],
      [{ smart: true, prefer: BACKUP }, 'variant too_big'],
      [{ exclude: BACKUP }, 'variant too_small', 'variant.exclude unrecognized_keys'],
      [{ maxAttempts: 1, margin: 2 }, 'variant.margin too_big', 'variant.maxAttempts unrecognized_keys'],
      [{ prefer: 'rt_nowhere' }, 'variant.prefer unknown_route'],
      [{ priority: [ACQUIRER, 'card_stripe'] }, 'variant.priority.1 unknown_route'],
      [{ prefer: { kind: 'card', network: 'none' } }, 'variant.prefer.network unknown_attribute'],
      [undefined, 'variant invalid_type'],
    ] as const) {
      assert.deepEqual(new Set(await issuesOf({ variant })), new Set(issues), JSON.stringify(variant));
    }
    for (const fields of [
      { share: 0 },
      { share: 51 },
      { share: 1.5 },
      { minimumSample: 99 },
      { minimumSample: 501, share: 1 },
      { minimumSample: 25_001, share: 50 },
      { guardrailPoints: -1 },
      { guardrailPoints: 101 },
      { name: '' },
      { environment: 'live' },
      { then: {} },
    ]) {
      assert.equal((await issuesOf({ variant: BACKUP_FIRST, ...fields })).length, 1, JSON.stringify(fields));
    }
    const elsewhere = { variant: { priority: ['card_stripe', BACKUP] }, environment: 'production' };
    const { issues } = await api.refused('400 invalid_input', `POST ${PATH}`, elsewhere);
    assert.deepEqual(issues, [
      {
        path: 'variant.priority.1',
        code: 'unknown_route',
        message: `is a route of sandbox, not of production: "${BACKUP}"`,
      },
    ]);
    await api.refused('404 not_found', `GET ${PATH}/exp_x`);
    await api.refused('404 not_found', `POST ${PATH}/exp_x/end`);
    assert.deepEqual(await api.list(PATH), []);
  });

  it('a key of the sandbox neither sees, starts nor ends an experiment of production', async () => {
    await using on = await startTestService({ variables: BOOTSTRAP });
    const [sandbox, production] = [ADMIN.sandbox, ADMIN.production].map((key) => gatewayOf(on, bearer(key)));
    const body = { environment: 'production', variant: { smart: true } };
    await sandbox!.refused('403 forbidden', `POST ${PATH}`, body);
    const { id } = await production!.post<Experiment>(PATH, body);
    await sandbox!.refused('404 not_found', `GET ${PATH}/${id}`);
    await sandbox!.refused('404 not_found', `POST ${PATH}/${id}/end`);
    assert.deepEqual(await sandbox!.list(PATH), []);
    assert.equal((await production!.get<Experiment>(`${PATH}/${id}`)).status, 'running');
  });
});

describe('the result of an experiment', () => {
  it('counts the sessions whose first payment began at least 15 minutes ago, by arm, with the paid ones and their cost', async () => {
    await using on = await startTestService();
    const experiment = await startExperiment(on);
    const sessions = await createSessions(on, 16);
    // These sessions have no payment.
    await createSessions(on, 3);
    for (const [index, sessionId] of sessions.entries())
      await attempt(on, sessionId, 'card', index % 4 === 0 ? 'declined' : 'paid');
    await on.pass(15 * MINUTE_MS - 1);
    const early = await read(on, experiment);
    assert.deepEqual(
      early.result.arms.map((arm) => arm.sessions),
      [0, 0],
    );
    await on.pass(1);
    await startAt(on, await createSession(on, { idempotencyKey: 'late-order' }), 'card');
    const { result } = await read(on, experiment);
    const arms = await armsOf(on);
    const expected = ['variant', 'router'].map((arm) => {
      const own = sessions.filter((sessionId) => arms.get(sessionId) === arm);
      const paid = own.filter((sessionId) => sessions.indexOf(sessionId) % 4 !== 0);
      return { arm, sessions: own.length, paid: paid.length, rate: paid.length / own.length };
    });
    assert.deepEqual(
      result.arms.map(({ cost, ...arm }) => (assert.ok(cost! > 0.005 && cost! < 0.05, String(cost)), arm)),
      expected,
    );
    assert.equal(result.difference, Math.round((expected[0]!.rate - expected[1]!.rate) * 10_000) / 100);
    assert.ok(result.low < result.difference && result.difference < result.high);
    assert.equal(result.verdict, 'too_small');
    assert.equal(result.until, new Date(on.clock.now()).toISOString());
  });

  it('counts both arms until the same time, at which the first arm reaches its limit', async () => {
    await using on = await startTestService();
    const experiment = await startExperiment(on);
    const sessions = await createSessions(on, 16);
    for (const sessionId of sessions) {
      await attempt(on, sessionId, 'card', 'paid');
      await on.pass(1000);
    }
    await on.pass(15 * MINUTE_MS);
    const arms = await armsOf(on);
    const { store } = on.service.deps;
    const countedWith = async (variant: number, router: number) => {
      const counts = await store.experimentCounts(experiment.id, { variant, router }, on.clock.now());
      return counts.map((one) => one.sessions);
    };
    const numberAfter = (count: number, arm: string) =>
      sessions.slice(0, count).filter((id) => arms.get(id) === arm).length;
    const third = sessions.filter((id) => arms.get(id) === 'router')[2]!;
    const until = sessions.indexOf(third) + 1;
    assert.deepEqual(await countedWith(100, 3), [numberAfter(until, 'variant'), 3]);
    assert.deepEqual(await countedWith(100, 100), [numberAfter(16, 'variant'), numberAfter(16, 'router')]);
  });

  it('counts a payment on a slow route once it has had twice its usual time', async () => {
    await using on = await startTestService();
    const experiment = await startExperiment(on, { prefer: 'sandbox_local_ach' });
    await startAt(on, await createSession(on), 'local');
    const counted = async () => (await read(on, experiment)).result.arms.reduce((sum, arm) => sum + arm.sessions, 0);
    const [{ route } = assert.fail()] = await queryRows(on.databaseUrl, 'SELECT route FROM payments');
    const minutes = String(route).includes('sandbox_local_ach') ? 2 * 2160 : 15;
    await on.pass(minutes * MINUTE_MS - 1);
    assert.equal(await counted(), 0);
    await on.pass(1);
    assert.equal(await counted(), 1);
  });

  it('the guardrail ends an experiment whose variant fails, once, stores the result, and assigns no more sessions', async () => {
    await using on = await startTestService();
    // Without a failover, a refused handoff is a failed payment.
    await saveRules(on, { id: 'one', then: { maxAttempts: 1, explore: false } });
    const experiment = await startExperiment(on, { priority: [BACKUP, ACQUIRER] });
    const customer = `buyer+handoff_down.${BACKUP}@example.com`;
    for (const sessionId of await createSessions(on, 60, { customer })) {
      const started = await start(on, sessionId, 'card');
      if (started.outcome === 'continue') await submit(started.url!, fieldsOf('card', instrumentById('paid')!));
    }
    await on.pass(MINUTE_MS);
    assert.equal((await read(on, experiment)).status, 'running');
    await on.pass(15 * MINUTE_MS);
    const ended = await read(on, experiment);
    assert.deepEqual([ended.status, ended.endedBy, ended.result.verdict], ['ended', 'guardrail', 'too_small']);
    assert.ok(ended.result.high < -1, JSON.stringify(ended.result));
    assert.equal(ended.result.arms[0]!.paid, 0);
    const warnings = on.logged.map((line) => JSON.parse(line) as Record<string, unknown>);
    const logged = warnings.filter((line) => line['experiment'] === ended.id);
    assert.equal(logged.length, 1);
    assert.partialDeepStrictEqual(logged[0], {
      level: 40,
      environment: 'sandbox',
      result: { high: ended.result.high },
    });
    const { size } = await armsOf(on);
    await start(on, await createSession(on, { idempotencyKey: 'order-after' }), 'card');
    assert.equal((await armsOf(on)).size, size);
  });
});
