/** Pseudo-random numbers of one stream; equal seeds give equal numbers on every machine. */
export interface RandomStream {
  /** A number from a uniform distribution in [0, 1). */
  uniform(): number;
  /** A number from a normal distribution with mean 0 and deviation 1. */
  normal(): number;
  /** A number from an exponential distribution with mean 1. */
  exponential(): number;
}

/** The finalizer of MurmurHash3 (Austin Appleby, public domain): 32 bits in, 32 well-mixed bits out. */
function murmurMix(value: number): number {
  let bits = value >>> 0;
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return (bits ^ (bits >>> 16)) >>> 0;
}

/** The generator sfc32 of Chris Doty-Humphrey's PractRand (public domain). */
function uniformStream(seed: number): () => number {
  let a = murmurMix(seed);
  let b = murmurMix(seed + 0x9e3779b9);
  let c = murmurMix(seed + 2 * 0x9e3779b9);
  let counter = 1;
  const next = (): number => {
    const sum = (a + b + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = ((c << 21) | (c >>> 11)) + sum;
    return (sum >>> 0) / 4294967296;
  };
  for (let warmUp = 0; warmUp < 15; warmUp += 1) next();
  return next;
}

/** A stream of random numbers from a seed of 32 bits. */
export function randomStream(seed: number): RandomStream {
  const uniform = uniformStream(seed);
  let spare = Number.NaN;
  return {
    uniform,
    // Marsaglia's polar method gives two numbers at a time.
    normal() {
      if (!Number.isNaN(spare)) {
        const kept = spare;
        spare = Number.NaN;
        return kept;
      }
      for (;;) {
        const x = 2 * uniform() - 1;
        const y = 2 * uniform() - 1;
        const square = x * x + y * y;
        if (square >= 1 || square === 0) continue;
        const factor = Math.sqrt((-2 * Math.log(square)) / square);
        spare = y * factor;
        return x * factor;
      }
    },
    exponential: () => -Math.log(1 - uniform()),
  };
}

const STREAMS = {
  arrivals: 1,
  amounts: 2,
  costs: 3,
  rates: 4,
  uniforms: 5,
  delays: 6,
  contender: 7,
  contexts: 8,
  offsets: 9,
};

/** A seed for one purpose within a run, so that the random numbers of different purposes are independent. */
export function streamSeed(seed: number, purpose: keyof typeof STREAMS): number {
  return murmurMix(murmurMix(seed * 7919 + 17) + STREAMS[purpose]);
}

/** A uniform random number between `low` and `high`. */
export function uniformBetween(random: RandomStream, low: number, high: number): number {
  return low + (high - low) * random.uniform();
}

/** A log-normal number of the given median; `sigma` is the deviation of its logarithm. */
export function logNormal(random: RandomStream, median: number, sigma: number): number {
  return median * Math.exp(sigma * random.normal());
}

/** A random permutation of `items` (Fisher and Yates). */
export function shuffled<T>(random: RandomStream, items: readonly T[]): T[] {
  const order = [...items];
  for (let last = order.length - 1; last > 0; last -= 1) {
    const other = Math.floor(random.uniform() * (last + 1));
    [order[last], order[other]] = [order[other]!, order[last]!];
  }
  return order;
}
