// @run on=postgres
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Payment } from '../../src/domain/records.ts';
import { type Stage, createStage } from '../checkout/stage.ts';
import { type FakeProvider, connect, startFakeProvider } from '../support/fake-provider.ts';
import { type TestService, startTestService } from '../support/service.ts';

// Every instance finds due work, and one does it.

const SESSIONS = 30;
const INQUIRY_MS = 30_000;

describe('two instances that find the same due work', () => {
  let fake: FakeProvider;
  let instances: TestService[];
  let stage: Stage;
  let asked: string[] = [];
  before(async () => {
    fake = await startFakeProvider();
    // Long enough for the other instance to find the same work.
    fake.cancel = async (payment) => {
      await note(`cancel ${payment.id}`);
      return 'cancelled';
    };
    fake.inquire = async (payment: Payment) => {
      await note(`inquire ${payment.id}`);
      const { id: paymentId, amount } = payment;
      const unpaid = {
        status: 'provider_pending',
        amount,
        currency: 'USD',
        txHash: null,
        failure: null,
      } as const;
      return { ...unpaid, paymentId, reference: `fake_${paymentId}`, url: null, awaitsBuyer: false };
    };
    const first = await startTestService();
    instances = [first, await startTestService({ beside: first })];
    for (const { service } of instances) connect(service, fake);
    stage = createStage(first, fake);
  });
  after(async () => {
    for (const instance of instances.toReversed()) await instance[Symbol.asyncDispose]();
    await fake[Symbol.asyncDispose]();
  });

  async function note(call: string): Promise<void> {
    asked.push(call);
    await sleep(20);
  }

  /** Moves the clock of both instances, which then do their due work at once. */
  async function pass(ms: number): Promise<string[]> {
    asked = [];
    instances[0]!.clock.advance(ms);
    await Promise.all(instances.map(({ service }) => service.runDue()));
    return asked.toSorted();
  }

  const each = (bring: (id: string) => Promise<unknown>) =>
    Promise.all(
      Array.from({ length: SESSIONS }, async () => {
        const id = await stage.create();
        await bring(id);
        return id;
      }),
    );
  const paymentsOf = async (ids: string[]) => {
    const checkouts = await Promise.all(ids.map((id) => instances[0]!.service.deps.store.checkout(id)));
    return checkouts.flatMap((checkout) => checkout!.payments);
  };

  test('send one inquiry for each payment', async () => {
    const ids = await each((id) => stage.start(id));
    const payments = await paymentsOf(ids);
    assert.deepEqual(await pass(INQUIRY_MS), payments.map(({ id }) => `inquire ${id}`).toSorted());
    assert.deepEqual(
      (await paymentsOf(ids)).map(({ inquiries }) => inquiries),
      payments.map(() => 1),
    );
  });

  test('send each cancellation once', async () => {
    const ids = await each(async (id) => {
      await stage.start(id);
      await stage.submit(id, 'cancel');
    });
    const cancelled = (await pass(0)).filter((call) => call.startsWith('cancel'));
    assert.deepEqual(cancelled, (await paymentsOf(ids)).map(({ id }) => `cancel ${id}`).toSorted());
  });
});
