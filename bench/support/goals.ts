/** One measurement of a benchmark. */
export interface Measured {
  name: keyof typeof GOALS;
  /** Ratio to the baseline, or a count. */
  value: number;
  /** Ratio of the baseline to an equal second baseline, which shows the noise. Counts have none. */
  twin?: number;
}

/** Goals: the least or the most that a measurement should have. */
const GOALS = {
  'POST sessions, 64 connections': { least: 0.6 },
  'POST sessions, 8 connections': { least: 0.4 },
  'POST sessions, 64 connections, p99': { most: 2 },
  'POST sessions with key, metrics and log, relative to without': { least: 0.95 },
  'POST sessions on PostgreSQL': { least: 0.4 },
  'GET payment': { least: 0.5 },
  'GET 20 payments': { least: 0.3 },
  // Half and a third of 75 and 207, and half of 135 and 108, which were measured before the work on performance.
  'Payment, SQLite, 16 buyers, service': { most: 37 },
  'Payment, SQLite, one buyer, service': { most: 69 },
  'Payment, PostgreSQL, 16 buyers, service': { most: 67 },
  'Payment, PostgreSQL, 16 buyers, database': { most: 54 },
  'Payment, one buyer: SELECTs': { most: 30 },
  'Payment, one buyer: commits': { most: 6 },
  'Payment, one buyer: KB written': { most: 300 },
  'Webhook deliveries on SQLite': { least: 0.7 },
  'Webhook deliveries, relative to graphile-worker': { least: 1.2 },
  'Webhook deliveries, relative to pg-boss': { least: 1.8 },
  'Later starts': { most: 2 },
  'Idle memory': { most: 1.4 },
} satisfies Record<string, { least: number } | { most: number }>;

/** Part of a goal below which the check fails. */
const SHARE = 0.9;
const QUIET = { least: 0.8, most: 1.25 };

/** Prints each measurement beside its goal. Returns false if one is below nine tenths of its goal, or if the machine is too noisy. */
export function checkGoals(measured: readonly Measured[]): boolean {
  process.stdout.write('\nGoals\n');
  const verdicts = measured.map(({ name, value, twin = 1 }) => {
    const goal: { least?: number; most?: number } = GOALS[name];
    const share = goal.least === undefined ? goal.most! / value : value / goal.least;
    const isNoisy = twin < QUIET.least || twin > QUIET.most;
    const verdict = share >= 1 ? 'reached' : share >= SHARE ? 'nearly reached' : 'MISSED';
    const wanted = goal.least === undefined ? `at most ${goal.most}` : `at least ${goal.least}`;
    const noise = isNoisy ? `; TOO NOISY, the twin has ${twin.toFixed(2)}` : '';
    process.stdout.write(`  ${name.padEnd(62)} ${value.toFixed(2).padStart(7)}  ${wanted}: ${verdict}${noise}\n`);
    return share >= SHARE && !isNoisy;
  });
  return verdicts.every(Boolean);
}
