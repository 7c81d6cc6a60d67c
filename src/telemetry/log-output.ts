import sonicBoom from 'sonic-boom';

/** What waits for a reader at the most, in bytes: some thousand lines. What comes beyond is lost. */
const MAX_WAITING = 1024 * 1024;

/** Where the lines of the log go, whoever reads them or does not. */
export interface LogOutput {
  write(line: string): void;
  /**
   * Waits until all is written, or cannot be, but no longer than `ms`. Answers false where a write is still under way then
   * that nothing but its reader, or the end of the process by force, ends.
   */
  settle(ms: number): Promise<boolean>;
}

/**
 * Writes to a file descriptor beside the event loop. The service goes on, and ends, whoever reads: where the reader is gone
 * or hangs, or a disk is full, 1 MiB waits and the rest is lost. Every line tries again; `onLost` is told how many were
 * lost once others go through.
 */
export function createLogOutput(fd: number, onLost: (lines: number) => void): LogOutput {
  let lost = 0;
  let isFull = false;
  const output = new sonicBoom.SonicBoom({
    fd,
    maxLength: MAX_WAITING,
    // A pipe that is full for now, and says so instead of waiting.
    retryEAGAIN: () => (isFull = true),
  });
  output.on('write', () => (isFull = false));
  // What could not be written is kept, and is tried again with the next line.
  output.on('error', () => undefined);
  output.on('drop', () => {
    lost++;
    output.flush();
  });
  output.on('drain', () => {
    if (lost === 0) return;
    const lines = lost;
    lost = 0;
    onLost(lines);
  });
  return {
    write: (line) => void output.write(line),
    settle(ms) {
      return new Promise((resolve) => {
        // What has come of a write meanwhile is heard of after the timers, where this process itself was held up.
        const patience = setTimeout(() => setImmediate(() => resolve(isFull)), ms);
        output.flush(() => {
          clearTimeout(patience);
          resolve(true);
        });
      });
    },
  };
}
