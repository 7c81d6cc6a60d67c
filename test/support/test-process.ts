import { describe } from 'node:test';
import { pathToFileURL } from 'node:url';

// The entry point of a test process: runs the test files that `test/run.ts` names, one after the other, until `test/run.ts` sends
// an empty name. Each file is a suite, so that its hooks run around its own tests only.

const EXIT_TIMEOUT_MS = 10_000;
const REPORT_MS = 1000;

process.on('message', (path: string) => {
  if (path === '') return exit();
  describe(path, async () => {
    await import(pathToFileURL(path).href);
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
