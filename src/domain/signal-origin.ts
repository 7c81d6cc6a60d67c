import type { Payment, Session } from './records.ts';
import type { Environment } from './route.ts';

/** Sender of a verified message: a provider instance, and the one environment that it may change. */
export interface SignalOrigin {
  provider: string;
  environment: Environment;
}

/** Mismatch between a message's sender and the session or payment that the message is about. Such a message changes nothing. */
export type OriginMismatch = 'environment_mismatch' | 'provider_mismatch';

/**
 * Reason why a sender may not change a session, or one of its payments; undefined if it may. A payment always belongs to its
 * stored provider, whether or not the catalogue still has the route.
 */
export function originMismatch(
  session: Session,
  payment: Payment | undefined,
  { provider, environment }: SignalOrigin,
): OriginMismatch | undefined {
  if (session.environment !== environment) return 'environment_mismatch';
  return payment && payment.route.provider !== provider ? 'provider_mismatch' : undefined;
}
