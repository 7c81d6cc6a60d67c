import type { Scenario } from '../faults/scenario.ts';
import type { TestServiceOptions } from '../support/service.ts';
import { simulatorInHistory, stripeInHistory } from './history-parties.ts';
import { type HistoryWorld, SESSIONS_PER_SERVICE, type StartHistoryWorld, runHistories } from './provider-histories.ts';
import { type StripeService, keepLive, keepRoutes, preferRoute, startStripeService } from './stripe-service.ts';

/** Starts a service with the simulated provider and a scripted Stripe. Both have a card route, and one route of another kind. */
export async function startTwoProviders(
  options: Pick<TestServiceOptions, 'randomBytes'> = {},
): Promise<StripeService & HistoryWorld> {
  const world = await startStripeService({ ...options, variables: { SIMULATOR: 'true' } });
  keepRoutes(world.on, 'card_stripe_test', 'local_stripe_test_ach', 'sandbox_card_backup', 'sandbox_wallet_express');
  // Card payments go to Stripe first and fail over to the simulator.
  await preferRoute(world.on, 'card_stripe_test');
  await keepLive(world.on);
  const parties = [simulatorInHistory(world.on), stripeInHistory(world.stripe)];
  return Object.assign(world, { parties, kinds: ['card', 'card', 'wallet', 'local'] as const });
}

export const startTwoInHistory: StartHistoryWorld = (randomBytes) => startTwoProviders({ randomBytes });

/** `npm run test:faults -- two-providers` runs 10,000 histories. */
export const TWO_PROVIDERS: Scenario = {
  name: 'random histories of two providers',
  injected: 'adapters that acknowledge refunds without making them',
  cycles: 10,
  injectedCycles: 5,
  async run({ cycles, injected }) {
    const count = cycles * SESSIONS_PER_SERVICE;
    const problems = await runHistories(startTwoInHistory, count, Math.floor(performance.now() * 1000), injected);
    return { cycles, load: `${count} histories`, problems };
  },
};
