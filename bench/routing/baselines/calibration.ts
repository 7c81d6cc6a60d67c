const TICK_SECONDS = 900;
const TICKS_LOOKED_BACK = 4;
const LEAST_VOLUME = 100;
const LEAST_HEDGE_CHANGE = 0.01;

/** Bucket size and exploration share of decision-engine, calibrated by the payment volume. */
export interface Calibration {
  /** Counts a payment; returns true if a calibration interval has ended, so that the settings may have changed. */
  count(now: number): boolean;
  bucket(): number;
  /** Share of all payments that explore. */
  exploreShare(): number;
}

/** Number of outcomes in the score: 5 sqrt(volume / (arms - 1)), rounded to a multiple of 25, between 100 and 2,000. */
function bucketFor(volume: number, arms: number): number {
  const wanted = 25 * Math.round((5 * Math.sqrt(volume / (arms - 1))) / 25);
  return Math.min(2000, Math.max(100, wanted));
}

/** Total exploration share. Each arm but the best gets the share that fills its bucket in an hour: at least 1 %, at most 30 % / others. */
function exploreShareFor(bucket: number, volume: number, arms: number): number {
  const others = arms - 1;
  return others * Math.max(0.01, Math.min(bucket / volume, 0.3 / others));
}

/**
 * The auto-calibration of decision-engine: every 15 minutes from the payments of the last hour, if there were at least 100.
 * Source: juspay/decision-engine, src/sr_auto_calibration.rs.
 */
export function createCalibration(arms: number, start: { bucket: number; exploreShare: number }): Calibration {
  let { bucket, exploreShare } = start;
  let volumes = [0];
  let tickAt = TICK_SECONDS;
  const calibrate = (): void => {
    const volume = volumes.reduce((sum, each) => sum + each, 0);
    if (volume < LEAST_VOLUME) return;
    bucket = bucketFor(volume, arms);
    const wanted = exploreShareFor(bucket, volume, arms);
    if (Math.abs(wanted - exploreShare) >= LEAST_HEDGE_CHANGE) exploreShare = wanted;
  };
  return {
    bucket: () => bucket,
    exploreShare: () => exploreShare,
    count(now) {
      const ticks = now >= tickAt;
      while (now >= tickAt) {
        calibrate();
        volumes = [0, ...volumes.slice(0, TICKS_LOOKED_BACK - 1)];
        tickAt += TICK_SECONDS;
      }
      volumes[0]! += 1;
      return ticks;
    },
  };
}
