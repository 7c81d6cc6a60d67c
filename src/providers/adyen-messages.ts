import { isId } from '../domain/id.ts';
import { cardFrom } from '../domain/payment-card.ts';
import { NO_DETAILS, type ProviderReport, type ReversalReport, amountInCents } from '../domain/provider-report.ts';
import type { Instant, Payment } from '../domain/records.ts';
import { declineOf } from './adyen-failures.ts';
import type { NotificationItem, PaymentLink } from './adyen-objects.ts';
import { type AdyenSettings, adyenMethodOf } from './adyen-settings.ts';
import type { HandoffRequest, PaymentRef, RefundRequest, Signal } from './provider.ts';

/** Longest usual time until Adyen reports the result of a bank debit. */
const PROCESSING_MS = 7 * 24 * 60 * 60_000;
/** Time after which the notification about a used link must have arrived. */
const LOST_CALLBACK_MS = 15 * 60_000;

/**
 * Event codes of a dispute: its status, its revision, and whether Adyen takes or returns the money. All events of a dispute have
 * one PSP reference. The revisions are in the order of a dispute's life, so that the order of arrival does not matter.
 * https://docs.adyen.com/risk-management/disputes-api/dispute-notifications/
 */
const DISPUTES = new Map<string, Pick<ReversalReport, 'status' | 'revision'> & { moves?: 'taken' | 'returned' }>([
  ['REQUEST_FOR_INFORMATION', { status: 'open', revision: 1 }],
  ['NOTIFICATION_OF_CHARGEBACK', { status: 'open', revision: 2 }],
  ['CHARGEBACK', { status: 'open', revision: 3, moves: 'taken' }],
  ['CAPTURE_FAILED', { status: 'lost', revision: 3, moves: 'taken' }],
  ['CHARGEBACK_REVERSED', { status: 'won', revision: 4, moves: 'returned' }],
  ['SECOND_CHARGEBACK', { status: 'lost', revision: 5, moves: 'taken' }],
]);
/**
 * Event codes of a payment that a person has ended in the Customer Area or by a request of another program. The buyer gets the
 * money back, if any was authorised.
 */
const CANCELLATIONS = new Set(['CANCELLATION', 'TECHNICAL_CANCEL', 'CANCEL_OR_REFUND']);
/** Event codes about refunds that failed after Adyen had accepted or paid them. */
const REFUND_FAILURES = new Set(['REFUND_FAILED', 'REFUNDED_REVERSED']);

// Names of brands and fundings that differ from those of other providers.
const BRANDS = new Map([
  ['mc', 'mastercard'],
  ['cup', 'unionpay'],
]);
const FUNDINGS = new Map([
  ['charge', 'credit'],
  // Adyen's spelling.
  ['deffered_debit', 'debit'],
  ['prepaid_reloadable', 'prepaid'],
  ['prepaid_nonreloadable', 'prepaid'],
]);

/**
 * Body of the request for a payment link; undefined if Adyen does not serve the route. No field depends on the time of the
 * request, so that a retry sends the same request.
 */
export function linkRequest(
  { session, payment, returnUrl }: Pick<HandoffRequest, 'session' | 'payment' | 'returnUrl'>,
  {
    merchantAccount,
    country,
    buyerWindowMinutes,
  }: Pick<AdyenSettings, 'merchantAccount' | 'country' | 'buyerWindowMinutes'>,
) {
  const method = adyenMethodOf(payment.route.network);
  if (method === undefined) return undefined;
  const expiresAt = new Date(payment.created + buyerWindowMinutes * 60_000);
  return {
    reference: payment.id,
    amount: dollars(payment.fees.total),
    merchantAccount,
    returnUrl,
    allowedPaymentMethods: [method],
    countryCode: country,
    shopperEmail: session.customerEmail,
    description: session.product,
    expiresAt: expiresAt.toISOString().replace(/\.\d+/, ''),
    // An authorisation counts as paid, so nothing may wait for a later capture.
    captureDelayHours: 0,
  } as const;
}

/** Body of a request for a refund. */
export function refundRequest(
  { refundId, amount }: Pick<RefundRequest, 'refundId' | 'amount'>,
  merchantAccount: string,
) {
  return { merchantAccount, amount: dollars(amount), reference: refundId } as const;
}

export function dollars(value: number) {
  return { currency: 'USD', value } as const;
}

/**
 * True if a buyer has used a link so long ago that the notification about the payment must have arrived. A link without the time of
 * its use counts from the creation of its payment.
 */
export function isOverdue(
  { status, updatedAt }: PaymentLink,
  { created }: Pick<Payment, 'created'>,
  now: Instant,
): boolean {
  const isUsed = status === 'completed' || status === 'paid';
  return isUsed && now - instantOf(updatedAt, created) >= LOST_CALLBACK_MS;
}

/** Report on a payment from its link. A link never proves that money arrived: only a signed notification does. */
export function linkReport(link: PaymentLink, payment: Pick<Payment, 'created'>, now: Instant): ProviderReport {
  const { status, updatedAt } = link;
  if (status === 'active') return { ...NO_DETAILS, state: 'awaiting_buyer' };
  if (status === 'expired') return left('payment link expired');
  // A payment whose notification is lost must not time out, because the buyer would be asked to pay again.
  const isExpected = status === 'paymentPending' || isOverdue(link, payment, now);
  const expectedBy = isExpected ? instantOf(updatedAt, payment.created) + PROCESSING_MS : null;
  return { ...NO_DETAILS, state: 'processing', expectedBy };
}

/** The instant of a time of Adyen; `otherwise` if it gives none. */
function instantOf(time: string | null | undefined, otherwise: Instant): Instant {
  const instant = Date.parse(time ?? '');
  return Number.isNaN(instant) ? otherwise : instant;
}

/**
 * Signals of a verified item; none if the item is about no record of this service. A cancellation fails a payment that is not paid,
 * and is a refund of one that is.
 */
export function signalsOf(item: NotificationItem, now: Instant): Signal[] {
  const signals = [signalOf(item, now)];
  if (CANCELLATIONS.has(item.eventCode) && item.success === 'true') signals.push(refundSignal(item));
  return signals.filter((signal) => signal !== undefined);
}

function signalOf(item: NotificationItem, now: Instant): Signal | undefined {
  const { pspReference, eventCode, success, reason = null } = item;
  const { value, currency } = item.amount;
  const amount = amountInCents(value, currency);
  const isSuccess = success === 'true';
  const ref = refOf(item);

  const dispute = isSuccess ? DISPUTES.get(eventCode) : undefined;
  if (dispute) {
    const { moves, ...state } = dispute;
    const none = amountInCents(0);
    const money = { taken: none, returned: none, fee: none, ...(moves !== undefined && { [moves]: amount }) };
    return ref && { about: 'reversal', ref, reversal: { ...state, ...money, reference: pspReference, reason } };
  }
  if (eventCode === 'REFUND' || (REFUND_FAILURES.has(eventCode) && isSuccess)) return refundSignal(item);
  const report = paymentReport(item, now);
  return ref && report && { about: 'payment', ref, report };
}

function refundSignal(item: NotificationItem): Signal {
  const { pspReference, originalReference, merchantReference, eventCode, success, amount, reason = null } = item;
  return {
    about: 'refund',
    ref: refOf(item) ?? { reference: originalReference ?? '' },
    refund: {
      ours: isId(merchantReference, 'ref') ? merchantReference : null,
      reference: pspReference,
      charge: originalReference || undefined,
      status: REFUND_FAILURES.has(eventCode) || success === 'false' ? 'failed' : 'succeeded',
      amount: amountInCents(amount.value, amount.currency),
      reason,
      ...(CANCELLATIONS.has(eventCode) && { isCancellation: true }),
    },
  };
}

/** Report on a payment from an item; undefined if the item does not change a payment. */
function paymentReport({ eventCode, success, ...item }: NotificationItem, now: Instant): ProviderReport | undefined {
  const { pspReference, amount, reason, eventDate } = item;
  const isSuccess = success === 'true';
  if (CANCELLATIONS.has(eventCode)) return isSuccess ? left(reason || 'the payment was cancelled') : undefined;
  switch (eventCode) {
    case 'AUTHORISATION': {
      const details = { ...NO_DETAILS, card: cardOf(item) };
      if (!isSuccess) return { ...details, state: 'awaiting_buyer', decline: declineOf(reason) };
      const received = amountInCents(amount.value, amount.currency);
      return { ...details, state: 'paid', received, chargeReference: pspReference };
    }
    case 'PENDING':
      return { ...NO_DETAILS, state: 'processing', expectedBy: instantOf(eventDate, now) + PROCESSING_MS };
    default:
      return undefined;
  }
}

/** The card of an item, with the names that other providers use. A brand can be followed by that of a wallet: `visa_applepay`. */
function cardOf({ paymentMethod, additionalData }: Pick<NotificationItem, 'paymentMethod' | 'additionalData'>) {
  const brand = paymentMethod?.toLowerCase().split('_')[0] ?? '';
  const funding = additionalData?.fundingSource?.toLowerCase() ?? '';
  return cardFrom({
    country: additionalData?.issuerCountry,
    brand: BRANDS.get(brand) ?? brand,
    funding: FUNDINGS.get(funding) ?? funding,
  });
}

/** The payment that an item names; undefined if another program or a person requested it. */
function refOf({ merchantReference }: NotificationItem): PaymentRef | undefined {
  return isId(merchantReference, 'pay') ? { paymentId: merchantReference } : undefined;
}

function left(reason: string): ProviderReport {
  return { ...NO_DETAILS, state: 'failed', decline: { code: 'cancelled', source: 'buyer', reason } };
}
