import { z } from 'zod';
import { inputReader } from '../contract/problems.ts';
import { redirectUrl, routeKind, text } from '../contract/fields.ts';
import { CURRENCY, type Instant } from '../domain/records.ts';
import type { SimulatedPayment } from '../store/store.ts';
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
  return_url: redirectUrl,
});

export type ChargeOrder = z.output<typeof charge>;
export const chargeReader = inputReader(charge);

const eventBody = z.object({ state: z.string(), amount: z.int() });

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
