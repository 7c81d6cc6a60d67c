import type { Provider, Watch, WatchedSignal } from '../providers/provider.ts';
import { signalJson } from './apply-message.ts';
import { applySignal } from './apply-signal.ts';
import type { Deps } from './deps.ts';
import { resolveDiscrepancy } from './discrepancies/resolve-discrepancy.ts';

/** Lets a provider observe its records, and applies the reports that follow from them. Returns the number of reports. */
export async function reportWatched(deps: Deps, provider: Provider, watch: Watch): Promise<number> {
  await watch.poll();
  let count = 0;
  for await (const { eventId, provider: owner = provider.id, acceptsShortfall, ...signal } of watch.reports()) {
    const { environment } = provider;
    await applySignal(deps, { provider: owner, environment, eventId, signal, body: signalJson(signal) });
    if (acceptsShortfall) await acceptShortfall(deps, signal);
    count++;
  }
  return count;
}

/** Accepts a payment whose money is short by at most the amount that the operator's settings allow. */
async function acceptShortfall(deps: Deps, { ref: { paymentId } }: Pick<WatchedSignal, 'ref'>): Promise<void> {
  const payment = await deps.store.payment(paymentId!);
  const checkout = payment && (await deps.store.checkout(payment.sessionId));
  if (!checkout || checkout.session.status === 'paid') return;
  const short = checkout.discrepancies.find(
    (one) => one.paymentId === paymentId && one.kind === 'amount_mismatch' && one.status === 'open' && !one.refunding,
  );
  if (short) await resolveDiscrepancy(deps, short.id, { action: 'accept', note: null });
}
