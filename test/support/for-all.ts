import * as fc from 'fast-check';

/** True in `npm run test:unit`, which covers less than `npm test`. */
export const IS_UNIT_RUN = process.env['TEST_UNIT'] !== undefined;

/** Number of random values for a property test: `all` in `npm test`, a quarter of it in the quicker `npm run test:unit`. */
export function runs(all: number): number {
  return IS_UNIT_RUN ? Math.ceil(all / 4) : all;
}

/**
 * Options of tests that `npm run test:unit` skips: random campaigns with their injected faults, checks of what the
 * generators generate, and real time limits.
 */
export const ONLY_IN_FULL_RUN = {
  skip: IS_UNIT_RUN ? '`npm test` runs this test, and `npm run test:unit` does not' : false,
};

/** Asserts that a property holds for {@link runs} random values of the arbitraries. */
export function forAll<Values extends [unknown, ...unknown[]]>(
  all: number,
  ...parts: [...arbitraries: { [K in keyof Values]: fc.Arbitrary<Values[K]> }, property: (...values: Values) => void]
): void {
  fc.assert(fc.property<Values>(...parts), { numRuns: runs(all) });
}
