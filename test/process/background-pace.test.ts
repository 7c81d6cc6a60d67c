import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises';
import { createWorker } from '../../src/workers/worker.ts';

const BATCH_MS = 4;
const WINDOW_MS = 600;
const LOG = { info: () => undefined, warn: () => undefined, error: () => undefined, debug: () => undefined };

function burn(ms: number): void {
  for (const end = performance.now() + ms; performance.now() < end;);
}

/** Number of batches of endless background work in a time window, while `others` runs. */
async function batchesBeside(others: (isOver: () => boolean) => Promise<void>): Promise<number> {
  let batches = 0;
  let isOver = false;
  const worker = createWorker({
    name: 'endless',
    log: LOG,
    async runOnce(isStopped, pace = turn) {
      while (!isStopped() && !isOver) {
        burn(BATCH_MS);
        batches++;
        await pace();
      }
      return batches;
    },
    pollMs: WINDOW_MS,
  });
  worker.start();
  await Promise.all([sleep(WINDOW_MS).then(() => (isOver = true)), others(() => isOver)]);
  await worker.stop();
  return batches;
}

test('a worker rests between its batches while the event loop has other work', async () => {
  const beside = await batchesBeside(async (isOver) => {
    while (!isOver()) {
      burn(3);
      await sleep(1);
    }
  });
  // Without rests, there would be a batch in about every 12 ms.
  assert.ok(beside >= 1 && beside < WINDOW_MS / 50, `${beside} batches beside other work`);
});
