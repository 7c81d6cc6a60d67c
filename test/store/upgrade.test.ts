import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { CREATE_MIGRATIONS, migrationRow } from '../../src/store/migrate.ts';
import { MIGRATIONS } from '../../src/store/migrations/migrations.ts';
import { migrationForPostgres } from '../../src/store/postgres-sql.ts';
import { TEST_DATABASE, createTestDatabase, runSql } from '../support/database.ts';
import { call, startTestService } from '../support/service.ts';
import { assertSound } from '../support/sound.ts';

const ROWS = readFileSync(new URL('../fixtures/first-version.sql', import.meta.url), 'utf8');
const WRITTEN_AT = 1_772_366_436_000;

interface Discrepancy {
  id: string;
  kind: string;
  status: string;
  resolution: string | null;
  actions: string[];
}

test('a database of the first version, with money in every state it knew, is sound after the upgrade and goes on', async () => {
  await using database = await createTestDatabase();
  const [initial] = MIGRATIONS;
  const row = migrationRow(initial!).map((value) => (typeof value === 'number' ? value : `'${value}'`));
  const schema = `${CREATE_MIGRATIONS};${initial!.sql}INSERT INTO schema_migrations VALUES (${row.join(', ')});`;
  await runSql(database.url, (TEST_DATABASE === 'sqlite' ? schema : migrationForPostgres(schema)) + ROWS);

  await using on = await startTestService({ beside: { databaseUrl: database.url } });
  await assertSound(database.url);
  on.clock.advance(WRITTEN_AT - on.clock.now());
  const { store } = on.service.deps;
  const known = new Map(
    (await store.listSessions({}, { limit: 100 })).items.map((session) => [
      session.customerEmail.split('@')[0],
      session,
    ]),
  );
  const paymentOf = async (name: string, surplus = false) =>
    (await store.checkout(known.get(name)!.id))!.payments.find(
      (payment) => payment.surplus === surplus && payment.failureCode === null,
    )!;
  const discrepancyOf = async (name: string) => {
    const path = `${on.url}/api/gateway/discrepancies?sessionId=${known.get(name)!.id}`;
    return (await call<{ data: Discrepancy[] }>('GET', path)).body.data[0]!;
  };
  const post = (path: string, body: unknown) =>
    call<{ amount: number; source: string }>('POST', `${on.url}/api/gateway${path}`, body);
  await on.pass(61_000);

  // What was due is done: the surplus of before is given back, and what waits for its provider comes.
  assert.deepEqual((await discrepancyOf('surplusRefunded')).resolution, 'refunded');
  assert.equal((await paymentOf('surplusRefunded', true)).ledgerStatus, 'refunded');
  assert.equal((await paymentOf('pending')).status, 'paid');

  // What was settled is answered as that, and its refund leaves the merchant in debt.
  const settled = await paymentOf('settled');
  const settlement = await post(`/payments/${settled.id}/settle`, {});
  assert.deepEqual([settlement.status, settlement.body.amount], [200, settled.fees.merchantNet / 100]);
  for (const name of ['paid', 'settled', 'mismatchPaid', 'surplusRefunded']) {
    const { id, fees } = await paymentOf(name);
    assert.equal((await post(`/payments/${id}/refunds`, { amount: 5 })).status, 200, name);
    assert.equal((await post(`/payments/${id}/settle`, {})).status, 200, name);
    assert.equal((await post(`/payments/${id}/refunds`, {})).body.amount, (fees.total - 500) / 100, name);
  }

  // A wrong amount is in the list, but for one that was completed.
  const completed = await discrepancyOf('mismatchPaid');
  assert.deepEqual([completed.status, completed.resolution, completed.actions], ['resolved', 'paid_in_full', []]);
  const wrong = await discrepancyOf('mismatch');
  assert.deepEqual([wrong.kind, wrong.actions], ['amount_mismatch', ['refund', 'accept']]);
  assert.equal((await post(`/discrepancies/${wrong.id}/resolve`, { action: 'refund' })).status, 200);
  await on.pass(61_000);
  assert.equal((await discrepancyOf('mismatch')).resolution, 'refunded');
  assert.equal(await store.ledgerTotal(), 0);
  await assertSound(database.url);
});
