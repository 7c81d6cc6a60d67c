// The objects of the scripted PayPal: records in cents, and the resources that PayPal's API makes of them.

export type OrderStatus = 'CREATED' | 'PAYER_ACTION_REQUIRED' | 'APPROVED' | 'COMPLETED' | 'VOIDED';

export interface Order {
  id: string;
  status: OrderStatus;
  cents: number;
  currency: string;
  customId: string | undefined;
  description: string | undefined;
  brandName: string;
  returnUrl: string;
  cancelUrl: string;
  /** The order has a `payment_source`, so the buyer's link is `payer-action` and not `approve`. */
  hasSource: boolean;
  captureId: string | undefined;
  created: number;
  updated: number;
}

export interface Capture {
  id: string;
  orderId: string;
  /** Status without refunds, which the resource derives from the refunds. */
  status: 'COMPLETED' | 'PENDING' | 'DECLINED';
  reason: string | undefined;
  cents: number;
  feeCents: number;
  created: number;
  updated: number;
}

export interface Refund {
  id: string;
  captureId: string;
  status: 'COMPLETED' | 'PENDING' | 'FAILED';
  cents: number;
  customId: string | undefined;
  note: string | undefined;
  created: number;
  updated: number;
}

export interface Dispute {
  id: string;
  captureId: string;
  status: 'OPEN' | 'WAITING_FOR_SELLER_RESPONSE' | 'UNDER_REVIEW' | 'RESOLVED';
  reason: string;
  stage: 'INQUIRY' | 'CHARGEBACK';
  cents: number;
  movements: FundMovement[];
  outcome: 'RESOLVED_BUYER_FAVOUR' | 'RESOLVED_SELLER_FAVOUR' | 'CANCELED_BY_BUYER' | undefined;
  created: number;
  updated: number;
}

export interface FundMovement {
  cents: number;
  type: 'DEBIT' | 'CREDIT';
  reason: 'DISPUTE_SETTLEMENT' | 'DISPUTE_FEE' | 'CHARGEBACK_FEE';
  time: number;
}

/** Event of PayPal, the body of a callback. */
export interface PaypalEvent {
  id: string;
  event_version: string;
  create_time: string;
  resource_type: string;
  resource_version: string;
  event_type: string;
  summary: string;
  resource: object;
  links: Link[];
}

export interface Link {
  href: string;
  rel: string;
  method: 'GET' | 'POST';
}

/** All objects of a PayPal account by their ids. */
export interface World {
  orders: Map<string, Order>;
  captures: Map<string, Capture>;
  refunds: Map<string, Refund>;
  disputes: Map<string, Dispute>;
  /** Changes of the balance in cents. */
  movements: { cents: number; about: string; source: string }[];
}

export function emptyWorld(): World {
  return { orders: new Map(), captures: new Map(), refunds: new Map(), disputes: new Map(), movements: [] };
}

const PAYEE = { email_address: 'merchant@example.com', merchant_id: 'RD465XN5VS364' };
const BUYER = { email_address: 'buyer@example.com', account_id: 'QYR5Z8XDVJNXQ' };
export const PAYER_ID = BUYER.account_id;

export const timeOf = (ms: number): string => `${new Date(ms).toISOString().slice(0, 19)}Z`;

export function moneyOf(cents: number, currency = 'USD') {
  return { currency_code: currency, value: (cents / 100).toFixed(2) };
}

/** Cents of an amount in PayPal's form; undefined for an amount that PayPal would reject. */
export function centsOf(value: string): number | undefined {
  const [, units, fraction = ''] = /^(\d{1,9})(?:\.(\d{1,2}))?$/.exec(value) ?? [];
  return units === undefined ? undefined : Number(units) * 100 + Number(fraction.padEnd(2, '0'));
}

/** Cents of a capture that its refunds have returned or are returning. */
export function refundedCents({ refunds }: World, captureId: string): number {
  const all = [...refunds.values()].filter((refund) => refund.captureId === captureId && refund.status !== 'FAILED');
  return all.reduce((sum, { cents }) => sum + cents, 0);
}

/** Makes the resources of the API. `urlOf` returns the URL of the server. */
export function createResources(world: World, urlOf: () => string) {
  const link = (rel: string, path: string, method: Link['method'] = 'GET'): Link => ({
    href: `${urlOf()}${path}`,
    rel,
    method,
  });
  const times = ({ created, updated }: { created: number; updated: number }) => ({
    create_time: timeOf(created),
    update_time: timeOf(updated),
  });
  const currencyOf = (captureId: string): string =>
    world.orders.get(world.captures.get(captureId)?.orderId ?? '')?.currency ?? 'USD';

  function orderLinks({ id, status, hasSource }: Order): Link[] {
    const self = link('self', `/v2/checkout/orders/${id}`);
    if (status === 'APPROVED') return [self, link('capture', `/v2/checkout/orders/${id}/capture`, 'POST')];
    if (status !== 'CREATED' && status !== 'PAYER_ACTION_REQUIRED') return [self];
    return [self, link(hasSource ? 'payer-action' : 'approve', `/checkoutnow?token=${id}`)];
  }

  function orderOf(order: Order) {
    const { id, status, cents, currency, customId, description, captureId, hasSource } = order;
    const refunds = [...world.refunds.values()].filter((refund) => refund.captureId === captureId);
    const payments = captureId !== undefined && {
      payments: {
        captures: [captureOf(world.captures.get(captureId)!)],
        ...(refunds.length > 0 && { refunds: refunds.map(refundOf) }),
      },
    };
    const isApproved = status === 'APPROVED' || status === 'COMPLETED';
    return {
      id,
      intent: 'CAPTURE',
      status,
      ...(hasSource && { payment_source: { paypal: isApproved ? { ...BUYER, account_status: 'VERIFIED' } : {} } }),
      purchase_units: [
        {
          reference_id: 'default',
          amount: moneyOf(cents, currency),
          payee: PAYEE,
          ...(description !== undefined && { description }),
          ...(customId !== undefined && { custom_id: customId }),
          ...payments,
        },
      ],
      ...times(order),
      links: orderLinks(order),
    };
  }

  function captureOf(capture: Capture) {
    const { id, orderId, status, reason, cents, feeCents } = capture;
    const { customId, currency } = world.orders.get(orderId)!;
    const refunded = refundedCents(world, id);
    const self = link('self', `/v2/payments/captures/${id}`);
    const refund = link('refund', `/v2/payments/captures/${id}/refund`, 'POST');
    return {
      id,
      status: refunded === 0 ? status : refunded < cents ? 'PARTIALLY_REFUNDED' : 'REFUNDED',
      ...(reason !== undefined && { status_details: { reason } }),
      amount: moneyOf(cents, currency),
      ...(customId !== undefined && { custom_id: customId }),
      final_capture: true,
      seller_protection: {
        status: 'ELIGIBLE',
        dispute_categories: ['ITEM_NOT_RECEIVED', 'UNAUTHORIZED_TRANSACTION'],
      },
      ...(status === 'COMPLETED' && {
        seller_receivable_breakdown: {
          gross_amount: moneyOf(cents, currency),
          paypal_fee: moneyOf(feeCents, currency),
          net_amount: moneyOf(cents - feeCents, currency),
        },
      }),
      ...times(capture),
      links: [self, ...(status === 'COMPLETED' ? [refund] : []), link('up', `/v2/checkout/orders/${orderId}`)],
    };
  }

  /** A capture outside of its order, which names the order. */
  function captureAlone(capture: Capture) {
    return {
      ...captureOf(capture),
      supplementary_data: { related_ids: { order_id: capture.orderId } },
      payee: PAYEE,
    };
  }

  function refundOf(refund: Refund) {
    const { id, captureId, status, cents, customId, note } = refund;
    const currency = currencyOf(captureId);
    const amount = moneyOf(cents, currency);
    return {
      id,
      status,
      ...(status === 'PENDING' && { status_details: { reason: 'ECHECK' } }),
      amount,
      ...(customId !== undefined && { custom_id: customId }),
      ...(note !== undefined && { note_to_payer: note }),
      // PayPal keeps the fee of a refunded payment.
      seller_payable_breakdown: {
        gross_amount: amount,
        paypal_fee: moneyOf(0, currency),
        net_amount: amount,
        total_refunded_amount: moneyOf(refundedCents(world, captureId), currency),
      },
      ...times(refund),
      links: [link('self', `/v2/payments/refunds/${id}`), link('up', `/v2/payments/captures/${captureId}`)],
    };
  }

  /** The entry of a dispute in a list, and the resource of its events. */
  function disputeSummary(dispute: Dispute) {
    const { id, captureId, status, reason, cents, stage, outcome } = dispute;
    return {
      dispute_id: id,
      ...times(dispute),
      disputed_transactions: [
        {
          seller_transaction_id: captureId,
          transaction_status: 'COMPLETED',
          gross_amount: moneyOf(world.captures.get(captureId)!.cents, currencyOf(captureId)),
        },
      ],
      reason,
      status,
      dispute_amount: moneyOf(cents, currencyOf(captureId)),
      ...(outcome !== undefined && {
        dispute_outcome: {
          outcome_code: outcome,
          ...(outcome === 'RESOLVED_BUYER_FAVOUR' && { amount_refunded: moneyOf(cents, currencyOf(captureId)) }),
        },
      }),
      dispute_life_cycle_stage: stage,
      dispute_channel: 'INTERNAL',
      links: [link('self', `/v1/customer/disputes/${id}`)],
    };
  }

  function disputeOf(dispute: Dispute) {
    const { links, ...summary } = disputeSummary(dispute);
    const movements = dispute.movements.map(({ cents, type, reason, time }) => ({
      party: 'SELLER',
      amount: moneyOf(cents, currencyOf(dispute.captureId)),
      initiated_time: timeOf(time),
      type,
      reason,
    }));
    return { ...summary, ...(movements.length > 0 && { fund_movements: movements }), links };
  }

  return { link, orderOf, captureAlone, refundOf, disputeSummary, disputeOf };
}

/** Functions that make the resources of the API. */
export type Resources = ReturnType<typeof createResources>;

export function isWaiting({ status }: Order): boolean {
  return status === 'CREATED' || status === 'PAYER_ACTION_REQUIRED';
}
