import sonicBoom from 'sonic-boom';

/** Size of the buffer for a slow reader, in bytes. It contains some thousand lines; further lines are lost. */
const MAX_WAITING = 1024 * 1024;
/** Lines are written once this many bytes are buffered, or after this time: one write per line costs more than the line itself. */
const MIN_WRITTEN = 4096;
const LONGEST_WAIT_MS = 100;

/**
 * Creates a log output that writes to a file descriptor in a thread of its own, so that a slow reader does not block the service or its
 * exit. If a write fails or blocks, 1 MiB is buffered and further lines are lost. The output tries again after later lines; when a write
 * succeeds, `onLost` receives the number of lost lines.
 */
export function createLogOutput(fd: number, onLost: (lines: number) => void) {
  let lost = 0;
  let isFull = false;
  let timer: NodeJS.Timeout | undefined;
  const output = new sonicBoom.SonicBoom({
    fd,
    maxLength: MAX_WAITING,
    minLength: MIN_WRITTEN,
    // Called if the pipe is full and reports that instead of blocking.
    retryEAGAIN: () => (isFull = true),
  });
  output.on('write', () => (isFull = false));
  // Ignores the error, because a later line tries the write again.
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
    write(line: string): void {
      output.write(line);
      timer ??= setTimeout(() => {
        timer = undefined;
        output.flush();
      }, LONGEST_WAIT_MS);
    },
    /** Waits at most `ms` until all lines are written. Resolves with false if a write still blocks; only its reader or SIGKILL can end it. */
    settle(ms: number): Promise<boolean> {
      return new Promise((resolve) => {
        // Waits one more turn of the event loop: after a blocked loop, timers run before the result of a write arrives.
        const patience = setTimeout(() => setImmediate(() => resolve(isFull)), ms);
        output.flush(() => {
          clearTimeout(patience);
          resolve(true);
        });
      });
    },
  };
}
