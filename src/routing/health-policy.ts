/** Thresholds of the health state machine. Shares are 0 to 1; `Results` and `Outcomes` are counts. */
export const HEALTH_POLICY = {
  /** Minimum time between two transitions between live and degraded. */
  minimumStateSeconds: 120,

  /** Drop below the usual success rate that degrades a route, as a share and in standard errors. The drop must exceed both. */
  dropShare: 0.1,
  dropSigmas: 2.5,
  dropMinimumOutcomes: 20,
  /** Ratio of the 95th percentile of the time to paid to the usual one. */
  slowFactor: 3,
  slowMinimumOutcomes: 20,

  recoveryMinimumOutcomes: 20,
  /** Largest shortfall of the success rate at which a route recovers. */
  recoveryShare: 0.03,
  recoveryResultsWithoutHandoffError: 10,
  /** Ratio below which a slow route recovers: lower than `slowFactor`, so that it does not oscillate. */
  recoverySlowFactor: 2,
  quietRecoverySeconds: 1800,
  quietRecoveryMinimumOutcomes: 3,

  standbyHandoffErrorsInARow: 3,
  standbyHandoffErrors: 5,
  standbyHandoffResults: 10,
  standbySuccessShare: 0.35,
  standbyMinimumOutcomes: 8,
  /** Share of the routes of a kind, rounded down, that may be in standby for their success rate. */
  standbyShareOfKind: 0.5,

  backoffSeconds: 30,
  /** Longest back-off in seconds, before the jitter. */
  backoffMaximumSeconds: 600,
  /** Maximum jitter of a back-off, in either direction. */
  backoffJitterShare: 0.1,
  /** Time without results after which a route is used again. */
  untriedSeconds: 2 * 3600,
  probeSuccessesInARow: 3,
  probeLeaseSeconds: 120,
} as const;
