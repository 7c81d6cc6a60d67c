import { type Effect, type Decision, changed, findReportedPayment, posted } from './checkout-state.ts';
import { type LedgerEntry, posting } from './ledger.ts';
import type { Cents } from './money.ts';
import {
  type Checkout,
  type Discrepancy,
  type Instant,
  type Payment,
  type Session,
  CURRENCY,
  type DiscrepancyKind,
} from './records.ts';
import type { Refund } from './refund-record.ts';
import type { NewId } from './id.ts';
import { EVENT_CONFLICT, type ProviderMessage } from './provider-message.ts';

/** `refund` returns the money to the buyer. `accept` books it for the merchant, or closes the record if its money cannot be booked. */
export type DiscrepancyAction = 'refund' | 'accept';

/** Actions that an operator can take now. */
export function actionsOf(discrepancy: Discrepancy): DiscrepancyAction[] {
  if (discrepancy.status === 'resolved' || discrepancy.refunding) return [];
  return isBookable(discrepancy) ? ['refund', 'accept'] : ['accept'];
}

/** True if the ledger can book the money: a surplus, or a wrong amount of a known payment. Other kinds cannot be booked. */
export function isBookable({
  kind,
  paymentId,
  received,
}: Pick<Discrepancy, 'kind' | 'paymentId' | 'received'>): boolean {
  return (kind === 'surplus' || kind === 'amount_mismatch') && paymentId !== null && received > 0;
}

/** State of money that arrived in a wrong amount: `held` until an operator refunds or accepts it. */
export type WrongMoney = 'held' | 'refunded';

/** State of the wrong money of these discrepancies; null if there is none, or if all of it counts as paid. */
export function wrongMoneyOf(discrepancies: readonly Discrepancy[]): WrongMoney | null {
  const wrong = discrepancies.filter(({ kind, received }) => kind === 'amount_mismatch' && received > 0);
  if (wrong.some(({ status }) => status === 'open')) return 'held';
  return wrong.some(({ resolution }) => resolution === 'refunded') ? 'refunded' : null;
}

/** State of the wrong money that arrived for one payment. */
export function wrongMoneyFor({ discrepancies }: Checkout, { id }: Payment): WrongMoney | null {
  return wrongMoneyOf(discrepancies.filter(({ paymentId }) => paymentId === id));
}

/** Fields of a new, undecided discrepancy. */
export function openDiscrepancy(session: Session, provider: string, created: Instant) {
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
    created,
    resolvedAt: null,
  };
}

/** The discrepancy after its resolution at the time `now`. */
export function resolved(discrepancy: Discrepancy, resolution: Discrepancy['resolution'], now: Instant): Discrepancy {
  return { ...discrepancy, status: 'resolved', resolution, resolvedAt: now };
}

export function withDiscrepancy(checkout: Checkout, changed: Discrepancy): Checkout {
  return { ...checkout, discrepancies: checkout.discrepancies.map((one) => (one.id === changed.id ? changed : one)) };
}

/** Money of a payment that a decision covers: accepted, refunded, or owed after a failed refund. This amount only grows. */
export function decidedAmount({
  status,
  fees,
  shortfall,
  mismatchRefunded: returned,
  mismatchRefundFailed: owed,
}: Payment): Cents {
  return (status === 'paid' ? fees.total - shortfall : 0) + returned + owed;
}

/** Money that the provider took for a payment, including the buyer's fee. `amount` is the reported money without that fee. */
export function takenAmount({ fees, amount: requested }: Payment, amount: Cents): Cents {
  return fees.total - (requested - amount);
}

/** Money of a discrepancy: the part of the total that arrived or, if no more money was expected, the excess. */
export function heldAmount({ fees }: Payment, { expected, received }: Discrepancy): Cents {
  return expected === 0 ? received : fees.total - (expected - received);
}

/** `subject` of a discrepancy about money of a payment that no decision covers yet. */
export function amountSubject(payment: Payment): string {
  const decided = decidedAmount(payment);
  return decided === 0 ? payment.id : `${payment.id}/${decided}`;
}

/** The checkout after a change of a refund, with the refund's discrepancy updated. All refunds of a surplus payment belong to one discrepancy. */
export function followRefund(checkout: Checkout, refund: Refund): Checkout {
  const payment = checkout.payments.find(({ id }) => id === refund.paymentId)!;
  const discrepancies = checkout.discrepancies.map((one) =>
    isAbout(one, refund) ? afterRefund(one, payment, refund) : one,
  );
  return { ...checkout, discrepancies };
}

function isAbout({ kind, paymentId, refundId }: Discrepancy, refund: Refund): boolean {
  if (paymentId !== refund.paymentId) return false;
  return refund.reason === 'mismatch' ? kind === 'amount_mismatch' && refundId === refund.id : kind === 'surplus';
}

/** The discrepancy after a change of its refund: resolved once all its money is refunded, open again if that refund fails later. */
function afterRefund(one: Discrepancy, payment: Payment, { id: refundId, status, updated }: Refund): Discrepancy {
  const isReopened = one.resolution === 'refunded' && status === 'failed';
  if (one.status === 'resolved' && !isReopened) return one;
  const isSurplus = one.kind === 'surplus';
  const refunding = isSurplus ? payment.refundPending > 0 : status === 'pending';
  const isRefunded = status === 'succeeded' && !refunding && (!isSurplus || payment.refunded >= payment.fees.total);
  const next: Discrepancy = { ...one, refundId, refunding, status: 'open', resolution: null, resolvedAt: null };
  return isRefunded ? resolved(next, 'refunded', updated) : next;
}

/** Effect that books a discrepancy: `received` before the first refund of a wrong amount, `adjustment` for an accepted discrepancy. */
export function bookDiscrepancy(
  { id }: Discrepancy,
  what: 'received' | 'adjustment',
  { id: paymentId, sessionId }: Payment,
  created: Instant,
  entries: LedgerEntry[],
): Effect[] {
  const head = { id: `${id}:${what}`, paymentId, sessionId, kind: 'adjustment' as const, refundId: null, created };
  return posted(posting(head, entries));
}

type Found = Omit<Discrepancy, 'id'>;

/** The statuses that report money as taken, paid out or refunded. */
const MONEY = new Set<ProviderMessage['status']>(['paid', 'settled', 'succeeded']);

/** Adds to a decision the discrepancy of a message. If the message reports more money than an open record, the amount of that record grows. */
export function withReport<Outcome extends string>(
  before: Checkout,
  { outcome, next, effects }: Decision<Outcome>,
  message: ProviderMessage,
  newId: NewId,
): Decision<Outcome> {
  const found = discrepancyOf(next, message);
  if (!found) return { outcome, next, effects };
  const listed = { ...next, discrepancies: listedWith(next.discrepancies, found, newId) };
  // A bookable amount depends on the decided amount of the payment, so a concurrent decision about that payment must conflict.
  return isBookable(found) ? changed(before, listed, outcome, effects) : { outcome, next: listed, effects };
}

function listedWith(known: readonly Discrepancy[], found: Found, newId: NewId): readonly Discrepancy[] {
  const same = known.filter((one) => isSameMoney(one, found));
  if (same.some(({ received }) => received >= found.received)) return known;
  const { received, provider, eventId } = found;
  const open = same.find(({ status, refundId }) => status === 'open' && refundId === null);
  if (open) return known.map((one) => (one === open ? { ...one, received, provider, eventId } : one));
  return [...known, { ...found, id: newId('dis'), subject: freeSubject(known, found) }];
}

/** The subject of a new record, with a number if the subject is taken. Of two concurrent commits of the same subject, one conflicts. */
function freeSubject(known: readonly Discrepancy[], { kind, subject }: Found): string {
  let free = subject;
  const isTaken = () => known.some((one) => one.kind === kind && one.subject === free);
  for (let number = 2; isTaken(); number++) free = `${subject}/${number}`;
  return free;
}

/** True if a record and a report are about the same money. Subjects of later records of unbookable money end in a number: `pay_1/2`. */
function isSameMoney(one: Discrepancy, found: Found): boolean {
  if (one.kind !== found.kind) return false;
  if (one.subject === found.subject) return true;
  const isSameCurrency = (one.currency ?? found.currency) === found.currency;
  return !isBookable(found) && isSameCurrency && one.subject.startsWith(`${found.subject}/`);
}

function discrepancyOf(checkout: Checkout, message: ProviderMessage): Found | undefined {
  const { provider, environment, eventId, paymentId, status, currency, outcome, received } = message;
  const amount = message.amount ?? 0;
  const { session, payments } = checkout;
  const found = {
    ...openDiscrepancy(session, provider, received),
    paymentId: payments.find(({ id }) => id === paymentId)?.id ?? null,
    subject: subjectOf(paymentId ?? eventId, currency),
    eventId,
    expected: session.amount,
    received: MONEY.has(status) ? amount : 0,
    currency,
  };
  switch (outcome) {
    case EVENT_CONFLICT: {
      const subject = subjectOf(`${provider}/${environment}/${eventId}`, CURRENCY);
      return { ...found, kind: outcome, subject, expected: 0 };
    }
    case 'environment_mismatch':
    case 'provider_mismatch':
      return { ...found, kind: outcome };
    // A refund or a reversal that cannot be booked.
    case 'currency_mismatch':
    case 'refund_excess':
      return {
        ...found,
        kind: outcome,
        subject: subjectOf(reportedObject(message), currency),
        expected: 0,
        received: amount,
      };
    case 'amount_mismatch':
    case 'unknown_payment': {
      if (status !== 'paid') return undefined;
      const payment = findReportedPayment(checkout, message);
      const isWrongAmount = outcome === 'amount_mismatch' && currency === CURRENCY;
      if (isWrongAmount && payment) return { ...found, kind: outcome, ...wrongAmount(payment, amount) };
      return { ...found, kind: unbookableKind(message), paymentId: payment?.id ?? null };
    }
    default:
      return undefined;
  }
}

/** Name of the refund that a message reports, so that all its reports have one discrepancy; the event id without such a name. */
function reportedObject({ provider, eventId, signal }: ProviderMessage): string {
  const { refund } = JSON.parse(signal ?? '{}') as { refund?: { reference: string | null } };
  return refund?.reference ? `${provider}/${refund.reference}` : eventId;
}

/** Fields for a wrong amount. Reports are cumulative: the largest one counts; after a decision, only the money beyond the decided amount. */
function wrongAmount(payment: Payment, amount: number) {
  const { id: paymentId, amount: expected } = payment;
  // A report of no money gets its own subject, so that money that arrives later opens a record.
  if (amount <= 0) return { paymentId, subject: `${paymentId}/nothing`, expected, received: amount };
  const decided = decidedAmount(payment);
  const about = { paymentId, subject: amountSubject(payment) };
  if (decided === 0) return { ...about, expected, received: amount };
  return { ...about, expected: 0, received: takenAmount(payment, amount) - decided };
}

/** Kind of discrepancy for money that cannot be booked. A report about an unknown payment is `unknown_payment`, whatever its amount. */
function unbookableKind({ paymentId, currency, outcome }: ProviderMessage): DiscrepancyKind {
  if (outcome === 'unknown_payment') return 'unknown_payment';
  if (currency !== CURRENCY) return 'currency_mismatch';
  return paymentId === null ? 'amount_mismatch' : 'unknown_payment';
}

/** Subject with escaped slashes, so that a slash only separates a suffix. Other currencies are a suffix: they are not the same money. */
function subjectOf(text: string, currency: string | null): string {
  const subject = text.replaceAll('%', '%25').replaceAll('/', '%2F');
  return currency === CURRENCY ? subject : `${subject}/${currency}`;
}
