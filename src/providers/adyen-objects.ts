import { z } from 'zod';
import { reader } from './schema-reader.ts';

// Schemas of Adyen's objects, with only the fields that the adapter uses.

const text = z.string().min(1).max(255);
const amount = z.object({ currency: z.string().regex(/^[A-Z]{3}$/), value: z.int().min(0) });
// A signed field must not contain the separator of the signed text; otherwise two notifications could have the same signature.
const signed = z.string().regex(/^[^:]{0,255}$/);
// The signature of a notification does not cover such a field.
const unsigned = z.string().nullish().catch(null);

const notificationItem = z.object({
  pspReference: signed.min(1),
  originalReference: signed.nullish(),
  merchantAccountCode: signed.min(1),
  /** Chosen by the program that requested the payment or the refund, so it may contain the separator. */
  merchantReference: z.string().max(255),
  amount,
  eventCode: z.string().regex(/^\w{1,100}$/),
  success: z.enum(['true', 'false']),
  additionalData: z
    .object({ hmacSignature: z.string().optional().catch(undefined), issuerCountry: unsigned, fundingSource: unsigned })
    .nullish(),
  paymentMethod: unsigned,
  reason: unsigned,
  eventDate: unsigned,
});
/** One item of a notification. */
export type NotificationItem = z.output<typeof notificationItem>;

const notification = z.object({
  live: z.union([z.enum(['true', 'false']), z.boolean()]),
  notificationItems: z.array(z.object({ NotificationRequestItem: notificationItem })).min(1),
});
const link = z.object({
  id: text,
  reference: text,
  amount,
  merchantAccount: text,
  status: z.string(),
  url: z.string().min(1),
  updatedAt: z.string().nullish(),
});
/** Adyen's payment link. */
export type PaymentLink = z.output<typeof link>;
const refund = z.object({ pspReference: text, paymentPspReference: text, status: z.string(), amount });
const methods = z.object({ paymentMethods: z.array(z.object({ type: z.string() })) });
const apiError = z.object({
  message: z.string().nullish(),
  errorCode: z.string().nullish(),
  errorType: z.string().nullish(),
});
export type AdyenError = z.output<typeof apiError>;

export const readNotification = reader(notification);
export const readLink = reader(link);
export const readRefund = reader(refund);
export const readMethods = reader(methods);
export const readError = reader(apiError);
