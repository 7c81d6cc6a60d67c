import { z } from 'zod';
import { GatewayError } from '../domain/gateway-error.ts';
import type { DeclineCode, ProviderFailure, ProviderFault } from '../domain/failure.ts';
import {
  NO_DETAILS,
  type PaymentState,
  type ProviderAmount,
  type ProviderReport,
  amountInCents,
} from '../domain/provider-report.ts';
import type { RefundOutcome } from '../domain/refund-record.ts';
import type { HandoffRequest, KnownPayment, RefundRequest, Signal } from './provider.ts';

// Only an explicit success counts as paid. A state that is missing from this table counts as in progress.
const STATES = new Map<string, PaymentState>([
  ['CREATED', 'awaiting_buyer'],
  ['CAPTURED', 'paid'],
  ['DECLINED', 'failed'],
  ['CANCELLED', 'failed'],
]);
// Failures by the provider's codes. A code missing from this table counts against the route.
const FAILURES = new Map<string, [DeclineCode, ProviderFault]>([
  ['insufficient_funds', ['insufficient_funds', 'buyer']],
  ['incorrect_cvc', ['incorrect_cvc', 'buyer']],
  ['expired_card', ['expired_card', 'buyer']],
  ['authentication_failed', ['authentication_failed', 'buyer']],
  ['card_declined', ['declined', 'issuer']],
  ['wallet_declined', ['declined', 'issuer']],
  ['transfer_rejected', ['declined', 'issuer']],
  ['issuer_unavailable', ['issuer_unavailable', 'issuer']],
  ['processing_error', ['processing_error', 'route']],
  ['risk_engine_unavailable', ['processing_error', 'route']],
  ['merchant_misconfigured', ['processing_error', 'route']],
]);
const CHARGE_EVENT = 'charge.updated';
// 9999-12-31, the last day that ISO 8601 writes with four digits.
const MAX_SECONDS = 253_402_300_799;

const name = z.string().min(1).max(200);

const charge = z.object({
  order: name,
  charge: name,
  state: name,
  reason: z.string().nullish(),
  /** The order's amount in cents, without the buyer's fee. */
  amount: z.int().min(0),
  currency: name,
  transaction: name.nullish(),
});
const chargeAnswer = charge.extend({ reference: name, page: z.url() });
const chargeEvent = charge.extend({ event: name, type: name });

const refund = z.object({
  refund: name,
  order: name,
  amount: z.int().min(0),
  currency: name,
  reason: z.string().nullish(),
});
const settledEvent = z.object({
  event: name,
  type: z.literal('charge.settled'),
  order: name,
  charge: name,
  amount: z.int().min(0),
  currency: name,
  payout: name.nullish(),
  created: z.int().min(0).max(MAX_SECONDS),
});
const errorAnswer = z.object({ error: z.object({ code: z.string(), message: z.string() }) });
const refundAnswer = refund.extend({ state: name });
const refundEvent = refund.extend({ event: name, type: name });
// A refund state that is missing from this table counts as pending.
const REFUND_STATUS = new Map<string, RefundOutcome['status']>([
  ['REFUNDED', 'succeeded'],
  ['FAILED', 'failed'],
  ['refund.succeeded', 'succeeded'],
  ['refund.failed', 'failed'],
]);
const REFUND_FAILURE = new Map([
  ['refund_declined', "the buyer's bank declined the refund"],
  ['account_closed', "the buyer's bank sent the money back: the account is closed"],
]);

/** Request body of a handoff to the simulated provider. */
export function chargeOf({ session, payment, merchant, cancelUrl }: HandoffRequest): Record<string, unknown> {
  return {
    charge: payment.id,
    order: session.id,
    kind: payment.route.kind,
    route: payment.route.id,
    amount: payment.amount,
    total: payment.fees.total,
    currency: 'USD',
    merchant,
    product: session.product,
    buyer_email: session.customerEmail,
    // The provider's callback arrives before the buyer returns, so the return needs no inquiry: the buyer returns to the checkout page.
    return_url: cancelUrl,
  };
}

/** The API's answer about one charge; undefined if the body is something else. */
export function readAnswer(json: unknown): KnownPayment | undefined {
  const { success, data } = chargeAnswer.safeParse(json);
  if (!success) return undefined;
  const { reference, page: url } = data;
  return { report: reportOf(data), reference, url };
}

/** The provider's own error in an answer; undefined if the answer is not the provider's, for example a proxy's. */
export function readError(json: unknown): { code: string; message: string } | undefined {
  return errorAnswer.safeParse(json).data?.error;
}

/** Request body of a refund at the simulated provider. */
export function refundOf({ refundId, amount, payment }: RefundRequest): Record<string, unknown> {
  const { sessionId: order, route, fees } = payment;
  const charge = { order, kind: route.kind, amount: payment.amount, total: fees.total };
  return { refund: refundId, amount, currency: 'USD', charge };
}

/** The API's answer about one refund; undefined if the body is something else, or about another refund. */
export function readRefund(json: unknown, { refundId, amount }: RefundRequest): RefundOutcome | undefined {
  const { success, data } = refundAnswer.safeParse(json);
  return success && data.refund === refundId && data.amount === amount ? outcomeOf(data.state, data.reason) : undefined;
}

function outcomeOf(state: string, reason: string | null | undefined): RefundOutcome {
  const status = REFUND_STATUS.get(state) ?? 'pending';
  const outcome = { status, reason: null };
  if (status !== 'failed') return outcome;
  if (typeof reason !== 'string') return { ...outcome, reason: 'the provider gives no reason' };
  return { ...outcome, reason: REFUND_FAILURE.get(reason) ?? `the provider reports ${reason}` };
}

/** Reads a verified callback. Throws GatewayError `invalid_input` if the body is no callback of the simulated provider. */
export function readEvent(json: unknown): Signal & { eventId: string } {
  const refunded = refundEvent.safeParse(json);
  if (refunded.success) {
    const { event: eventId, type, order: sessionId, refund: ours, reason, ...money } = refunded.data;
    const amount = amountInCents(money.amount, money.currency);
    return {
      about: 'refund',
      eventId,
      ref: { sessionId },
      refund: { ours, reference: null, amount, ...outcomeOf(type, reason) },
    };
  }
  const settled = settledEvent.safeParse(json);
  if (settled.success) {
    const { event: eventId, order: sessionId, charge: paymentId, payout = null, created, ...money } = settled.data;
    const entry = { payout, settledAt: created * 1000, amount: amountOf(money), moved: null };
    return { about: 'settlement', eventId, ref: { sessionId, paymentId }, entry };
  }
  const result = chargeEvent.safeParse(json);
  if (!result.success) {
    const fields = result.error.issues.map(({ path, message }) => `${path.join('.') || 'body'}: ${message}`);
    throw new GatewayError('invalid_input', `This is not a callback of the simulated provider: ${fields.join('; ')}.`, {
      suggestion: 'Send event, type, order, charge, state, amount and currency, as docs/testing.md shows.',
    });
  }
  const { event: eventId, type, order: sessionId, ...rest } = result.data;
  // For other event types, the type replaces the state. It is an unknown state, so the payment counts as in progress.
  const report = reportOf(type === CHARGE_EVENT ? rest : { ...rest, state: type });
  return { about: 'payment', eventId, ref: { sessionId, paymentId: rest.charge }, report };
}

function reportOf(data: Omit<z.output<typeof charge>, 'order' | 'charge'>): ProviderReport {
  const { state: code, reason, transaction } = data;
  const state = STATES.get(code) ?? 'processing';
  const decline = state === 'failed' ? failureOf(code, reason ?? null) : null;
  const received = amountOf(data);
  return { ...NO_DETAILS, state, received, txHash: transaction ?? null, decline };
}

/** Amount in a message of the simulated provider, which reports the session's amount without the buyer's fee. */
function amountOf({ amount, currency }: { amount: number; currency: string }): ProviderAmount {
  return { ...amountInCents(amount, currency), excludesBuyerFee: true };
}

/** Failure of a charge. A cancelled charge counts as cancelled by the buyer. */
function failureOf(state: string, reason: string | null): ProviderFailure {
  if (state === 'CANCELLED') return { code: 'cancelled', source: 'buyer', reason };
  const [code, source] = FAILURES.get(reason ?? '') ?? ['declined', 'route'];
  return { code, source, reason };
}
