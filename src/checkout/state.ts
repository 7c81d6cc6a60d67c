import { leadingPayment, pendingPayment } from '../domain/checkout-state.ts';
import { MAX_ATTEMPTS, canAbandon } from '../domain/checkout.ts';
import { type FeeSplit, splitFees } from '../domain/fees.ts';
import { DECLINE_CODES, type DeclineCode, type FailureCode } from '../domain/failure.ts';
import type { Checkout, Instant, Payment } from '../domain/records.ts';
import type { RouteKind } from '../domain/route.ts';
import type { Deps } from '../operations/deps.ts';
import { factsOf, refusedRoutes } from '../operations/routing/attempts.ts';
import { effectOf, waysToPay } from '../operations/routing/offers.ts';

/** One way to pay, as the buyer chooses it. */
export interface Way {
  kind: RouteKind;
  label: string;
  eta: string;
  fees: FeeSplit;
}

/** How far the last attempt came, where the buyer is to try again. */
export interface Setback {
  /** `declined` for every code that a provider reports. */
  reason: 'declined' | Exclude<FailureCode, DeclineCode>;
  triesLeft: number;
  minutesLeft: number;
}

/** An attempt under way. */
export interface Attempt {
  payment: Payment;
  provider: string;
  eta: string | null;
  /** Whether the buyer may drop it and still choose another way. */
  canSwitch: boolean;
}

/** The one thing that the page of a checkout says. */
export type CheckoutState =
  /** `ways` is never empty; the best one is first. */
  | { name: 'choose'; ways: Way[]; setback: Setback | null }
  | { name: 'no_way'; setback: Setback | null }
  /** Nothing is taken of this buyer, and a stranger is not told why. */
  | { name: 'not_taken'; isUntouched: boolean }
  | { name: 'waiting'; attempt: Attempt; url: string }
  /** The provider may hold the payment, but has nowhere to send the buyer, or not yet. */
  | { name: 'confirming'; attempt: Attempt }
  /** `surplus` are second real payments of the same session. */
  | { name: 'paid'; payment: Payment; way: string; surplus: Payment[] }
  /** `certain`: no money can be under way. */
  | { name: 'failed'; certain: boolean }
  | { name: 'expired' };

/** What is there to pay with. */
export type Rails = Pick<Deps, 'routes' | 'router' | 'newId' | 'now'>;

const MINUTE_MS = 60_000;

export function stateOf(checkout: Checkout, rails: Rails, now: Instant): CheckoutState {
  const { session, payments } = checkout;
  switch (session.status) {
    case 'paid':
      return stateOfPaid(checkout, rails);
    case 'failed':
      return { name: 'failed', certain: payments.every(isCertain) };
    case 'expired':
      return { name: 'expired' };
    case 'pending': {
      const payment = pendingPayment(checkout);
      if (payment) return stateOfAttempt(checkout, payment, rails);
      break;
    }
    case 'routed':
      break;
  }
  const ways = waysOf(checkout, rails, now);
  const setback = setbackOf(checkout, now);
  return ways.length === 0 ? { name: 'no_way', setback } : { name: 'choose', ways, setback };
}

/** Whether the provider reported, by callback or in answer to an inquiry, that it took no money. */
function isCertain({ failureCode }: Payment): boolean {
  return failureCode !== null && (isDecline(failureCode) || failureCode === 'handoff_refused');
}

function isDecline(code: FailureCode): code is DeclineCode {
  return DECLINE_CODES.some((known) => known === code);
}

/** Whether the page will not change any more by itself. */
export function isFinal(state: CheckoutState): boolean {
  return state.name === 'paid' || state.name === 'failed' || state.name === 'expired';
}

function stateOfPaid(checkout: Checkout, { routes }: Rails): CheckoutState {
  const payment = leadingPayment(checkout)!;
  const route = routes.find(({ id }) => id === payment.route.id);
  const surplus = checkout.payments.filter((other) => other.surplus);
  return { name: 'paid', payment, way: route?.payerLabel ?? payment.route.label, surplus };
}

function stateOfAttempt({ session }: Checkout, payment: Payment, { routes }: Rails): CheckoutState {
  const route = routes.find(({ id }) => id === payment.route.id);
  const attempt: Attempt = {
    payment,
    provider: route?.integrationLabel ?? payment.route.label,
    eta: route?.eta ?? null,
    canSwitch: session.attempts < MAX_ATTEMPTS && canAbandon(payment),
  };
  if (payment.providerUrl === null) return { name: 'confirming', attempt };
  return { name: 'waiting', attempt, url: payment.providerUrl };
}

function waysOf(checkout: Checkout, rails: Rails, now: Instant): Way[] {
  const { session } = checkout;
  const { environment, preferredRoute: preferredKind } = session;
  const effect = effectOf(rails, environment, () => factsOf(session, now));
  return waysToPay(rails, { environment, preferredKind, effect, barred: refusedRoutes(checkout) }).map((route) => ({
    kind: route.kind,
    label: route.payerLabel,
    eta: route.eta,
    fees: splitFees(session.amount, route),
  }));
}

function setbackOf({ session, payments }: Checkout, now: Instant): Setback | null {
  const last = payments.at(-1);
  if (!last?.failureCode) return null;
  const left = (session.retryUntil ?? now) - now;
  return {
    reason: isDecline(last.failureCode) ? 'declined' : last.failureCode,
    triesLeft: MAX_ATTEMPTS - session.attempts,
    minutesLeft: Math.max(1, Math.ceil(left / MINUTE_MS)),
  };
}
