import { renderSession } from '../contract/session-contract.ts';
import type { PendingTransfer } from '../contract/transfer-contract.ts';
import { pendingPayment } from '../domain/checkout-state.ts';
import type { Checkout, Session } from '../domain/records.ts';
import type { TransferInstructions } from '../providers/provider.ts';
import type { Deps } from './deps.ts';

/** The transfer that a checkout waits for; null if no payment is pending, or if the buyer pays it in another way. */
export async function pendingTransfer(
  { providers }: Pick<Deps, 'providers'>,
  checkout: Checkout,
): Promise<(TransferInstructions & PendingTransfer) | null> {
  const payment = pendingPayment(checkout);
  const instructions = payment && (await providers.get(payment.route.provider)?.instructions?.(payment));
  if (!instructions) return null;
  const missing = Math.max(0, instructions.units - instructions.received);
  return { ...instructions, missing, amount: payment.fees.total, expiresAt: payment.timeoutAt };
}

type Reading = Pick<Deps, 'providers' | 'store'>;

/** The transfer that the session with this id waits for, or null. */
export async function transferOfSession(deps: Reading, sessionId: string): Promise<PendingTransfer | null> {
  const checkout = await deps.store.checkout(sessionId);
  return checkout ? pendingTransfer(deps, checkout) : null;
}

/** The resource of one session, with its transfer. */
export async function sessionResource(deps: Reading & Pick<Deps, 'urls'>, session: Session) {
  return renderSession(
    session,
    deps.urls,
    session.status === 'pending' ? await transferOfSession(deps, session.id) : null,
  );
}
