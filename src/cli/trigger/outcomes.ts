import type { WebhookEventType } from '../../../sdk/src/index.ts';
import { EVENT_TYPES } from '../options.ts';

/** A possible end of a sandbox checkout, and the actions of the buyer that lead to it. */
export interface Outcome extends Choice {
  /** The event at the end, and a suffix if several ways lead to it. */
  name: string;
  ends: WebhookEventType;
  /** One sentence without a full stop. */
  summary: string;
}

interface Choice {
  /** The outcome to choose at the simulated provider; null if the buyer cancels instead. */
  instrument: string | null;
  /** A tag in the buyer's email address that makes the handoff fail. */
  tag?: string;
  /** The buyer pays only once; otherwise as long as the checkout offers it. */
  once?: boolean;
  /** The time that the outcome takes, if it is more than a moment. */
  takesSeconds?: number;
}

/** The plain name of an event comes before the other ways to it. */
export const OUTCOMES: readonly Outcome[] = [
  outcome(
    'payment.provider_pending',
    { instrument: 'abandoned' },
    'taken over by the provider, and never confirmed: it times out after half an hour',
  ),
  outcome(
    'payment.provider_pending.wrong_amount',
    { instrument: 'wrong_amount' },
    'the provider reports 1.00 less than the amount, which does not count as paid',
  ),
  outcome('payment.paid', { instrument: 'paid' }, 'paid at once'),
  outcome('payment.paid.later', { instrument: 'paid_later', takesSeconds: 20 }, 'processing at first, paid 20 s later'),
  outcome(
    'payment.paid.after_decline',
    { instrument: 'decline_then_paid' },
    'the first attempt is declined, the second is paid',
  ),
  outcome(
    'payment.paid.late',
    { instrument: 'late_success', once: true, takesSeconds: 30 },
    'declined, and paid all the same 30 s later',
  ),
  outcome('payment.paid.duplicates', { instrument: 'duplicates' }, 'the provider reports it three times: one event'),
  outcome(
    'payment.paid.reordered',
    { instrument: 'reordered' },
    'an older report comes after the one that says paid: it changes nothing',
  ),
  outcome(
    'payment.paid.callback_lost',
    { instrument: 'callback_lost', takesSeconds: 30 },
    'no report comes; the service finds it when it asks, 30 s later',
  ),
  outcome(
    'payment.paid.failover',
    { instrument: 'paid', tag: 'handoff_error' },
    'the first route refuses the handoff, and the next one takes the payment',
  ),
  outcome(
    'payment.paid.slow_handoff',
    { instrument: 'paid', tag: 'handoff_timeout', takesSeconds: 40 },
    'the provider answers the handoff too late; the service asks and goes on, 30 s later',
  ),
  outcome('payment.failed', { instrument: 'declined' }, 'declined three times, which uses up the attempts'),
  outcome(
    'payment.failed.provider_error',
    { instrument: 'provider_error' },
    'a fault of the provider, three times; it counts against the route',
  ),
  outcome(
    'payment.failed.provider_down',
    { instrument: 'paid', tag: 'handoff_down' },
    'every route refuses the handoff, and the buyer gives up; it counts against the routes',
  ),
  outcome('payment.failed.cancelled', { instrument: null }, 'the buyer cancels the payment in progress'),
];

function outcome(name: string, choice: Choice, summary: string): Outcome {
  const ends = EVENT_TYPES.find((type) => name === type || name.startsWith(`${type}.`))!;
  return { name, ends, summary, ...choice };
}

/** The address with the tag in it: `buyer+handoff_error@example.com`. */
export function tagged(email: string, tag: string | undefined): string {
  return tag === undefined ? email : email.replace(/@/, `+${tag}@`);
}
