import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import type { Payment } from '../../src/domain/records.ts';
import { createRefund } from '../../src/operations/refunds/create-refund.ts';
import type { Provider } from '../../src/providers/provider.ts';
import { REFUND_SCRIPTS } from '../../src/simulator/simulated-refunds.ts';
import { idOf } from '../fixtures/checkout-records.ts';
import { startTestService } from '../support/service.ts';
import { attempt, createSession, postCallback, replaceProvider, trustSecret } from './buyer.ts';

const SECOND = 1000;
const HOUR = 3600 * SECOND;
const DAY = 24 * HOUR;
const SUCCEEDED = { status: 'succeeded', reason: null };
const REFUSED = { status: 'failed', reason: 'the provider refused the refund' };

const on = await startTestService();
const simulated = on.service.deps.providers.get('sandbox')!;
after(() => on[Symbol.asyncDispose]());

async function paidPayment(instrument = 'paid'): Promise<Payment> {
  const id = await createSession(on);
  await attempt(on, id, 'card', instrument);
  await on.pass(0);
  return (await on.service.deps.store.checkout(id))!.payments[0]!;
}

const requestRefund = async ({ id }: Payment, amount?: number) =>
  (await createRefund(on.service.deps, id, amount === undefined ? {} : { amount })).refund.id;

/** State of a refund in one line, such as `succeeded, refunded 500, pending 0, ledger pending; at the provider succeeded, 500`. */
async function state(refundId: string): Promise<string> {
  const { store } = on.service.deps;
  const { status, paymentId } = (await store.refund(refundId))!;
  const { refunded, refundPending, ledgerStatus } = (await store.payment(paymentId))!;
  const atProvider = await on.simulator.refund(refundId);
  const charge = (await on.simulator.chargeOfPayment(paymentId))!;
  const here = `${status}, refunded ${refunded}, pending ${refundPending}, ledger ${ledgerStatus}`;
  return `${here}; at the provider ${atProvider?.status ?? 'unknown'}, ${charge.refunded}`;
}

const messagesOf = async (sessionId: string, refund: string) =>
  (await on.service.deps.store.providerMessages(sessionId)).filter(({ refundId }) => refundId === refund);

/** Non-zero balances of a payment by account. */
async function booksOf(paymentId: string): Promise<Record<string, number>> {
  const sums: Record<string, number> = {};
  for (const { account, amount } of await on.service.deps.store.ledgerOfPayment(paymentId)) {
    sums[account] = (sums[account] ?? 0) + amount;
  }
  return Object.fromEntries(Object.entries(sums).filter(([, amount]) => amount !== 0));
}

/** Runs `use` while methods of the provider are replaced. */
async function withProvider(provider: Partial<Provider>, use: () => Promise<void>): Promise<void> {
  replaceProvider(on, provider);
  try {
    await use();
  } finally {
    replaceProvider(on, simulated);
  }
}

async function sendCallback(callback: Record<string, unknown>) {
  trustSecret(on);
  const answer = await postCallback(on, callback);
  replaceProvider(on, { readCallback: simulated.readCallback });
  return answer;
}

describe('the cents of a refund select its outcome', () => {
  // Each state: the time since the previous state, and the status of the refund in Tillway and at the provider.
  const cases: [cents: number, title: string, ...states: [afterMs: number, here: string, there: string][]][] = [
    [
      1,
      'the refund is pending, and succeeds by a callback 2 seconds later',
      [0, 'pending', 'pending'],
      [1999, 'pending', 'pending'],
      [1, 'succeeded', 'succeeded'],
    ],
    [2, 'the refund fails at once', [0, 'failed', 'failed']],
    [
      4,
      'the answer is lost, and the next inquiry finds the refund',
      [0, 'pending', 'succeeded'],
      [5 * SECOND, 'succeeded', 'succeeded'],
    ],
    [
      5,
      'no callback arrives, and the next inquiry finds that the refund succeeded',
      [0, 'pending', 'succeeded'],
      [5 * SECOND, 'succeeded', 'succeeded'],
    ],
    [
      6,
      'the refund is pending, and fails by a callback 2 seconds later',
      [0, 'pending', 'pending'],
      [2 * SECOND, 'failed', 'failed'],
    ],
  ];
  for (const [cents, title, ...states] of cases) {
    test(`x.0${cents}: ${title}`, async () => {
      const payment = await paidPayment();
      const before = await booksOf(payment.id);
      const id = await requestRefund(payment, 5 + cents / 100);
      const amount = 500 + cents;
      for (const [afterMs, here, there] of states) {
        await on.pass(afterMs);
        const booked = `refunded ${here === 'succeeded' ? amount : 0}, pending ${here === 'pending' ? amount : 0}`;
        const held = there === 'failed' ? 0 : amount;
        assert.equal(await state(id), `${here}, ${booked}, ledger pending; at the provider ${there}, ${held}`);
      }
      if ((await state(id)).startsWith('failed')) assert.deepEqual(await booksOf(payment.id), before);
    });
  }

  test('x.03: the refund succeeds and later fails: the posting is reversed, and the money can be refunded again', async () => {
    const payment = await paidPayment();
    const before = await booksOf(payment.id);
    const rest = await requestRefund(payment, 44.96);
    const id = await requestRefund(payment, 5.03);
    await on.pass(0);
    assert.equal(
      await state(id),
      'succeeded, refunded 4999, pending 0, ledger refunded; at the provider succeeded, 4999',
    );
    assert.deepEqual(await booksOf(payment.id), {});
    await on.pass(30 * SECOND);
    assert.equal(await state(id), 'failed, refunded 4496, pending 0, ledger pending; at the provider failed, 4496');
    assert.match((await on.service.deps.store.refund(id))!.failureReason!, /sent the money back/);
    assert.match(await state(rest), /^succeeded/);
    assert.notDeepEqual(await booksOf(payment.id), before);

    await on.service.deps.store.refund(await requestRefund(payment));
    await on.pass(0);
    assert.equal((await on.service.deps.store.payment(payment.id))!.refunded, 4999);
  });

  test('every simulated refund outcome has a test above', () => {
    assert.deepEqual(
      REFUND_SCRIPTS.map(({ cents }) => cents),
      [1, 2, 3, 4, 5, 6],
    );
  });
});

/** Fields of a refund that the provider has not answered before. */
const FIRST = { reference: null, created: 0 };

describe('the simulated provider', () => {
  test('the simulated provider rejects a refund above the captured amount', async () => {
    const payment = await paidPayment();
    const request = { refundId: idOf('ref', 7), payment, amount: payment.fees.total + 1, ...FIRST };
    assert.deepEqual(await simulated.refund(request), REFUSED);
    assert.equal(await simulated.inquireRefund(request), undefined);
  });

  test('the simulated provider refunds each refund id once, and rejects the id with another amount', async () => {
    const payment = await paidPayment();
    const request = { refundId: idOf('ref', 8), payment, amount: 1000, ...FIRST };
    for (let time = 0; time < 2; time++) assert.deepEqual(await simulated.refund(request), SUCCEEDED);
    assert.equal((await on.simulator.chargeOfPayment(payment.id))!.refunded, 1000);
    assert.deepEqual(await simulated.refund({ ...request, amount: 999 }), REFUSED);
  });

  test('the simulated provider repeats its answer if the gateway exited before it stored the first answer', async () => {
    const payment = await paidPayment();
    const id = await requestRefund(payment, 10);
    // The state after a kill of the gateway: the provider has refunded, but the gateway has not stored the answer.
    assert.deepEqual(await simulated.refund({ refundId: id, payment, amount: 1000, ...FIRST }), SUCCEEDED);
    const [due] = (await on.service.deps.store.refundsDue(on.clock.now(), 10)).filter(({ refund }) => refund.id === id);
    const claimed = { ...due!, attempts: 1, dueAt: on.clock.now() + 60 * SECOND };
    assert.ok((await on.service.deps.store.commit([{ type: 'refund_claimed', due: claimed }])).done);
    await on.pass(59 * SECOND);
    assert.match(await state(id), /^pending/, 'the claim is valid until its lease expires');
    await on.pass(SECOND);
    assert.equal(
      await state(id),
      'succeeded, refunded 1000, pending 0, ledger pending; at the provider succeeded, 1000',
    );
  });
});

describe('a provider that does not answer', () => {
  test('Tillway repeats an unanswered refund request with growing delays up to an hour, and the refund stays pending', async () => {
    const payment = await paidPayment();
    const requestTimes: number[] = [];
    const began = on.clock.now();
    const failAndRecordTime = async (): Promise<never> => {
      requestTimes.push(on.clock.now() - began);
      throw new Error('unreachable');
    };
    await withProvider({ refund: failAndRecordTime, inquireRefund: failAndRecordTime }, async () => {
      const id = await requestRefund(payment);
      for (let step = 0; step < 60 * 24 * 4 && on.clock.now() - began < 4 * DAY; step++) {
        const [due] = (await on.service.deps.store.refundsDue(began + 10 * DAY, 100)).filter(
          ({ refund }) => refund.id === id,
        );
        await on.pass(Math.max(0, due!.dueAt - on.clock.now()));
      }
      assert.match(await state(id), /^pending/);
    });
    assert.deepEqual(
      requestTimes.slice(0, 5),
      [0, 5, 15, 35, 75].map((seconds) => seconds * SECOND),
    );
    const pauses = requestTimes.slice(1).map((at, index) => at - requestTimes[index]!);
    assert.equal(Math.max(...pauses), HOUR);
    const overdue = on.logged.filter((line) => line.includes('refund overdue'));
    assert.ok(
      overdue.length > 10 && overdue.every((line) => JSON.parse(line).level === 50),
      'overdue refunds are logged as errors',
    );

    await on.pass(HOUR);
    assert.equal((await on.service.deps.store.payment(payment.id))!.ledgerStatus, 'refunded');
  });
});

describe('a provider’s report on a refund', () => {
  test('a report on a refund is applied once, even if it is repeated or arrives in the wrong order', async () => {
    const payment = await paidPayment();
    await withProvider({ refund: async () => ({ status: 'pending', reason: null }) }, async () => {
      const id = await requestRefund(payment, 10);
      await on.pass(0);
      const about = { order: payment.sessionId, refund: id, amount: 1000 };
      const failed = { ...about, event: `${id} late`, type: 'refund.failed', reason: 'account_closed' };
      assert.deepEqual(await sendCallback(failed), { status: 200, outcome: 'applied' });
      // The provider reported the success before the failure, but the success arrives later.
      const succeeded = { ...about, event: `${id} first`, type: 'refund.succeeded' };
      assert.deepEqual(await sendCallback(succeeded), { status: 200, outcome: 'ignored' });
      for (const callback of [failed, succeeded])
        assert.deepEqual(await sendCallback(callback), { status: 200, outcome: 'duplicate' });
      assert.match(await state(id), /^failed, refunded 0, pending 0/);
      const messages = await messagesOf(payment.sessionId, id);
      assert.deepEqual(
        messages.map(({ outcome, flagged }) => [outcome, flagged]),
        [
          ['ignored', false],
          ['applied', false],
        ],
      );
    });
  });

  test('a refund report with another amount, currency or session is flagged and not applied, and an unknown type is ignored', async () => {
    const payment = await paidPayment();
    await withProvider({ refund: async () => ({ status: 'pending', reason: null }) }, async () => {
      const id = await requestRefund(payment, 10);
      const about = { order: payment.sessionId, refund: id, amount: 1000, type: 'refund.succeeded' };
      assert.equal((await sendCallback({ ...about, event: `${id} 1`, amount: 999 }))?.outcome, 'amount_mismatch');
      assert.equal((await sendCallback({ ...about, event: `${id} 2`, currency: 'EUR' }))?.outcome, 'amount_mismatch');
      assert.equal((await sendCallback({ ...about, event: `${id} 3`, type: 'refund.celebrated' }))?.outcome, 'ignored');
      assert.equal(
        (await sendCallback({ ...about, event: `${id} 4`, order: idOf('chk', 99) }))?.outcome,
        'session_mismatch',
      );
      assert.match(await state(id), /^pending/);
      const messages = await messagesOf(payment.sessionId, id);
      assert.deepEqual(messages.filter(({ flagged }) => flagged).length, 3);
      assert.equal((await sendCallback({ ...about, event: 'x', refund: idOf('ref', 99) }))?.outcome, 'unknown');
    });
  });
});
