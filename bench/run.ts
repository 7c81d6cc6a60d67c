import { run as lists } from './lists.ts';
import { run as footprint } from './footprint.ts';
import { run as postgres } from './postgres.ts';
import { run as reads } from './reads.ts';
import { run as roundTrips } from './round-trips.ts';
import { run as routing, runQuick as routingQuick } from './routing.ts';
import { run as sessions } from './sessions.ts';
import { run as slowloris } from './slowloris.ts';
import { run as start } from './start.ts';
import { run as telemetry } from './telemetry.ts';
import { run as webhooks } from './webhooks.ts';

// `npm run bench` runs the quick benchmarks, `npm run bench -- lists` the named ones. `lists` first inserts two million rows.
const QUICK = { sessions, reads, webhooks, start, postgres, 'round-trips': roundTrips, 'routing-quick': routingQuick };
const ALL: Record<string, () => Promise<void>> = { ...QUICK, footprint, lists, routing, slowloris, telemetry };

const named = process.argv.slice(2);
for (const name of named.length > 0 ? named : Object.keys(QUICK)) {
  const bench = ALL[name];
  if (!bench) throw new Error(`no benchmark is called ${name}: use ${Object.keys(ALL).join(', ')}`);
  await bench();
}
