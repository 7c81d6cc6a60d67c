import type { Deps } from '../operations/deps.ts';
import { type Worker, createWorker } from './worker.ts';

// Commits do not wake this worker: every payment has several, and some seconds of delay cost nothing: docs/routing-benchmark/README.md.
const POLL_MS = 1000;

/** Refreshes the route estimates of this process and evaluates route health. */
export function createRoutingWorker(deps: Deps): Worker {
  return createWorker({
    name: 'routing',
    log: deps.log,
    runOnce: () => deps.router.refresh(),
    pollMs: POLL_MS,
  });
}
