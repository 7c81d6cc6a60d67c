import type { Instant } from '../domain/records.ts';
import type { Select } from './keyset.ts';

const LOOK_EVERY_MS = 10_000;
const FIRST_LOOKS = 3;
/** Longest duration of a clock reading; slower readings are too inaccurate and are ignored. */
const LONGEST_LOOK_MS = 1000;

const SELECT_TIME = 'SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT) AS now';

/** Starts a clock that follows the database's clock, so that all instances agree on the end of a lease. */
export async function startDatabaseClock(select: Select) {
  let origin = Number.NaN;

  async function look(): Promise<void> {
    const sentAt = performance.now();
    const [row] = await select(SELECT_TIME);
    const answeredAt = performance.now();
    const took = answeredAt - sentAt;
    if (took <= LONGEST_LOOK_MS || Number.isNaN(origin)) origin = Number(row!['now']) - (sentAt + answeredAt) / 2;
  }

  // Reads several times, because the first reading includes the time to open a connection.
  for (let count = 0; count < FIRST_LOOKS; count++) await look();
  const timer = setInterval(() => {
    // Ignores a failed reading: the time continues from the last reading by the monotonic clock.
    look().catch(() => undefined);
  }, LOOK_EVERY_MS);
  timer.unref();
  return {
    now: (): Instant => Math.floor(origin + performance.now()),
    stop: () => clearInterval(timer),
  };
}
