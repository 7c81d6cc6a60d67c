import sonicBoom from 'sonic-boom';

/** Size of the buffer for a slow reader, in bytes: some thousand lines. Further lines are lost. */
const MAX_WAITING = 1024 * 1024;

/**
 * Writes to a file descriptor outside the event loop, so that no reader blocks the service or its exit. If the reader is gone or
 * hangs, or the disk is full, 1 MiB is buffered and further lines are lost. Every line retries; `onLost` gets the number of lost
 * lines once writing succeeds again.
 */
export function createLogOutput(fd: number, onLost: (lines: number) => void) {
  let lost = 0;
  let isFull = false;
  const output = new sonicBoom.SonicBoom({
    fd,
    maxLength: MAX_WAITING,
    // The pipe is full and reports that instead of blocking.
    retryEAGAIN: () => (isFull = true),
  });
  output.on('write', () => (isFull = false));
  // The next line retries the write.
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
    write: (line: string) => void output.write(line),
    /** Waits at most `ms` until all lines are written. Resolves with false if a write is still blocked. Only the reader or SIGKILL can end such a write. */
    settle(ms: number): Promise<boolean> {
      return new Promise((resolve) => {
        // Waits one more turn, because after a blocked event loop the result of a write arrives after the timers.
        const patience = setTimeout(() => setImmediate(() => resolve(isFull)), ms);
        output.flush(() => {
          clearTimeout(patience);
          resolve(true);
        });
      });
    },
  };
}
