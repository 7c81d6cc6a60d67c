import type { Scenario } from './scenario.ts';
import { scenario as callbackRace } from './scenarios/callback-race.ts';
import { scenario as clock } from './scenarios/clock.ts';
import { killInstance, killSqlite, postgresRestart } from './scenarios/crashes.ts';
import { scenario as cutCommit } from './scenarios/cut-commit.ts';
import { scenario as diskFull } from './scenarios/disk-full.ts';
import { scenario as halfOpen } from './scenarios/half-open.ts';
import { scenario as idempotency } from './scenarios/idempotency.ts';
import { scenario as paused } from './scenarios/paused.ts';
import { scenario as routeOutcomes } from './scenarios/route-outcomes.ts';

/** All faults that the service must survive, by name on the command line. */
export const SCENARIOS: Readonly<Record<string, Scenario>> = {
  'kill-sqlite': killSqlite,
  'kill-instance': killInstance,
  'postgres-restart': postgresRestart,
  'cut-commit': cutCommit,
  'half-open': halfOpen,
  paused,
  'disk-full': diskFull,
  clock,
  idempotency,
  'callback-race': callbackRace,
  'route-outcomes': routeOutcomes,
};
