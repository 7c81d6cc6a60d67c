import type { DeclineCode, ProviderFailure, ProviderFault } from '../domain/failure.ts';
import { type PaymentError, readError } from './stripe-objects.ts';

// Failures by Stripe's decline codes and error codes. A code missing from this table counts against the route.
// https://docs.stripe.com/declines/codes, https://docs.stripe.com/error-codes
const FAILURES = new Map<string, [DeclineCode, ProviderFault]>([
  ['insufficient_funds', ['insufficient_funds', 'buyer']],
  ['incorrect_cvc', ['incorrect_cvc', 'buyer']],
  ['invalid_cvc', ['incorrect_cvc', 'buyer']],
  ['expired_card', ['expired_card', 'buyer']],
  ['authentication_required', ['authentication_failed', 'buyer']],
  ['payment_intent_authentication_failure', ['authentication_failed', 'buyer']],
  ['payment_method_customer_decline', ['cancelled', 'buyer']],
  ['payment_intent_payment_attempt_expired', ['cancelled', 'buyer']],
  ['issuer_not_available', ['issuer_unavailable', 'issuer']],
  ['payment_method_provider_timeout', ['issuer_unavailable', 'issuer']],
  ['try_again_later', ['issuer_unavailable', 'issuer']],
  ['processing_error', ['processing_error', 'route']],
  ...declinedBy('buyer', 'incorrect_number invalid_number invalid_expiry_month invalid_expiry_year incorrect_zip'),
  ...declinedBy('buyer', 'incorrect_pin invalid_account account_closed no_account debit_not_authorized'),
  ...declinedBy('issuer', 'card_declined generic_decline do_not_honor call_issuer fraudulent lost_card stolen_card'),
  ...declinedBy('issuer', 'pickup_card restricted_card transaction_not_allowed card_not_supported no_action_taken'),
  ...declinedBy('issuer', 'card_velocity_exceeded withdrawal_count_limit_exceeded security_violation'),
  ...declinedBy('issuer', 'bank_account_declined bank_account_restricted payment_method_provider_decline'),
]);
const REFUND_FAILURES = new Map([
  ['lost_or_stolen_card', "the buyer's card was reported lost or stolen"],
  ['expired_or_canceled_card', "the buyer's card has expired or was cancelled"],
  ['charge_for_pending_refund_disputed', 'the payment is disputed'],
  ['insufficient_funds', 'the balance at Stripe is too low'],
  ['declined', "the buyer's bank declined the refund"],
  ['merchant_request', 'the refund was cancelled at Stripe'],
]);
/** Reasons of final refusals, by the error code that Stripe returns for a refund request. */
const REFUND_REFUSALS = new Map([
  ['charge_already_refunded', 'the payment was refunded at Stripe already'],
  ['charge_disputed', 'the payment is disputed'],
  ['refund_disputed_payment', 'the payment is disputed'],
  ['charge_not_refundable', 'Stripe cannot refund this payment'],
]);

function declinedBy(source: ProviderFault, codes: string): [string, [DeclineCode, ProviderFault]][] {
  return codes.split(' ').map((code) => [code, ['declined', source]]);
}

/** Failure of a payment, from Stripe's error and the failure code of the charge (`chargeCode`), which bank debits have. */
export function declineOf(error: PaymentError, chargeCode: string | null | undefined): ProviderFailure {
  const { type, decline_code: declineCode, code: errorCode } = error;
  const known = [declineCode, errorCode, chargeCode].find((each) => FAILURES.has(each ?? ''));
  const [code, source] = FAILURES.get(known ?? '') ?? ['declined', 'route'];
  return { code, source, reason: declineCode ?? known ?? errorCode ?? type };
}

/** Reason of a failed refund, as a clause. */
export function refundFailure(reason: string | null | undefined): string {
  if (typeof reason !== 'string') return 'Stripe gives no reason';
  return REFUND_FAILURES.get(reason) ?? `Stripe reports ${reason}`;
}

/** Reason, as a clause, why Stripe finally refused a refund; undefined if a later request may succeed. */
export function refundRefusal(status: number, json: unknown): string | undefined {
  const error = readError(json);
  if (status !== 400 || !error) return undefined;
  if (error.param === 'amount') return 'the amount exceeds the rest of the payment';
  return REFUND_REFUSALS.get(error.code ?? '');
}
