// @run on=sqlite,postgres
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Store } from '../../src/store/store.ts';
import { NOW, idOf } from '../fixtures/checkout-records.ts';
import { aRefund, creationOf, checkoutRecords, withStore, write } from '../fixtures/store-records.ts';

const records = checkoutRecords(1);

const seeded = (name: string, use: (store: Store) => Promise<void>) =>
  void test(name, () =>
    withStore(async (store) => {
      await write(store, ...creationOf(records));
      await use(store);
    }),
  );

seeded(
  'refund_exists: an environment has one refund per idempotency key, and any number of refunds without a key',
  async (store) => {
    const keyed = { idempotencyKey: 'key-1', requestHash: 'h' };
    await write(store, { type: 'refund_created', refund: aRefund(keyed), dueAt: NOW });
    const second = aRefund({ ...keyed, id: idOf('ref', 2) });
    const conflict = await store.commit([{ type: 'refund_created', refund: second, dueAt: NOW }]);
    assert.deepEqual(conflict, { done: false, conflict: 'refund_exists' });
    for (const number of [3, 4]) {
      await write(store, { type: 'refund_created', refund: aRefund({ id: idOf('ref', number) }), dueAt: NOW });
    }
    await write(store, {
      type: 'refund_created',
      refund: { ...second, environment: 'production' },
      dueAt: NOW,
    });
  },
);

seeded(
  'version: a change of a refund conflicts if the status of the refund has changed since the decision',
  async (store) => {
    await write(store, { type: 'refund_created', refund: aRefund(), dueAt: NOW });
    const refund = aRefund({ status: 'succeeded' });
    const late = await store.commit([{ type: 'refund_changed', refund, from: 'succeeded' }]);
    assert.deepEqual(late, { done: false, conflict: 'version' });
    await write(store, { type: 'refund_changed', refund, from: 'pending' });
  },
);

seeded(
  'overtaken: an attempt at a refund is claimed once, and cannot finish after a later attempt was claimed',
  async (store) => {
    const refund = aRefund();
    await write(store, { type: 'refund_created', refund, dueAt: NOW + 1 });
    assert.deepEqual(await store.refundsDue(NOW, 5), []);
    assert.deepEqual(await store.refundsDue(NOW + 1, 5), [{ refund, attempts: 0, dueAt: NOW + 1, unknownSince: null }]);
    const claim = {
      type: 'refund_claimed',
      due: { refund, attempts: 1, dueAt: NOW + 60, unknownSince: null },
    } as const;
    await write(store, claim);
    assert.deepEqual(await store.commit([claim]), { done: false, conflict: 'overtaken' });
    await write(store, { type: 'refund_claimed', due: { refund, attempts: 2, dueAt: NOW + 120, unknownSince: null } });
    const end = { type: 'refund_postponed', due: { refund, attempts: 1, dueAt: NOW, unknownSince: NOW } } as const;
    assert.deepEqual(await store.commit([end]), { done: false, conflict: 'overtaken' });
    const second = { refund, attempts: 2, dueAt: NOW + 120, unknownSince: null };
    assert.deepEqual(await store.refundsDue(NOW + 120, 5), [second]);
    await write(store, { type: 'refund_postponed', due: { ...second, dueAt: NOW + 240, unknownSince: NOW } });
    assert.deepEqual(await store.refundsDue(NOW + 240, 5), [{ ...second, dueAt: NOW + 240, unknownSince: NOW }]);
  },
);
