// @run on=sqlite,postgres
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { PROVIDER_STATUSES } from '../../src/domain/records.ts';
import { ENVIRONMENTS } from '../../src/domain/route.ts';
import type { EventFilter } from '../../src/store/events.ts';
import type { Page } from '../../src/store/page.ts';
import type { Change, Store } from '../../src/store/store.ts';
import type { MerchantEvent } from '../../src/store/webhooks.ts';
import { MINUTE, NOW, aCustomer, aSession, idOf } from '../fixtures/records.ts';
import { aDelivery, adapters, anEndpoint, anEvent, creationOf, familyOf, write } from '../fixtures/store.ts';
import { TEST_DATABASE } from '../support/database.ts';

const customerOf = (environment: MerchantEvent['environment']) =>
  aCustomer({ id: idOf('cus', ENVIRONMENTS.indexOf(environment)), environment });

/** One session a draw: its events are as long after its creation as the draw says, many in the same millisecond. */
interface Draw {
  production: boolean;
  delays: number[];
}
const anyHistory: fc.Arbitrary<Draw[]> = fc.array(
  fc.record({
    production: fc.boolean(),
    delays: fc.array(fc.oneof(fc.constant(0), fc.nat(3), fc.nat(MINUTE)), { maxLength: 3 }),
  }),
  { maxLength: 20, size: 'max' },
);

function historyOf(draws: Draw[]): { changes: Change[]; events: MerchantEvent[] } {
  const changes: Change[] = ENVIRONMENTS.map((name) => ({ type: 'customer_created', customer: customerOf(name) }));
  const events: MerchantEvent[] = [];
  for (const [index, { production, delays }] of draws.entries()) {
    const environment = production ? 'production' : 'sandbox';
    const { id: customerId, email: customerEmail } = customerOf(environment);
    const sessionId = idOf('chk', index);
    changes.push({
      type: 'session_created',
      session: aSession({ id: sessionId, customerId, customerEmail, environment }),
    });
    let created = NOW + index;
    for (const [step, delay] of delays.entries()) {
      created += delay;
      const status = (['provider_pending', 'failed', 'paid'] as const)[step]!;
      const id = `evt_${sessionId}_${status}`;
      const type = `payment.${status}` as const;
      events.push(anEvent({ id, sessionId, environment, type, sequence: step + 2, created, body: `{"id":"${id}"}` }));
    }
  }
  changes.push(...events.map((event): Change => ({ type: 'event_recorded', event })));
  return { changes, events };
}

/** The naive list: everything, filtered, newest first. */
function expected(events: MerchantEvent[], { sessionId, type, environment }: EventFilter): string[] {
  return events
    .filter(
      (event) =>
        (sessionId === undefined || event.sessionId === sessionId) &&
        (type === undefined || event.type === type) &&
        (environment === undefined || event.environment === environment),
    )
    .toSorted((a, b) => b.created - a.created || b.sequence - a.sequence || (a.id < b.id ? 1 : -1))
    .map(({ id }) => id);
}

async function idsOf(store: Store, filter: EventFilter, page: Page): Promise<{ ids: string[]; hasMore: boolean }> {
  const { items, hasMore } = await store.listEvents(filter, page);
  return { ids: items.map(({ id }) => id), hasMore };
}

/** Holds every page, on the way down and on the way back from the oldest event, against the naive list. */
async function assertWalks(store: Store, events: MerchantEvent[], filter: EventFilter, limit: number): Promise<void> {
  const all = expected(events, filter);
  const about = `${JSON.stringify(filter)} limit ${limit}`;
  let page: Page = { limit };
  for (let from = 0; from === 0 || from < all.length; from += limit) {
    const found = await idsOf(store, filter, page);
    assert.deepEqual(found, { ids: all.slice(from, from + limit), hasMore: from + limit < all.length }, about);
    page = { limit, startingAfter: found.ids.at(-1) ?? '' };
  }
  let end = all.length - 1;
  while (end > 0) {
    const found = await idsOf(store, filter, { limit, endingBefore: all[end]! });
    const ids = all.slice(Math.max(0, end - limit), end);
    assert.deepEqual(found, { ids, hasMore: end > limit }, `${about} back`);
    end -= limit;
  }
}

function subsets(event: MerchantEvent): EventFilter[] {
  const { sessionId, type, environment } = event;
  return Array.from({ length: 8 }, (_, bits) => ({
    ...((bits & 1) !== 0 && { sessionId }),
    ...((bits & 2) !== 0 && { type }),
    ...((bits & 4) !== 0 && { environment }),
  }));
}

for (const adapter of adapters) {
  describe(`${adapter.name}: events`, () => {
    test('any history, every set of filters, any limit: walking both ways finds each event once, in order', () =>
      fc.assert(
        fc.asyncProperty(anyHistory, fc.integer({ min: 1, max: 7 }), fc.nat(60), (draws, limit, pick) =>
          adapter.withStore(async (store) => {
            const { changes, events } = historyOf(draws);
            await write(store, ...changes);
            const named = events[pick % Math.max(1, events.length)] ?? anEvent();
            for (const filter of subsets(named)) await assertWalks(store, events, filter, limit);
          }),
        ),
        { numRuns: TEST_DATABASE === 'sqlite' ? 25 : 10, interruptAfterTimeLimit: 20_000 },
      ));

    test('any cursor, in the list or not, stands where it would stand', () =>
      adapter.withStore(async (store) => {
        const draws = Array.from({ length: 12 }, (_, index) => ({
          production: index % 3 === 0,
          delays: [index % 2, (index * 7) % 5, 0].slice(0, 1 + (index % 3)),
        }));
        const { changes, events } = historyOf(draws);
        await write(store, ...changes);
        for (const cursor of events) {
          const all = expected(events, {});
          const at = all.indexOf(cursor.id);
          for (const filter of subsets(events[5]!)) {
            const wanted = new Set(expected(events, filter));
            const older = all.slice(at + 1).filter((id) => wanted.has(id));
            const newer = all.slice(0, at).filter((id) => wanted.has(id));
            const down = await idsOf(store, filter, { limit: 3, startingAfter: cursor.id });
            assert.deepEqual(down, { ids: older.slice(0, 3), hasMore: older.length > 3 });
            const up = await idsOf(store, filter, { limit: 3, endingBefore: cursor.id });
            assert.deepEqual(up, { ids: newer.slice(-3), hasMore: newer.length > 3 });
          }
        }
      }));

    test('an event that does not exist is the time at which its session was made', () =>
      adapter.withStore(async (store) => {
        const { changes, events } = historyOf(Array.from({ length: 6 }, () => ({ production: false, delays: [10] })));
        await write(store, ...changes);
        // The events are of NOW + 10 up to NOW + 15, this session of NOW + 13.
        const cursor = `evt_${idOf('chk', 13)}_paid`;
        const all = expected(events, {});
        const older = await idsOf(store, {}, { limit: 9, startingAfter: cursor });
        const newer = await idsOf(store, {}, { limit: 9, endingBefore: cursor });
        assert.deepEqual([newer.ids, older.ids], [all.slice(0, 3), all.slice(3)]);
        const { sessionId } = events[0]!;
        assert.deepEqual((await idsOf(store, { sessionId }, { limit: 9, startingAfter: cursor })).ids, [events[0]!.id]);
        assert.deepEqual((await idsOf(store, { sessionId }, { limit: 9, endingBefore: cursor })).ids, []);
      }));

    test('what is not there is an empty list', () =>
      adapter.withStore(async (store) => {
        const { changes } = historyOf([{ production: false, delays: [0, 0, 0] }]);
        await write(store, ...changes);
        const nothing = { ids: [], hasMore: false };
        for (const type of ['payment.refunded', 'paid', '', "' OR 1=1 --", ...PROVIDER_STATUSES]) {
          assert.deepEqual(await idsOf(store, { type }, { limit: 9 }), nothing);
        }
        assert.deepEqual(await idsOf(store, { sessionId: idOf('chk', 9) }, { limit: 9 }), nothing);
        assert.deepEqual(await idsOf(store, { environment: 'production' }, { limit: 9 }), nothing);
      }));
  });

  describe(`${adapter.name}: a delivery that is added to an event`, () => {
    const family = familyOf(1);
    const endpoint = anEndpoint();
    const added = (number: number): Change => ({
      type: 'delivery_added',
      delivery: aDelivery({ id: idOf('dlv', number), eventId: family.event.id }),
    });

    test('is the only one to its endpoint: of many who add it at once, one does', () =>
      adapter.withStore(async (store) => {
        await write(store, ...creationOf(family), { type: 'endpoint_saved', endpoint });
        const results = await Promise.all(Array.from({ length: 8 }, (_, number) => store.commit([added(number)])));
        assert.deepEqual(
          results.filter(({ done }) => !done),
          Array.from({ length: 7 }, () => ({ done: false, conflict: 'overtaken' })),
        );
        assert.equal((await store.deliveriesOfSession(family.session.id)).length, 1);
      }));

    test('takes what comes with it along, or nothing', () =>
      adapter.withStore(async (store) => {
        const other = anEndpoint({ id: idOf('whe', 2) });
        await write(store, ...creationOf(family), { type: 'endpoint_saved', endpoint });
        await write(store, { type: 'endpoint_saved', endpoint: other }, added(1));
        const beside = aDelivery({ id: idOf('dlv', 2), eventId: family.event.id, endpointId: other.id });
        const result = await store.commit([{ type: 'delivery_added', delivery: beside }, added(3)]);
        assert.deepEqual(result, { done: false, conflict: 'overtaken' });
        assert.deepEqual(
          (await store.deliveriesOfSession(family.session.id)).map(({ id }) => id),
          [idOf('dlv', 1)],
        );
      }));

    test('is due with the earlier event of its session that is pending, and does not wait for later ones', () =>
      adapter.withStore(async (store) => {
        const { session, event: middle } = family;
        const earlier = anEvent({ ...middle, id: `evt_${session.id}_provider_pending`, sequence: 1 });
        const later = anEvent({ ...middle, id: `evt_${session.id}_failed`, sequence: 3 });
        await write(store, ...creationOf(family), { type: 'endpoint_saved', endpoint });
        await write(store, { type: 'event_recorded', event: earlier }, { type: 'event_recorded', event: later });
        const add = async (number: number, { id: eventId, sequence }: MerchantEvent, dueAt: number) => {
          const delivery = aDelivery({ id: idOf('dlv', number), eventId, sequence, dueAt });
          await write(store, { type: 'delivery_added', delivery });
          return (await store.delivery(delivery.id))!.dueAt;
        };
        assert.equal(await add(1, later, NOW + 9 * MINUTE), NOW + 9 * MINUTE);
        assert.equal(await add(2, earlier, NOW + MINUTE), NOW + MINUTE);
        assert.equal(await add(3, middle, NOW), NOW + MINUTE);
        const due = await store.deliveriesDue(endpoint.id, NOW + 9 * MINUTE, 9);
        assert.deepEqual(
          due.map(({ delivery }) => delivery.eventId),
          [earlier.id],
        );
      }));
  });
}
