/** Codes of failures that a provider reports; an adapter maps a code that it does not know to `declined`. */
export const DECLINE_CODES = [
  'declined',
  'insufficient_funds',
  'incorrect_cvc',
  'expired_card',
  'authentication_failed',
  'issuer_unavailable',
  'processing_error',
  'cancelled',
] as const;
export type DeclineCode = (typeof DECLINE_CODES)[number];

export const FAILURE_CODES = [
  ...DECLINE_CODES,
  'handoff_refused',
  'timed_out',
  'amount_mismatch',
  'abandoned',
  'superseded',
] as const;
export type FailureCode = (typeof FAILURE_CODES)[number];

/** Who a provider can report as the source of a failure. Everything unknown is the route's. */
export const PROVIDER_FAULTS = ['buyer', 'issuer', 'route'] as const;
export type ProviderFault = (typeof PROVIDER_FAULTS)[number];

/** `gateway`: this service. It never handed the payment off, as where its process ended first. */
export const FAILURE_SOURCES = [...PROVIDER_FAULTS, 'gateway'] as const;
export type FailureSource = (typeof FAILURE_SOURCES)[number];

/** Why a provider failed a payment. `reason` is the provider's own, verbatim; null where it gave none. */
export interface ProviderFailure {
  code: DeclineCode;
  source: ProviderFault;
  reason: string | null;
}

/** Why a payment failed. */
export interface Failure {
  code: FailureCode;
  source: FailureSource;
  reason: string | null;
}

/** A payment that is not confirmed in time counts against the route, unless the provider still waits for the buyer. */
export const TIMED_OUT: Failure = { code: 'timed_out', source: 'route', reason: null };

const MESSAGES: Record<FailureCode, string | Partial<Record<FailureSource, string>>> = {
  declined: {
    buyer: "The payment was declined for a reason on the buyer's side.",
    issuer: "The buyer's bank, card issuer or wallet declined the payment.",
    route: 'The provider declined the payment.',
  },
  insufficient_funds: "The buyer's account did not have enough funds.",
  incorrect_cvc: 'The security code of the card was wrong.',
  expired_card: 'The card had expired.',
  authentication_failed: 'The buyer did not pass the authentication of the payment.',
  issuer_unavailable: "The buyer's bank or card issuer could not be reached.",
  processing_error: 'The provider could not process the payment.',
  cancelled: 'The buyer cancelled the payment at the provider.',
  handoff_refused: {
    route: 'The provider did not accept the payment.',
    gateway: 'The gateway was interrupted before it handed the payment to the provider.',
  },
  timed_out: {
    buyer: 'The buyer did not complete the payment in time.',
    route: 'The provider did not confirm the payment in time.',
  },
  amount_mismatch: 'The provider reported a wrong amount, and the right one did not arrive in time.',
  abandoned: 'The buyer cancelled the payment, or chose another way to pay.',
  superseded: 'The buyer paid with another payment of the same session.',
};

/** A plain sentence for a person. */
export function failureMessage({ code, source }: Pick<Failure, 'code' | 'source'>): string {
  const message = MESSAGES[code];
  return typeof message === 'string' ? message : (message[source] ?? message.route)!;
}

const MAX_TEXT = 200;
// Characters that a terminal or a page could obey, such as control characters and those that turn the direction of a text.
const UNSAFE = /[\p{C}\p{Zl}\p{Zp}]+/gu;

/** A provider's text as it is stored: on one line, well-formed, of at most 200 characters; null where nothing is left. */
export function providerText(text: string | null): string | null {
  const line = (text ?? '').replace(UNSAFE, ' ').trim().slice(0, MAX_TEXT).trim();
  return line.toWellFormed() || null;
}
