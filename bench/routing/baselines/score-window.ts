/** The last outcomes of one arm; the window is initially filled with successes. */
export interface ScoreWindow {
  /** Share of successes. */
  mean(): number;
  add(reward: number): void;
  /** Changes the size of the window. A smaller window drops its oldest outcomes; a larger one fills with new outcomes. */
  resize(size: number): void;
  /** Replaces all outcomes by evenly spread successes and failures with about this mean. */
  rewrite(mean: number): void;
}

export function scoreWindow(size: number): ScoreWindow {
  let outcomes = new Uint8Array(size).fill(1);
  let filled = size;
  let next = 0;
  let successes = size;

  const oldestFirst = (): number[] => {
    const oldest = next - filled + outcomes.length;
    return Array.from({ length: filled }, (_, age) => outcomes[(oldest + age) % outcomes.length]!);
  };
  const refill = (newSize: number, kept: readonly number[]): void => {
    outcomes = new Uint8Array(newSize);
    outcomes.set(kept);
    filled = kept.length;
    next = filled % newSize;
    successes = kept.reduce((sum, reward) => sum + reward, 0);
  };

  return {
    mean: () => successes / filled,
    add(reward) {
      if (filled === outcomes.length) successes -= outcomes[next]!;
      else filled += 1;
      outcomes[next] = reward;
      successes += reward;
      next = (next + 1) % outcomes.length;
    },
    resize(newSize) {
      if (newSize !== outcomes.length) refill(newSize, oldestFirst().slice(-newSize));
    },
    rewrite(mean) {
      const wanted = Math.round(mean * filled);
      const spread = (count: number): number => Math.floor((count * wanted) / filled);
      refill(
        outcomes.length,
        Array.from({ length: filled }, (_, place) => spread(place + 1) - spread(place)),
      );
    },
  };
}
