import { z } from 'zod';
import { reader } from './schema-reader.ts';

// Schemas of Stripe's objects, with only the fields that the adapter uses.

const id = z.string().min(1).max(255);
const cents = z.int();
// Information about a payment. A value that cannot be read counts as missing, so that it does not hide the money.
const text = z.string().nullish().catch(null);
const metadata = z.record(z.string(), z.string()).nullish();
const movement = z.object({
  id,
  amount: cents,
  fee: cents,
  net: cents,
  currency: id,
  type: id,
  source: z.unknown().optional(),
});
const paymentError = z.object({ type: z.string(), code: text, decline_code: text });
export type PaymentError = z.output<typeof paymentError>;
/** Balance transaction of Stripe. */
export type BalanceMovement = z.output<typeof movement>;
const card = z.object({ country: text, brand: text, funding: text });
const charge = z.object({
  created: z.int().nullish().catch(null),
  payment_method_details: z.object({ card: card.nullish() }).nullish().catch(null),
  failure_code: text,
  balance_transaction: z.union([z.string(), movement]).nullish(),
});
const intent = z.object({
  id,
  status: z.string(),
  last_payment_error: paymentError.nullish().catch(null),
  latest_charge: z.union([z.string(), charge]).nullish(),
});
const session = z.object({
  id,
  object: z.literal('checkout.session'),
  livemode: z.boolean(),
  status: z.string(),
  payment_status: z.string(),
  created: z.int(),
  amount_total: cents,
  currency: id,
  url: z.url().nullish(),
  /** The methods that the buyer can choose. */
  payment_method_types: z.array(z.string()),
  client_reference_id: z.string().nullish(),
  metadata,
  payment_intent: z.union([z.string(), intent]).nullish(),
});
export type CheckoutSession = z.output<typeof session>;
const refund = z.object({
  id,
  object: z.literal('refund'),
  status: z.string().nullable(),
  amount: cents,
  currency: id,
  payment_intent: z.string().nullish(),
  /** Id of the deduction from the balance; null while there is none. */
  balance_transaction: z.string().nullish(),
  failure_reason: text,
  metadata,
});
export type StripeRefund = z.output<typeof refund>;
export type StripeDispute = z.output<typeof dispute>;
const dispute = z.object({
  id,
  object: z.literal('dispute'),
  livemode: z.boolean(),
  status: z.string(),
  currency: id,
  reason: text,
  payment_intent: z.string().nullish(),
  balance_transactions: z.array(movement),
});
export type StripePayout = z.output<typeof payout>;
const payout = z.object({
  id,
  object: z.literal('payout'),
  livemode: z.boolean(),
  automatic: z.boolean(),
  status: z.string(),
  arrival_date: z.int(),
  reconciliation_status: text,
});
/** Id in a callback. Its characters cannot change the path of a later query, even if an attacker has the signing secret. */
const eventId = z.string().regex(/^\w{1,255}$/);
const event = z.object({
  id: eventId,
  object: z.literal('event'),
  type: z.string(),
  livemode: z.boolean(),
  account: z.string().nullish(),
  data: z.object({
    object: z.object({ id: eventId.optional(), client_reference_id: z.string().nullish(), metadata }),
  }),
});
export type StripeEvent = z.output<typeof event>;
const account = z.object({
  id,
  charges_enabled: z.boolean(),
  default_currency: z.string().nullish(),
  capabilities: z.record(z.string(), z.string()).nullish(),
});
export type StripeAccount = z.output<typeof account>;
const endpoint = z.object({ url: z.string(), status: z.string(), enabled_events: z.array(z.string()) });
const failure = z.object({
  error: z.object({
    type: z.string(),
    code: z.string().nullish(),
    message: z.string().nullish(),
    param: z.string().nullish(),
  }),
});
export type StripeError = z.output<typeof failure>['error'];
const list = <Item extends z.ZodType>(item: Item) => z.object({ data: z.array(item), has_more: z.boolean() });

export const readSession = reader(session);
export const readRefund = reader(refund);
export const readRefunds = reader(list(refund));
export const readDispute = reader(dispute);
export const readPayout = reader(payout);
export const readMovements = reader(list(movement));
export const readEvent = reader(event);
export const readAccount = reader(account);
export const readEndpoints = reader(list(endpoint));

/** Stripe's own error in an answer; undefined if the answer is not Stripe's, for example a proxy's. */
export function readError(json: unknown): StripeError | undefined {
  return failure.safeParse(json).data?.error;
}
