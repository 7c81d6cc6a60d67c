// Values of examples. The ids name the records of one sale.

/** The provider adapter of the examples. */
export const SAMPLE_PROVIDER = 'sandbox';
export const SAMPLE_ROUTE_ID = 'sandbox_card_acquirer';
export const SAMPLE_TX_HASH = 'sim_5f2b8c1d9e';

export const SAMPLE_SESSION_ID = 'chk_01m7x0e4kq3v8n5c2t9y6w1r4b7d0f3h5j8m';
export const SAMPLE_CUSTOMER_ID = 'cus_01m7x0e4kp6z2s8d4g1k7n0q3v9x5b2f8h4c';
export const SAMPLE_PAYMENT_ID = 'pay_01m7x0e9zb4c7r2k5v8q1w3n6t0y9f2d4h7j';
const SAMPLE_INVOICE_ID = 'inv_01m7x0e9zd8n3m6x1c5v0b2k7q9r4t3w8y1z';
export const SAMPLE_REFUND_ID = 'ref_01m7x0f1q3v6y9b2e5h8k1n4r7t0w3z6a9d2';
export const SAMPLE_DISCREPANCY_ID = 'dis_01m7x0f3t5w8z1b4e7h0k3n6q9s2v5y8a1c4';
const SAMPLE_DELIVERY_ID = 'dlv_01m7x0e9zf2k6p9s3w7a1d5g8j4n0q6t2v5x';
export const SAMPLE_ENDPOINT_ID = 'whe_01m7x0c2r5v8y1b4e7h0k3n6q9t2w5z8a1d4';
const SAMPLE_RECOVERY_ID = 'rcv_01m7x0ea1c5v8y1b4e7h0k3n6q9t2w5z8a1d';
const SAMPLE_KEY_ID = 'key_01m7x0c2r5v8y1b4e7h0k3n6q9t2w5z8a1d4';
export const SAMPLE_DECISION_ID = 'dec_01m7x0e9zb4c7r2k5v8q1w3n6t0y9f2d4h7j';
export const SAMPLE_EVENT_ID = `evt_${SAMPLE_SESSION_ID}_paid`;
export const SAMPLE_CHECKOUT_URL = `https://pay.example/checkout/${SAMPLE_SESSION_ID}`;
export const SAMPLE_TIME = '2026-01-15T09:30:00.000Z';

/** Sample id by the prefix of the record. */
export const SAMPLE_IDS = {
  chk: SAMPLE_SESSION_ID,
  cus: SAMPLE_CUSTOMER_ID,
  pay: SAMPLE_PAYMENT_ID,
  inv: SAMPLE_INVOICE_ID,
  ref: SAMPLE_REFUND_ID,
  dis: SAMPLE_DISCREPANCY_ID,
  dlv: SAMPLE_DELIVERY_ID,
  whe: SAMPLE_ENDPOINT_ID,
  rcv: SAMPLE_RECOVERY_ID,
  key: SAMPLE_KEY_ID,
  dec: SAMPLE_DECISION_ID,
};
