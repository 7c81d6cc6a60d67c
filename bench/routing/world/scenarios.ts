import {
  abruptRates,
  type BaseRateBounds,
  constantRates,
  paymentRates,
  type TrueRates,
  type TrueRatesInput,
  switchingRates,
} from './rates.ts';

export interface Scenario {
  name: string;
  /** Description of the scenario in one line. */
  about: string;
  arms: number;
  payments: number;
  /** Mean time between two payments in seconds. */
  secondsBetween: number;
  /** Payments arrive at random times (`poisson`), or one payment in each step (`count`). */
  arrivals: 'poisson' | 'count';
  /** True if outcomes are delayed; otherwise they are known before the next payment. */
  delayed: boolean;
  /** Share of the accepted payments that fail by a fault of the buyer or issuer, with a code that names the fault. */
  buyerFailureShare: number;
  rates: (input: TrueRatesInput) => TrueRates;
}

const ORDINARY: BaseRateBounds = { start: [0.82, 0.92], shifted: [0.78, 0.93] };
const HIGH: BaseRateBounds = { start: [0.93, 0.99], shifted: [0.9, 0.99] };

const PAY: Scenario = {
  name: 'PAY',
  about: 'five routes that drift, shift, degrade and fail; one payment a second for 28 hours',
  arms: 5,
  payments: 100_000,
  secondsBetween: 1,
  arrivals: 'poisson',
  delayed: true,
  buyerFailureShare: 0,
  rates: paymentRates(ORDINARY),
};

const SWITCH: Scenario = {
  ...PAY,
  name: 'SWITCH',
  about: 'four routes whose rates are all drawn again about every 2,000 payments; outcomes are known at once',
  arms: 4,
  payments: 50_000,
  arrivals: 'count',
  delayed: false,
  rates: switchingRates(2000),
};

/** The scenarios of the routing benchmark, by name. */
export const SCENARIOS = {
  PAY,
  PAYHIGH: {
    ...PAY,
    name: 'PAYHIGH',
    about: 'the same routes under twenty payments a second for 2.8 hours',
    payments: 200_000,
    secondsBetween: 1 / 20,
  },
  PAYLOW: {
    ...PAY,
    name: 'PAYLOW',
    about: 'the same routes under one payment in two minutes for a week',
    payments: 5000,
    secondsBetween: 120,
  },
  PAYATTR: {
    ...PAY,
    name: 'PAYATTR',
    about:
      'better routes, but buyers and issuers cause 12 % of the accepted payments to fail, with a code that names them',
    buyerFailureShare: 0.12,
    rates: paymentRates(HIGH),
  },
  SWITCH,
  GM11: {
    ...SWITCH,
    name: 'GM11',
    about:
      'the textbook example of Garivier and Moulines: three routes, of which the last becomes the best for a period',
    arms: 3,
    payments: 10_000,
    rates: abruptRates,
  },
  STATIC: {
    ...PAY,
    name: 'STATIC',
    about: 'five routes that never change, delayed outcomes',
    payments: 50_000,
    rates: constantRates([0.9, 0.885, 0.87, 0.85, 0.8]),
  },
} satisfies Record<string, Scenario>;

export type ScenarioName = keyof typeof SCENARIOS;
