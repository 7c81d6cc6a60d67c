// @run on=sqlite,postgres
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { applyRefundMessage } from '../../src/operations/refunds/apply-refund-report.ts';
import { createRefund } from '../../src/operations/refunds/create-refund.ts';
import { CREATE_MIGRATIONS, migrationRow } from '../../src/store/migrate.ts';
import { MIGRATIONS } from '../../src/store/migrations/migrations.ts';
import { migrationForPostgres } from '../../src/store/postgres-sql.ts';
import { TEST_DATABASE, createTestDatabase, runSql } from '../support/database.ts';
import { reportRefund } from '../fixtures/provider-reports.ts';
import { start, createSession } from '../simulator/buyer.ts';
import { providerSays } from '../support/money-arrives.ts';
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

test('a database of the first version with payments in every state upgrades without broken invariants and stays usable', async () => {
  await using database = await createTestDatabase();
  const [initial] = MIGRATIONS;
  const row = migrationRow(initial!).map((value) => (typeof value === 'number' ? value : `'${value}'`));
  const schema = `${CREATE_MIGRATIONS};${initial!.sql}INSERT INTO schema_migrations VALUES (${row.join(', ')});`;
  await runSql(database.url, (TEST_DATABASE === 'sqlite' ? schema : migrationForPostgres(schema)) + ROWS);

  await using on = await startTestService({ beside: { databaseUrl: database.url } });
  await assertSound(database.url);
  on.clock.advance(WRITTEN_AT - on.clock.now());
  const { store } = on.service.deps;
  // A task to refund a surplus payment becomes a refund whose id is derived from the payment id.
  const surplus = (await store.listPayments({}, { limit: 100 })).items.filter((payment) => payment.surplus);
  assert.deepEqual(
    (await store.listRefunds({}, { limit: 10 })).items.map((refund) => [refund.id, refund.amount, refund.status]),
    surplus.map(({ id, fees, ledgerStatus }) => [
      id.replace('pay', 'ref'),
      fees.total,
      ledgerStatus === 'refunded' ? 'succeeded' : 'pending',
    ]),
  );
  assert.deepEqual(
    surplus.map(({ refunded, refundPending, fees }) => refunded + refundPending - fees.total),
    [0, 0],
  );
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

  // The workers complete due work: they refund the earlier surplus payment, and the pending payment is paid.
  assert.deepEqual((await discrepancyOf('surplusRefunded')).resolution, 'refunded');
  assert.equal((await paymentOf('surplusRefunded', true)).ledgerStatus, 'refunded');
  assert.equal((await paymentOf('pending')).status, 'paid');

  // A settled payment has its settlement and can still be refunded.
  const settled = await paymentOf('settled');
  const settlement = await post(`/payments/${settled.id}/settle`, {});
  assert.deepEqual([settlement.status, settlement.body.amount], [200, settled.fees.merchantNet / 100]);
  for (const name of ['paid', 'settled', 'mismatchPaid', 'surplusRefunded']) {
    const { id, fees } = await paymentOf(name);
    assert.equal((await post(`/payments/${id}/refunds`, { amount: 5 })).status, 200, name);
    assert.equal((await post(`/payments/${id}/settle`, {})).status, 200, name);
    assert.equal((await post(`/payments/${id}/refunds`, {})).body.amount, (fees.total - 500) / 100, name);
  }

  // A wrong amount has an open discrepancy unless the payment was completed later.
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

/** Undoes the migration `ledger-sums`. */
const BEFORE_LEDGER_SUMS = [
  'DROP TABLE ledger_sums',
  TEST_DATABASE === 'sqlite' ? 'DROP TRIGGER ledger_entries_sum' : 'DROP FUNCTION sum_ledger_entry CASCADE',
];

/**
 * Undoes the migration `provider-inbox` and the later ones. Earlier versions stored refund messages in a table of their own,
 * and messages without an environment.
 */
const BEFORE_PROVIDER_INBOX = [
  ...BEFORE_LEDGER_SUMS,
  `CREATE TABLE refund_messages AS SELECT provider, event_id, refund_id, status, amount, outcome, flagged, body, received
    FROM provider_messages WHERE refund_id IS NOT NULL`,
  `CREATE TABLE old_messages AS SELECT provider, event_id, session_id, payment_id, status, amount, outcome, flagged, body,
    received FROM provider_messages WHERE refund_id IS NULL`,
  'DROP TABLE provider_messages',
  'ALTER TABLE old_messages RENAME TO provider_messages',
  'DELETE FROM schema_migrations WHERE version >= 13',
];

/** Undoes the migration `wrong-amounts` and the later ones, and restores the rows that earlier versions wrote. */
const BEFORE_WRONG_AMOUNTS = [
  ...BEFORE_PROVIDER_INBOX,
  'ALTER TABLE payments DROP COLUMN failure_reason',
  'ALTER TABLE refunds DROP COLUMN unknown_since',
  'ALTER TABLE payments DROP COLUMN returned',
  'ALTER TABLE payments DROP COLUMN owed',
  'DELETE FROM schema_migrations WHERE version >= 10',
  "DELETE FROM discrepancies WHERE expected = 0 AND received = 1500 AND kind = 'amount_mismatch'",
  `UPDATE discrepancies SET expected = 4999, received = received + 4999, subject = payment_id
    WHERE expected = 0 AND kind = 'amount_mismatch'`,
  // Earlier versions resolved a too large amount when the right amount arrived, and added a record for a report without a payment.
  `UPDATE discrepancies SET status = 'resolved', resolution = 'paid_in_full', resolved_at = created WHERE received = 6000`,
  `INSERT INTO discrepancies SELECT id || '0', environment, kind, 'open', 1, session_id, customer_id, payment_id, event_id,
      provider, event_id, expected, received + CASE WHEN received = 2100 THEN 900 ELSE 0 END, currency, 0, NULL, NULL, NULL,
      created, NULL
    FROM discrepancies WHERE received IN (2100, 3100)`,
  "UPDATE discrepancies SET subject = event_id WHERE kind = 'currency_mismatch'",
  // Earlier versions recorded an unknown payment as a wrong amount if it differed, and each larger report as a new record.
  `UPDATE discrepancies SET kind = CASE WHEN received = 4999 THEN kind ELSE 'amount_mismatch' END,
      subject = CASE received WHEN 7000 THEN 'pay/x/' || event_id ELSE REPLACE(subject, '%2F', '/') END
    WHERE kind = 'unknown_payment'`,
  `INSERT INTO discrepancies SELECT id || '0', environment, kind, 'open', 1, session_id, customer_id, NULL,
      'pay/x/stranger_4000', provider, 'stranger_4000', expected, 4000, currency, 0, NULL, NULL, NULL, created, NULL
    FROM discrepancies WHERE event_id = 'stranger_7000'`,
];

/** Reports of an unknown payment: session and amount. The first report of each session is resolved through the API. */
const UNKNOWN_PAYMENT_REPORTS = [
  ['stranger', 2000],
  ['stranger', 4000],
  ['stranger', 7000],
  ['whole', 4999],
  ['whole', 7000],
] as const;

test('the upgrade counts earlier wrong amounts for their payments and adds missing discrepancies', async () => {
  await using database = await createTestDatabase();
  const beside = { databaseUrl: database.url };
  const sessions: Record<string, string> = {};
  {
    await using on = await startTestService({ beside });
    const decide = async (session: string, action: string) => {
      const path = `${on.url}/api/gateway/discrepancies`;
      const { id } = (await call<{ data: [Discrepancy] }>('GET', `${path}?sessionId=${session}`)).body.data[0];
      await call('POST', `${path}/${id}/resolve`, { action, note: 'agreed' });
    };
    const reportedAmounts: Record<string, number> = { paid: 5999, twice: 3100, unnamed: 2100, larger: 6000 };
    for (const name of ['returning', 'failed', 'paid', 'accepted', 'twice', 'unnamed', 'larger', 'euros']) {
      const session = await createSession(on, { customer: `${name}@example.com` });
      sessions[name] = session;
      await start(on, session, 'card');
      if (name === 'paid') await providerSays(on, session, 'paid');
      const currency = name === 'euros' ? 'EUR' : 'USD';
      await providerSays(on, session, 'paid', { amount: reportedAmounts[name] ?? 2000, currency });
      if (['returning', 'failed', 'unnamed'].includes(name)) await decide(session, 'refund');
      if (name === 'accepted') await decide(session, 'accept');
      if (name === 'larger') await providerSays(on, session, 'paid');
      if (name === 'accepted') await providerSays(on, session, 'paid', { amount: 3500 });
    }
    for (const name of ['stranger', 'whole'])
      sessions[name] = await createSession(on, { customer: `${name}@example.com` });
    for (const [name, amount] of UNKNOWN_PAYMENT_REPORTS) {
      await providerSays(on, sessions[name]!, 'paid', { amount, paymentId: 'pay/x', eventId: `${name}_${amount}` });
      if (amount === 2000 || amount === 4999) await decide(sessions[name]!, 'accept');
    }
    const { store } = on.service.deps;
    const [refund] = (await store.listRefunds({ sessionId: sessions['failed']! }, { limit: 1 })).items;
    await reportRefund(on.service.deps, refund!, 'failed');
  }
  for (const sql of BEFORE_WRONG_AMOUNTS) await runSql(database.url, sql);

  await using on = await startTestService({ beside });
  await assertSound(database.url);
  const { store } = on.service.deps;
  const counts = async (name: string) => {
    const [payment] = (await store.checkout(sessions[name]!))!.payments;
    const { items } = await store.listDiscrepancies({ sessionId: sessions[name]! }, { limit: 10 });
    const report = items.map(({ expected, received, paymentId, resolution }) => [
      expected,
      received,
      paymentId !== null,
      ...(resolution === null ? [] : [resolution]),
    ]);
    return [payment!.mismatchRefunded, payment!.mismatchRefundFailed, ...report];
  };
  assert.deepEqual(await counts('returning'), [2000, 0, [4999, 2000, true]]);
  assert.deepEqual(await counts('failed'), [0, 2000, [4999, 2000, true]]);
  assert.deepEqual(await counts('paid'), [0, 0, [0, 1000, true]]);
  assert.deepEqual((await counts('accepted')).slice(0, 2), [0, 0]);
  assert.deepEqual(
    new Set((await counts('accepted')).slice(2)),
    new Set([
      [4999, 2000, true, 'accepted'],
      [4999, 3500, false],
    ]),
  );
  // The largest of several reports of the same money remains, with the amount that exceeds the others.
  assert.deepEqual(await counts('twice'), [0, 0, [4999, 3100, true, 'accepted'], [4999, 3100, true]]);
  assert.deepEqual(await counts('unnamed'), [2100, 0, [0, 900, true], [4999, 2100, true]]);
  assert.deepEqual(await counts('larger'), [0, 0, [0, 1001, true]]);
  const [euros] = (await store.listDiscrepancies({ sessionId: sessions['euros']! }, { limit: 1 })).items;
  assert.equal(euros!.subject, `${euros!.eventId}/EUR`);

  // A resolution of an unknown payment also covers its earlier reports, and one record of the payment is open.
  const unknownPaymentsOf = async (name: string) => {
    const { items } = await store.listDiscrepancies(
      { sessionId: sessions[name]!, kind: 'unknown_payment' },
      { limit: 10 },
    );
    return items.map(({ received, status }) => [received, status]).toSorted(([one], [other]) => +one! - +other!);
  };
  for (const [name, amount] of UNKNOWN_PAYMENT_REPORTS) {
    await providerSays(on, sessions[name]!, 'paid', { amount, paymentId: 'pay/x', eventId: `${name}_${amount}_again` });
  }
  const resolved = [
    [2000, 'resolved'],
    [4000, 'resolved'],
  ];
  assert.deepEqual(await unknownPaymentsOf('stranger'), [...resolved, [7000, 'open']]);
  assert.deepEqual(await unknownPaymentsOf('whole'), [
    [4999, 'resolved'],
    [7000, 'open'],
  ]);
  await providerSays(on, sessions['stranger']!, 'paid', { amount: 8000, paymentId: 'pay/x' });
  assert.deepEqual(await unknownPaymentsOf('stranger'), [...resolved, [8000, 'open']]);
  const { items } = await store.listDiscrepancies({ sessionId: sessions['stranger']! }, { limit: 10 });
  const open = items.find(({ status }) => status === 'open')!;
  assert.equal(items.find(({ received }) => received === 4000)!.note, `Counted in ${open.id}`);
  await assertSound(database.url);
});

test('the upgrade keeps earlier provider messages and adds the environment of their sender', async () => {
  await using database = await createTestDatabase();
  const beside = { databaseUrl: database.url };
  let session = '';
  {
    await using on = await startTestService({ beside });
    const { deps } = on.service;
    session = await createSession(on);
    await start(on, session, 'card');
    await providerSays(on, session, 'paid', { eventId: 'ev_paid' });
    const other = { provider: 'live', environment: 'production', body: '{}' } as const;
    const [payment] = (await deps.store.checkout(session))!.payments;
    const { refund } = await createRefund(deps, payment!.id, { amount: 1 });
    const about = { sessionId: session, refundId: refund.id, amount: 100, currency: 'USD', reason: null } as const;
    const report = { ...about, status: 'succeeded' } as const;
    await applyRefundMessage(deps, { ...other, callback: { ...report, eventId: 'ev_live' } });
    const own = { provider: 'sandbox', environment: 'sandbox', body: '{}' } as const;
    await applyRefundMessage(deps, { ...own, callback: { ...report, eventId: 'ev_refund' } });
  }
  for (const sql of BEFORE_PROVIDER_INBOX) await runSql(database.url, sql);
  // Earlier versions applied one event id to a payment and to a refund.
  await runSql(database.url, "UPDATE refund_messages SET event_id = 'ev_paid' WHERE event_id = 'ev_refund'");

  await using on = await startTestService({ beside });
  await assertSound(database.url);
  const messages = await on.service.deps.store.providerMessages(session);
  assert.deepEqual(
    messages.map(({ eventId, environment, refundId, status, outcome }) => [
      `${eventId} ${environment} ${outcome}`,
      `${refundId === null ? 'payment' : 'refund'} ${status}`,
    ]),
    [
      ['ev_live production environment_mismatch', 'refund succeeded'],
      ['ev_paid sandbox applied', 'payment paid'],
      ['ev_paid sandbox applied', 'refund succeeded'],
    ],
  );
  assert.equal((await providerSays(on, session, 'paid', { eventId: 'ev_paid' })).outcome, 'duplicate');
});
