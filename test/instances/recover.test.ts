// @run on=postgres
import assert from 'node:assert/strict';
import { type TestContext, describe, test } from 'node:test';
import type { ProviderStatus } from '../../src/domain/records.ts';
import type { Recovery } from '../../src/domain/delivery.ts';
import { continueRecovery, recoverDeliveries } from '../../src/operations/redeliver.ts';
import type { Change, Store } from '../../src/store/store.ts';
import type { MerchantEvent } from '../../src/store/webhooks-port.ts';
import { createServiceDatabase, openTestStore } from '../support/database.ts';
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

/** Two stores on one database, each with a dispatcher, and one endpoint whose receiver answers with `answer`. */
async function openStage(context: TestContext, answer: (eventId: string) => number = () => 200) {
  const database = await createServiceDatabase();
  const stores = [await openTestStore(database.settings), await openTestStore(database.settings)] as const;
  context.after(async () => {
    for (const store of stores) await store.close();
    await database[Symbol.asyncDispose]();
  });
  const clock = testClock();
  /** Ids of the received events, in the order of arrival. */
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
  const stage = {
    clock,
    stores,
    endpoint,
    received,
    /** Time between two events of a session; negative simulates a clock that was set back. */
    stepMs: 1,
    /** Adds a session with an event for each status, the first at START + `delayMs`, without deliveries. */
    async addSession(delayMs: number, ...statuses: ProviderStatus[]): Promise<MerchantEvent[]> {
      const { changes, events } = sessionWithEvents([endpoint], statuses);
      const timed = events.map((event, index) => ({ ...event, created: START + delayMs + index * stage.stepMs }));
      const others = changes.filter(({ type }) => type !== 'event_recorded' && type !== 'delivery_created');
      await store.commit([...others, ...timed.map((event): Change => ({ type: 'event_recorded', event }))]);
      sessions.push(timed[0]!.sessionId);
      return timed;
    },
    /** Runs a recovery to its end on one store. The default range of the recovery is all time. */
    async recover(request: Partial<RecoveryRequest> = {}, on: Store = store): Promise<Recovery> {
      const deps = { store: on, now: clock.now, newId };
      let recovery = await recoverDeliveries(deps, endpoint.id, {
        from: START,
        until: undefined,
        all: false,
        ...request,
      });
      // `recoverDeliveries` works for at most a second; in the service, a worker then continues the recovery.
      while (recovery.status === 'running') recovery = await continueRecovery(deps, recovery, 0);
      return recovery;
    },
    /** Runs both dispatchers until no delivery is due. */
    async settle(): Promise<void> {
      let done;
      do done = (await Promise.all(dispatchers.map((each) => each.runOnce()))).reduce((a, b) => a + b);
      while (done > 0);
    },
    async recoverAndSettle(request: Partial<RecoveryRequest> = {}): Promise<Recovery> {
      clock.time = Math.max(clock.time, START + HOUR);
      const recovery = await stage.recover(request);
      await stage.settle();
      return recovery;
    },
    /** Advances the clock past the first retry and delivers. */
    async retry(): Promise<void> {
      clock.time += 7000;
      await stage.settle();
    },
    /** Delivery status by event. */
    async statuses(): Promise<Map<string, string>> {
      const found = await Promise.all(sessions.map((id) => store.deliveriesOfSession(id)));
      return new Map(found.flat().map(({ eventId, status }) => [eventId, status]));
    },
  };
  return stage;
}

const idsOf = (events: readonly MerchantEvent[]) =>
  events
    .toSorted((a, b) => a.created - b.created || a.sequence - b.sequence || (a.id < b.id ? -1 : 1))
    .map(({ id }) => id);

describe('the recovery of a time range on two instances', () => {
  test('a recovery delivers every missed event once, in the order of the events', async (context) => {
    const stage = await openStage(context);
    const events: MerchantEvent[] = [];
    // The events of the sessions overlap. Sessions and events have different orders, and fill more than one page.
    for (let number = 0; number < 70; number++) {
      events.push(...(await stage.addSession((number * 7919) % 1000, 'provider_pending', 'paid')));
    }
    const { status, queued, pending, delivered } = await stage.recoverAndSettle();
    assert.deepEqual({ status, queued, pending, delivered }, { status: 'done', queued: 140, pending: 0, delivered: 0 });
    assert.deepEqual(stage.received, idsOf(events));
    const again = await stage.recoverAndSettle();
    assert.deepEqual([again.queued, again.delivered], [0, 140]);
    assert.equal(stage.received.length, 140);
    assert.equal((await stage.recoverAndSettle({ all: true })).queued, 140);
    assert.deepEqual(stage.received.slice(140), idsOf(events));
  });

  test('two simultaneous recoveries on two instances send each event once', async (context) => {
    const stage = await openStage(context);
    const events: MerchantEvent[] = [];
    for (let number = 0; number < 60; number++)
      events.push(...(await stage.addSession(number * 10, 'provider_pending', 'paid')));
    stage.clock.time = START + HOUR;
    const recoveries = await Promise.all(stage.stores.map((store) => stage.recover({}, store)));
    assert.equal(recoveries[0]!.queued + recoveries[1]!.queued, 120);
    assert.equal(recoveries[0]!.pending + recoveries[1]!.pending, 120);
    await stage.settle();
    assert.deepEqual(stage.received, idsOf(events));
  });

  // Each case: the time of the first event and the number of events by session; the first event of session `failing` fails.
  // A first recovery, if the case has two, covers the first event; the last recovery covers all events.
  const fails = 'a recovery delays only the later events of a session whose event fails';
  const waits = 'a recovery skips a session whose earlier event waits for a retry';
  const back =
    'a recovery keeps the order of a session during which the clock was set back, and does not delay other sessions';
  for (const [title, stepMs, sessions, failing, recovered, retried] of [
    [fails, 1, { a: [0, 2], b: [1, 1], c: [2, 1] }, 'a', ['a1 b1 c1'], 'a1 a2'],
    [waits, 1, { a: [0, 2], b: [5, 1] }, 'a', ['a1', 'b1'], 'a1 a2'],
    [back, -10, { a: [10, 2], b: [20, 2], c: [30, 1] }, 'b', ['a1 a2 b1 c1'], 'b1 b2'],
  ] as const) {
    test(title, async (context) => {
      const names = new Map<string, string>();
      let failed = `${failing}1`;
      const stage = await openStage(context, (id) => (names.get(id) === failed ? 500 : 200));
      stage.stepMs = stepMs;
      for (const [session, [delayMs, count]] of Object.entries(sessions)) {
        const statuses = (['provider_pending', 'paid'] as const).slice(-count);
        const events = await stage.addSession(delayMs, ...statuses);
        for (const [index, { id }] of events.entries()) names.set(id, `${session}${index + 1}`);
      }
      const received = () =>
        stage.received
          .splice(0)
          .map((id) => names.get(id))
          .join(' ');
      for (const [index, expected] of recovered.entries()) {
        await stage.recoverAndSettle({ until: index < recovered.length - 1 ? START + 1 : undefined });
        assert.equal(received(), expected);
      }
      failed = '';
      await stage.retry();
      assert.equal(received(), retried);
      assert.deepEqual(new Set((await stage.statuses()).values()), new Set(['delivered']));
    });
  }

  test('a recovery repeats dead deliveries, and skips pending deliveries and events after the range', async (context) => {
    let code = 410;
    const stage = await openStage(context, () => code);
    const [dead] = await stage.addSession(0, 'paid');
    await stage.recoverAndSettle();
    assert.equal((await stage.statuses()).get(dead!.id), 'dead');
    code = 500;
    await stage.stores[0].commit([{ type: 'endpoint_saved', endpoint: stage.endpoint }]);
    const [waiting] = await stage.addSession(10, 'paid');
    const [late] = await stage.addSession(2 * HOUR, 'paid');
    const first = await stage.recoverAndSettle({ from: START + 10 });
    assert.deepEqual([first.queued, first.pending], [1, 0]);
    code = 200;
    const { queued, pending, delivered } = await stage.recoverAndSettle();
    assert.deepEqual({ queued, pending, delivered }, { queued: 1, pending: 1, delivered: 0 });
    assert.deepEqual(stage.received, [dead!.id, waiting!.id, dead!.id]);
    assert.equal((await stage.statuses()).has(late!.id), false);
  });

  test('an unfinished attempt of a recovery is repeated after its lease expires, before the next event', async (context) => {
    const stage = await openStage(context);
    const [first] = await stage.addSession(0, 'paid');
    const [second] = await stage.addSession(1, 'paid');
    stage.clock.time = START + HOUR;
    await stage.recover();
    const [, store] = stage.stores;
    const due = await store.deliveriesDue(stage.endpoint.id, stage.clock.time, 10);
    assert.deepEqual(
      due.map(({ delivery }) => delivery.eventId),
      [first!.id],
    );
    const claimed = { ...due[0]!.delivery, attempts: 1, dueAt: stage.clock.time + 60_000 };
    await store.commit([{ type: 'delivery_claimed', delivery: claimed }]);
    await stage.settle();
    assert.deepEqual(stage.received, []);
    stage.clock.time += 60_000;
    await stage.settle();
    assert.deepEqual(stage.received, [first!.id, second!.id]);
  });

  test('a recovery continues on another instance after its process died, and stops if the endpoint is disabled', async (context) => {
    const stage = await openStage(context);
    const events: MerchantEvent[] = [];
    for (let number = 0; number < 130; number++) events.push(...(await stage.addSession(number, 'paid')));
    stage.clock.time = START + HOUR;
    const [one, other] = stage.stores;
    let commits = 0;
    const dying: Store['commit'] = (changes) => {
      if (commits++ === 2) throw new Error('the process has died');
      return one.commit(changes);
    };
    await assert.rejects(stage.recover({}, { ...one, commit: dying }), /the process has died/);
    await stage.settle();
    assert.equal(stage.received.length, 100);
    const deps = { store: other, now: stage.clock.now, newId };
    const [unfinished] = await other.recoveriesLeft(stage.clock.time, 10);
    assert.equal(unfinished!.status, 'running');
    const done = await continueRecovery(deps, unfinished!, 0);
    assert.deepEqual([done.status, done.queued], ['done', 130]);
    await stage.settle();
    assert.deepEqual(stage.received, idsOf(events));
    assert.deepEqual(await other.recoveriesLeft(stage.clock.time, 10), []);

    await one.commit([{ type: 'endpoint_saved', endpoint: { ...stage.endpoint, status: 'disabled' } }]);
    const stopped = await continueRecovery(deps, { ...done, status: 'running' }, 0);
    assert.equal(stopped.status, 'stopped');
    await assert.rejects(stage.recover(), { code: 'invalid_state' });
  });
});
