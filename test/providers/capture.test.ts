import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Payment } from '../../src/domain/records.ts';
import { applyReport } from '../../src/operations/provider-hints.ts';
import { cancelCheckout } from '../../src/operations/leave-payment.ts';
import { runProviderTask } from '../../src/operations/run-provider-task.ts';
import { aReport } from '../fixtures/provider-reports.ts';
import { createSession, replaceProvider, startAt } from '../simulator/buyer.ts';
import { paymentsOf } from '../support/gateway.ts';
import { type TestService, startTestService } from '../support/service.ts';

/** Applies the report that the buyer has approved a payment. */
function approve({ service: { deps } }: TestService, payment: Payment, revision: number) {
  const report = aReport({ status: 'provider_pending', amount: payment.amount, revision });
  return applyReport(deps, deps.providers.get('sandbox')!, payment, { ...report, state: 'requires_capture' });
}

/** A payment that the buyer has approved, the ids of the payments that its provider has captured, and the due capture tasks. */
async function approvedPayment(on: TestService) {
  const { deps } = on.service;
  const captured: string[] = [];
  async function capture({ id, amount }: { id: string; amount: number }) {
    captured.push(id);
    return aReport({ status: 'paid', amount });
  }
  replaceProvider(on, { capture });
  const session = await createSession(on);
  await startAt(on, session, 'card');
  const payment = (await paymentsOf(on, session))[0]!;
  await approve(on, payment, 1);
  const due = async () => (await deps.store.tasksDue(deps.now(), 10)).filter(({ kind }) => kind === 'capture');
  return { payment, captured, due };
}

test('a due capture is dropped without a request if the buyer has cancelled the payment', async () => {
  await using on = await startTestService();
  const { payment, captured, due } = await approvedPayment(on);
  const [task] = await due();
  await cancelCheckout(on.service.deps, payment.sessionId, 1);
  await runProviderTask(on.service.deps, task!);
  assert.deepEqual([captured, await due()], [[], []]);
});

test('a due capture is dropped without a request if a provider report has already marked the payment paid', async () => {
  await using on = await startTestService();
  const { payment, captured, due } = await approvedPayment(on);
  const [task] = await due();
  const { deps } = on.service;
  await applyReport(deps, deps.providers.get('sandbox')!, payment, aReport({ status: 'paid', amount: payment.amount }));
  await runProviderTask(deps, task!);
  assert.deepEqual([captured, await due()], [[], []]);
});

test('an instance does not run a capture task that another instance has claimed', async () => {
  await using on = await startTestService();
  const { captured, due } = await approvedPayment(on);
  const [task] = await due();
  await on.service.deps.store.commit([{ type: 'task_claimed', task: { ...task!, attempts: 1 } }]);
  await runProviderTask(on.service.deps, task!);
  assert.deepEqual([captured, (await due()).length], [[], 1]);
});

test('an approved payment is captured once, and the answer marks it paid', async () => {
  await using on = await startTestService();
  const { payment, captured } = await approvedPayment(on);
  await on.pass(0);
  await on.pass(3_600_000);
  assert.deepEqual(captured, [payment.id]);
  assert.equal((await paymentsOf(on, payment.sessionId))[0]!.status, 'paid');
});

test('a payment that the buyer approves again after a declined capture is captured again', async () => {
  await using on = await startTestService();
  const { payment, captured, due } = await approvedPayment(on);
  const { deps } = on.service;
  const decline = { code: 'declined', source: 'issuer', reason: 'INSTRUMENT_DECLINED' } as const;
  let asked = 0;
  replaceProvider(on, {
    async capture() {
      asked++;
      return aReport({ status: 'provider_pending', amount: payment.amount, awaitsBuyer: true, decline });
    },
  });
  await on.pass(0);
  assert.equal((await paymentsOf(on, payment.sessionId))[0]!.decline?.reason, decline.reason);
  await approve(on, payment, 1);
  assert.deepEqual(await due(), [], 'the same approval was captured again');
  await approve(on, payment, 2);
  replaceProvider(on, {
    async capture({ id, amount }) {
      captured.push(id);
      return aReport({ status: 'paid', amount });
    },
  });
  await on.pass(0);
  assert.deepEqual([asked, captured], [1, [payment.id]]);
  assert.equal((await deps.store.payment(payment.id))!.status, 'paid');
});

test('a paid report with the time of settlement settles the payment in the same commit', async () => {
  await using on = await startTestService();
  const { payment } = await approvedPayment(on);
  const { deps } = on.service;
  const settledAt = deps.now() - 1000;
  const report = aReport({ status: 'paid', amount: payment.amount, settledAt, chargeReference: 'capture_1' });
  const provider = deps.providers.get('sandbox')!;
  await applyReport(deps, provider, payment, report);
  const settlement = (await deps.store.settlement(payment.id))!;
  assert.deepEqual(
    [settlement.amount, settlement.reference, settlement.settledAt],
    [payment.fees.merchantNet, 'capture_1', settledAt],
  );
  assert.equal((await deps.store.payment(payment.id))!.ledgerStatus, 'settled');
  await applyReport(deps, provider, payment, { ...report, settledAt: settledAt + 1 });
  assert.equal((await deps.store.settlement(payment.id))!.settledAt, settledAt);
  assert.equal(await deps.store.ledgerTotal(), 0);
});
