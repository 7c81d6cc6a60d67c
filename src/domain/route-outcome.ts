import { type PaymentContexts, contextsOf } from './payment-contexts.ts';
import type { Checkout, Instant, Payment } from './records.ts';
import type { Environment } from './route.ts';

export const OUTCOME_STAGES = ['unclear', 'handoff', 'result', 'end', 'late'] as const;

/**
 * Evidence from one attempt about its route, at most one per stage: an uncertain handoff (`unclear`), an accepted or refused
 * handoff (`handoff`), the end of the payment (`result`, or `end` if it is no evidence), and money after a failure (`late`).
 */
export interface RouteOutcome {
  paymentId: string;
  stage: (typeof OUTCOME_STAGES)[number];
  environment: Environment;
  routeId: string;
  result: OutcomeResult;
  /** Additions to the counts of the route. A late payment, or a late answer to the handoff, subtracts the failure that was counted. */
  successes: number;
  failures: number;
  neutrals: number;
  /** The attempt was made while the route was in standby. */
  probe: boolean;
  /** Milliseconds from the start of the attempt to the money; null without money and for late money. */
  paidAfterMs: number | null;
  /** `<source>/<code>` of the failure that the outcome records or, for late money, reverses; null if there is none. */
  failure: string | null;
  /** Contexts of the payment, if the outcome counts as a success or a failure; otherwise null. */
  contexts: PaymentContexts | null;
  created: Instant;
}

/** `neutral`: an outcome that the buyer caused, which is no evidence about the route. */
export const OUTCOME_RESULTS = ['accepted', 'refused', 'paid', 'failed', 'neutral'] as const;
export type OutcomeResult = (typeof OUTCOME_RESULTS)[number];

/**
 * Weight of a refused handoff, in declines: a refusal is certain, immediate and never caused by the buyer. An uncertain
 * handoff has the same weight until the provider reports, because a provider that hangs must be noticed before its
 * payments time out.
 */
export const REFUSAL_WEIGHT = 2;

type OutcomeFields = Pick<RouteOutcome, 'stage' | 'result'> & Partial<Omit<RouteOutcome, 'contexts'>>;

const NO_COUNTS = { successes: 0, failures: 0, neutrals: 0 };

/**
 * Outcomes that a decision adds as evidence about routes: a pure function of the checkout before and after it. `metadataKey` is the
 * key of the metadata whose value is a context.
 */
export function outcomesOf(before: Checkout, next: Checkout, now: Instant, metadataKey?: string): RouteOutcome[] {
  if (before.payments === next.payments) return [];
  const known = new Map(before.payments.map((payment) => [payment.id, payment]));
  return next.payments.flatMap((payment) =>
    outcomesOfPayment(known.get(payment.id), payment, now).map((outcome) => {
      const counts = outcome.successes !== 0 || outcome.failures !== 0;
      // A reversed failure is taken from the contexts in which it was counted.
      const { card } = (outcome.failures < 0 && known.get(payment.id)) || payment;
      return { ...outcome, contexts: counts ? contextsOf(next.session, payment.created, metadataKey, card) : null };
    }),
  );
}

function outcomesOfPayment(
  before: Payment | undefined,
  payment: Payment,
  now: Instant,
): Omit<RouteOutcome, 'contexts'>[] {
  if (before === payment) return [];
  const outcomes: Omit<RouteOutcome, 'contexts'>[] = [];
  const add = (fields: OutcomeFields) =>
    outcomes.push({
      ...NO_COUNTS,
      paymentId: payment.id,
      environment: payment.environment,
      routeId: payment.route.id,
      probe: payment.probe,
      paidAfterMs: null,
      failure: null,
      created: now,
      ...fields,
    });

  if (payment.handoffUncertain && !before?.handoffUncertain) {
    add({ stage: 'unclear', result: 'refused', failures: REFUSAL_WEIGHT });
  }
  const from = before?.status ?? 'pending';
  // The provider reported in time: the first new outcome also reverses the weight of the uncertain handoff.
  const isCleared = from === 'pending' && before?.handoffUncertain === true && !payment.handoffUncertain;
  const reversedWeight = isCleared ? -REFUSAL_WEIGHT : 0;

  // A recorded refusal still counts if the provider has the payment after all. A paid payment adds no accepted handoff: its record
  // no longer shows whether the handoff was refused, and its money is enough evidence.
  const isNamed = payment.providerReference !== null && (before?.providerReference ?? null) === null;
  if (isNamed && before?.failureCode !== 'handoff_refused' && before?.status !== 'paid') {
    add({ stage: 'handoff', result: 'accepted', failures: reversedWeight });
  }
  if (payment.status === from) return outcomes;
  if (payment.status === 'failed') addFailure(payment, reversedWeight, add);
  if (payment.status === 'paid') {
    if (from === 'failed') {
      add({ stage: 'late', result: 'paid', successes: 1, failure: failureOf(before!), ...reversalOf(before!) });
    } else {
      // If this service learned of the attempt from the provider's report, the start of the attempt is unknown.
      const paidAfterMs = before ? Math.max(1, now - payment.created) : null;
      add({ stage: 'result', result: 'paid', successes: 1, failures: reversedWeight, paidAfterMs });
    }
  }
  return outcomes;
}

function addFailure(payment: Payment, reversedWeight: number, add: (fields: OutcomeFields) => void): void {
  const { failureCode, failureSource, handoffUncertain: handoffUnclear } = payment;
  const failure = failureOf(payment);
  if (failureSource === 'gateway') {
    // No request was sent, so the outcome is no evidence about the route or the buyer.
    add({ stage: 'handoff', result: 'neutral', failure });
  } else if (failureCode === 'handoff_refused') {
    add({ stage: 'handoff', result: 'refused', failure, failures: handoffUnclear ? 0 : REFUSAL_WEIGHT });
  } else if (handoffUnclear) {
    // The provider never reported, and the uncertain handoff still counts against the route.
    add({ stage: 'end', result: 'neutral', failure });
  } else if (countsAgainstRoute(failureSource)) {
    add({ stage: 'result', result: 'failed', failure, failures: reversedWeight + 1 });
  } else {
    add({ stage: 'result', result: 'neutral', failure, failures: reversedWeight, neutrals: 1 });
  }
}

const failureOf = ({ failureSource, failureCode }: Payment) => `${failureSource}/${failureCode}`;

/** Counts that cancel the recorded failure of a payment whose money arrived later. */
function reversalOf(failed: Payment): Pick<RouteOutcome, 'failures' | 'neutrals'> {
  const { failureCode, failureSource, handoffUncertain: handoffUnclear } = failed;
  if (failureSource === 'gateway') return { failures: 0, neutrals: 0 };
  if (handoffUnclear || failureCode === 'handoff_refused') return { failures: -REFUSAL_WEIGHT, neutrals: 0 };
  return countsAgainstRoute(failureSource) ? { failures: -1, neutrals: 0 } : { failures: 0, neutrals: -1 };
}

/** True for failures of the route and its issuers. Buyers behave alike on all routes; issuers approve more payments of some routes. */
export function countsAgainstRoute(source: Payment['failureSource']): boolean {
  return source === 'route' || source === 'issuer';
}
