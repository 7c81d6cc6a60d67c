/** Lets requests pass side by side, and time be moved only between them. */
export interface Gate {
  /** Waits while time is being moved. Whoever came in calls the answer when it has ended. */
  enter(): Promise<() => void>;
  /** Waits until nobody is inside. */
  free(): Promise<void>;
  /** Waits for the same, and lets nobody in until `work` is done. */
  alone<Result>(work: () => Promise<Result>): Promise<Result>;
}

export function createGate(): Gate {
  const inside = new Set<Promise<void>>();
  let shut: Promise<void> | undefined;
  return {
    async enter() {
      while (shut) await shut;
      const { promise, resolve } = Promise.withResolvers<void>();
      inside.add(promise);
      return () => {
        inside.delete(promise);
        resolve();
      };
    },
    free,
    async alone(work) {
      await free();
      const working = work();
      shut = working.then(open, open);
      return working;
    },
  };

  async function free(): Promise<void> {
    while (inside.size > 0) await Promise.all(inside);
  }

  function open(): void {
    shut = undefined;
  }
}
