import { uniformBetween, logNormal, type RandomStream } from './random.ts';

/** Outage of an arm: none, hard (the route refuses payments at the handoff) or soft (it accepts payments that time out). */
export const OUTAGE_KIND = { none: 0, hard: 1, soft: 2 };

/** The true state of every arm at every payment; index `payment * arms + arm`. */
export interface TrueRates {
  /** Probability that a payment on the route succeeds. */
  probability: Float64Array;
  /** Outage, one of `OUTAGE_KIND`. */
  outage: Uint8Array;
}

/** Input of the functions that compute rates. */
export interface TrueRatesInput {
  arms: number;
  /** Seconds since the start, one for each payment, ascending. */
  at: Float64Array;
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
function ratesOfArm(random: RandomStream, cells: number, bases: BaseRateBounds): TrueRates {
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

/** Rates of arms that change independently of each other over time. */
export function paymentRates(bases: BaseRateBounds): (input: TrueRatesInput) => TrueRates {
  return ({ arms, at, random }) => {
    const cells = Math.floor((at.at(-1) ?? 0) / CELL_SECONDS) + 1;
    const rates = emptyRates(at.length, arms);
    for (let arm = 0; arm < arms; arm += 1) {
      const life = ratesOfArm(random, cells, bases);
      for (let payment = 0; payment < at.length; payment += 1) {
        const cell = Math.floor(at[payment]! / CELL_SECONDS);
        rates.probability[payment * arms + arm] = life.probability[cell]!;
        rates.outage[payment * arms + arm] = life.outage[cell]!;
      }
    }
    return rates;
  };
}

/** Rates of arms that all change together, on average once in `everyPayments`. */
export function switchingRates(everyPayments: number): (input: TrueRatesInput) => TrueRates {
  return ({ arms, at, random }) => {
    let current: number[] = [];
    return countedRates(at.length, arms, (payment) => {
      if (payment === 0 || random.uniform() < 1 / everyPayments) {
        current = Array.from({ length: arms }, () => uniformBetween(random, 0.6, 0.95));
      }
      return current;
    });
  };
}

/** Three arms, of which the third is the best for a period: the example of Garivier and Moulines, arXiv 0805.3415. */
export function abruptRates({ arms, at }: TrueRatesInput): TrueRates {
  return countedRates(at.length, arms, (payment) => [0.5, 0.3, payment >= 3000 && payment < 5000 ? 0.9 : 0.4]);
}

/** Constant rates; the seed determines which arm has which rate. */
export function constantRates(values: readonly number[]): (input: TrueRatesInput) => TrueRates {
  return ({ arms, at, seed }) => {
    const rotated = values.map((_, arm) => values[(arm + seed) % values.length]!);
    return countedRates(at.length, arms, () => rotated);
  };
}

function countedRates(payments: number, arms: number, ratesAt: (payment: number) => readonly number[]): TrueRates {
  const rates = emptyRates(payments, arms);
  for (let payment = 0; payment < payments; payment += 1) rates.probability.set(ratesAt(payment), payment * arms);
  return rates;
}

function emptyRates(payments: number, arms: number): TrueRates {
  return { probability: new Float64Array(payments * arms), outage: new Uint8Array(payments * arms) };
}
