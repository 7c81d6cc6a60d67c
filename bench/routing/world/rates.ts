import type { BenchPayment } from '../contender.ts';
import { uniformBetween, logNormal, randomStream, streamSeed, type RandomStream } from './random.ts';

/** Outage of an arm: none, hard (the route refuses payments at the handoff) or soft (it accepts payments that time out). */
export const OUTAGE_KIND = { none: 0, hard: 1, soft: 2 };

/** The true state of every arm at every payment; index `payment * arms + arm`. */
export interface TrueRates {
  /** Probability that a payment on the route succeeds and its money stays. */
  probability: Float64Array;
  /** Probability that the issuer declines the payment. */
  declined: Float64Array;
  /** Probability that the payment is reported as paid, but its money never arrives. */
  unsettled: Float64Array;
  /** Outage, one of `OUTAGE_KIND`. */
  outage: Uint8Array;
}

/** Input of the functions that compute rates. */
export interface TrueRatesInput {
  arms: number;
  requests: readonly BenchPayment[];
  random: RandomStream;
  seed: number;
}

const CELL_SECONDS = 30;
const HOUR_SECONDS = 3600;
const DRIFT_DEVIATION = 0.25;
const DRIFT_SECONDS = 6 * HOUR_SECONDS;

/** Bounds of the base success rate of an arm, at the start and after a shift. */
export interface BaseRateBounds {
  start: readonly [low: number, high: number];
  shifted: readonly [low: number, high: number];
}

/** A disturbance: its frequency, its log-normal duration and the factor by which it multiplies the success rate. */
interface Disturbance {
  everySeconds: number;
  medianSeconds: number;
  sigma: number;
  factor: readonly [low: number, high: number];
}

const DEGRADATION: Disturbance = {
  everySeconds: 8 * HOUR_SECONDS,
  medianSeconds: 20 * 60,
  sigma: 0.7,
  factor: [0.5, 0.85],
};
const BREAKDOWN: Disturbance = {
  everySeconds: 16 * HOUR_SECONDS,
  medianSeconds: 10 * 60,
  sigma: 0.8,
  factor: [0, 0.2],
};

/** True if an event that occurs on average once in `everySeconds` occurs in this cell of time. */
function occurs(random: RandomStream, everySeconds: number): boolean {
  return random.uniform() < -Math.expm1(-CELL_SECONDS / everySeconds);
}

/** A sequence of disturbances of one kind, which do not overlap; each call returns the state in the next cell of time. */
function disturbances(random: RandomStream, kind: Disturbance, onset: () => void): () => number {
  let remainingSeconds = 0;
  let factor = 1;
  return () => {
    remainingSeconds -= CELL_SECONDS;
    if (remainingSeconds > 0) return factor;
    factor = 1;
    if (occurs(random, kind.everySeconds)) {
      remainingSeconds = logNormal(random, kind.medianSeconds, kind.sigma);
      factor = uniformBetween(random, ...kind.factor);
      onset();
    }
    return factor;
  };
}

/** The success rates of one arm, cell by cell: a base rate with shifts, an Ornstein-Uhlenbeck drift of its logit, and disturbances. */
function ratesOfArm(
  random: RandomStream,
  cells: number,
  bases: BaseRateBounds,
): Pick<TrueRates, 'probability' | 'outage'> {
  const life = { probability: new Float64Array(cells), outage: new Uint8Array(cells) };
  const kept = Math.exp(-CELL_SECONDS / DRIFT_SECONDS);
  const fresh = DRIFT_DEVIATION * Math.sqrt(1 - kept * kept);
  let base = uniformBetween(random, ...bases.start);
  let drift = DRIFT_DEVIATION * random.normal();
  let outageKind = OUTAGE_KIND.none;
  const degradation = disturbances(random, DEGRADATION, () => {});
  const breakdown = disturbances(random, BREAKDOWN, () => {
    outageKind = random.uniform() < 0.5 ? OUTAGE_KIND.hard : OUTAGE_KIND.soft;
  });
  for (let cell = 0; cell < cells; cell += 1) {
    if (occurs(random, 12 * HOUR_SECONDS)) base = uniformBetween(random, ...bases.shifted);
    drift = drift * kept + fresh * random.normal();
    const healthy = 1 / (1 + ((1 - base) / base) * Math.exp(-drift));
    const broken = breakdown();
    life.probability[cell] = healthy * degradation() * broken;
    life.outage[cell] = broken === 1 ? OUTAGE_KIND.none : outageKind;
  }
  return life;
}

export type RatesOf = (input: TrueRatesInput) => TrueRates;

/** Rates of arms that change independently of each other over time. */
export function paymentRates(bases: BaseRateBounds): RatesOf {
  return ({ arms, requests, random }) => {
    const cells = cellsOf(requests);
    const rates = emptyRates(requests.length, arms);
    for (let arm = 0; arm < arms; arm += 1) {
      const life = ratesOfArm(random, cells, bases);
      for (const { number, at } of requests) {
        const cell = Math.floor(at / CELL_SECONDS);
        rates.probability[number * arms + arm] = life.probability[cell]!;
        rates.outage[number * arms + arm] = life.outage[cell]!;
      }
    }
    return rates;
  };
}

/** Rates of arms that all change together, on average once in `everyPayments`. */
export function switchingRates(everyPayments: number): RatesOf {
  return ({ arms, requests, random }) => {
    let current: number[] = [];
    return countedRates(requests.length, arms, (payment) => {
      if (payment === 0 || random.uniform() < 1 / everyPayments) {
        current = Array.from({ length: arms }, () => uniformBetween(random, 0.6, 0.95));
      }
      return current;
    });
  };
}

/** Three arms, of which the third is the best for a period: the example of Garivier and Moulines, arXiv 0805.3415. */
export function abruptRates({ arms, requests }: TrueRatesInput): TrueRates {
  return countedRates(requests.length, arms, (payment) => [0.5, 0.3, payment >= 3000 && payment < 5000 ? 0.9 : 0.4]);
}

/** Constant rates; the seed determines which arm has which rate. */
export function constantRates(values: readonly number[]): RatesOf {
  return ({ arms, requests, seed }) => {
    const rotated = values.map((_, arm) => values[(arm + seed) % values.length]!);
    return countedRates(requests.length, arms, () => rotated);
  };
}

/** Rates that are constant until they are drawn again, for each arm on average once in `everySeconds`. */
export function redrawnRates(low: number, high: number, everySeconds: number): RatesOf {
  return ({ arms, requests, random }) => {
    const draw = () => ({ rate: uniformBetween(random, low, high), lastsSeconds: everySeconds * random.exponential() });
    const routes = Array.from({ length: arms }, draw).map((first) => ({ ...first, endsAt: first.lastsSeconds }));
    return countedRates(requests.length, arms, (payment) =>
      routes.map((route) => {
        while (route.endsAt <= requests[payment]!.at) {
          const { rate, lastsSeconds } = draw();
          Object.assign(route, { rate, endsAt: route.endsAt + lastsSeconds });
        }
        return route.rate;
      }),
    );
  };
}

/** The rates of `base` with issuers that decline a share of the accepted payments. If `burst` is given, the share of an arm triples at times. */
export function withIssuerDeclines(
  base: RatesOf,
  { low, high, burst }: { low: number; high: number; burst?: { everySeconds: number; medianSeconds: number } },
): RatesOf {
  return (input) => {
    const rates = base(input);
    const accepted = rates.probability.slice();
    const { arms, requests, seed } = input;
    const random = randomStream(streamSeed(seed, 'offsets'));
    const cells = cellsOf(requests);
    for (let arm = 0; arm < arms; arm += 1) {
      const usual = uniformBetween(random, low, high);
      const state = burst && disturbances(random, { ...burst, sigma: 0.7, factor: [3, 3] }, () => {});
      const shares = Float64Array.from({ length: cells }, () => usual * (state?.() ?? 1));
      changeArm(rates, input, arm, (rate, { at }) => rate * (1 - shares[Math.floor(at / CELL_SECONDS)]!));
    }
    for (let index = 0; index < rates.declined.length; index += 1) {
      rates.declined[index] = accepted[index]! - rates.probability[index]!;
    }
    return rates;
  };
}

/** The rates of `base`, of which the best arm at the start refuses some payments. */
export function withRefusal(base: RatesOf, isRefused: (payment: BenchPayment) => boolean): RatesOf {
  return (input) => {
    const rates = base(input);
    const first = [...rates.probability.subarray(0, input.arms)];
    const best = first.indexOf(Math.max(...first));
    changeArm(rates, input, best, (rate, payment) => (isRefused(payment) ? 0 : rate));
    return rates;
  };
}

/** The rates of `base` with an offset of the logit for each arm and each value of a context, drawn from a normal distribution. */
export function withOffsets(base: RatesOf, context: string, deviation: number): RatesOf {
  return (input) => {
    const rates = base(input);
    const random = randomStream(streamSeed(input.seed, 'offsets'));
    for (let arm = 0; arm < input.arms; arm += 1) {
      const offsets = new Map<string, number>();
      changeArm(rates, input, arm, (rate, { contexts }) => {
        const value = contexts[context]!;
        if (!offsets.has(value)) offsets.set(value, deviation * random.normal());
        return 1 / (1 + ((1 - rate) / rate) * Math.exp(-offsets.get(value)!));
      });
    }
    return rates;
  };
}

/** The rates of `base`, of which the best arm at the start reports `share` of its payments as paid although their money never arrives. */
export function withUnsettled(base: RatesOf, share: number): RatesOf {
  return (input) => {
    const rates = base(input);
    const first = [...rates.probability.subarray(0, input.arms)];
    const best = first.indexOf(Math.max(...first));
    changeArm(rates, input, best, (rate, { number }) => {
      rates.unsettled[number * input.arms + best] = rate * share;
      return rate * (1 - share);
    });
    return rates;
  };
}

function changeArm(
  { probability }: TrueRates,
  { arms, requests }: TrueRatesInput,
  arm: number,
  change: (rate: number, payment: BenchPayment) => number,
): void {
  for (const payment of requests) {
    const index = payment.number * arms + arm;
    probability[index] = change(probability[index]!, payment);
  }
}

function countedRates(payments: number, arms: number, ratesAt: (payment: number) => readonly number[]): TrueRates {
  const rates = emptyRates(payments, arms);
  for (let payment = 0; payment < payments; payment += 1) rates.probability.set(ratesAt(payment), payment * arms);
  return rates;
}

function emptyRates(payments: number, arms: number): TrueRates {
  const zeros = () => new Float64Array(payments * arms);
  return { probability: zeros(), declined: zeros(), unsettled: zeros(), outage: new Uint8Array(payments * arms) };
}

function cellsOf(requests: readonly BenchPayment[]): number {
  return Math.floor((requests.at(-1)?.at ?? 0) / CELL_SECONDS) + 1;
}
