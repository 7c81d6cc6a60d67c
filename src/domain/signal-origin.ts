import type { Payment, Session } from './records.ts';
import type { Environment } from './route.ts';

/** Sender of a verified message: a provider instance, and the one environment that it may change. */
export interface SignalOrigin {
  provider: string;
  environment: Environment;
}

/**
 * Reason why a sender may not change a session, or the payment of it that the message is about; undefined if it may. A payment
 * is its provider's for good, whether or not the catalogue still has the route.
 */
export function originMismatch(
  session: Session,
  payment: Payment | undefined,
  { provider, environment }: SignalOrigin,
): 'environment_mismatch' | 'provider_mismatch' | undefined {
  if (session.environment !== environment) return 'environment_mismatch';
  return payment && payment.route.provider !== provider ? 'provider_mismatch' : undefined;
}
