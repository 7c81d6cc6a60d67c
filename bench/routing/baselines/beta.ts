import type { RandomStream } from '../world/random.ts';

/** A gamma draw of scale 1 for a shape of at least 1: Marsaglia and Tsang, ACM TOMS 26(3), doi:10.1145/358407.358414. */
function gammaDraw(random: RandomStream, shape: number): number {
  const d = shape - 1 / 3;
  const c = 1 / Math.sqrt(9 * d);
  for (;;) {
    const x = random.normal();
    const v = (1 + c * x) ** 3;
    if (v <= 0) continue;
    const u = random.uniform();
    if (u < 1 - 0.0331 * x ** 4 || Math.log(u) < 0.5 * x * x + d * (1 - v + Math.log(v))) return d * v;
  }
}

/** A draw from the posterior of a rate after successes and failures, with a uniform prior. */
export function betaDraw(random: RandomStream, successes: number, failures: number): number {
  const x = gammaDraw(random, successes + 1);
  return x / (x + gammaDraw(random, failures + 1));
}
