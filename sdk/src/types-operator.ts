import type { Refund } from './types-refunds.ts';
import type { PageParams } from './types-requests.ts';
import type {
  CheckoutSession,
  Customer,
  DeliveryDetails,
  Environment,
  Invoice,
  Payment,
  Timestamp,
  WebhookEvent,
} from './types.ts';

export type DiscrepancyKind =
  | 'surplus'
  | 'amount_mismatch'
  | 'currency_mismatch'
  | 'environment_mismatch'
  | 'provider_mismatch'
  | 'event_conflict'
  | 'unknown_payment';

/** Money that is not where it should be, until somebody, or a refund, has resolved it. */
export interface Discrepancy {
  /** Starts with `dis_`. */
  id: string;
  object: 'discrepancy';
  /** `surplus`: a second payment for a paid session. The other kinds are provider messages that were not booked. */
  kind: DiscrepancyKind;
  status: 'open' | 'resolved';
  environment: Environment;
  sessionId: string;
  customerId: string;
  /** Null where there is none of ours. */
  paymentId: string | null;
  provider: string | null;
  providerEventId: string | null;
  /** US dollars of the session's amount, without the buyer's fee: what was to come, and what came. */
  expected: number;
  received: number;
  currency: string | null;
  /** What can be done about it now. */
  actions: ('refund' | 'accept')[];
  /** The newest refund of it. */
  refundId: string | null;
  /** `paid_in_full`: the right amount came after all. */
  resolution: 'refunded' | 'accepted' | 'paid_in_full' | null;
  note: string | null;
  created: Timestamp;
  resolvedAt: Timestamp | null;
}

export interface DiscrepancyListParams extends PageParams {
  kind?: DiscrepancyKind | undefined;
  status?: Discrepancy['status'] | undefined;
  /** Only those of this session: `chk_...`. */
  sessionId?: string | undefined;
  /** Left out: both. */
  environment?: Environment | undefined;
}

export interface ResolveParams {
  /** `refund`: the buyer gets the money back. `accept`: it is taken as it is. */
  action: 'refund' | 'accept';
  /** At most 500 characters; needed where nothing can be booked. */
  note?: string | undefined;
}

export interface BlockParams {
  /** Why, for your own records: at most 500 characters. */
  reason?: string | undefined;
}

export interface EraseParams {
  /** The id of the customer once more: nothing brings back what is erased. */
  confirm: string;
}

/** Everything that is kept about one buyer. */
export interface CustomerExport {
  object: 'customer_export';
  exported: Timestamp;
  customer: Customer;
  /** Newest first. */
  sessions: (CheckoutSession & { idempotencyKey: string | null; decisionId: string | null })[];
  payments: (Payment & { providerReference: string | null; providerUrl: string | null; txHash: string | null })[];
  invoices: Invoice[];
  refunds: (Refund & { idempotencyKey: string | null })[];
  events: WebhookEvent[];
  deliveries: DeliveryDetails[];
  providerMessages: {
    provider: string;
    eventId: string;
    sessionId: string;
    status: string;
    outcome: string;
    body: string;
    received: Timestamp;
  }[];
  discrepancies: Discrepancy[];
}
