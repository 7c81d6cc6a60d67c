/** A small seeded generator (mulberry32): the same seed gives the same values everywhere. */
export interface SeededRandom {
  /** A whole number from 0 to `limit` - 1. */
  int(limit: number): number;
  /** True with the probability `share`. */
  chance(share: number): boolean;
  pick<Item>(items: readonly Item[]): Item;
}

/** The generator of the item with this index: an item can be generated again without the items before it. */
export function createSeededRandom(seed: number, index: number): SeededRandom {
  let state = (seed ^ Math.imul(index + 1, 0x9e3779b1)) | 0;
  function next(): number {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }
  const int = (limit: number) => Math.floor(next() * limit);
  return {
    int,
    chance: (share) => next() < share,
    pick: (items) => items[int(items.length)]!,
  };
}
