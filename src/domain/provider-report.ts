import type { Cents } from './money.ts';
import type { ProviderFailure } from './failure.ts';
import type { PaymentCard } from './payment-card.ts';
import type { Instant } from './records.ts';
import type { RefundStatus } from './refund-record.ts';

/** Money in the provider's own unit: `units` of 10^-`exponent` of `currency`, for example 1999 cents of USD with exponent 2. */
export interface ProviderAmount {
  units: bigint;
  /** ISO 4217 code, or the asset of a chain such as `USDC`. */
  currency: string;
  exponent: number;
  /** True if the amount is the session's, without the buyer's fee. Default: the total that the buyer pays. */
  excludesBuyerFee?: boolean;
}

/**
 * State of a payment at its provider. An adapter maps a status that it does not know to `processing`.
 * - `awaiting_buyer`: the buyer has not finished at the provider.
 * - `processing`: the buyer has done their part, and the money is not confirmed.
 * - `requires_capture`: the buyer approved the payment, and the provider takes the money once it is captured.
 * - `paid`: `received` was taken, whatever the amount.
 * - `failed`: no money was taken, and the buyer cannot pay this attempt any more.
 */
export type PaymentState = 'awaiting_buyer' | 'processing' | 'requires_capture' | 'paid' | 'failed';

/** Provider's report on one payment. */
export interface ProviderReport {
  state: PaymentState;
  /** All the money that the provider has taken of the payment so far; null if it names no amount. */
  received: ProviderAmount | null;
  txHash: string | null;
  /** Cause of a failure, or the last soft decline of a payment in progress; null if there is none. */
  decline: ProviderFailure | null;
  /** Time by which the money is expected after the buyer has done their part; null if the provider gives none. */
  expectedBy: Instant | null;
  /** The id by which the provider's refunds, disputes and payouts name the payment; null if unknown. */
  chargeReference: string | null;
  /** The provider's charge for the payment; null while unknown. */
  cost: ProviderAmount | null;
  /** Time at which the merchant could use the money of a paid payment; null if a payout report or a settlement file tells. */
  settledAt: Instant | null;
  /** The card with which the buyer paid or tried to pay; null if the provider reports none. */
  card: PaymentCard | null;
  /** Distinguishes reports with the same content about a payment that has returned to an earlier state; null if it cannot return. */
  revision: number | null;
}

/** Report without any detail. An adapter adds the state and the details that it knows. */
export const NO_DETAILS: Omit<ProviderReport, 'state'> = {
  received: null,
  txHash: null,
  decline: null,
  expectedBy: null,
  chargeReference: null,
  cost: null,
  settledAt: null,
  card: null,
  revision: null,
};

/** Amount of a provider that counts in cents. */
export function amountInCents(cents: Cents, currency = 'USD'): ProviderAmount {
  return { units: BigInt(cents), currency, exponent: 2 };
}

/** Provider's report on a refund. `ours` is our own id; null if the refund was made in the provider's dashboard. */
export interface RefundReport {
  ours: string | null;
  /** The provider's id of the refund; null if it gives none. */
  reference: string | null;
  status: RefundStatus;
  /** The `chargeReference` of the refunded charge, if the provider can take several charges for a payment. */
  charge?: string | undefined;
  /** True if the charge was cancelled. A payment that is not paid then has nothing to refund. */
  isCancellation?: boolean;
  /** True if a pending refund has left the provider's balance already. */
  deducted?: boolean;
  amount: ProviderAmount;
  /** Reason of a failure, as a sentence. */
  reason: string | null;
}

/** Provider's report that a payment, or a later change of its balance, is part of a payout. */
export interface PayoutEntry {
  /** The provider's id of the payout; null if it gives none. */
  payout: string | null;
  /** Null if the provider gives no time. */
  settledAt: Instant | null;
  /** The amount of the payment, to be compared; null if the provider reports `moved` instead. */
  amount: ProviderAmount | null;
  /**
   * The balance transaction of the payout: its id, and the money that left the provider's balance with it (negative for a
   * refund or a dispute). `isCharge`: it is the payment itself, not a later change such as a refund. Null if the provider pays out
   * the merchant's share only.
   */
  moved: { id: string; net: ProviderAmount; isCharge: boolean } | null;
}

export const REVERSAL_STATUSES = ['open', 'won', 'lost'] as const;
export type ReversalStatus = (typeof REVERSAL_STATUSES)[number];

/** Provider's report on money that was taken back from us: a dispute, a chargeback, a returned debit, a reorganization. */
export interface ReversalReport {
  /** The provider's id of the dispute. */
  reference: string;
  status: ReversalStatus;
  /** Grows with every change of the dispute at the provider, so that an older report is recognized. */
  revision: number;
  /** The money that the provider holds back now: 0 before it takes the money, and after it has returned the money. */
  taken: ProviderAmount;
  /**
   * Set if each report names one movement of the money only: the money that this report returns. `taken` is then the money that it
   * takes, and the service adds the movements up.
   */
  returned?: ProviderAmount;
  /** True if the provider names no movement of money. `taken` is then at most what is left of the payment. */
  isAtMostRest?: boolean;
  /** The provider's charge for the dispute so far. */
  fee: ProviderAmount;
  /** The provider's reason, verbatim; null if it gives none. */
  reason: string | null;
}

/** The amount in hundredths of its currency, which are cents for USD. Smaller fractions are dropped. */
export function centsOfUnits({ units, exponent }: ProviderAmount): Cents {
  return exponent >= 2 ? Number(units / 10n ** BigInt(exponent - 2)) : Number(units * 10n ** BigInt(2 - exponent));
}

/** Name of a provider's object that may have changed. The service reads that object with its own credentials before it acts. */
export interface Hint {
  about: 'payment' | 'refund' | 'reversal' | 'payout';
  /** The provider's id of the object. */
  id: string;
}
