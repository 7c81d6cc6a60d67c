import type { WebhookEventType } from '../../../sdk/src/index.ts';
import { STATUS_TYPES } from '../../domain/webhook-endpoint.ts';

/** A possible end of a sandbox checkout, and the actions of the buyer that lead to it. */
export interface Outcome extends Choice {
  /** The final event, with a suffix if several outcomes end with that event. */
  name: string;
  ends: WebhookEventType;
}

interface Choice {
  /** One sentence without a full stop. */
  summary: string;
  /** The outcome to choose at the simulated provider; null if the buyer cancels instead. */
  instrument: string | null;
  /** A tag in the buyer's email address that makes the handoff fail. */
  tag?: string;
  /** True if the buyer pays only once; otherwise the buyer pays again as long as the checkout offers it. */
  once?: boolean;
  /** Time that the outcome takes, in seconds; undefined for an immediate outcome. */
  takesSeconds?: number;
}

/** For each event, the outcome without a suffix is listed first. */
const CHOICES: Readonly<Record<string, Choice>> = {
  'payment.provider_pending': {
    instrument: 'abandoned',
    summary: 'accepted by the provider and never confirmed: it times out after half an hour',
  },
  'payment.provider_pending.wrong_amount': {
    instrument: 'wrong_amount',
    summary: 'the provider reports 1.00 less than the amount, which does not count as paid',
  },
  'payment.paid': { instrument: 'paid', summary: 'paid at once' },
  'payment.paid.later': { instrument: 'paid_later', takesSeconds: 20, summary: 'processing at first, paid 20 s later' },
  'payment.paid.after_decline': {
    instrument: 'decline_then_paid',
    summary: 'the first attempt is declined, the second is paid',
  },
  'payment.paid.late': {
    instrument: 'late_success',
    once: true,
    takesSeconds: 30,
    summary: 'declined, then paid 30 s later',
  },
  'payment.paid.duplicates': { instrument: 'duplicates', summary: 'the provider reports it three times: one event' },
  'payment.paid.reordered': {
    instrument: 'reordered',
    summary: 'an older report arrives after the paid report: it changes nothing',
  },
  'payment.paid.callback_lost': {
    instrument: 'callback_lost',
    takesSeconds: 30,
    summary: 'no report arrives; the service finds the payment by an inquiry 30 s later',
  },
  'payment.paid.failover': {
    instrument: 'paid',
    tag: 'handoff_error',
    summary: 'the first route refuses the handoff, and the next one takes the payment',
  },
  'payment.paid.slow_handoff': {
    instrument: 'paid',
    tag: 'handoff_timeout',
    takesSeconds: 40,
    summary: 'the provider answers the handoff too late; the service inquires and continues 30 s later',
  },
  'payment.failed': { instrument: 'declined', summary: 'declined three times, which uses up the attempts' },
  'payment.failed.provider_error': {
    instrument: 'provider_error',
    summary: 'a fault of the provider, three times; it counts against the route',
  },
  'payment.failed.provider_down': {
    instrument: 'paid',
    tag: 'handoff_down',
    summary: 'every route refuses the handoff, and the buyer gives up; it counts against the routes',
  },
  'payment.failed.cancelled': { instrument: null, summary: 'the buyer cancels the payment in progress' },
};

export const OUTCOMES: readonly Outcome[] = Object.entries(CHOICES).map(([name, choice]) => {
  const ends = STATUS_TYPES.find((type) => name === type || name.startsWith(`${type}.`))!;
  return { name, ends, ...choice };
});

/** The address with the tag in it: `buyer+handoff_error@example.com`. */
export function tagged(email: string, tag: string | undefined): string {
  return tag === undefined ? email : email.replace(/@/, `+${tag}@`);
}
