import type { Deps } from '../../src/operations/deps.ts';
import { chooseAnotherMethod } from '../../src/operations/leave-payment.ts';
import { startPayment } from '../../src/operations/start-payment.ts';
import type { Provider } from '../../src/providers/provider.ts';
import { type Scenario, createProblems } from '../faults/scenario.ts';
import { aKnownPayment } from '../fixtures/provider-reports.ts';
import { createSession } from '../simulator/buyer.ts';
import { settingsOf } from '../support/database.ts';
import { brokenInvariants } from '../support/sound.ts';
import type { ApiFault } from './scripted-party.ts';
import { randomOf } from './forgeries.ts';
import { payAtSimulator } from './history-parties.ts';
import { problemsOfCheckout } from './provider-histories.ts';
import { type StripeService, checkoutOf } from './stripe-service.ts';
import { startTwoProviders } from './two-providers.ts';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const ANY_TOTAL = 10_000_000;
const SESSIONS_PER_SERVICE = 100;
const STEPS = 6;
/** Faults that end a request quickly: a buyer waits for the answer. */
const FAULTS: ApiFault[] = [
  ...(['error_500_before', 'error_500_after', 'garbage_after', 'empty_after', 'other_amount_after'] as const),
  ...(['other_payment_after', 'drop_before', 'drop_after', 'rate_limited'] as const),
];
const HANDOFF_FAULTS: ApiFault[] = [...FAULTS, 'hang_before', 'hang_after'];

/** Payments whose page the buyer was redirected to and can still pay at. */
async function payablePages({ on, stripe }: StripeService, id: string, sentTo: ReadonlySet<string>) {
  const { payments } = await checkoutOf(on, id);
  const open = [];
  for (const payment of payments) {
    const { providerReference: reference, providerUrl } = payment;
    if (providerUrl === null || !sentTo.has(providerUrl)) continue;
    const charge = await on.simulator.chargeOfPayment(payment.id);
    if (charge?.status === 'open' || stripe.world.sessions.get(reference ?? '')?.status === 'open') open.push(payment);
  }
  return open;
}

/** Runs handoffs and switches with random faults; returns a line for each second payable page and each wrong end state. */
async function faultyHandoffs(count: number, seed: number, injected: boolean): Promise<string[]> {
  const random = randomOf(seed);
  await using world = await startTwoProviders();
  const { on, stripe } = world;
  const { deps } = on.service;
  // Short time limits suffice, because the scripted Stripe runs on this machine.
  deps.handoffLimits = { totalMs: 2000, handoffMs: 60, againMs: 60, inquiryMs: 200, leastMs: 1 };
  if (injected) forgetCancellations(deps);
  const ids: string[] = [];
  const problems: string[] = [];
  for (let number = 0; number < count; number++) {
    const id = await createSession(on);
    ids.push(id);
    const sentTo = new Set<string>();
    for (let step = 0; step < STEPS; step++) {
      const { session, payments } = await checkoutOf(on, id);
      const faultsOf = (faults: ApiFault[]) =>
        [1, 2, 3].map((each) => (random(2 * each) === 0 ? faults[random(faults.length)] : undefined));
      if (payments.at(-1)?.status === 'pending' && random(2) === 0) {
        stripe.faults = faultsOf(FAULTS);
        await chooseAnotherMethod(deps, id, session.attempts);
      } else {
        stripe.faults = faultsOf(HANDOFF_FAULTS);
        const started = await startPayment(deps, id, { kind: 'card', acceptedTotal: ANY_TOTAL });
        if (started.outcome === 'continue' && started.url !== null) sentTo.add(started.url);
      }
      stripe.faults = [];
      // After an inquiry has found an uncertain payment, the checkout page links to the provider's page.
      await on.pass(random(3) === 0 ? 31 * SECOND : 3 * SECOND);
      const { providerUrl } = (await checkoutOf(on, id)).payments.at(-1) ?? {};
      if (typeof providerUrl === 'string') sentTo.add(providerUrl);
      const open = await payablePages(world, id, sentTo);
      if (open.length > 1) problems.push(`${id}: ${open.length} payable pages after step ${step}`);
    }
    for (const payment of await payablePages(world, id, sentTo)) {
      if (payment.route.provider === 'sandbox') await payAtSimulator(payment, 'paid');
      else stripe.pay(payment.providerReference!);
    }
  }
  await stripe.sent();
  for (const ms of [SECOND, 10 * MINUTE, 61 * MINUTE, 15 * MINUTE]) await on.pass(ms);
  for (const id of ids) {
    problems.push(...(await problemsOfCheckout(world, id)));
    if ((await checkoutOf(on, id)).payments.some(({ surplus }) => surplus)) problems.push(`${id}: paid twice`);
  }
  return [...problems, ...(await brokenInvariants(settingsOf(on.databaseUrl)))];
}

/** Runs handoffs with random faults for `count` buyers; returns a line for each violation. */
export async function runHandoffFaults(count: number, seed: number, injected = false): Promise<string[]> {
  const problems = createProblems();
  for (let done = 0; done < count; done += SESSIONS_PER_SERVICE) {
    const size = Math.min(SESSIONS_PER_SERVICE, count - done);
    for (const problem of await faultyHandoffs(size, seed + done, injected)) {
      problems.add(`${problem} (seed ${seed + done})`);
    }
  }
  return problems.list();
}

/** Injects the fault: the adapter reports cancellations without sending them to Stripe. */
function forgetCancellations(deps: Deps): void {
  const provider = deps.providers.get('stripe_test')!;
  const changed = Object.create(provider) as Provider;
  changed.cancel = async () => 'cancelled';
  const failure = { code: 'cancelled', source: 'buyer', reason: null } as const;
  changed.inquire = async ({ id, amount }) => aKnownPayment(id, { status: 'failed', amount, failure });
  deps.providers = new Map([...deps.providers, [provider.id, changed]]);
}

/** `npm run test:faults -- stripe-handoffs` starts the payments of 1,000 buyers. */
export const STRIPE_HANDOFFS: Scenario = {
  name: 'random faults of handoffs to Stripe',
  injected: 'an adapter that reports cancellations without sending them to Stripe',
  cycles: 10,
  injectedCycles: 1,
  async run({ cycles, injected }) {
    const count = cycles * 10;
    const problems = await runHandoffFaults(count, Math.floor(performance.now() * 1000), injected);
    return { cycles, load: `${count} buyers`, problems };
  },
};
