/** Pseudo-random numbers of one decision. They are derived from strings only, so that they are the same on every machine. */
export interface Draws {
  /** A standard normal number for a route, independent of the other candidates. */
  gaussianOf(routeId: string): number;
  /** A number in [0, 1) for the decision as a whole. */
  uniform: number;
}

/** 64 bits in two 32-bit lanes. */
interface Hash {
  first: number;
  second: number;
}

const EMPTY: Hash = { first: 0xdeadbeef, second: 0x41c6ce57 };
// Separates texts: it is not a code unit of any string, so that "a", "bc" and "ab", "c" have different hashes.
const END_OF_TEXT = 0x10000;
const TWO_TO_32 = 2 ** 32;
// The author of sfc32 discards these steps after seeding, so that similar seeds give unrelated streams.
const WARM_UP_STEPS = 12;

function absorb({ first, second }: Hash, text: string): Hash {
  let [a, b] = [first, second];
  for (let i = 0; i <= text.length; i += 1) {
    const unit = i < text.length ? text.charCodeAt(i) : END_OF_TEXT;
    a = Math.imul(a ^ unit, 0x9e3779b1);
    b = Math.imul(b ^ unit, 0x5f356495);
    // Each lane mixes the other's high bits into its own low bits, which would otherwise depend on low bits only.
    a ^= b >>> 15;
    b ^= a >>> 13;
  }
  return { first: a, second: b };
}

/** Makes every bit of a lane depend on every other (the finalizer of MurmurHash3, public domain). */
function avalanche(lane: number): number {
  let bits = Math.imul(lane ^ (lane >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return bits ^ (bits >>> 16);
}

/** sfc32 of PractRand (http://pracrand.sourceforge.net): a stream of uniform numbers in [0, 1), 32 bits each. */
function streamOf({ first, second }: Hash): () => number {
  let a = avalanche(first);
  let b = avalanche(second);
  let c = avalanche(first ^ b);
  let counter = 1;
  const next = (): number => {
    const sum = (a + b + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (((c << 21) | (c >>> 11)) + sum) | 0;
    return (sum >>> 0) / TWO_TO_32;
  };
  for (let step = 0; step < WARM_UP_STEPS; step += 1) next();
  return next;
}

/** Marsaglia's polar method: a logarithm and a root have the same result on every machine, sines and powers may not. */
function gaussianFrom(next: () => number): number {
  for (;;) {
    const x = 2 * next() - 1;
    const y = 2 * next() - 1;
    const square = x * x + y * y;
    if (square > 0 && square < 1) return x * Math.sqrt((-2 * Math.log(square)) / square);
  }
}

/** A pseudo-random number in [0, 1), derived from the texts and their boundaries. */
export function uniformOf(...texts: readonly string[]): number {
  return streamOf(texts.reduce(absorb, EMPTY))();
}

/** The draws for one attempt of one session. `seed` is random for each process, which stores it with its decisions. */
export function drawsOf(seed: string, sessionId: string, attempt: number): Draws {
  const decision = [seed, sessionId, String(attempt)].reduce(absorb, EMPTY);
  return {
    gaussianOf: (routeId) => gaussianFrom(streamOf(absorb(decision, routeId))),
    uniform: streamOf(decision)(),
  };
}
