import assert from 'node:assert/strict';
import { after, beforeEach, describe, test } from 'node:test';
import type { Payment, ProviderStatus } from '../../src/domain/records.ts';
import { startPayment } from '../../src/operations/start-payment.ts';
import { createSession } from '../simulator/buyer.ts';
import type { FakeProvider } from '../support/fake-provider.ts';
import { startStage } from './stage.ts';
import { aKnownPayment } from '../fixtures/provider-reports.ts';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const NOT_STOPPED = '?notice=not_stopped';

const { service: on, fake, stage, end } = await startStage();
after(end);

type Answer = ProviderStatus | 'unknown' | 'no_answer';
/** Answers of the fake provider by payment id. */
let answers: Map<string, Answer>;
/** Answer for all other payments. */
let defaultAnswer: Answer;
/** Requests to the fake provider, with their timeouts in milliseconds. */
let requests: string[];

function inquiryResult({ id, amount }: Payment) {
  const status = answers.get(id) ?? defaultAnswer;
  if (status === 'no_answer') throw new Error('the provider does not answer');
  return status === 'unknown' ? status : aKnownPayment(id, { status, amount });
}

fake.inquire = async (payment, timeoutMs) => {
  requests.push(`inquire ${timeoutMs}`);
  return inquiryResult(payment);
};
fake.cancel = async (payment, timeoutMs) => {
  requests.push(`cancel ${timeoutMs}`);
  return inquiryResult(payment) === 'unknown' ? 'unknown' : 'cancelled';
};
beforeEach(() => {
  [answers, defaultAnswer, requests] = [new Map(), 'provider_pending', []];
});

const paymentsOf = async (id: string) => (await on.service.deps.store.checkout(id))!.payments;
const codesOf = async (id: string) =>
  (await paymentsOf(id)).map(({ status, failureCode, failureSource }) => [status, failureCode, failureSource]);

async function startedSession(answer: FakeProvider['answer'] = 'accept'): Promise<{ id: string; payment: Payment }> {
  const id = await stage.create();
  await stage.start(id, answer);
  return { id, payment: (await paymentsOf(id))[0]! };
}

async function pageOf(id: string, query = ''): Promise<string> {
  return (await fetch(`${stage.url(id)}${query}`)).text();
}

describe('choosing another payment method', () => {
  for (const answer of ['failed', 'unknown'] as const) {
    test(`choosing another payment method abandons the payment if its provider answers "${answer}" within a short timeout`, async () => {
      const { id, payment } = await startedSession();
      answers.set(payment.id, answer);
      const { location } = await stage.submit(id, 'switch');
      assert.ok(!location.includes('notice'));
      assert.deepEqual(requests, ['cancel 2500', 'inquire 2500']);
      assert.deepEqual(await codesOf(id), [['failed', 'abandoned', 'buyer']]);
      const tasks = await on.service.deps.store.tasksDue(on.service.deps.now(), 100);
      assert.ok(tasks.some(({ paymentId, kind }) => paymentId === payment.id && kind === 'cancel'));
    });
  }

  for (const answer of ['no_answer', 'provider_pending'] as const) {
    test(`choosing another payment method shows a notice and keeps the payment pending if the provider's answer is "${answer}"`, async () => {
      const { id, payment } = await startedSession();
      answers.set(payment.id, answer);
      const { location } = await stage.submit(id, 'switch');
      assert.ok(location.endsWith(NOT_STOPPED), location);
      assert.match(await pageOf(id, NOT_STOPPED), /cannot be stopped right now/);
      await startPayment(on.service.deps, id, { kind: 'wallet', acceptedTotal: 10_000_000 });
      assert.deepEqual(await codesOf(id), [['pending', null, null]]);
    });
  }

  test('choosing another payment method marks the payment as paid if its provider answers that it is paid', async () => {
    const { id, payment } = await startedSession();
    answers.set(payment.id, 'paid');
    const { location } = await stage.submit(id, 'switch');
    assert.ok(!location.includes('notice'));
    assert.deepEqual(await codesOf(id), [['paid', null, null]]);
  });

  test('choosing another payment method is neither offered nor accepted after an uncertain handoff', async () => {
    defaultAnswer = 'no_answer';
    const { id } = await startedSession('lose');
    requests = [];
    const page = await pageOf(id);
    assert.doesNotMatch(page, /Choose another way/);
    assert.match(page, /Cancel this payment/);
    const { location } = await stage.submit(id, 'switch');
    assert.ok(!location.includes('notice'));
    await startPayment(on.service.deps, id, { kind: 'wallet', acceptedTotal: 10_000_000 });
    assert.deepEqual(await codesOf(id), [['pending', null, null]]);
    assert.deepEqual(requests, []);
    await stage.submit(id, 'cancel');
    assert.deepEqual(await codesOf(id), [['failed', 'abandoned', 'buyer']]);
  });

  test('choosing another payment method shows each notice only in the checkout state that it describes', async () => {
    const { id } = await startedSession();
    assert.doesNotMatch(await pageOf(id, '?notice=fee_changed'), /class="notice"/);
    assert.doesNotMatch(await pageOf(await stage.create(), NOT_STOPPED), /class="notice"/);
  });
});

describe('a payment that its provider does not know when the gateway inquires', () => {
  const inquired = async (answer: 'lose' | 'crash') => {
    const original = fake.handoff;
    if (answer === 'crash') fake.handoff = () => Promise.reject(new Error('the process ended'));
    else fake.answer = 'lose';
    const id = await createSession(on);
    const choice = { kind: 'card', acceptedTotal: 10_000_000 } as const;
    await startPayment(on.service.deps, id, choice).catch(() => undefined);
    [fake.handoff, fake.answer] = [original, 'accept'];
    const [payment] = await paymentsOf(id);
    answers.set(payment!.id, 'unknown');
    await on.pass(31 * SECOND);
    return id;
  };

  test('a payment that its provider does not know fails with failureSource gateway if it was never handed off', async () => {
    assert.deepEqual(await codesOf(await inquired('crash')), [['failed', 'handoff_refused', 'gateway']]);
  });

  test('a payment that its provider does not know fails with failureSource route if its handoff was uncertain', async () => {
    defaultAnswer = 'no_answer';
    assert.deepEqual(await codesOf(await inquired('lose')), [['failed', 'handoff_refused', 'route']]);
  });
});

test('the cancellation of a payment that the provider does not know is repeated for over an hour, because its handoff may still arrive', async () => {
  const { id, payment } = await startedSession();
  answers.set(payment.id, 'unknown');
  await on.pass(0);
  requests = [];
  await stage.submit(id, 'switch');
  const times: number[] = [];
  const original = fake.cancel;
  const startedAt = on.service.deps.now();
  fake.cancel = (one) => {
    if (one.id === payment.id) times.push((on.service.deps.now() - startedAt) / MINUTE);
    return original(one);
  };
  for (let step = 0; step < 160; step++) await on.pass(step === 0 ? 0 : MINUTE / 2);
  assert.deepEqual(times, [0, 0.5, 2.5, 12.5, 72.5]);
  assert.ok(
    !on.logged.some((line) => line.includes(payment.id) && JSON.parse(line).level >= 40),
    'a warning was logged',
  );

  const other = await startedSession();
  answers.set(other.payment.id, 'unknown');
  await stage.submit(other.id, 'switch');
  times.length = 0;
  fake.cancel = (one) => {
    if (one.id === other.payment.id) times.push(0);
    return original(one);
  };
  await on.pass(0);
  answers.set(other.payment.id, 'failed');
  for (let step = 0; step < 160; step++) await on.pass(MINUTE / 2);
  fake.cancel = original;
  assert.equal(times.length, 2, 'a cancellation was sent after the provider knew the payment');
});
