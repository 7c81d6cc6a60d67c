import { checkoutUrl } from '../contract/render.ts';
import { pendingPayment } from '../domain/checkout-state.ts';
import { acceptHandoff, refuseHandoff, startAttempt } from '../domain/checkout.ts';
import { splitFees } from '../domain/fees.ts';
import type { Cents } from '../domain/money.ts';
import type { Checkout } from '../domain/records.ts';
import type { Route, RouteKind } from '../domain/route.ts';
import type { HandoffResult } from '../providers/provider.ts';
import { isUsable, rankRoutes } from '../routing/select.ts';
import { commitDecision } from './commit-decision.ts';
import type { Deps } from './deps.ts';
import { sessionNotFound } from './not-found.ts';

export type StartedPayment =
  | { outcome: 'continue'; url: string | null }
  /** No route of that kind can take the payment now. */
  | { outcome: 'no_route' }
  /** The fee has changed since the buyer saw it: show it again, never raise it silently. */
  | { outcome: 'fee_changed' }
  /** Every route refused; the buyer may choose another way while attempts are left. */
  | { outcome: 'refused' }
  | { outcome: 'already_paid' | 'closed' };

/**
 * The buyer starts to pay in one way, having seen `acceptedTotal` (cents). The best route of the kind takes it; where a
 * provider refuses the handoff, the next one that costs the buyer no more does. The attempt is durable before the
 * provider is asked, and no transaction is open while it is.
 */
export async function startPayment(
  deps: Deps,
  sessionId: string,
  choice: { kind: RouteKind; acceptedTotal: Cents },
): Promise<StartedPayment> {
  const session = await deps.store.session(sessionId);
  if (!session) throw sessionNotFound(sessionId);
  const usable = rankRoutes(deps.routes, { environment: session.environment, preferredRoute: choice.kind }).filter(
    (route) => route.kind === choice.kind && isUsable(route) && deps.providers.has(route.integrationId),
  );
  if (usable.length === 0) return { outcome: 'no_route' };
  const routes = usable.filter((route) => splitFees(session.amount, route).total <= choice.acceptedTotal);
  const [first] = routes;
  if (!first) return { outcome: 'fee_changed' };

  const ids = newAttemptIds(deps);
  const started = await commitDecision(deps, sessionId, (checkout, now) =>
    startAttempt(checkout, { ...ids, route: first }, now),
  );
  switch (started.outcome) {
    case 'started':
      return handOff(deps, started.checkout, ids.paymentId, routes);
    // A second click, or another tab: go where the first one went.
    case 'in_progress':
      return { outcome: 'continue', url: pendingPayment(started.checkout)?.providerUrl ?? null };
    case 'already_paid':
      return { outcome: 'already_paid' };
    case 'closed':
    case 'duplicate':
      return { outcome: 'closed' };
  }
}

async function handOff(
  deps: Deps,
  started: Checkout,
  firstPaymentId: string,
  routes: readonly Route[],
): Promise<StartedPayment> {
  let checkout = started;
  let paymentId = firstPaymentId;
  for (const [index, route] of routes.entries()) {
    const result = await askProvider(deps, checkout, paymentId, route);
    if (result.outcome === 'accepted') {
      const { reference, url } = result;
      await commitDecision(deps, checkout.session.id, (now) => acceptHandoff(now, { paymentId, reference, url }));
      return { outcome: 'continue', url };
    }
    deps.log.warn(
      { sessionId: checkout.session.id, paymentId, route: route.id, reason: result.reason },
      'handoff failed',
    );
    // The provider may hold it: the inquiry will tell, and nothing else is tried before.
    if (result.outcome === 'ambiguous') return { outcome: 'continue', url: null };

    const next = routes[index + 1];
    const retry = next && { ...newAttemptIds(deps), route: next };
    const refusedId = paymentId;
    const refused = await commitDecision(deps, checkout.session.id, (current, now) =>
      refuseHandoff(current, refusedId, retry, now),
    );
    if (refused.outcome !== 'failed_over' || !retry) return { outcome: 'refused' };
    checkout = refused.checkout;
    paymentId = retry.paymentId;
  }
  return { outcome: 'refused' };
}

function askProvider(deps: Deps, checkout: Checkout, paymentId: string, route: Route): Promise<HandoffResult> {
  const payment = checkout.payments.find(({ id }) => id === paymentId)!;
  return deps.providers.get(route.integrationId)!.handoff({
    session: checkout.session,
    payment,
    merchant: deps.merchantName,
    returnUrl: checkoutUrl(deps.urls, checkout.session.id),
  });
}

function newAttemptIds(deps: Deps) {
  return { paymentId: deps.newId('pay'), invoiceId: deps.newId('inv') };
}
