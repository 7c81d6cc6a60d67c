import { callbackUrl, checkoutUrl } from '../contract/session-contract.ts';
import { pendingPayment, unchanged } from '../domain/checkout-state.ts';
import { acceptHandoff, markHandoffUncertain, rejectHandoff, startAttempt } from '../domain/checkout.ts';
import type { Checkout, Instant } from '../domain/records.ts';
import { traced } from '../telemetry/tracing.ts';
import { commitDecision } from './commit-decision.ts';
import type { Deps } from './deps.ts';
import { foundSession } from './not-found.ts';
import { type AttemptRequest, type ChosenRoute, chooseForAttempt } from './routing/attempts.ts';
import type { HandoffRequest, Provider } from '../providers/provider.ts';

export type StartedPayment =
  | { outcome: 'continue'; url: string | null }
  /** No route of the chosen kind can take the payment now. */
  | { outcome: 'no_route' }
  /** The fee has changed since the buyer saw it. The page shows the new fee before the buyer pays. */
  | { outcome: 'fee_changed' }
  /** Every route refused the payment. The buyer may choose another payment method while attempts are left. */
  | { outcome: 'refused' }
  | { outcome: 'already_paid' | 'closed' }
  /** The customer is blocked or erased. */
  | { outcome: 'not_taken' };

/** Payment method that the buyer chose, and the total in cents that the page showed for it. */
type Choice = Pick<AttemptRequest, 'kind' | 'acceptedTotal'>;

/**
 * Starts an attempt with the payment method that the buyer chose, having seen `acceptedTotal` (cents). The router chooses the
 * route. If a provider certainly does not have the payment, the attempt fails over to the next route that does not cost the buyer
 * more. The attempt and the decision are durable before the handoff, and no transaction is open during the handoff.
 */
export function startPayment(deps: Deps, sessionId: string, choice: Choice): Promise<StartedPayment> {
  const attributes = { 'tillway.session.id': sessionId };
  return traced(deps.tracing, { name: 'startPayment', attributes }, async (span) => {
    const started = await start(deps, sessionId, choice);
    span?.set({ 'tillway.outcome': started.outcome });
    return started;
  });
}

async function start(deps: Deps, sessionId: string, choice: Choice, mayProbe = true): Promise<StartedPayment> {
  const before = foundSession(await deps.store.checkout(sessionId), sessionId);
  const ids = newAttemptIds(deps);
  const request: AttemptRequest = {
    ...choice,
    checkout: before,
    paymentId: ids.paymentId,
    refused: new Map(),
    mayProbe,
  };
  const chosen = chooseForAttempt(deps, request);
  if (typeof chosen === 'string') return { outcome: chosen };

  let tries = 0;
  const started = await commitDecision(
    deps,
    before,
    async (checkout, now) => {
      // The commit requires an active customer, so the first try need not read it.
      const mayPay = tries++ === 0 || (await deps.store.customer(checkout.session.customerId))?.status === 'active';
      if (!mayPay) return unchanged(checkout, 'not_taken');
      return startAttempt(checkout, attemptOn(deps, ids, chosen), now);
    },
    ({ outcome }) => (outcome === 'started' ? [{ type: 'customer_active', sessionId }, ...chosen.changes] : []),
  );
  switch (started.outcome) {
    case 'started':
      chosen.view.isRecorded = true;
      return handOffUntilTaken(deps, started.checkout, request, chosen);
    // A second click, or another tab: the buyer continues with the attempt in progress.
    case 'in_progress':
      return { outcome: 'continue', url: urlOfSameChoice(started.checkout, choice) };
    case 'already_paid':
      return { outcome: 'already_paid' };
    case 'duplicate':
      // Another payment has claimed the probe of the route in standby.
      return mayProbe ? start(deps, sessionId, choice, false) : { outcome: 'closed' };
    case 'closed':
    case 'not_taken':
      return { outcome: started.outcome };
  }
}

/** Hands the attempt to the provider of its route, and fails over while a provider certainly does not have the payment. */
async function handOffUntilTaken(
  deps: Deps,
  started: Checkout,
  first: AttemptRequest,
  on: ChosenRoute,
): Promise<StartedPayment> {
  const giveUpAt = deps.realNow() + deps.handoffLimits.totalMs;
  const refused = new Map<string, string>();
  let checkout = started;
  let request = first;
  let chosen: ChosenRoute = on;
  for (;;) {
    const { route } = chosen.known;
    const { paymentId } = request;
    const payment = checkout.payments.find(({ id }) => id === paymentId)!;
    const handoff = {
      session: checkout.session,
      payment,
      merchant: deps.merchantName,
      returnUrl: `${checkoutUrl(deps.urls, checkout.session.id)}/back`,
      cancelUrl: checkoutUrl(deps.urls, checkout.session.id),
      callbackUrl: callbackUrl(deps.urls, route.integrationId),
    };
    const result = await handOff(deps, deps.providers.get(route.integrationId), handoff, giveUpAt);
    if (result.outcome === 'accepted') {
      const taken = await commitDecision(deps, checkout, (current) => acceptHandoff(current, { ...result, paymentId }));
      // The payment failed during the handoff and is cancelled at the provider. The buyer continues with the newer attempt.
      const isLate = taken.outcome === 'too_late';
      return { outcome: 'continue', url: isLate ? urlOfSameChoice(taken.checkout, first) : result.url };
    }
    const { id: sessionId } = checkout.session;
    deps.log.warn({ sessionId, paymentId, route: route.id, reason: result.reason }, 'handoff failed');
    // The provider may have the payment, so no other route is tried until an inquiry shows that it does not.
    if (result.outcome === 'ambiguous') {
      await commitDecision(deps, sessionId, (current) => markHandoffUncertain(current, paymentId));
      return { outcome: 'continue', url: null };
    }

    refused.set(route.id, `did not take this payment: ${result.reason}`);
    const ids = newAttemptIds(deps);
    request = { ...first, paymentId: ids.paymentId, refused };
    // A handoff that is cut off by the deadline would say nothing about the route.
    const isTime = deps.realNow() + deps.handoffLimits.leastMs <= giveUpAt;
    const next = isTime ? chooseForAttempt(deps, request) : 'no_route';
    const retry = typeof next === 'string' ? undefined : attemptOn(deps, ids, next);
    const { mayArrive, providerReason } = result;
    const failed = await commitDecision(
      deps,
      sessionId,
      (current, now) => rejectHandoff(current, paymentId, { retry, mayArrive, reason: providerReason }, now),
      ({ outcome }) => (outcome === 'failed_over' && typeof next !== 'string' ? next.changes : []),
    );
    // During the handoff, the provider reported on the payment or the buyer abandoned it.
    if (failed.outcome === 'ignored') {
      return { outcome: 'continue', url: urlOfSameChoice(failed.checkout, first) };
    }
    if (failed.outcome !== 'failed_over' || typeof next === 'string') {
      return { outcome: next === 'fee_changed' ? 'fee_changed' : 'refused' };
    }
    next.view.isRecorded = true;
    checkout = failed.checkout;
    chosen = next;
  }
}

/**
 * URL at which the buyer continues with the attempt in progress; null if that attempt has another payment method or a higher total
 * than the buyer chose. The page of the checkout then shows its total, and the buyer can choose another payment method.
 */
function urlOfSameChoice(checkout: Checkout, { kind, acceptedTotal }: Choice): string | null {
  const payment = pendingPayment(checkout);
  return payment?.route.kind === kind && payment.fees.total <= acceptedTotal ? payment.providerUrl : null;
}

function attemptOn({ providers }: Deps, ids: ReturnType<typeof newAttemptIds>, { known, isProbe }: ChosenRoute) {
  const costRefundable = providers.get(known.route.integrationId)?.traits.costRefundable ?? true;
  return { ...ids, route: known.route, probe: isProbe, costRefundable };
}

function newAttemptIds(deps: Deps) {
  return { paymentId: deps.newId('pay'), invoiceId: deps.newId('inv') };
}

/** Like {@link HandoffResult}, after repetition and inquiry. `mayArrive`: a request may still be in flight to the refusing provider. */
type Handoff =
  | { outcome: 'accepted'; reference: string; url: string | null }
  | { outcome: 'refused'; reason: string; providerReason: string | null; mayArrive: boolean }
  | { outcome: 'ambiguous'; reason: string };

/**
 * Hands a payment to its provider. After an ambiguous answer, it repeats the request, if the provider would execute it only once, and
 * then sends an inquiry. A refusal of the repeated request proves nothing about the first request. Only the answer to the inquiry
 * can prove that the provider does not have the payment.
 */
async function handOff(
  deps: Pick<Deps, 'realNow' | 'handoffLimits'>,
  provider: Provider | undefined,
  request: Omit<HandoffRequest, 'timeoutMs'>,
  giveUpAt: Instant,
): Promise<Handoff> {
  if (!provider) {
    return { outcome: 'refused', reason: 'its provider is not connected', providerReason: null, mayArrive: false };
  }
  const { handoffMs, againMs, inquiryMs } = deps.handoffLimits;
  const within = (limitMs: number) => Math.max(1, Math.min(limitMs, giveUpAt - deps.realNow()));

  const first = await provider.handoff({ ...request, timeoutMs: within(handoffMs) });
  if (first.outcome === 'refused') return { ...first, mayArrive: false };
  if (first.outcome === 'accepted') return first;

  const { resend } = provider.traits;
  if (resend === 'always' || (resend === 'no_answer' && !first.isAnswered)) {
    const second = await provider.handoff({ ...request, timeoutMs: within(againMs) });
    if (second.outcome === 'accepted') return second;
  }
  try {
    const answer = await provider.inquire(request.payment, within(inquiryMs));
    if (answer === 'cannot_tell') return first;
    if (answer !== 'unknown' && answer.report.state !== 'failed') {
      return { outcome: 'accepted', reference: answer.reference, url: answer.url };
    }
    const found =
      answer === 'unknown' ? 'the provider does not know the payment' : 'the payment has failed at the provider';
    const providerReason = answer === 'unknown' ? null : (answer.report.decline?.reason ?? null);
    return { outcome: 'refused', reason: `${first.reason}, and ${found}`, providerReason, mayArrive: true };
  } catch (error) {
    return { outcome: 'ambiguous', reason: `${first.reason}; inquiry: ${String(error)}` };
  }
}
