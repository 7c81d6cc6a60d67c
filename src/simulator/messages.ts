import { z } from 'zod';
import { inputReader } from '../contract/problems.ts';
import { routeKind, text } from '../contract/fields.ts';
import { redirectUrlField } from '../contract/redirect-url.ts';
import { CURRENCY, type Instant } from '../domain/records.ts';
import type { SimulatedPayment, SimulatedRefund } from '../store/simulator.ts';
import type { ChargeState } from './instruments.ts';

const MAX_NAME = 254;
const cents = z.int().min(1);

/** What a merchant's gateway sends to have a charge taken over. */
const charge = z.strictObject({
  charge: text(1, MAX_NAME).describe("The caller's id of the charge; the same one is taken over once."),
  order: text(1, MAX_NAME),
  kind: routeKind,
  amount: cents,
  total: cents,
  currency: z.enum([CURRENCY]),
  merchant: text(1, MAX_NAME),
  product: text(1, MAX_NAME),
  buyer_email: text(1, MAX_NAME),
  return_url: redirectUrlField([]),
});

export type ChargeOrder = z.output<typeof charge>;
export const chargeReader = inputReader(charge);

/** What a merchant's gateway sends to have money given back. */
const refund = z.strictObject({
  refund: text(1, MAX_NAME).describe("The caller's id of the refund; the same one is given back once."),
  amount: cents,
  currency: z.enum([CURRENCY]),
  charge: charge
    .pick({ order: true, kind: true, amount: true, total: true })
    .describe("The caller's record of the charge; it applies if this provider has captured nothing."),
});

export type RefundOrder = z.output<typeof refund>;
export const refundReader = inputReader(refund);

/** What the simulated provider says of a refund; its own words, which the adapter translates. */
export type RefundState = 'PENDING' | 'REFUNDED' | 'FAILED';

const REFUND_STATE: Record<SimulatedRefund['status'], RefundState> = {
  pending: 'PENDING',
  succeeded: 'REFUNDED',
  failed: 'FAILED',
};

const eventBody = z.object({ state: z.string().optional(), amount: z.int() });
const PAYOUT_EVENT = 'charge.settled';
const payoutEvent = z.object({ type: z.literal(PAYOUT_EVENT) });
const refundEvent = z.object({ refund: z.string(), type: z.enum(['refund.succeeded', 'refund.failed']) });

const STATE: Record<SimulatedPayment['status'], ChargeState> = {
  open: 'CREATED',
  pending: 'PROCESSING',
  paid: 'CAPTURED',
  failed: 'DECLINED',
  cancelled: 'CANCELLED',
  refunded: 'REFUNDED',
};

/** A charge as the API answers it; `page` is where its buyer goes. */
export function renderCharge(payment: SimulatedPayment, page: string): Record<string, unknown> {
  const state = STATE[payment.status];
  return { reference: payment.reference, page, ...shared(payment, state, payment.amount) };
}

/** The body of a callback; `amount` is in cents. */
export function renderEvent(
  payment: SimulatedPayment,
  event: { id: string; state: ChargeState; amount: number; created: Instant },
): string {
  return JSON.stringify({
    event: event.id,
    type: 'charge.updated',
    ...shared(payment, event.state, event.amount),
    created: Math.floor(event.created / 1000),
  });
}

/** The body of the callback that the merchant has been paid out, in full: what the gateway keeps is not this provider's. */
export function renderPayoutEvent(
  { sessionId: order, paymentId: charge, amount }: SimulatedPayment,
  event: { id: string; payout: string; created: Instant },
): string {
  return JSON.stringify({
    event: event.id,
    type: PAYOUT_EVENT,
    order,
    charge,
    payout: event.payout,
    amount,
    currency: CURRENCY,
    created: Math.floor(event.created / 1000),
  });
}

/** Whether a callback that is still to be sent says that the merchant has been paid out. */
export function paysOut(body: string): boolean {
  return payoutEvent.safeParse(JSON.parse(body)).success;
}

/** A refund as the API answers it. */
export function renderRefund(
  payment: SimulatedPayment,
  { id, amount, status, reason }: SimulatedRefund,
  state: RefundState = REFUND_STATE[status],
): Record<string, unknown> {
  const { sessionId: order, paymentId: charge } = payment;
  return { refund: id, order, charge, state, ...(state === 'FAILED' && { reason }), amount, currency: CURRENCY };
}

/** The body of a callback about a refund. */
export function renderRefundEvent(
  payment: SimulatedPayment,
  { id: refundId, amount }: SimulatedRefund,
  event: { id: string; outcome: 'succeeded' | 'failed'; reason: string | null; created: Instant },
): string {
  return JSON.stringify({
    event: event.id,
    type: `refund.${event.outcome}`,
    order: payment.sessionId,
    charge: payment.paymentId,
    refund: refundId,
    ...(event.reason !== null && { reason: event.reason }),
    amount,
    currency: CURRENCY,
    created: Math.floor(event.created / 1000),
  });
}

/** What a callback that is still to be sent says of a refund; undefined where it is about a charge. */
export function refundToldBy(body: string): { refundId: string; outcome: 'succeeded' | 'failed' } | undefined {
  const { success, data } = refundEvent.safeParse(JSON.parse(body));
  return success
    ? { refundId: data.refund, outcome: data.type === 'refund.failed' ? 'failed' : 'succeeded' }
    : undefined;
}

/** Whether a callback that is still to be sent says that all of the money has come. */
export function capturesInFull(payment: SimulatedPayment, body: string): boolean {
  const { state, amount } = eventBody.parse(JSON.parse(body));
  return state === 'CAPTURED' && amount === payment.amount;
}

function shared(payment: SimulatedPayment, state: ChargeState, amount: number): Record<string, unknown> {
  const { sessionId: order, paymentId, reason, txHash } = payment;
  const moved = state === 'CAPTURED' || state === 'REFUNDED';
  return {
    order,
    charge: paymentId,
    state,
    ...(state === 'DECLINED' && { reason }),
    amount,
    currency: CURRENCY,
    transaction: moved ? txHash : null,
  };
}
