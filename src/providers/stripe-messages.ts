import { z } from 'zod';
import type { ProviderFailure } from '../domain/failure.ts';
import { isId } from '../domain/id.ts';
import { cardFrom } from '../domain/payment-card.ts';
import {
  type Hint,
  NO_DETAILS,
  type PayoutEntry,
  type ProviderAmount,
  type ProviderReport,
  type ReversalReport,
} from '../domain/provider-report.ts';
import type { RefundOutcome, RefundStatus } from '../domain/refund-record.ts';
import type { HandoffRequest, RefundRequest } from './provider.ts';
import { declineOf, refundFailure } from './stripe-failures.ts';
import type {
  BalanceMovement,
  CheckoutSession,
  StripeDispute,
  StripeEvent,
  StripePayout,
  StripeRefund,
} from './stripe-objects.ts';
import { type StripeSettings, stripeMethodOf } from './stripe-settings.ts';

/** Longest time until Stripe reports the result of a bank debit. */
const PROCESSING_MS = 10 * 24 * 60 * 60_000;

/** Kind of record that an event is about, by the type of the event. */
const EVENTS: Readonly<Record<string, Hint['about']>> = {
  'checkout.session.completed': 'payment',
  'checkout.session.async_payment_succeeded': 'payment',
  'checkout.session.async_payment_failed': 'payment',
  'checkout.session.expired': 'payment',
  'refund.created': 'refund',
  'refund.updated': 'refund',
  'refund.failed': 'refund',
  'charge.dispute.created': 'reversal',
  'charge.dispute.funds_withdrawn': 'reversal',
  'charge.dispute.funds_reinstated': 'reversal',
  'charge.dispute.closed': 'reversal',
  'payout.paid': 'payout',
  'payout.failed': 'payout',
};
/** Event types that the webhook endpoint at Stripe needs. */
export const STRIPE_EVENTS = Object.keys(EVENTS);

const REFUND_STATUS = new Map<string, RefundStatus>([
  ['succeeded', 'succeeded'],
  ['failed', 'failed'],
  ['canceled', 'failed'],
]);
// https://docs.stripe.com/currencies#zero-decimal and #three-decimal
const EXPONENTS = new Map([
  ...'BIF CLP DJF GNF JPY KMF KRW MGA PYG RWF VND VUV XAF XOF XPF'.split(' ').map((code) => [code, 0] as const),
  ...'BHD JOD KWD OMR TND'.split(' ').map((code) => [code, 3] as const),
]);
const CLOSED_DISPUTE = new Map<string, ReversalReport['status']>([
  ['won', 'won'],
  ['lost', 'lost'],
  // The issuer's inquiry ended without a chargeback, or the dispute was prevented before Stripe took money.
  ['warning_closed', 'won'],
  ['prevented', 'won'],
]);

type FormValue = string | number | boolean | readonly FormValue[] | { readonly [name: string]: FormValue };

/** Parameters in the form encoding of Stripe: `a[b][0]=c`. */
export function formOf(parameters: { readonly [name: string]: FormValue }): string {
  const form = new URLSearchParams();
  const add = (name: string, value: FormValue): void => {
    if (typeof value !== 'object') return form.append(name, String(value));
    for (const [key, inner] of Object.entries(value)) add(name === '' ? key : `${name}[${key}]`, inner);
  };
  add('', parameters);
  return form.toString();
}

/**
 * Parameters of a new Checkout Session; undefined if Stripe does not serve the route. No parameter depends on the time of the
 * request, so that a retry sends the same request.
 */
export function sessionParams(
  { session, payment, returnUrl, cancelUrl }: Pick<HandoffRequest, 'session' | 'payment' | 'returnUrl' | 'cancelUrl'>,
  { buyerWindowMinutes, adaptivePricing }: Pick<StripeSettings, 'buyerWindowMinutes' | 'adaptivePricing'>,
) {
  const method = stripeMethodOf(payment.route.network)?.type;
  if (method === undefined) return undefined;
  const line = (name: string, amount: number) => ({
    quantity: 1,
    price_data: { currency: 'usd', unit_amount: amount, product_data: { name } },
  });
  const { buyerFee } = payment.fees;
  return {
    mode: 'payment',
    ui_mode: 'hosted_page',
    line_items: [line(session.product, payment.amount), ...(buyerFee > 0 ? [line('Service fee', buyerFee)] : [])],
    allowed_payment_method_types: [method],
    // Verification by micro-deposits would delay the debit by days.
    ...(method === 'us_bank_account' && {
      payment_method_options: { us_bank_account: { verification_method: 'instant' as const } },
    }),
    // Always sent; otherwise a setting in Stripe's dashboard would decide.
    adaptive_pricing: { enabled: adaptivePricing },
    client_reference_id: payment.id,
    metadata: { payment: payment.id },
    payment_intent_data: { metadata: { payment: payment.id } },
    customer_email: session.customerEmail,
    success_url: returnUrl,
    cancel_url: cancelUrl,
    expires_at: Math.floor(payment.created / 1000) + buyerWindowMinutes * 60,
  } as const;
}

/** Parameters of a new refund. */
export function refundParams({ refundId, payment, amount }: RefundRequest, paymentIntent: string) {
  return { payment_intent: paymentIntent, amount, metadata: { refund: refundId, payment: payment.id } } as const;
}

/**
 * Id of our payment in a Checkout Session; undefined if another program created the session. The metadata must contain the id
 * too, because a buyer can set `client_reference_id` in the URL of a payment link of the same account.
 */
export function paymentIdOf(object: Pick<CheckoutSession, 'client_reference_id' | 'metadata'>): string | undefined {
  const paymentId = object.metadata?.['payment'];
  if (paymentId === undefined || !isId(paymentId, 'pay')) return undefined;
  return object.client_reference_id === paymentId ? paymentId : undefined;
}

/** Id of the PaymentIntent of a Checkout Session; null before the buyer tries to pay. */
export function intentIdOf({ payment_intent: found }: CheckoutSession): string | null {
  return (typeof found === 'object' ? found?.id : found) ?? null;
}

/** Hint for a verified event; undefined if the event is about no record of this service. */
export function hintOf({ type, data: { object } }: StripeEvent): Hint | undefined {
  const about = Object.hasOwn(EVENTS, type) ? EVENTS[type] : undefined;
  if (about === undefined || object.id === undefined) return undefined;
  return about === 'payment' && paymentIdOf(object) === undefined ? undefined : { about, id: object.id };
}

/** Report on a payment, from a Checkout Session whose `payment_intent.latest_charge.balance_transaction` is expanded. */
export function paymentReport(session: CheckoutSession): ProviderReport {
  const found = typeof session.payment_intent === 'object' ? session.payment_intent : undefined;
  const charge = typeof found?.latest_charge === 'object' ? found.latest_charge : undefined;
  const report: ProviderReport = {
    ...NO_DETAILS,
    state: 'processing',
    decline: found?.last_payment_error ? declineOf(found.last_payment_error, charge?.failure_code) : null,
    chargeReference: intentIdOf(session),
    card: cardFrom(charge?.payment_method_details?.card ?? {}),
  };
  if (session.payment_status === 'paid') {
    const fee = typeof charge?.balance_transaction === 'object' ? charge.balance_transaction : undefined;
    const cost = fee ? amountOf(fee.fee, fee.currency) : null;
    return {
      ...report,
      state: 'paid',
      decline: null,
      received: amountOf(session.amount_total, session.currency),
      cost,
    };
  }
  if (session.status === 'open') return { ...report, state: 'awaiting_buyer' };
  if (session.status === 'expired') {
    const left: ProviderFailure = { code: 'cancelled', source: 'buyer', reason: 'checkout session expired' };
    return { ...report, state: 'failed', decline: report.decline ?? left };
  }
  if (session.status !== 'complete') return report;
  if (found?.status === 'processing') {
    return { ...report, decline: null, expectedBy: (charge?.created ?? session.created) * 1000 + PROCESSING_MS };
  }
  if (found?.status === 'requires_payment_method' || found?.status === 'canceled')
    return { ...report, state: 'failed' };
  return report;
}

/** Our own id of a refund; null if another program or a person created the refund. */
export function refundIdOf({ metadata }: StripeRefund): string | null {
  const refundId = metadata?.['refund'];
  return refundId !== undefined && isId(refundId, 'ref') ? refundId : null;
}

export function refundOutcome({
  id: reference,
  status,
  balance_transaction: deduction,
  failure_reason: reason,
}: StripeRefund): RefundOutcome & { reference: string } {
  const known = REFUND_STATUS.get(status ?? '') ?? 'pending';
  if (known !== 'failed') return { status: known, deducted: typeof deduction === 'string', reason: null, reference };
  return { status: known, reason: refundFailure(reason), reference };
}

/** Report on a dispute. `taken` is the net amount that its balance transactions have taken so far. */
export function reversalReport(found: StripeDispute): ReversalReport {
  const { id: reference, balance_transactions: movements, reason } = found;
  const closed = CLOSED_DISPUTE.get(found.status);
  const currency = movements[0]?.currency ?? found.currency;
  return {
    reference,
    status: closed ?? 'open',
    // A movement counts more than the closing, because the bank can take the money of a won dispute again, which reopens it.
    revision: 2 * movements.length + (closed ? 1 : 0),
    taken: amountOf(
      movements.reduce((sum, { amount }) => sum - amount, 0),
      currency,
    ),
    fee: amountOf(
      movements.reduce((sum, { fee }) => sum + fee, 0),
      currency,
    ),
    reason: reason ?? null,
  };
}

const MONEY_IN = new Set(['charge', 'payment']);
const movedObject = z.object({ payment_intent: z.string() });

/** Payout entry of a balance transaction, and the PaymentIntent (`reference`) that it is about; undefined if it has none. */
export function payoutEntry(
  { id, net, currency, type, source }: BalanceMovement,
  found: StripePayout,
): { reference: string; entry: PayoutEntry } | undefined {
  const { data } = movedObject.safeParse(source);
  if (!data) return undefined;
  const moved = { id, net: amountOf(net, currency), isCharge: MONEY_IN.has(type) };
  const entry = { payout: found.id, settledAt: found.arrival_date * 1000, amount: null, moved };
  return { reference: data.payment_intent, entry };
}

/** Amount of `units` in the smallest unit of the currency. */
export function amountOf(units: number, currency: string): ProviderAmount {
  const code = currency.toUpperCase();
  return { units: BigInt(units), currency: code, exponent: EXPONENTS.get(code) ?? 2 };
}
