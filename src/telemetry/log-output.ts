import sonicBoom from 'sonic-boom';

/** What waits for a reader at the most, in bytes: some thousand lines. What comes beyond is lost. */
const MAX_WAITING = 1024 * 1024;

/** Where the lines of the log go, whoever reads them or does not. */
export interface LogOutput {
  write(line: string): void;
  /** Writes what waits; what cannot be written now stays behind. For an exit that was not planned. */
  flushSync(): void;
  /** Waits until all is written, or never will be; answers false where after `ms` the reader still holds the writer up. */
  settle(ms: number): Promise<boolean>;
}

/**
 * Writes to a file descriptor beside the event loop. The service goes on, and ends, without a reader: where the reader is
 * gone nothing is written any more, and where it hangs, or a disk is full, 1 MiB waits and the rest is lost. `onLost` is
 * told how many lines once others go through again.
 */
export function createLogOutput(fd: number, onLost: (lines: number) => void): LogOutput {
  let isRead = true;
  let isLeaving = false;
  // A pipe that is full for now is tried again later, unless there is no later.
  const output = new sonicBoom.SonicBoom({ fd, maxLength: MAX_WAITING, retryEAGAIN: () => !isLeaving });
  let lost = 0;
  // A full disk keeps what waits: the next line tries it again.
  output.on('error', ({ code }: NodeJS.ErrnoException) => {
    if (code === 'EPIPE') isRead = false;
  });
  output.on('drop', () => lost++);
  output.on('drain', () => {
    if (lost === 0) return;
    const lines = lost;
    lost = 0;
    onLost(lines);
  });
  return {
    write(line) {
      if (isRead) output.write(line);
    },
    flushSync() {
      if (!isRead) return;
      isLeaving = true;
      try {
        output.flushSync();
      } catch {
        // Nobody reads, or there is no room: no reason to stay.
      }
    },
    settle(ms) {
      if (!isRead) return Promise.resolve(true);
      return new Promise((resolve) => {
        const patience = setTimeout(() => resolve(false), ms);
        output.flush(() => {
          clearTimeout(patience);
          resolve(true);
        });
      });
    },
  };
}
