import { type Decision, changed, findReportedPayment } from './checkout-state.ts';
import { amountSubject, decidedAmount, isBookable, openDiscrepancy, takenAmount } from './discrepancy.ts';
import type { NewId } from './id.ts';
import { EVENT_CONFLICT, type ProviderMessage } from './provider-message.ts';
import { CURRENCY, type Checkout, type Discrepancy, type DiscrepancyKind, type Payment } from './records.ts';

type Found = Omit<Discrepancy, 'id'>;

/** The statuses that report money as taken, paid out or refunded. */
const MONEY = new Set<ProviderMessage['status']>(['paid', 'settled', 'succeeded']);

/**
 * The decision on a message, with the discrepancy that the message leaves to be resolved. One record holds the same money,
 * however often it is reported: a larger report raises the record, or opens another one once the first is decided on.
 */
export function withReport<Outcome extends string>(
  before: Checkout,
  { outcome, next, effects }: Decision<Outcome>,
  message: ProviderMessage,
  newId: NewId,
): Decision<Outcome> {
  const found = discrepancyOf(next, message);
  if (!found) return { outcome, next, effects };
  const listed = { ...next, discrepancies: listedWith(next.discrepancies, found, newId) };
  // A decision on the payment moves the amount that a report exceeds, so both depend on the same version of the session.
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

/** The subject, numbered if it is taken: of two reports that open a record at the same time, one conflicts. */
function freeSubject(known: readonly Discrepancy[], { kind, subject }: Found): string {
  let free = subject;
  const isTaken = () => known.some((one) => one.kind === kind && one.subject === free);
  for (let number = 2; isTaken(); number++) free = `${subject}/${number}`;
  return free;
}

/** Records of money that cannot be booked begin with its subject: no decision counts it, so a larger report can follow one. */
function isSameMoney(one: Discrepancy, found: Found): boolean {
  if (one.kind !== found.kind) return false;
  if (one.subject === found.subject) return true;
  const isSameCurrency = (one.currency ?? found.currency) === found.currency;
  return !isBookable(found) && isSameCurrency && one.subject.startsWith(`${found.subject}/`);
}

function discrepancyOf(checkout: Checkout, message: ProviderMessage): Found | undefined {
  const { provider, environment, eventId, paymentId, status, amount, currency, outcome, received } = message;
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

/** Reports are cumulative: the largest one counts until a decision, and then only the money beyond the decided amount. */
function wrongAmount(payment: Payment, amount: number) {
  const { id: paymentId, amount: expected } = payment;
  // An empty report must not be in the way of money that arrives later.
  if (amount <= 0) return { paymentId, subject: `${paymentId}/nothing`, expected, received: amount };
  const decided = decidedAmount(payment);
  const about = { paymentId, subject: amountSubject(payment) };
  if (decided === 0) return { ...about, expected, received: amount };
  return { ...about, expected: 0, received: takenAmount(payment, amount) - decided };
}

/** Kind of money that cannot be booked; an unknown payment is one whatever its amount, so that the same money has one kind. */
function unbookableKind({ paymentId, currency, outcome }: ProviderMessage): DiscrepancyKind {
  if (outcome === 'unknown_payment') return 'unknown_payment';
  if (currency !== CURRENCY) return 'currency_mismatch';
  return paymentId === null ? 'amount_mismatch' : 'unknown_payment';
}

/** Subject without a slash, so that a slash separates it from a suffix; amounts of two currencies are not the same money. */
function subjectOf(text: string, currency: string | null): string {
  const subject = text.replaceAll('%', '%25').replaceAll('/', '%2F');
  return currency === CURRENCY ? subject : `${subject}/${currency}`;
}
