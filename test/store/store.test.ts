// @run on=sqlite,postgres
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { paidPosting } from '../../src/domain/ledger.ts';
import type { ProviderMessage } from '../../src/domain/provider-message.ts';
import type { Change, Store } from '../../src/store/store.ts';
import { MINUTE, NOW, aCustomer, aPayment, aSession, anInvoice, idOf } from '../fixtures/checkout-records.ts';
import {
  aDelivery,
  aMessage,
  aTask,
  anAttemptOf,
  anEndpoint,
  anEvent,
  checkoutOf,
  creationOf,
  checkoutRecords,
  withStore,
  write,
} from '../fixtures/store-records.ts';
import { runs } from '../support/for-all.ts';

const records = checkoutRecords(1);
const other = checkoutRecords(2);

/** A new session of the customer of `records`. */
function sessionNumber(number: number, fields: Parameters<typeof aSession>[0] = {}) {
  const { id: customerId, email: customerEmail } = records.customer;
  return aSession({ id: idOf('chk', number), customerId, customerEmail, ...fields });
}

async function assertConflict(store: Store, conflict: string, ...changes: Change[]): Promise<void> {
  assert.deepEqual(await store.commit(changes), { done: false, conflict });
}

/** A test on a store that holds `records` and one endpoint. */
const seeded = (name: string, use: (store: Store) => Promise<void>): void => {
  test(name, () =>
    withStore(async (store) => {
      await write(store, ...creationOf(records), { type: 'endpoint_saved', endpoint: anEndpoint() });
      await use(store);
    }),
  );
};

describe('a commit', () => {
  seeded('a commit has the same result in a batch with other commits as alone', async (store) => {
    const stale: Change = { type: 'session_changed', session: { ...records.session, version: 9 } };
    const twin: Change = { type: 'payment_created', payment: records.payment };
    const endings: Record<string, (good: Change[]) => Change[]> = {
      done: (good) => good,
      'conflict after writes': (good) => [...good, stale],
      'conflict at once': (good) => [stale, ...good],
      refused: (good) => [...good.slice(0, 2), twin],
    };
    const anyEnding = fc.constantFrom('done', 'done', 'done', ...Object.keys(endings));
    let number = 10;
    const check = async (batch: string[]) => {
      const recordSets = batch.map(() => checkoutRecords(number++));
      const commits = recordSets.map((each, index) => store.commit(endings[batch[index]!]!(creationOf(each))));
      for (const [index, settled] of (await Promise.allSettled(commits)).entries()) {
        const [ending, each] = [batch[index]!, recordSets[index]!];
        const stored = ending === 'done' ? checkoutOf(each) : undefined;
        assert.deepEqual(await store.checkout(each.session.id), stored, ending);
        if (ending === 'refused') assert.match(String((settled as PromiseRejectedResult).reason), /database: /);
        else {
          const result = ending === 'done' ? { done: true } : { done: false, conflict: 'version' };
          assert.deepEqual(settled, { status: 'fulfilled', value: result });
        }
      }
    };
    await fc.assert(fc.asyncProperty(fc.array(anyEnding, { minLength: 1, maxLength: 12 }), check), {
      numRuns: runs(25),
    });
    await check(Array.from({ length: 60 }, (_, index) => Object.keys(endings)[index % 4]!));
  });

  seeded('a change set is applied to the results of earlier change sets in its batch', async (store) => {
    const moves = Array.from({ length: 20 }, (_, index) =>
      store.commit([{ type: 'session_changed', session: { ...records.session, version: 2 + index } }]),
    );
    assert.ok((await Promise.all(moves)).every(({ done }) => done));
    assert.equal((await store.session(records.session.id))?.version, 21);
  });

  seeded('a listener gets each change set when it is queued, and the result of its commit', async (store) => {
    const heard: unknown[] = [];
    store.onCommit((changes, committed) => {
      heard.push(changes[0]!.type);
      void committed.then((result) => heard.push(result));
    });
    const change: Change = { type: 'session_changed', session: { ...records.session, version: 2 } };
    const committed = store.commit([change]);
    assert.deepEqual(heard, ['session_changed']);
    await committed;
    await assertConflict(store, 'version', change);
    assert.deepEqual(heard, [
      'session_changed',
      { done: true },
      'session_changed',
      { done: false, conflict: 'version' },
    ]);
  });

  seeded('a change set that a listener commits at once is applied after the one that it heard', async (store) => {
    const results: unknown[] = [];
    store.onCommit((changes) => {
      if (changes[0]!.type !== 'delivery_created') return;
      const delivery = { ...changes[0]!.delivery, attempts: 1, dueAt: 1 };
      void store.commit([{ type: 'delivery_claimed', delivery }]).then((result) => results.push(result));
    });
    const delivery = aDelivery();
    await write(store, { type: 'delivery_created', delivery });
    await write(store, { type: 'session_changed', session: { ...records.session, version: 2 } });
    assert.deepEqual(results, [{ done: true }]);
    assert.equal((await store.delivery(delivery.id))?.attempts, 1);
  });
});

describe('the guards of a commit', () => {
  seeded('version: only one of several changes of the same version is applied', async (store) => {
    const change = (attempts: number): Change => ({
      type: 'session_changed',
      session: { ...records.session, version: 2, attempts },
    });
    const results = await Promise.all([1, 2, 3, 4, 5].map((attempts) => store.commit([change(attempts)])));
    assert.deepEqual(results, [
      { done: true },
      ...Array.from({ length: 4 }, () => ({ done: false, conflict: 'version' })),
    ]);
    assert.equal((await store.session(records.session.id))?.attempts, 1);
  });

  seeded('version: an unknown session cannot be changed', async (store) => {
    await assertConflict(store, 'version', { type: 'session_changed', session: { ...other.session, version: 2 } });
  });

  seeded('customer_exists: an environment has one customer per email address, compared without case', async (store) => {
    const email = records.customer.email.toUpperCase();
    const twin = aCustomer({ id: idOf('cus', 5), email });
    await assertConflict(store, 'customer_exists', { type: 'customer_created', customer: twin });
    await write(store, { type: 'customer_created', customer: { ...twin, environment: 'production' } });
    assert.equal((await store.customerByEmail('sandbox', email))?.id, records.customer.id);
    assert.equal((await store.customerByEmail('production', email))?.id, twin.id);
    assert.equal((await store.customerByEmail('sandbox', email))?.email, records.customer.email);
    assert.equal(await store.customerByEmail('sandbox', email.slice(1)), undefined);
  });

  seeded(
    'session_refused: an environment has one session per idempotency key, also after concurrent commits',
    async (store) => {
      const create = (number: number): Promise<unknown> =>
        store.commit([{ type: 'session_created', session: sessionNumber(number, { idempotencyKey: 'order-1001' }) }]);
      const results = await Promise.all([11, 12, 13, 14].map(create));
      const lost = { done: false, conflict: 'session_refused' };
      assert.deepEqual(results, [{ done: true }, lost, lost, lost]);
      assert.equal((await store.sessionByIdempotencyKey('sandbox', 'order-1001'))?.id, idOf('chk', 11));
    },
  );

  seeded(
    'session_refused: sessions of another environment, with another key or without a key do not conflict',
    async (store) => {
      const environment = 'production';
      const twin = aCustomer({ id: idOf('cus', 5), email: records.customer.email, environment });
      await write(store, { type: 'customer_created', customer: twin });
      const live = { environment, customerId: twin.id, idempotencyKey: 'order-1001' } as const;
      const fields = [{ idempotencyKey: 'order-1001' }, live, { idempotencyKey: 'Order-1001' }, {}, {}];
      for (const [index, each] of fields.entries()) {
        await write(store, { type: 'session_created', session: sessionNumber(20 + index, each) });
      }
      assert.equal((await store.sessionByIdempotencyKey('production', 'order-1001'))?.id, idOf('chk', 21));
      assert.equal(await store.sessionByIdempotencyKey('sandbox', 'order-1002'), undefined);
    },
  );

  seeded(
    'session_refused: a session needs an active customer with the same environment and email address',
    async (store) => {
      const blocked = aCustomer({ id: idOf('cus', 5), email: 'blocked@example.com', status: 'blocked' });
      await write(store, { type: 'customer_created', customer: blocked });
      const wrong = [
        { customerId: idOf('cus', 99) },
        { customerEmail: 'other@example.com' },
        { environment: 'production' as const },
        { customerId: blocked.id, customerEmail: blocked.email },
      ];
      for (const fields of wrong) {
        const session = sessionNumber(20, fields);
        await assertConflict(store, 'session_refused', { type: 'session_created', session });
      }
      const customerEmail = records.customer.email.toUpperCase();
      await write(store, { type: 'session_created', session: sessionNumber(20, { customerEmail }) });
    },
  );

  seeded('duplicate_message: an event of a provider is received once', async (store) => {
    await write(store, { type: 'provider_message_received', message: aMessage() });
    const again = aMessage({ body: '{"other":true}', outcome: 'ignored' });
    await assertConflict(store, 'duplicate_message', { type: 'provider_message_received', message: again });
    const origin = { provider: 'sandbox', environment: 'sandbox' } as const;
    assert.deepEqual(await store.messagesOfEvent(origin, 'evt_1', records.session.id), [aMessage()]);
    const others: Partial<ProviderMessage>[] = [
      { provider: 'stripe' },
      { environment: 'production' },
      { eventId: 'evt_2' },
    ];
    for (const other of others) {
      await write(store, { type: 'provider_message_received', message: aMessage(other) });
    }
    assert.equal((await store.providerMessages(records.session.id)).length, 4);
  });

  for (const from of ['pending', 'delivered', 'dead'] as const) {
    seeded(`overtaken: a ${from} delivery that changed since it was read is not replayed`, async (store) => {
      const delivery = aDelivery({ status: from, attempts: 2, dueAt: NOW + MINUTE });
      await write(store, { type: 'delivery_created', delivery });
      const again = aDelivery({ attempts: 2, scheduleStart: from === 'pending' ? 0 : 2 });
      const replayed: Change = { type: 'delivery_replayed', delivery: again, from };
      await assertConflict(store, 'overtaken', { ...replayed, delivery: { ...again, attempts: 1 } });
      await assertConflict(store, 'overtaken', { ...replayed, from: from === 'dead' ? 'delivered' : 'dead' });
      assert.deepEqual(await store.delivery(delivery.id), delivery);
      await write(store, replayed);
      assert.deepEqual(await store.delivery(delivery.id), again);
      assert.deepEqual(
        (await store.deliveriesDue(delivery.endpointId, NOW, 5)).map((due) => due.delivery),
        [again],
      );
    });
  }

  seeded('overtaken: an attempt cannot be claimed after a replay restarted the schedule', async (store) => {
    await write(store, { type: 'delivery_created', delivery: aDelivery({ attempts: 2, scheduleStart: 2 }) });
    const claimed = aDelivery({ attempts: 3, dueAt: NOW + MINUTE });
    await assertConflict(store, 'overtaken', { type: 'delivery_claimed', delivery: claimed });
    await write(store, { type: 'delivery_claimed', delivery: { ...claimed, scheduleStart: 2 } });
  });

  seeded('overtaken: each attempt of a task is claimed once, and none after the task is done', async (store) => {
    await write(store, { type: 'task_queued', task: aTask() });
    const claim = (attempts: number): Change => {
      return { type: 'task_claimed', task: aTask({ attempts, dueAt: NOW + MINUTE }) };
    };
    const end = (attempts: number, status: 'pending' | 'done'): Change => {
      return { type: 'task_finished', task: aTask({ attempts, status }) };
    };
    await write(store, claim(1));
    assert.deepEqual(await store.tasksDue(NOW, 5), []);
    await assertConflict(store, 'overtaken', claim(1));
    await write(store, claim(2));
    // The first attempt ends after the second attempt has claimed the task.
    await assertConflict(store, 'overtaken', end(1, 'done'));
    await write(store, end(2, 'pending'));
    await write(store, claim(3));
    await write(store, end(3, 'done'));
    await assertConflict(store, 'overtaken', claim(4));
    assert.deepEqual(await store.tasksDue(NOW, 5), []);
  });

  seeded(
    'overtaken: the wake-up of a session is claimed once, and again only after the session changed',
    async (store) => {
      const wakeAt = NOW + 1;
      const session = sessionNumber(30, { wakeAt });
      await write(store, { type: 'session_created', session });
      const claim: Change = { type: 'wake_claimed', wake: { sessionId: session.id, wakeAt }, until: NOW + MINUTE };
      await write(store, claim);
      await assertConflict(store, 'overtaken', claim);
      assert.deepEqual(await store.sessionsToWake(NOW + 1, 5), []);
      await write(store, { type: 'session_changed', session: { ...session, version: session.version + 1 } });
      assert.deepEqual(await store.sessionsToWake(NOW + 1, 5), [{ sessionId: session.id, wakeAt }]);
    },
  );

  seeded('a task that is queued twice is one task with the earlier due time', async (store) => {
    await write(store, { type: 'task_queued', task: aTask() });
    await write(store, { type: 'task_queued', task: aTask({ dueAt: NOW - 5, created: NOW + 5 }) });
    assert.deepEqual(await store.tasksDue(NOW, 5), [aTask({ dueAt: NOW - 5, created: NOW + 5, attempts: 1 })]);
  });
});

seeded('the schema rejects a record that contradicts other records, together with its change set', async (store) => {
  const second = { id: idOf('pay', 7), invoiceId: idOf('inv', 7), sessionId: records.session.id };
  const { payment } = records;
  const posting = paidPosting(payment, NOW);
  const rejected: Record<string, Change[]> = {
    'a second pending payment of a session': [
      {
        type: 'payment_created',
        payment: aPayment({ ...second, customerId: records.customer.id }),
      },
    ],
    'a second payment that pays a session': [
      { type: 'payment_changed', payment: { ...payment, status: 'paid' } },
      { type: 'payment_created', payment: aPayment({ ...second, status: 'paid' }) },
    ],
    'a second paid invoice of a session': [
      { type: 'payment_created', payment: aPayment({ ...second, status: 'failed' }) },
      { type: 'invoice_changed', invoice: { ...records.invoice, status: 'paid' } },
      {
        type: 'invoice_created',
        invoice: anInvoice({ id: second.invoiceId, paymentId: second.id, sessionId: second.sessionId, status: 'paid' }),
      },
    ],
    'a second invoice of a payment': [
      {
        type: 'invoice_created',
        invoice: { ...records.invoice, id: idOf('inv', 8) },
      },
    ],
    'a second posting with the same id': [
      { type: 'ledger_posted', posting, environment: 'sandbox' },
      { type: 'ledger_posted', posting, environment: 'sandbox' },
    ],
    'a second event of a session and status': [{ type: 'event_recorded', event: records.event }],
    'a payment of an unknown session': [
      {
        type: 'payment_created',
        payment: aPayment({ id: idOf('pay', 9), invoiceId: idOf('inv', 9), sessionId: idOf('chk', 9) }),
      },
    ],
    'an invoice of an unknown payment': [
      {
        type: 'invoice_created',
        invoice: anInvoice({ id: idOf('inv', 9), paymentId: idOf('pay', 9) }),
      },
    ],
    'a posting of an unknown payment': [
      {
        type: 'ledger_posted',
        posting: { ...posting, paymentId: idOf('pay', 9) },
        environment: 'sandbox',
      },
    ],
    'an event of an unknown session': [{ type: 'event_recorded', event: anEvent({ id: 'e', sessionId: 'chk_9' }) }],
    'a delivery of an unknown event': [{ type: 'delivery_created', delivery: aDelivery({ eventId: 'evt_9' }) }],
    'a delivery to an unknown endpoint': [{ type: 'delivery_created', delivery: aDelivery({ endpointId: 'whe_9' }) }],
    'a task for an unknown payment': [{ type: 'task_queued', task: aTask({ paymentId: idOf('pay', 9) }) }],
  };
  for (const [what, changes] of Object.entries(rejected)) {
    await assert.rejects(store.commit(changes), /database: /, what);
    assert.deepEqual(await store.checkout(records.session.id), checkoutOf(records), what);
  }
});

describe('the order of the deliveries of a session to an endpoint', () => {
  const endpoint = anEndpoint();
  const slow = anEndpoint({ id: idOf('whe', 2) });
  const pendingEvent = anEvent({ id: 'evt_pending', type: 'payment.provider_pending', sequence: 1 });
  const first = aDelivery({ id: idOf('dlv', 1), eventId: pendingEvent.id, sequence: 1 });
  const second = aDelivery({ id: idOf('dlv', 2), sequence: 2 });
  const toOtherEndpoint = aDelivery({ id: idOf('dlv', 3), endpointId: slow.id, sequence: 2 });
  const ofOtherSession = aDelivery({
    id: idOf('dlv', 4),
    sessionId: other.session.id,
    eventId: other.event.id,
    dueAt: NOW + 1,
  });

  const queued = (name: string, use: (store: Store, due: (now?: number) => Promise<string[]>) => Promise<void>) =>
    seeded(name, async (store) => {
      const events: Change[] = [...creationOf(other), { type: 'event_recorded', event: pendingEvent }];
      await write(store, ...events, { type: 'endpoint_saved', endpoint: slow });
      for (const delivery of [second, first, toOtherEndpoint, ofOtherSession]) {
        await write(store, { type: 'delivery_created', delivery });
      }
      await use(store, async (now = NOW + 1) =>
        (await store.deliveriesDue(endpoint.id, now, 10)).map(({ delivery }) => delivery.id),
      );
    });

  queued(
    'a delivery in progress keeps its due time when the replay of an earlier delivery ends',
    async (store, due) => {
      const replayed = { ...first, status: 'pending', attempts: 1, scheduleStart: 1 } as const;
      const ended = { ...first, attempts: 1, status: 'dead' } as const;
      await write(store, { type: 'delivery_claimed', delivery: { ...first, attempts: 1, dueAt: NOW + MINUTE } });
      await write(store, { type: 'delivery_finished', delivery: ended, attempt: anAttemptOf(ended) });
      await write(store, { type: 'delivery_claimed', delivery: { ...second, attempts: 1, dueAt: NOW + MINUTE } });
      await write(store, { type: 'delivery_replayed', delivery: replayed, from: 'dead' });
      assert.deepEqual(
        await due(),
        [first.id, ofOtherSession.id],
        'the replayed delivery does not wait for a later delivery',
      );
      const delivered = { ...replayed, attempts: 2, status: 'delivered' } as const;
      await write(store, { type: 'delivery_claimed', delivery: { ...replayed, attempts: 2 } });
      await write(store, { type: 'delivery_finished', delivery: delivered, attempt: anAttemptOf(delivered) });
      assert.deepEqual(await due(NOW + MINUTE - 1), [ofOtherSession.id], 'the later delivery is in progress');
      assert.deepEqual(await due(NOW + MINUTE), [ofOtherSession.id, second.id]);
    },
  );

  queued(
    'a delivery that waits for its next attempt also waits for the replay of an earlier delivery',
    async (store, due) => {
      const claimed = { ...second, attempts: 1, dueAt: NOW };
      const ended = { ...first, attempts: 1, status: 'dead' } as const;
      await write(store, { type: 'delivery_claimed', delivery: { ...first, attempts: 1, dueAt: NOW } });
      await write(store, { type: 'delivery_finished', delivery: ended, attempt: anAttemptOf(ended) });
      await write(store, { type: 'delivery_claimed', delivery: claimed });
      await write(store, { type: 'delivery_finished', delivery: claimed, attempt: anAttemptOf(claimed) });
      const replayed = { ...first, status: 'pending', attempts: 1, scheduleStart: 1 } as const;
      await write(store, { type: 'delivery_replayed', delivery: replayed, from: 'dead' });
      assert.deepEqual(await due(), [first.id, ofOtherSession.id]);
      const failed = { ...replayed, attempts: 2, dueAt: NOW + MINUTE };
      await write(store, { type: 'delivery_claimed', delivery: failed });
      await write(store, { type: 'delivery_finished', delivery: failed, attempt: anAttemptOf(failed) });
      assert.deepEqual(await due(NOW + MINUTE - 1), [ofOtherSession.id]);
      assert.equal(
        (await store.delivery(second.id))?.dueAt,
        NOW + MINUTE,
        'the later delivery is not read before the earlier delivery is due',
      );
    },
  );
});
