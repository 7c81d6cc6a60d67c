import type { WebhookEvent } from '../../../sdk/src/index.ts';

/** A way for a sandbox checkout to end, and what a buyer does for it. */
export interface Outcome {
  /** The event that it ends with, and, where there are several ways to it, which one. */
  name: string;
  ends: WebhookEvent['type'];
  /** What happens, in one sentence without a full stop. */
  summary: string;
  /** The outcome to be chosen at the simulated provider; null where the buyer gives up before. */
  instrument: string | null;
  /** The tag in the buyer's email address that the simulated provider goes by. */
  tag?: string;
  /** The buyer presses the button of the provider once, and waits; else again for as long as the checkout offers it. */
  once?: boolean;
  /** How long it takes, where that is more than a moment. */
  takesSeconds?: number;
}

/** The plain name of an event first, then the other ways to it. */
export const OUTCOMES: readonly Outcome[] = [
  {
    name: 'payment.provider_pending',
    ends: 'payment.provider_pending',
    summary: 'taken over by the provider, and never confirmed: it times out after half an hour',
    instrument: 'abandoned',
  },
  {
    name: 'payment.provider_pending.wrong_amount',
    ends: 'payment.provider_pending',
    summary: 'the provider reports 1.00 less than the amount, which does not count as paid',
    instrument: 'wrong_amount',
  },
  { name: 'payment.paid', ends: 'payment.paid', summary: 'paid at once', instrument: 'paid' },
  {
    name: 'payment.paid.later',
    ends: 'payment.paid',
    summary: 'processing at first, paid 20 s later',
    instrument: 'paid_later',
    takesSeconds: 20,
  },
  {
    name: 'payment.paid.after_decline',
    ends: 'payment.paid',
    summary: 'the first attempt is declined, the second is paid',
    instrument: 'decline_then_paid',
  },
  {
    name: 'payment.paid.late',
    ends: 'payment.paid',
    summary: 'declined, and paid all the same 30 s later',
    instrument: 'late_success',
    once: true,
    takesSeconds: 30,
  },
  {
    name: 'payment.paid.duplicates',
    ends: 'payment.paid',
    summary: 'the provider reports it three times: one event',
    instrument: 'duplicates',
  },
  {
    name: 'payment.paid.reordered',
    ends: 'payment.paid',
    summary: 'an older report comes after the one that says paid: it changes nothing',
    instrument: 'reordered',
  },
  {
    name: 'payment.paid.callback_lost',
    ends: 'payment.paid',
    summary: 'no report comes; the service finds it when it asks, 30 s later',
    instrument: 'callback_lost',
    takesSeconds: 30,
  },
  {
    name: 'payment.paid.failover',
    ends: 'payment.paid',
    summary: 'the first route refuses the handoff, and the next one takes the payment',
    instrument: 'paid',
    tag: 'handoff_error',
  },
  {
    name: 'payment.paid.slow_handoff',
    ends: 'payment.paid',
    summary: 'the provider answers the handoff too late; the service asks and goes on, 30 s later',
    instrument: 'paid',
    tag: 'handoff_timeout',
    takesSeconds: 40,
  },
  {
    name: 'payment.failed',
    ends: 'payment.failed',
    summary: 'declined three times, which uses up the attempts',
    instrument: 'declined',
  },
  {
    name: 'payment.failed.provider_error',
    ends: 'payment.failed',
    summary: 'a fault of the provider, three times; it counts against the route',
    instrument: 'provider_error',
  },
  {
    name: 'payment.failed.provider_down',
    ends: 'payment.failed',
    summary: 'every route refuses the handoff, and the buyer gives up; it counts against the routes',
    instrument: 'paid',
    tag: 'handoff_down',
  },
  {
    name: 'payment.failed.cancelled',
    ends: 'payment.failed',
    summary: 'the buyer cancels the payment under way',
    instrument: null,
  },
];

/** The address with the tag in it: `buyer+handoff_error@example.com`. */
export function tagged(email: string, tag: string | undefined): string {
  return tag === undefined ? email : email.replace(/@/, `+${tag}@`);
}
