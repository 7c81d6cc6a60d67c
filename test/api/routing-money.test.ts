import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { SettlementImport } from '../../sdk/src/index.ts';
import { reportPayment, totalOf } from '../fixtures/provider-reports.ts';
import { attempt, createSession, startAt } from '../simulator/buyer.ts';
import { paymentsOf } from '../support/gateway.ts';
import { type DryRun, ask, decisionsOf, replayOf, saveRules, standings, twinRoutes } from '../support/routing.ts';
import { type TestService, call, startTestService } from '../support/service.ts';

// oxlint-disable unicorn/no-thenable -- the rule language says then

const DAY_MS = 24 * 3_600_000;
const ROUTES = ['sandbox_card_acquirer', 'sandbox_card_backup'] as const;

/** Pays a new session by card on `route`; returns the ids of the session and its payment. */
async function payOn(on: TestService, route: string, order: number) {
  const sessionId = await createSession(on, { metadata: { route }, clientReferenceId: `order-${order}` });
  await attempt(on, sessionId, 'card', 'paid');
  await on.pass(60_000);
  const [payment] = await paymentsOf(on, sessionId);
  assert.equal(payment!.route.id, route);
  return { sessionId, paymentId: payment!.id, amount: payment!.amount };
}

/** For 10 days, pays 10 sessions a day on `losing` and 3 on the other route. Pays them out two days later, but only 7 of the 10. */
async function history(on: TestService, losing: string): Promise<void> {
  await saveRules(
    on,
    ...ROUTES.map((route) => ({
      id: route.replaceAll('_', '-'),
      when: { 'metadata.route': route },
      then: { only: route },
    })),
  );
  const due: string[][] = [];
  for (let day = 0; day < 10; day += 1) {
    const paid: string[] = [];
    for (const route of ROUTES) {
      for (let number = 0; number < (route === losing ? 10 : 3); number += 1) {
        const { paymentId } = await payOn(on, route, day * 100 + number);
        if (route !== losing || number % 10 < 7) paid.push(paymentId);
      }
    }
    due.push(paid);
    on.clock.advance(DAY_MS);
    for (const id of due[day - 2] ?? []) {
      const { status } = await call('POST', `${on.url}/api/gateway/payments/${id}/settle`, {});
      assert.equal(status, 200);
    }
  }
  await saveRules(on);
}

describe('the money of a route', () => {
  it('a route whose payments are reported paid and never paid out becomes expensive, and loses its payments to another route', async () => {
    using routes = twinRoutes();
    await using on = await startTestService({ variables: { ROUTES_FILE: routes.path } });
    const dryRun = () => ask<DryRun>('POST', on, 'dry-run', { amount: 49.99, kind: 'card' });
    const [losing, other] = ROUTES;
    await history(on, losing);
    await on.service.deps.router.refresh();
    await on.service.deps.router.refreshMoney();
    await on.service.deps.router.refresh();
    const found = await standings(on);
    assert.ok(Math.abs(found.get(losing)!.lostRate - 0.22) < 0.05, String(found.get(losing)!.lostRate));
    assert.equal(found.get(other)!.lostRate, 0);
    const decision = await dryRun();
    assert.equal(decision.chosen, other);
    const [bad, good] = [losing, other].map((id) => decision.candidates.find(({ route }) => route === id)!);
    assert.equal(bad!.lostRate, found.get(losing)!.lostRate);
    assert.ok(Math.abs(bad!.cost - good!.cost - bad!.lostRate) < 1e-6, 'the routes have equal fees');

    const sessionId = await createSession(on);
    await startAt(on, sessionId, 'card');
    assert.equal((await decisionsOf(on, sessionId))[0]!.chosen, other);
    assert.equal((await replayOf(on, sessionId)).identical, true);
  });

  for (const source of ['reports of the provider', 'a settlement file']) {
    const isFile = source === 'a settlement file';
    it(`the charges from ${source} replace the configured charge of a route, with their coverage shown, and change the choice by total cost`, async () => {
      using routes = twinRoutes();
      await using on = await startTestService({ variables: { ROUTES_FILE: routes.path } });
      await on.service.deps.router.refresh();
      const configured = (await standings(on)).get(ROUTES[0])!;
      await saveRules(on, { id: 'one', when: { environment: 'sandbox' }, then: { only: ROUTES[0] } });
      let file = 'payment_id,amount,currency,cost\n';
      for (let order = 0; order < 40; order += 1) {
        const paid = await payOn(on, ROUTES[0], order);
        // The provider charges 50 % of each second payment, and nobody reports the charge of the others.
        const cost = order % 2 === 0 ? Math.round(paid.amount / 2) : undefined;
        file += `${paid.paymentId},48.54,USD,${cost === undefined ? '' : cost / 100}\n`;
        if (!isFile && cost !== undefined)
          await reportPayment(on.service.deps, { ...paid, status: 'paid', cost: totalOf(cost) });
      }
      if (isFile) {
        const url = `${on.url}/api/gateway/settlements/import`;
        const { body } = await call<SettlementImport>('POST', url, file, { 'content-type': 'text/csv' });
        assert.equal(body.matched.lines, 40);
      }
      await on.service.deps.router.refreshMoney();
      await on.service.deps.router.refresh();
      const { providerCostRate, costCoverage } = (await standings(on)).get(ROUTES[0])!;
      assert.equal(configured.costCoverage, 0);
      assert.equal(costCoverage, 0.5);
      assert.ok(Math.abs(providerCostRate - (configured.providerCostRate + 0.5) / 2) < 0.001, String(providerCostRate));
      for (const [objective, chosen] of [
        ['merchant', ROUTES[0]],
        ['total', ROUTES[1]],
      ] as const) {
        await saveRules(on, { id: 'aim', then: { objective } });
        const decision = await ask<DryRun>('POST', on, 'dry-run', { amount: 49.99, kind: 'card' });
        assert.equal(decision.chosen, chosen, objective);
      }
    });
  }
});
