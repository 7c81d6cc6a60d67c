// @run on=postgres
import assert from 'node:assert/strict';
import { type TestContext, describe, test } from 'node:test';
import type { ProviderStatus } from '../../src/domain/records.ts';
import type { Recovery } from '../../src/domain/delivery.ts';
import { continueRecovery, recoverDeliveries } from '../../src/operations/redeliver.ts';
import type { Change, Store } from '../../src/store/store.ts';
import type { MerchantEvent } from '../../src/store/webhooks-port.ts';
import { createTestDatabase, openTestStore } from '../support/database.ts';
import {
  START,
  addEndpoint,
  newId,
  receiver,
  sessionWithEvents,
  testClock,
  testDispatcher,
} from '../webhooks/fixtures.ts';

const HOUR = 3_600_000;

type RecoveryRequest = Parameters<typeof recoverDeliveries>[2];

/** Two instances of one database, and an endpoint whose receiver answers with a status for each event. */
async function openScene(context: TestContext, answer: (eventId: string) => number = () => 200) {
  const database = await createTestDatabase();
  const stores = [await openTestStore(database.settings), await openTestStore(database.settings)] as const;
  context.after(async () => {
    for (const store of stores) await store.close();
    await database[Symbol.asyncDispose]();
  });
  const clock = testClock();
  /** Event ids in the order of arrival. */
  const received: string[] = [];
  const { url } = await receiver(context, ({ headers }) => {
    const id = String(headers['webhook-id']);
    received.push(id);
    return answer(id);
  });
  const [store] = stores;
  const endpoint = await addEndpoint(store, url);
  const dispatchers = stores.map((each) => testDispatcher(context, each, clock));
  const sessions: string[] = [];
  const scene = {
    clock,
    stores,
    endpoint,
    received,
    /** Time between two events of a session; negative if the clock was set back between them. */
    stepMs: 1,
    /** Creates a session with these statuses, from `delayMs` after START on, without deliveries. */
    async happened(delayMs: number, ...statuses: ProviderStatus[]): Promise<MerchantEvent[]> {
      const { changes, events } = sessionWithEvents([endpoint], statuses);
      const made = events.map((event, index) => ({ ...event, created: START + delayMs + index * scene.stepMs }));
      const others = changes.filter(({ type }) => type !== 'event_recorded' && type !== 'delivery_created');
      await store.commit([...others, ...made.map((event): Change => ({ type: 'event_recorded', event }))]);
      sessions.push(made[0]!.sessionId);
      return made;
    },
    /** Recovers the whole time by default, on an instance. */
    async recover(request: Partial<RecoveryRequest> = {}, on: Store = store): Promise<Recovery> {
      const deps = { store: on, now: clock.now, newId };
      let recovery = await recoverDeliveries(deps, endpoint.id, {
        from: START,
        until: undefined,
        all: false,
        ...request,
      });
      // The request does at most a second of work. A worker continues the rest.
      while (recovery.status === 'running') recovery = await continueRecovery(deps, recovery, 0);
      return recovery;
    },
    /** Lets both instances send until no delivery is due. */
    async settle(): Promise<void> {
      let done;
      do done = (await Promise.all(dispatchers.map((each) => each.runOnce()))).reduce((a, b) => a + b);
      while (done > 0);
    },
    async recoverAndSettle(request: Partial<RecoveryRequest> = {}): Promise<Recovery> {
      clock.time = Math.max(clock.time, START + HOUR);
      const recovery = await scene.recover(request);
      await scene.settle();
      return recovery;
    },
    /** Lets the time of the first retry pass. */
    async retry(): Promise<void> {
      clock.time += 7000;
      await scene.settle();
    },
    /** Delivery status by event. */
    async statuses(): Promise<Map<string, string>> {
      const found = await Promise.all(sessions.map((id) => store.deliveriesOfSession(id)));
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
    const scene = await openScene(context);
    const events: MerchantEvent[] = [];
    // Sessions that overlap, made in another order than that of their events; more than one page.
    for (let number = 0; number < 70; number++) {
      events.push(...(await scene.happened((number * 7919) % 1000, 'provider_pending', 'paid')));
    }
    const { status, queued, pending, delivered } = await scene.recoverAndSettle();
    assert.deepEqual({ status, queued, pending, delivered }, { status: 'done', queued: 140, pending: 0, delivered: 0 });
    assert.deepEqual(scene.received, idsOf(events));
    const again = await scene.recoverAndSettle();
    assert.deepEqual([again.queued, again.delivered], [0, 140]);
    assert.equal(scene.received.length, 140);
    assert.equal((await scene.recoverAndSettle({ all: true })).queued, 140);
    assert.deepEqual(scene.received.slice(140), idsOf(events));
  });

  test('sends each event once if both instances recover at the same time', async (context) => {
    const scene = await openScene(context);
    const events: MerchantEvent[] = [];
    for (let number = 0; number < 60; number++)
      events.push(...(await scene.happened(number * 10, 'provider_pending', 'paid')));
    scene.clock.time = START + HOUR;
    const made = await Promise.all(scene.stores.map((store) => scene.recover({}, store)));
    assert.equal(made[0]!.queued + made[1]!.queued, 120);
    assert.equal(made[0]!.pending + made[1]!.pending, 120);
    await scene.settle();
    assert.deepEqual(scene.received, idsOf(events));
  });

  // For each session the time of its first event and the number of its events; the first one of `failing` fails.
  // The last recovery is of all events, an earlier one of the first event. Sessions overlap.
  const fails = 'delays only the later events of a session whose event fails';
  const waits = 'skips a session whose earlier event waits for a retry';
  const back = 'keeps the order of a session in which the clock was set back, without delaying others';
  for (const [what, stepMs, sessions, failing, recovered, retried] of [
    [fails, 1, { a: [0, 2], b: [1, 1], c: [2, 1] }, 'a', ['a1 b1 c1'], 'a1 a2'],
    [waits, 1, { a: [0, 2], b: [5, 1] }, 'a', ['a1', 'b1'], 'a1 a2'],
    [back, -10, { a: [10, 2], b: [20, 2], c: [30, 1] }, 'b', ['a1 a2 b1 c1'], 'b1 b2'],
  ] as const) {
    test(what, async (context) => {
      const names = new Map<string, string>();
      let failed = `${failing}1`;
      const scene = await openScene(context, (id) => (names.get(id) === failed ? 500 : 200));
      scene.stepMs = stepMs;
      for (const [session, [delayMs, count]] of Object.entries(sessions)) {
        const statuses = (['provider_pending', 'paid'] as const).slice(-count);
        const events = await scene.happened(delayMs, ...statuses);
        for (const [index, { id }] of events.entries()) names.set(id, `${session}${index + 1}`);
      }
      const received = () =>
        scene.received
          .splice(0)
          .map((id) => names.get(id))
          .join(' ');
      for (const [index, expected] of recovered.entries()) {
        await scene.recoverAndSettle({ until: index < recovered.length - 1 ? START + 1 : undefined });
        assert.equal(received(), expected);
      }
      failed = '';
      await scene.retry();
      assert.equal(received(), retried);
      assert.deepEqual(new Set((await scene.statuses()).values()), new Set(['delivered']));
    });
  }

  test('repeats dead deliveries, and leaves out pending and later ones', async (context) => {
    let code = 410;
    const scene = await openScene(context, () => code);
    const [dead] = await scene.happened(0, 'paid');
    await scene.recoverAndSettle();
    assert.equal((await scene.statuses()).get(dead!.id), 'dead');
    code = 500;
    await scene.stores[0].commit([{ type: 'endpoint_saved', endpoint: scene.endpoint }]);
    const [waiting] = await scene.happened(10, 'paid');
    const [late] = await scene.happened(2 * HOUR, 'paid');
    const first = await scene.recoverAndSettle({ from: START + 10 });
    assert.deepEqual([first.queued, first.pending], [1, 0]);
    code = 200;
    const { queued, pending, delivered } = await scene.recoverAndSettle();
    assert.deepEqual({ queued, pending, delivered }, { queued: 1, pending: 1, delivered: 0 });
    assert.deepEqual(scene.received, [dead!.id, waiting!.id, dead!.id]);
    assert.equal((await scene.statuses()).has(late!.id), false);
  });

  test('repeats an unfinished attempt after its lease, before the next event', async (context) => {
    const scene = await openScene(context);
    const [first] = await scene.happened(0, 'paid');
    const [second] = await scene.happened(1, 'paid');
    scene.clock.time = START + HOUR;
    await scene.recover();
    const [, store] = scene.stores;
    const due = await store.deliveriesDue(scene.endpoint.id, scene.clock.time, 10);
    assert.deepEqual(
      due.map(({ delivery }) => delivery.eventId),
      [first!.id],
    );
    const claimed = { ...due[0]!.delivery, attempts: 1, dueAt: scene.clock.time + 60_000 };
    await store.commit([{ type: 'delivery_claimed', delivery: claimed }]);
    await scene.settle();
    assert.deepEqual(scene.received, []);
    scene.clock.time += 60_000;
    await scene.settle();
    assert.deepEqual(scene.received, [first!.id, second!.id]);
  });

  test('continues on another instance if one dies, and stops if the endpoint is disabled', async (context) => {
    const scene = await openScene(context);
    const events: MerchantEvent[] = [];
    for (let number = 0; number < 130; number++) events.push(...(await scene.happened(number, 'paid')));
    scene.clock.time = START + HOUR;
    const [one, other] = scene.stores;
    let commits = 0;
    const dying: Store['commit'] = (changes) => {
      if (commits++ === 2) throw new Error('the process has died');
      return one.commit(changes);
    };
    await assert.rejects(scene.recover({}, { ...one, commit: dying }), /the process has died/);
    await scene.settle();
    assert.equal(scene.received.length, 100);
    const deps = { store: other, now: scene.clock.now, newId };
    const [left] = await other.recoveriesLeft(scene.clock.time, 10);
    assert.equal(left!.status, 'running');
    const done = await continueRecovery(deps, left!, 0);
    assert.deepEqual([done.status, done.queued], ['done', 130]);
    await scene.settle();
    assert.deepEqual(scene.received, idsOf(events));
    assert.deepEqual(await other.recoveriesLeft(scene.clock.time, 10), []);

    await one.commit([{ type: 'endpoint_saved', endpoint: { ...scene.endpoint, status: 'disabled' } }]);
    const stopped = await continueRecovery(deps, { ...done, status: 'running' }, 0);
    assert.equal(stopped.status, 'stopped');
    await assert.rejects(scene.recover(), { code: 'invalid_state' });
  });
});
