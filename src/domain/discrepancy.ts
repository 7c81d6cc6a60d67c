import { type Decision, type Effect, changed, meantPayment, unchanged, withPayment } from './checkout-state.ts';
import type { ProviderEvent } from './checkout.ts';
import { type LedgerEntry, type Posting, posting } from './ledger.ts';
import type { Cents } from './money.ts';
import { CURRENCY, type Checkout, type Instant, type Payment, type Session } from './records.ts';
import { accountedFor, growthOf, receiveMoney } from './receipts.ts';
import { surplusRefund, withRefund, withReturn } from './refund-decisions.ts';
import { ledgerStatusOf, leftOf } from './refund.ts';
import type { Environment } from './route.ts';

/**
 * - `surplus`: real money for a session that another payment has paid.
 * - `amount_mismatch`, `currency_mismatch`, `unknown_payment`: a report of money that was not booked, because its amount, its
 *   currency or its payment is not the session's.
 * - `environment_mismatch`, `provider_mismatch`: a message about a record of another environment or provider. It changed
 *   nothing.
 * - `event_conflict`: a message that reuses an event id with different content. It changed nothing.
 */
export type DiscrepancyKind =
  | 'surplus'
  | 'amount_mismatch'
  | 'currency_mismatch'
  | 'environment_mismatch'
  | 'provider_mismatch'
  | 'event_conflict'
  | 'unknown_payment';
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
  'provider_mismatch',
  'event_conflict',
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
  /**
   * Cents: what was to come of the session's amount, and what came of that, without the buyer's fee. `expected` is 0 where
   * nothing more was to come: then `received` is all that came beyond what was decided on before.
   */
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

/** What a verified message leaves to be resolved; undefined where nothing. `next` is the checkout as the message left it. */
export function discrepancyOf(
  next: Checkout,
  outcome: string,
  effects: readonly Effect[],
  event: ProviderEvent,
  eventId: string,
  now: Instant,
): Omit<Discrepancy, 'id'> | undefined {
  const { session } = next;
  const shared = undecided(session, event.provider, now);
  const twice = surplusBooked(next, effects);
  if (twice) {
    const about = { paymentId: twice.id, subject: twice.id, eventId: null };
    return { ...shared, ...about, kind: 'surplus', expected: 0, received: twice.amount, currency: CURRENCY };
  }
  if (event.status !== 'paid' || !isMismatch(outcome)) return undefined;
  const meant = meantPayment(next, event);
  const told = { ...shared, paymentId: meant?.id ?? null, eventId, currency: event.currency };
  if (outcome === 'amount_mismatch' && event.currency === CURRENCY && meant) {
    return { ...told, kind: outcome, ...amountsOf(meant, event.amount) };
  }
  return {
    ...told,
    kind: outcome === 'amount_mismatch' ? unbookedKind(event) : outcome,
    subject: unbookedSubject(event.paymentId ?? eventId, event.currency),
    expected: session.amount,
    received: event.amount,
  };
}

/** Fields of an undecided discrepancy. */
export function undecided(session: Session, provider: string, now: Instant) {
  return {
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
}

/**
 * What a wrong amount comes to, and what makes it the same money: what came is cumulative, so that the largest word
 * counts until something is decided, and from then on what comes beyond that is a record of its own.
 */
function amountsOf(payment: Payment, amount: Cents): Pick<Discrepancy, 'subject' | 'expected' | 'received'> {
  const { id, amount: asked } = payment;
  // Of nothing there is nothing to book: it must not stand in the way of money that comes later.
  if (amount <= 0) return { subject: `${id}/nothing`, expected: asked, received: amount };
  const subject = amountSubject(payment);
  if (accountedFor(payment) === 0) return { subject, expected: asked, received: amount };
  return { subject, expected: 0, received: growthOf(payment, amount) };
}

/** A payment that we do not know is that whatever its amount: the same money is of one kind. */
function unbookedKind({ paymentId, currency }: ProviderEvent): DiscrepancyKind {
  if (currency !== CURRENCY) return 'currency_mismatch';
  return paymentId === null ? 'amount_mismatch' : 'unknown_payment';
}

/** Amounts of two currencies are not the same money. What comes behind a slash is of that payment, see the store. */
export function unbookedSubject(paymentOrEvent: string, currency: string | null): string {
  const subject = paymentOrEvent.replaceAll('%', '%25').replaceAll('/', '%2F');
  return currency === CURRENCY ? subject : `${subject}/${currency}`;
}

/** The subject of what came of a payment and is not decided on. */
export function amountSubject(payment: Payment): string {
  const accounted = accountedFor(payment);
  return accounted === 0 ? payment.id : `${payment.id}/${accounted}`;
}

function isMismatch(outcome: string): outcome is 'amount_mismatch' | 'unknown_payment' {
  return outcome === 'amount_mismatch' || outcome === 'unknown_payment';
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
  const came = cameFor(payment, discrepancy);
  // A refund that failed has left it booked as the buyer's.
  const owed = discrepancy.refundId === null ? 0 : came;
  const accepting: Payment = { ...payment, owed: payment.owed - owed };
  if (payment.status === 'paid' && !payment.surplus) {
    return takeMore(checkout, accepting, discrepancy, { came, owed }, now);
  }
  // Another payment has paid the session: a second one is the buyer's.
  if (checkout.session.status === 'paid') return unchanged(checkout, 'already_paid');
  const missing = payment.fees.total - came;
  if (missing > payment.fees.merchantNet) return unchanged(checkout, 'too_little');

  const paid = receiveMoney(checkout, checkout, { ...accepting, shortfall: missing }, { refundId }, now);
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
  const amount = cameFor(payment, discrepancy);
  const again = discrepancy.refundId !== null;
  const { next, effects } = withReturn(checkout, payment, { refundId, amount, again }, now);
  if (again) return changed(checkout, next, 'refunding', effects);
  const booked = book(discrepancy, 'received', payment, now, [
    { account: 'provider_clearing', amount },
    { account: 'buyer_refunds_payable', amount: -amount },
  ]);
  return changed(checkout, next, 'refunding', [...posted(booked), ...effects]);
}

/** What came beyond what has paid a payment is the merchant's. */
function takeMore(
  checkout: Checkout,
  payment: Payment,
  about: Discrepancy,
  { came, owed }: { came: Cents; owed: Cents },
  now: Instant,
): Decision<Resolved> {
  const booked = book(about, 'adjustment', payment, now, [
    { account: 'provider_clearing', amount: came - owed },
    { account: 'buyer_refunds_payable', amount: owed },
    { account: 'merchant_payable', amount: -came },
  ]);
  const more: Payment = { ...payment, shortfall: payment.shortfall - came };
  const next = withPayment(checkout, { ...more, ledgerStatus: ledgerStatusOf(more) });
  return changed(checkout, next, 'accepted', posted(booked));
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

/** What the provider took: all that the buyer was asked for, less what did not come; or what came beyond that. */
function cameFor({ fees }: Payment, { expected, received }: Discrepancy): Cents {
  return expected === 0 ? received : fees.total - (expected - received);
}

/** `received` is booked at most once, before the first refund of a wrong amount; `adjustment` when money is accepted. */
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
