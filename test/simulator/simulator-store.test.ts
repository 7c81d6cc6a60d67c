// @run on=sqlite,postgres
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type Charge,
  type ChargeRefund,
  type QueuedCallback,
  type SimulatorStore,
  createSimulatorStore,
  insertCallback,
  insertCharge,
  insertRefund,
  updateCallback,
  updateCharge,
  updateRefund,
} from '../../src/simulator/simulator-store.ts';
import { NOW } from '../fixtures/checkout-records.ts';
import { createServiceDatabase, STORE_OPTIONS } from '../support/database.ts';
import { openStore } from '../../src/store/open.ts';

const MINUTE = 60_000;
const CHARGE: Charge = {
  reference: 'sp_first',
  paymentId: 'pay_1',
  sessionId: 'chk_1',
  kind: 'card',
  merchant: 'Demo merchant',
  product: 'Field guide',
  amount: 4999,
  total: 5024,
  returnUrl: 'http://127.0.0.1/return',
  status: 'open',
  reason: null,
  txHash: 'sim_1',
  captured: 0,
  refunded: 0,
  created: NOW,
};
const REFUND: ChargeRefund = {
  id: 'ref_1',
  reference: CHARGE.reference,
  amount: 500,
  status: 'pending',
  reason: null,
  created: NOW,
};

function aCallback(fields: Partial<QueuedCallback> = {}): QueuedCallback {
  return { id: 'ev_1', reference: 'sp_first', body: '{}', status: 'pending', attempts: 0, dueAt: NOW, ...fields };
}

async function withStore(use: (store: SimulatorStore) => Promise<void>): Promise<void> {
  await using database = await createServiceDatabase();
  const opened = await openStore(database.settings, STORE_OPTIONS);
  try {
    await use(createSimulatorStore(opened.database));
  } finally {
    await opened.close();
  }
}

test('a payment has one charge, and an update is rejected if the charge has changed since it was read', () =>
  withStore(async (store) => {
    const write = (...writes: Parameters<SimulatorStore['write']>[1]) => store.write(CHARGE.reference, writes);
    assert.equal(await write(insertCharge(CHARGE)), true);
    assert.equal(await write(insertCharge({ ...CHARGE, reference: 'sp_second' })), false);
    const paid: Charge = { ...CHARGE, status: 'paid', captured: 5024 };
    assert.equal(await write(updateCharge(paid, CHARGE)), true);
    assert.equal(await write(updateCharge({ ...CHARGE, status: 'cancelled' }, CHARGE)), false);
    const refunded = { ...paid, refunded: 500 };
    assert.equal(await write(insertRefund(REFUND), updateCharge(refunded, paid)), true);
    assert.equal(await write(insertRefund(REFUND)), false);
    const other = { ...REFUND, id: 'ref_2' };
    assert.equal(await write(insertRefund(other), updateCharge({ ...paid, refunded: 600 }, paid)), false);
    assert.equal(await store.refund('ref_2'), undefined, 'a rejected update rolls back the insert before it');
    const failed = { ...REFUND, status: 'failed', reason: 'refund_declined' } as const;
    assert.equal(await write(updateRefund(failed, 'pending')), true);
    assert.equal(await write(updateRefund(failed, 'pending')), false);
    assert.deepEqual(await store.refund(REFUND.id), failed);
    assert.deepEqual(await store.chargesOfSession(CHARGE.sessionId), [refunded]);
  }));

test('each attempt to send a callback is claimed once, and a finished callback cannot be claimed', () =>
  withStore(async (store) => {
    const write = (callback: QueuedCallback, before: number) =>
      store.write(callback.reference, [updateCallback(callback, before)]);
    const claim = (attempts: number) => write(aCallback({ attempts, dueAt: NOW + MINUTE }), attempts - 1);
    const finish = (attempts: number, status: 'pending' | 'done') => write(aCallback({ attempts, status }), attempts);
    await store.write('sp_first', [insertCallback(aCallback())]);
    assert.equal(await claim(1), true);
    assert.deepEqual(await store.callbacksDue(NOW, 5), []);
    assert.equal(await claim(1), false);
    assert.equal(await claim(2), true);
    assert.equal(await finish(1, 'done'), false, 'the second attempt has begun');
    assert.equal(await finish(2, 'pending'), true);
    assert.equal(await claim(3), true);
    assert.equal(await finish(3, 'done'), true);
    assert.equal(await claim(4), false);
  }));
