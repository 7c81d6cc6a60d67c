// @run on=sqlite,postgres
import assert from 'node:assert/strict';
import { after, beforeEach, describe, test } from 'node:test';
import type { Payment } from '../../src/domain/records.ts';
import { startPayment } from '../../src/operations/start-payment.ts';
import type { ProviderReport } from '../../src/providers/provider.ts';
import { createSession } from '../simulator/buyer.ts';
import type { FakeProvider } from '../support/fake-provider.ts';
import { startStage } from './stage.ts';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const NOT_STOPPED = '?notice=not_stopped';

const { service: on, fake, stage, end } = await startStage();
after(end);

type Answer = ProviderReport['status'] | 'unknown' | 'away';
let said: Map<string, Answer>;
let usual: Answer;
let asked: string[];

/** The provider's answer about a payment. */
function known({ id, amount }: Payment) {
  const status = said.get(id) ?? usual;
  if (status === 'away') throw new Error('the provider is away');
  if (status === 'unknown') return undefined;
  const report = { paymentId: id, status, amount, currency: 'USD', txHash: null, failure: null };
  return { ...report, reference: `fake_${id}`, url: null, awaitsBuyer: false };
}

fake.inquire = async (payment, timeoutMs) => {
  asked.push(`inquire ${timeoutMs}`);
  return known(payment);
};
fake.cancel = async (payment, timeoutMs) => {
  asked.push(`cancel ${timeoutMs}`);
  return known(payment) ? 'cancelled' : 'unknown';
};
beforeEach(() => {
  [said, usual, asked] = [new Map(), 'provider_pending', []];
});

const paymentsOf = async (id: string) => (await on.service.deps.store.checkout(id))!.payments;
const codesOf = async (id: string) =>
  (await paymentsOf(id)).map(({ status, failureCode, failureSource }) => [status, failureCode, failureSource]);

/** A session whose first attempt its provider has or may have. */
async function begun(answer: FakeProvider['answer'] = 'accept'): Promise<{ id: string; payment: Payment }> {
  const id = await stage.create();
  await stage.start(id, answer);
  return { id, payment: (await paymentsOf(id))[0]! };
}

async function pageOf(id: string, query = ''): Promise<string> {
  return (await fetch(`${stage.url(id)}${query}`)).text();
}

describe('choosing another payment method', () => {
  for (const word of ['failed', 'unknown'] as const) {
    test(`continues if the payment is ${word} at its provider, which is asked first with a short timeout`, async () => {
      const { id, payment } = await begun();
      said.set(payment.id, word);
      const { location } = await stage.submit(id, 'switch');
      assert.ok(!location.includes('notice'));
      assert.deepEqual(asked, ['cancel 2500', 'inquire 2500']);
      assert.deepEqual(await codesOf(id), [['failed', 'abandoned', 'buyer']]);
      const tasks = await on.service.deps.store.tasksDue(on.service.deps.now(), 100);
      assert.ok(tasks.some(({ paymentId, kind }) => paymentId === payment.id && kind === 'cancel'));
    });
  }

  for (const word of ['away', 'provider_pending'] as const) {
    test(`waits if the provider is ${word}: the buyer sees a notice, and no other provider gets the payment`, async () => {
      const { id, payment } = await begun();
      said.set(payment.id, word);
      const { location } = await stage.submit(id, 'switch');
      assert.ok(location.endsWith(NOT_STOPPED), location);
      assert.match(await pageOf(id, NOT_STOPPED), /cannot be stopped right now/);
      await startPayment(on.service.deps, id, { kind: 'wallet', acceptedTotal: 10_000_000 });
      assert.deepEqual(await codesOf(id), [['pending', null, null]]);
    });
  }

  test('applies the money of a payment that is paid already', async () => {
    const { id, payment } = await begun();
    said.set(payment.id, 'paid');
    const { location } = await stage.submit(id, 'switch');
    assert.ok(!location.includes('notice'));
    assert.deepEqual(await codesOf(id), [['paid', null, null]]);
  });

  test('is neither offered nor possible by an old form while it is unknown whether the provider has the payment', async () => {
    usual = 'away';
    const { id } = await begun('lose');
    asked = [];
    const page = await pageOf(id);
    assert.doesNotMatch(page, /Choose another way/);
    assert.match(page, /Cancel this payment/);
    const { location } = await stage.submit(id, 'switch');
    assert.ok(!location.includes('notice'));
    await startPayment(on.service.deps, id, { kind: 'wallet', acceptedTotal: 10_000_000 });
    assert.deepEqual(await codesOf(id), [['pending', null, null]]);
    assert.deepEqual(asked, []);
    await stage.submit(id, 'cancel');
    assert.deepEqual(await codesOf(id), [['failed', 'abandoned', 'buyer']]);
  });

  test('shows its notice only while the payment is in progress', async () => {
    const { id } = await begun();
    assert.doesNotMatch(await pageOf(id, '?notice=fee_changed'), /class="notice"/);
    assert.doesNotMatch(await pageOf(await stage.create(), NOT_STOPPED), /class="notice"/);
  });
});

describe('a payment that its provider does not know at an inquiry', () => {
  const inquired = async (answer: 'lose' | 'crash') => {
    const plain = fake.handoff;
    if (answer === 'crash') fake.handoff = () => Promise.reject(new Error('the process ended'));
    else fake.answer = 'lose';
    const id = await createSession(on);
    const choice = { kind: 'card', acceptedTotal: 10_000_000 } as const;
    await startPayment(on.service.deps, id, choice).catch(() => undefined);
    [fake.handoff, fake.answer] = [plain, 'accept'];
    const [payment] = await paymentsOf(id);
    said.set(payment!.id, 'unknown');
    await on.pass(31 * SECOND);
    return id;
  };

  test('is a failure of the gateway if it was never handed off', async () => {
    assert.deepEqual(await codesOf(await inquired('crash')), [['failed', 'handoff_refused', 'gateway']]);
  });

  test('is a refused handoff if its handoff was ambiguous', async () => {
    usual = 'away';
    assert.deepEqual(await codesOf(await inquired('lose')), [['failed', 'handoff_refused', 'route']]);
  });
});

test('a request that arrives after its cancellation is cancelled: the provider is asked again for over an hour', async () => {
  const { id, payment } = await begun();
  said.set(payment.id, 'unknown');
  await on.pass(0);
  asked = [];
  await stage.submit(id, 'switch');
  const times: number[] = [];
  const plain = fake.cancel;
  const begin = on.service.deps.now();
  fake.cancel = (one) => {
    if (one.id === payment.id) times.push((on.service.deps.now() - begin) / MINUTE);
    return plain(one);
  };
  for (let half = 0; half < 160; half++) await on.pass(half === 0 ? 0 : MINUTE / 2);
  assert.deepEqual(times, [0, 0.5, 2.5, 12.5, 72.5]);
  assert.ok(
    !on.logged.some((line) => line.includes(payment.id) && JSON.parse(line).level >= 40),
    'no warning is logged',
  );

  const other = await begun();
  said.set(other.payment.id, 'unknown');
  await stage.submit(other.id, 'switch');
  times.length = 0;
  fake.cancel = (one) => {
    if (one.id === other.payment.id) times.push(0);
    return plain(one);
  };
  await on.pass(0);
  said.set(other.payment.id, 'failed');
  for (let half = 0; half < 160; half++) await on.pass(MINUTE / 2);
  fake.cancel = plain;
  assert.equal(times.length, 2, 'no more requests once the provider knows the payment');
});
