import { z } from 'zod';
import { reader } from './schema-reader.ts';

// Schemas of PayPal's objects, with only the fields that the adapter uses.
// https://developer.paypal.com/docs/api/orders/v2, /payments/v2, /customer-disputes/v1, /webhooks/v1

/** Id in an answer or a callback. Its characters cannot change the path of a later query. */
const id = z.string().regex(/^[\w-]{1,255}$/);
const money = z.object({
  currency_code: z.string().regex(/^[A-Z]{3}$/),
  value: z.string().regex(/^-?\d{1,15}(?:\.\d{1,4})?$/),
});
export type PaypalMoney = z.output<typeof money>;
// A link that cannot be read equals a missing one.
const link = z.object({ rel: z.string(), href: z.url() }).catch({ rel: '', href: '' });
const links = z.array(link).optional().catch(undefined);
type Links = z.output<typeof links>;
/** Text without effect on the money of a payment. */
const text = z.string().nullish().catch(null);
const time = z.iso.datetime({ offset: true });

const capture = z.object({
  id,
  status: z.string(),
  amount: money,
  custom_id: text,
  seller_receivable_breakdown: z.object({ paypal_fee: money.nullish() }).nullish(),
  create_time: time.nullish(),
  update_time: time.nullish(),
});
export type PaypalCapture = z.output<typeof capture>;
const refund = z.object({
  id,
  status: z.string(),
  amount: money,
  custom_id: text,
  create_time: time.nullish(),
  status_details: z.object({ reason: text }).nullish(),
  /** Present once PayPal has deducted the refund from the balance. */
  seller_payable_breakdown: z.object({}).nullish(),
  links,
});
export type PaypalRefund = z.output<typeof refund>;
const order = z.object({
  id,
  status: z.string(),
  update_time: time.nullish(),
  purchase_units: z
    .array(
      z.object({
        custom_id: text,
        amount: money.optional(),
        payments: z.object({ captures: z.array(capture).nullish(), refunds: z.array(refund).nullish() }).nullish(),
      }),
    )
    .length(1),
  links,
});
export type PaypalOrder = z.output<typeof order>;

const movement = z.object({ amount: money, type: z.string(), reason: z.string().nullish() });
const dispute = z.object({
  dispute_id: id,
  status: z.string(),
  reason: text,
  create_time: time,
  update_time: time.nullish(),
  dispute_amount: money,
  disputed_transactions: z.array(z.object({ seller_transaction_id: id.nullish() })).min(1),
  dispute_outcome: z.object({ outcome_code: z.string().nullish(), amount_refunded: money.nullish() }).nullish(),
  fund_movements: z.array(movement.extend({ party: z.string() })).nullish(),
  /** Older name of the movements, which some accounts still get. */
  money_movements: z.array(movement.extend({ affected_party: z.string() })).nullish(),
});
export type PaypalDispute = z.output<typeof dispute>;
const disputes = z.object({ items: z.array(z.object({ dispute_id: id })).default([]) });

const optionalId = id.optional().catch(undefined);
const resource = z.object({
  id: optionalId,
  dispute_id: optionalId,
  order_id: optionalId,
  custom_id: text,
  purchase_units: z.array(z.object({ custom_id: text })).nullish(),
  supplementary_data: z
    .object({ related_ids: z.object({ order_id: optionalId }).nullish() })
    .nullish()
    .catch(null),
  links,
});
const event = z.object({
  id,
  event_type: z.string(),
  /** Null if it cannot be read. */
  resource: resource.nullable().catch(null),
});
export type PaypalResource = z.output<typeof resource>;
export type PaypalEvent = z.output<typeof event>;
const token = z.object({
  access_token: z.string().min(1),
  expires_in: z.number().positive(),
  scope: z.string().default(''),
});
const webhook = z.object({ id, url: z.url(), event_types: z.array(z.object({ name: z.string() })) });
const failure = z.object({
  name: z.string().optional(),
  message: z.string().optional(),
  /** Fields of the errors of the token endpoint. */
  error: z.string().optional(),
  error_description: z.string().optional(),
  details: z.array(z.object({ issue: z.string().optional(), description: z.string().optional() })).optional(),
});

export const readOrder = reader(order);
export const readCapture = reader(capture);
export const readRefund = reader(refund);
export const readDispute = reader(dispute);
export const readDisputes = reader(disputes);
export const readEvent = reader(event);
export const readToken = reader(token);
export const readWebhook = reader(webhook);

/** PayPal's error in an answer; undefined if the answer has none. */
export function readError(json: unknown): { issue: string; message: string } | undefined {
  const { success, data } = failure.safeParse(json);
  if (!success) return undefined;
  const [detail] = data.details ?? [];
  const issue = detail?.issue ?? data.name ?? data.error;
  if (issue === undefined) return undefined;
  return { issue, message: detail?.description ?? data.message ?? data.error_description ?? issue };
}

/** The last part of the path of a link, which is the id of the object that it leads to; undefined without such a link. */
export function idOfLink(found: Links, rel: string, parent: string): string | undefined {
  const href = found?.find((link) => link.rel === rel)?.href;
  const parts = href === undefined ? [] : new URL(href).pathname.split('/');
  const last = parts.at(-1);
  return parts.at(-2) === parent && id.safeParse(last).success ? last : undefined;
}
