// @run on=sqlite,postgres
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { EventFilter, MerchantEvent } from '../../src/store/webhooks-port.ts';
import type { Page } from '../../src/store/list-page.ts';
import { MINUTE, NOW, idOf } from '../fixtures/checkout-records.ts';
import {
  aDelivery,
  withStore,
  anEndpoint,
  anEvent,
  creationOf,
  checkoutRecords,
  write,
} from '../fixtures/store-records.ts';

test('an unknown event id as a cursor stands for the creation time of its session', () =>
  withStore(async (store) => {
    const recordSets = Array.from({ length: 6 }, (_, index) => checkoutRecords(index));
    const events = recordSets.map(({ event }, index) => ({ ...event, created: NOW + 10 + index }));
    for (const [index, records] of recordSets.entries()) {
      await write(store, ...creationOf({ ...records, event: events[index]! }));
    }
    const cursor = `evt_${idOf('chk', 13)}_paid`;
    const idsOf = async (filter: EventFilter, page: Omit<Page, 'limit'>) =>
      (await store.listEvents(filter, { limit: 9, ...page })).items.map(({ id }) => id);
    const newestFirst = events.map(({ id }) => id).toReversed();
    assert.deepEqual(await idsOf({}, { endingBefore: cursor }), newestFirst.slice(0, 3));
    assert.deepEqual(await idsOf({}, { startingAfter: cursor }), newestFirst.slice(3));
    const { sessionId, id } = events[0]!;
    assert.deepEqual(await idsOf({ sessionId }, { startingAfter: cursor }), [id]);
    assert.deepEqual(await idsOf({ sessionId }, { endingBefore: cursor }), []);
  }));

describe('a delivery that is added to an event', () => {
  const records = checkoutRecords(1);
  const endpoint = anEndpoint();

  test('an added delivery becomes due with an earlier pending delivery of its session, and does not wait for later deliveries', () =>
    withStore(async (store) => {
      const { session, event: middle } = records;
      const earlier = anEvent({ ...middle, id: `evt_${session.id}_provider_pending`, sequence: 1 });
      const later = anEvent({ ...middle, id: `evt_${session.id}_failed`, sequence: 3 });
      await write(store, ...creationOf(records), { type: 'endpoint_saved', endpoint });
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
