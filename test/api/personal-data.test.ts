// @run on=sqlite,postgres
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import type { Customer, CustomerExport } from '../../sdk/src/index.ts';
import { attempt, createSession, start, stateOf } from '../simulator/buyer.ts';
import { contentsOf, runSql } from '../support/database.ts';
import { everyText } from '../support/every-text.ts';
import { gatewayOf, paymentsOf } from '../support/gateway.ts';
import { startServer } from '../support/http-server.ts';
import { providerSays } from '../support/money-arrives.ts';
import { type TestService, call, sessionBody } from '../support/service.ts';
import { assertSound } from '../support/sound.ts';
import { suiteInstances } from '../support/suite.ts';
import { SECRET } from '../webhooks/fixtures.ts';
import { applySandboxSignal, refundSignal, settlementSignal } from '../fixtures/provider-reports.ts';

const EMAIL = 'Ada.Lovelace@buyers.example';
const NAME = 'Countess Lovelace';
const QUERY = 'passenger=lovelace-ada';
const PERSONAL = 'ada\\.lovelace@buyers|Countess|lovelace-ada|table-for-ada|letter-from-ada|key-of-ada'
  .split('|')
  .map((text) => new RegExp(text, 'i'));
const REFUND_KEY = 'refund-order-17';
const SALE = {
  customer: EMAIL,
  metadata: { passenger: NAME },
  redirectUrl: `https://shop.example/thanks?${QUERY}`,
  clientReferenceId: 'table-for-ada',
};

/** Webhook receiver whose responses contain the buyer's name. */
const receiver = await startServer((request, response) => {
  request.resume().on('end', () => response.writeHead(200).end(`welcome back, ${NAME}`));
});
const [service, other] = suiteInstances(2, {
  variables: {
    WEBHOOK_URL: `${receiver.url}/hook`,
    WEBHOOK_SECRET: SECRET,
    WEBHOOK_ALLOW_PRIVATE: 'true',
  },
}) as [TestService, TestService];
const api = gatewayOf(service);
after(() => receiver[Symbol.asyncDispose]());

const erase = (id: string, confirm = id) => api.post<Customer>(`customers/${id}/erase`, { confirm });
const refuseToErase = (expected: string, id: string, confirm = id) =>
  api.refused(expected, `POST customers/${id}/erase`, { confirm });
const customerOf = async (sessionId: string) => (await service.service.deps.store.session(sessionId))!.customerId;

async function columnsNaming(patterns = PERSONAL): Promise<string[]> {
  const naming = (await everyText(service.databaseUrl)).filter(({ text }) => patterns.some((each) => each.test(text)));
  return naming.map(({ table, column }) => `${table}.${column}`);
}

/** Creates a buyer with records of every kind: sessions in several states, a refund, a discrepancy, deliveries. */
async function createBuyer() {
  const routed = await createSession(service, { ...SALE, idempotencyKey: 'key-of-ada-1' });
  const attempted: string[] = [];
  for (const outcome of ['paid', 'late_success', 'wrong_amount']) {
    const customer = outcome === 'late_success' ? EMAIL.toLowerCase() : EMAIL;
    attempted.push(await createSession(service, { ...SALE, customer }));
    await attempt(service, attempted.at(-1)!, 'card', outcome);
  }
  const [paid, late, short] = attempted as [string, string, string];
  await service.pass(0);
  await service.pass(40_000);
  await api.post(`payments/${paid}/refunds`, { amount: 10, idempotencyKey: REFUND_KEY });
  const [flagged] = await api.ids(`discrepancies?sessionId=${short}`);
  await api.post(`discrepancies/${flagged}/resolve`, { action: 'accept', note: 'letter-from-ada' });
  const body = `{"cardholder":"${NAME}"}`;
  await runSql(service.databaseUrl, `UPDATE provider_inbox SET body = '${body}' WHERE session_id = '${paid}'`);
  for (let minutes = 0; minutes < 6; minutes++) await service.pass(600_000);
  return { routed, paid, late, short, id: await customerOf(paid) };
}

describe('personal data of one buyer', () => {
  test('personal data of a buyer is exported completely, then erased everywhere, and the ledger stays unchanged', async (context) => {
    const buyer = await createBuyer();
    const second = { customer: 'neighbour@example.com', metadata: { passenger: 'Bob' } };
    const otherSession = await createSession(service, second);
    const { deps } = service.service;
    const fingerprint = async () => ({
      total: await deps.store.ledgerTotal(),
      entries: await deps.store.ledgerOfPayment((await paymentsOf(service, buyer.paid))[0]!.id),
      states: await Promise.all([buyer.paid, buyer.late, buyer.short].map((id) => stateOf(service, id))),
    });
    const books = await fingerprint();

    await context.test('the export contains every session of the buyer with all its records', async () => {
      const {
        object: _,
        exported: __,
        customer: ___,
        ...lists
      } = await api.get<CustomerExport>(`customers/${buyer.id}/export`);
      const { providerMessages, ...others } = lists;
      assert(providerMessages.length >= 4);
      assert.deepEqual(Object.fromEntries(Object.entries(others).map(([name, list]) => [name, list.length])), {
        sessions: 4,
        payments: 3,
        invoices: 3,
        refunds: 1,
        events: (await deps.store.listEvents({}, { limit: 100 })).items.length,
        deliveries: (await deps.store.listDeliveries({}, { limit: 100 })).items.length,
        discrepancies: 1,
      });
      const text = JSON.stringify(await api.get(`customers/${buyer.id}/export`));
      for (const pattern of PERSONAL) assert.match(text, pattern);
      const { session, payments } = (await deps.store.checkout(buyer.paid))!;
      for (const expected of [session.decisionId, payments[0]!.providerReference, payments[0]!.providerUrl, REFUND_KEY])
        assert.ok(expected !== null && text.includes(JSON.stringify(expected)), String(expected));
      assert.doesNotMatch(text, /neighbour|Bob/);
    });

    await context.test(
      'personal data of one buyer erasing requires the customer id again as confirmation',
      async () => {
        assert.equal((await refuseToErase('400 invalid_input', buyer.id, 'yes')).field, 'confirm');
        assert((await columnsNaming()).length > 10);
      },
    );

    await context.test('after the erasure no table contains personal data of the buyer', async () => {
      const { status, email } = await erase(buyer.id);
      assert.deepEqual([status, email], ['erased', `erased+${buyer.id}@erased.invalid`]);
      assert.deepEqual(await columnsNaming(), []);
      assert((await everyText(service.databaseUrl)).some(({ text }) => text.includes('Bob')));
    });

    await context.test('the search for personal data finds an injected text', async () => {
      const setTo = (value: string) =>
        runSql(service.databaseUrl, `UPDATE payments SET tx_hash = ${value} WHERE session_id = '${buyer.late}'`);
      await setTo(`'${NAME}'`);
      assert.deepEqual(await columnsNaming(), ['payments.tx_hash']);
      await setTo('NULL');
    });

    await context.test('ledger entries and states are unchanged after the erasure', async () => {
      assert.deepEqual(await fingerprint(), books);
      assert.equal((await stateOf(service, buyer.routed)).session, 'expired');
      await assertSound(service.databaseUrl);
    });

    await context.test('lists, exports and checkout pages can still be read', async () => {
      for (const list of 'sessions customers payments invoices refunds events deliveries discrepancies'.split(' '))
        await api.list(list);
      assert.deepEqual(await api.list(`customers?email=${encodeURIComponent(EMAIL)}`), []);
      await api.get(`customers/${buyer.id}/export`);
      assert.equal((await fetch(`${service.url}/checkout/${buyer.paid}`)).status, 200);
    });

    await context.test('no log line names the buyer', () => {
      assert.doesNotMatch(service.logged.join('\n'), /ada\.lovelace@buyers|Countess|lovelace-ada/i);
    });

    await context.test(
      'an idempotency key of the erased buyer is rejected: no stored response, no new session',
      async () => {
        const body = sessionBody({ ...SALE, idempotencyKey: 'key-of-ada-1' });
        const sessions = await api.ids('sessions?limit=100');
        for (const on of [service, other]) {
          const { message } = await gatewayOf(on).refused('422 idempotency_conflict', 'POST sessions', body);
          assert.match(message, /erased/);
        }
        assert.deepEqual(await api.ids('sessions?limit=100'), sessions);
      },
    );

    await context.test(
      'a new session with the same email address gets a new customer, also on an instance that cached the erased customer',
      async () => {
        for (const on of [service, other]) {
          const again = await createSession(on, { customer: EMAIL });
          assert.notEqual(await customerOf(again), buyer.id);
        }
        assert.equal((await stateOf(service, otherSession)).session, 'routed');
      },
    );

    await context.test('a late payment message of the provider is applied, but its body is not stored', async () => {
      await providerSays(service, buyer.routed, 'paid');
      assert.equal((await stateOf(service, buyer.routed)).session, 'paid');
      const [message] = await deps.store.providerMessages(buyer.routed);
      assert.equal(message!.body, '{"erased":true}');
      await service.pass(0);
      await erase(buyer.id);
      await assertSound(service.databaseUrl);
    });

    await context.test('bodies of late messages about payouts and refunds are not stored', async () => {
      const body = JSON.stringify({ cardholder: NAME });
      const [payment] = await paymentsOf(service, buyer.paid);
      const [refund] = (await deps.store.listRefunds({ sessionId: buyer.paid }, { limit: 1 })).items;
      const { id: paymentId, sessionId, amount } = payment!;
      const payout = settlementSignal({ sessionId, paymentId, amount });
      assert.equal(await applySandboxSignal(deps, payout, { body }), 'applied');
      const unknown = settlementSignal({ sessionId, paymentId: 'pay_x', amount });
      assert.equal(await applySandboxSignal(deps, unknown, { body }), 'unknown_payment');
      await applySandboxSignal(deps, refundSignal(refund!, 'succeeded'), { body });
      assert.deepEqual(await columnsNaming([/Countess/, /letter-from-ada/]), []);
      await assertSound(service.databaseUrl);
    });

    await context.test('the receiver’s response to a replayed delivery is not stored', async () => {
      const [delivery] = await deps.store.deliveriesOfSession(buyer.paid);
      await api.post(`deliveries/${delivery!.id}/replay`);
      await service.pass(0);
      const log = await deps.store.deliveryAttempts(delivery!.id);
      assert.deepEqual([log.length, log.at(-1)!.statusCode, log.at(-1)!.responseBody], [2, 200, '']);
      await assertSound(service.databaseUrl);
    });

    await context.test('a discrepancy of the erased buyer must be resolved without a note', async () => {
      await providerSays(service, buyer.routed, 'paid', { paymentId: 'pay_x' });
      const [id, ...others] = await api.ids(`discrepancies?sessionId=${buyer.routed}&status=open&kind=unknown_payment`);
      assert.deepEqual(others, []);
      const note = { action: 'accept', note: 'letter-from-ada' };
      const { field, message } = await api.refused('400 invalid_input', `POST discrepancies/${id}/resolve`, note);
      assert.equal(field, 'note');
      assert.match(message, /erased/);
      assert.deepEqual(await columnsNaming([/Countess/, /letter-from-ada/]), []);
      await api.post(`discrepancies/${id}/resolve`, { action: 'accept' });
      await assertSound(service.databaseUrl);
    });

    await context.test('an erased customer can be neither blocked nor unblocked', async () => {
      for (const verb of ['block', 'unblock'])
        await api.refused('409 invalid_state', `POST customers/${buyer.id}/${verb}`);
    });
  });
});

describe('erasing a customer', () => {
  test('erasing a customer is rejected while a payment is pending, and the error names the payment', async () => {
    const session = await createSession(service, { customer: 'pending@example.com' });
    await start(service, session, 'card');
    const id = await customerOf(session);
    const [payment] = await paymentsOf(service, session);
    await service.pass(0);
    const { message } = await refuseToErase('409 invalid_state', id);
    assert(message.includes(payment!.id), message);
    assert.equal((await service.service.deps.store.customer(id))!.status, 'active');
    await providerSays(service, session, 'failed');
    await service.pass(0);
    await erase(id);
  });

  test('erasing a customer is rejected while an event waits for its delivery', async () => {
    const session = await createSession(service, { customer: 'delivering@example.com' });
    await providerSays(service, session, 'paid');
    const id = await customerOf(session);
    const { message } = await refuseToErase('409 invalid_state', id);
    assert.match(message, /events are still to be delivered \(dlv_/);
    await service.pass(0);
    await erase(id);
  });

  test('if a customer is erased and a payment started at the same time, one of the two requests is rejected', async () => {
    for (let round = 0; round < 5; round++) {
      const session = await createSession(service, { customer: `race${round}@example.com` });
      const id = await customerOf(session);
      const [started, answer] = await Promise.all([
        start(other, session, 'card'),
        call('POST', api.url(`customers/${id}/erase`), { confirm: id }),
      ]);
      const status = (await service.service.deps.store.customer(id))!.status;
      assert.equal(answer.status, status === 'erased' ? 200 : 409);
      assert.equal(started.outcome === 'continue', status === 'active');
    }
  });
});

const skip = process.env['TEST_DATABASE'] === 'postgres';
test('erasing overwrites the data in the SQLite files', { skip }, async () => {
  const metadata = { note: 'x'.repeat(400) + 'on-disk-metadata' };
  const session = await createSession(service, { customer: 'on.disk.once@example.com', metadata });
  assert.match(await contentsOf(service.databaseUrl), /on\.disk\.once/);
  await erase(await customerOf(session));
  assert.doesNotMatch(await contentsOf(service.databaseUrl), /on\.disk\.once|on-disk-metadata/);
});
