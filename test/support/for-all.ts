import * as fc from 'fast-check';

/** Asserts that a property holds for `runs` random values of the arbitraries. */
export function forAll<Values extends [unknown, ...unknown[]]>(
  runs: number,
  ...parts: [...arbitraries: { [K in keyof Values]: fc.Arbitrary<Values[K]> }, property: (...values: Values) => void]
): void {
  fc.assert(fc.property<Values>(...parts), { numRuns: runs });
}
