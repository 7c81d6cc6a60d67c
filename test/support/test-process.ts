import hooks, { type AsyncHook } from 'node:async_hooks';
import { pathToFileURL } from 'node:url';

// The entry point of a test process: runs the test files that `test/run.ts` names, one after the other, until `test/run.ts` sends
// an empty name. Each file is a suite, so that its hooks run around its own tests only.

const EXIT_TIMEOUT_MS = 10_000;
const REPORT_MS = 1000;

// Node's test runner tracks every promise, to know the suite of a new test and the test of a late error. This makes `await` 20 times
// slower. Here it tracks promises only while a file declares its tests. A late error still fails the run, but the output may not name
// its test; `node --test FILE` does.
const { createHook } = hooks;
const tracking: { all: AsyncHook; allButPromises: AsyncHook }[] = [];
hooks.createHook = (callbacks) => {
  const allButPromises = createHook({ ...callbacks, trackPromises: false });
  tracking.push({ all: createHook(callbacks), allButPromises });
  return allButPromises;
};
const { describe } = await import('node:test');

process.on('message', (path: string) => {
  if (path === '') return exit();
  describe(path, async () => {
    for (const { all } of tracking) all.enable();
    await import(pathToFileURL(path).href);
    for (const { all, allButPromises } of tracking) {
      all.disable();
      // Node stops tracking promises only when no hook is left.
      allButPromises.disable().enable();
    }
  });
});

function exit(): void {
  process.disconnect?.();
  setTimeout(() => {
    process.stderr.write(`The tests left something open: ${process.getActiveResourcesInfo().join(', ')}\n`);
    // Node then prints the failed tests with their errors.
    process.emit('beforeExit', 1);
    setTimeout(() => process.exit(1), REPORT_MS);
  }, EXIT_TIMEOUT_MS).unref();
}
