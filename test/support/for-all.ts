import * as fc from 'fast-check';

/** Number of random values for a property test: `all` in `npm test`, a quarter of it in the quicker `npm run test:unit`. */
export function runs(all: number): number {
  return process.env['TEST_UNIT'] === undefined ? all : Math.ceil(all / 4);
}

/** Options of tests that `npm run test:unit` skips: random campaigns with their injected faults, and real time limits. */
export const ONLY_IN_FULL_RUN = {
  skip: process.env['TEST_UNIT'] === undefined ? false : '`npm test` runs this test, and `npm run test:unit` does not',
};

/** Asserts that a property holds for {@link runs} random values of the arbitraries. */
export function forAll<Values extends [unknown, ...unknown[]]>(
  all: number,
  ...parts: [...arbitraries: { [K in keyof Values]: fc.Arbitrary<Values[K]> }, property: (...values: Values) => void]
): void {
  fc.assert(fc.property<Values>(...parts), { numRuns: runs(all) });
}
