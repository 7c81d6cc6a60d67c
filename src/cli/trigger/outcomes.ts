import type { WebhookEventType } from '../../../sdk/src/index.ts';
import { STATUS_TYPES } from '../../domain/webhook-endpoint.ts';

/** A possible outcome of a sandbox checkout, and the actions of the buyer that produce it. */
export interface Outcome extends Choice {
  /** Type of the final event, with a suffix if several outcomes end with this event. */
  name: string;
  ends: WebhookEventType;
}

interface Choice {
  /** One sentence without a full stop. */
  summary: string;
  /** Instrument to use at the simulated provider; null if the buyer cancels instead. */
  instrument: string | null;
  /** A tag in the buyer's email address that makes the handoff fail. */
  tag?: string;
  /** True if the buyer pays only once; otherwise the buyer retries while the checkout allows attempts. */
  once?: boolean;
  /** Duration in seconds; undefined for an immediate outcome. */
  takesSeconds?: number;
}

/** Outcomes by name. For each event type, the outcome without a suffix comes first. */
const CHOICES: Readonly<Record<string, Choice>> = {
  'payment.provider_pending': {
    instrument: 'abandoned',
    summary: 'accepted by the provider and never confirmed; times out after half an hour',
  },
  'payment.provider_pending.wrong_amount': {
    instrument: 'wrong_amount',
    summary: 'the provider reports 1.00 less than the total, so the payment stays pending',
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
  'payment.paid.duplicates': { instrument: 'duplicates', summary: 'three reports from the provider, one event' },
  'payment.paid.reordered': {
    instrument: 'reordered',
    summary: 'an older report arrives after the paid report and is ignored',
  },
  'payment.paid.callback_lost': {
    instrument: 'callback_lost',
    takesSeconds: 30,
    summary: 'no callback arrives; the service learns the outcome by an inquiry 30 s later',
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
    summary: 'the provider fails three times, which lowers the success rate of the route',
  },
  'payment.failed.provider_down': {
    instrument: 'paid',
    tag: 'handoff_down',
    summary: 'every route refuses the handoff, and the buyer gives up; lowers the success rate of the routes',
  },
  'payment.failed.cancelled': { instrument: null, summary: 'the buyer cancels the payment in progress' },
};

export const OUTCOMES: readonly Outcome[] = Object.entries(CHOICES).map(([name, choice]) => {
  const ends = STATUS_TYPES.find((type) => name === type || name.startsWith(`${type}.`))!;
  return { name, ends, ...choice };
});

/** Adds the tag to an email address: `buyer+handoff_error@example.com`. */
export function withTag(email: string, tag: string | undefined): string {
  return tag === undefined ? email : email.replace(/@/, `+${tag}@`);
}
