/** Every threshold of the health machine. Shares are 0 to 1; `Results` and `Outcomes` are counts. */
export const HEALTH_POLICY = {
  /** Between two moves from live to degraded or back. */
  minimumStateSeconds: 120,

  /** A fall below the usual success rate degrades if it is over this share and over that many standard errors. */
  dropShare: 0.1,
  dropSigmas: 2.5,
  dropMinimumOutcomes: 20,
  /** Seconds to paid, at the 95th percentile, against the usual ones. */
  slowFactor: 3,
  slowMinimumOutcomes: 20,

  recoveryMinimumOutcomes: 20,
  /** How far below the usual success rate is good enough. */
  recoveryShare: 0.03,
  recoveryResultsWithoutHandoffError: 10,
  /** Below `slowFactor`, so that a route between the two does not go back and forth. */
  recoverySlowFactor: 2,
  quietRecoverySeconds: 1800,
  quietRecoveryMinimumOutcomes: 3,

  standbyHandoffErrorsInARow: 3,
  standbyHandoffErrors: 5,
  standbyHandoffResults: 10,
  standbySuccessShare: 0.35,
  standbyMinimumOutcomes: 8,
  /** Of the routes of a kind, rounded down: as many may be in standby through their success rate. */
  standbyShareOfKind: 0.5,

  backoffSeconds: 30,
  /** Before the jitter. */
  backoffMaximumSeconds: 600,
  /** Either way. */
  backoffJitterShare: 0.1,
  /** Without any result for so long, what is held against a route is no longer known: it is tried in earnest. */
  untriedSeconds: 2 * 3600,
  probeSuccessesInARow: 3,
  probeLeaseSeconds: 120,
};

export type HealthPolicy = Readonly<typeof HEALTH_POLICY>;
