// @run on=postgres
import assert from 'node:assert/strict';
import { type TestContext, describe, test } from 'node:test';
import type { ProviderStatus } from '../../src/domain/records.ts';
import type { Recovery } from '../../src/domain/delivery.ts';
import type { WebhookEndpoint } from '../../src/domain/webhook-endpoint.ts';
import { continueRecovery, recoverDeliveries } from '../../src/operations/redeliver.ts';
import type { Change, Store } from '../../src/store/store.ts';
import type { MerchantEvent } from '../../src/store/webhooks-port.ts';
import type { Dispatcher } from '../../src/webhooks/dispatcher.ts';
import { createTestDatabase, openTestStore } from '../support/database.ts';
import {
  START,
  type TestClock,
  addEndpoint,
  newId,
  receiver,
  sessionWithEvents,
  testClock,
  testDispatcher,
} from '../webhooks/fixtures.ts';

const HOUR = 3_600_000;

interface Instance {
  store: Store;
  dispatcher: Dispatcher;
}

/** Two instances of one database and an endpoint with its receiver. */
interface Scene {
  clock: TestClock;
  instances: [Instance, Instance];
  endpoint: WebhookEndpoint;
  /** Event ids in the order of arrival. */
  received: string[];
  /** Time between two events of a session; negative if the clock was set back between them. */
  stepMs: number;
  /** Creates a session with these statuses, from `delayMs` after START on, without deliveries. */
  happened(delayMs: number, ...statuses: ProviderStatus[]): Promise<MerchantEvent[]>;
  recover(instance?: Instance, request?: { from?: number; until?: number; all?: boolean }): Promise<Recovery>;
  /** Runs both instances until no due work is left. */
  settle(): Promise<void>;
  /** Delivery status by event. */
  statuses(): Promise<Map<string, string>>;
}

async function openScene(context: TestContext, answer: (eventId: string) => number | undefined): Promise<Scene> {
  const database = await createTestDatabase();
  const stores = [await openTestStore(database.settings), await openTestStore(database.settings)];
  context.after(async () => {
    for (const store of stores) await store.close();
    await database[Symbol.asyncDispose]();
  });
  const clock = testClock();
  const received: string[] = [];
  const { url } = await receiver(context, ({ headers }) => {
    const id = String(headers['webhook-id']);
    received.push(id);
    return answer(id);
  });
  const [first] = stores;
  const endpoint = await addEndpoint(first!, url);
  const instances = stores.map((store) => ({ store, dispatcher: testDispatcher(context, store, clock) }));
  const [one, other] = instances as [Instance, Instance];
  const sessions: string[] = [];
  const scene: Scene = {
    clock,
    instances: [one, other],
    endpoint,
    received,
    stepMs: 1,
    async happened(delayMs, ...statuses) {
      const { changes, events } = sessionWithEvents([endpoint], statuses);
      const made = events.map((event, index) => ({ ...event, created: START + delayMs + index * scene.stepMs }));
      const others = changes.filter(({ type }) => type !== 'event_recorded' && type !== 'delivery_created');
      await one.store.commit([...others, ...made.map((event): Change => ({ type: 'event_recorded', event }))]);
      sessions.push(made[0]!.sessionId);
      return made;
    },
    async recover(instance = one, { from = START, until, all = false } = {}) {
      const deps = { store: instance.store, now: clock.now, newId };
      let recovery = await recoverDeliveries(deps, endpoint.id, { from, until, all });
      // The request does at most a second of work. A worker continues the rest.
      while (recovery.status === 'running') recovery = await continueRecovery(deps, recovery, 0);
      return recovery;
    },
    async settle() {
      let done;
      do done = (await Promise.all([one.dispatcher.runOnce(), other.dispatcher.runOnce()])).reduce((a, b) => a + b);
      while (done > 0);
    },
    async statuses() {
      const found = await Promise.all(sessions.map((id) => one.store.deliveriesOfSession(id)));
      return new Map(found.flat().map(({ eventId, status }) => [eventId, status]));
    },
  };
  return scene;
}

const idsOf = (events: readonly MerchantEvent[]) =>
  events
    .toSorted((a, b) => a.created - b.created || a.sequence - b.sequence || (a.id < b.id ? -1 : 1))
    .map(({ id }) => id);

describe('recovering a time range, on two instances', () => {
  test('delivers every missed event once, in the order of the events', async (context) => {
    const scene = await openScene(context, () => 200);
    const events: MerchantEvent[] = [];
    // Sessions that overlap, made in another order than that of their events; more than one page.
    for (let number = 0; number < 70; number++) {
      events.push(...(await scene.happened((number * 7919) % 1000, 'provider_pending', 'paid')));
    }
    scene.clock.time = START + HOUR;
    const recovery = await scene.recover();
    const { status, queued, pending, delivered } = recovery;
    assert.deepEqual({ status, queued, pending, delivered }, { status: 'done', queued: 140, pending: 0, delivered: 0 });
    await scene.settle();
    assert.deepEqual(scene.received, idsOf(events));
    const again = await scene.recover();
    assert.deepEqual([again.queued, again.delivered], [0, 140]);
    await scene.settle();
    assert.equal(scene.received.length, 140);
    assert.equal((await scene.recover(undefined, { all: true })).queued, 140);
    await scene.settle();
    assert.deepEqual(scene.received.slice(140), idsOf(events));
  });

  test('sends each event once if both instances recover at the same time', async (context) => {
    const scene = await openScene(context, () => 200);
    const events: MerchantEvent[] = [];
    for (let number = 0; number < 60; number++)
      events.push(...(await scene.happened(number * 10, 'provider_pending', 'paid')));
    scene.clock.time = START + HOUR;
    const made = await Promise.all(scene.instances.map((instance) => scene.recover(instance)));
    assert.equal(made[0]!.queued + made[1]!.queued, 120);
    assert.equal(made[0]!.pending + made[1]!.pending, 120);
    await scene.settle();
    assert.deepEqual(scene.received, idsOf(events));
  });

  test('delays only the later events of a session whose event fails', async (context) => {
    let failing = '';
    const scene = await openScene(context, (id) => (id === failing ? 500 : 200));
    const [a1, a2] = await scene.happened(0, 'provider_pending', 'paid');
    const [b1] = await scene.happened(1, 'paid');
    const [c1] = await scene.happened(2, 'paid');
    failing = a1!.id;
    scene.clock.time = START + HOUR;
    await scene.recover();
    await scene.settle();
    // The events of `a` have the times of `b` and `c`.
    assert.deepEqual(scene.received, [a1!.id, b1!.id, c1!.id]);
    failing = '';
    scene.clock.time += 7000;
    await scene.settle();
    assert.deepEqual(scene.received.slice(3), [a1!.id, a2!.id]);
    assert.deepEqual(new Set((await scene.statuses()).values()), new Set(['delivered']));
  });

  test('repeats dead deliveries, and leaves out pending and later ones', async (context) => {
    let code = 410;
    const scene = await openScene(context, () => code);
    const [dead] = await scene.happened(0, 'paid');
    scene.clock.time = START + HOUR;
    await scene.recover();
    await scene.settle();
    assert.equal((await scene.statuses()).get(dead!.id), 'dead');
    const { store } = scene.instances[0];
    code = 500;
    await store.commit([{ type: 'endpoint_saved', endpoint: scene.endpoint }]);
    const [waiting] = await scene.happened(10, 'paid');
    const [late] = await scene.happened(2 * HOUR, 'paid');
    const first = await scene.recover(undefined, { from: START + 10 });
    assert.deepEqual([first.queued, first.pending], [1, 0]);
    await scene.settle();
    code = 200;
    const { queued, pending, delivered } = await scene.recover();
    assert.deepEqual({ queued, pending, delivered }, { queued: 1, pending: 1, delivered: 0 });
    await scene.settle();
    assert.deepEqual(scene.received, [dead!.id, waiting!.id, dead!.id]);
    assert.equal((await scene.statuses()).has(late!.id), false);
  });

  test('skips a session whose earlier event waits for a retry', async (context) => {
    let failing = '';
    const scene = await openScene(context, (id) => (id === failing ? 500 : 200));
    const [early, later] = await scene.happened(0, 'provider_pending', 'paid');
    const [other] = await scene.happened(5, 'paid');
    failing = early!.id;
    scene.clock.time = START + HOUR;
    await scene.recover(undefined, { until: START + 1 });
    await scene.settle();
    assert.deepEqual(scene.received, [early!.id]);
    await scene.recover();
    await scene.settle();
    assert.deepEqual(scene.received, [early!.id, other!.id]);
    failing = '';
    scene.clock.time += 7000;
    await scene.settle();
    assert.deepEqual(scene.received.slice(2), [early!.id, later!.id]);
  });

  test('keeps the order of a session in which the clock was set back, without delaying others', async (context) => {
    let failing = '';
    const scene = await openScene(context, (id) => (id === failing ? 500 : 200));
    scene.stepMs = -10;
    const [well, paid] = await scene.happened(10, 'provider_pending', 'paid');
    const [early, later] = await scene.happened(20, 'provider_pending', 'paid');
    const [other] = await scene.happened(30, 'paid');
    failing = early!.id;
    scene.clock.time = START + HOUR;
    await scene.recover();
    await scene.settle();
    assert.deepEqual(scene.received, [well!.id, paid!.id, early!.id, other!.id]);
    failing = '';
    scene.clock.time += 7000;
    await scene.settle();
    assert.deepEqual(scene.received.slice(4), [early!.id, later!.id]);
  });

  test('repeats an unfinished attempt after its lease, before the next event', async (context) => {
    const scene = await openScene(context, () => 200);
    const [first] = await scene.happened(0, 'paid');
    const [second] = await scene.happened(1, 'paid');
    scene.clock.time = START + HOUR;
    await scene.recover();
    const { store } = scene.instances[1];
    const due = await store.deliveriesDue(scene.endpoint.id, scene.clock.time, 10);
    assert.deepEqual(
      due.map(({ delivery }) => delivery.eventId),
      [first!.id],
    );
    const { delivery } = due[0]!;
    await store.commit([
      { type: 'delivery_claimed', delivery: { ...delivery, attempts: 1, dueAt: scene.clock.time + 60_000 } },
    ]);
    await scene.settle();
    assert.deepEqual(scene.received, []);
    scene.clock.time += 60_000;
    await scene.settle();
    assert.deepEqual(scene.received, [first!.id, second!.id]);
  });

  test('continues on another instance if one dies, and stops if the endpoint is disabled', async (context) => {
    const scene = await openScene(context, () => 200);
    const events: MerchantEvent[] = [];
    for (let number = 0; number < 130; number++) events.push(...(await scene.happened(number, 'paid')));
    scene.clock.time = START + HOUR;
    const [one, other] = scene.instances;
    const deps = { store: one.store, now: scene.clock.now, newId };
    const dying = { ...deps, ...dyingAfter(one.store, 2) };
    const read = async () => {
      let recovery = await recoverDeliveries(dying, scene.endpoint.id, { from: START, until: undefined, all: false });
      // The first page can take the whole second that the request waits.
      while (recovery.status === 'running') recovery = await continueRecovery(dying, recovery, 0);
    };
    await assert.rejects(read(), /the process has died/);
    await scene.settle();
    assert.equal(scene.received.length, 100);
    const [left] = await other.store.recoveriesLeft(scene.clock.time, 10);
    assert.equal(left!.status, 'running');
    const done = await continueRecovery({ ...deps, store: other.store }, left!, 0);
    assert.deepEqual([done.status, done.queued], ['done', 130]);
    await scene.settle();
    assert.deepEqual(scene.received, idsOf(events));
    assert.deepEqual(await other.store.recoveriesLeft(scene.clock.time, 10), []);

    await one.store.commit([{ type: 'endpoint_saved', endpoint: { ...scene.endpoint, status: 'disabled' } }]);
    const stopped = await continueRecovery(deps, { ...done, status: 'running' }, 0);
    assert.equal(stopped.status, 'stopped');
    await assert.rejects(scene.recover(), { code: 'invalid_state' });
  });
});

/** A store whose process dies after `commits` commits. */
function dyingAfter(store: Store, commits: number): { store: Store } {
  let left = commits;
  const commit: Store['commit'] = (changes) => {
    if (left-- === 0) throw new Error('the process has died');
    return store.commit(changes);
  };
  return { store: { ...store, commit } };
}
