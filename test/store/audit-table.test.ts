// @run on=sqlite,postgres
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { audited, recordRefusal } from '../../src/operations/access/audit.ts';
import { listAudit } from '../../src/operations/access/audit.ts';
import { createIdSource } from '../../src/domain/id.ts';
import type { Role } from '../../src/domain/permission.ts';
import type { Principal } from '../../src/domain/principal.ts';
import { createRandomBytes } from '../../src/runtime.ts';
import type { Change, Store } from '../../src/store/store.ts';
import { NOW, aCustomer, idOf } from '../fixtures/checkout-records.ts';
import {
  aMessage,
  aRecovery,
  aRefund,
  anEndpoint,
  checkoutRecords,
  withStore,
  write,
} from '../fixtures/store-records.ts';
import { runSql } from '../support/database.ts';
import { runs } from '../support/for-all.ts';
import type { Discrepancy } from '../../src/domain/records.ts';

const newId = createIdSource(() => NOW, createRandomBytes());
const operator = (id: string, role: Role): Principal => ({
  kind: 'operator',
  id,
  name: `${id}@shop.example`,
  environment: 'sandbox',
  role,
  key: null,
  provenAt: null,
});
const DISCREPANCY: Discrepancy = {
  id: idOf('dis', 1),
  environment: 'sandbox',
  kind: 'amount_mismatch',
  status: 'resolved',
  version: 2,
  sessionId: idOf('chk', 1),
  customerId: idOf('cus', 1),
  paymentId: null,
  subject: '',
  provider: null,
  eventId: null,
  expected: 1,
  received: 2,
  currency: 'USD',
  refunding: false,
  refundId: null,
  resolution: 'accepted',
  note: null,
  created: NOW,
  resolvedAt: NOW,
};
const listed = async (store: Store) => (await store.listAudit({}, { limit: 100 })).items;

describe('the audit table', () => {
  it('refuses every update, and the deletion of entries about changes', () =>
    withStore(async (store, url) => {
      await write(store, { type: 'customer_created', customer: aCustomer() });
      const own = audited({ store, newId, caller: operator('ada', 'admin') }, 'blockCustomer').store;
      await write(own, { type: 'customer_status_changed', customer: aCustomer({ status: 'blocked' }), from: 'active' });
      const before = await listed(store);
      assert.equal(before.length, 1);
      const columns = "id, environment, created, actor_kind, actor_id, actor_name, action, 'read', outcome, details";
      const copy = `INSERT INTO audit_entries (${columns.replace("'read'", 'kind')}) SELECT ${columns.replace('id', "'aud_2'")} FROM audit_entries`;
      await runSql(url, copy);
      for (const sql of [
        "UPDATE audit_entries SET actor_name = 'nobody'",
        "UPDATE audit_entries SET actor_name = 'nobody' WHERE kind = 'read'",
        'DELETE FROM audit_entries',
        "DELETE FROM audit_entries WHERE kind = 'change'",
        ...(url.startsWith('sqlite:')
          ? ['INSERT OR REPLACE INTO audit_entries SELECT * FROM audit_entries']
          : ['TRUNCATE audit_entries']),
      ]) {
        await assert.rejects(runSql(url, sql), /audit_entries is append-only/, sql);
      }
      await runSql(url, "DELETE FROM audit_entries WHERE kind = 'read'");
      assert.deepEqual(await listed(store), before);
    }));

  it('has one entry if several commits of an action run in parallel, and none of a commit that a guard refuses', () =>
    withStore(async (store) => {
      const endpoint = anEndpoint();
      await write(store, { type: 'endpoint_saved', endpoint });
      const own = audited({ store, newId }, 'recoverDeliveries').store;
      const recovery = aRecovery();
      await own.commit([{ type: 'recovery_saved', recovery: { ...recovery, version: 7 } }]);
      assert.deepEqual(await listed(store), []);
      const ids = [1, 2, 3].map(() => newId('rcv'));
      await Promise.all(
        ids.map((id) => own.commit([{ type: 'recovery_saved', recovery: { ...recovery, id, version: 1 } }])),
      );
      assert.deepEqual(
        (await listed(store)).map(({ subjectId, actorKind }) => [subjectId, actorKind]),
        [[ids[0], 'machine']],
      );
    }));

  it('shows the own entries to everybody, and those of others with the permission', () =>
    withStore(async (store) => {
      const [ada, eve] = [operator('ada', 'operator'), operator('eve', 'viewer')];
      for (const caller of [ada, eve])
        await recordRefusal({ store, newId, caller }, { action: 'createRefund', kind: 'change' });
      await recordRefusal({ store, newId }, { action: 'createRefund', kind: 'change' });
      const seenBy = async (caller: Principal, filter = {}) => {
        const { items } = await listAudit({ store, caller, realNow: () => NOW }, filter, { limit: 10 });
        return items.map(({ actorId }) => actorId);
      };
      assert.deepEqual(await seenBy(ada), ['eve', 'ada']);
      assert.deepEqual(await seenBy(ada, { actorId: 'eve' }), ['eve']);
      assert.deepEqual(await seenBy(eve), ['eve']);
      await assert.rejects(seenBy(eve, { actorId: 'ada' }), { code: 'forbidden' });
    }));

  it('has no text of a request, whatever the request was', () =>
    fc.assert(
      fc.asyncProperty(
        fc.string(),
        fc.emailAddress(),
        fc.stringMatching(/^whsec_[a-z0-9]{10,40}$/),
        async (text, email, secret) => {
          const taken: Change[] = [];
          const store = {
            commit: async (changes: Change[]) => (taken.push(...changes), { done: true }),
          } as unknown as Store;
          const free = `${text} ${email} ${secret}`;
          const { session, payment } = checkoutRecords(1);
          const sets: Change[][] = [
            [{ type: 'customer_status_changed', customer: aCustomer({ email, statusReason: free }), from: 'active' }],
            [{ type: 'customer_erased', customer: aCustomer({ email }), from: 'active' }],
            [
              {
                type: 'refund_created',
                refund: aRefund({ idempotencyKey: free, providerReference: free, failureReason: free }),
                dueAt: NOW,
              },
            ],
            [
              {
                type: 'refund_changed',
                refund: aRefund({ failureReason: free, providerReference: free }),
                from: 'pending',
              },
            ],
            [
              {
                type: 'discrepancy_changed',
                discrepancy: { ...DISCREPANCY, note: free, subject: free, provider: free, eventId: free },
              },
            ],
            [
              {
                type: 'provider_message_received',
                message: aMessage({ body: free, eventId: free, signal: free, outcome: free }),
              },
            ],
            [
              {
                type: 'session_changed',
                session: { ...session, customerEmail: email, product: free, redirectUrl: free, metadata: { free } },
              },
            ],
            [
              {
                type: 'endpoint_changed',
                endpoint: anEndpoint({ url: `https://x/${secret}`, description: free, disabledReason: free }),
              },
            ],
            [{ type: 'rules_saved', rules: { version: 1, source: 'api', body: free, created: NOW } }],
            [
              {
                type: 'settlement_recorded',
                settlement: {
                  paymentId: payment.id,
                  sessionId: session.id,
                  environment: 'sandbox',
                  amount: 1,
                  source: 'api',
                  reference: free,
                  settledAt: NOW,
                  created: NOW,
                },
              },
            ],
          ];
          for (const changes of sets) await audited({ store, newId }, 'action').store.commit(changes);
          const caller = operator('ada', 'viewer');
          await recordRefusal(
            { store, newId, caller },
            { action: 'action', kind: 'change', params: { id: free, other: email, third: secret } },
          );
          const found = taken.flatMap((change) => (change.type === 'audit_recorded' ? [change.entry] : []));
          assert.equal(found.length, sets.length + 1);
          for (const { actorName: _, ...entry } of found) {
            const written = JSON.stringify(entry);
            for (const part of [email, secret]) assert.ok(!written.includes(part), written);
            assert.ok(!/@|whsec_/.test(written), written);
          }
        },
      ),
      { numRuns: runs(100) },
    ));
});
