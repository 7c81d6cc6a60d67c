import { hash } from 'node:crypto';
import { unchanged } from '../domain/checkout-state.ts';
import { type UnstartedRecords, applyProviderEvent } from '../domain/provider-event.ts';
import type { SignalOrigin } from '../domain/provider-message.ts';
import { type PaymentState, type ProviderReport, centsOfUnits } from '../domain/provider-report.ts';
import { CURRENCY, type Checkout, type Instant, type ProviderStatus } from '../domain/records.ts';
import type { PaymentRef, Provider, Signal } from '../providers/provider.ts';
import { traced } from '../telemetry/tracing.ts';
import {
  type AppliedSignal,
  type PaymentSignal,
  type ReceivedSignal,
  type SignalSubject,
  applyMessage,
  signalJson,
} from './apply-message.ts';
import { applyReversalSignal } from './apply-reversal.ts';
import type { Deps } from './deps.ts';
import { applyRefundSignal } from './refunds/apply-refund-report.ts';
import { reportedMoney } from './reported-money.ts';
import { applySettlementSignal } from './settlement/settle-payment.ts';

const UNKNOWN: AppliedSignal = { outcome: 'unknown', queued: false };

/** Applies a verified signal once, in any order. */
export function applySignal(deps: Deps, received: ReceivedSignal): Promise<AppliedSignal> {
  const { provider, signal } = received;
  const attributes = { 'tillway.provider': provider, 'tillway.signal': signal.about };
  return traced(deps.tracing, { name: 'applySignal', attributes }, async (span) => {
    const subject = (await subjectOf(deps, received, signal.ref)) ?? (await subjectOfRefund(deps, signal));
    const applied = subject ? await applyTo(deps, subject, received) : UNKNOWN;
    if (subject) span?.set({ 'tillway.session.id': subject.sessionId });
    if (applied.outcome === 'unknown') {
      deps.countForeignSignal(provider);
      deps.log.info(
        { provider, eventId: received.eventId, about: signal.about, ref: signal.ref },
        'callback about no record',
      );
    }
    return applied;
  });
}

/** Applies a provider's answer to an inquiry. A repeated equal answer changes nothing. */
export function applyAnswer(
  deps: Deps,
  { id: provider, environment }: Pick<Provider, 'id' | 'environment'>,
  signal: Signal,
): Promise<AppliedSignal> {
  const body = signalJson(signal);
  const eventId = `answer_${hash('sha256', body, 'base64url')}`;
  return applySignal(deps, { provider, environment, eventId, signal, body });
}

async function applyTo(deps: Deps, named: SignalSubject, received: ReceivedSignal): Promise<AppliedSignal> {
  const { signal } = received;
  if (signal.about === 'payment') return applyPaymentSignal(deps, named, { ...received, signal });
  const subject = await withReportedMoney(deps, named, received);
  switch (signal.about) {
    case 'refund':
      return applyRefundSignal(deps, subject, { ...received, signal });
    case 'settlement':
      return applySettlementSignal(deps, subject, { ...received, signal });
    case 'reversal':
      return applyReversalSignal(deps, subject, { ...received, signal });
  }
}

/**
 * The subject of a report on a payout, a refund or a dispute. Such a report can arrive once only, and is about money that the provider
 * has taken. If the report on that money was lost or arrives later, the provider is asked for it first. If the provider does not answer,
 * the sender repeats its report.
 */
async function withReportedMoney(
  deps: Deps,
  subject: SignalSubject,
  { provider: id, environment }: SignalOrigin,
): Promise<SignalSubject> {
  const { sessionId, paymentId, payment } = subject;
  const isOwn = payment?.route.provider === id && payment.environment === environment;
  if (!isOwn || payment.status === 'paid') return subject;
  const provider = deps.providers.get(id);
  if (!provider) return subject;
  const answer = await provider.inquire(payment);
  if (typeof answer === 'string' || answer.report.state !== 'paid') return subject;
  await applyAnswer(deps, provider, {
    about: 'payment',
    ref: { sessionId, paymentId: payment.id },
    report: answer.report,
  });
  return { sessionId, paymentId, payment };
}

/** The session and the payment that a reference names; undefined if there are none, or if its ids contradict each other. */
async function subjectOf(
  { store }: Deps,
  { provider, environment }: SignalOrigin,
  { sessionId, paymentId, reference }: PaymentRef,
): Promise<SignalSubject | undefined> {
  if (sessionId !== undefined) {
    const checkout = await store.checkout(sessionId);
    const payment = checkout?.payments.find(({ id }) => id === paymentId);
    return checkout && { sessionId, paymentId: paymentId ?? null, payment, checkout };
  }
  const ids = paymentId === undefined ? await store.paymentsOfReference(reference ?? '') : [paymentId];
  for (const id of ids) {
    const payment = await store.payment(id);
    if (!payment) continue;
    // A reference is an id of the provider, and two providers can use the same one, so the payment must belong to the sender. A
    // payment that the signal names by our id may belong to another provider; that mismatch is flagged later.
    const isOwn = payment.route.provider === provider && payment.environment === environment;
    // A charge that is still expected cannot be refunded or disputed. A report that says so is applied once the charge is known as paid.
    const isExpected = payment.status === 'pending' && payment.expectedBy !== null;
    const names = [payment.providerReference, isExpected ? null : payment.chargeReference];
    const isNamed = reference === undefined || payment.providerReference === null || names.includes(reference);
    if (isNamed && (isOwn || paymentId !== undefined)) return { sessionId: payment.sessionId, paymentId: id, payment };
  }
  return undefined;
}

/** The payment of the refund that a signal names by our refund id. */
async function subjectOfRefund({ store }: Deps, signal: Signal): Promise<SignalSubject | undefined> {
  if (signal.about !== 'refund' || signal.refund.ours === null) return undefined;
  const refund = await store.refund(signal.refund.ours);
  const payment = refund && (await store.payment(refund.paymentId));
  return payment && { sessionId: payment.sessionId, paymentId: payment.id, payment };
}

const STATUS: Record<PaymentState, ProviderStatus> = {
  awaiting_buyer: 'provider_pending',
  processing: 'provider_pending',
  requires_capture: 'provider_pending',
  paid: 'paid',
  failed: 'failed',
};

async function applyPaymentSignal(
  deps: Deps,
  subject: SignalSubject,
  received: ReceivedSignal<PaymentSignal>,
): Promise<AppliedSignal> {
  const { sessionId, paymentId, checkout: known } = subject;
  const { provider, environment, outdatedBy, endsCheckout = false } = received;
  const { report } = received.signal;
  const status = STATUS[report.state];
  const money = await reportedMoney(deps, subject, received);
  const event = {
    provider,
    environment,
    paymentId,
    status,
    ...money,
    endsCheckout,
    txHash: report.txHash,
    failure: report.decline,
    requiresCapture: report.state === 'requires_capture',
    expectedBy: report.expectedBy,
    chargeReference: report.chargeReference,
    cost: costOf(deps, report, provider),
    settledAt: report.settledAt,
    card: report.card,
  };
  const about = { sessionId, paymentId, refundId: null, status, ...money };
  const decide = async (checkout: Checkout, now: Instant) => {
    const later = outdatedBy === undefined ? [] : await deps.store.messagesOfEvent(received, outdatedBy, sessionId);
    if (later.length > 0) return unchanged(checkout, 'ignored');
    return applyProviderEvent(checkout, event, unforeseen(deps, checkout, provider), now);
  };
  return applyMessage(deps, received, about, decide, known);
}

/** The provider's charge in cents; null while it is unknown, or if it is not in US dollars. */
function costOf({ log }: Deps, { cost }: ProviderReport, provider: string): number | null {
  if (cost === null) return null;
  if (cost.currency === CURRENCY) return centsOfUnits(cost);
  log.warn({ provider, currency: cost.currency }, 'charge of the provider not booked: it is not in US dollars');
  return null;
}

/** Ids and route for a reported payment that the buyer did not start on our page, and ids for surplus money. */
function unforeseen({ routes, newId }: Deps, { session }: Checkout, provider: string): UnstartedRecords {
  const ofProvider = routes.filter(
    ({ environment, integrationId }) => environment === session.environment && integrationId === provider,
  );
  const route = ofProvider.find(({ kind }) => kind === session.preferredRoute) ?? ofProvider[0];
  const ids = { paymentId: newId('pay'), invoiceId: newId('inv'), refundId: newId('ref'), discrepancyId: newId('dis') };
  return { ...ids, route };
}
