/** Ids for the examples in help texts. */
export const EXAMPLE = {
  customer: 'cus_01m7x0e4kp6z2s8d4g1k7n0q3v9x5b2f8h4c',
  delivery: 'dlv_01m7x0e9z9f4k8p2s6w1b5d0h3m7q9t2x6c4',
  discrepancy: 'dis_01m7x0f3t5w8z1b4e7h0k3n6q9s2v5y8a1c4',
  endpoint: 'whe_01m7x0c2r5v8y1b4e7h0k3n6q9t2w5z8a1d4',
  event: 'evt_chk_01m7x0e4kq3v8n5c2t9y6w1r4b7d0f3h5j8m_paid',
  invoice: 'inv_01m7x0e6bp8d3g7k2n5q9t4w1z6c0f3h8j5m',
  key: 'key_01m7x0c2r5v8y1b4e7h0k3n6q9t2w5z8a1d4',
  payment: 'pay_01m7x0e6bq5c8k1r4v7y2w9t6n3s0d8f5h2j',
  recovery: 'rcv_01m7x0ea1c5v8y1b4e7h0k3n6q9t2w5z8a1d',
  refund: 'ref_01m7x0f1q3v6y9b2e5h8k1n4r7t0w3z6a9d2',
  session: 'chk_01m7x0e4kq3v8n5c2t9y6w1r4b7d0f3h5j8m',
} as const;
