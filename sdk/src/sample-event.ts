import type { WebhookEvent, WebhookEventType } from './generated/types.ts';

/** Fields of a sample event that differ from the defaults. */
export interface SampleOverrides {
  id?: string | undefined;
  livemode?: boolean | undefined;
  /** Creation time of the event, ISO 8601. */
  created?: string | undefined;
  data?: Partial<Omit<WebhookEvent['data'], 'status'>> | undefined;
}

/**
 * Creates a complete event for tests of a webhook handler; sign it with `webhooks.sign`. As in a real event, the id is built
 * from the session and the type: `evt_<session id>_<status>`.
 */
export function sampleEvent<Type extends WebhookEventType>(
  type: Type,
  overrides: SampleOverrides = {},
): Extract<WebhookEvent, { type: Type }> {
  const status = type.slice('payment.'.length);
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
    ...overrides.data,
  };
  const event = {
    id: overrides.id ?? `evt_${data.session_id}_${status}`,
    type,
    livemode: overrides.livemode ?? false,
    created: overrides.created ?? '2026-01-15T09:30:00.000Z',
    data,
  };
  return event as unknown as Extract<WebhookEvent, { type: Type }>;
}
