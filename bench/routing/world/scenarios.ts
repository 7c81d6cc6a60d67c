import {
  abruptRates,
  type BaseRateBounds,
  constantRates,
  redrawnRates,
  paymentRates,
  type RatesOf,
  switchingRates,
  withIssuerDeclines,
  withOffsets,
  withRefusal,
  withUnsettled,
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
  /** Time until an outcome is known: `none`, a few seconds to minutes (`payment`), or 1 to 24 hours (`transfer`). */
  delays: 'none' | 'payment' | 'transfer';
  /**
   * Seconds until the failures of every outage are known. If undefined, half of the outages refuse handoffs, and the failures of the
   * others are known after at least 60 seconds.
   */
  outageTimeoutSeconds?: number;
  /** Share of the successful payments that fail by a fault of the buyer, with a code that names the fault. */
  buyerFailureShare: number;
  /** Number of equally frequent values of each context, a property that is known before the choice, by the name of the context. */
  contexts: Readonly<Record<string, number>>;
  /** Seconds from the report of a payment until its money is paid out; undefined if no payment has a payout. */
  paidOutAfterSeconds?: number;
  /** Payments before this time, in seconds since the start, do not count in the regret. */
  measuredFrom?: number;
  rates: RatesOf;
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
  delays: 'payment',
  buyerFailureShare: 0,
  contexts: {},
  rates: paymentRates(ORDINARY),
};

const DAY_SECONDS = 86_400;
/** The best route leads clearly, so that a route that fails for some payments is still the best on average. */
const CLEAR_LEAD = constantRates([0.93, 0.88, 0.87, 0.86, 0.82]);
const COUNTRIES = 20;
/** Cards of different issuers and kinds, such as debit cards of one bank. */
const CARD_GROUPS = 12;

const STATIC: Scenario = {
  ...PAY,
  name: 'STATIC',
  about: 'five routes that never change, delayed outcomes',
  payments: 50_000,
  rates: constantRates([0.9, 0.885, 0.87, 0.85, 0.8]),
};

const SWITCH: Scenario = {
  ...PAY,
  name: 'SWITCH',
  about: 'four routes whose rates are all drawn again about every 2,000 payments; outcomes are known at once',
  arms: 4,
  payments: 50_000,
  arrivals: 'count',
  delays: 'none',
  rates: switchingRates(2000),
};

const TRANSFERS: Scenario = {
  ...PAY,
  name: 'TRANSFERS',
  about:
    'five routes whose rates (60 to 95 %) are drawn again about every 5 days, under one payment in two minutes for two weeks; outcomes are known after 1 to 24 hours',
  payments: 10_000,
  secondsBetween: 120,
  delays: 'transfer',
  rates: redrawnRates(0.6, 0.95, 5 * DAY_SECONDS),
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
  LATEOUTAGE: {
    ...PAY,
    name: 'LATEOUTAGE',
    about:
      'PAY with outages in which a route accepts payments and never reports them, so that failures are known at the time-out of 30 minutes',
    outageTimeoutSeconds: 1800,
  },
  PAYATTR: {
    ...PAY,
    name: 'PAYATTR',
    about:
      'better routes, but buyers and issuers each cause 6 % of the accepted payments to fail, with a code that names them',
    buyerFailureShare: 0.06,
    rates: withIssuerDeclines(paymentRates(HIGH), { low: 0.06, high: 0.06 }),
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
  STATIC,
  MEANINGLESS: {
    ...PAY,
    name: 'MEANINGLESS',
    about: 'PAY with a country, a card group and an email domain for each payment, which mean nothing',
    contexts: { country: COUNTRIES, group: CARD_GROUPS, mail: 30 },
  },
  ISSUERS: {
    ...STATIC,
    name: 'ISSUERS',
    about: 'five routes that differ only in the payments that issuers decline: 6 to 14 %',
    rates: withIssuerDeclines(constantRates([0.96, 0.96, 0.96, 0.96, 0.96]), { low: 0.06, high: 0.14 }),
  },
  ISSUERBURSTS: {
    ...PAY,
    name: 'ISSUERBURSTS',
    about: 'the same routes, on which declines triple about every 8 hours for a median of an hour',
    rates: withIssuerDeclines(constantRates([0.96, 0.96, 0.96, 0.96, 0.96]), {
      low: 0.06,
      high: 0.14,
      burst: { everySeconds: 8 * 3600, medianSeconds: 3600 },
    }),
  },
  SMALL: {
    ...PAY,
    name: 'SMALL',
    about:
      'five routes whose rates (70 to 95 %) are drawn again about every 60 days, under five payments a day for 200 days',
    payments: 1000,
    secondsBetween: DAY_SECONDS / 5,
    rates: redrawnRates(0.7, 0.95, 60 * DAY_SECONDS),
  },
  BAND: {
    ...STATIC,
    name: 'BAND',
    about: 'five routes that never change, of which the best one fails for amounts of 200 to 500 dollars',
    rates: withRefusal(CLEAR_LEAD, ({ amount }) => amount >= 200 && amount < 500),
  },
  COUNTRY: {
    ...STATIC,
    name: 'COUNTRY',
    about: 'five routes that never change, of which the best one refuses one of 20 countries',
    contexts: { country: COUNTRIES },
    rates: withRefusal(CLEAR_LEAD, ({ contexts }) => contexts['country'] === '0'),
  },
  GROUPS: {
    ...STATIC,
    name: 'GROUPS',
    about: 'the routes of STATIC with 12 groups of cards that each route accepts differently (logit, deviation 0.6)',
    contexts: { group: CARD_GROUPS },
    rates: withOffsets(STATIC.rates, 'group', 0.6),
  },
  TRANSFERS,
  RESTLESS: {
    ...TRANSFERS,
    name: 'RESTLESS',
    about: 'TRANSFERS with rates of 30 to 95 % that are drawn again about every 2 days',
    rates: redrawnRates(0.3, 0.95, 2 * DAY_SECONDS),
  },
  UNSETTLED: {
    ...STATIC,
    name: 'UNSETTLED',
    about:
      'five routes that never change; 30 % of the money of the best one is reported, but never arrives; all other money is paid out after two days, and the regret is measured from the fifth day on',
    secondsBetween: 30,
    paidOutAfterSeconds: 2 * DAY_SECONDS,
    measuredFrom: 5 * DAY_SECONDS,
    rates: withUnsettled(CLEAR_LEAD, 0.3),
  },
} satisfies Record<string, Scenario>;

export type ScenarioName = keyof typeof SCENARIOS;
