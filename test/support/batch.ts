import { after, describe } from 'node:test';
import { pathToFileURL } from 'node:url';

// The entry point of a test process: runs the test files that its arguments name, one after the other. Each is a suite, so
// that its hooks run around its own tests only.

const EXIT_TIMEOUT_MS = 10_000;

for (const path of process.argv.slice(2)) {
  describe(path, async () => {
    await import(pathToFileURL(path).href);
  });
}

after(() => {
  setTimeout(() => {
    process.stderr.write(`The tests left something open: ${process.getActiveResourcesInfo().join(', ')}\n`);
    process.exit(1);
  }, EXIT_TIMEOUT_MS).unref();
});
