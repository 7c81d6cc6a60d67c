// @run on=postgres
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { attempt, createSession, start } from '../simulator/buyer.ts';
import { settingsOf } from '../support/database.ts';
import { providerSays } from '../support/money-arrives.ts';
import { type TestService, call, startTestService } from '../support/service.ts';
import { brokenInvariants } from '../support/sound.ts';

const CALLERS = 30;

let instances: TestService[];
before(async () => {
  const first = await startTestService();
  instances = [first, await startTestService({ beside: first })];
});
after(async () => {
  for (const instance of instances.toReversed()) await instance[Symbol.asyncDispose]();
});

interface Answered {
  status: number;
  body: { id: string; amount: number; error?: { code: string } };
  headers: Headers;
}

/** Sends simultaneous requests to the instances in turn. */
function refundAtOnce(id: string, bodyOf: (caller: number) => object): Promise<Answered[]> {
  return Promise.all(
    Array.from({ length: CALLERS }, (_, caller) => {
      const { url } = instances[caller % instances.length]!;
      return call<Answered['body']>('POST', `${url}/api/gateway/payments/${id}/refunds`, bodyOf(caller));
    }),
  );
}

async function paidPayment() {
  const [on] = instances as [TestService];
  const sessionId = await createSession(on);
  await attempt(on, sessionId, 'card', 'paid');
  await pass(0);
  return (await on.service.deps.store.checkout(sessionId))!.payments[0]!;
}

/** Moves the clock of both instances, which then do their due work at once. */
async function pass(ms: number): Promise<void> {
  instances[0]!.clock.advance(ms);
  await Promise.all(instances.map(({ service }) => service.runDue()));
}

const paymentOf = async (id: string) => (await instances[1]!.service.deps.store.payment(id))!;

test('thirty simultaneous refunds on two instances never exceed the payment', async () => {
  const payment = await paidPayment();
  const answers = await refundAtOnce(payment.id, () => ({ amount: 7 }));
  const made = answers.filter(({ status }) => status === 200);
  assert.equal(made.length, 7, '7 x 7.00 of 49.99');
  assert.deepEqual([...new Set(answers.filter(({ status }) => status !== 200).map(({ status }) => status))], [400]);
  assert.equal((await paymentOf(payment.id)).refundPending, 4900);

  // Every instance finds them due, and the provider gets each once.
  await pass(0);
  await pass(60_000);
  const { refunded, refundPending } = await paymentOf(payment.id);
  assert.deepEqual([refunded, refundPending], [4900, 0]);
  assert.equal((await instances[0]!.simulator.chargeOfPayment(payment.id))!.refunded, 4900);
});

test('of thirty simultaneous full refunds one succeeds, and the others find nothing left', async () => {
  const payment = await paidPayment();
  const answers = await refundAtOnce(payment.id, () => ({}));
  assert.deepEqual(
    answers.map(({ status }) => status).toSorted((a, b) => a - b),
    [200, ...Array.from({ length: 29 }, () => 409)],
  );
  await pass(0);
  assert.equal((await paymentOf(payment.id)).ledgerStatus, 'refunded');
});

test('one idempotency key for two payments creates one refund, and is a conflict for the other payment', async () => {
  const payments = [await paidPayment(), await paidPayment()];
  const body = { amount: 10, idempotencyKey: 'one-key-of-many-callers' };
  const answers = (await Promise.all(payments.map(({ id }) => refundAtOnce(id, () => body)))).flat();
  const made = answers.filter(({ status }) => status === 200);
  assert.equal(new Set(made.map(({ body: refund }) => refund.id)).size, 1);
  assert.equal(made.length, CALLERS);
  assert.equal(made.filter(({ headers }) => headers.get('idempotent-replayed') === null).length, 1);
  assert.equal(answers.filter(({ status }) => status === 422).length, CALLERS);
  const pending = await Promise.all(payments.map(async ({ id }) => (await paymentOf(id)).refundPending));
  assert.deepEqual(
    pending.toSorted((a, b) => a - b),
    [0, 1000],
  );
});

test('simultaneous reports of the right amount and of an older lower one leave no open discrepancy', async () => {
  const [first, second] = instances as [TestService, TestService];
  const { store } = second.service.deps;
  for (let pair = 0; pair < 18; pair++) {
    const sessionId = await createSession(first, { customer: `words${pair}@example.com` });
    await start(first, sessionId, 'card');
    const older = providerSays(first, sessionId, 'paid', { amount: 2000 });
    // The right report arrives a little later each time.
    for (let reads = 0; reads < pair % 6; reads++) await store.session(sessionId);
    await Promise.all([older, providerSays(second, sessionId, 'paid')]);

    assert.equal((await store.checkout(sessionId))!.payments[0]!.status, 'paid');
    const { items } = await store.listDiscrepancies({ sessionId, status: 'open' }, { limit: 10 });
    assert.deepEqual(items, [], `pair ${pair}`);
    first.clock.advance(61_000);
  }
  assert.deepEqual(await brokenInvariants(settingsOf(first.databaseUrl)), []);
});
