import type { Instant } from '../domain/records.ts';
import type { Select } from './store-reads.ts';

const LOOK_EVERY_MS = 10_000;
const FIRST_LOOKS = 3;
/** Longer reads are too inaccurate. */
const LONGEST_LOOK_MS = 1000;

const SELECT_TIME = 'SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT) AS now';

/**
 * The time of the database, carried on by this process's monotonic clock between one look and the next: all instances
 * agree on when a lease ends, whatever the clock of their machine says. Wrong by half a round trip at most.
 */
export async function startDatabaseClock(select: Select) {
  let origin = Number.NaN;

  async function look(): Promise<void> {
    const sentAt = performance.now();
    const [row] = await select(SELECT_TIME);
    const answeredAt = performance.now();
    const took = answeredAt - sentAt;
    if (took <= LONGEST_LOOK_MS || Number.isNaN(origin)) origin = Number(row!['now']) - (sentAt + answeredAt) / 2;
  }

  // The first look opens a connection, which takes longer than a round trip.
  for (let count = 0; count < FIRST_LOOKS; count++) await look();
  const timer = setInterval(() => {
    // Until the database is available again, the time goes on from the last look.
    look().catch(() => undefined);
  }, LOOK_EVERY_MS);
  timer.unref();
  return {
    now: (): Instant => Math.floor(origin + performance.now()),
    stop: () => clearInterval(timer),
  };
}
