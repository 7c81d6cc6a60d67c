import { type LedgerEntry, type Posting, posting } from './ledger.ts';
import type { Instant } from './records.ts';
import type { Refund } from './refund-record.ts';

/** The shares of the merchant and the gateway become the buyer's. Empty if the money was owed to the buyer before. */
export function refundPosting(refund: Refund, now: Instant): Posting {
  return posting(headOf(refund, 'refund', now), owedEntries(refund));
}

/** The provider has paid the refund out, and returns its cost in proportion. */
export function refundPaidPosting(refund: Refund, now: Instant): Posting {
  return posting(headOf(refund, 'refund_paid', now), paidOutEntries(refund));
}

/** Reversal of every posting of the refund so far. */
export function refundFailedPosting(refund: Refund, now: Instant): Posting {
  const booked = [...owedEntries(refund), ...(refund.status === 'succeeded' ? paidOutEntries(refund) : [])];
  return posting(
    headOf(refund, 'refund_failed', now),
    booked.map(({ account, amount }) => ({ account, amount: -amount })),
  );
}

/** A refund of surplus money fails after an operator accepted the rest: its money becomes the merchant's too. */
export function refundKeptPosting(refund: Refund, now: Instant): Posting {
  return posting({ ...headOf(refund, 'adjustment', now), refundId: null }, [
    { account: 'buyer_refunds_payable', amount: refund.amount },
    { account: 'merchant_payable', amount: -refund.amount },
  ]);
}

function owedEntries({ shares }: Refund): LedgerEntry[] {
  return [
    { account: 'merchant_payable', amount: shares.merchant },
    { account: 'gateway_revenue', amount: shares.gateway },
    { account: 'buyer_refunds_payable', amount: -(shares.merchant + shares.gateway) },
  ];
}

function paidOutEntries({ amount, shares }: Refund): LedgerEntry[] {
  return [
    { account: 'buyer_refunds_payable', amount },
    { account: 'provider_clearing', amount: -(amount - shares.cost) },
    { account: 'provider_cost', amount: -shares.cost },
  ];
}

function headOf({ id, paymentId, sessionId }: Refund, kind: Posting['kind'], created: Instant) {
  return { id: `${id}:${kind}`, paymentId, sessionId, kind, refundId: id, created };
}
