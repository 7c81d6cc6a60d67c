import { logNormal, randomStream, shuffled, streamSeed } from './random.ts';
import { OUTAGE_KIND, type TrueRates } from './rates.ts';
import type { Scenario } from './scenarios.ts';

/** The possible outcomes of a payment on a route. */
export const POTENTIAL_RESULT = { routeFailure: 0, paid: 1, buyerFailure: 2, handoffError: 3 };

/**
 * One world, drawn before any contender runs in it. Every contender gets the same payments and, on the same route, the same
 * outcome after the same delay. Values of a payment and an arm have the index `payment * arms + arm`.
 */
export interface BenchWorld {
  scenario: Scenario;
  seed: number;
  arms: number;
  payments: number;
  /** Seconds since the start, ascending. */
  at: Float64Array;
  /** Amounts in dollars. */
  amounts: Float64Array;
  /** Cost of each arm, a fraction of the amount. */
  costs: readonly number[];
  /** Probability that the route accepts a payment, before failures of buyers. */
  probability: Float64Array;
  /** Outcome, one of `POTENTIAL_RESULT`. */
  potential: Uint8Array;
  /** Seconds from the attempt until its outcome is known. */
  delaySeconds: Float64Array;
}

const COSTS = [0.034, 0.029, 0.024, 0.018, 0.012];
const HANDOFF_SECONDS = 0.5;

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
  const at = arrivalTimes(scenario, seed, payments);
  const amounts = randomStream(streamSeed(seed, 'amounts'));
  const rates = scenario.rates({ arms, at, seed, random: randomStream(streamSeed(seed, 'rates')) });
  return {
    scenario,
    seed,
    arms,
    payments,
    at,
    amounts: at.map(() => Math.min(10_000, logNormal(amounts, 60, 1))),
    costs: shuffled(randomStream(streamSeed(seed, 'costs')), COSTS).slice(0, arms),
    ...potentials(scenario, seed, rates),
  };
}

/** Draws the outcome and the delay of every payment on every arm. */
function potentials(
  scenario: Scenario,
  seed: number,
  { probability, outage }: TrueRates,
): Pick<BenchWorld, 'probability' | 'potential' | 'delaySeconds'> {
  const uniforms = randomStream(streamSeed(seed, 'uniforms'));
  const delays = randomStream(streamSeed(seed, 'delays'));
  const potential = new Uint8Array(probability.length);
  const delaySeconds = new Float64Array(probability.length);
  for (let index = 0; index < probability.length; index += 1) {
    const uniform = uniforms.uniform();
    const isHard = outage[index] === OUTAGE_KIND.hard;
    if (uniform < probability[index]! * (1 - scenario.buyerFailureShare)) potential[index] = POTENTIAL_RESULT.paid;
    else if (uniform < probability[index]!) potential[index] = POTENTIAL_RESULT.buyerFailure;
    else potential[index] = isHard ? POTENTIAL_RESULT.handoffError : POTENTIAL_RESULT.routeFailure;
    if (!scenario.delayed) continue;
    // Both delays are drawn for every attempt, so that later delays do not depend on earlier outcomes.
    const ordinarySeconds = logNormal(delays, 20, 0.8);
    const timeoutSeconds = 60 + 60 * delays.exponential();
    delaySeconds[index] = ordinarySeconds;
    if (potential[index] === POTENTIAL_RESULT.handoffError) delaySeconds[index] = HANDOFF_SECONDS;
    if (potential[index] === POTENTIAL_RESULT.routeFailure && outage[index] === OUTAGE_KIND.soft) {
      delaySeconds[index] = timeoutSeconds;
    }
  }
  return { probability, potential, delaySeconds };
}
