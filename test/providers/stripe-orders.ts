import type { PaymentEvent } from '../../src/contract/event-contract.ts';
import { queueReturn } from '../../src/operations/provider-hints.ts';
import { createRefund } from '../../src/operations/refunds/create-refund.ts';
import type { Provider } from '../../src/providers/provider.ts';
import { reversalReport } from '../../src/providers/stripe-messages.ts';
import { type StripeDispute, readDispute } from '../../src/providers/stripe-objects.ts';
import type { MerchantEvent } from '../../src/store/webhooks-port.ts';
import { type Scenario, createProblems } from '../faults/scenario.ts';
import { createSession, start } from '../simulator/buyer.ts';
import { settingsOf } from '../support/database.ts';
import { booksOf, paymentsOf } from '../support/gateway.ts';
import { brokenInvariants } from '../support/sound.ts';
import type { ScriptedStripe } from './scripted-stripe.ts';
import type { StripeEvent } from './scripted-stripe-objects.ts';
import { randomOf } from './forgeries.ts';
import { type StripeService, checkoutOf, keepRoutes, startStripeService } from './stripe-service.ts';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const ROUNDS = 9;
const CASES_PER_SERVICE = 100;
const REFUND = 10;

type Random = (limit: number) => number;

/** Actions of the buyer, the bank, the merchant and Stripe on one payment. */
const ACTS = {
  pay: ({ stripe }, { session }) => stripe.pay(session),
  startDebit: ({ stripe }, { session }) => stripe.startDebit(session),
  finishDebit: ({ stripe }, { session }) => stripe.finishDebit(session),
  returnDebit: ({ stripe }, { session }) => stripe.finishDebit(session, 'R01'),
  decline: ({ stripe }, { session }) => stripe.decline(session, 'insufficient_funds'),
  expire: ({ stripe }, { session }) => stripe.expire(session),
  refund: (world, about) => refund(world, about, 'succeeded'),
  startRefund: (world, about) => refund(world, about, 'pending'),
  endRefund: ({ stripe }, about) => stripe.finishRefund(lastRefund(stripe, about), 'succeeded'),
  failRefund: ({ stripe }, about) => stripe.finishRefund(lastRefund(stripe, about), 'failed', 'lost_or_stolen_card'),
  refundInDashboard: ({ stripe }, { session }) => {
    stripe.nextRefundStatus = 'succeeded';
    stripe.refundInDashboard(intentOf(stripe, session), 700);
  },
  dispute: ({ stripe }, { session }) => void stripe.openDispute(intentOf(stripe, session)),
  withdraw: ({ stripe }, about) => stripe.withdrawFunds(disputeOf(stripe, about)),
  win: ({ stripe }, about) => stripe.closeDispute(disputeOf(stripe, about), 'won'),
  lose: ({ stripe }, about) => stripe.closeDispute(disputeOf(stripe, about), 'lost'),
} satisfies Record<string, (world: StripeService, about: Case) => unknown>;
type Act = keyof typeof ACTS;

/** Session id of a checkout with one payment, and the id of its Checkout Session at Stripe. */
interface Case {
  id: string;
  session: string;
}

const intentOf = (stripe: ScriptedStripe, session: string): string =>
  stripe.world.sessions.get(session)!.payment_intent!;
const disputeOf = (stripe: ScriptedStripe, { session }: Case): string =>
  [...stripe.world.disputes.values()].find(({ payment_intent: intent }) => intent === intentOf(stripe, session))!.id;
const lastRefund = (stripe: ScriptedStripe, { session }: Case): string =>
  [...stripe.world.refunds.values()].findLast(
    ({ payment_intent: intent, metadata }) =>
      intent === intentOf(stripe, session) && metadata?.['refund'] !== undefined,
  )!.id;

/** The merchant refunds a part of the payment, after a query has told the service that it is paid. */
async function refund({ on, stripe }: StripeService, { id }: Case, status: 'succeeded' | 'pending'): Promise<void> {
  const [payment] = await paymentsOf(on, id);
  await queueReturn(on.service.deps, payment!);
  await on.pass(0);
  await createRefund(on.service.deps, payment!.id, { amount: REFUND });
  stripe.nextRefundStatus = status;
  await on.pass(0);
}

/** A random script: one action for each round, in an order that Stripe allows. */
function anyScript(random: Random): { isDebit: boolean; acts: (Act | undefined)[] } {
  const any = <Item>(...items: Item[]): Item => items[random(items.length)]!;
  const isDebit = random(3) === 0;
  const start: Act[] = random(4) === 0 ? ['decline'] : [];
  if (random(8) === 0) return { isDebit, acts: [...start, 'expire'] };
  if (isDebit) start.push('startDebit', any<Act>('finishDebit', 'finishDebit', 'returnDebit'));
  else start.push('pay');
  if (start.at(-1) === 'returnDebit') return { isDebit, acts: start };
  const refunds = any<Act[]>(
    [],
    ['refund'],
    ['startRefund', 'endRefund'],
    ['startRefund', 'failRefund'],
    ['refund', 'failRefund'],
  );
  const others = any<Act[]>([], ['refundInDashboard'], ['refundInDashboard', 'refundInDashboard']);
  // If a dispute takes the rest of a payment before the failure of a refund is known, a refund in the dashboard is listed as an excess
  // instead of being recorded: both are right for their order, so no script has all three.
  const isTight = refunds.includes('failRefund') && others.length > 0;
  const taken: Act[] = isTight ? ['dispute'] : ['dispute', 'withdraw', any<Act>('win', 'lose')];
  const dispute = any<Act[]>([], [], taken, ['dispute']);
  return { isDebit, acts: [...start, ...refunds, ...others, ...dispute] };
}

/** Delivery of the callbacks. `in_order`: once and immediately; `random`: late, several times or never. */
type Order = 'in_order' | 'random';

/** Plays the scripts on a new service; returns the end state of each payment, and violations of the books. */
async function play(
  scripts: readonly ReturnType<typeof anyScript>[],
  order: Order,
  random: Random,
  injected: boolean,
): Promise<{ ends: object[]; problems: string[] }> {
  await using world = await startStripeService();
  const { on, stripe } = world;
  keepRoutes(on, 'card_stripe_test', 'local_stripe_test_ach');
  if (injected) trustCallbacks(world);
  const cases: Case[] = [];
  for (const { isDebit } of scripts) {
    const id = await createSession(on);
    await start(on, id, isDebit ? 'local' : 'card');
    cases.push({ id, session: (await paymentsOf(on, id))[0]!.providerReference! });
  }
  let waiting: { round: number; event: StripeEvent }[] = [];
  let round = 0;
  stripe.sendingOf = (event) => {
    if (order === 'in_order') return { times: 1, delayMs: 0 };
    // Only these events may be lost: inquiries make up for them. Stripe resends every other event for days.
    const isFound = /^checkout|^refund\.(?:created|updated)/.test(event.type) && !isForeign(event);
    const times = isFound && random(5) === 0 ? 0 : 1 + Math.max(0, random(5) - 2);
    for (let copy = 0; copy < times; copy++) waiting.push({ round: round + random(5), event });
    return { times: 0, delayMs: 0 };
  };
  const deliver = async (isDue: (round: number) => boolean): Promise<void> => {
    await stripe.sent();
    const due = waiting.filter(({ round: at }) => isDue(at));
    waiting = waiting.filter(({ round: at }) => !isDue(at));
    while (due.length > 0) await stripe.send(due.splice(random(due.length), 1)[0]!.event);
    await on.pass(10 * SECOND);
  };
  for (; round < ROUNDS; round++) {
    for (const [index, { acts }] of scripts.entries()) {
      const act = acts[round];
      if (act !== undefined) await ACTS[act](world, cases[index]!);
    }
    if (round === 5) stripe.payOut();
    await deliver((at) => at <= round);
  }
  stripe.payOut();
  await deliver(() => true);
  for (const ms of [MINUTE, HOUR, HOUR, 24 * HOUR, 48 * HOUR]) await on.pass(ms);
  const total = await on.service.deps.store.ledgerTotal();
  const problems = total === 0 ? [] : [`the ledger sums to ${total} (${order})`];
  const ends = await Promise.all(cases.map((each) => endOf(world, each)));
  const held = ends.reduce((sum, { books }) => sum + books.held, 0);
  if (held !== stripe.balance())
    problems.push(`the balance at Stripe is ${stripe.balance()}, and ${held} in the ledger (${order})`);
  return { ends, problems: [...problems, ...(await brokenInvariants(settingsOf(on.databaseUrl)))] };
}

const isForeign = ({ data: { object } }: StripeEvent): boolean =>
  'metadata' in object && Object.keys(object.metadata as object).length === 0;

/** The end state of a payment and its session, without ids and times. */
async function endOf({ on }: StripeService, { id }: Case) {
  const { store } = on.service.deps;
  const { session, payments, discrepancies } = await checkoutOf(on, id);
  const [payment] = payments;
  const { status, failureCode, failureSource, refunded, refundPending, reversed, actualCost } = payment!;
  // The end state adds the two accounts of the merchant's share, because a payout may precede or follow a refund or a dispute.
  const {
    merchant_payable: owed = 0,
    operator_cash: cash = 0,
    provider_clearing: held = 0,
    ...others
  } = await booksOf(on, payment!.id);
  const { items } = await store.listRefunds({ sessionId: id }, { limit: 100 });
  const events = await store.eventsOfSession(id);
  return {
    session: session.status,
    payment: { status, failureCode, failureSource, refunded, refundPending, reversed, actualCost },
    books: { ...others, held, merchant: owed + cash },
    refunds: items.map((each) => `${each.amount} ${each.status} ${each.failureReason}`).toSorted(),
    discrepancies: discrepancies.map((each) => `${each.kind} ${each.status} ${each.received}`).toSorted(),
    merchant: newsOf(events),
  };
}

/** The newest event about the session, about each refund and about each dispute: the knowledge of the merchant after all events. */
function newsOf(events: readonly MerchantEvent[]): string[] {
  const news = new Map<string, string>();
  for (const { type, body } of events) {
    const { refund, dispute } = (JSON.parse(body) as { data: PaymentEvent['data'] }).data;
    if (refund?.status === 'failed') news.delete(refund.id);
    else if (refund) news.set(refund.id, `${refund.amount} refunded`);
    else if (dispute) news.set(dispute.id, `dispute ${dispute.status}: ${dispute.amount} and ${dispute.fee}`);
    else news.set(type, type);
  }
  return [...news.values()].toSorted();
}

/** Injects the fault: the adapter reports the content of a callback as the newest state, without a query. */
function trustCallbacks({ on }: StripeService): void {
  const { deps } = on.service;
  const provider = deps.providers.get('stripe_test')!;
  const contents = new Map<string, StripeDispute>();
  let revision = 0;
  const changed = Object.create(provider) as Provider;
  changed.readCallback = async (body, headers) => {
    const callback = await provider.readCallback(body, headers);
    const { data } = JSON.parse(body.toString()) as { data: { object: unknown } };
    const dispute = readDispute(data.object);
    if (dispute) contents.set(dispute.id, dispute);
    return callback;
  };
  changed.query = async (hint, page) => {
    const dispute = contents.get(hint.id);
    if (!dispute) return provider.query!(hint, page);
    const reversal = { ...reversalReport(dispute), revision: ++revision };
    return { signals: [{ about: 'reversal', ref: { reference: dispute.payment_intent! }, reversal }], next: null };
  };
  deps.providers = new Map([...deps.providers, [provider.id, changed]]);
}

/** Plays random scripts with events in order and in random order; returns a line for each end state that differs. */
export async function runOrders(count: number, seed: number, injected = false): Promise<string[]> {
  const problems = createProblems();
  for (let done = 0; done < count; done += CASES_PER_SERVICE) {
    const random = randomOf(seed + done);
    const scripts = Array.from({ length: Math.min(CASES_PER_SERVICE, count - done) }, () => anyScript(random));
    const [expected, found] = await Promise.all([
      play(scripts, 'in_order', random, false),
      play(scripts, 'random', random, injected),
    ]);
    problems.add(...expected.problems, ...found.problems);
    for (const [index, { acts }] of scripts.entries()) {
      const [right, wrong] = [expected.ends[index], found.ends[index]].map((end) => JSON.stringify(end));
      if (right !== wrong) problems.add(`${acts.join(', ')} (seed ${seed + done}): ${wrong} instead of ${right}`);
    }
  }
  return problems.list();
}

/** `npm run test:faults -- stripe-orders` plays 10,000 scripts. */
export const STRIPE_ORDERS: Scenario = {
  name: 'random orders of the events of Stripe, with duplicates and losses',
  injected: 'an adapter that trusts the content of a callback',
  cycles: 10,
  injectedCycles: 1,
  async run({ cycles, injected }) {
    const count = cycles * CASES_PER_SERVICE;
    const problems = await runOrders(count, Math.floor(performance.now() * 1000), injected);
    return { cycles, load: `${count} payments`, problems };
  },
};
