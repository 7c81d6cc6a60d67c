// @run needs=process
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { RouteKind } from '../../src/domain/route.ts';
import { type HistoryParty, adyenInHistory, paypalInHistory, stripeInHistory } from '../providers/history-parties.ts';
import { type SeveralProviders, startSeveralProviders } from '../providers/several-providers.ts';
import { keepRoutes, lastPayment, preferRoute } from '../providers/stripe-service.ts';
import { createSession, start } from '../simulator/buyer.ts';
import { type Chain, startChain } from '../support/chain.ts';
import { type Gateway, gatewayOf } from '../support/gateway.ts';
import { type RpcProxy, down, startRpcProxy } from '../support/rpc-proxy.ts';
import { assertSound } from '../support/sound.ts';
import { usdcVariables } from '../support/usdc-service.ts';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
/** Buyers come every 30 seconds. */
const PAUSE_MS = 30 * SECOND;

let world: SeveralProviders;
let chain: Chain;
let node: RpcProxy;
let parties: HistoryParty[];
let api: Gateway;

before(async () => {
  chain = await startChain();
  node = await startRpcProxy(chain.url);
  world = await startSeveralProviders({ variables: usdcVariables(chain.token, [node.url]) });
  api = gatewayOf(world.on);
  parties = [stripeInHistory(world.stripe), paypalInHistory(world.paypal), adyenInHistory(world.adyen)];
});
after(async () => {
  await assertSound(world.on.databaseUrl);
  await world[Symbol.asyncDispose]();
  await node[Symbol.asyncDispose]();
  await chain[Symbol.asyncDispose]();
});

let buyers = 0;

interface Sale {
  sessionId: string;
  /** Provider that the buyer was sent to; null if there was none. */
  provider: string | null;
}

/** A buyer starts a payment, and pays it unless it is a transfer on the chain. */
async function sell(kind: RouteKind): Promise<Sale> {
  const { on } = world;
  const sessionId = await createSession(on, { customer: `buyer${++buyers}@example.com` });
  const { outcome } = await start(on, sessionId, kind);
  if (outcome !== 'continue') return { sessionId, provider: null };
  const payment = await lastPayment(on, sessionId);
  await parties.find(({ id }) => id === payment.route.provider)?.pay(payment);
  await world.deliver(PAUSE_MS);
  return { sessionId, provider: payment.route.provider };
}

async function sales(count: number, kind: RouteKind): Promise<Sale[]> {
  const made: Sale[] = [];
  while (made.length < count) made.push(await sell(kind));
  return made;
}

function share(made: readonly Sale[], provider: string): number {
  return made.filter((sale) => sale.provider === provider).length / made.length;
}

interface Decision {
  explanation: string;
  candidates: { route: { id: string; integrationId: string }; excluded: unknown }[];
}

describe('four providers and the router', () => {
  test('each provider has its routes, and all are ready', async () => {
    const { readiness, routes } = world.on.service.deps;
    for (const id of ['stripe_test', 'paypal_test', 'adyen_test', 'local']) {
      const own = routes.filter(({ integrationId }) => integrationId === id);
      assert.ok(own.length > 0, `${id} has no route`);
      assert.equal(readiness.reasonOf(id, own[0]!.network), null);
    }
  });

  const cases = [
    {
      name: 'Adyen',
      provider: 'adyen_test',
      kind: 'local',
      routes: ['local_adyen_test', 'local_stripe_test_ach'],
      stop: () => world.adyen.goDown(),
      resume: () => world.adyen.listen(),
    },
    {
      name: 'PayPal',
      provider: 'paypal_test',
      kind: 'wallet',
      routes: ['wallet_paypal_test', 'wallet_stripe_test_cashapp', 'wallet_usdc_local'],
      stop: () => world.paypal.goDown(),
      resume: () => world.paypal.listen(),
    },
    {
      name: 'Stripe',
      provider: 'stripe_test',
      kind: 'wallet',
      routes: ['wallet_stripe_test_cashapp', 'wallet_paypal_test', 'wallet_usdc_local'],
      stop: () => world.stripe.goDown(),
      resume: () => world.stripe.listen(),
    },
  ] as const;
  for (const { name, provider, kind, routes, stop, resume } of cases) {
    test(`an outage of ${name} moves its share to the others at once, and back within 15 minutes`, async () => {
      const { on } = world;
      const all = on.service.deps.routes;
      keepRoutes(on, ...routes);
      await preferRoute(on, routes[0]);
      try {
        assert.ok(share(await sales(5, kind), provider) >= 0.8, 'the provider has too small a share before the outage');

        await stop();
        const during = await sales(8, kind);
        assert.deepEqual(
          during.filter((sale) => sale.provider === null || sale.provider === provider),
          [],
        );
        // After three refusals in a row the route is in standby, so only probes still ask the provider.
        const [route] = (await api.list<{ id: string; health: string }>('routing/routes')).filter(
          ({ id }) => id === routes[0],
        );
        assert.equal(route!.health, 'standby');
        const { sessionId } = during.at(-1)!;
        const why = JSON.stringify(await api.get<Decision>(`routing/decisions/${sessionId}`));
        for (const id of routes) assert.ok(why.includes(id), `the explanation does not name ${id}`);
        assert.match(why, /standby/);

        await resume();
        await sales(25, kind);
        assert.ok(share(await sales(5, kind), provider) >= 0.8, 'the share has not returned');
      } finally {
        on.service.deps.routes = all;
        await preferRoute(on);
      }
    });
  }

  test('an outage of the node of the chain takes USDC out after three minutes, and it returns', async () => {
    const { on } = world;
    const all = on.service.deps.routes;
    keepRoutes(on, 'wallet_usdc_local', 'wallet_paypal_test');
    await preferRoute(on, 'wallet_usdc_local');
    try {
      assert.equal((await sell('wallet')).provider, 'local');
      await node.setFault(down('refusing'));
      for (let minute = 0; minute < 4; minute++) await on.pass(MINUTE);
      const { provider, sessionId } = await sell('wallet');
      assert.equal(provider, 'paypal_test');
      assert.match(JSON.stringify(await api.get(`routing/decisions/${sessionId}`)), /wallet_usdc_local/);
      await node.setFault();
      for (let minute = 0; minute < 6; minute++) await on.pass(MINUTE);
      assert.equal((await sell('wallet')).provider, 'local');
    } finally {
      on.service.deps.routes = all;
    }
  });

  test('the cost of each provider is its actual one, as soon as the provider tells it', async () => {
    const { on, stripe, paypal } = world;
    const costs: number[] = [];
    for (const routes of [['card_stripe_test'], ['wallet_paypal_test']]) {
      const all = on.service.deps.routes;
      keepRoutes(on, ...routes);
      stripe.cardRate = 0.039;
      paypal.feeRate = 0.0449;
      const { sessionId } = await sell(routes[0]!.startsWith('card') ? 'card' : 'wallet');
      on.service.deps.routes = all;
      const { fees, actualCost } = await lastPayment(on, sessionId);
      costs.push(actualCost! - Math.round((fees.total * (costs.length === 0 ? 390 : 449)) / 10_000));
    }
    // The fixed parts of the fees.
    assert.deepEqual(costs, [30, 49]);
  });
});
