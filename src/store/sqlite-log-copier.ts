/** Copies the log to the file. If that reaches its end, and no reader uses it, the next commit overwrites the log from its start. */
export const COPY_LOG = 'PRAGMA wal_checkpoint(PASSIVE)';
/** Copies the log to the file and truncates it. */
export const EMPTY_LOG = 'PRAGMA wal_checkpoint(TRUNCATE)';

// Length of the log at which it is copied to the file. More frequent copies cost more, because pages that change often are copied more
// often.
const PAGES_PER_COPY = 15_000;
/** Pages that a commit changes in addition to about one for each write. */
const PAGES_PER_COMMIT = 12;

/**
 * Copies the log to the file after about 15,000 pages, so that the writer can use it again from its start. `copy` copies it in another
 * thread, because commits wait while the writer copies; `finish` has the writer copy the rest. If a copy fails, the writer copies the
 * log after 60,000 pages.
 */
export function createLogCopier(copy: () => Promise<unknown>, finish: () => void) {
  let pages = 0;
  let isCopying = false;

  async function run(): Promise<void> {
    isCopying = true;
    pages = 0;
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
    /** Counts a commit of the writer. */
    count(writes: number): void {
      pages += PAGES_PER_COMMIT + writes;
      if (pages >= PAGES_PER_COPY && !isCopying) run().catch(() => undefined);
    },
  };
}
