import type { Stripe } from 'stripe';

// The objects of the scripted Stripe: the subset of their fields that the tests need, with the types of Stripe's SDK.

/** Stripe's Checkout Session. */
export type Session = Pick<
  Stripe.Checkout.Session,
  | 'id'
  | 'object'
  | 'livemode'
  | 'status'
  | 'payment_status'
  | 'created'
  | 'expires_at'
  | 'amount_total'
  | 'currency'
  | 'url'
  | 'client_reference_id'
  | 'metadata'
  | 'mode'
  | 'success_url'
  | 'cancel_url'
  | 'payment_method_types'
> & { payment_intent: string | null };
/** Stripe's PaymentIntent. */
export type Intent = Pick<
  Stripe.PaymentIntent,
  'id' | 'object' | 'livemode' | 'status' | 'amount' | 'currency' | 'created' | 'metadata'
> & {
  latest_charge: string | null;
  last_payment_error: { type: string; code: string; decline_code?: string; message: string } | null;
};
export type Charge = Pick<
  Stripe.Charge,
  | 'id'
  | 'object'
  | 'livemode'
  | 'status'
  | 'paid'
  | 'amount'
  | 'amount_refunded'
  | 'currency'
  | 'created'
  | 'disputed'
  | 'failure_code'
> & {
  payment_intent: string;
  balance_transaction: string | null;
  payment_method_details: { card?: CardDetails };
};
type CardDetails = Pick<Stripe.Charge.PaymentMethodDetails.Card, 'country' | 'brand' | 'funding'>;
/** Stripe's balance transaction. */
export type Movement = Pick<
  Stripe.BalanceTransaction,
  'id' | 'object' | 'amount' | 'fee' | 'net' | 'currency' | 'type' | 'created' | 'status'
> & { source: string | null };
export type Refund = Pick<
  Stripe.Refund,
  'id' | 'object' | 'status' | 'amount' | 'currency' | 'created' | 'metadata' | 'failure_reason'
> & { payment_intent: string; charge: string; balance_transaction: string | null };
export type Dispute = Pick<
  Stripe.Dispute,
  'id' | 'object' | 'livemode' | 'status' | 'amount' | 'currency' | 'created' | 'reason' | 'is_charge_refundable'
> & { payment_intent: string; charge: string; balance_transactions: Movement[] };
export type Payout = Pick<
  Stripe.Payout,
  | 'id'
  | 'object'
  | 'livemode'
  | 'status'
  | 'amount'
  | 'currency'
  | 'created'
  | 'automatic'
  | 'arrival_date'
  | 'reconciliation_status'
>;
/** Event of Stripe, the body of a callback. */
export interface StripeEvent {
  id: string;
  object: 'event';
  type: string;
  livemode: boolean;
  created: number;
  account?: string;
  data: { object: object };
}

/** All objects of a Stripe account by their ids. */
export interface World {
  sessions: Map<string, Session>;
  intents: Map<string, Intent>;
  charges: Map<string, Charge>;
  movements: Map<string, Movement>;
  refunds: Map<string, Refund>;
  disputes: Map<string, Dispute>;
  payouts: Map<string, Payout>;
  /** Id of the payout by the id of a balance transaction. */
  paidOut: Map<string, string>;
}

/** Creates the objects of an account without payments. */
export function emptyWorld(): World {
  return {
    sessions: new Map(),
    intents: new Map(),
    charges: new Map(),
    movements: new Map(),
    refunds: new Map(),
    disputes: new Map(),
    payouts: new Map(),
    paidOut: new Map(),
  };
}

/** Copy of an object in which the ids at these paths are replaced by their objects, like Stripe's parameter `expand`. */
export function expanded(world: World, object: object, paths: readonly string[]): object {
  let result = structuredClone(object) as Record<string, unknown>;
  for (const path of paths) result = expandPath(world, result, path.split('.')) as Record<string, unknown>;
  return result;
}

function expandPath(world: World, value: unknown, [name, ...rest]: string[]): unknown {
  if (Array.isArray(value)) return value.map((each) => expandPath(world, each, [name!, ...rest]));
  if (typeof value !== 'object' || value === null || name === undefined) return value;
  const field = (value as Record<string, unknown>)[name];
  const found = typeof field === 'string' ? structuredClone(objectOf(world, field) ?? field) : field;
  return { ...value, [name]: expandPath(world, found, rest) };
}

function objectOf(world: World, id: string): object | undefined {
  const { sessions, intents, charges, movements, refunds, disputes, payouts } = world;
  return [sessions, intents, charges, movements, refunds, disputes, payouts].find((map) => map.has(id))?.get(id);
}
