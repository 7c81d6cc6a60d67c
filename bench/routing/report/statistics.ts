export interface MeanWithError {
  mean: number;
  /** Standard error of the mean; NaN with fewer than two values. */
  error: number;
}

export function meanWithError(values: readonly number[]): MeanWithError {
  const mean = sum(values) / values.length;
  const squares = values.map((value) => (value - mean) ** 2);
  return { mean, error: Math.sqrt(sum(squares) / (values.length - 1) / values.length) };
}

export function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

/** The quantile of values; sorts a copy. */
export function quantile(values: Float64Array, share: number): number {
  return values.toSorted()[Math.min(values.length - 1, Math.floor(share * values.length))]!;
}

/** Mean of the paired differences of two contenders, which had the same payments in each world. */
export function meanDifference(ones: readonly number[], others: readonly number[]): MeanWithError {
  return meanWithError(ones.map((one, place) => one - others[place]!));
}
