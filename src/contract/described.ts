import { z } from 'zod';
import { SAMPLE_CUSTOMER_ID, SAMPLE_SESSION_ID } from './requests.ts';

// Kinds of fields that answers are made of, each with its words and an example.

const SAMPLE_TIME = '2026-01-15T09:30:00.000Z';
export const SAMPLE_EXPIRY = '2026-01-16T09:30:00.000Z';
export const SAMPLE_CHECKOUT_URL = `https://pay.example/checkout/${SAMPLE_SESSION_ID}`;
export const SAMPLE_PAYMENT_ID = 'pay_01m7x0e9zb4c7r2k5v8q1w3n6t0y9f2d4h7j';
export const SAMPLE_INVOICE_ID = 'inv_01m7x0e9zd8n3m6x1c5v0b2k7q9r4t3w8y1z';
export const SAMPLE_DISCREPANCY_ID = 'dis_01m7x0f3t5w8z1b4e7h0k3n6q9s2v5y8a1c4';
export const SAMPLE_REFUND_ID = 'ref_01m7x0f1q3v6y9b2e5h8k1n4r7t0w3z6a9d2';
export const SAMPLE_DELIVERY_ID = 'dlv_01m7x0e9zf2k6p9s3w7a1d5g8j4n0q6t2v5x';
export const SAMPLE_ENDPOINT_ID = 'whe_01m7x0c2r5v8y1b4e7h0k3n6q9t2w5z8a1d4';
export const SAMPLE_RECOVERY_ID = 'rcv_01m7x0ea1c5v8y1b4e7h0k3n6q9t2w5z8a1d';
export const SAMPLE_EVENT_ID = `evt_${SAMPLE_SESSION_ID}_paid`;
const SAMPLE_IDS = {
  chk: SAMPLE_SESSION_ID,
  cus: SAMPLE_CUSTOMER_ID,
  pay: SAMPLE_PAYMENT_ID,
  inv: SAMPLE_INVOICE_ID,
  ref: SAMPLE_REFUND_ID,
  dis: SAMPLE_DISCREPANCY_ID,
  dlv: SAMPLE_DELIVERY_ID,
  whe: SAMPLE_ENDPOINT_ID,
};

export const dollars = (what: string, example = 49.99) =>
  z
    .number()
    .describe(`${what} In US dollars, not cents.`)
    .meta({ examples: [example] });
export const rate = (what: string, example: number) =>
  z
    .number()
    .describe(`${what} A fraction: 0.029 is 2.9 %.`)
    .meta({ examples: [example] });
export const id = (prefix: keyof typeof SAMPLE_IDS, what: string) =>
  z
    .string()
    .describe(`${what} Starts with ${prefix}_.`)
    .meta({ examples: [SAMPLE_IDS[prefix]] });
export const time = (what: string, example = SAMPLE_TIME) =>
  z
    .string()
    .describe(`${what} ISO 8601, UTC.`)
    .meta({ format: 'date-time', examples: [example] });
export const label = (what: string, example: string) =>
  z
    .string()
    .describe(what)
    .meta({ examples: [example] });
export const uri = (what: string, example: string) =>
  z
    .string()
    .describe(what)
    .meta({ format: 'uri', examples: [example] });
export const template = (what: string, example: string) =>
  z
    .string()
    .describe(what)
    .meta({ format: 'uri-template', examples: [example] });
export const mail = (what: string) =>
  z
    .string()
    .describe(what)
    .meta({ format: 'email', examples: ['buyer@example.com'] });
