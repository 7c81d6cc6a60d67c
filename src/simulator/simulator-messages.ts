import { z } from 'zod';
import { inputReader } from '../contract/input-problems.ts';
import { routeKind, text } from '../contract/request-fields.ts';
import { redirectUrlField } from '../contract/redirect-url.ts';
import { CURRENCY, type Instant } from '../domain/records.ts';
import type { ChargeState } from './test-instruments.ts';
import type { Charge, ChargeRefund } from './simulator-store.ts';

const MAX_NAME = 254;
const cents = z.int().min(1);

/** Request body of a handoff, in which the merchant's gateway creates a charge. */
const charge = z.strictObject({
  charge: text(1, MAX_NAME).describe("The caller's id of the charge; the same id creates one charge only."),
  order: text(1, MAX_NAME),
  kind: routeKind,
  route: text(1, MAX_NAME).exactOptional().describe("The caller's name of the route."),
  amount: cents,
  total: cents,
  currency: z.enum([CURRENCY]),
  merchant: text(1, MAX_NAME),
  product: text(1, MAX_NAME),
  buyer_email: text(1, MAX_NAME),
  return_url: redirectUrlField([]),
});

export type ChargeOrder = z.output<typeof charge>;
/** Parser of the request that creates a charge. */
export const chargeReader = inputReader(charge);

/** Request body of a refund. */
const refund = z.strictObject({
  refund: text(1, MAX_NAME).describe("The caller's id of the refund; the same id is refunded once."),
  amount: cents,
  currency: z.enum([CURRENCY]),
  charge: charge
    .pick({ order: true, kind: true, amount: true, total: true })
    .describe("The caller's record of the charge; it applies if this provider has captured nothing."),
});

export type RefundOrder = z.output<typeof refund>;
/** Parser of the request that creates a refund. */
export const refundReader = inputReader(refund);

/** State of a refund in the simulated provider's API. The adapter converts it to a status. */
export type RefundState = 'PENDING' | 'REFUNDED' | 'FAILED';

const REFUND_STATE: Record<ChargeRefund['status'], RefundState> = {
  pending: 'PENDING',
  succeeded: 'REFUNDED',
  failed: 'FAILED',
};
const STATE: Record<Charge['status'], ChargeState> = {
  open: 'CREATED',
  pending: 'PROCESSING',
  paid: 'CAPTURED',
  failed: 'DECLINED',
  cancelled: 'CANCELLED',
  refunded: 'REFUNDED',
};

/** An event that a callback reports. `amount` is in cents. */
export type SimulatorEvent = { amount: number } & (
  | { type: 'charge.updated'; state: ChargeState; reason?: string | null; transaction: string | null }
  | { type: 'charge.settled'; payout: string }
  | { type: 'refund.succeeded' | 'refund.failed'; refund: string; reason?: string }
);

export function chargeUpdated({ reason, txHash }: Charge, state: ChargeState, amount: number) {
  const isTaken = state === 'CAPTURED' || state === 'REFUNDED';
  const transaction = isTaken ? txHash : null;
  return { type: 'charge.updated', state, ...(state === 'DECLINED' && { reason }), amount, transaction } as const;
}

export function eventBody(charge: Charge, id: string, { type, ...event }: SimulatorEvent, created: Instant): string {
  const { sessionId: order, paymentId } = charge;
  const shared = { order, charge: paymentId, currency: CURRENCY, created: Math.floor(created / 1000) };
  return JSON.stringify({ event: id, type, ...shared, ...event });
}

export function readEvent(body: string): SimulatorEvent {
  return JSON.parse(body) as SimulatorEvent;
}

/** Renders a charge for the API; `page` is the URL of the page on which the buyer pays. */
export function renderCharge(charge: Charge, page: string): Record<string, unknown> {
  const { reference, sessionId: order, paymentId, amount, status } = charge;
  const { type: _, ...state } = chargeUpdated(charge, STATE[status], amount);
  return { reference, page, order, charge: paymentId, currency: CURRENCY, ...state };
}

export function renderRefund(
  { sessionId: order, paymentId: charge }: Charge,
  { id, amount, status, reason }: ChargeRefund,
  state: RefundState = REFUND_STATE[status],
): Record<string, unknown> {
  return { refund: id, order, charge, state, ...(state === 'FAILED' && { reason }), amount, currency: CURRENCY };
}
