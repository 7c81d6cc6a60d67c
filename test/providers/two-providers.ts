/* oxlint-disable unicorn/no-thenable -- a keyword of the rule language */
import type { Payment } from '../../src/domain/records.ts';
import type { RouteKind } from '../../src/domain/route.ts';
import { cancelCheckout, chooseAnotherMethod } from '../../src/operations/leave-payment.ts';
import { queueReturn } from '../../src/operations/provider-hints.ts';
import { saveRules } from '../../src/operations/routing/saved-rules.ts';
import { startPayment } from '../../src/operations/start-payment.ts';
import type { Provider } from '../../src/providers/provider.ts';
import { type Scenario, createProblems } from '../faults/scenario.ts';
import { createSession, fieldsOf, submit } from '../simulator/buyer.ts';
import { instrumentById } from '../../src/simulator/test-instruments.ts';
import { settingsOf } from '../support/database.ts';
import { booksOf } from '../support/gateway.ts';
import type { TestServiceOptions } from '../support/service.ts';
import { brokenInvariants } from '../support/sound.ts';
import type { ApiFault } from './scripted-party.ts';
import { randomOf } from './forgeries.ts';
import { type StripeService, checkoutOf, keepLive, keepRoutes, startStripeService } from './stripe-service.ts';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const DAY = 24 * 60 * MINUTE;
const ANY_TOTAL = 10_000_000;
const STEPS = 12;
const SESSIONS_PER_SERVICE = 100;

const INSTRUMENTS = ['paid', 'paid_later', 'declined', 'late_success', 'late_success', 'late_success', 'callback_lost'];
// Each entry makes a handoff to Stripe fail. After two lost answers (request and repetition) the payment fails over to another route.
const HANDOFF_FAULTS: ApiFault[][] = [['error_500_before'], ['error_500_after'], ['drop_after', 'drop_after']];

/** Starts a service with the simulated provider and a scripted Stripe. Both have a card route, and one route of another kind. */
export async function startTwoProviders(options: Pick<TestServiceOptions, 'randomBytes'> = {}): Promise<StripeService> {
  const world = await startStripeService({ ...options, variables: { SIMULATOR: 'true' } });
  keepRoutes(world.on, 'card_stripe_test', 'local_stripe_test_ach', 'sandbox_card_backup', 'sandbox_wallet_express');
  // Card payments go to Stripe first and fail over to the simulator.
  const rule = { id: 'stripe-first', then: { priority: ['card_stripe_test'] } };
  await saveRules(world.on.service.deps, { version: 1, rules: [rule] });
  await keepLive(world.on);
  return world;
}

/** Money that the provider has taken for a payment, less refunds, in cents. */
async function takenFor({ on, stripe: { world } }: StripeService, { id, route }: Payment): Promise<number> {
  if (route.provider === 'sandbox') {
    const charge = await on.simulator.chargeOfPayment(id);
    return charge ? charge.captured - charge.refunded : 0;
  }
  const intents = [...world.intents.values()].filter(({ metadata }) => metadata['payment'] === id);
  const charges = [...world.charges.values()].filter(({ payment_intent: intent, status }) => {
    return status === 'succeeded' && intents.some((known) => known.id === intent);
  });
  return charges.reduce((sum, { amount, amount_refunded: refunded }) => sum + amount - refunded, 0);
}

/** Violations of the rule: at most one paid payment, one paid event, and a refund or open discrepancy for all other money. */
export async function problemsOfCheckout(world: StripeService, id: string): Promise<string[]> {
  const { on } = world;
  const { store } = on.service.deps;
  const { session, payments, discrepancies } = await checkoutOf(on, id);
  const problems: string[] = [];
  const expect = (name: string, found: unknown, expected: unknown): void => {
    if (found !== expected) problems.push(`${id}: ${name}: ${String(found)} instead of ${String(expected)}`);
  };
  const paid = payments.filter(({ status, surplus }) => status === 'paid' && !surplus);
  const events = await store.eventsOfSession(id);
  const isPaid = session.status === 'paid' ? 1 : 0;
  expect('paid payments', paid.length, isPaid);
  expect('events payment.paid', events.filter(({ type }) => type === 'payment.paid').length, isPaid);
  let taken = 0;
  for (const payment of payments) {
    const money = await takenFor(world, payment);
    taken += money;
    const booked = payment.status === 'paid' ? payment.fees.total - payment.refunded : 0;
    expect(`money at ${payment.route.provider} for ${payment.id}`, money, booked);
    const listed = discrepancies.filter(({ paymentId, status }) => paymentId === payment.id && status === 'open');
    if (payment.surplus) expect(`open discrepancies of the surplus ${payment.id}`, listed.length, money > 0 ? 1 : 0);
    if (payment.status === 'pending') problems.push(`${id}: ${payment.id} is still pending`);
  }
  if (taken > 0) expect('session with money', session.status, 'paid');
  return problems;
}

/** Random actions of a buyer, who uses two providers, and of the bank. */
class History {
  readonly #world: StripeService;
  readonly #random: (limit: number) => number;
  readonly id: string;

  constructor(world: StripeService, id: string, random: (limit: number) => number) {
    this.#world = world;
    this.id = id;
    this.#random = random;
  }

  async step(): Promise<void> {
    const { on, stripe } = this.#world;
    const { deps } = on.service;
    const { session, payments } = await checkoutOf(on, this.id);
    const any = <Item>(items: readonly Item[]): Item | undefined => items[this.#random(items.length)];
    const act = this.#random(16);
    const isWaiting = payments.at(-1)?.status === 'pending';
    if (act < (isWaiting ? 1 : 9)) {
      stripe.faults = this.#random(20) === 0 ? [...any(HANDOFF_FAULTS)!] : [];
      const kind = any<RouteKind>(['card', 'card', 'wallet', 'local'])!;
      await startPayment(deps, this.id, { kind, acceptedTotal: ANY_TOTAL });
      stripe.faults = [];
    } else if (act < 12) await this.#payAt(any(payments));
    else if (act < 14) await chooseAnotherMethod(deps, this.id, session.attempts);
    else if (act === 14 && isWaiting) await queueReturn(deps, payments.at(-1)!);
    else if (this.#random(4) === 0) await cancelCheckout(deps, this.id, session.attempts);
  }

  /** The buyer acts on the page of a payment, which can be an old one, or the bank finishes its debit. */
  async #payAt(payment: Payment | undefined): Promise<void> {
    if (!payment) return;
    const { route, providerReference, providerUrl } = payment;
    const { stripe } = this.#world;
    if (providerUrl === null || providerReference === null) return;
    if (route.provider === 'sandbox') {
      return payAtSimulator(payment, INSTRUMENTS[this.#random(INSTRUMENTS.length)]!);
    }
    const found = stripe.world.sessions.get(providerReference)!;
    const intent = stripe.world.intents.get(found.payment_intent ?? '');
    if (found.status === 'open') {
      if (this.#random(4) === 0) stripe.decline(found.id, 'insufficient_funds');
      else if (route.network === 'ach') stripe.startDebit(found.id);
      else stripe.pay(found.id);
    } else if (intent?.status === 'processing') {
      stripe.finishDebit(found.id, this.#random(2) === 0 ? 'R01' : undefined);
    }
  }
}

/** Runs random histories of buyers with two providers; returns a line for each violation. */
export async function runHistories(count: number, seed: number, injected = false): Promise<string[]> {
  const problems = createProblems();
  for (let done = 0; done < count; done += SESSIONS_PER_SERVICE) {
    const size = Math.min(SESSIONS_PER_SERVICE, count - done);
    for (const problem of await runTogether(size, seed + done, injected)) {
      problems.add(`${problem} (seed ${seed + done})`);
    }
  }
  return problems.list();
}

/** Runs histories on one service, so that outages and lost callbacks affect all of them. */
async function runTogether(count: number, seed: number, injected: boolean): Promise<string[]> {
  const random = randomOf(seed);
  const bytes = randomOf(seed + 1);
  await using world = await startTwoProviders({
    randomBytes: (size) => Uint8Array.from({ length: size }, () => bytes(256)),
  });
  const { on, stripe } = world;
  raceCancellations(world, random, injected);
  const late: typeof stripe.events = [];
  stripe.sendingOf = (event) => {
    const fate = random(10);
    if (fate > 6) late.push(event);
    return { times: fate > 5 ? 0 : fate === 5 ? 2 : 1, delayMs: 0 };
  };
  const histories: History[] = [];
  while (histories.length < count) histories.push(new History(world, await createSession(on), random));
  for (let round = 0; round < STEPS; round++) {
    stripe.nextRefundStatus = random(3) === 0 ? 'pending' : 'succeeded';
    const isDown = random(12) === 0;
    if (isDown) await stripe.goDown();
    for (const history of histories) if (random(4) > 0) await history.step();
    await stripe.sent();
    for (const event of late.splice(0, random(late.length + 1))) await stripe.send(event);
    await on.pass([0, SECOND, 20 * SECOND, 31 * SECOND, 5 * MINUTE][random(5)]!);
    if (isDown) await stripe.listen();
  }
  await settle(world);
  const problems: string[] = [];
  for (const { id } of histories) problems.push(...(await problemsOfCheckout(world, id)));
  const [held, balance] = [await clearingOf(world, histories), stripe.balance()];
  if (held !== balance) problems.push(`the balance at Stripe is ${balance}, and ${held} in the ledger`);
  const total = await on.service.deps.store.ledgerTotal();
  if (total !== 0) problems.push(`the ledger sums to ${total}`);
  return [...problems, ...(await brokenInvariants(settingsOf(on.databaseUrl)))];
}

/** Balance at Stripe according to the ledger, in cents. */
async function clearingOf({ on }: StripeService, checkouts: readonly { id: string }[]): Promise<number> {
  let sum = 0;
  for (const { id } of checkouts) {
    for (const payment of (await checkoutOf(on, id)).payments) {
      if (payment.route.provider !== 'sandbox') sum += (await booksOf(on, payment.id))['provider_clearing'] ?? 0;
    }
  }
  return sum;
}

/** Passes time until all work is done: open pages expire, and the bank decides about debits and refunds. */
async function settle({ on, stripe }: StripeService): Promise<void> {
  stripe.nextRefundStatus = 'succeeded';
  await on.pass(31 * SECOND);
  await on.pass(61 * MINUTE);
  let count = 0;
  for (const { id, status, payment_intent: intent } of stripe.world.sessions.values()) {
    if (status === 'open') stripe.expire(id);
    else if (stripe.world.intents.get(intent ?? '')?.status === 'processing') stripe.finishDebit(id);
  }
  await stripe.sent();
  await on.pass(MINUTE);
  for (const { id, status } of stripe.world.refunds.values()) {
    // Every second pending refund fails.
    if (status === 'pending') stripe.finishRefund(id, ++count % 2 === 0 ? 'failed' : 'succeeded', 'declined');
  }
  await stripe.sent();
  for (const ms of [MINUTE, 2 * 60 * MINUTE, DAY, 2 * DAY, 15 * DAY]) await on.pass(ms);
}

/**
 * Replaces methods of both adapters: before most cancellations the buyer pays first. The injected fault: the adapters
 * acknowledge refunds without making them.
 */
function raceCancellations({ on, stripe }: StripeService, random: (limit: number) => number, injected: boolean): void {
  const { deps } = on.service;
  const raced = [...deps.providers].map(([id, provider]): [string, Provider] => {
    const changed = Object.create(provider) as Provider;
    changed.cancel = async (payment, timeoutMs) => {
      const { providerReference, providerUrl } = payment;
      if (providerUrl !== null && random(4) > 0) {
        const found = stripe.world.sessions.get(providerReference!);
        if (id === 'sandbox') await payAtSimulator(payment, 'paid');
        else if (found?.status === 'open') stripe.pay(found.id);
      }
      return provider.cancel(payment, timeoutMs);
    };
    if (injected) changed.refund = async () => ({ status: 'succeeded', reason: null });
    return [id, changed];
  });
  deps.providers = new Map(raced);
}

/** The buyer submits the page of the simulator with a test instrument. */
export async function payAtSimulator({ route, providerUrl }: Payment, instrument: string): Promise<void> {
  const answer = await submit(providerUrl!, fieldsOf(route.kind, instrumentById(instrument)!));
  await answer.arrayBuffer();
}

/** `npm run test:faults -- two-providers` runs 10,000 histories. */
export const TWO_PROVIDERS: Scenario = {
  name: 'random histories of two providers',
  injected: 'adapters that acknowledge refunds without making them',
  cycles: 10,
  injectedCycles: 1,
  async run({ cycles, injected }) {
    const count = cycles * SESSIONS_PER_SERVICE;
    const problems = await runHistories(count, Math.floor(performance.now() * 1000), injected);
    return { cycles, load: `${count} histories`, problems };
  },
};
