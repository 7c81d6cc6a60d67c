/** Copies the log to the file. If that reaches its end, and no reader uses it, the next commit overwrites the log from its start. */
export const COPY_LOG = 'PRAGMA wal_checkpoint(PASSIVE)';
/** Copies the log to the file and truncates it. */
export const EMPTY_LOG = 'PRAGMA wal_checkpoint(TRUNCATE)';

/** Number of writes after which the log is copied to the file: about 3,000 pages. */
const WRITES_PER_COPY = 1000;

/**
 * Copies the log to the file after every 1,000 writes, so that the writer can use it again from its start. `copy` copies it in another
 * thread, because commits wait while the writer copies; `finish` has the writer copy the rest. If a copy fails, the writer copies the
 * log after 16,000 pages.
 */
export function createLogCopier(copy: () => Promise<unknown>, finish: () => void) {
  let written = 0;
  let isCopying = false;

  async function run(): Promise<void> {
    isCopying = true;
    written = 0;
    try {
      await copy();
      // Copies what the writer has written during the first copy.
      await copy();
      finish();
    } finally {
      isCopying = false;
    }
  }

  return {
    /** Counts writes that the writer has run. */
    count(writes: number): void {
      written += writes;
      if (written >= WRITES_PER_COPY && !isCopying) run().catch(() => undefined);
    },
  };
}
