// @run on=postgres needs=process
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Change, Store } from '../../src/store/store.ts';
import { MINUTE, NOW, idOf } from '../fixtures/checkout-records.ts';
import { aDelivery, anAttemptOf, anEndpoint, creationOf, checkoutRecords, write } from '../fixtures/store-records.ts';
import { until } from '../support/until.ts';
import { openTestStore, settingsOf } from '../support/database.ts';
import { alterSystem, startPostgres } from '../support/postgres.ts';
import { startProxy } from '../support/tcp-proxy.ts';
import {
  END_CONNECTIONS,
  type OpenedPostgres,
  WAITING,
  records,
  isUnavailable,
  versionRaised,
  withPostgres,
} from './postgres-stage.ts';

describe('a session row that another program has locked', () => {
  const hold = async ({ client }: OpenedPostgres) => {
    await client.query('BEGIN');
    await client.query('SELECT 1 FROM sessions WHERE id = $1 FOR UPDATE', [records.session.id]);
  };

  test('a locked session row does not delay other change sets of the same batch', () =>
    withPostgres(async (opened) => {
      const { store, client } = opened;
      await hold(opened);
      const [before, held, after] = [
        creationOf(checkoutRecords(1)),
        versionRaised(1),
        creationOf(checkoutRecords(2)),
      ].map((changes) => store.commit(changes));
      assert.deepEqual(await Promise.all([before, after]), [{ done: true }, { done: true }]);
      await client.query('ROLLBACK');
      assert.deepEqual(await held, { done: true });
    }));

  test('a locked session row does not delay later change sets, even if many commits wait for the row', () =>
    withPostgres(async (opened) => {
      const { store, client } = opened;
      await hold(opened);
      const held: Promise<unknown>[] = [];
      let endedBefore = 0;
      for (let count = 0; count < 8; count++) {
        const ended = store.commit(versionRaised(1)).catch(isUnavailable);
        held.push(ended.finally(() => endedBefore++));
        await sleep(10);
      }
      for (let number = 1; number < 6; number++) {
        assert.deepEqual(await store.commit(creationOf(checkoutRecords(number))), { done: true });
      }
      assert.equal(endedBefore, 0);
      await client.query('ROLLBACK');
      const outcomes = await Promise.all(held);
      assert.equal(outcomes.filter((outcome) => (outcome as { done?: boolean }).done).length, 1);
    }));
});

describe('a server that is no longer the primary', () => {
  test('the store is unavailable and closes its connections while its server is read-only', async () => {
    await using demoted = await startPostgres();
    await withPostgres(async ({ store, postgres, name }) => {
      const backends = async () =>
        (await postgres.query(name, "SELECT pid FROM pg_stat_activity WHERE application_name = 'tillway'")).map(
          ({ pid }) => pid,
        );
      const first = await backends();
      assert.ok(first.length > 0);
      await alterSystem(postgres, 'default_transaction_read_only', 'on');
      await assert.rejects(store.commit(versionRaised(1)), isUnavailable);
      await assert.rejects(store.ping(), isUnavailable);
      await until(
        async () => !(await backends()).some((pid) => first.includes(pid)),
        () => 'an earlier connection is still open',
      );
      await alterSystem(postgres, 'default_transaction_read_only');
      assert.deepEqual(await store.commit(versionRaised(1)), { done: true });
    }, demoted);
  });

  test('the store is unavailable for reads and writes while its server rejects connections', () =>
    withPostgres(async ({ store, postgres, name }) => {
      await postgres.query('postgres', `ALTER DATABASE ${name} ALLOW_CONNECTIONS false`);
      await postgres.query('postgres', END_CONNECTIONS, [name]);
      await assert.rejects(store.session(records.session.id), isUnavailable);
      await assert.rejects(store.commit(versionRaised(1)), isUnavailable);
      await assert.rejects(store.ping(), isUnavailable);
      await postgres.query('postgres', `ALTER DATABASE ${name} ALLOW_CONNECTIONS true`);
      assert.deepEqual(await store.commit(versionRaised(1)), { done: true });
    }));
});

test('a read of a checkout returns session and payments from one snapshot', () =>
  withPostgres(async ({ store }) => {
    let stopping = false;
    const written = (async () => {
      for (let by = 1; !stopping; by++) await write(store, ...versionRaised(by));
    })();
    await store.checkout(records.session.id);
    for (let read = 0; read < 1500; read++) {
      const { session, payments } = (await store.checkout(records.session.id))!;
      if (session.version > records.session.version)
        assert.equal(payments[0]!.txHash, `version ${session.version}`, `after ${read} reads`);
    }
    stopping = true;
    await written;
  }));

describe('concurrent commits of deliveries', () => {
  const first = aDelivery({
    sessionId: records.session.id,
    eventId: records.event.id,
    attempts: 1,
    dueAt: NOW + MINUTE,
  });
  const finished: Change = {
    type: 'delivery_finished',
    delivery: { ...first, dueAt: NOW + 5000 },
    attempt: anAttemptOf(first, {
      statusCode: 500,
      failure: 'status 500',
      responseBody: 'the answer to this is cut off',
    }),
  };
  const prepared = (store: Store) =>
    write(store, { type: 'endpoint_saved', endpoint: anEndpoint() }, { type: 'delivery_created', delivery: first });

  test('a delivery attempt is recorded once if the acknowledgement of its first commit was lost', () =>
    withPostgres(async ({ store, postgres, name }) => {
      await prepared(store);
      await using proxy = await startProxy(postgres.port);
      const proxied = await openTestStore(settingsOf(postgres.url(name, proxy.port)));
      const connectionCut = proxy.cutAnswerTo('the answer to this is cut off');
      await assert.rejects(proxied.commit([finished]), isUnavailable);
      await connectionCut;
      assert.deepEqual(await proxied.commit([finished]), { done: false, conflict: 'overtaken' });
      assert.equal((await proxied.deliveryAttempts(first.id)).length, 1);
      await proxied.close();
    }));

  test('a delivery created while an earlier delivery finishes is due at once, not after the lease of the earlier delivery', () =>
    withPostgres(async ({ store, client, postgres, name }) => {
      await prepared(store);
      await client.query('BEGIN');
      await client.query("UPDATE deliveries SET status = 'delivered' WHERE id = $1", [first.id]);
      const event = { ...records.event, id: `evt_${records.session.id}_failed`, sequence: 3 };
      const next = aDelivery({ ...first, id: idOf('dlv', 2), eventId: event.id, sequence: 3, attempts: 0, dueAt: NOW });
      const committed = store.commit([
        { type: 'event_recorded', event },
        { type: 'delivery_created', delivery: next },
      ]);
      await until(async () => (await postgres.query(name, WAITING)).length > 0);
      await client.query('COMMIT');
      assert.deepEqual(await committed, { done: true });
      assert.equal((await store.delivery(next.id))!.dueAt, NOW);
    }));
});
