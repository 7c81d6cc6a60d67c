// @run on=sqlite,postgres
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openStore } from '../../src/store/open.ts';
import { writesOf } from '../../src/store/changes.ts';
import { systemClock } from '../../src/runtime.ts';
import { STORE_OPTIONS, createServiceDatabase } from '../support/database.ts';
import { aSession } from '../fixtures/checkout-records.ts';

test('a change set without hurry shares the transaction of the next change set, and is committed alone without one', async () => {
  await using database = await createServiceDatabase();
  const batches: number[] = [];
  const onBatch = (sets: readonly unknown[]) => void batches.push(sets.length);
  const store = await openStore(database.settings, { ...STORE_OPTIONS, clock: systemClock, onBatch });
  const at = systemClock.now();
  const succeeded = { type: 'endpoint_succeeded', endpointId: 'whe_unknown', at } as const;
  const failed = { type: 'endpoint_failed', endpointId: 'whe_unknown', at } as const;
  const waiting = store.commit([succeeded]);
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(await Promise.all([waiting, store.commit([failed])]), [{ done: true }, { done: true }]);
  assert.deepEqual(batches, [2]);
  await store.commit([succeeded]);
  assert.deepEqual(batches, [2, 1]);
  await store.close();
});

test('an update writes only the columns that differ from the earlier record, so that other indexes stay unwritten', () => {
  const before = aSession();
  const session = { ...before, version: before.version + 1, attempts: 1 };
  const [changed] = writesOf([{ type: 'session_changed', session, before }]);
  assert.equal(changed!.sql, 'UPDATE sessions SET attempts = ?2, version = ?3 WHERE id = ?1 AND version + 1 = ?3');
  assert.deepEqual(changed!.params, [session.id, 1, session.version]);
});
