import type { Payment, Session } from '../domain/records.ts';
import type {
  Hint,
  PayoutEntry,
  ProviderAmount,
  ProviderReport,
  RefundReport,
  ReversalReport,
} from '../domain/provider-report.ts';
import type { RefundOutcome, RefundProof } from '../domain/refund-record.ts';
import type { Environment } from '../domain/route.ts';

/** Input of the handoff of one payment. */
export interface HandoffRequest {
  session: Session;
  payment: Payment;
  /** Name of the merchant, for the provider's page. */
  merchant: string;
  /** URL to which the provider sends the buyer after the payment. */
  returnUrl: string;
  /** URL of the checkout page, to which the provider sends a buyer who leaves without paying. */
  cancelUrl: string;
  /** URL for the provider's callbacks about this payment. */
  callbackUrl: string;
  /** Timeout of the handoff in milliseconds, after which its result is ambiguous. */
  timeoutMs: number;
}

/**
 * - `accepted`: the provider has the payment. `url` is the provider's page for the buyer, or null.
 * - `refused`: the provider certainly does not have the payment, so another route may be tried. `reason` is for the log.
 *   `providerReason` is the provider's own explanation, verbatim; null if the provider gave none.
 * - `ambiguous`: an uncertain handoff. The provider may have the payment, so no other route is tried before an inquiry.
 *   `isAnswered` is true if the provider sent an answer, for example a 500.
 */
export type HandoffResult =
  | { outcome: 'accepted'; reference: string; url: string | null }
  | { outcome: 'refused'; reason: string; providerReason: string | null }
  | { outcome: 'ambiguous'; reason: string; isAnswered: boolean };

/** Ids by which a provider message names a payment. At least one id is set; if several are set, all must match the payment. */
export interface PaymentRef {
  sessionId?: string;
  paymentId?: string;
  /** The provider's own id of the payment or of its charge. */
  reference?: string;
}

/** Report of a provider about one payment, refund, settlement or reversal, from a callback or from an answer. */
export type Signal =
  | { about: 'payment'; ref: PaymentRef; report: ProviderReport }
  | { about: 'refund'; ref: PaymentRef; refund: RefundReport }
  | { about: 'settlement'; ref: PaymentRef; entry: PayoutEntry }
  | { about: 'reversal'; ref: PaymentRef; reversal: ReversalReport };

/**
 * A verified callback. `signals` and `hints` are empty if the callback is about no record of this service. The `eventId` of each entry is
 * derived from the provider's event id and is unique within both lists, so that the service applies each entry once. A signal about a
 * payment is ignored if the signal with the id `outdatedBy` has arrived before it.
 */
export interface Callback {
  signals: (Signal & { eventId: string; outdatedBy?: string })[];
  hints: CallbackHint[];
  /** Response body that the provider expects as acknowledgement; default: the JSON response of this service. */
  reply?: string;
}

export interface CallbackHint extends Hint {
  eventId: string;
  /** Set if the event is of another environment or account. The service then stores and flags the hint without a query. */
  mismatch?: 'environment_mismatch' | 'account_mismatch';
}

/** Answer of a provider to the query about a hint. */
export interface HintAnswer {
  signals: Signal[];
  /** Cursor of the next page of the answer; null on the last page. */
  next: string | null;
  /** True if the provider will know more later, such as the cost of a payment. The query is repeated 1 h and 24 h after the hint. */
  isIncomplete?: boolean;
}

/** Report of a watcher. */
export type WatchedSignal = Signal & {
  eventId: string;
  /** Instance of the payment, if it is not the watching instance. */
  provider?: string;
  /** True if the money is short by so little that the operator's settings accept it. */
  acceptsShortfall?: boolean;
};

/** Observation of records that no callback reports, such as the transfers of a chain. The service runs it in every process. */
export interface Watch {
  /** Time between two polls in milliseconds. */
  pollMs: number;
  /** Reads the provider's records and stores what it finds. */
  poll(): Promise<void>;
  /** The reports that the stored records require. A report is stored as made when the caller asks for the next one. */
  reports(): AsyncIterable<WatchedSignal>;
}

/** Line of a provider's settlement report that is about a payment. */
export interface SettlementFileLine {
  /** Our id of the payment; null if another program requested it. */
  paymentId: string | null;
  /** The provider's id of the payment's charge. */
  reference: string;
  entry: PayoutEntry & { moved: NonNullable<PayoutEntry['moved']> };
  /** Total of the payment, to be compared, and the provider's charge for it; null for a later change such as a refund. */
  charge: { received: ProviderAmount; cost: ProviderAmount } | null;
}

/** Format of a provider's own settlement report, which the import of settlements accepts without conversion. */
export interface SettlementFile {
  /** Columns by which the import recognizes the report, in small letters. */
  columns: readonly string[];
  /** Reads the cells of a line by column. Undefined: the line is about no payment. `problem`: the reason, as a sentence, why the line cannot be booked. */
  read(cells: Readonly<Record<string, string>>): SettlementFileLine | { problem: string } | undefined;
}

/** Data with which a buyer pays by a transfer from their own wallet. Amounts are in units of 10^-`decimals` of the asset. */
export interface TransferInstructions {
  network: { name: string; label: string; chainId: number };
  asset: string;
  /** Address of the token's contract. */
  token: string;
  decimals: number;
  /** Address to pay to; only this payment uses it. */
  address: string;
  units: number;
  /** Units that have arrived, final or not. */
  received: number;
  /** True if not all of `received` is confirmed yet. */
  isConfirming: boolean;
  /** When the payment counts as paid: after `blocks` blocks, or when the chain calls it final if `blocks` is null. */
  confirmation: { blocks: number | null; words: string };
}

/** Answer to an inquiry about a payment that the provider knows. */
export interface KnownPayment {
  report: ProviderReport;
  /** The provider's own id of the payment. */
  reference: string;
  /** URL of the page on which the buyer pays; null if there is none. */
  url: string | null;
}

/** Request that a provider refunds a payment or a part of it. */
export interface RefundRequest {
  /** Idempotency key: the provider refunds each id once. */
  refundId: string;
  payment: Payment;
  /** In cents. */
  amount: number;
  /** The provider's own id of the refund; null before the provider has answered a request. */
  reference: string | null;
  /** Creation time of the refund, in milliseconds since 1970. */
  created: number;
}

export type CallbackHeaders = Record<string, string | string[] | undefined>;

/** Abilities of a provider on which the service depends. */
interface Traits {
  /** `holds`: no money can arrive after a cancellation. `best_effort`: the buyer can still pay after it. */
  cancel: 'holds' | 'best_effort';
  /** `own_id`: the provider finds a payment by our id. `reference`: only by its own id, which it returned at the handoff. */
  lookup: 'own_id' | 'reference';
  /** `api`: the adapter requests refunds. `manual`: an operator refunds outside this service. */
  refunds: 'api' | 'manual';
  /** True if the provider returns its cost with a refund. */
  costRefundable: boolean;
  /** Cases in which an ambiguous handoff is repeated. `no_answer`: only without an answer, because the provider would repeat a 500. */
  resend: 'always' | 'no_answer' | 'never';
}

/** Addresses that an instance derives from a public key, one for each payment. */
export interface AddressBook {
  /** Identifies the public key in the database. */
  wallet: string;
  /** Address of an index, with its checksum. */
  address(index: number): string;
  /** Balances on the chain in millionths of a USDC, in the order of `addresses`. Rejects if no node answers. */
  balances(addresses: readonly string[]): Promise<number[]>;
}

/** One result of a check. `todo` tells the operator how to solve a problem. */
export interface Finding {
  /** With an `error`, the instance is not ready. */
  level: 'ok' | 'warning' | 'error';
  message: string;
  todo?: string;
}

export interface CheckResult {
  ready: boolean;
  findings: Finding[];
  /** Reasons why some routes of a ready instance cannot be used, by the network of the route. */
  unavailable?: Record<string, string>;
}

/**
 * The port that every adapter implements, for one provider instance. A failed network call rejects its promise; only `handoff`
 * returns failures as results. Timeouts are 10 s by default.
 */
export interface Provider {
  /** Name of the provider instance. */
  id: string;
  /** The only environment in which the instance can move money. */
  environment: Environment;
  traits: Traits;
  handoff(request: HandoffRequest): Promise<HandoffResult>;
  /** Verifies the signature of the raw bytes, then parses them. Throws GatewayError `unauthorized` or `invalid_input`. */
  readCallback(rawBody: Buffer, headers: CallbackHeaders): Promise<Callback>;
  /** Asks the provider for the object of a hint. Adapters whose callbacks contain hints must implement it. */
  query?(hint: Hint, page: string | null): Promise<HintAnswer>;
  /** The hint to queue when the buyer returns from the provider; undefined if there is nothing to ask the provider about. */
  returnHint?(payment: Payment): Hint | undefined;
  /**
   * The provider's report on a payment. `unknown`: the provider does not have the payment, and nobody can pay it. `cannot_tell`: the
   * provider cannot determine whether it has the payment.
   */
  inquire(payment: Payment, timeoutMs?: number): Promise<KnownPayment | 'unknown' | 'cannot_tell'>;
  /**
   * Cancels a payment. `cancelled`: the provider takes no more money for it; only an inquiry tells whether it was paid before.
   * `unknown`: the provider does not know the payment, but a handoff may be in flight. Rejects if the payment cannot be cancelled now.
   */
  cancel(payment: Payment, timeoutMs?: number): Promise<'cancelled' | 'unknown'>;
  /** Captures an approved payment, once. Adapters that report `requires_capture` must implement it. */
  capture?(payment: Payment, timeoutMs?: number): Promise<ProviderReport>;
  /**
   * Refunds money once for each `refundId`, however often it is called. `failed`: the provider clearly refused. `unknown`: the
   * provider does not know the payment. Rejects if it is unclear whether the provider has the request.
   */
  refund(request: RefundRequest): Promise<RefundOutcome | 'unknown'>;
  /** The state of a refund; undefined if the provider does not know it. */
  inquireRefund(request: RefundRequest): Promise<RefundOutcome | undefined>;
  /** Data for a buyer who pays by a transfer; undefined if the provider does not have the payment. */
  instructions?(payment: Payment): Promise<TransferInstructions | undefined>;
  /**
   * Verifies that the transaction `txHash` (small letters) paid a refund, which adapters with the trait `refunds: 'manual'` must
   * implement. Throws GatewayError `invalid_input`, or `unavailable` if the transaction cannot be verified now.
   */
  proveRefund?(request: RefundRequest, txHash: string): Promise<RefundProof>;
  watch?: Watch;
  /** For a provider that reports payouts only in a file, which an operator imports. */
  settlementFile?: SettlementFile;
  /** Asks the provider whether this instance can take payments. Changes nothing and takes at most 10 s. */
  check(): Promise<CheckResult>;
}
