import type { DeclineCode, ProviderFailure, ProviderFault } from '../domain/failure.ts';
import { isId } from '../domain/id.ts';
import {
  type Hint,
  NO_DETAILS,
  type ProviderAmount,
  type ProviderReport,
  type ReversalReport,
} from '../domain/provider-report.ts';
import type { RefundOutcome, RefundStatus } from '../domain/refund-record.ts';
import type { PaypalSettings } from './paypal-settings.ts';
import {
  type PaypalCapture,
  type PaypalDispute,
  type PaypalEvent,
  type PaypalMoney,
  type PaypalOrder,
  type PaypalRefund,
  type PaypalResource,
  idOfLink,
} from './paypal-objects.ts';
import type { HandoffRequest, RefundRequest } from './provider.ts';

/** Longest time until PayPal decides a pending capture, such as an eCheck. */
const PENDING_MS = 14 * 24 * 60 * 60_000;
const MAX_TEXT = 127;
const CENTS = 2;

/** Kind of record that an event is about, by the type of the event. */
const EVENTS: Readonly<Record<string, Hint['about']>> = {
  'CHECKOUT.ORDER.APPROVED': 'payment',
  'CHECKOUT.PAYMENT-APPROVAL.REVERSED': 'payment',
  'PAYMENT.CAPTURE.COMPLETED': 'payment',
  'PAYMENT.CAPTURE.PENDING': 'payment',
  'PAYMENT.CAPTURE.DECLINED': 'payment',
  'PAYMENT.CAPTURE.REFUNDED': 'refund',
  'PAYMENT.REFUND.PENDING': 'refund',
  'PAYMENT.REFUND.FAILED': 'refund',
  'PAYMENT.CAPTURE.REVERSED': 'reversal',
  'CUSTOMER.DISPUTE.CREATED': 'reversal',
  'CUSTOMER.DISPUTE.UPDATED': 'reversal',
  'CUSTOMER.DISPUTE.RESOLVED': 'reversal',
};
/** Event types that the webhook at PayPal needs. */
export const PAYPAL_EVENTS = Object.keys(EVENTS);

const PAID = new Set(['COMPLETED', 'REFUNDED', 'PARTIALLY_REFUNDED']);
const UNPAID = new Set(['DECLINED', 'FAILED']);
const AWAITING_BUYER = new Set(['CREATED', 'SAVED', 'PAYER_ACTION_REQUIRED']);
const REFUND_STATUS = new Map<string, RefundStatus>([
  ['COMPLETED', 'succeeded'],
  ['FAILED', 'failed'],
  ['CANCELLED', 'failed'],
]);
const LEFT: ProviderFailure = { code: 'cancelled', source: 'buyer', reason: 'order expired or voided' };

/** Body of a new order. No field depends on the time of the request, so that a retry sends the same request. */
export function orderRequest(
  { session, payment, merchant, returnUrl, cancelUrl }: Omit<HandoffRequest, 'callbackUrl' | 'timeoutMs'>,
  { brandName }: Pick<PaypalSettings, 'brandName'>,
) {
  return {
    intent: 'CAPTURE',
    purchase_units: [
      {
        custom_id: payment.id,
        description: textOf(session.product),
        amount: moneyOf(payment.fees.total),
      },
    ],
    payment_source: {
      paypal: {
        experience_context: {
          brand_name: textOf(brandName ?? merchant),
          user_action: 'PAY_NOW',
          shipping_preference: 'NO_SHIPPING',
          return_url: returnUrl,
          cancel_url: cancelUrl,
        },
      },
    },
  } as const;
}

/** Body of a new refund. */
export function refundRequest({ refundId, amount }: Pick<RefundRequest, 'refundId' | 'amount'>) {
  return { amount: moneyOf(amount), custom_id: refundId } as const;
}

/** Text of at most the length that PayPal accepts. */
function textOf(text: string): string {
  return text.slice(0, MAX_TEXT).toWellFormed();
}

/** Amount in cents as PayPal writes US dollars. */
function moneyOf(cents: number): PaypalMoney {
  const digits = String(cents).padStart(CENTS + 1, '0');
  return { currency_code: 'USD', value: `${digits.slice(0, -CENTS)}.${digits.slice(-CENTS)}` };
}

export function amountOf({ currency_code: currency, value }: PaypalMoney): ProviderAmount {
  const [whole = '', fraction = ''] = value.split('.');
  return { units: BigInt(whole + fraction), currency, exponent: fraction.length };
}

/** Whether an order asks for the total of a payment. */
export function asksFor(order: PaypalOrder, cents: number): boolean {
  const asked = order.purchase_units[0]!.amount;
  return asked?.currency_code === 'USD' && asked.value === moneyOf(cents).value;
}

/** Id of our payment in an order; undefined if another program created the order. */
export function paymentIdOf({ purchase_units: [unit] }: PaypalOrder): string | undefined {
  return ownPaymentId(unit?.custom_id);
}

function ownPaymentId(named: string | null | undefined): string | undefined {
  return typeof named === 'string' && isId(named, 'pay') ? named : undefined;
}

/** URL of the page on which the buyer approves an order; null if PayPal gives none. */
export function pageOf({ links }: PaypalOrder): string | null {
  return links?.find(({ rel }) => rel === 'payer-action' || rel === 'approve')?.href ?? null;
}

/** The capture that decides about an order: one that has taken the money, or can still take it, before one that failed. */
export function captureOf({ purchase_units: [unit] }: PaypalOrder): PaypalCapture | undefined {
  const captures = unit!.payments?.captures ?? [];
  const paid = captures.find(({ status }) => PAID.has(status));
  return paid ?? captures.find(({ status }) => !UNPAID.has(status)) ?? captures.at(-1);
}

/** Report on a payment from its order. A completed order is not money: only its capture is. */
export function paymentReport(order: PaypalOrder, settings: Pick<PaypalSettings, 'settlesAt'>): ProviderReport {
  const { status, update_time: updated } = order;
  if (AWAITING_BUYER.has(status)) return { ...NO_DETAILS, state: 'awaiting_buyer' };
  // A buyer can approve an order again after the capture was declined. The time distinguishes the two approvals.
  if (status === 'APPROVED') return { ...NO_DETAILS, state: 'requires_capture', revision: millisecondsOf(updated) };
  if (status === 'VOIDED') return { ...NO_DETAILS, state: 'failed', decline: LEFT };
  const capture = status === 'COMPLETED' ? captureOf(order) : undefined;
  if (!capture) return { ...NO_DETAILS, state: 'processing' };
  return captureReport(capture, settings);
}

/** Report on a payment from its capture. */
export function captureReport(
  capture: PaypalCapture,
  { settlesAt }: Pick<PaypalSettings, 'settlesAt'>,
): ProviderReport {
  const { id, status, amount, seller_receivable_breakdown: breakdown } = capture;
  const details = { ...NO_DETAILS, chargeReference: id };
  const created = millisecondsOf(capture.create_time);
  if (PAID.has(status)) {
    const fee = breakdown?.paypal_fee ? amountOf(breakdown.paypal_fee) : null;
    // The cost of a payment cannot be negative.
    const cost = fee && fee.units >= 0n ? fee : null;
    const settledAt = settlesAt === 'capture' ? millisecondsOf(capture.update_time ?? capture.create_time) : null;
    return { ...details, state: 'paid', received: amountOf(amount), cost, settledAt };
  }
  if (UNPAID.has(status)) {
    return {
      ...details,
      state: 'failed',
      decline: { code: 'declined', source: 'issuer', reason: `capture ${status}` },
    };
  }
  const expectedBy = status === 'PENDING' && created !== null ? created + PENDING_MS : null;
  return { ...details, state: 'processing', expectedBy };
}

/** Report on a payment that has no capture, and whose order PayPal has removed. The service never captures it, so nobody can pay it. */
export const EXPIRED: ProviderReport = { ...NO_DETAILS, state: 'failed', decline: LEFT };

// Failures of a capture by PayPal's issue. After a soft decline, the buyer can choose another way to pay at PayPal.
// https://developer.paypal.com/api/rest/reference/orders/v2/errors
const SOFT_DECLINES = new Set(['INSTRUMENT_DECLINED', 'PAYER_ACTION_REQUIRED', 'REDIRECT_PAYER_FOR_ALTERNATE_FUNDING']);
const FAILURES = new Map<string, [DeclineCode, ProviderFault]>([
  ['PAYER_ACCOUNT_LOCKED_OR_CLOSED', ['declined', 'buyer']],
  ['PAYER_ACCOUNT_RESTRICTED', ['declined', 'buyer']],
  ['PAYER_CANNOT_PAY', ['declined', 'issuer']],
  ['TRANSACTION_REFUSED', ['declined', 'issuer']],
  ['COMPLIANCE_VIOLATION', ['declined', 'route']],
  ['PAYEE_ACCOUNT_INVALID', ['declined', 'route']],
  ['PAYEE_ACCOUNT_LOCKED_OR_CLOSED', ['declined', 'route']],
  ['PAYEE_ACCOUNT_NOT_VERIFIED', ['declined', 'route']],
  ['PAYEE_ACCOUNT_RESTRICTED', ['declined', 'route']],
  ['PAYEE_BLOCKED_TRANSACTION', ['declined', 'route']],
  ['TRANSACTION_BLOCKED_BY_PAYEE', ['declined', 'route']],
  ['ORDER_EXPIRED', ['cancelled', 'buyer']],
]);

/** Report on a payment whose capture PayPal has refused; undefined if a later request may succeed. */
export function refusedCapture(issue: string): ProviderReport | undefined {
  if (issue === 'ORDER_NOT_APPROVED') return { ...NO_DETAILS, state: 'awaiting_buyer' };
  if (SOFT_DECLINES.has(issue)) {
    return { ...NO_DETAILS, state: 'awaiting_buyer', decline: { code: 'declined', source: 'issuer', reason: issue } };
  }
  const [code, source] = FAILURES.get(issue) ?? [];
  return code && source && { ...NO_DETAILS, state: 'failed', decline: { code, source, reason: issue } };
}

const REFUND_REFUSALS = new Map([
  ['CAPTURE_FULLY_REFUNDED', 'the payment was refunded at PayPal already'],
  ['REFUND_AMOUNT_EXCEEDED', 'the amount exceeds the rest of the payment'],
  ['REFUND_TIME_LIMIT_EXCEEDED', 'PayPal refunds a payment for at most 180 days'],
  ['REFUND_NOT_ALLOWED', 'PayPal does not allow a refund of this payment'],
  ['PARTIAL_REFUND_NOT_ALLOWED', 'PayPal allows only a full refund of this payment'],
  ['MAX_NUMBER_OF_REFUNDS_EXCEEDED', 'the payment has too many refunds'],
  ['REFUND_NOT_PERMITTED_DUE_TO_CHARGEBACK', 'the payment is disputed'],
  ['TRANSACTION_DISPUTED', 'the payment is disputed'],
]);

/** Reason, as a clause, why PayPal finally refused a refund; undefined if a later request may succeed. */
export function refundRefusal(issue: string | undefined): string | undefined {
  return issue === undefined ? undefined : REFUND_REFUSALS.get(issue);
}

/** Our own id of a refund; null if a person made the refund at PayPal. */
export function refundIdOf({ custom_id: named }: PaypalRefund): string | null {
  return typeof named === 'string' && isId(named, 'ref') ? named : null;
}

export function refundOutcome(refund: PaypalRefund): RefundOutcome & { reference: string } {
  const status = REFUND_STATUS.get(refund.status) ?? 'pending';
  const { id: reference, seller_payable_breakdown: deduction } = refund;
  if (status !== 'failed')
    return { status, deducted: typeof deduction === 'object' && deduction !== null, reason: null, reference };
  return { status, reason: `PayPal reports ${refund.status_details?.reason ?? refund.status}`, reference };
}

/** Hint for a verified event; null if the event is about no record of this service, undefined if its object cannot be read. */
export function hintOf({ event_type: type, resource }: PaypalEvent): Hint | null | undefined {
  const about = Object.hasOwn(EVENTS, type) ? EVENTS[type] : undefined;
  if (about === undefined) return null;
  if (resource === null) return undefined;
  const { purchase_units: units, custom_id: named } = resource;
  if (about === 'payment' && ownPaymentId(units ? units[0]?.custom_id : named) === undefined) return null;
  const id = about === 'payment' ? orderIdOf(type, resource) : (resource.dispute_id ?? resource.id);
  return id === undefined ? undefined : { about, id };
}

/** Id of the order of our payment that an event is about. */
function orderIdOf(type: string, resource: PaypalResource): string | undefined {
  if (type === 'CHECKOUT.ORDER.APPROVED') return resource.id;
  const related = resource.order_id ?? resource.supplementary_data?.related_ids?.order_id;
  return related ?? idOfLink(resource.links, 'up', 'orders');
}

const LOST = new Set(['RESOLVED_BUYER_FAVOUR', 'ACCEPTED']);

/** Report on a dispute. `taken` is the net amount that its fund movements have taken from the merchant so far. */
export function reversalReport(dispute: PaypalDispute): ReversalReport {
  const { dispute_id: reference, status, reason, dispute_amount: disputed, dispute_outcome: outcome } = dispute;
  const { fund_movements: funds, money_movements: earlier } = dispute;
  const listed = funds ?? (earlier ?? []).map((each) => ({ ...each, party: each.affected_party }));
  const movements = listed.filter(({ party }) => party === 'SELLER');
  const isFee = (movement: { reason?: string | null | undefined }) => movement.reason?.endsWith('FEE') ?? false;
  const isClosed = status === 'RESOLVED';
  const isLost = isClosed && LOST.has(outcome?.outcome_code ?? '');
  const net = netOf(movements.filter((each) => !isFee(each)));
  // Not every dispute lists its movements. A lost one has taken what PayPal refunded to the buyer.
  const taken = movements.length === 0 && isLost ? amountOf(outcome?.amount_refunded ?? disputed) : net;
  const updated = millisecondsOf(dispute.update_time ?? dispute.create_time)!;
  return {
    reference,
    status: isClosed ? (isLost || taken.units > 0n ? 'lost' : 'won') : 'open',
    revision: updated + movements.length,
    taken,
    isAtMostRest: movements.length === 0,
    fee: netOf(movements.filter(isFee)),
    reason: reason ?? null,
  };

  function netOf(found: readonly { amount: PaypalMoney; type: string }[]): ProviderAmount {
    const amounts = found.map(({ amount, type }) => ({ ...amountOf(amount), isCredit: type === 'CREDIT' }));
    const { currency, exponent } = amounts[0] ?? amountOf(disputed);
    return {
      units: amounts.reduce((sum, each) => sum + (each.isCredit ? -each.units : each.units), 0n),
      currency,
      exponent,
    };
  }
}

/** Report on a payment that a bank has reversed without a dispute at PayPal. */
export function bankReversal({ id: reference, amount }: PaypalRefund): ReversalReport {
  const taken = amountOf(amount);
  return { reference, status: 'lost', revision: 1, taken, fee: { ...taken, units: 0n }, reason: null };
}

function millisecondsOf(time: string | null | undefined): number | null {
  return typeof time === 'string' ? Date.parse(time) : null;
}
