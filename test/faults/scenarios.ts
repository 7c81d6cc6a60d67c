import type { Scenario } from './scenario.ts';
import { callbackRace } from './scenarios/callback-race.ts';
import { wrongClocks } from './scenarios/clock.ts';
import { killInstance, killSqlite, postgresRestart } from './scenarios/crashes.ts';
import { cutCommit } from './scenarios/cut-commit.ts';
import { diskFull } from './scenarios/disk-full.ts';
import { halfOpen } from './scenarios/half-open.ts';
import { sharedIdempotencyKey } from './scenarios/idempotency.ts';
import { pausedInstance } from './scenarios/paused.ts';
import { killedDuringOutcomes } from './scenarios/route-outcomes.ts';

/** All faults that the service must survive, by name on the command line. */
export const SCENARIOS: Readonly<Record<string, Scenario>> = {
  'kill-sqlite': killSqlite,
  'kill-instance': killInstance,
  'postgres-restart': postgresRestart,
  'cut-commit': cutCommit,
  'half-open': halfOpen,
  paused: pausedInstance,
  'disk-full': diskFull,
  clock: wrongClocks,
  idempotency: sharedIdempotencyKey,
  'callback-race': callbackRace,
  'route-outcomes': killedDuringOutcomes,
};
