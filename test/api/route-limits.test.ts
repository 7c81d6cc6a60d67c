/* oxlint-disable unicorn/no-thenable -- the rule language says then */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { type Decision, ask, decisionsOf, temporaryFile } from '../support/routing.ts';
import { call, sessionBody, startTestService } from '../support/service.ts';
import { createSession, start } from '../simulator/buyer.ts';

/** Copy of the shipped catalogue in which routes of these kinds take 5 to 100 dollars and the best card route costs a dollar more. */
function limitedRoutes(kinds = ['card']) {
  const source = new URL('../../config/routes.json', import.meta.url);
  const { routes } = JSON.parse(readFileSync(source, 'utf8')) as { routes: { id: string; kind: string }[] };
  const limited = routes.map((route) => ({
    ...route,
    ...(kinds.includes(route.kind) && { minAmount: 5, maxAmount: 100 }),
    ...(route.id === 'sandbox_card_acquirer' && { providerCostFixed: 1 }),
  }));
  return temporaryFile('routes.json', { routes: limited });
}

/** Id of the session (if one was created) and kind of the route in the response of an agent action. */
async function routeOf({ url }: { url: string }, action: string, body: unknown) {
  const { body: answer } = await call<{ result: { id: string; route: { kind: string } } }>(
    'POST',
    `${url}/api/agent/actions/${action}`,
    body,
  );
  return { id: answer.result.id, kind: answer.result.route.kind };
}

describe('a route with limits of the amount', () => {
  it('a route with amount limits is offered and chosen only for amounts within its limits', async () => {
    using file = limitedRoutes();
    await using on = await startTestService({ variables: { ROUTES_FILE: file.path } });
    for (const [amount, isTaken] of [
      [4.99, false],
      [5, true],
      [100, true],
      [100.01, false],
    ] as const) {
      const body = sessionBody({ amount, preferredRoute: 'card' });
      const preview = await routeOf(on, 'checkout.preview', body);
      const created = await routeOf(on, 'checkout.create', body);
      assert.deepEqual([preview.kind === 'card', created.kind === 'card'], [isTaken, isTaken], `${amount}`);
      const page = await (await fetch(`${on.url}/checkout/${created.id}`)).text();
      assert.equal(page.includes('value="card"'), isTaken, `${amount}`);
      assert.equal((await start(on, created.id, 'card')).outcome, isTaken ? 'continue' : 'no_route');
      const dry = await ask<Decision>('POST', on, 'dry-run', { amount, kind: 'card' });
      assert.equal(dry.chosen !== null, isTaken);
      const reasons = dry.candidates.map(({ excluded }) => excluded).filter((reason) => reason?.startsWith('takes '));
      assert.deepEqual(
        new Set(reasons),
        new Set(isTaken ? [] : [amount < 5 ? 'takes 5.00 USD or more' : 'takes at most 100.00 USD']),
      );
    }
  });

  it('the error names the limit of each route if no route takes the amount', async () => {
    using file = limitedRoutes(['card', 'wallet', 'local']);
    await using on = await startTestService({ variables: { ROUTES_FILE: file.path } });
    const { status, body } = await call<{ error: { code: string; message: string } }>(
      'POST',
      `${on.url}/api/gateway/sessions`,
      sessionBody({ amount: 4 }),
    );
    assert.deepEqual([status, body.error.code], [409, 'no_eligible_route']);
    assert.match(body.error.message, /sandbox_card_backup: takes 5\.00 USD or more/);
    assert.match(body.error.message, /sandbox_wallet_express: takes 5\.00 USD or more/);
  });
});

describe('the fixed part of a cost', () => {
  it("the fixed part of a route's cost is booked together with the proportional part, and counts more for a small amount", async () => {
    using file = limitedRoutes();
    await using on = await startTestService({ variables: { ROUTES_FILE: file.path } });
    const id = await createSession(on, { amount: 50 });
    await start(on, id, 'card');
    const [payment] = (await on.service.deps.store.checkout(id))!.payments;
    const route = on.service.deps.routes.find((each) => each.id === payment!.route.id)!;
    assert.equal(payment!.providerCost, (5000 * route.providerCostRate) / 1_000_000 + (route.providerCostFixed ?? 0));
    const costOf = async (amount: number) => {
      const body = { amount, rules: { version: 1, rules: [{ id: 'all', then: { objective: 'total' } }] } };
      const { candidates } = await ask<Decision>('POST', on, 'dry-run', body);
      return candidates.find(({ route: each }) => each === 'sandbox_card_acquirer')!.cost;
    };
    assert.deepEqual([await costOf(10), await costOf(100)], [0.119, 0.029]);
    assert.ok((await decisionsOf(on, id)).length > 1);
  });
});
