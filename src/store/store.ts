import type { Delivery, DeliveryAttempt, DeliveryStatus } from '../domain/delivery.ts';
import type { Posting } from '../domain/ledger.ts';
import type { Checkout, Customer, Instant, Invoice, Payment, ProviderStatus, Session } from '../domain/records.ts';
import type { RouteOutcome } from '../domain/outcome.ts';
import type { Environment, RouteKind } from '../domain/route.ts';
import type { Tally } from '../routing/memory.ts';
import type { ClockReads, TestClockRecord } from './clock.ts';
import type { EventFilter } from './events.ts';
import type * as routing from './routing.ts';

/** A merchant event: immutable, its body's bytes are what every delivery attempt sends. */
export interface MerchantEvent {
  id: string;
  sessionId: string;
  environment: Environment;
  /** Grows within a session: the order of its events. */
  sequence: number;
  type: `payment.${ProviderStatus}`;
  body: string;
  created: Instant;
}

/** A delivery that may begin, with the bytes to send. */
export interface DueDelivery {
  delivery: Delivery;
  body: string;
}

export interface WebhookEndpoint {
  id: string;
  environment: Environment;
  url: string;
  status: 'active' | 'disabled';
  created: Instant;
}

/** A callback of a provider, or an answer to an inquiry, kept as it came. */
export interface ProviderMessage {
  provider: string;
  eventId: string;
  sessionId: string;
  paymentId: string | null;
  status: ProviderStatus;
  amount: number;
  /** What it did: `applied`, `ignored`, or why it was flagged. */
  outcome: string;
  flagged: boolean;
  body: string;
  received: Instant;
}

/** A session that time has something to bring to. */
export interface DueWake {
  sessionId: string;
  wakeAt: Instant;
}

export type TaskKind = 'cancel' | 'refund';

/** Something to ask of a provider, outside every transaction, until it is done. */
export interface ProviderTask {
  paymentId: string;
  kind: TaskKind;
  sessionId: string;
  status: 'pending' | 'done' | 'dead';
  attempts: number;
  dueAt: Instant;
  created: Instant;
}

/** A payment as the simulated provider sees it: the memory of a second party. */
export interface SimulatedPayment {
  reference: string;
  /** The caller's own ids of it. */
  paymentId: string;
  sessionId: string;
  kind: RouteKind;
  merchant: string;
  product: string;
  /** Cents: the session's amount, and what the buyer pays. */
  amount: number;
  total: number;
  returnUrl: string;
  status: 'open' | 'pending' | 'paid' | 'failed' | 'cancelled' | 'refunded';
  /** Why it was declined, in the simulated provider's own code. */
  reason: string | null;
  txHash: string;
  created: Instant;
}

/** A callback that the simulated provider still has to send. */
export interface SimulatedCallback {
  id: string;
  reference: string;
  body: string;
  status: 'pending' | 'done' | 'dead';
  attempts: number;
  dueAt: Instant;
}

/** One thing to write. A change set is applied whole, under the guards of its changes, or not at all. */
export type Change =
  | { type: 'customer_created'; customer: Customer }
  /** Guarded by its idempotency key being new, and its customer being active and of its address. */
  | { type: 'session_created'; session: Session }
  /** Guarded by the version before. */
  | { type: 'session_changed'; session: Session }
  | { type: 'payment_created'; payment: Payment }
  | { type: 'payment_changed'; payment: Payment }
  | { type: 'invoice_created'; invoice: Invoice }
  | { type: 'invoice_changed'; invoice: Invoice }
  | { type: 'ledger_posted'; posting: Posting; environment: Environment }
  | { type: 'event_recorded'; event: MerchantEvent }
  | { type: 'delivery_created'; delivery: Delivery }
  /** Guarded by its event having none to that endpoint. */
  | { type: 'delivery_added'; delivery: Delivery }
  /** Guarded by the attempts before, under the same schedule. */
  | { type: 'delivery_claimed'; delivery: Delivery }
  /** Guarded by the attempt that it finishes. */
  | { type: 'delivery_finished'; delivery: Delivery; attempt: DeliveryAttempt }
  /** Guarded by its attempts, and the status `from` which it is made due again. */
  | { type: 'delivery_replayed'; delivery: Delivery; from: DeliveryStatus }
  | { type: 'endpoint_saved'; endpoint: WebhookEndpoint }
  /** Guarded by (provider, event id) being new. */
  | { type: 'provider_message_received'; message: ProviderMessage }
  /** Guarded by nobody else having claimed it, or moved the session on, since it came due. */
  | { type: 'wake_claimed'; wake: DueWake; until: Instant }
  | { type: 'task_queued'; task: ProviderTask }
  /** Guarded by the attempts before. */
  | { type: 'task_claimed'; task: ProviderTask }
  /** Guarded by the attempt that it finishes. */
  | { type: 'task_finished'; task: ProviderTask }
  | { type: 'outcome_recorded'; outcome: RouteOutcome }
  /** Written once; whoever needs it afterwards may bring it along again. */
  | { type: 'snapshot_recorded'; snapshot: routing.RoutingSnapshot }
  | { type: 'decision_recorded'; decision: routing.RoutingDecision }
  /** Guarded by the version before. */
  | { type: 'route_health_changed'; health: routing.RouteHealthRow }
  | { type: 'transition_recorded'; transition: routing.TransitionRecord }
  /** Guarded by being the version after the newest. */
  | { type: 'rules_saved'; rules: routing.RulesVersion }
  /** Guarded by the time `from` up to which they were folded; null where they never were. */
  | { type: 'estimates_folded'; estimates: routing.EstimateRecord; from: Instant | null }
  /** Guarded by the version before. */
  | { type: 'test_clock_changed'; clock: TestClockRecord }
  /** Guarded by the caller's id being new. */
  | { type: 'simulated_payment_created'; payment: SimulatedPayment }
  /** Guarded by the status `from` which it moves. */
  | { type: 'simulated_payment_moved'; payment: SimulatedPayment; from: SimulatedPayment['status'] }
  | { type: 'simulated_callback_queued'; callback: SimulatedCallback }
  /** Guarded by the attempts before. */
  | { type: 'simulated_callback_claimed'; callback: SimulatedCallback }
  /** Guarded by the attempt that it finishes. */
  | { type: 'simulated_callback_finished'; callback: SimulatedCallback };

/** The guard that did not hold. Read again and decide again. */
export type Conflict =
  | 'version'
  | 'customer_exists'
  /** The key is taken, the customer is not (or no more) an active one of that address, or production met moved time. */
  | 'session_refused'
  | 'duplicate_message'
  | 'overtaken';

export type CommitResult = { done: true } | { done: false; conflict: Conflict };

/** A page of a list: newest first, before or after the record of an id. */
export interface Page {
  limit: number;
  startingAfter?: string;
  endingBefore?: string;
}

export interface Listed<Item> {
  items: Item[];
  hasMore: boolean;
}

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

export interface DeliveryFilter {
  sessionId?: string;
  eventId?: string;
  status?: string;
  environment?: Environment;
}

/**
 * The port of every database: reads, and one write. Reads see committed, durable data only.
 * A database that is away makes every call fail with GatewayError `unavailable`.
 */
export interface Store extends ClockReads {
  /** The time by which everything in the database happens: the same for all instances. */
  now(): Instant;
  /** Applies the changes in one durable transaction, or none of them. Waiting change sets may share a transaction. */
  commit(changes: Change[]): Promise<CommitResult>;
  /** Calls `listener` after every commit that may have left something for a worker. */
  onCommit(listener: () => void): void;

  customer(id: string): Promise<Customer | undefined>;
  /** The customer of an address, compared without case. */
  customerByEmail(environment: Environment, email: string): Promise<Customer | undefined>;
  session(id: string): Promise<Session | undefined>;
  sessionByIdempotencyKey(environment: Environment, key: string): Promise<Session | undefined>;
  checkout(sessionId: string): Promise<Checkout | undefined>;
  payment(id: string): Promise<Payment | undefined>;
  invoice(id: string): Promise<Invoice | undefined>;

  listCustomers(filter: CustomerFilter, page: Page): Promise<Listed<Customer>>;
  listSessions(filter: SessionFilter, page: Page): Promise<Listed<Session>>;
  listPayments(filter: PaymentFilter, page: Page): Promise<Listed<Payment>>;
  listInvoices(filter: InvoiceFilter, page: Page): Promise<Listed<Invoice>>;
  listDeliveries(filter: DeliveryFilter, page: Page): Promise<Listed<Delivery>>;
  listEvents(filter: EventFilter, page: Page): Promise<Listed<MerchantEvent>>;

  /** Sessions whose `wakeAt` has come, the longest due first. */
  sessionsToWake(now: Instant, limit: number): Promise<DueWake[]>;
  tasksDue(now: Instant, limit: number): Promise<ProviderTask[]>;
  providerMessage(provider: string, eventId: string): Promise<ProviderMessage | undefined>;
  providerMessages(sessionId: string): Promise<ProviderMessage[]>;

  event(id: string): Promise<MerchantEvent | undefined>;
  /** In the order they happened. */
  eventsOfSession(sessionId: string): Promise<MerchantEvent[]>;
  endpoints(): Promise<WebhookEndpoint[]>;
  /** Deliveries that may begin now: due, and no earlier one of the same session and endpoint is still pending. */
  deliveriesDue(endpointId: string, now: Instant, limit: number): Promise<DueDelivery[]>;
  delivery(id: string): Promise<Delivery | undefined>;
  deliveriesOfSession(sessionId: string): Promise<Delivery[]>;
  deliveryAttempts(deliveryId: string): Promise<DeliveryAttempt[]>;

  /** What the outcomes of each of these routes add up to from then until then, bucket by bucket, oldest first. */
  outcomeTallies(
    environment: Environment,
    routeIds: readonly string[],
    from: Instant,
    until: Instant,
  ): Promise<Tally[][]>;
  /** The newest results of each of these routes since then, `limit` at most, newest first. */
  recentResults(
    environment: Environment,
    routes: readonly { id: string; since: Instant }[],
    limit: number,
  ): Promise<routing.RecentResult[][]>;
  routeEstimates(environment: Environment, algorithm: string): Promise<routing.EstimateRecord | undefined>;
  routeHealth(): Promise<routing.RouteHealthRow[]>;
  listTransitions(filter: routing.TransitionFilter, page: Page): Promise<Listed<routing.TransitionRecord>>;
  /** The newest rules, or those of one version. */
  routingRules(version?: number): Promise<routing.RulesVersion | undefined>;
  routingSnapshot(id: string): Promise<routing.RoutingSnapshot | undefined>;
  routingDecision(id: string): Promise<routing.RoutingDecision | undefined>;
  /** Those of the attempts, oldest first; what was offered stands in the session. */
  routingDecisionsOfSession(sessionId: string): Promise<routing.RoutingDecision[]>;
  /** Those of the attempts of an environment. */
  listRoutingDecisions(environment: Environment, page: Page): Promise<Listed<routing.RoutingDecision>>;

  /** Ledger entries of one payment, and the sum of all there are (0, or the books are wrong). */
  ledgerOfPayment(paymentId: string): Promise<{ kind: string; account: string; amount: number }[]>;
  ledgerTotal(): Promise<number>;

  simulatedPayment(reference: string): Promise<SimulatedPayment | undefined>;
  /** The simulated payment made for a payment of ours. */
  simulatedPaymentOf(paymentId: string): Promise<SimulatedPayment | undefined>;
  simulatedPaymentsOfSession(sessionId: string): Promise<SimulatedPayment[]>;
  simulatedCallbacksDue(now: Instant, limit: number): Promise<SimulatedCallback[]>;

  /** Fails where the database cannot serve. */
  ping(): Promise<void>;
  close(): Promise<void>;
}
