import type { Payment } from '../../src/domain/records.ts';
import { instrumentById } from '../../src/simulator/test-instruments.ts';
import { fieldsOf, submit } from '../simulator/buyer.ts';
import type { TestService } from '../support/service.ts';
import type { Random } from './forgeries.ts';
import type { ScriptedAdyen } from './scripted-adyen.ts';
import type { ApiFault, Sending } from './scripted-party.ts';
import { isWaiting } from './scripted-paypal-objects.ts';
import type { ScriptedPaypal } from './scripted-paypal.ts';
import type { ScriptedStripe } from './scripted-stripe.ts';

/** A scripted provider's server, which random histories disturb. */
interface Server<Event> {
  faults: (ApiFault | undefined)[];
  sendingOf(event: Event): Sending;
  sent(): Promise<void>;
  goDown(): Promise<void>;
  listen(): Promise<void>;
  /** The balance at the provider, in cents. */
  balance(): number;
}

/** Server of a provider, some of whose callbacks get lost, repeated or late. */
export interface Disturbed {
  server: Omit<Server<never>, 'sendingOf'>;
  /** Chooses for every later event whether its callback is sent, repeated, lost, or late. */
  disturb(random: Random): void;
  /** Sends some of the late callbacks. */
  sendLate(random: Random): Promise<void>;
  /** Sends all late callbacks, and from now on all others too. */
  stopDisturbing(): Promise<void>;
}

/** A provider in random histories: the actions of its buyers and banks. */
export interface HistoryParty {
  /** The instance in the service. */
  id: string;
  /** A random action on the page of a payment, which can be an old one, or a decision of the bank. */
  act(payment: Payment, random: Random): Promise<void>;
  /** The buyer pays, if the page is still open. */
  pay(payment: Payment): Promise<void>;
  /** Money that the provider has taken for a payment, less refunds, in cents. */
  takenFor(payment: Payment): Promise<number>;
  /** Changes what the provider answers to later requests. */
  vary(random: Random): void;
  /** Closes all pages, and decides all pending payments. */
  finishPayments(): Promise<void>;
  finishRefunds(): void;
  disturbed?: Disturbed;
}

/** Wraps a scripted server, so that its callbacks get repeated and late and, if `losesCallbacks` is true, lost. */
function disturbedServer<Event>({
  server,
  send,
  losesCallbacks = true,
}: {
  server: Server<Event>;
  send(event: Event): Promise<unknown>;
  losesCallbacks?: boolean;
}): Disturbed {
  const late: Event[] = [];
  const usual = server.sendingOf;
  return {
    server,
    disturb(random) {
      server.sendingOf = (event) => {
        const fate = random(10);
        if (fate > 6 || (fate === 6 && !losesCallbacks)) late.push(event);
        return { times: fate > 5 ? 0 : fate === 5 ? 2 : 1, delayMs: 0 };
      };
    },
    async sendLate(random) {
      for (const event of late.splice(0, random(late.length + 1))) await send(event);
    },
    async stopDisturbing() {
      server.sendingOf = usual;
      for (const event of late.splice(0)) await send(event);
    },
  };
}

const INSTRUMENTS = ['paid', 'paid_later', 'declined', 'late_success', 'late_success', 'late_success', 'callback_lost'];

/** The buyer submits the page of the simulator with a test instrument. */
export async function payAtSimulator({ route, providerUrl }: Payment, instrument: string): Promise<void> {
  const answer = await submit(providerUrl!, fieldsOf(route.kind, instrumentById(instrument)!));
  await answer.arrayBuffer();
}

export function simulatorInHistory({ simulator }: TestService): HistoryParty {
  return {
    id: 'sandbox',
    act: (payment, random) => payAtSimulator(payment, INSTRUMENTS[random(INSTRUMENTS.length)]!),
    pay: (payment) => payAtSimulator(payment, 'paid'),
    async takenFor({ id }) {
      const charge = await simulator.chargeOfPayment(id);
      return charge ? charge.captured - charge.refunded : 0;
    },
    vary: () => undefined,
    finishPayments: async () => undefined,
    finishRefunds: () => undefined,
  };
}

export function stripeInHistory(stripe: ScriptedStripe): HistoryParty {
  const { world } = stripe;
  return {
    id: 'stripe_test',
    async act({ route, providerReference }, random) {
      const found = world.sessions.get(providerReference!)!;
      const intent = world.intents.get(found.payment_intent ?? '');
      if (found.status === 'open') {
        if (random(4) === 0) stripe.decline(found.id, 'insufficient_funds');
        else if (route.network === 'ach') stripe.startDebit(found.id);
        else stripe.pay(found.id);
      } else if (intent?.status === 'processing') {
        stripe.finishDebit(found.id, random(2) === 0 ? 'R01' : undefined);
      }
    },
    async pay({ providerReference }) {
      const found = world.sessions.get(providerReference!);
      if (found?.status === 'open') stripe.pay(found.id);
    },
    async takenFor({ id }) {
      const intents = [...world.intents.values()].filter(({ metadata }) => metadata['payment'] === id);
      const charges = [...world.charges.values()].filter(({ payment_intent: intent, status }) => {
        return status === 'succeeded' && intents.some((known) => known.id === intent);
      });
      return charges.reduce((sum, { amount, amount_refunded: refunded }) => sum + amount - refunded, 0);
    },
    vary: (random) => void (stripe.nextRefundStatus = random(3) === 0 ? 'pending' : 'succeeded'),
    async finishPayments() {
      stripe.nextRefundStatus = 'succeeded';
      for (const { id, status, payment_intent: intent } of world.sessions.values()) {
        if (status === 'open') stripe.expire(id);
        else if (world.intents.get(intent ?? '')?.status === 'processing') stripe.finishDebit(id);
      }
    },
    finishRefunds() {
      const pending = [...world.refunds.values()].filter(({ status }) => status === 'pending');
      // Every second pending refund fails.
      for (const [index, { id }] of pending.entries()) {
        stripe.finishRefund(id, index % 2 === 1 ? 'failed' : 'succeeded', 'declined');
      }
    },
    disturbed: disturbedServer({ server: stripe, send: (event) => stripe.send(event) }),
  };
}

export function paypalInHistory(paypal: ScriptedPaypal): HistoryParty {
  const { world } = paypal;
  const orderOf = ({ providerReference }: Payment) => world.orders.get(providerReference!);
  const approve = (payment: Payment): void => {
    const order = orderOf(payment);
    if (order && isWaiting(order)) paypal.approve(order.id);
  };
  return {
    id: 'paypal_test',
    async act(payment, random) {
      const capture = world.captures.get(orderOf(payment)?.captureId ?? '');
      if (capture?.status === 'PENDING')
        return paypal.finishPending(capture.id, random(2) === 0 ? 'DECLINED' : 'COMPLETED');
      if (random(4) > 0) return approve(payment);
    },
    // Only the service's capture takes the money.
    pay: async (payment) => approve(payment),
    async takenFor({ id }) {
      const orders = [...world.orders.values()].filter(({ customId }) => customId === id);
      const captures = orders.flatMap(({ captureId }) => world.captures.get(captureId ?? '') ?? []);
      const paid = captures.filter(({ status }) => status === 'COMPLETED');
      const refunds = [...world.refunds.values()].filter(({ captureId, status }) => {
        return status !== 'FAILED' && paid.some((capture) => capture.id === captureId);
      });
      return paid.reduce((sum, { cents }) => sum + cents, 0) - refunds.reduce((sum, { cents }) => sum + cents, 0);
    },
    vary(random) {
      paypal.nextRefundStatus = random(3) === 0 ? 'PENDING' : 'COMPLETED';
      const outcomes = ['complete', 'complete', 'complete', 'pending', 'declined', 'decline', 'refused'] as const;
      paypal.nextCapture = outcomes[random(outcomes.length)]!;
    },
    async finishPayments() {
      paypal.nextRefundStatus = 'COMPLETED';
      paypal.nextCapture = 'complete';
      for (const { id, status } of world.captures.values())
        if (status === 'PENDING') paypal.finishPending(id, 'COMPLETED');
      for (const order of world.orders.values()) if (isWaiting(order)) paypal.voidOrder(order.id);
    },
    finishRefunds() {
      const pending = [...world.refunds.values()].filter(({ status }) => status === 'PENDING');
      for (const [index, { id }] of pending.entries())
        paypal.finishRefund(id, index % 2 === 1 ? 'FAILED' : 'COMPLETED');
    },
    disturbed: disturbedServer({ server: paypal, send: (event) => paypal.send(event) }),
  };
}

export function adyenInHistory(adyen: ScriptedAdyen): HistoryParty {
  const finished = new Set<string>();
  const linkOf = ({ providerReference }: Payment) => adyen.links.get(providerReference!)!;
  return {
    id: 'adyen_test',
    async act(payment, random) {
      const { id, status } = linkOf(payment);
      if (status === 'paymentPending') return adyen.finishDebit(id, random(2) === 0 ? 'R01' : undefined);
      if (status !== 'active') return;
      if (random(4) === 0) adyen.decline(id);
      else if (random(2) === 0) adyen.startDebit(id);
      else adyen.pay(id);
    },
    async pay(payment) {
      const { id, status } = linkOf(payment);
      if (status === 'active') adyen.pay(id);
    },
    async takenFor({ id }) {
      const paid = [...adyen.payments.values()].filter((each) => {
        return (
          each.reference === id && adyen.movements.some(({ payment, type }) => payment === each && type === 'Settled')
        );
      });
      return paid.reduce((sum, { cents, refunded }) => sum + cents - refunded, 0);
    },
    vary: () => undefined,
    async finishPayments() {
      for (const { id, status } of adyen.links.values()) {
        if (status === 'active') adyen.expire(id);
        else if (status === 'paymentPending') adyen.finishDebit(id);
      }
    },
    finishRefunds() {
      const pending = [...adyen.refunds.keys()].filter((psp) => !finished.has(psp));
      for (const [index, psp] of pending.entries()) {
        finished.add(psp);
        adyen.finishRefund(psp, index % 2 === 1 ? 'Refund refused' : undefined);
      }
    },
    // Adyen repeats a callback until it is acknowledged, so none is lost.
    disturbed: disturbedServer({ server: adyen, send: (item) => adyen.send([item]), losesCallbacks: false }),
  };
}
