// @run on=sqlite,postgres
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { GatewayError } from '../../src/domain/gateway-error.ts';
import type { Principal } from '../../src/domain/principal.ts';
import { createRefund } from '../../src/operations/refunds/create-refund.ts';
import { restrictStore } from '../../src/operations/access/restrict-store.ts';
import { attempt, createSession } from '../simulator/buyer.ts';
import { joinPerson, loginDepsOf } from '../support/operators.ts';
import { startTestService } from '../support/service.ts';

describe('refunds by the role support', () => {
  it('stay within the limit of the day, also with ten requests at the same time on two instances', async () => {
    await using test = await startTestService();
    await using other = await startTestService({ beside: test });
    const payments: string[] = [];
    for (let count = 0; count < 10; count++) {
      payments.push(await createSession(test));
      await attempt(test, payments.at(-1)!, 'card', 'paid');
    }
    await test.pass(0);
    const { operator } = await joinPerson(test, 'sue@example.com', { sandbox: 'support' });
    const support = {
      kind: 'operator',
      id: operator.id,
      name: operator.email,
      environment: 'sandbox',
      role: 'support',
    } as const;
    const caller: Principal = { ...support, key: null, provenAt: null };
    const depsOf = (each: typeof test) => ({
      ...loginDepsOf(each),
      store: restrictStore(each.service.deps.store, 'sandbox'),
      caller,
    });
    const settled = await Promise.allSettled(
      payments.map((id, index) => createRefund(depsOf(index % 2 === 0 ? test : other), id, {})),
    );
    // 200 dollars unless set: four refunds of $49.99.
    const done = settled.filter(({ status }) => status === 'fulfilled').length;
    assert.equal(done, 4);
    const { store } = test.service.deps;
    assert.equal(await store.operatorSpend('sandbox', operator.id, '2026-03-01'), 4 * 4999);
    assert.equal((await store.listRefunds({}, { limit: 100 })).items.length, 4);
    for (const each of settled) {
      if (each.status === 'fulfilled') continue;
      assert.ok(each.reason instanceof GatewayError, String(each.reason));
      assert.equal(each.reason.code, 'spend_limit_exceeded');
    }
    test.clock.advance(24 * 3_600_000);
    const rest = payments[settled.findIndex(({ status }) => status === 'rejected')]!;
    await createRefund(depsOf(test), rest, { amount: 10 });
    await assert.rejects(createRefund(depsOf(test), rest, { amount: 500 }), /more than|You may refund/);
  });
});
