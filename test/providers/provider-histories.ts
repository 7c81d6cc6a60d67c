import type { RouteKind } from '../../src/domain/route.ts';
import type { Payment } from '../../src/domain/records.ts';
import { cancelCheckout, chooseAnotherMethod } from '../../src/operations/leave-payment.ts';
import { queueReturn } from '../../src/operations/provider-hints.ts';
import { startPayment } from '../../src/operations/start-payment.ts';
import type { Provider } from '../../src/providers/provider.ts';
import { createProblems } from '../faults/scenario.ts';
import { createSession } from '../simulator/buyer.ts';
import { settingsOf } from '../support/database.ts';
import { booksOf } from '../support/gateway.ts';
import type { TestService } from '../support/service.ts';
import { brokenInvariants } from '../support/sound.ts';
import type { HistoryParty } from './history-parties.ts';
import type { ApiFault } from './scripted-party.ts';
import { type Random, randomOf } from './forgeries.ts';
import { checkoutOf } from './stripe-service.ts';

// Random histories of buyers, banks and networks over several providers.

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const DAY = 24 * 60 * MINUTE;
const ANY_TOTAL = 10_000_000;
const STEPS = 12;
export const SESSIONS_PER_SERVICE = 100;

// Each entry makes a handoff fail. After two lost answers (request and repetition) the payment fails over to another route.
const HANDOFF_FAULTS: ApiFault[][] = [['error_500_before'], ['error_500_after'], ['drop_after', 'drop_after']];

/** A service and the providers that it uses. */
export interface HistoryWorld extends AsyncDisposable {
  on: TestService;
  parties: readonly HistoryParty[];
  /** Kinds that buyers choose; a kind that occurs twice is chosen more often. */
  kinds: readonly RouteKind[];
}

/** Starts a world. The service must take its random bytes from `randomBytes`, so that a seed repeats a history. */
export type StartHistoryWorld = (randomBytes: (size: number) => Uint8Array) => Promise<HistoryWorld>;

type Watched = Pick<HistoryWorld, 'on' | 'parties'>;

/** Violations of the rule: at most one paid payment, one paid event, and a refund or open discrepancy for all other money. */
export async function problemsOfCheckout({ on, parties }: Watched, id: string): Promise<string[]> {
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
    const money = await partyOf(parties, payment).takenFor(payment);
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

function partyOf(parties: readonly HistoryParty[], { route }: Payment): HistoryParty {
  return parties.find(({ id }) => id === route.provider)!;
}

/** One random action of the buyer of a session, or of the buyer's bank. */
async function step({ on, parties, kinds }: HistoryWorld, id: string, random: Random): Promise<void> {
  const { deps } = on.service;
  const { session, payments } = await checkoutOf(on, id);
  const any = <Item>(items: readonly Item[]): Item | undefined => items[random(items.length)];
  const pay = () => startPayment(deps, id, { kind: any(kinds)!, acceptedTotal: ANY_TOTAL });
  const act = random(16);
  const isWaiting = payments.at(-1)?.status === 'pending';
  if (act < (isWaiting ? 1 : 9)) {
    const servers = parties.flatMap(({ disturbed }) => disturbed?.server ?? []);
    for (const server of servers) server.faults = random(20) === 0 ? [...any(HANDOFF_FAULTS)!] : [];
    await pay();
    for (const server of servers) server.faults = [];
  } else if (act < 12) {
    const payment = any(payments);
    if (payment && payment.providerUrl !== null) await partyOf(parties, payment).act(payment, random);
  } else if (act < 14) {
    // Some buyers leave after they have paid or approved, and some pay elsewhere at once.
    const left = payments.at(-1);
    if (isWaiting && left && left.providerUrl !== null && random(2) === 0) {
      await partyOf(parties, left).pay(left);
      await on.service.runDue();
    }
    await chooseAnotherMethod(deps, id, session.attempts);
    if (random(2) === 0) return;
    await pay();
    const last = (await checkoutOf(on, id)).payments.at(-1);
    if (last?.status === 'pending' && last.providerUrl !== null) await partyOf(parties, last).pay(last);
  } else if (act === 14 && isWaiting) await queueReturn(deps, payments.at(-1)!);
  else if (random(4) === 0) await cancelCheckout(deps, id, session.attempts);
}

/** Runs random histories; returns a line for each violation. */
export async function runHistories(
  startWorld: StartHistoryWorld,
  count: number,
  seed: number,
  injected = false,
): Promise<string[]> {
  const problems = createProblems();
  for (let done = 0; done < count; done += SESSIONS_PER_SERVICE) {
    const size = Math.min(SESSIONS_PER_SERVICE, count - done);
    for (const problem of await runTogether(startWorld, size, seed + done, injected)) {
      problems.add(`${problem} (seed ${seed + done})`);
    }
  }
  return problems.list();
}

/** Runs histories on one service, so that outages and lost callbacks affect all of them. */
async function runTogether(
  startWorld: StartHistoryWorld,
  count: number,
  seed: number,
  injected: boolean,
): Promise<string[]> {
  const random = randomOf(seed);
  const bytes = randomOf(seed + 1);
  await using world = await startWorld((size) => Uint8Array.from({ length: size }, () => bytes(256)));
  const { on, parties } = world;
  const arriveLate = disturbAdapters(world, random, injected);
  const disturbed = parties.flatMap((party) => party.disturbed ?? []);
  for (const each of disturbed) each.disturb(random);
  const sessions: string[] = [];
  while (sessions.length < count) sessions.push(await createSession(on));
  for (let round = 0; round < STEPS; round++) {
    for (const party of parties) party.vary(random);
    const down = random(12) === 0 ? disturbed[random(disturbed.length)] : undefined;
    await down?.server.goDown();
    for (const id of sessions) if (random(4) > 0) await step(world, id, random);
    for (const each of disturbed) {
      await each.server.sent();
      await each.sendLate(random);
    }
    await on.pass([0, SECOND, 20 * SECOND, 31 * SECOND, 5 * MINUTE][random(5)]!);
    await down?.server.listen();
    if (random(3) === 0) await arriveLate();
  }
  await arriveLate();
  for (const each of disturbed) await each.stopDisturbing();
  await settle(world);
  const problems: string[] = [];
  for (const id of sessions) problems.push(...(await problemsOfCheckout(world, id)));
  for (const { id, disturbed: at } of parties) {
    const held = at ? await balanceInLedger(world, sessions, id) : 0;
    const balance = at?.server.balance() ?? 0;
    if (held !== balance) problems.push(`the balance at ${id} is ${balance}, and ${held} in the ledger`);
  }
  const total = await on.service.deps.store.ledgerTotal();
  if (total !== 0) problems.push(`the ledger sums to ${total}`);
  return [...problems, ...(await brokenInvariants(settingsOf(on.databaseUrl)))];
}

/** Balance at a provider according to the ledger, in cents: the money in clearing, and the merchant's share that was settled from it. */
async function balanceInLedger({ on }: Watched, sessions: readonly string[], provider: string): Promise<number> {
  let sum = 0;
  for (const id of sessions) {
    for (const payment of (await checkoutOf(on, id)).payments) {
      if (payment.route.provider !== provider) continue;
      sum += (await booksOf(on, payment.id))['provider_clearing'] ?? 0;
      sum += (await on.service.deps.store.settlement(payment.id))?.amount ?? 0;
    }
  }
  return sum;
}

/** Passes time until all work is done: open pages expire, and the banks decide about payments and refunds. */
async function settle({ on, parties }: Watched): Promise<void> {
  const sent = async () => {
    for (const { disturbed } of parties) await disturbed?.server.sent();
  };
  await on.pass(31 * SECOND);
  await on.pass(61 * MINUTE);
  for (const party of parties) await party.finishPayments();
  await sent();
  await on.pass(MINUTE);
  for (const party of parties) party.finishRefunds();
  await sent();
  for (const ms of [MINUTE, 2 * 60 * MINUTE, DAY, 2 * DAY, 15 * DAY]) {
    await on.pass(ms);
    await sent();
    await on.pass(SECOND);
  }
}

/**
 * Replaces methods of all adapters: before most cancellations the buyer pays first, and some captures get no answer, because they
 * arrive only when the returned function is called. The injected fault: the adapters acknowledge refunds without making them.
 */
function disturbAdapters({ on, parties }: Watched, random: Random, injected: boolean): () => Promise<void> {
  const { deps } = on.service;
  const late: (() => Promise<unknown>)[] = [];
  const changed = [...deps.providers].map(([id, provider]): [string, Provider] => {
    const disturbed = Object.create(provider) as Provider;
    disturbed.cancel = async (payment, timeoutMs) => {
      const isRaced = payment.providerUrl !== null && random(4) > 0;
      if (isRaced) await parties.find((party) => party.id === id)?.pay(payment);
      return provider.cancel(payment, timeoutMs);
    };
    if (provider.capture) {
      disturbed.capture = async (payment, timeoutMs) => {
        if (random(2) === 0) return provider.capture!(payment, timeoutMs);
        late.push(() => provider.capture!(payment));
        throw new Error('the capture got no answer');
      };
    }
    if (injected) disturbed.refund = async () => ({ status: 'succeeded', reason: null });
    return [id, disturbed];
  });
  deps.providers = new Map(changed);
  return async () => {
    for (const arrive of late.splice(0)) await arrive().catch(() => undefined);
  };
}
