import { type Decision, changed, withPayment } from './checkout-state.ts';
import { posting } from './ledger.ts';
import type { Checkout, Instant, Payment } from './records.ts';
import { ledgerStatusOf } from './refund.ts';

/**
 * What was short of a payment that the merchant took all the same has come after all, and is the merchant's. What a
 * provider took only grows: a word of less than was accepted is an older one, and changes nothing.
 */
export function receiveRest(checkout: Checkout, payment: Payment, now: Instant): Decision<'applied'> {
  const { id, sessionId, shortfall } = payment;
  const head = { id: `${id}:adjustment`, paymentId: id, sessionId, kind: 'adjustment' as const, refundId: null };
  const booked = posting({ ...head, created: now }, [
    { account: 'provider_clearing', amount: shortfall },
    { account: 'merchant_payable', amount: -shortfall },
  ]);
  const full: Payment = { ...payment, shortfall: 0 };
  const next = withPayment(checkout, { ...full, ledgerStatus: ledgerStatusOf(full) });
  return changed(checkout, next, 'applied', [{ type: 'post', posting: booked }]);
}
