import type { BenchPayment } from '../contender.ts';
import { logNormal, randomStream, shuffled, streamSeed, uniformBetween } from './random.ts';
import { OUTAGE_KIND, type TrueRates } from './rates.ts';
import type { Scenario } from './scenarios.ts';

/** The possible outcomes of a payment on a route. */
export const POTENTIAL_RESULT = {
  routeFailure: 0,
  paid: 1,
  buyerFailure: 2,
  handoffError: 3,
  issuerDecline: 4,
  unsettled: 5,
};

/**
 * One world, drawn before any contender runs in it. Every contender gets the same payments and, on the same route, the same
 * outcome after the same delay. Values of a payment and an arm have the index `payment * arms + arm`.
 */
export interface BenchWorld {
  scenario: Scenario;
  seed: number;
  arms: number;
  payments: number;
  /** The payments, in the order of their time. */
  requests: readonly BenchPayment[];
  /** Cost of each arm, a fraction of the amount. */
  costs: readonly number[];
  /** Probability that a payment on the route succeeds and its money stays, before failures of buyers. */
  probability: Float64Array;
  /** Outcome, one of `POTENTIAL_RESULT`. */
  potential: Uint8Array;
  /** Seconds from the attempt until its outcome is known. */
  delaySeconds: Float64Array;
}

const COSTS = [0.034, 0.029, 0.024, 0.018, 0.012];
export const HANDOFF_SECONDS = 0.5;
const TRANSFER_HOURS = [1, 24] as const;

function arrivalTimes(scenario: Scenario, seed: number, payments: number): Float64Array {
  const random = randomStream(streamSeed(seed, 'arrivals'));
  let now = 0;
  return Float64Array.from({ length: payments }, (_, payment) => {
    if (scenario.arrivals === 'count') return payment * scenario.secondsBetween;
    now += random.exponential() * scenario.secondsBetween;
    return now;
  });
}

/** Draws the world of a scenario and a seed. Fewer `payments` give another world, not the start of the longer one. */
export function drawWorld(scenario: Scenario, seed: number, payments = scenario.payments): BenchWorld {
  const { arms } = scenario;
  const requests = drawPayments(scenario, seed, payments);
  const random = randomStream(streamSeed(seed, 'rates'));
  return {
    scenario,
    seed,
    arms,
    payments,
    requests,
    costs: shuffled(randomStream(streamSeed(seed, 'costs')), COSTS).slice(0, arms),
    ...potentials(scenario, seed, scenario.rates({ arms, requests, seed, random })),
  };
}

function drawPayments(scenario: Scenario, seed: number, payments: number): BenchPayment[] {
  const amounts = randomStream(streamSeed(seed, 'amounts'));
  const contexts = randomStream(streamSeed(seed, 'contexts'));
  return Array.from(arrivalTimes(scenario, seed, payments), (at, number) => ({
    number,
    at,
    amount: Math.min(10_000, logNormal(amounts, 60, 1)),
    contexts: Object.fromEntries(
      Object.entries(scenario.contexts).map(([name, values]) => [
        name,
        String(Math.floor(contexts.uniform() * values)),
      ]),
    ),
  }));
}

/** Draws the outcome and the delay of every payment on every arm. */
function potentials(
  scenario: Scenario,
  seed: number,
  { probability, declined, unsettled, outage }: TrueRates,
): Pick<BenchWorld, 'probability' | 'potential' | 'delaySeconds'> {
  const uniforms = randomStream(streamSeed(seed, 'uniforms'));
  const delays = randomStream(streamSeed(seed, 'delays'));
  const potential = new Uint8Array(probability.length);
  const delaySeconds = new Float64Array(probability.length);
  for (let index = 0; index < probability.length; index += 1) {
    const uniform = uniforms.uniform();
    const isHard = outage[index] === OUTAGE_KIND.hard && scenario.outageTimeoutSeconds === undefined;
    const success = probability[index]!;
    const reported = success + unsettled[index]!;
    if (uniform < success * (1 - scenario.buyerFailureShare)) potential[index] = POTENTIAL_RESULT.paid;
    else if (uniform < success) potential[index] = POTENTIAL_RESULT.buyerFailure;
    else if (uniform < reported) potential[index] = POTENTIAL_RESULT.unsettled;
    else if (uniform < reported + declined[index]!) potential[index] = POTENTIAL_RESULT.issuerDecline;
    else potential[index] = isHard ? POTENTIAL_RESULT.handoffError : POTENTIAL_RESULT.routeFailure;
    if (scenario.delays === 'none') continue;
    if (scenario.delays === 'transfer') {
      delaySeconds[index] = 3600 * uniformBetween(delays, ...TRANSFER_HOURS);
      continue;
    }
    // Both delays are drawn for every attempt, so that later delays do not depend on earlier outcomes.
    const ordinarySeconds = logNormal(delays, 20, 0.8);
    const softSeconds = 60 + 60 * delays.exponential();
    delaySeconds[index] = ordinarySeconds;
    if (potential[index] === POTENTIAL_RESULT.handoffError) delaySeconds[index] = HANDOFF_SECONDS;
    if (potential[index] === POTENTIAL_RESULT.routeFailure && outage[index] !== OUTAGE_KIND.none) {
      delaySeconds[index] = scenario.outageTimeoutSeconds ?? softSeconds;
    }
  }
  return { probability, potential, delaySeconds };
}
