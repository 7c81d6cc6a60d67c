import type { AdapterContext, Instance } from './all.ts';
import type { Provider } from './provider.ts';
import type { StripeSettings } from './stripe-settings.ts';

/** Stand-in for the adapter, which is developed elsewhere: it is never ready. */
export function createStripe({ id, environment }: Instance<StripeSettings>, _context: AdapterContext): Provider {
  const missing = () => Promise.reject(new Error('the adapter for Stripe is missing'));
  return {
    id,
    environment,
    traits: { cancel: 'holds', lookup: 'reference', refunds: 'api', costRefundable: false, resend: 'no_answer' },
    handoff: missing,
    readCallback: missing,
    inquire: missing,
    cancel: missing,
    refund: missing,
    inquireRefund: missing,
    check: missing,
  };
}
