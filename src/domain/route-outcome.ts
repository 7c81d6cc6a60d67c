import type { Checkout, Instant, Payment } from './records.ts';
import type { Environment } from './route.ts';

/**
 * Evidence from one attempt about its route, at most one per stage: an uncertain handoff (`unclear`), an accepted or refused
 * handoff (`handoff`), the end of the payment (`result`), and money after a failure (`late`).
 */
export interface RouteOutcome {
  paymentId: string;
  stage: 'unclear' | 'handoff' | 'result' | 'late';
  environment: Environment;
  routeId: string;
  result: OutcomeResult;
  /** Additions to the counts of the route; a late success or a late answer takes back the counted failure. */
  successes: number;
  failures: number;
  neutrals: number;
  /** The attempt was made while the route was in standby. */
  probe: boolean;
  /** From the start of the attempt to the money, in milliseconds; null where there is none, it came late, or started it. */
  paidAfterMs: number | null;
  created: Instant;
}

/** `neutral` is what buyers and issuers do: it says nothing about the route. */
export const OUTCOME_RESULTS = ['accepted', 'refused', 'paid', 'failed', 'neutral'] as const;
export type OutcomeResult = (typeof OUTCOME_RESULTS)[number];

/**
 * A refused handoff is certain, immediate and never the buyer's doing: it weighs as much as two declines. So does one
 * without a clear answer, for as long as that lasts: a provider that hangs must be noticed before its payments time out.
 */
export const REFUSAL_WEIGHT = 2;

type Lesson = Pick<RouteOutcome, 'stage' | 'result'> & Partial<RouteOutcome>;

const NOTHING = { successes: 0, failures: 0, neutrals: 0 };

/** Outcomes of a decision for its routes: a pure function of the checkout before and after. */
export function outcomesOf(before: Checkout, next: Checkout, now: Instant): RouteOutcome[] {
  if (before.payments === next.payments) return [];
  const known = new Map(before.payments.map((payment) => [payment.id, payment]));
  return next.payments.flatMap((payment) => outcomesOfPayment(known.get(payment.id), payment, now));
}

function outcomesOfPayment(before: Payment | undefined, payment: Payment, now: Instant): RouteOutcome[] {
  if (before === payment) return [];
  const outcomes: RouteOutcome[] = [];
  const add = (fields: Lesson) =>
    outcomes.push({
      ...NOTHING,
      paymentId: payment.id,
      environment: payment.environment,
      routeId: payment.route.id,
      probe: payment.probe,
      paidAfterMs: null,
      created: now,
      ...fields,
    });

  if (payment.handoffUncertain && !before?.handoffUncertain) {
    add({ stage: 'unclear', result: 'refused', failures: REFUSAL_WEIGHT });
  }
  const from = before?.status ?? 'pending';
  // The provider spoke in time: the first thing that this teaches takes back what the silence has counted for.
  const isCleared = from === 'pending' && before?.handoffUncertain === true && !payment.handoffUncertain;
  const silence = isCleared ? -REFUSAL_WEIGHT : 0;

  // A recorded refusal stays, even if the provider has the payment after all. A paid payment no longer shows whether it was
  // refused, and its money proves as much as its reference.
  const isNamed = payment.providerReference !== null && (before?.providerReference ?? null) === null;
  if (isNamed && before?.failureCode !== 'handoff_refused' && before?.status !== 'paid') {
    add({ stage: 'handoff', result: 'accepted', failures: silence });
  }
  if (payment.status === from) return outcomes;
  if (payment.status === 'failed') addFailure(payment, silence, add);
  if (payment.status === 'paid') {
    if (from === 'failed') add({ stage: 'late', result: 'paid', successes: 1, ...takenBack(before!) });
    else {
      // Where the provider spoke first, nobody knows when the attempt began.
      const paidAfterMs = before ? Math.max(1, now - payment.created) : null;
      add({ stage: 'result', result: 'paid', successes: 1, failures: silence, paidAfterMs });
    }
  }
  return outcomes;
}

function addFailure(payment: Payment, silence: number, add: (fields: Lesson) => void): void {
  const { failureCode, failureSource, handoffUncertain: handoffUnclear } = payment;
  if (failureSource === 'gateway') {
    // No request was made: there was nothing that the route could have done well or badly, nor the buyer.
    add({ stage: 'handoff', result: 'neutral' });
  } else if (failureCode === 'handoff_refused') {
    add({ stage: 'handoff', result: 'refused', failures: handoffUnclear ? 0 : REFUSAL_WEIGHT });
  } else if (!handoffUnclear) {
    if (failureSource === 'route') add({ stage: 'result', result: 'failed', failures: silence + 1 });
    else add({ stage: 'result', result: 'neutral', failures: silence, neutrals: 1 });
  }
  // Otherwise the provider never reported. The uncertain handoff was counted against the route, and that stays.
}

function takenBack(failed: Payment): Pick<RouteOutcome, 'failures' | 'neutrals'> {
  const { failureCode, failureSource, handoffUncertain: handoffUnclear } = failed;
  if (failureSource === 'gateway') return { failures: 0, neutrals: 0 };
  if (handoffUnclear || failureCode === 'handoff_refused') return { failures: -REFUSAL_WEIGHT, neutrals: 0 };
  return failureSource === 'route' ? { failures: -1, neutrals: 0 } : { failures: 0, neutrals: -1 };
}
