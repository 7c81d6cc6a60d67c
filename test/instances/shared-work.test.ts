// @run on=postgres
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Payment } from '../../src/domain/records.ts';
import { type Stage, createStage } from '../checkout/stage.ts';
import { attempt, createSession, start } from '../simulator/buyer.ts';
import { connect, startFakeProvider } from '../support/fake-provider.ts';
import { providerSays } from '../support/money-arrives.ts';
import { type TestService, call, startTestService } from '../support/service.ts';
import { assertSound } from '../support/sound.ts';
import { aKnownPayment } from '../fixtures/provider-reports.ts';

const SESSIONS = 30;
const CALLERS = 30;
const INQUIRY_MS = 30_000;

const stack = new AsyncDisposableStack();
let instances: [TestService, TestService];
before(async () => {
  const first = stack.use(await startTestService());
  instances = [first, stack.use(await startTestService({ beside: first }))];
});
after(() => stack.disposeAsync());

/** Advances the shared clock. Both instances then do their due work simultaneously. */
async function pass(ms: number): Promise<void> {
  instances[0].clock.advance(ms);
  await Promise.all(instances.map(({ service }) => service.runDue()));
}

/** Sends simultaneous refund requests, alternating between the instances. */
function refundAtOnce(id: string, body: object) {
  return Promise.all(
    Array.from({ length: CALLERS }, (_, caller) => {
      const { url } = instances[caller % instances.length]!;
      return call<{ id: string }>('POST', `${url}/api/gateway/payments/${id}/refunds`, body);
    }),
  );
}

async function paidPayment(): Promise<Payment> {
  const [on] = instances;
  const sessionId = await createSession(on);
  await attempt(on, sessionId, 'card', 'paid');
  await pass(0);
  return (await on.service.deps.store.checkout(sessionId))!.payments[0]!;
}

const paymentOf = async (id: string) => (await instances[1].service.deps.store.payment(id))!;
const byNumber = (a: number, b: number) => a - b;

describe('thirty simultaneous refund requests on two instances', () => {
  test('simultaneous refunds never exceed the amount of the payment, and each accepted refund reaches the provider once', async () => {
    const { id } = await paidPayment();
    const answers = await refundAtOnce(id, { amount: 7 });
    const statuses = answers.map(({ status }) => status).toSorted(byNumber);
    assert.deepEqual(statuses, [...Array<number>(7).fill(200), ...Array<number>(23).fill(400)], '7 x 7.00 of 49.99');
    assert.equal((await paymentOf(id)).refundPending, 4900);

    await pass(0);
    await pass(60_000);
    const { refunded, refundPending } = await paymentOf(id);
    assert.deepEqual([refunded, refundPending], [4900, 0]);
    assert.equal((await instances[0].simulator.chargeOfPayment(id))!.refunded, 4900);
  });

  test('refund requests with one idempotency key for two payments create one refund, and fail for the other payment', async () => {
    const payments = [await paidPayment(), await paidPayment()];
    const body = { amount: 10, idempotencyKey: 'one-key-of-many-callers' };
    const answers = (await Promise.all(payments.map(({ id }) => refundAtOnce(id, body)))).flat();
    const accepted = answers.filter(({ status }) => status === 200);
    assert.equal(new Set(accepted.map(({ body: refund }) => refund.id)).size, 1);
    assert.equal(accepted.length, CALLERS);
    assert.equal(accepted.filter(({ headers }) => headers.get('idempotent-replayed') === null).length, 1);
    assert.equal(answers.filter(({ status }) => status === 422).length, CALLERS);
    const pending = await Promise.all(payments.map(async ({ id }) => (await paymentOf(id)).refundPending));
    assert.deepEqual(pending.toSorted(byNumber), [0, 1000]);
  });
});

test('simultaneous reports of a lower amount and of the right amount leave no open discrepancy', async () => {
  const [first, second] = instances;
  const { store } = second.service.deps;
  for (let pair = 0; pair < 18; pair++) {
    const sessionId = await createSession(first, { customer: `words${pair}@example.com` });
    await start(first, sessionId, 'card');
    const older = providerSays(first, sessionId, 'paid', { amount: 2000 });
    // The delay of the report with the right amount varies.
    for (let reads = 0; reads < pair % 6; reads++) await store.session(sessionId);
    await Promise.all([older, providerSays(second, sessionId, 'paid')]);

    assert.equal((await store.checkout(sessionId))!.payments[0]!.status, 'paid');
    const { items } = await store.listDiscrepancies({ sessionId, status: 'open' }, { limit: 10 });
    assert.deepEqual(items, [], `pair ${pair}`);
    first.clock.advance(61_000);
  }
  await assertSound(first.databaseUrl);
});

describe('two instances with the same due work', () => {
  let stage: Stage;
  let calls: string[] = [];
  before(async () => {
    const fake = stack.use(await startFakeProvider());
    const record = async (name: string) => {
      calls.push(name);
      // The other instance finds the same work during this time.
      await sleep(20);
    };
    fake.cancel = async (payment) => {
      await record(`cancel ${payment.id}`);
      return 'cancelled';
    };
    fake.inquire = async ({ id: paymentId, amount }) => {
      await record(`inquire ${paymentId}`);
      return aKnownPayment(paymentId, { status: 'provider_pending', amount });
    };
    for (const { service } of instances) connect(service, fake);
    stage = createStage(instances[0], fake);
  });

  /** Creates sessions, prepares each with `prepare`, and returns their payments. */
  const paymentsAfter = async (prepare: (id: string) => Promise<unknown>) =>
    Promise.all(
      Array.from({ length: SESSIONS }, async () => {
        const id = await stage.create();
        await prepare(id);
        return (await instances[0].service.deps.store.checkout(id))!.payments[0]!;
      }),
    );
  const callsIn = async (ms: number) => {
    calls = [];
    await pass(ms);
    return calls.toSorted();
  };

  test('two instances send one inquiry per payment', async () => {
    const payments = await paymentsAfter((id) => stage.start(id));
    assert.deepEqual(await callsIn(INQUIRY_MS), payments.map(({ id }) => `inquire ${id}`).toSorted());
    for (const { id } of payments) assert.equal((await paymentOf(id)).inquiries, 1);
  });

  test('two instances send each cancellation once', async () => {
    const payments = await paymentsAfter(async (id) => {
      await stage.start(id);
      await stage.submit(id, 'cancel');
    });
    const cancelled = (await callsIn(0)).filter((name) => name.startsWith('cancel'));
    assert.deepEqual(cancelled, payments.map(({ id }) => `cancel ${id}`).toSorted());
  });
});
