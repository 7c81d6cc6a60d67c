// @run on=sqlite,postgres
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { applyRefundMessage } from '../../src/operations/refunds/apply-refund-report.ts';
import { applySettlementMessage } from '../../src/operations/settlement/settle-payment.ts';
import { startPayment } from '../../src/operations/start-payment.ts';
import { attempt, createSession, start, stateOf } from '../simulator/buyer.ts';
import { contentsOf, runSql } from '../support/database.ts';
import { everyText } from '../support/every-text.ts';
import { providerSays } from '../support/money-arrives.ts';
import { type TestService, call, sessionBody, startTestService } from '../support/service.ts';
import { assertSound } from '../support/sound.ts';
import { type Refusal } from '../support/refusal.ts';

const EMAIL = 'Ada.Lovelace@buyers.example';
const NAME = 'Countess Lovelace';
const QUERY = 'passenger=lovelace-ada';
const PERSONAL = [
  /ada\.lovelace@buyers/i,
  /Countess/,
  /lovelace-ada/,
  /table-for-ada/,
  /letter-from-ada/,
  /key-of-ada/,
];
const REFUND_KEY = 'refund-order-17';
const SALE = {
  customer: EMAIL,
  metadata: { passenger: NAME },
  redirectUrl: `https://shop.example/thanks?${QUERY}`,
  clientReferenceId: 'table-for-ada',
};

let service: TestService;
let other: TestService;
/** Webhook receiver whose responses contain the buyer's name. */
const receiver = createServer((request, response) => {
  request.resume().on('end', () => response.writeHead(200).end(`welcome back, ${NAME}`));
});

before(async () => {
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  const { port } = receiver.address() as AddressInfo;
  const variables = {
    WEBHOOK_URL: `http://127.0.0.1:${port}/hook`,
    WEBHOOK_SECRET: `whsec_${Buffer.alloc(32, 7).toString('base64')}`,
    WEBHOOK_ALLOW_PRIVATE: 'true',
  };
  service = await startTestService({ variables });
  other = await startTestService({ beside: service });
});
after(async () => {
  await other[Symbol.asyncDispose]();
  await service[Symbol.asyncDispose]();
  receiver.close();
});

const customers = () => `${service.url}/api/gateway/customers`;
const erase = (id: string, confirm = id) =>
  call<Record<string, unknown> & Refusal>('POST', `${customers()}/${id}/erase`, { confirm });

async function customerOf(sessionId: string): Promise<string> {
  return (await service.service.deps.store.session(sessionId))!.customerId;
}

async function namingTexts(patterns = PERSONAL): Promise<string[]> {
  const texts = await everyText(service.databaseUrl);
  return texts
    .filter(({ text }) => patterns.some((pattern) => pattern.test(text)))
    .map(({ table, column }) => `${table}.${column}`);
}

/** A buyer with everything that can be kept of one: sessions in every state, refunds, surplus, flagged messages, answers. */
async function makeBuyer() {
  const routed = await createSession(service, { ...SALE, idempotencyKey: 'key-of-ada-1' });
  const paid = await createSession(service, SALE);
  await attempt(service, paid, 'card', 'paid');
  const late = await createSession(service, { ...SALE, customer: EMAIL.toLowerCase() });
  await attempt(service, late, 'card', 'late_success');
  const short = await createSession(service, SALE);
  await attempt(service, short, 'card', 'wrong_amount');
  await service.pass(0);
  await service.pass(40_000);
  const payment = (await service.service.deps.store.checkout(paid))!.payments[0]!;
  const refunded = await call('POST', `${service.url}/api/gateway/payments/${payment.id}/refunds`, {
    amount: 10,
    idempotencyKey: REFUND_KEY,
  });
  assert.equal(refunded.status, 200);
  const [flagged] = (await service.service.deps.store.listDiscrepancies({ sessionId: short }, { limit: 1 })).items;
  const resolve = `${service.url}/api/gateway/discrepancies/${flagged!.id}/resolve`;
  assert.equal((await call('POST', resolve, { action: 'accept', note: 'letter-from-ada' })).status, 200);
  await runSql(
    service.databaseUrl,
    `UPDATE provider_messages SET body = '{"cardholder":"${NAME}"}' WHERE session_id = '${paid}'`,
  );
  for (let minutes = 0; minutes < 6; minutes++) await service.pass(600_000);
  return { routed, paid, late, short, id: await customerOf(paid) };
}

describe('personal data of one buyer', () => {
  test('is exported whole, erased everywhere, and the books stay', async (context) => {
    const buyer = await makeBuyer();
    const neighbour = await createSession(service, {
      customer: 'neighbour@example.com',
      metadata: { passenger: 'Bob' },
    });
    const { deps } = service.service;
    const fingerprint = async () => ({
      total: await deps.store.ledgerTotal(),
      entries: await deps.store.ledgerOfPayment((await deps.store.checkout(buyer.paid))!.payments[0]!.id),
      states: await Promise.all([buyer.paid, buyer.late, buyer.short].map((id) => stateOf(service, id))),
    });
    const books = await fingerprint();

    await context.test('the export holds every session with all that hangs on it', async () => {
      const answer = await call<Record<string, unknown[]>>('GET', `${customers()}/${buyer.id}/export`);
      assert.equal(answer.status, 200);
      const { body } = answer;
      assert.deepEqual(
        Object.fromEntries(Object.entries(body).map(([key, value]) => [key, Array.isArray(value) ? value.length : 0])),
        {
          object: 0,
          exported: 0,
          customer: 0,
          sessions: 4,
          payments: 3,
          invoices: 3,
          refunds: 1,
          events: (await deps.store.listEvents({}, { limit: 100 })).items.length,
          deliveries: (await deps.store.listDeliveries({}, { limit: 100 })).items.length,
          providerMessages: body['providerMessages']!.length,
          discrepancies: 1,
        },
      );
      assert(body['providerMessages']!.length >= 4);
      const text = JSON.stringify(body);
      for (const pattern of PERSONAL) assert.match(text, pattern);
      const { session, payments } = (await deps.store.checkout(buyer.paid))!;
      for (const kept of [session.decisionId, payments[0]!.providerReference, payments[0]!.providerUrl, REFUND_KEY])
        assert.ok(kept !== null && text.includes(JSON.stringify(kept)), String(kept));
      assert.doesNotMatch(text, /neighbour|Bob/);
    });

    await context.test('erasing needs the id once more', async () => {
      const refused = await erase(buyer.id, 'yes');
      assert.deepEqual([refused.status, refused.body.error.field], [400, 'confirm']);
      assert((await namingTexts()).length > 10);
    });

    await context.test('then nothing of it is left in any text of any table', async () => {
      const answer = await erase(buyer.id);
      assert.equal(answer.status, 200, JSON.stringify(answer.body));
      assert.deepEqual([answer.body['status'], answer.body['email']], ['erased', `erased+${buyer.id}@erased.invalid`]);
      assert.deepEqual(await namingTexts(), []);
      assert((await everyText(service.databaseUrl)).some(({ text }) => text.includes('Bob')));
    });

    await context.test('the search finds a planted leftover', async () => {
      await runSql(service.databaseUrl, `UPDATE payments SET tx_hash = '${NAME}' WHERE session_id = '${buyer.late}'`);
      assert.deepEqual(await namingTexts(), ['payments.tx_hash']);
      await runSql(service.databaseUrl, `UPDATE payments SET tx_hash = NULL WHERE session_id = '${buyer.late}'`);
    });

    await context.test('money, states and books are what they were', async () => {
      assert.deepEqual(await fingerprint(), books);
      assert.equal((await stateOf(service, buyer.routed)).session, 'expired');
      await assertSound(service.databaseUrl);
    });

    await context.test('lists, records and exports still answer', async () => {
      for (const list of [
        'sessions',
        'customers',
        'payments',
        'invoices',
        'refunds',
        'events',
        'deliveries',
        'discrepancies',
      ])
        assert.equal((await call('GET', `${service.url}/api/gateway/${list}`)).status, 200, list);
      const found = await call<{ data: unknown[] }>('GET', `${customers()}?email=${encodeURIComponent(EMAIL)}`);
      assert.deepEqual(found.body.data, []);
      assert.equal((await call('GET', `${customers()}/${buyer.id}/export`)).status, 200);
      assert.equal((await fetch(`${service.url}/checkout/${buyer.paid}`)).status, 200);
    });

    await context.test('what names the buyer is in no log', () => {
      assert.doesNotMatch(service.logged.join('\n'), /ada\.lovelace@buyers|Countess|lovelace-ada/i);
    });

    await context.test('a used idempotency key stays used: no old answer, and no second session', async () => {
      const body = sessionBody({ ...SALE, idempotencyKey: 'key-of-ada-1' });
      const count = async () => (await deps.store.listSessions({}, { limit: 100 })).items.length;
      const sessions = await count();
      for (const on of [service, other]) {
        const answer = await call<Refusal>('POST', `${on.url}/api/gateway/sessions`, body);
        assert.deepEqual([answer.status, answer.body.error.code], [422, 'idempotency_conflict']);
        assert.match(answer.body.error.message, /erased/);
      }
      assert.equal(await count(), sessions);
    });

    await context.test(
      'the same address is another customer, on an instance that remembered the old one too',
      async () => {
        for (const on of [service, other]) {
          const again = await createSession(on, { customer: EMAIL });
          assert.notEqual(await customerOf(again), buyer.id);
        }
        assert.equal((await stateOf(service, neighbour)).session, 'routed');
      },
    );

    await context.test('late messages of a provider keep nothing new, and count', async () => {
      await providerSays(service, buyer.routed, 'paid');
      assert.equal((await stateOf(service, buyer.routed)).session, 'paid');
      const [message] = await deps.store.providerMessages(buyer.routed);
      assert.equal(message!.body, '{"erased":true}');
      await service.pass(0);
      assert.equal((await erase(buyer.id)).status, 200);
      await assertSound(service.databaseUrl);
    });

    await context.test('nor do its words on payouts and refunds', async () => {
      const body = JSON.stringify({ cardholder: NAME });
      const [payment] = (await deps.store.checkout(buyer.paid))!.payments;
      const [refund] = (await deps.store.listRefunds({ sessionId: buyer.paid }, { limit: 1 })).items;
      const { id: paymentId, sessionId, amount } = payment!;
      const from = { provider: 'sandbox', environment: payment!.environment, body };
      const settled = { eventId: 'late_payout', sessionId, paymentId, amount, currency: 'USD' };
      const payout = { ...settled, status: 'settled', settledAt: null, reference: null } as const;
      assert.equal(await applySettlementMessage(deps, { ...from, callback: payout }), 'applied');
      const unknown = { ...payout, eventId: 'odd_payout', paymentId: 'pay_x' };
      assert.equal(await applySettlementMessage(deps, { ...from, callback: unknown }), 'unknown_payment');
      const given = {
        eventId: 'late_refund',
        refundId: refund!.id,
        sessionId,
        amount: refund!.amount,
        currency: 'USD',
      };
      await applyRefundMessage(deps, { ...from, callback: { ...given, status: 'succeeded', reason: null } });
      assert.deepEqual(await namingTexts([/Countess/, /letter-from-ada/]), []);
      await assertSound(service.databaseUrl);
    });

    await context.test('nor does what a receiver answers to a resend', async () => {
      const [delivery] = await deps.store.deliveriesOfSession(buyer.paid);
      const replayed = await call('POST', `${service.url}/api/gateway/deliveries/${delivery!.id}/replay`);
      assert.equal(replayed.status, 200);
      await service.pass(0);
      const log = await deps.store.deliveryAttempts(delivery!.id);
      assert.deepEqual([log.length, log.at(-1)!.statusCode, log.at(-1)!.responseBody], [2, 200, '']);
      await assertSound(service.databaseUrl);
    });

    await context.test('nor a note on a discrepancy: it is refused, and asked for no more', async () => {
      await providerSays(service, buyer.routed, 'paid', { paymentId: 'pay_x' });
      const { items } = await deps.store.listDiscrepancies({ sessionId: buyer.routed, status: 'open' }, { limit: 2 });
      assert.deepEqual(
        items.map(({ kind }) => kind),
        ['unknown_payment'],
      );
      const resolve = `${service.url}/api/gateway/discrepancies/${items[0]!.id}/resolve`;
      const noted = await call<Refusal>('POST', resolve, { action: 'accept', note: 'letter-from-ada' });
      assert.deepEqual([noted.status, noted.body.error.field], [400, 'note']);
      assert.match(noted.body.error.message, /erased/);
      assert.deepEqual(await namingTexts([/Countess/, /letter-from-ada/]), []);
      assert.equal((await call('POST', resolve, { action: 'accept' })).status, 200);
      await assertSound(service.databaseUrl);
    });

    await context.test(
      'nothing begins for an erased customer, and it can be neither blocked nor unblocked',
      async () => {
        for (const verb of ['block', 'unblock']) {
          const answer = await call<Refusal>('POST', `${customers()}/${buyer.id}/${verb}`);
          assert.deepEqual([answer.status, answer.body.error.code], [409, 'invalid_state']);
        }
      },
    );
  });
});

describe('erasing is refused', () => {
  test('while a payment is pending, and says which; afterwards it is done', async () => {
    const session = await createSession(service, { customer: 'pending@example.com' });
    await start(service, session, 'card');
    const id = await customerOf(session);
    const payment = (await service.service.deps.store.checkout(session))!.payments[0]!;
    await service.pass(0);
    const refused = await erase(id);
    assert.deepEqual([refused.status, refused.body.error.code], [409, 'invalid_state']);
    assert(refused.body.error.message.includes(payment.id), refused.body.error.message);
    assert.equal((await service.service.deps.store.customer(id))!.status, 'active');
    await providerSays(service, session, 'failed');
    await service.pass(0);
    assert.equal((await erase(id)).status, 200);
  });

  test('while an event is still to be delivered', async () => {
    const session = await createSession(service, { customer: 'delivering@example.com' });
    await providerSays(service, session, 'paid');
    const refused = await erase(await customerOf(session));
    assert.equal(refused.status, 409);
    assert.match(refused.body.error.message, /events are still to be delivered \(dlv_/);
    await service.pass(0);
    assert.equal((await erase(await customerOf(session))).status, 200);
  });

  test('for one that does not exist', async () => {
    assert.equal((await erase('cus_x')).status, 404);
  });

  test('of a payment begun at the same moment: one of the two wins, never both', async () => {
    for (let round = 0; round < 5; round++) {
      const session = await createSession(service, { customer: `race${round}@example.com` });
      const id = await customerOf(session);
      const [started, answer] = await Promise.all([
        startPayment(other.service.deps, session, { kind: 'card', acceptedTotal: 10_000_000 }),
        erase(id),
      ]);
      const status = (await service.service.deps.store.customer(id))!.status;
      assert.equal(answer.status, status === 'erased' ? 200 : 409);
      assert.equal(started.outcome === 'continue', status === 'active');
    }
  });
});

test(
  'what is erased is overwritten in the files of SQLite',
  { skip: process.env['TEST_DATABASE'] === 'postgres' },
  async () => {
    const session = await createSession(service, {
      customer: 'on.disk.once@example.com',
      metadata: { note: 'x'.repeat(400) + 'on-disk-metadata' },
    });
    assert.match(await contentsOf(service.databaseUrl), /on\.disk\.once/);
    assert.equal((await erase(await customerOf(session))).status, 200);
    const left = await contentsOf(service.databaseUrl);
    assert.doesNotMatch(left, /on\.disk\.once|on-disk-metadata/);
  },
);
