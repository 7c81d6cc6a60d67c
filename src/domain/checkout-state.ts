import { type Failure, providerText } from './failure.ts';
import { splitFees } from './fees.ts';
import type { Posting } from './ledger.ts';
import { shareOf } from './money.ts';
import type { Checkout, Instant, Invoice, InvoiceStatus, Payment, ProviderStatus, Session } from './records.ts';
import type { Refund, RefundStatus } from './refund-record.ts';
import type { Reversal } from './reversal.ts';
import type { Route } from './route.ts';
import type { Settlement } from './settlement.ts';

/** Limit of attempts of one session. */
export const MAX_ATTEMPTS = 3;
/** Time in which a buyer may try again after a failed attempt. */
export const RETRY_WINDOW_MS = 15 * 60_000;

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const INQUIRY_DELAYS_MS = [30, 60, 120, 300, 600].map((seconds) => seconds * SECOND_MS);
/** Number of inquiries between now and the time by which the money is expected. */
const INQUIRIES_UNTIL_EXPECTED = 50;
const LONGEST_DELAY_MS = 6 * 60 * MINUTE_MS;

/** Change that is committed with the new states of a decision: a posting, a merchant event, a provider task or a record. */
export type Effect =
  | { type: 'post'; posting: Posting }
  | { type: 'announce'; status: ProviderStatus; payment: Payment }
  | { type: 'announce_refund'; payment: Payment; refund: Refund }
  | { type: 'announce_dispute'; payment: Payment; reversal: Reversal }
  | { type: 'cancel_at_provider' | 'capture_at_provider'; payment: Payment }
  | { type: 'settlement_recorded'; settlement: Settlement }
  /** `isForeign`: the refund was made at the provider, so the provider must not be asked to make it. */
  | { type: 'refund_requested'; refund: Refund; isForeign?: boolean }
  | { type: 'reversal_changed'; reversal: Reversal; from: number | null }
  | { type: 'refund_changed'; refund: Refund; from: RefundStatus };

/** Change of a checkout: the next state, and the effects to commit with it. `next === checkout`, without effects, if nothing changes. */
export interface Decision<Outcome extends string> {
  outcome: Outcome;
  next: Checkout;
  effects: Effect[];
}

/** Route of a new attempt, with ids that the caller has already created. */
export interface NewAttempt {
  paymentId: string;
  invoiceId: string;
  route: Route;
  /** False if the provider keeps its charge after a refund. Default: true. */
  costRefundable?: boolean;
  /** True if the attempt probes a route in standby. */
  probe?: boolean;
}

export function pendingPayment(checkout: Checkout): Payment | undefined {
  return checkout.payments.find((payment) => payment.status === 'pending');
}

/** The payment that represents the session: the payment that paid it, or else the newest payment. */
export function leadingPayment(checkout: Checkout): Payment | undefined {
  return checkout.payments.find((payment) => payment.status === 'paid' && !payment.surplus) ?? checkout.payments.at(-1);
}

/** The payment that a provider report is about. If it names only the session: that provider's pending payment, else its leading payment. */
export function findReportedPayment(
  checkout: Checkout,
  { provider, paymentId }: { provider: string; paymentId: string | null },
): Payment | undefined {
  const own = { ...checkout, payments: checkout.payments.filter(({ route }) => route.provider === provider) };
  if (paymentId === null) return pendingPayment(own) ?? leadingPayment(own);
  return own.payments.find(({ id }) => id === paymentId);
}

/** Adds a pending payment on the route of `attempt`, and its open invoice. The session becomes pending. */
export function openAttempt(checkout: Checkout, attempt: NewAttempt, now: Instant): Checkout {
  const { session } = checkout;
  const { route } = attempt;
  const shared = {
    sessionId: session.id,
    customerId: session.customerId,
    environment: session.environment,
    amount: session.amount,
    metadata: session.metadata,
    created: now,
  };
  const payment: Payment = {
    ...shared,
    id: attempt.paymentId,
    invoiceId: attempt.invoiceId,
    status: 'pending',
    ledgerStatus: 'pending',
    route: {
      id: route.id,
      kind: route.kind,
      label: route.label,
      provider: route.integrationId,
      network: route.network,
      asset: route.asset,
    },
    fees: splitFees(session.amount, route),
    providerCost: shareOf(session.amount, route.providerCostRate) + (route.providerCostFixed ?? 0),
    actualCost: null,
    costRefundable: attempt.costRefundable ?? true,
    providerReference: null,
    providerUrl: null,
    chargeReference: null,
    handoffUncertain: false,
    surplus: false,
    surplusAccepted: false,
    settled: false,
    shortfall: 0,
    mismatchRefunded: 0,
    mismatchRefundFailed: 0,
    reversed: 0,
    refunded: 0,
    refundPending: 0,
    refundShares: { gateway: 0, cost: 0 },
    failureCode: null,
    failureSource: null,
    failureReason: null,
    decline: null,
    card: null,
    probe: attempt.probe ?? false,
    txHash: null,
    timeoutAt: now + route.paymentTimeoutSeconds * SECOND_MS,
    expectedBy: null,
    inquireAt: now + INQUIRY_DELAYS_MS[0]!,
    inquiries: 0,
  };
  const invoice: Invoice = { ...shared, id: attempt.invoiceId, paymentId: attempt.paymentId, status: 'open' };
  return {
    ...checkout,
    session: { ...session, status: 'pending', retryUntil: null },
    payments: [...checkout.payments, payment],
    invoices: [...checkout.invoices, invoice],
  };
}

/** Fails a payment and voids its invoice. The retry window of the session starts. */
export function failPayment(
  checkout: Checkout,
  payment: Payment,
  { code, source, reason }: Failure,
  now: Instant,
): Checkout {
  const failed: Payment = {
    ...payment,
    status: 'failed',
    failureCode: code,
    failureSource: source,
    failureReason: providerText(reason),
    inquireAt: null,
  };
  const next = withInvoice(withPayment(checkout, failed), payment.id, 'void');
  return withSession(next, { retryUntil: now + RETRY_WINDOW_MS });
}

/** The payment after an inquiry at its provider, with the time of the next inquiry. */
export function withInquiry(payment: Payment, now: Instant): Payment {
  const inquiries = payment.inquiries + 1;
  return { ...payment, inquiries, inquireAt: now + inquiryDelayMs(inquiries, payment.expectedBy, now) };
}

/** Delay before the next inquiry, in milliseconds. The later the provider expects the money, the longer the delay. */
export function inquiryDelayMs(inquiries: number, expectedBy: Instant | null, now: Instant): number {
  const usual = INQUIRY_DELAYS_MS[Math.min(inquiries, INQUIRY_DELAYS_MS.length - 1)]!;
  if (expectedBy === null) return usual;
  const slow = Math.floor((expectedBy - now) / INQUIRIES_UNTIL_EXPECTED);
  return Math.min(Math.max(slow, 10 * MINUTE_MS), LONGEST_DELAY_MS);
}

/** Effect that books a posting; none for an empty posting. */
export function posted(posting: Posting): Effect[] {
  return posting.entries.length === 0 ? [] : [{ type: 'post', posting }];
}

/** A decision that changes nothing. */
export function unchanged<Outcome extends string>(checkout: Checkout, outcome: Outcome): Decision<Outcome> {
  return { outcome, next: checkout, effects: [] };
}

/** A decision for the states `next`, with a new session version. Nothing changes if `next` is `before` and there are no effects. */
export function changed<Outcome extends string>(
  before: Checkout,
  next: Checkout,
  outcome: Outcome,
  effects: Effect[] = [],
): Decision<Outcome> {
  if (next === before && effects.length === 0) return unchanged(before, outcome);
  const versioned = withSession(next, { version: before.session.version + 1, wakeAt: nextTimer(next) });
  return { outcome, next: versioned, effects };
}

/** Records that the provider has the payment, and queues the `payment.provider_pending` event once for each session. */
export function announcePending<Outcome extends string>(
  before: Checkout,
  next: Checkout,
  payment: Payment,
  outcome: Outcome,
): Decision<Outcome> {
  if (next.session.announced || next.session.status !== 'pending') return changed(before, next, outcome);
  const announced = withSession(next, { announced: true });
  return changed(before, announced, outcome, [{ type: 'announce', status: 'provider_pending', payment }]);
}

/** Fails a checkout that allows no further attempt, and queues the `payment.failed` event. */
export function failCheckout<Outcome extends string>(
  before: Checkout,
  next: Checkout,
  outcome: Outcome,
  effects: Effect[] = [],
): Decision<Outcome> {
  const payment = next.payments.at(-1)!;
  const closed = withSession(next, { status: 'failed', retryUntil: null });
  return changed(before, closed, outcome, [...effects, { type: 'announce', status: 'failed', payment }]);
}

/** Next time at which a checkout expires, its payment times out, its retry window ends or its provider is asked. */
export function nextTimer({ session, payments }: Checkout): Instant | null {
  if (session.status === 'routed') return session.expiresAt;
  if (session.status !== 'pending') return null;
  const payment = payments.find(({ status }) => status === 'pending');
  if (!payment) return session.retryUntil;
  return payment.inquireAt === null ? payment.timeoutAt : Math.min(payment.inquireAt, payment.timeoutAt);
}

/** The checkout with changed fields of its session. */
export function withSession(checkout: Checkout, fields: Partial<Session>): Checkout {
  return { ...checkout, session: { ...checkout.session, ...fields } };
}

export function withPayment(checkout: Checkout, payment: Payment): Checkout {
  return { ...checkout, payments: checkout.payments.map((other) => (other.id === payment.id ? payment : other)) };
}

export function withInvoice(checkout: Checkout, paymentId: string, status: InvoiceStatus): Checkout {
  const invoices = checkout.invoices.map((invoice) =>
    invoice.paymentId === paymentId && invoice.status !== status ? { ...invoice, status } : invoice,
  );
  return { ...checkout, invoices };
}

/** The first version of a session, from a request that passed all checks. */
export function newSession(
  fields: Omit<
    Session,
    'status' | 'version' | 'attempts' | 'announced' | 'retryUntil' | 'expiredAt' | 'wakeAt' | 'decisionId'
  > & {
    decisionId?: string | null;
  },
): Session {
  return {
    ...fields,
    decisionId: fields.decisionId ?? null,
    status: 'routed',
    version: 1,
    attempts: 0,
    announced: false,
    retryUntil: null,
    expiredAt: null,
    wakeAt: fields.expiresAt,
  };
}

/** Fails the checkout if no attempt is left; else the buyer may try again. */
export function closeIfUsedUp<Outcome extends string>(
  before: Checkout,
  next: Checkout,
  outcome: Outcome,
  effects: Effect[] = [],
): Decision<Outcome> {
  const open = next.session.status === 'pending' && next.session.attempts < MAX_ATTEMPTS;
  return open ? changed(before, next, outcome, effects) : failCheckout(before, next, outcome, effects);
}
