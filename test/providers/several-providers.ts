import type { Scenario } from '../faults/scenario.ts';
import { type TestService, type TestServiceOptions, startTestService } from '../support/service.ts';
import { adyenVariables } from './adyen-stage.ts';
import { adyenInHistory, paypalInHistory, stripeInHistory } from './history-parties.ts';
import { paypalVariables } from './paypal-service.ts';
import { type HistoryWorld, SESSIONS_PER_SERVICE, type StartHistoryWorld, runHistories } from './provider-histories.ts';
import { type ScriptedAdyen, startScriptedAdyen } from './scripted-adyen.ts';
import { type ScriptedPaypal, startScriptedPaypal } from './scripted-paypal.ts';
import { type ScriptedStripe, startScriptedStripe } from './scripted-stripe.ts';
import { keepLive, keepRoutes, preferRoute, stripeVariables } from './stripe-service.ts';

/** A service with Stripe, PayPal and Adyen. */
export interface SeveralProviders extends AsyncDisposable {
  on: TestService;
  stripe: ScriptedStripe;
  paypal: ScriptedPaypal;
  adyen: ScriptedAdyen;
  /** Waits for the callbacks, moves the clock by `ms`, and runs the due work, until its own callbacks are handled. */
  deliver(ms?: number): Promise<void>;
}

const START = Date.parse('2026-03-01T12:00:00.000Z');

/** Starts the three scripted providers and a service that is configured for them by environment variables; all use the same clock. */
export async function startSeveralProviders(options: TestServiceOptions = {}): Promise<SeveralProviders> {
  let on: TestService | undefined;
  const now = () => on?.clock.now() ?? START;
  const [stripe, paypal, adyen] = [
    await startScriptedStripe({ now }),
    await startScriptedPaypal({ now }),
    await startScriptedAdyen({ now }),
  ];
  const servers = [stripe, paypal, adyen];
  const own = { ...stripeVariables(stripe), ...paypalVariables(paypal), ...adyenVariables(adyen) };
  on = await startTestService({ ...options, variables: { ...own, ...options.variables } });
  for (const [server, id] of [
    [stripe, 'stripe_test'],
    [paypal, 'paypal_test'],
    [adyen, 'adyen_test'],
  ] as const) {
    server.callbackUrl = `${on.url}/api/providers/${id}/callbacks`;
  }
  // Adyen is not ready before its first callback.
  await adyen.sendTest();
  await on.pass(0);
  const sent = async () => {
    for (const server of servers) await server.sent();
  };
  return {
    on,
    stripe,
    paypal,
    adyen,
    async deliver(ms = 1000) {
      await sent();
      await on.pass(ms);
      await sent();
      await on.pass(0);
    },
    async [Symbol.asyncDispose]() {
      await on[Symbol.asyncDispose]();
      for (const server of servers) await server[Symbol.asyncDispose]();
    },
  };
}

/** Starts a world for random histories, in which bank debits go to Adyen first and fail over to Stripe. */
export const startSeveralInHistory: StartHistoryWorld = async (randomBytes) => {
  const world = await startSeveralProviders({ randomBytes });
  const { on, stripe, paypal, adyen } = world;
  keepRoutes(on, 'card_stripe_test', 'local_stripe_test_ach', 'wallet_paypal_test', 'local_adyen_test');
  await preferRoute(on, 'local_adyen_test');
  await keepLive(on);
  const parties = [stripeInHistory(stripe), paypalInHistory(paypal), adyenInHistory(adyen)];
  const kinds = ['card', 'wallet', 'wallet', 'wallet', 'local'] as const;
  const found: HistoryWorld = Object.assign(world, { parties, kinds });
  return found;
};

/** `npm run test:faults -- --cycles 10 several-providers` runs 10,000 histories. */
export const SEVERAL_PROVIDERS: Scenario = {
  name: 'random histories of three providers',
  injected: 'adapters that acknowledge refunds without making them',
  cycles: 10,
  injectedCycles: 5,
  async run({ cycles, injected }) {
    const count = cycles * SESSIONS_PER_SERVICE;
    const problems = await runHistories(startSeveralInHistory, count, Math.floor(performance.now() * 1000), injected);
    return { cycles, load: `${count} histories`, problems };
  },
};
