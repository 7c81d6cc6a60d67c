/** Failure codes that a provider can report. An adapter maps an unknown provider code to `declined`. */
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

/** Sources of failure that a provider can report. An unknown cause counts against the route. */
export const PROVIDER_FAULTS = ['buyer', 'issuer', 'route'] as const;
export type ProviderFault = (typeof PROVIDER_FAULTS)[number];

/** Sources of failure. `gateway`: this service did not hand the payment off, for example because its process ended. */
export const FAILURE_SOURCES = [...PROVIDER_FAULTS, 'gateway'] as const;
export type FailureSource = (typeof FAILURE_SOURCES)[number];

/** Failure reported by a provider. `reason` is the provider's text, verbatim; null if the provider gave none. */
export interface ProviderFailure {
  code: DeclineCode;
  source: ProviderFault;
  reason: string | null;
}

/** Failure of a payment. */
export interface Failure {
  code: FailureCode;
  source: FailureSource;
  reason: string | null;
}

/** Failure of a payment that was not confirmed in time. Its source becomes `buyer` if the provider still waits for the buyer. */
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
  amount_mismatch: 'The provider reported a wrong amount, and the right amount did not arrive in time.',
  abandoned: 'The buyer cancelled the payment, or chose another payment method.',
  superseded: 'The buyer paid with another payment of the same session.',
};

/** The failure as a sentence for a person. */
export function failureMessage({ code, source }: Pick<Failure, 'code' | 'source'>): string {
  const message = MESSAGES[code];
  return typeof message === 'string' ? message : (message[source] ?? message.route)!;
}

const MAX_TEXT = 200;
// Characters that could control a terminal or a page: control, format and other invisible characters, and line separators.
const UNSAFE = /[\p{C}\p{Zl}\p{Zp}]+/gu;

/** A provider's text for storage: one line, well-formed, at most 200 characters; null if nothing is left. */
export function providerText(text: string | null): string | null {
  const line = (text ?? '').replace(UNSAFE, ' ').trim().slice(0, MAX_TEXT).trim();
  return line.toWellFormed() || null;
}
