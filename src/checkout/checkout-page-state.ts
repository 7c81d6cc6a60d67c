import { MAX_ATTEMPTS, leadingPayment, pendingPayment } from '../domain/checkout-state.ts';
import { canAbandon } from '../domain/checkout.ts';
import { type FeeSplit, splitFees } from '../domain/fees.ts';
import { DECLINE_CODES, type DeclineCode, type FailureCode } from '../domain/failure.ts';
import type { Checkout, Instant, Payment } from '../domain/records.ts';
import type { RouteKind } from '../domain/route.ts';
import type { Deps } from '../operations/deps.ts';
import { factsOf, refusedRoutes } from '../operations/routing/attempts.ts';
import { effectOf, paymentMethods } from '../operations/routing/offers.ts';

/** Payment method that the buyer can choose, with its fees. */
export interface MethodOption {
  kind: RouteKind;
  label: string;
  eta: string;
  fees: FeeSplit;
}

/** Last failed attempt of a buyer who may try again. */
export interface FailedAttempt {
  /** `declined` for every code that a provider reports. */
  reason: 'declined' | Exclude<FailureCode, DeclineCode>;
  triesLeft: number;
  minutesLeft: number;
}

/** Pending attempt, as the page shows it. */
export interface CurrentAttempt {
  payment: Payment;
  provider: string;
  eta: string | null;
  /** True if the buyer may abandon the attempt and choose another method. */
  canSwitch: boolean;
}

/** State of the buyer's page, with the data that the page shows. */
export type CheckoutState =
  /** `methods` is never empty; the best one is first. */
  | { name: 'choose'; methods: MethodOption[]; setback: FailedAttempt | null }
  /** `reasons`: unavailable routes with their reasons, for the merchant; in sandbox only. */
  | { name: 'no_method'; setback: FailedAttempt | null; reasons: readonly string[] }
  /** The merchant accepts no payment from this customer, who is blocked or erased. The page does not show the reason. */
  | { name: 'not_taken'; isUntouched: boolean }
  | { name: 'waiting'; attempt: CurrentAttempt; url: string }
  /** The provider may have the payment, and Tillway has no provider page for the buyer, or the buyer came back from it. */
  | { name: 'confirming'; attempt: CurrentAttempt }
  /** The buyer has done their part, and the money arrives later, for example days later. */
  | { name: 'processing'; attempt: CurrentAttempt }
  /** `surplus`: further real payments for the same session. */
  | { name: 'paid'; payment: Payment; method: string; surplus: Payment[] }
  /** `certain`: every provider reported that it took no money, so no late money is expected. */
  | { name: 'failed'; certain: boolean }
  | { name: 'expired' };

/** Dependencies of the choice of payment methods. */
export type MethodDeps = Pick<Deps, 'routes' | 'router' | 'newId' | 'now'>;

const MINUTE_MS = 60_000;

/** State that the buyer's page shows at the time `now`. */
export function pageStateOf(checkout: Checkout, deps: MethodDeps, now: Instant): CheckoutState {
  const { session, payments } = checkout;
  switch (session.status) {
    case 'paid':
      return stateOfPaid(checkout, deps);
    case 'failed':
      return { name: 'failed', certain: payments.every(isCertain) };
    case 'expired':
      return { name: 'expired' };
    case 'pending': {
      const payment = pendingPayment(checkout);
      if (payment) return stateOfAttempt(checkout, payment, deps);
      break;
    }
    case 'routed':
      break;
  }
  const methods = methodsOf(checkout, deps, now);
  const setback = setbackOf(checkout, now);
  if (methods.length > 0) return { name: 'choose', methods, setback };
  return { name: 'no_method', setback, reasons: session.environment === 'sandbox' ? offReasons(deps) : [] };
}

/** True if the provider refused the payment, or reported that it failed, so that no money was taken. */
function isCertain({ failureCode }: Payment): boolean {
  return failureCode !== null && (isDecline(failureCode) || failureCode === 'handoff_refused');
}

function isDecline(code: FailureCode): code is DeclineCode {
  return DECLINE_CODES.some((known) => known === code);
}

export function isFinalState(state: CheckoutState): boolean {
  return state.name === 'paid' || state.name === 'failed' || state.name === 'expired';
}

function stateOfPaid(checkout: Checkout, { routes }: MethodDeps): CheckoutState {
  const payment = leadingPayment(checkout)!;
  const route = routes.find(({ id }) => id === payment.route.id);
  const surplus = checkout.payments.filter((other) => other.surplus);
  return { name: 'paid', payment, method: route?.payerLabel ?? payment.route.label, surplus };
}

function stateOfAttempt({ session }: Checkout, payment: Payment, { routes }: MethodDeps): CheckoutState {
  const route = routes.find(({ id }) => id === payment.route.id);
  const attempt: CurrentAttempt = {
    payment,
    provider: route?.integrationLabel ?? payment.route.label,
    eta: route?.eta ?? null,
    canSwitch: session.attempts < MAX_ATTEMPTS && canAbandon(payment),
  };
  if (payment.expectedBy !== null) return { name: 'processing', attempt };
  if (payment.providerUrl === null) return { name: 'confirming', attempt };
  return { name: 'waiting', attempt, url: payment.providerUrl };
}

function methodsOf(checkout: Checkout, deps: MethodDeps, now: Instant): MethodOption[] {
  const { session } = checkout;
  const { environment, amount, preferredRoute: preferredKind } = session;
  const effect = effectOf(deps, environment, () => factsOf(session, now));
  const request = { environment, amount, preferredKind, effect, barred: refusedRoutes(checkout) };
  return paymentMethods(deps, request).map((route) => ({
    kind: route.kind,
    label: route.payerLabel,
    eta: route.eta,
    fees: splitFees(session.amount, route),
  }));
}

function offReasons({ router }: MethodDeps): string[] {
  const off = router.view('sandbox').ranked.filter(({ facts }) => facts.off !== null);
  const byReason = Map.groupBy(off, ({ facts }) => facts.off);
  return Array.from(byReason, ([reason, views]) => `${views.map(({ route }) => route.id).join(', ')}: ${reason}`);
}

function setbackOf({ session, payments }: Checkout, now: Instant): FailedAttempt | null {
  const last = payments.at(-1);
  if (!last?.failureCode) return null;
  const left = (session.retryUntil ?? now) - now;
  return {
    reason: isDecline(last.failureCode) ? 'declined' : last.failureCode,
    triesLeft: MAX_ATTEMPTS - session.attempts,
    minutesLeft: Math.max(1, Math.ceil(left / MINUTE_MS)),
  };
}
