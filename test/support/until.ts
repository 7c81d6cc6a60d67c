import { setTimeout as sleep } from 'node:timers/promises';

const POLL_MS = 10;
/** On a busy machine, the start of a process alone can take half a minute. */
const PATIENCE_MS = 120_000;

/** Waits until a condition holds. */
export async function until(
  holds: () => boolean | Promise<boolean>,
  complaint: () => string = () => 'the condition did not become true',
  patienceMs = PATIENCE_MS,
): Promise<void> {
  const deadline = performance.now() + patienceMs;
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(`${complaint()} within ${patienceMs} ms`);
    await sleep(POLL_MS);
  }
}
