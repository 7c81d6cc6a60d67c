import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ReversalReport, centsOfUnits } from '../../src/domain/provider-report.ts';
import type { Payment } from '../../src/domain/records.ts';
import type { Signal } from '../../src/providers/provider.ts';
import { NOW, idOf } from '../fixtures/checkout-records.ts';
import { runs } from '../support/for-all.ts';
import type { StripeEvent } from './scripted-stripe-objects.ts';
import { type StripeWorld, handedOff, startStripeWorld, stripePayment } from './stripe-fixtures.ts';
import { randomOf } from './forgeries.ts';

const HISTORIES = 40;
const STEPS = 25;
const PAYMENTS = 4;

type Random = (limit: number) => number;

/** Amounts in cents that the signals of the adapter report, by the id of their object. */
interface Books {
  payments: Map<string, number>;
  refunds: Map<string, number>;
  reversals: Map<string, ReversalReport>;
  payouts: Map<string, number>;
}

function apply(books: Books, signal: Signal): void {
  switch (signal.about) {
    case 'payment': {
      const { received, cost } = signal.report;
      if (received && cost) books.payments.set(signal.ref.paymentId!, centsOfUnits(received) - centsOfUnits(cost));
      break;
    }
    case 'refund':
      books.refunds.set(
        signal.refund.reference!,
        signal.refund.status === 'failed' ? 0 : centsOfUnits(signal.refund.amount),
      );
      break;
    case 'reversal': {
      const known = books.reversals.get(signal.reversal.reference);
      if (!known || signal.reversal.revision > known.revision) {
        books.reversals.set(signal.reversal.reference, signal.reversal);
      }
      break;
    }
    case 'settlement':
      books.payouts.set(signal.entry.moved!.id, centsOfUnits(signal.entry.moved!.net));
  }
}

function balanceOf({ payments, refunds, reversals, payouts }: Books): number {
  const sum = (values: Iterable<number>): number => [...values].reduce((total, each) => total + each, 0);
  const reversed = [...reversals.values()].map(({ taken, fee }) => centsOfUnits(taken) + centsOfUnits(fee));
  return sum(payments.values()) - sum(refunds.values()) - sum(reversed) - sum(payouts.values());
}

/** Performs one random action of a buyer, a bank, the merchant or Stripe; does nothing if the action is not possible now. */
async function act(
  { stripe, provider }: StripeWorld,
  payments: Payment[],
  random: Random,
  step: number,
): Promise<void> {
  const { sessions, refunds, disputes, charges } = stripe.world;
  const payment = payments[random(payments.length)]!;
  const session = sessions.get(payment.providerReference!)!;
  const intent = session.payment_intent;
  const charge = [...charges.values()].find((each) => each.payment_intent === intent);
  const dispute = [...disputes.values()].find((each) => each.payment_intent === intent);
  const pending = [...refunds.values()].find(({ status }) => status === 'pending');
  const isOpen = session.status === 'open';
  switch (random(9)) {
    case 0:
      return isOpen ? stripe.pay(session.id) : undefined;
    case 1:
      return isOpen ? stripe.startDebit(session.id) : undefined;
    case 2:
      if (charge?.status === 'pending') stripe.finishDebit(session.id, random(2) === 0 ? undefined : 'no_account');
      return undefined;
    case 3: {
      stripe.nextRefundStatus = random(2) === 0 ? 'pending' : 'succeeded';
      const request = { refundId: idOf('ref', step), payment, amount: 1 + random(3000), reference: null, created: NOW };
      await provider.refund(request).catch(() => undefined);
      return undefined;
    }
    case 4:
      if (charge?.paid === true && charge.amount_refunded < 4000) stripe.refundInDashboard(intent!, 100);
      return undefined;
    case 5:
      return pending ? stripe.finishRefund(pending.id, random(2) === 0 ? 'failed' : 'succeeded') : undefined;
    case 6:
      if (charge?.paid === true && !charge.disputed) stripe.openDispute(intent!);
      return undefined;
    case 7:
      if (dispute?.status !== 'needs_response') return undefined;
      if (dispute.balance_transactions.length === 0) return stripe.withdrawFunds(dispute.id);
      return stripe.closeDispute(dispute.id, random(2) === 0 ? 'won' : 'lost', { returnsFee: random(2) === 0 });
    default:
      if (random(4) === 0) stripe.payOut();
  }
}

/** Reads the callback of an event and applies the answer to its hint. */
async function deliver({ stripe, provider }: StripeWorld, books: Books, event: StripeEvent): Promise<void> {
  const { body, headers } = stripe.callbackOf(event);
  const { hints } = await provider.readCallback(Buffer.from(body), headers);
  for (const hint of hints) {
    for (let page: string | null | undefined; page !== null;) {
      const answer = await provider.query!(hint, page ?? null);
      for (const signal of answer.signals) apply(books, signal);
      page = answer.next;
    }
  }
}

async function runHistory(seed: number): Promise<void> {
  await using world = await startStripeWorld();
  const random = randomOf(seed);
  const books: Books = { payments: new Map(), refunds: new Map(), reversals: new Map(), payouts: new Map() };
  const payments: Payment[] = [];
  for (let each = 0; each < PAYMENTS; each++) {
    payments.push(
      await handedOff(world, stripePayment({ id: idOf('pay', each) }, each === 0 ? 'ach' : 'card_network')),
    );
  }
  const waiting: StripeEvent[] = [];
  for (let step = 0; step < STEPS; step++) {
    const known = world.stripe.events.length;
    await act(world, payments, random, step);
    waiting.push(...world.stripe.events.slice(known));
    // Delivers a random waiting event early; the event stays in the list, so it arrives a second time below, in random order.
    if (random(2) === 0 && waiting.length > 0) await deliver(world, books, waiting[random(waiting.length)]!);
  }
  while (waiting.length > 0) await deliver(world, books, waiting.splice(random(waiting.length), 1)[0]!);
  assert.equal(balanceOf(books), world.stripe.balance(), `seed ${seed}`);
}

test("the amounts of the adapter's signals sum to the balance at Stripe after random histories and any order of events", async () => {
  for (let seed = 1; seed <= runs(HISTORIES); seed++) await runHistory(seed);
});
