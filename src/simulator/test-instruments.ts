/** State of a charge in the simulated provider's API. The adapter converts it to a status. */
export type ChargeState = 'CREATED' | 'PROCESSING' | 'CAPTURED' | 'DECLINED' | 'CANCELLED' | 'REFUNDED';

/** One callback of a test outcome. */
export interface CallbackStep {
  state: ChargeState;
  /** Time from the buyer's click until the callback is sent, in milliseconds. */
  afterMs: number;
  /** Age that the event has when the callback is sent, in milliseconds; 0 by default. */
  agedMs?: number;
  /** Cents by which the reported amount is too low; 0 by default. */
  shortBy?: number;
  /** Number of times the same event is sent; 1 by default. */
  copies?: number;
}

/** Behaviour of a test outcome: the status of the charge and the callbacks. */
export interface InstrumentScript {
  /** Status of the charge after the buyer's click. A later callback that reports the full capture changes it to `paid`. */
  status: 'pending' | 'paid' | 'failed';
  /** The simulated provider's code for the reason of a decline; by default, the code of the payment method. */
  reason?: string;
  callbacks: readonly CallbackStep[];
}

/** A test outcome, chosen by card number, or by name on the wallet and bank pages. */
export interface Instrument {
  id: string;
  label: string;
  outcome: string;
  cardNumber: string;
  script: InstrumentScript;
  /** Script to use if an earlier payment of the session was declined. */
  afterDecline?: InstrumentScript;
}

const SECOND_MS = 1000;
const PAID = script('paid', step('CAPTURED'));
const DECLINED = script('failed', step('DECLINED'));

/** All test outcomes of payments; pages, documentation and behaviour are derived from this table. */
export const INSTRUMENTS: readonly Instrument[] = [
  {
    id: 'paid',
    label: 'Paid at once',
    outcome: 'The payment is captured and reported at once.',
    cardNumber: '4242424242424242',
    script: PAID,
  },
  {
    id: 'paid_later',
    label: 'Paid after a delay',
    outcome: 'The payment is processing at first, and captured 20 seconds later.',
    cardNumber: '4000000000000010',
    script: script('pending', step('PROCESSING'), step('CAPTURED', 20)),
  },
  {
    id: 'decline_then_paid',
    label: 'Declined, then paid',
    outcome: 'The first attempt of a session is declined, and the next one is paid at once.',
    cardNumber: '4000000000000028',
    script: { ...DECLINED, reason: 'insufficient_funds' },
    afterDecline: PAID,
  },
  {
    id: 'declined',
    label: 'Always declined',
    outcome: 'Every attempt is declined.',
    cardNumber: '4000000000000002',
    script: DECLINED,
  },
  {
    id: 'provider_error',
    label: 'Failure at the provider',
    outcome: 'Every attempt fails by a fault of the provider, which counts against the route.',
    cardNumber: '4000000000000119',
    script: { ...DECLINED, reason: 'processing_error' },
  },
  {
    id: 'abandoned',
    label: 'Abandoned',
    outcome: 'No callback ever arrives; the payment stays pending until it times out.',
    cardNumber: '4000000000000036',
    script: script('pending'),
  },
  {
    id: 'duplicates',
    label: 'Duplicate callbacks',
    outcome: 'The payment is captured, and the same event is sent three times.',
    cardNumber: '4000000000000044',
    script: script('paid', step('CAPTURED', 0, { copies: 3 })),
  },
  {
    id: 'reordered',
    label: 'Reordered callbacks',
    outcome: 'The payment is captured, and an older event with the state processing arrives 2 seconds later.',
    cardNumber: '4000000000000051',
    script: script('paid', step('CAPTURED'), step('PROCESSING', 2, { agedMs: 5 * SECOND_MS })),
  },
  {
    id: 'late_success',
    label: 'Late success after failure',
    outcome: 'The payment is declined first, and captured 30 seconds later.',
    cardNumber: '4000000000000069',
    script: script('failed', step('DECLINED'), step('CAPTURED', 30)),
  },
  {
    id: 'wrong_amount',
    label: 'Wrong amount',
    outcome: 'A capture of 1.00 less than the amount is reported; the rest never arrives.',
    cardNumber: '4000000000000077',
    script: script('pending', step('CAPTURED', 0, { shortBy: 100 })),
  },
  {
    id: 'callback_lost',
    label: 'Callback lost',
    outcome: 'The payment is captured but no callback follows; the gateway finds it by an inquiry.',
    cardNumber: '4000000000000085',
    script: script('paid'),
  },
];

/**
 * Tags in the buyer's email address (`anything+tag@example.com`). Each tag selects a test outcome of the handoff, on all routes or on the
 * route that `anything+tag.route@example.com` names.
 */
export const HANDOFF_TAGS = [
  {
    tag: 'handoff_error',
    label: 'Handoff refused once',
    outcome: 'The first handoff of a session is refused; the next route takes the payment.',
  },
  {
    tag: 'handoff_down',
    label: 'Provider down',
    outcome: 'Every handoff is refused, on every route.',
  },
  {
    tag: 'handoff_timeout',
    label: 'Handoff without an answer',
    outcome: 'The provider accepts the payment but answers too late; the gateway finds it by an inquiry.',
  },
];

function script(status: InstrumentScript['status'], ...callbacks: CallbackStep[]): InstrumentScript {
  return { status, callbacks };
}

function step(state: ChargeState, afterSeconds = 0, more: Omit<CallbackStep, 'state' | 'afterMs'> = {}): CallbackStep {
  return { state, afterMs: afterSeconds * SECOND_MS, ...more };
}

const TAG = /\+(handoff_[a-z]+)(?:\.([a-z0-9_]+))?@/i;

export function instrumentById(id: string): Instrument | undefined {
  return INSTRUMENTS.find((instrument) => instrument.id === id);
}

/** The instrument with a card number, which may contain spaces and dashes. */
export function instrumentByCard(number: string): Instrument | undefined {
  const digits = number.replace(/[\s-]/g, '');
  return INSTRUMENTS.find(({ cardNumber }) => cardNumber === digits);
}

/** The handoff tag in an email address; undefined if the address has no known tag, or names another route than `route`. */
export function handoffTagOf(email: string, route: string | undefined): string | undefined {
  const [, tag, named] = TAG.exec(email.toLowerCase()) ?? [];
  if (named !== undefined && named !== route) return undefined;
  return HANDOFF_TAGS.find((known) => known.tag === tag)?.tag;
}

/** Card number in groups of four digits: `4242 4242 4242 4242`. */
export function spacedCard(number: string): string {
  return number.replace(/(\d{4})(?=\d)/g, '$1 ');
}
