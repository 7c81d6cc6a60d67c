/** Thresholds of the health state machine. Shares are 0 to 1; `Results` and `Outcomes` are counts. */
export const HEALTH_POLICY = {
  /** Median times to an outcome that each of the following times, in seconds, at least covers. Slow methods thus have longer times. */
  leastMedians: 4,
  /** Minimum time between two transitions between live and degraded. */
  minimumStateSeconds: 120,

  /** Drop below the usual success rate that degrades a route, as a share and in standard errors. The drop must exceed both. */
  dropShare: 0.1,
  dropSigmas: 2.5,
  dropMinimumOutcomes: 20,
  /** Ratio of the recent to the usual 95th percentile of the time to paid, above which a route is degraded. */
  slowFactor: 3,
  slowMinimumOutcomes: 20,

  recoveryMinimumOutcomes: 20,
  /** Largest difference below the usual success rate at which a degraded route becomes live. */
  recoveryShare: 0.03,
  recoveryResultsWithoutHandoffError: 10,
  /** Ratio below which a slow route becomes live again. It is lower than `slowFactor`, so that the route does not oscillate. */
  recoverySlowFactor: 2,
  quietRecoverySeconds: 1800,
  quietRecoveryMinimumOutcomes: 3,

  standbyHandoffErrorsInARow: 3,
  standbyHandoffErrors: 5,
  standbyHandoffResults: 10,
  standbySuccessShare: 0.35,
  standbyMinimumOutcomes: 8,
  /** Share of the routes of a kind that may be in standby for a low success rate; their number is rounded down. */
  standbyShareOfKind: 0.5,

  backoffSeconds: 30,
  /** Longest back-off in seconds, before the jitter. */
  backoffMaximumSeconds: 600,
  /** Maximum jitter of a back-off, up or down, as a share of it. */
  backoffJitterShare: 0.1,
  /** Time without results after which a route in standby or a degraded route is used again. */
  untriedSeconds: 2 * 3600,
  probeSuccessesInARow: 3,
  probeLeaseSeconds: 120,
} as const;

/** A time of the policy in milliseconds, for a route with this median time to an outcome; null if it is unknown. */
export function windowMs(seconds: number, medianSeconds: number | null): number {
  return 1000 * Math.max(seconds, HEALTH_POLICY.leastMedians * (medianSeconds ?? 0));
}
