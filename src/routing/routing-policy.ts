/** Weights from the point of view of the merchant, of all parties together, and of the gateway's operator. */
export const OBJECTIVES = deepFrozen({
  merchant: { buyerFee: 1, gatewayFee: 1, providerCost: 0 },
  total: { buyerFee: 0, gatewayFee: 0, providerCost: 1 },
  operator: { buyerFee: -1, gatewayFee: -1, providerCost: 1 },
});

export type ObjectiveName = keyof typeof OBJECTIVES;
/** Weights of fees and costs in the cost of a route. */
export type ObjectiveWeights = (typeof OBJECTIVES)[ObjectiveName];

/**
 * Parameters of the choice of a route, deeply frozen. The algorithm is Thompson sampling with five additions: two memories of outcomes
 * decay towards a long-term rate, the weight of the slow memory follows the steadiness of the routes, a filter separates disturbances
 * from the usual level of a route, a route is compared with itself in the contexts of payments, and a budget limits the cost of
 * exploring. The values were chosen in `bench/routing`, where the optimum is flat; `docs/decisions/routing.md` gives the seeds, and the
 * regret without each part.
 */
export const DEFAULT_POLICY = deepFrozen({
  /** Version, stored with each decision; it changes whenever the same outcomes or numbers would give another choice. */
  algorithm: 'sdts/8',
  /** Version of the stored memory of outcomes; it changes, with `algorithm`, whenever the same outcomes would give another memory. */
  memoryVersion: 'sdts/7',
  /** Length of the buckets in which outcomes are summed, so that all instances compute with the same sums. */
  bucketSeconds: 10,
  estimate: {
    fastHalfLifeSeconds: 900,
    slowHalfLifeSeconds: 4 * 3600,
    /** Mean intervals between changes of the long-term success rate of a route, each with its prior probability. */
    intervals: [
      { seconds: 3 * 86_400, share: 0.02 },
      { seconds: 30 * 86_400, share: 0.98 },
    ],
    /** Mean time until the interval of a route changes. */
    intervalLastsSeconds: 300 * 86_400,
    /** An hour counts as at most this number of outcomes in the long-term rate. */
    mostInAnHour: 120,
    /** An hour becomes evidence for the long-term rate after this multiple of the median time to paid, but at the latest after `mostOpenHours`. */
    openMedians: 3,
    mostOpenHours: 72,
    /** Each outcome decays the memory by 1 divided by this number, which limits the memory of busy routes. */
    fastMemoryOutcomes: 1000,
    slowMemoryOutcomes: 20_000,
    /** Weight, in outcomes, of the configured success rates against the outcomes of all routes of the environment. */
    pooledPriorWeight: 20,
    /** Prior weight, in outcomes, of the average of all routes in the long-term rate of one route. */
    longTermPriorWeight: 18,
    /** Prior weight, in outcomes, of the long-term rate of a route in its slow estimate. */
    slowPriorWeight: 12,
    /** Prior weight, in outcomes, of the slow estimate of a route in its fast estimate; `most` if the rates of the routes rarely change. */
    fastPriorWeight: { least: 30, most: 200 },
    /**
     * The weight rises with the steadiness of all routes together, from `above` to `most`. That of one route is between -`most` and `most`,
     * and fades in about `lastsSeconds`.
     */
    steadiness: { above: 2, most: 6, lastsSeconds: 30 * 86_400 },
  },
  /** Estimates of lost money and of the providers' charges, from payments of the last `memoryDays`. */
  money: {
    memoryDays: 45,
    halfLifeDays: 14,
    /** Largest difference of the payout delays of a route. */
    payoutSpreadDays: 3,
    /** Age after which an outstanding payment counts as lost, even without newer payouts. */
    overdueDays: 30,
    /** Weight, in payments, of the assumption that no money is lost, and of the configured charge. */
    priorWeight: 20,
  },
  /** Prior of temporary disturbances of routes: how often they begin, how long they last and how far rates fall. */
  disturbance: {
    everySeconds: 8 * 3600,
    lastsSeconds: 1800,
    /** Expected success rate of a disturbed route, as a share of its usual rate. `levelWeight` is its prior weight in outcomes. */
    levelShare: 0.65,
    levelWeight: 4,
    /** Share of the outcomes of a disturbed route that also count for its usual rate, so that the rate follows lasting changes. */
    lastingShare: 0.1,
    /** Probability above which a disturbance counts as detected, and below which it counts as over. */
    detectedAbove: 0.9,
    overBelow: 0.5,
  },
  /** Differences of routes between contexts of payments, such as amounts and countries; see `contextRatios`. */
  context: {
    halfLifeSeconds: 7 * 86_400,
    /** Values of one context that are remembered for a route; the rarest one is dropped. */
    mostValues: 50,
    /**
     * Prior of the variance of the ratios: its weight, and the shrinkage that it gives. `common` is for the contexts of every payment; its
     * weight is a number of failures. `named` is for the metadata that the operator names and for the card, which probably matter; its weight is a
     * number of values, counted for each route.
     */
    common: { priorWeight: 100, priorShrinkage: 10 },
    named: { priorWeight: 4, priorShrinkage: 5 },
    leastShrinkage: 5,
    /** Log-likelihood ratio at which a value is as likely as not an exception. */
    evidence: 7,
    /** Prior weight, in failures, of the usual level for all values but the exceptions. */
    restWeight: 3,
  },
  exploration: {
    /** Divisor of the variance of the draws; 1 is textbook Thompson sampling. */
    sharpening: 12,
    /** Exploration budget in multiples of a payment's amount: expected value that each decision earns for exploration, and the maximum. */
    budgetPerDecision: 0.0005,
    budgetCap: 1,
    /** Cents; larger payments do not explore. */
    maxAmount: 50_000,
    /** One of this many decisions takes the route that was tried least recently, if that was at least `floorAfterSeconds` ago. */
    floorEvery: 100,
    floorAfterSeconds: 300,
    /** A payment explores only if another one was made at most this long before: with few payments, exploring costs more than it gains. */
    busyWithinSeconds: 900,
  },
  objective: {
    /** Value of a paid payment to the merchant, as a share of its amount. */
    margin: 1,
    /** Cost per hour of waiting for the payment, as a share of its amount; waits count up to one hour. */
    waitPerHour: 0.005,
    weights: OBJECTIVES.merchant,
    /** Deduction from the value of a route by its health, as shares of the margin. */
    healthPenalty: { live: 0, degraded: 0.02, standby: 1 },
    /** Deduction for a route on which an earlier payment of the session failed: it comes last among routes that are nearly as good. */
    failedPenalty: 0.05,
  },
  /** Thresholds above which failures that an adapter attributes to buyers count against the route. */
  neutralGuard: {
    /** Ratio between the share of neutral outcomes of a suspected route and the share of its peers. */
    ratio: 2,
    /** Outcomes that both the route and its peers must have. */
    leastOutcomes: 50,
  },
});

export type Policy = typeof DEFAULT_POLICY;

/** Freezes an object and all objects in it. */
export function deepFrozen<T extends object>(value: T): T {
  for (const inner of Object.values(value)) if (typeof inner === 'object' && inner !== null) deepFrozen(inner);
  return Object.freeze(value);
}
