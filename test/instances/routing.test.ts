// @run on=postgres
/* oxlint-disable unicorn/no-thenable -- a key of the rule language */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ROUTE_KINDS, type RouteKind } from '../../src/domain/route.ts';
import { chooseAnotherMethod } from '../../src/operations/leave-payment.ts';
import { type Estimates, NO_ESTIMATES, readEstimates } from '../../src/operations/routing/read-estimates.ts';
import { saveRules } from '../../src/operations/routing/saved-rules.ts';
import { startPayment } from '../../src/operations/start-payment.ts';
import type { HealthRecord } from '../../src/routing/health-record.ts';
import { type SeededRandom, createSeededRandom } from '../faults/random.ts';
import { createSession, stateOf } from '../simulator/buyer.ts';
import { runSql } from '../support/database.ts';
import { connect, report, startFakeProvider } from '../support/fake-provider.ts';
import { type TestService, startTestService } from '../support/service.ts';
import { assertSound } from '../support/sound.ts';

const SECOND = 1000;
const ACQUIRER = 'sandbox_card_acquirer';
const BACKUP = 'sandbox_card_backup';
/** The first back-off of 30 seconds plus the maximum jitter. */
const FIRST_TRY_MS = 33 * SECOND;

type Fleet = Awaited<ReturnType<typeof openFleet>>;

/** Two instances with one database; their routes use a provider that the test controls. */
async function openFleet() {
  await using stack = new AsyncDisposableStack();
  const fake = stack.use(await startFakeProvider());
  const one = stack.use(await startTestService());
  const other = stack.use(await startTestService({ beside: one }));
  for (const { service } of [one, other]) connect(service, fake);
  // An outcome does not count if it has the same millisecond as the first use of its route.
  one.clock.advance(SECOND);
  const owned = stack.move();
  const instances: [TestService, TestService] = [one, other];
  return {
    instances,
    fake,
    advance: (ms: number) => one.clock.advance(ms),
    /** Refreshes the routing of both instances simultaneously. Returns the number of health transitions that each instance made. */
    refresh: () => Promise.all(instances.map(({ service }) => service.deps.router.refresh())),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** Starts a payment on an instance. Returns the outcome and the pending payment. */
async function start(instance: TestService, kind: RouteKind = 'card', fields = {}) {
  const sessionId = await createSession(instance, fields);
  const started = await startPayment(instance.service.deps, sessionId, { kind, acceptedTotal: 10_000_000 });
  const { payments } = (await instance.service.deps.store.checkout(sessionId))!;
  return { sessionId, started, payment: payments.find(({ status }) => status === 'pending') };
}

/** Makes a payment with a random outcome on random instances. */
async function payAtRandom({ instances, fake }: Fleet, random: SeededRandom): Promise<void> {
  const instance = random.pick(instances);
  fake.answer = random.chance(0.1) ? 'refuse' : 'accept';
  const { sessionId, payment } = await start(instance, random.pick(ROUTE_KINDS));
  fake.answer = 'accept';
  if (!payment) return;
  const end = random.int(10);
  const { service } = random.pick(instances);
  if (end < 6) await report(service, sessionId, 'paid', payment);
  else if (end < 8) await report(service, sessionId, 'failed', payment);
  else await chooseAnotherMethod(service.deps, sessionId, 1);
  if (end === 7) await report(service, sessionId, 'paid', payment);
}

const healthOf = ({ service }: TestService, routeId: string) =>
  service.deps.router.view('sandbox').routes.get(routeId)!;
const snapshotRoutes = ({ service }: TestService) =>
  service.deps.router.view('sandbox').snapshot.routes.map((facts) => ({ ...facts, health: facts.health }));
const routesOf = ({ service }: TestService) =>
  service.deps.routes.filter(({ environment }) => environment === 'sandbox');

async function readEstimatesOn(
  instance: TestService,
  before: Estimates,
  store = instance.service.deps.store,
): Promise<Estimates> {
  const own = (await store.routeHealth()).filter(({ environment }) => environment === 'sandbox');
  const records = new Map(own.map(({ routeId, body }) => [routeId, JSON.parse(body) as HealthRecord]));
  return readEstimates(store, 'sandbox', routesOf(instance), records, before);
}

async function transitionsOf({ service }: TestService, routeId: string) {
  const { items } = await service.deps.store.listTransitions({ environment: 'sandbox', routeId }, { limit: 100 });
  return items.toSorted((a, b) => a.version - b.version);
}

describe('the estimates of the routes, on two instances', () => {
  for (const seed of [1, 2, 3]) {
    test(`the estimates are identical on both instances for any order of reads and updates (seed ${seed})`, async () => {
      await using fleet = await openFleet();
      const random = createSeededRandom(seed, 0);
      const known = fleet.instances.map(() => NO_ESTIMATES);
      let folds = 0;
      for (let step = 0; step < 60; step++) {
        await payAtRandom(fleet, random);
        fleet.advance(random.int(50) * SECOND);
        const index = random.int(3);
        if (index === 2) continue;
        const before = known[index]!.foldedUntil;
        known[index] = await readEstimatesOn(fleet.instances[index]!, known[index]!);
        if (known[index].foldedUntil !== before) folds++;
        if (random.chance(0.2)) await fleet.instances[index]!.service.deps.router.refresh();
      }
      const [one, other] = fleet.instances;
      const { states } = await readEstimatesOn(one, known[0]!);
      assert.ok(states.size >= 4 && folds >= 5, `${states.size} routes, ${folds} folds`);
      assert.deepEqual((await readEstimatesOn(other, known[1]!)).states, states);
      assert.deepEqual((await readEstimatesOn(one, NO_ESTIMATES)).states, states);

      await runSql(one.databaseUrl, 'DELETE FROM route_estimates');
      assert.deepEqual((await readEstimatesOn(other, NO_ESTIMATES)).states, states);
      await fleet.refresh();
      await fleet.refresh();
      assert.deepEqual(snapshotRoutes(one), snapshotRoutes(other));
    });
  }
});

describe('the health of the routes, on two instances', () => {
  test('route health changes once if both instances evaluate it; a kind with all routes in standby still takes payments', async () => {
    await using fleet = await openFleet();
    const [one, other] = fleet.instances;
    fleet.fake.answer = 'refuse';
    for (let count = 0; count < 3; count++) {
      for (const kind of ROUTE_KINDS) await start(fleet.instances[count % 2]!, kind);
      fleet.advance(SECOND);
    }
    const transitions = await fleet.refresh();
    assert.equal(transitions[0]! + transitions[1]!, 6, transitions.join());
    await fleet.refresh();
    for (const { id } of routesOf(one)) {
      const [transition, ...others] = await transitionsOf(one, id);
      const { to, numbers } = transition!;
      assert.deepEqual([to, numbers, others], ['standby', { handoffErrors: 3 }, []]);
      assert.equal(healthOf(one, id).facts.health, 'standby');
      assert.equal(healthOf(other, id).facts.words, healthOf(one, id).facts.words);
      const lines = fleet.instances.flatMap(({ logged }) => logged);
      const ofRoute = lines.filter((line) => line.includes(`route ${id} is standby`));
      assert.equal(ofRoute.length, 1);
      const { level, route, cause } = JSON.parse(ofRoute[0]!) as Record<string, unknown>;
      assert.equal(transition!.cause, cause);
      assert.deepEqual([level, route, cause], [40, id, 'handoff_errors_in_a_row']);
    }

    fleet.fake.answer = 'accept';
    for (const instance of fleet.instances) {
      for (const kind of ROUTE_KINDS) {
        const { sessionId, started, payment } = await start(instance, kind);
        assert.equal(started.outcome, 'continue');
        assert.equal(payment?.probe, true);
        const [decision] = await instance.service.deps.store.routingDecisionsOfSession(sessionId);
        assert.equal((JSON.parse(decision!.body) as { output: { mode: string } }).output.mode, 'panic');
        assert.equal((await stateOf(instance, sessionId)).session, 'pending');
      }
    }
    await assertSound(one.databaseUrl);
  });
});

/** Two instances; the first card route is in standby and due for its first probe. */
async function openFleetWithStandby(): Promise<Fleet> {
  await using stack = new AsyncDisposableStack();
  const fleet = stack.use(await openFleet());
  const [one] = fleet.instances;
  const { deps } = one.service;
  fleet.fake.answer = 'refuse';
  await saveRules(deps, {
    version: 1,
    rules: [{ id: 'one', then: { priority: [ACQUIRER], maxAttempts: 1 } }],
  });
  for (let count = 0; count < 3; count++) await start(one);
  fleet.fake.answer = 'accept';
  await saveRules(deps, { version: 1, rules: [] });
  await fleet.refresh();
  assert.equal(healthOf(one, ACQUIRER).facts.health, 'standby');
  fleet.advance(FIRST_TRY_MS);
  await fleet.refresh();
  stack.move();
  return fleet;
}

/** Starts a payment on both instances simultaneously. Returns the only payment that probes the route in standby. */
async function startAtOnce(fleet: Fleet) {
  const both = await Promise.all(fleet.instances.map((instance) => start(instance)));
  for (const { started } of both) assert(started.outcome === 'continue' && started.url !== null, started.outcome);
  const probes = both.filter(({ payment }) => payment!.probe);
  assert.equal(probes.length, 1, 'one probe at a time');
  const [probe] = probes;
  const [ordinary] = both.filter(({ payment }) => !payment!.probe);
  assert.deepEqual([probe!.payment!.route.id, ordinary!.payment!.route.id], [ACQUIRER, BACKUP]);
  return probe!;
}

describe('a route in standby, on two instances', () => {
  test('a route in standby receives one probe at a time from all instances; other payments use another route', async () => {
    await using fleet = await openFleetWithStandby();
    const [one] = fleet.instances;
    for (let round = 0; round < 8; round++) {
      const { sessionId, payment } = await startAtOnce(fleet);
      assert.equal(healthOf(one, ACQUIRER).facts.probe, true, 'a probe is due before the refresh');
      await fleet.refresh();
      for (const instance of fleet.instances) {
        assert.equal(healthOf(instance, ACQUIRER).health.leasePaymentId, payment!.id);
        assert.equal((await start(instance)).payment!.route.id, BACKUP);
      }
      // A payment that the buyer abandons has no result for the route, so the next probe is due at once.
      await chooseAnotherMethod(fleet.instances[round % 2]!.service.deps, sessionId, 1);
      await fleet.refresh();
      await fleet.refresh();
      for (const instance of fleet.instances) assert.equal(healthOf(instance, ACQUIRER).facts.probe, true);
      fleet.advance(SECOND);
    }
    await assertSound(one.databaseUrl);
  });
});
