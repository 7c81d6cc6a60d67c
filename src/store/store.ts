import type { Posting } from '../domain/ledger.ts';
import type { ProviderMessage, SignalOrigin } from '../domain/provider-message.ts';
import type { Checkout, Customer, Instant, Invoice, Payment, Session } from '../domain/records.ts';
import type { Environment } from '../domain/route.ts';
import type { ClockReads, TestClockRecord } from './clock-port.ts';
import type { ApiKeyChange, ApiKeyReads } from './api-keys-port.ts';
import type { DiscrepancyChange, DiscrepancyReads } from './discrepancies-port.ts';
import type { FeedChange, FeedReads } from './feed-port.ts';
import type { LedgerChange, LedgerReads } from './ledger-port.ts';
import type { MonitoringReads } from './monitoring-port.ts';
import type { PersonalDataChange, PersonalDataReads } from './personal-data-port.ts';
import type { RefundChange, RefundReads } from './refunds-port.ts';
import type { PageResult, Page } from './list-page.ts';
import type { RoutingChange, RoutingReads } from './routing-port.ts';
import type { WebhookChange, WebhookReads } from './webhooks-port.ts';

/** A session that is due for a change by time alone. */
export interface DueWake {
  sessionId: string;
  wakeAt: Instant;
}

/** A request to a provider, outside every transaction, repeated until it is done. */
export interface ProviderTask {
  paymentId: string;
  kind: 'cancel';
  sessionId: string;
  status: 'pending' | 'done' | 'dead';
  attempts: number;
  dueAt: Instant;
  created: Instant;
}

/** One change. A change set is applied whole, under the guards of its changes, or not at all. */
export type Change =
  | ApiKeyChange
  | DiscrepancyChange
  | FeedChange
  | LedgerChange
  | PersonalDataChange
  | RefundChange
  | RoutingChange
  | WebhookChange
  | { type: 'customer_created'; customer: Customer }
  /** Guarded by its idempotency key being new, and by an active customer with its address. */
  | { type: 'session_created'; session: Session }
  /** Guarded by the version before. `from` is the status before, for metrics. */
  | { type: 'session_changed'; session: Session; from?: Session['status'] }
  | { type: 'payment_created'; payment: Payment }
  | { type: 'payment_changed'; payment: Payment; from?: Payment['status'] }
  | { type: 'invoice_created'; invoice: Invoice }
  | { type: 'invoice_changed'; invoice: Invoice }
  | { type: 'ledger_posted'; posting: Posting; environment: Environment }
  /** Requires a new (provider, environment, event id), and for an `event_conflict` a new pair of that and the session. */
  | { type: 'provider_message_received'; message: ProviderMessage }
  /** Guarded by the wake time: no other instance has claimed it or changed the session. */
  | { type: 'wake_claimed'; wake: DueWake; until: Instant }
  | { type: 'task_queued'; task: ProviderTask }
  /** Guarded by the attempts before. */
  | { type: 'task_claimed'; task: ProviderTask }
  /** Guarded by the attempt that it finishes. */
  | { type: 'task_finished'; task: ProviderTask }
  /** Guarded by the version before. */
  | { type: 'test_clock_changed'; clock: TestClockRecord };

/** The guard that did not hold. The operation reads and decides again. */
export type Conflict =
  | 'version'
  | 'customer_exists'
  /** The key is taken, the customer is not active or has another address, or a production session met a test clock. */
  | 'session_refused'
  | 'key_revoked'
  /** The key is revoked, or would have spent more than it may. */
  | 'spend_limit'
  /** Another refund has the idempotency key. */
  | 'refund_exists'
  | 'duplicate_message'
  /** The customer is blocked or erased. */
  | 'customer_blocked'
  | 'overtaken';

export type CommitResult = { done: true } | { done: false; conflict: Conflict };

export interface CustomerFilter {
  customerId?: string;
  email?: string;
  status?: string;
  environment?: Environment;
}

export interface SessionFilter {
  /** A customer's id or email address. */
  customer?: string;
  status?: string;
  clientReferenceId?: string;
  environment?: Environment;
}

export interface PaymentFilter {
  customerId?: string;
  invoiceId?: string;
  paymentId?: string;
  sessionId?: string;
  status?: string;
  environment?: Environment;
}

export interface InvoiceFilter {
  customerId?: string;
  invoiceId?: string;
  paymentId?: string;
  status?: string;
  environment?: Environment;
}

/**
 * The port of every database: reads, and one write. Reads see committed, durable data only.
 * Every call fails with GatewayError `unavailable` while the database cannot be reached.
 */
export interface Store
  extends
    ApiKeyReads,
    ClockReads,
    DiscrepancyReads,
    FeedReads,
    LedgerReads,
    MonitoringReads,
    PersonalDataReads,
    RefundReads,
    RoutingReads,
    WebhookReads {
  /** Clock of the database, the same for all instances. */
  now(): Instant;
  /** Applies the changes in one durable transaction, or none of them. Waiting change sets may share a transaction. */
  commit(changes: Change[]): Promise<CommitResult>;
  /** Calls `listener` after every commit that can leave work for a worker. */
  onCommit(listener: () => void): void;

  customer(id: string): Promise<Customer | undefined>;
  /** The customer of an address, compared without case. */
  customerByEmail(environment: Environment, email: string): Promise<Customer | undefined>;
  session(id: string): Promise<Session | undefined>;
  sessionByIdempotencyKey(environment: Environment, key: string): Promise<Session | undefined>;
  checkout(sessionId: string): Promise<Checkout | undefined>;
  payment(id: string): Promise<Payment | undefined>;
  invoice(id: string): Promise<Invoice | undefined>;

  listCustomers(filter: CustomerFilter, page: Page): Promise<PageResult<Customer>>;
  listSessions(filter: SessionFilter, page: Page): Promise<PageResult<Session>>;
  listPayments(filter: PaymentFilter, page: Page): Promise<PageResult<Payment>>;
  listInvoices(filter: InvoiceFilter, page: Page): Promise<PageResult<Invoice>>;

  /** Sessions whose `wakeAt` is past, the longest due first. */
  sessionsToWake(now: Instant, limit: number): Promise<DueWake[]>;
  tasksDue(now: Instant, limit: number): Promise<ProviderTask[]>;
  /** The first message of an event id, then the conflicting one that names the session, if any. */
  messagesOfEvent(origin: SignalOrigin, eventId: string, sessionId: string): Promise<ProviderMessage[]>;
  /** Messages about the session's payments, settlements and refunds, oldest first. */
  providerMessages(sessionId: string): Promise<ProviderMessage[]>;

  /** Fails if the database cannot serve. */
  ping(): Promise<void>;
  close(): Promise<void>;
}
