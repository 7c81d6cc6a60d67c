// @run on=sqlite,postgres
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Refund } from '../../src/domain/refund.ts';
import { INVARIANTS } from '../../src/store/invariants.ts';
import { CREATE_MIGRATIONS, migrationRow } from '../../src/store/migrate.ts';
import { MIGRATIONS } from '../../src/store/migrations/migrations.ts';
import { examineDatabase, openStore } from '../../src/store/open.ts';
import { migrationForPostgres } from '../../src/store/postgres-sql.ts';
import { NOW, idOf } from '../fixtures/records.ts';
import { adapters, creationOf, familyOf, write } from '../fixtures/store.ts';
import { TEST_DATABASE, createTestDatabase, runSql, usual } from '../support/database.ts';

const family = familyOf(1);

function aRefund(fields: Partial<Refund> = {}): Refund {
  return {
    id: idOf('ref', 1),
    paymentId: family.payment.id,
    sessionId: family.session.id,
    environment: 'sandbox',
    amount: 1000,
    shares: { merchant: 900, gateway: 100, cost: 19 },
    reason: 'duplicate',
    status: 'pending',
    failureReason: null,
    idempotencyKey: null,
    requestHash: null,
    created: NOW,
    updated: NOW,
    ...fields,
  };
}

for (const { name, withStore } of adapters) {
  const seeded = (what: string, use: Parameters<typeof withStore>[0]) =>
    void test(`${name}: ${what}`, () =>
      withStore(async (store) => {
        await write(store, ...creationOf(family));
        await use(store);
      }));

  seeded('a refund is read as it was written, by its id and its key, and as it has moved', async (store) => {
    const refund = aRefund({ idempotencyKey: 'key-1', requestHash: 'h' });
    await write(store, { type: 'refund_created', refund, dueAt: NOW });
    assert.deepEqual(await store.refund(refund.id), refund);
    assert.deepEqual(await store.refundByIdempotencyKey('sandbox', 'key-1'), refund);
    assert.equal(await store.refundByIdempotencyKey('production', 'key-1'), undefined);
    const failed: Refund = { ...refund, status: 'failed', failureReason: 'no', updated: NOW + 1 };
    await write(store, { type: 'refund_changed', refund: failed, from: 'pending' });
    assert.deepEqual(await store.refund(refund.id), failed);
    assert.deepEqual(await store.refundsDue(NOW + 9, 5), [], 'nobody asks about it any more');
  });

  seeded('refund_exists: a key is taken once in an environment; any number of refunds have none', async (store) => {
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
  });

  seeded('version: a refund moves from the status that it was decided on', async (store) => {
    await write(store, { type: 'refund_created', refund: aRefund(), dueAt: NOW });
    const refund = aRefund({ status: 'succeeded' });
    const late = await store.commit([{ type: 'refund_changed', refund, from: 'succeeded' }]);
    assert.deepEqual(late, { done: false, conflict: 'version' });
    await write(store, { type: 'refund_changed', refund, from: 'pending' });
  });

  seeded('overtaken: each attempt to ask is begun once, and ended by whoever began it', async (store) => {
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
  });
}

test('a database of the first version: what was to be given back, or was, is a refund from then on', async () => {
  await using database = await createTestDatabase();
  const [initial] = MIGRATIONS;
  const row = migrationRow(initial!).map((value) => (typeof value === 'number' ? value : `'${value}'`));
  const schema = `${CREATE_MIGRATIONS};${initial!.sql}INSERT INTO schema_migrations VALUES (${row.join(', ')});`;
  const payment = (number: number, ledgerStatus: string, surplus: number) => `INSERT INTO payments VALUES (
    '${idOf('pay', number)}', '${idOf('chk', 1)}', '${idOf('inv', number)}', '${idOf('cus', 1)}', 'sandbox', 1000, 'paid',
    '${ledgerStatus}', '{}', 5, 29, 19, NULL, NULL, 0, ${surplus}, NULL, NULL, 0, NULL, '{}', 1, 2, NULL, 0);`;
  const task = (number: number, kind: string, status: string, attempts: number) => `INSERT INTO provider_tasks VALUES (
    '${idOf('pay', number)}', '${kind}', '${idOf('chk', 1)}', '${status}', ${attempts}, 99, 7);`;
  const entry = (number: number, kind: string, line: number, account: string, amount: number) =>
    `INSERT INTO ledger_entries VALUES ('${idOf('pay', number)}', '${kind}', ${line}, 'sandbox', '${account}', ${amount}, 7);`;
  const rows = [
    `INSERT INTO customers VALUES ('${idOf('cus', 1)}', 'sandbox', 'a@b.example', 'a@b.example', 'active', 1);`,
    `INSERT INTO sessions VALUES ('${idOf('chk', 1)}', 'sandbox', 'paid', 3, 'p', 1000, '${idOf('cus', 1)}',
      'a@b.example', NULL, NULL, '{}', NULL, NULL, NULL, '{}', NULL, 1, 0, 1, 2, NULL, NULL);`,
    payment(1, 'settled', 0),
    payment(2, 'refunded', 1),
    payment(3, 'pending', 1),
    task(1, 'cancel', 'done', 1),
    task(2, 'refund', 'done', 1),
    task(3, 'refund', 'pending', 4),
    entry(2, 'refunded', 0, 'buyer_refunds_payable', 1005),
    entry(2, 'refunded', 1, 'provider_clearing', -986),
    entry(2, 'refunded', 2, 'provider_cost', -19),
  ];
  await runSql(database.url, (TEST_DATABASE === 'sqlite' ? schema : migrationForPostgres(schema)) + rows.join('\n'));

  const store = await openStore(database.settings, usual);
  try {
    const refundOf = (number: number) => idOf('pay', number).replace('pay', 'ref');
    const listed = (await store.listRefunds({ sessionId: idOf('chk', 1) }, { limit: 9 })).items;
    assert.deepEqual(
      listed.map(({ id, amount, reason, status, shares }) => [id, amount, reason, status, shares.cost]),
      [
        [refundOf(3), 1005, 'surplus', 'pending', 19],
        [refundOf(2), 1005, 'surplus', 'succeeded', 19],
      ],
    );
    const due = await store.refundsDue(99, 9);
    assert.deepEqual(
      due.map(({ refund, attempts, dueAt }) => [refund.id, attempts, dueAt]),
      [[refundOf(3), 4, 99]],
    );
    const counted = await Promise.all([1, 2, 3].map(async (number) => (await store.payment(idOf('pay', number)))!));
    assert.deepEqual(
      counted.map(({ settled, refunded, refundPending, refundShares }) => [
        settled,
        refunded,
        refundPending,
        refundShares.cost,
      ]),
      [
        [true, 0, 0, 0],
        [false, 1005, 0, 19],
        [false, 0, 1005, 19],
      ],
    );
  } finally {
    await store.close();
  }
  const examined = await examineDatabase(database.settings);
  try {
    for (const { name: invariant, sql } of INVARIANTS.filter(({ name }) => /refund|ledger_status|task/.test(name))) {
      assert.deepEqual(await examined.violations(sql, 5), [], invariant);
    }
  } finally {
    await examined.close();
  }
});
