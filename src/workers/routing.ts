import type { Deps } from '../operations/deps.ts';
import { type Worker, createWorker } from './worker.ts';

// Some seconds of delay cost nothing: docs/routing-benchmark/README.md.
const POLL_MS = 1000;

/** Keeps what this process knows of the routes fresh, and judges their health. */
export function createRoutingWorker(deps: Deps): Worker {
  return createWorker({
    name: 'routing',
    log: deps.log,
    runOnce: () => deps.router.refresh(),
    // A commit is no reason to look at once: with every payment there are several.
    onWake: () => undefined,
    pollMs: POLL_MS,
  });
}
