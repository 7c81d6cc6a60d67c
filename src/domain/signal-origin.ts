import type { Payment, Session } from './records.ts';
import type { Environment } from './route.ts';

/** Sender of a verified message: a provider instance, and the one environment that it may change. */
export interface SignalOrigin {
  provider: string;
  environment: Environment;
}

/** A message changes nothing if its sender is not the one of the session or payment that it is about. */
export type OriginMismatch = 'environment_mismatch' | 'provider_mismatch';

/**
 * Reason why a sender may not change a session, or the payment of it that the message is about; undefined if it may. A payment
 * is its provider's for good, whether or not the catalogue still has the route.
 */
export function originMismatch(
  session: Session,
  payment: Payment | undefined,
  { provider, environment }: SignalOrigin,
): OriginMismatch | undefined {
  if (session.environment !== environment) return 'environment_mismatch';
  return payment && payment.route.provider !== provider ? 'provider_mismatch' : undefined;
}
