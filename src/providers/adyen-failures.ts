import type { DeclineCode, ProviderFailure, ProviderFault } from '../domain/failure.ts';

// Failures by Adyen's refusal reasons in small letters. A reason missing from this table counts against the route.
// https://docs.adyen.com/development-resources/refusal-reasons/
const FAILURES = new Map<string, [DeclineCode, ProviderFault]>([
  ['not enough balance', ['insufficient_funds', 'buyer']],
  ['withdrawal amount exceeded', ['insufficient_funds', 'buyer']],
  ['cvc declined', ['incorrect_cvc', 'buyer']],
  ['expired card', ['expired_card', 'buyer']],
  ['3d not authenticated', ['authentication_failed', 'buyer']],
  ['authentication required', ['authentication_failed', 'buyer']],
  ['cancelled', ['cancelled', 'buyer']],
  ['shopper cancelled', ['cancelled', 'buyer']],
  ['issuer unavailable', ['issuer_unavailable', 'issuer']],
  ['acquirer error', ['processing_error', 'route']],
  ...declinedBy('buyer', ['invalid card number', 'invalid pin', 'pin tries exceeded', 'avs declined']),
  ...declinedBy('buyer', ['no checking account available on card', 'no savings account available on card']),
  ...declinedBy('buyer', ['closed account', 'invalid account']),
  ...declinedBy('issuer', ['refused', 'declined non generic', 'blocked card', 'restricted card', 'referral']),
  ...declinedBy('issuer', ['issuer suspected fraud', 'transaction not permitted', 'withdrawal count exceeded']),
  ...declinedBy('issuer', ['revocation of auth', 'mobile pin required', 'contactless fallback']),
]);
// Reasons of final refusals of a refund request, by the error code of an answer with the status 422. Other refusals can be a matter of
// settings at Adyen, so the request is repeated. https://docs.adyen.com/development-resources/error-codes/
const REFUND_REFUSALS = new Map([
  ['137', 'Adyen refused the amount'],
  ['138', 'Adyen does not support the currency'],
  ['167', 'Adyen does not know the payment'],
]);

function declinedBy(source: ProviderFault, reasons: string[]): [string, [DeclineCode, ProviderFault]][] {
  return reasons.map((reason) => [reason, ['declined', source]]);
}

/** Failure of a payment, from the reason of a refused authorisation. */
export function declineOf(reason: string | null | undefined): ProviderFailure {
  const [code, source] = FAILURES.get((reason ?? '').trim().toLowerCase()) ?? ['declined', 'route'];
  return { code, source, reason: reason ?? null };
}

/** Reason, as a clause, why Adyen finally refused a refund; undefined if a later request may succeed. */
export function refundRefusal(status: number, errorCode: string | null | undefined): string | undefined {
  return status === 422 ? REFUND_REFUSALS.get(errorCode ?? '') : undefined;
}
