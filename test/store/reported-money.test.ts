// @run on=sqlite,postgres
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Signal } from '../../src/providers/provider.ts';
import { applySandboxSignal, reportPayment, totalOf } from '../fixtures/provider-reports.ts';
import { attempt, createSession } from '../simulator/buyer.ts';
import { paymentsOf } from '../support/gateway.ts';
import { startTestService } from '../support/service.ts';
import { assertSound } from '../support/sound.ts';

test('all invariants hold after a late cost report, a refund made at the provider and a dispute', async () => {
  await using tillway = await startTestService();
  const { deps } = tillway.service;
  const sessionId = await createSession(tillway);
  await attempt(tillway, sessionId, 'card', 'paid');
  await tillway.pass(0);
  const [payment] = await paymentsOf(tillway, sessionId);
  const ref = { sessionId, paymentId: payment!.id };
  await reportPayment(deps, { ...ref, status: 'paid', amount: payment!.amount, cost: totalOf(99) });
  const refund = { ours: null, reference: 're_1', status: 'succeeded', amount: totalOf(500), reason: null } as const;
  const open = {
    reference: 'dp_1',
    status: 'open',
    revision: 0,
    taken: totalOf(0),
    fee: totalOf(0),
    reason: null,
  } as const;
  const taken = { ...open, revision: 1, taken: totalOf(payment!.fees.total - 500), fee: totalOf(1500) };
  const won = { ...taken, status: 'won', revision: 3, taken: totalOf(0) } as const;
  const signals: Signal[] = [
    { about: 'refund', ref, refund },
    ...[open, taken, won].map((reversal): Signal => ({ about: 'reversal', ref, reversal })),
  ];
  for (const signal of signals) assert.equal(await applySandboxSignal(deps, signal), 'applied');
  const [after] = await paymentsOf(tillway, sessionId);
  assert.deepEqual([after!.actualCost, after!.refunded, after!.reversed], [99, 500, 0]);
  await assertSound(tillway.databaseUrl);
});
