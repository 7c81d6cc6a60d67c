// Values for the examples of the API. All sample ids belong to the same sale.

export const SAMPLE_PROVIDER = 'sandbox';
export const SAMPLE_ROUTE_ID = 'sandbox_card_acquirer';
export const SAMPLE_TX_HASH = 'sim_5f2b8c1d9e';
export const SAMPLE_TIME = '2026-01-15T09:30:00.000Z';

const SESSION_ID = 'chk_01m7x0e4kq3v8n5c2t9y6w1r4b7d0f3h5j8m';
export const SAMPLE_CHECKOUT_URL = `https://pay.example/checkout/${SESSION_ID}`;

/** Sample ids by their prefix. */
export const SAMPLE_IDS = {
  chk: SESSION_ID,
  evt: `evt_${SESSION_ID}_paid`,
  cus: 'cus_01m7x0e4kp6z2s8d4g1k7n0q3v9x5b2f8h4c',
  pay: 'pay_01m7x0e9zb4c7r2k5v8q1w3n6t0y9f2d4h7j',
  inv: 'inv_01m7x0e9zd8n3m6x1c5v0b2k7q9r4t3w8y1z',
  ref: 'ref_01m7x0f1q3v6y9b2e5h8k1n4r7t0w3z6a9d2',
  rev: 'rev_01m7x0f5n2r6t9w1y4b7d0g3j6m8p1s4v7x0',
  dis: 'dis_01m7x0f3t5w8z1b4e7h0k3n6q9s2v5y8a1c4',
  dlv: 'dlv_01m7x0e9zf2k6p9s3w7a1d5g8j4n0q6t2v5x',
  whe: 'whe_01m7x0c2r5v8y1b4e7h0k3n6q9t2w5z8a1d4',
  rcv: 'rcv_01m7x0ea1c5v8y1b4e7h0k3n6q9t2w5z8a1d',
  rtr: 'rtr_01m7x0e9zb4c7r2k5v8q1w3n6t0y9f2d4h7j',
  key: 'key_01m7x0c2r5v8y1b4e7h0k3n6q9t2w5z8a1d4',
  aud: 'aud_01m7x0f1r6v3k8n5c2t9y6w1r4b7d0f3h5j8',
  exp: 'exp_01m7x0d4s8v1y4b7e0h3k6n9q2t5w8z1a4c7',
  dec: 'dec_01m7x0e9zb4c7r2k5v8q1w3n6t0y9f2d4h7j',
};
