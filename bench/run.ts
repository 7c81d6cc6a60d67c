import { benchmarkDashboard } from './dashboard.ts';
import { benchmarkLists } from './lists.ts';
import { benchmarkFootprint } from './footprint.ts';
import { benchmarkPayments } from './payments.ts';
import { benchmarkPostgres } from './postgres.ts';
import { benchmarkReads } from './reads.ts';
import { benchmarkRoundTrips } from './round-trips.ts';
import { benchmarkRouting, benchmarkRoutingQuick } from './routing.ts';
import { benchmarkSessions } from './sessions.ts';
import { benchmarkSlowloris } from './slowloris.ts';
import { type Measured, checkGoals } from './support/goals.ts';
import { benchmarkQueues } from './queues.ts';
import { benchmarkStart } from './start.ts';
import { benchmarkTelemetry } from './telemetry.ts';
import { benchmarkWebhooks } from './webhooks.ts';

/** Benchmarks that `npm run bench` runs if no name is given. */
const QUICK = {
  sessions: benchmarkSessions,
  reads: benchmarkReads,
  webhooks: benchmarkWebhooks,
  queues: benchmarkQueues,
  start: benchmarkStart,
  payments: benchmarkPayments,
  postgres: benchmarkPostgres,
  'round-trips': benchmarkRoundTrips,
  'routing-quick': benchmarkRoutingQuick,
};
/** All benchmarks by name, as in `npm run bench -- reads`. The benchmark `lists` first inserts two million rows. */
const ALL: Record<string, () => Promise<Measured[] | void>> = {
  ...QUICK,
  dashboard: benchmarkDashboard,
  footprint: benchmarkFootprint,
  lists: benchmarkLists,
  routing: benchmarkRouting,
  slowloris: benchmarkSlowloris,
  telemetry: benchmarkTelemetry,
};

const named = process.argv.slice(2).filter((argument) => argument !== '--check');
const measured: Measured[] = [];
for (const name of named.length > 0 ? named : Object.keys(QUICK)) {
  const bench = ALL[name];
  if (!bench) throw new Error(`no benchmark is called ${name}: use ${Object.keys(ALL).join(', ')}`);
  measured.push(...((await bench()) ?? []));
}
if (process.argv.includes('--check') && !checkGoals(measured)) process.exitCode = 1;
