import { setImmediate as turn } from 'node:timers/promises';
import type { Payment } from '../../src/domain/records.ts';
import { cancelCheckout, chooseAnotherMethod } from '../../src/operations/leave-payment.ts';
import { queueReturn } from '../../src/operations/provider-hints.ts';
import { wakeCheckout } from '../../src/operations/wake-checkout.ts';
import type { Change } from '../../src/store/store.ts';
import type { ProviderTask } from '../../src/store/tables/provider-tables.ts';
import { type Scenario, createProblems } from '../faults/scenario.ts';
import { createSession, start } from '../simulator/buyer.ts';
import { brokenInvariants } from '../support/sound.ts';
import { runSql, settingsOf } from '../support/database.ts';
import { paypalInHistory } from './history-parties.ts';
import { type PaypalService, startPaypalService } from './paypal-service.ts';
import { problemsOfCheckout } from './provider-histories.ts';
import { type Random, randomOf } from './forgeries.ts';
import { checkoutOf, keepLive, lastPayment } from './stripe-service.ts';

// Races of a capture with a buyer who leaves, a payment that times out, callbacks and inquiries.

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const DAY = 24 * 60 * MINUTE;
const RACES_PER_SERVICE = 100;
const ACTIONS = 5;

/** Numbers of the commits that abandoned each payment, and that claimed its captures, in their order. */
interface Journal {
  abandoned: Map<string, number>;
  late: string[];
}

/**
 * Records every capture that is claimed after the commit that abandoned its payment. The injected fault: such a claim succeeds.
 */
function recordClaims({ on: { service, databaseUrl } }: PaypalService, injected: boolean): Journal {
  const journal: Journal = { abandoned: new Map(), late: [] };
  const { deps } = service;
  const { store } = deps;
  let count = 0;
  const commit = async (changes: Change[]) => {
    const result = await store.commit(changes);
    const number = ++count;
    let isClaimed = result.done;
    for (const change of changes) {
      if (change.type === 'payment_changed' && result.done && change.payment.status === 'failed') {
        if (!journal.abandoned.has(change.payment.id)) journal.abandoned.set(change.payment.id, number);
      }
      if (change.type !== 'task_claimed' || change.task.kind !== 'capture') continue;
      const left = journal.abandoned.get(change.task.paymentId);
      if (injected && left !== undefined) isClaimed = await claimAnyway(databaseUrl, change.task);
      if (isClaimed && left !== undefined && left < number) journal.late.push(change.task.paymentId);
    }
    return isClaimed === result.done ? result : { ...result, done: true as const };
  };
  deps.store = Object.assign(Object.create(store) as typeof store, { commit });
  return journal;
}

/** Claims a capture although its payment is no longer pending. */
async function claimAnyway(databaseUrl: string, { paymentId, attempts, dueAt }: ProviderTask): Promise<true> {
  const claim = `UPDATE provider_tasks SET attempts = ${attempts}, due_at = ${dueAt} WHERE payment_id = '${paymentId}'`;
  await runSql(databaseUrl, claim);
  return true;
}

/** One race: the buyer approves the order, and several actions overlap. */
async function race(world: PaypalService, id: string, random: Random): Promise<void> {
  const { on, paypal } = world;
  const { deps } = on.service;
  const payment: Payment = await lastPayment(on, id);
  const order = payment.providerReference!;
  const actions: (() => Promise<unknown>)[] = [
    async () => on.service.runDue(),
    async () => on.service.runDue(),
    async () => paypal.sent(),
    async () => queueReturn(deps, payment),
    async () => chooseAnotherMethod(deps, id, 1),
    async () => cancelCheckout(deps, id, 1),
  ];
  paypal.sendingOf = () => ({ times: random(3), delayMs: 0 });
  if (random(5) === 0) paypal.nextCapture = (['decline', 'pending', 'refused'] as const)[random(3)]!;
  if (random(3) === 0)
    paypal.faults = [undefined, (['drop_after', 'drop_before', 'error_500_after'] as const)[random(3)]!];
  paypal.approve(order);
  const running: Promise<unknown>[] = [];
  for (let each = 0; each < ACTIONS; each++) {
    const action = actions[random(actions.length + 1)];
    if (!action) {
      // Waits for the operations in progress: sales are counted after a minute, because no operation takes that long.
      await Promise.all([...running, paypal.sent()]);
      on.clock.advance([31 * SECOND, 5 * MINUTE, 4 * 60 * MINUTE][random(3)]!);
    }
    running.push(action ? action() : wakeCheckout(deps, id));
    for (let wait = random(30); wait > 0; wait--) await turn();
  }
  await Promise.all(running);
  paypal.faults = [];
  paypal.nextCapture = 'complete';
}

/** Runs races; returns a line for each violation. */
export async function runRaces(count: number, seed: number, injected = false): Promise<string[]> {
  const problems = createProblems();
  for (let done = 0; done < count; done += RACES_PER_SERVICE) {
    const size = Math.min(RACES_PER_SERVICE, count - done);
    for (const problem of await racesTogether(size, seed + done, injected))
      problems.add(`${problem} (seed ${seed + done})`);
  }
  return problems.list();
}

async function racesTogether(count: number, seed: number, injected: boolean): Promise<string[]> {
  const random = randomOf(seed);
  await using world = await startPaypalService();
  const { on, paypal } = world;
  await keepLive(on);
  const journal = recordClaims(world, injected);
  const ids: string[] = [];
  for (let each = 0; each < count; each++) {
    const id = await createSession(on, { customer: `buyer${each}@example.com` });
    const { outcome } = await start(on, id, 'wallet');
    if (outcome !== 'continue') {
      // A fault has hit the check of the provider, which is repeated a minute later.
      await on.pass(MINUTE);
      await start(on, id, 'wallet');
    }
    ids.push(id);
    await race(world, id, random);
  }
  paypal.sendingOf = () => ({ times: 0, delayMs: 0 });
  const party = paypalInHistory(paypal);
  await world.deliver(MINUTE);
  await party.finishPayments();
  for (const wait of [MINUTE, 3 * 60 * MINUTE, DAY, 15 * DAY]) await world.deliver(wait);
  const problems = journal.late.map((id) => `${id} was captured after the buyer had left it`);
  for (const id of ids) {
    problems.push(...(await problemsOfCheckout({ on, parties: [party] }, id)));
    const { payments } = await checkoutOf(on, id);
    const captures = [...paypal.world.captures.values()].filter(({ orderId }) =>
      payments.some(({ providerReference }) => providerReference === orderId),
    );
    if (captures.length > payments.length) problems.push(`${id} has ${captures.length} captures`);
  }
  return [...problems, ...(await brokenInvariants(settingsOf(on.databaseUrl)))];
}

/** `npm run test:faults -- --cycles 10 paypal-races` runs 10,000 races. */
export const PAYPAL_RACES: Scenario = {
  name: 'races of captures at PayPal',
  injected: 'a capture that can be claimed after the buyer has left',
  cycles: 10,
  injectedCycles: 2,
  async run({ cycles, injected }) {
    const count = cycles * RACES_PER_SERVICE;
    const problems = await runRaces(count, Math.floor(performance.now() * 1000), injected);
    return { cycles, load: `${count} races`, problems };
  },
};
