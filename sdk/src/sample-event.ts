import type { EventDispute, EventRefund, PaymentWebhookEvent } from './webhook-event.ts';

/** Fields of a sample event that differ from the defaults. */
export interface SampleOverrides {
  id?: string | undefined;
  livemode?: boolean | undefined;
  /** Creation time of the event, ISO 8601. */
  created?: string | undefined;
  data?: Partial<Omit<PaymentWebhookEvent['data'], 'status'>> | undefined;
}

const REFUND: EventRefund = {
  id: 'ref_01m7x0f1q3v6y9b2e5h8k1n4r7t0w3z6a9d2',
  amount: 10,
  status: 'succeeded',
  reason: 'requested_by_customer',
};
const DISPUTE: EventDispute = {
  id: 'rev_01m7x0f5n2r6t9w1y4b7d0g3j6m8p1s4v7x0',
  status: 'open',
  amount: 49.99,
  fee: 15,
  reason: 'fraudulent',
};

/**
 * Creates a complete event about a payment for tests of a webhook handler; sign it with `webhooks.sign`. As in a real event, the id is built
 * from the session and the type: `evt_<session id>_<status>`, `evt_<session id>_refunded_<refund id>` (with `_failed` for a
 * failure) or `evt_<session id>_disputed_<dispute id>_<number>`.
 */
export function sampleEvent<Type extends PaymentWebhookEvent['type']>(
  type: Type,
  overrides: SampleOverrides = {},
): Extract<PaymentWebhookEvent, { type: Type }> {
  const { refund = REFUND, dispute = DISPUTE, ...given } = overrides.data ?? {};
  const { report, status = report, ...part } = partsOf(type, refund, dispute);
  const data = {
    session_id: 'chk_01m7x0e4kq3v8n5c2t9y6w1r4b7d0f3h5j8m',
    customer_id: 'cus_01m7x0e4kp6z2s8d4g1k7n0q3v9x5b2f8h4c',
    status,
    amount: 49.99,
    currency: 'USD',
    asset: 'USD',
    network: 'card_network',
    route: { id: 'sandbox_card_acquirer', kind: 'card', label: 'Card, simulated acquirer', provider: 'sandbox' },
    fees: { buyer_fee: 0, gateway_fee: 1.45, merchant_net: 48.54, total: 49.99 },
    tx_hash: 'sim_5f2b8c1d9e',
    metadata: {},
    ...given,
    ...part,
  };
  const event = {
    id: overrides.id ?? `evt_${data.session_id}_${report}`,
    type,
    livemode: overrides.livemode ?? false,
    created: overrides.created ?? '2026-01-15T09:30:00.000Z',
    data,
  };
  return event as unknown as Extract<PaymentWebhookEvent, { type: Type }>;
}

/** Parts of an event that depend on its type: the end of its id, its status if that differs, and its own field of `data`. */
function partsOf(type: PaymentWebhookEvent['type'], refund: EventRefund, dispute: EventDispute) {
  switch (type) {
    case 'payment.refunded':
      return { report: `refunded_${refund.id}${refund.status === 'failed' ? '_failed' : ''}`, status: 'paid', refund };
    case 'payment.disputed':
      return { report: `disputed_${dispute.id}_1`, status: 'paid', dispute };
    default:
      return { report: type.slice('payment.'.length) };
  }
}
