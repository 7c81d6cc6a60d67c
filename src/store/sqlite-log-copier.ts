/** Copies the log to the file. If nothing was written meanwhile, the next commit begins the log again. */
export const COPY_LOG = 'PRAGMA wal_checkpoint(PASSIVE)';
/** Copies the log to the file and truncates it. */
export const EMPTY_LOG = 'PRAGMA wal_checkpoint(TRUNCATE)';

/** Number of writes after which the log is copied to the file: about 3,000 pages. */
const WRITES_PER_COPY = 1000;

/**
 * Has the log copied to the file, so that the writer begins it again. `copy` copies it beside the writer, whose commits would
 * otherwise wait, and `finish` has the writer copy the rest. If that fails, the writer copies the log itself when it is long.
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
    /** Counts committed writes. */
    count(writes: number): void {
      written += writes;
      if (written >= WRITES_PER_COPY && !isCopying) run().catch(() => undefined);
    },
  };
}
