import {
  type Decision,
  type Effect,
  changed,
  leadingPayment,
  pendingPayment,
  unchanged,
  withPayment,
} from './checkout-state.ts';
import { type ProviderEvent, receiveMoney } from './checkout.ts';
import { type LedgerEntry, type Posting, posting } from './ledger.ts';
import type { Cents } from './money.ts';
import { CURRENCY, type Checkout, type Instant, type Payment } from './records.ts';
import { returnMoney, surplusRefund, withRefund } from './refund-decisions.ts';
import { leftOf } from './refund.ts';
import type { Environment } from './route.ts';

/**
 * - `surplus`: real money for a session that another payment has paid.
 * - `amount_mismatch`, `currency_mismatch`, `environment_mismatch`, `unknown_payment`: a provider says that it took money,
 *   which was not booked since it is not what was asked for.
 */
export type DiscrepancyKind =
  'surplus' | 'amount_mismatch' | 'currency_mismatch' | 'environment_mismatch' | 'unknown_payment';
export type DiscrepancyStatus = 'open' | 'resolved';
/** `refund`: the buyer gets the money back. `accept`: it is taken as it is, or only closed where nothing can be booked. */
export type DiscrepancyAction = 'refund' | 'accept';
/** `paid_in_full`: the right amount came after all. */
export type Resolution = 'refunded' | 'accepted' | 'paid_in_full';

export const DISCREPANCY_KINDS: readonly DiscrepancyKind[] = [
  'surplus',
  'amount_mismatch',
  'currency_mismatch',
  'environment_mismatch',
  'unknown_payment',
];
export const DISCREPANCY_STATUSES: readonly DiscrepancyStatus[] = ['open', 'resolved'];
export const RESOLUTIONS: readonly Resolution[] = ['refunded', 'accepted', 'paid_in_full'];

/** Money that is not where it should be, until somebody has said what becomes of it. */
export interface Discrepancy {
  id: string;
  /** That of the session. */
  environment: Environment;
  kind: DiscrepancyKind;
  status: DiscrepancyStatus;
  version: number;
  sessionId: string;
  customerId: string;
  /** The payment of ours that it is about; null where there is none. */
  paymentId: string | null;
  /** What makes it the same money when it is reported again: the payment as its provider named it, or the event. */
  subject: string;
  /** Null where nobody wrote it down. */
  provider: string | null;
  /** The provider's id of the message that told of it; null for surplus money. */
  eventId: string | null;
  /** Cents of the session's amount, without the buyer's fee: what was to come, and what came. */
  expected: Cents;
  received: Cents;
  /** Null where nobody wrote it down. */
  currency: string | null;
  /** Whether a refund of it is under way. */
  refunding: boolean;
  /** The newest refund of it. */
  refundId: string | null;
  resolution: Resolution | null;
  note: string | null;
  created: Instant;
  resolvedAt: Instant | null;
}

/** What an operator can do about it now. */
export function actionsOf(discrepancy: Discrepancy): DiscrepancyAction[] {
  if (discrepancy.status === 'resolved' || discrepancy.refunding) return [];
  return isBookable(discrepancy) ? ['refund', 'accept'] : ['accept'];
}

/**
 * Whether there is money that can be booked: that of another currency or environment, or of no payment of ours, can not,
 * and of some words nothing came.
 */
export function isBookable({ kind, paymentId, received }: Discrepancy): boolean {
  return (kind === 'surplus' || kind === 'amount_mismatch') && paymentId !== null && received > 0;
}

type Told = { provider: string; eventId: string };

/** What a verified message leaves to be resolved; undefined where nothing. `next` is the checkout as the message left it. */
export function discrepancyOf(
  next: Checkout,
  outcome: string,
  effects: readonly Effect[],
  event: ProviderEvent,
  { provider, eventId }: Told,
  now: Instant,
): Omit<Discrepancy, 'id'> | undefined {
  const { session } = next;
  const shared = {
    environment: session.environment,
    status: 'open' as const,
    version: 1,
    sessionId: session.id,
    customerId: session.customerId,
    provider,
    refunding: false,
    refundId: null,
    resolution: null,
    note: null,
    created: now,
    resolvedAt: null,
  };
  const twice = surplusBooked(next, effects);
  if (twice) {
    const about = { paymentId: twice.id, subject: twice.id, eventId: null };
    return { ...shared, ...about, kind: 'surplus', expected: 0, received: twice.amount, currency: CURRENCY };
  }
  if (event.status !== 'paid' || !isMismatch(outcome)) return undefined;
  const named = next.payments.find((payment) => payment.id === event.paymentId);
  const meant = event.paymentId === null ? (pendingPayment(next) ?? leadingPayment(next)) : named;
  return {
    ...shared,
    kind: outcome === 'amount_mismatch' && event.currency !== CURRENCY ? 'currency_mismatch' : outcome,
    paymentId: meant?.id ?? null,
    subject: event.paymentId ?? eventId,
    eventId,
    expected: session.amount,
    received: event.amount,
    currency: event.currency,
  };
}

function isMismatch(outcome: string): outcome is 'amount_mismatch' | 'environment_mismatch' | 'unknown_payment' {
  return outcome === 'amount_mismatch' || outcome === 'environment_mismatch' || outcome === 'unknown_payment';
}

function surplusBooked({ payments }: Checkout, effects: readonly Effect[]): Payment | undefined {
  const booked = effects.flatMap((effect) => (effect.type === 'post' ? [effect.posting] : []));
  const paid = booked.find(({ kind }) => kind === 'paid');
  return payments.find(({ id, surplus }) => surplus && id === paid?.paymentId);
}

/** How a decision about a discrepancy ended; `closed` books nothing. */
export type Resolved = 'accepted' | 'refunding' | 'closed' | 'already_paid' | 'too_little' | 'nothing_left';

/** The money is taken as it is. */
export function acceptMoney(
  checkout: Checkout,
  discrepancy: Discrepancy,
  refundId: string,
  now: Instant,
): Decision<Resolved> {
  const payment = paymentOf(checkout, discrepancy);
  if (!payment) return unchanged(checkout, 'closed');
  if (discrepancy.kind === 'surplus') return keepSurplus(checkout, payment, discrepancy, now);
  // It was paid otherwise: there is nothing left to book, only to be closed.
  if (checkout.session.status === 'paid') {
    if (payment.status !== 'paid') return unchanged(checkout, 'already_paid');
    return discrepancy.refundId === null
      ? unchanged(checkout, 'closed')
      : takeBack(checkout, payment, discrepancy, now);
  }
  const missing = discrepancy.expected - discrepancy.received;
  if (missing > payment.fees.merchantNet) return unchanged(checkout, 'too_little');

  const paid = receiveMoney(checkout, checkout, { ...payment, shortfall: missing }, { refundId }, now);
  // A refund that failed has left it booked as the buyer's.
  const owed = discrepancy.refundId === null ? 0 : cameFor(payment, discrepancy);
  const adjustment = book(discrepancy, 'adjustment', payment, now, [
    { account: 'provider_clearing', amount: -missing - owed },
    { account: 'merchant_payable', amount: missing },
    { account: 'buyer_refunds_payable', amount: owed },
  ]);
  return { outcome: 'accepted', next: paid.next, effects: [...paid.effects, ...posted(adjustment)] };
}

/** The buyer gets the money back. */
export function refundMoney(
  checkout: Checkout,
  discrepancy: Discrepancy,
  refundId: string,
  now: Instant,
): Decision<Resolved> {
  const payment = paymentOf(checkout, discrepancy);
  if (!payment) return unchanged(checkout, 'closed');
  if (discrepancy.kind === 'surplus') {
    const amount = leftOf(payment).total;
    if (amount <= 0) return unchanged(checkout, 'nothing_left');
    const { next, effects } = withRefund(checkout, payment, { ...surplusRefund(payment, refundId), amount }, now);
    return changed(checkout, next, 'refunding', effects);
  }
  if (payment.status === 'paid') return unchanged(checkout, 'already_paid');
  const amount = cameFor(payment, discrepancy);
  const order = { refundId, paymentId: payment.id, amount, idempotencyKey: null, requestHash: null };
  const returned = returnMoney(checkout, order, now);
  if (discrepancy.refundId !== null) return { ...returned, outcome: 'refunding' };
  const booked = book(discrepancy, 'received', payment, now, [
    { account: 'provider_clearing', amount },
    { account: 'buyer_refunds_payable', amount: -amount },
  ]);
  return { outcome: 'refunding', next: returned.next, effects: [...posted(booked), ...returned.effects] };
}

/** What came was booked as the buyer's for a refund that failed, and is part of what has paid the payment since. */
function takeBack(checkout: Checkout, payment: Payment, about: Discrepancy, now: Instant): Decision<Resolved> {
  const amount = cameFor(payment, about);
  const booked = book(about, 'adjustment', payment, now, [
    { account: 'buyer_refunds_payable', amount },
    { account: 'provider_clearing', amount: -amount },
  ]);
  return changed(checkout, checkout, 'closed', posted(booked));
}

/** The merchant keeps what came twice: what is left of it is owed to the merchant, no longer to the buyer. */
function keepSurplus(checkout: Checkout, payment: Payment, about: Discrepancy, now: Instant): Decision<Resolved> {
  const { total } = leftOf(payment);
  if (total <= 0) return unchanged(checkout, 'nothing_left');
  const adjustment = book(about, 'adjustment', payment, now, [
    { account: 'buyer_refunds_payable', amount: total },
    { account: 'merchant_payable', amount: -total },
  ]);
  return changed(checkout, withPayment(checkout, { ...payment, kept: true }), 'accepted', posted(adjustment));
}

function paymentOf({ payments }: Checkout, discrepancy: Discrepancy): Payment | undefined {
  return isBookable(discrepancy) ? payments.find(({ id }) => id === discrepancy.paymentId) : undefined;
}

/** What the provider took: all that the buyer was asked for, less what did not come. */
function cameFor({ fees }: Payment, { expected, received }: Discrepancy): Cents {
  return fees.total - (expected - received);
}

/**
 * `received` is booked at most once, before the first refund of a wrong amount; `adjustment` when money is accepted, or
 * when what was `received` turns out to be part of the right amount.
 */
function book(
  { id }: Discrepancy,
  what: 'received' | 'adjustment',
  { id: paymentId, sessionId }: Payment,
  now: Instant,
  entries: LedgerEntry[],
): Posting {
  const head = { id: `${id}:${what}`, paymentId, sessionId, kind: 'adjustment' as const, refundId: null };
  return posting({ ...head, created: now }, entries);
}

function posted(booked: Posting): Effect[] {
  return booked.entries.length === 0 ? [] : [{ type: 'post', posting: booked }];
}
