import type { Checkout, Instant, Payment } from './records.ts';
import type { Environment } from './route.ts';

/**
 * What one attempt has taught about its route, once per stage: whether the provider took the payment over (`handoff`),
 * how it ended (`result`), and money that came after it had failed (`late`).
 */
export interface RouteOutcome {
  paymentId: string;
  stage: 'handoff' | 'result' | 'late';
  environment: Environment;
  routeId: string;
  result: OutcomeResult;
  /** What it adds to the route's counts; a late success takes back the failure that was counted. */
  successes: number;
  failures: number;
  neutrals: number;
  /** The attempt was made while the route was in standby. */
  probe: boolean;
  /** From the start of the attempt to the money, in milliseconds; null where there is none, or it came late. */
  paidAfterMs: number | null;
  created: Instant;
}

/** `neutral` is what buyers and issuers do: it says nothing about the route. */
export type OutcomeResult = 'accepted' | 'refused' | 'paid' | 'failed' | 'neutral';

export const OUTCOME_RESULTS: readonly OutcomeResult[] = ['accepted', 'refused', 'paid', 'failed', 'neutral'];

/** A refused handoff is certain, immediate and never the buyer's doing: it weighs as much as two declines. */
export const REFUSAL_WEIGHT = 2;

const NOTHING = { successes: 0, failures: 0, neutrals: 0 };

/** What a decision has brought to light about routes: a pure function of the checkout before and after. */
export function outcomesOf(before: Checkout, next: Checkout, now: Instant): RouteOutcome[] {
  if (before.payments === next.payments) return [];
  const known = new Map(before.payments.map((payment) => [payment.id, payment]));
  return next.payments.flatMap((payment) => outcomesOfPayment(known.get(payment.id), payment, now));
}

function outcomesOfPayment(before: Payment | undefined, payment: Payment, now: Instant): RouteOutcome[] {
  if (before === payment) return [];
  const outcomes: RouteOutcome[] = [];
  const add = (fields: Pick<RouteOutcome, 'stage' | 'result'> & Partial<RouteOutcome>) =>
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

  // What was written down as refused stays so, though the provider turns out to have it after all. Of a paid payment
  // nobody can tell any more whether it was, and its money says all that its name could.
  const isNamed = payment.providerReference !== null && (before?.providerReference ?? null) === null;
  if (isNamed && before?.failureCode !== 'handoff_refused' && before?.status !== 'paid') {
    add({ stage: 'handoff', result: 'accepted' });
  }
  const from = before?.status ?? 'pending';
  if (payment.status === from) return outcomes;
  if (payment.status === 'failed') {
    if (payment.failureCode === 'handoff_refused')
      add({ stage: 'handoff', result: 'refused', failures: REFUSAL_WEIGHT });
    else if (payment.failureSource === 'route') add({ stage: 'result', result: 'failed', failures: 1 });
    else add({ stage: 'result', result: 'neutral', neutrals: 1 });
  }
  if (payment.status === 'paid') {
    if (from === 'failed') add({ stage: 'late', result: 'paid', successes: 1, ...takenBack(before!) });
    else add({ stage: 'result', result: 'paid', successes: 1, paidAfterMs: Math.max(1, now - payment.created) });
  }
  return outcomes;
}

function takenBack({ failureCode, failureSource }: Payment): Pick<RouteOutcome, 'failures' | 'neutrals'> {
  if (failureCode === 'handoff_refused') return { failures: -REFUSAL_WEIGHT, neutrals: 0 };
  return failureSource === 'route' ? { failures: -1, neutrals: 0 } : { failures: 0, neutrals: -1 };
}
