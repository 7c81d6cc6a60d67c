import { contextsOf, lastCard } from '../domain/payment-contexts.ts';
import { MAX_ATTEMPTS, leadingPayment, pendingPayment } from '../domain/checkout-state.ts';
import { canAbandon } from '../domain/checkout.ts';
import { type FeeSplit, splitFees } from '../domain/fees.ts';
import { type WrongMoney, wrongMoneyFor, wrongMoneyOf } from '../domain/discrepancy.ts';
import { DECLINE_CODES, type DeclineCode, type FailureCode } from '../domain/failure.ts';
import type { Cents } from '../domain/money.ts';
import type { Checkout, Instant, Payment } from '../domain/records.ts';
import type { Route, RouteKind } from '../domain/route.ts';
import type { Deps } from '../operations/deps.ts';
import { pendingTransfer } from '../operations/pending-transfer.ts';
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
  /** `declined` for every code that a provider reports; `amount_mismatch` while a wrong amount is held. */
  reason: 'declined' | Exclude<FailureCode, DeclineCode>;
  /** False if money of this or an earlier payment may still arrive. */
  certain: boolean;
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

/** A further real payment. `isManual`: the merchant must send the refund. */
interface Surplus {
  payment: Payment;
  isManual: boolean;
}

/** `secondsLeft`: time until the payment ends. */
type Transfer = NonNullable<Awaited<ReturnType<typeof pendingTransfer>>> & { secondsLeft: number };

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
  /** A wrong amount has arrived. Until the merchant has refunded it, another payment could charge the buyer twice. */
  | { name: 'mismatched'; attempt: CurrentAttempt; wrongMoney: WrongMoney }
  /** The buyer pays by a transfer from their own wallet. */
  | { name: 'transfer'; attempt: CurrentAttempt; transfer: Transfer }
  /**
   * `surplus`: further real payments for the same session. `excess`: money above the total, about which the merchant decides.
   * `wrongMoney`: a wrong amount that arrived for another payment.
   */
  | {
      name: 'paid';
      payment: Payment;
      method: string;
      surplus: Surplus[];
      excess: Cents;
      wrongMoney: WrongMoney | null;
    }
  /** `certain`: every provider reported that it took no money, so no late money is expected. */
  | { name: 'failed'; certain: boolean; wrongMoney: WrongMoney | null }
  | { name: 'expired' };

/** Dependencies of the choice of payment methods. */
export type MethodDeps = Pick<Deps, 'routes' | 'router' | 'newId' | 'now' | 'providers' | 'routingMetadataKey'>;

const SECOND_MS = 1000;
const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

/** State that the buyer's page shows, with the data that is not part of the checkout. */
export async function shownStateOf(deps: MethodDeps & Pick<Deps, 'store'>, checkout: Checkout): Promise<CheckoutState> {
  const now = deps.now();
  const state = pageStateOf(checkout, deps, now);
  switch (state.name) {
    // A block affects only the choice of a payment method: a payment in progress continues, and the page of a finished
    // checkout is shown.
    case 'choose': {
      const customer = await deps.store.customer(checkout.session.customerId);
      return customer?.status === 'active' ? state : { name: 'not_taken', isUntouched: checkout.payments.length === 0 };
    }
    case 'waiting':
    case 'confirming':
    case 'processing':
    case 'mismatched': {
      const transfer = await pendingTransfer(deps, checkout);
      if (!transfer) return state;
      const secondsLeft = Math.max(0, Math.floor((transfer.expiresAt - now) / SECOND_MS));
      return { name: 'transfer', attempt: state.attempt, transfer: { ...transfer, secondsLeft } };
    }
    default:
      return state;
  }
}

/** Text that changes with what the page shows. The version of the session does not change with each step of a transfer. */
export function versionOf({ session }: Checkout, state: CheckoutState): string {
  const { version } = session;
  if (state.name !== 'transfer') return String(version);
  const { received, isConfirming } = state.transfer;
  return `${version}-${received}-${isConfirming}`;
}

/** State of the checkout alone at the time `now`. */
export function pageStateOf(checkout: Checkout, deps: MethodDeps, now: Instant): CheckoutState {
  const { session, payments } = checkout;
  switch (session.status) {
    case 'paid':
      return stateOfPaid(checkout, deps);
    case 'failed':
      return {
        name: 'failed',
        certain: payments.every(isCertain),
        wrongMoney: wrongMoneyOf(checkout.discrepancies),
      };
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

function stateOfPaid(checkout: Checkout, { routes, providers }: MethodDeps): CheckoutState {
  const payment = leadingPayment(checkout)!;
  const route = routes.find(({ id }) => id === payment.route.id);
  const surplus = checkout.payments
    .filter((other) => other.surplus)
    .map((other) => ({
      payment: other,
      isManual: providers.get(other.route.provider)?.traits.refunds === 'manual',
    }));
  const excess = checkout.discrepancies.find(
    ({ kind, status, paymentId, expected }) =>
      kind === 'amount_mismatch' && status === 'open' && paymentId === payment.id && expected === 0,
  );
  const method = route?.payerLabel ?? payment.route.label;
  const wrongMoney = wrongMoneyOf(checkout.discrepancies.filter(({ paymentId }) => paymentId !== payment.id));
  return { name: 'paid', payment, method, surplus, excess: excess?.received ?? 0, wrongMoney };
}

function stateOfAttempt(checkout: Checkout, payment: Payment, { routes }: MethodDeps): CheckoutState {
  const route = routes.find(({ id }) => id === payment.route.id);
  const attempt: CurrentAttempt = {
    payment,
    provider: route?.integrationLabel ?? payment.route.label,
    eta: etaOf(payment, route),
    canSwitch: checkout.session.attempts < MAX_ATTEMPTS && canAbandon(checkout, payment),
  };
  const wrongMoney = wrongMoneyFor(checkout, payment);
  if (wrongMoney !== null) return { name: 'mismatched', attempt, wrongMoney };
  if (payment.expectedBy !== null) return { name: 'processing', attempt };
  if (payment.providerUrl === null) return { name: 'confirming', attempt };
  return { name: 'waiting', attempt, url: payment.providerUrl };
}

/** Usual duration of a payment. If the provider expects the money days later than usual, the longest time that it gives. */
function etaOf({ created, expectedBy }: Payment, route: Route | undefined): string | null {
  const days = Math.ceil(((expectedBy ?? created) - created) / DAY_MS);
  if (route && days > 1 && route.etaMinutes * MINUTE_MS < DAY_MS) return `up to ${days} days`;
  return route?.eta ?? null;
}

function methodsOf(checkout: Checkout, deps: MethodDeps, now: Instant): MethodOption[] {
  const { session } = checkout;
  const { environment, amount, preferredRoute: preferredKind } = session;
  const effect = effectOf(deps, environment, () => factsOf(session, now));
  const contexts = contextsOf(session, now, deps.routingMetadataKey, lastCard(checkout.payments));
  const request = { environment, amount, preferredKind, effect, contexts, barred: refusedRoutes(checkout) };
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

function setbackOf({ session, payments, discrepancies }: Checkout, now: Instant): FailedAttempt | null {
  const last = payments.at(-1);
  if (!last?.failureCode) return null;
  const left = (session.retryUntil ?? now) - now;
  const reason = isDecline(last.failureCode) ? 'declined' : last.failureCode;
  return {
    reason: wrongMoneyOf(discrepancies) === 'held' ? 'amount_mismatch' : reason,
    certain: payments.every(isCertain),
    triesLeft: MAX_ATTEMPTS - session.attempts,
    minutesLeft: Math.max(1, Math.ceil(left / MINUTE_MS)),
  };
}
