/** Time and randomness, which tests replace. */
export interface Timing {
  /** Waits for `ms`. Rejects with the reason of the signal as soon as the signal is aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Random number, at least 0 and less than 1. */
  random(): number;
  /** Current time in milliseconds since 1970. */
  now(): number;
  uuid(): string;
}

/** Time and randomness of the runtime. */
export const realTiming: Timing = {
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      const abort = () => {
        clearTimeout(timer);
        reject(signal?.reason as Error);
      };
      const timer = setTimeout(() => {
        signal?.removeEventListener('abort', abort);
        resolve();
      }, ms);
      if (signal?.aborted) abort();
      else signal?.addEventListener('abort', abort, { once: true });
    }),
  random: () => Math.random(),
  now: () => Date.now(),
  uuid: () => crypto.randomUUID(),
};
