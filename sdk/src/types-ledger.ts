import type { PageParams } from './types-requests.ts';
import type { Environment, Timestamp } from './types.ts';

/**
 * What the provider holds for us, what it has charged, what the merchant is owed, our fees, and what buyers are owed.
 */
export type LedgerAccount =
  'provider_clearing' | 'provider_cost' | 'merchant_payable' | 'gateway_revenue' | 'buyer_refunds_payable';
export type LedgerKind = 'paid' | 'settled' | 'refund' | 'refund_paid' | 'refund_failed' | 'adjustment';

/** What every account holds. Debits are positive: a negative `merchant_payable` is what the merchant is owed. */
export interface LedgerBalances {
  object: 'ledger_balances';
  /** What was booked before it is in them; where none was asked for, all that is booked. */
  at: Timestamp;
  /** Always `USD`. */
  currency: 'USD';
  environments: {
    environment: Environment;
    accounts: {
      account: LedgerAccount;
      /** US dollars, not cents. */
      debits: number;
      credits: number;
      /** Debits less credits. */
      balance: number;
    }[];
    /** Always 0. */
    total: number;
  }[];
}

/** One line of the journal: never changed and never removed. */
export interface LedgerEntry {
  /** The id of its posting, and its line there. */
  id: string;
  object: 'ledger_entry';
  /** The entries of a posting sum to 0. */
  postingId: string;
  kind: LedgerKind;
  account: LedgerAccount;
  /** US dollars, not cents; one of both is 0. */
  debit: number;
  credit: number;
  /** Always `USD`. */
  currency: 'USD';
  paymentId: string;
  sessionId: string;
  /** The refund that it books, or null. */
  refundId: string | null;
  environment: Environment;
  created: Timestamp;
}

export interface LedgerBalanceParams {
  /** The balances as this moment begins, ISO 8601: what was booked before it. Left out: now, with all that is booked. */
  at?: string | undefined;
  /** Left out: both. */
  environment?: Environment | undefined;
}

export interface LedgerExportParams {
  account?: LedgerAccount | undefined;
  kind?: LedgerKind | undefined;
  /** Only entries of this session: `chk_...`. */
  sessionId?: string | undefined;
  /** Only entries of this payment: `pay_...`. */
  paymentId?: string | undefined;
  /** Only entries booked then or later, ISO 8601. */
  from?: string | undefined;
  /** Only entries booked before. */
  until?: string | undefined;
  /** Left out: both. */
  environment?: Environment | undefined;
}

export interface LedgerEntryListParams extends LedgerExportParams, PageParams {}

/** That a payment has been paid out to the merchant: once a payment. */
export interface Settlement {
  object: 'settlement';
  paymentId: string;
  sessionId: string;
  environment: Environment;
  /** What was paid out, in US dollars, not cents: the net, less what was refunded from it before. */
  amount: number;
  /** Always `USD`. */
  currency: 'USD';
  /** Who told: the provider itself, the API, or a settlement file. */
  source: 'provider' | 'api' | 'file';
  reference: string | null;
  settledAt: Timestamp;
  created: Timestamp;
}

export interface SettleParams {
  /** US dollars, not cents: refused where it is not what is left of the payment. */
  amount?: number | undefined;
  /** ISO 8601; left out: now. */
  settledAt?: string | undefined;
  /** What the payout is called. */
  reference?: string | undefined;
}

export interface SettlementImportParams {
  /** Say what would be recorded, and record nothing. */
  dryRun?: boolean | undefined;
  /** Settle payments of this environment only. */
  environment?: Environment | undefined;
}

export type SettlementMismatch =
  | 'invalid_line'
  | 'unknown_payment'
  | 'ambiguous_reference'
  | 'reference_differs'
  | 'other_environment'
  | 'currency_differs'
  | 'duplicate_line'
  | 'amount_differs'
  | 'not_paid'
  | 'surplus'
  | 'refunded';

/** What became of one line of a settlement file. */
export interface SettlementImportLine {
  /** The header is line 1. */
  line: number;
  status: 'matched' | 'already_settled' | 'not_matched';
  paymentId: string | null;
  reference: string | null;
  /** US dollars; null where the line does not say. */
  amount: number | null;
  /** Why it did not match; null where it did. */
  code: SettlementMismatch | null;
  message: string;
}

/** What became of a settlement file. */
export interface SettlementImport {
  object: 'settlement_import';
  dryRun: boolean;
  /** In a sentence. */
  message: string;
  matched: { lines: number; amount: number };
  alreadySettled: { lines: number; amount: number };
  notMatched: { lines: number; amount: number };
  /** Columns of the file that mean nothing to the service. */
  ignoredColumns: string[];
  entries: SettlementImportLine[];
}
