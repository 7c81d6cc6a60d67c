import { COMMON_CONTEXTS, type PaymentContexts } from '../domain/payment-contexts.ts';
import type { Policy } from './routing-policy.ts';

/** Outcomes of one route in payments of one context: failures `seen`, failures `expected` from the estimate of the route, and successes. */
interface Outcomes {
  seen: number;
  expected: number;
  successes: number;
}

/** Outcomes of a route by the name and the value of a context. The sums decay; they are stored with the weight that they have at `bucket`. */
export interface ContextMemory {
  bucket: number;
  outcomes: Readonly<Record<string, Readonly<Record<string, Outcomes>>>>;
}

/** Outcomes of one bucket whose payments had the same contexts. */
export interface ContextOutcomes {
  contexts: PaymentContexts;
  successes: number;
  failures: number;
}

/** Failures of a route in a context in relation to its usual failures, by the name and the value of the context: 2 is twice as many. */
export type ContextRatios = ReadonlyMap<string, ReadonlyMap<string, number>>;

export const NO_CONTEXTS: ContextMemory = { bucket: 0, outcomes: {} };

// Bounds of the ratio of all contexts of a payment together.
const LOWEST_RATIO = 1 / 8;
const HIGHEST_RATIO = 8;
// A route that has always failed keeps a positive rate, because a route with a rate of 0 would never be tried again.
const LOWEST_RATE = 0.0001;
const HIGHEST_RATE = 0.9999;
/** Smallest difference of a ratio to 1 that changes a choice. */
const LEAST_DIFFERENCE = 0.05;
/** The weights of the values of a named context are optimal if its ratios need this shrinkage. The prior assumes less. */
const USUAL_SHRINKAGE = 10;
// Added to each number of outcomes whose logarithm is needed.
const SMOOTHING = 0.01;

/** The memory with the outcomes of a later bucket. `failureRate` is the share of failures that the estimate of the route expects. */
export function withContexts(
  memory: ContextMemory,
  added: readonly ContextOutcomes[],
  { bucket, failureRate, weight }: { bucket: number; failureRate: number; weight: number },
  policy: Policy,
): ContextMemory {
  if (added.length === 0) return memory;
  const { halfLifeSeconds, mostValues } = policy.context;
  const kept = Math.exp((-Math.LN2 * policy.bucketSeconds * (bucket - memory.bucket)) / halfLifeSeconds);
  // Maps, because a value is any text, such as the name of a property of every object.
  const after = new Map(
    Object.entries(memory.outcomes).map(([name, values]) => [
      name,
      new Map(Object.entries(values).map(([value, outcomes]) => [value, scaled(outcomes, kept)])),
    ]),
  );
  const newOutcomes = added.flatMap(({ contexts, successes, failures }) =>
    Object.entries(contexts).map(([name, value]) => ({ name, value, failures, successes })),
  );
  for (const [name, ofName] of Map.groupBy(newOutcomes, (each) => each.name)) {
    const values = after.get(name) ?? new Map<string, Outcomes>();
    for (const [value, ofValue] of Map.groupBy(ofName, (each) => each.value)) {
      const before = values.get(value) ?? { seen: 0, expected: 0, successes: 0 };
      // Whole numbers are added first, so that the order of the outcomes does not matter.
      const failures = ofValue.reduce((sum, each) => sum + each.failures, 0);
      const successes = ofValue.reduce((sum, each) => sum + each.successes, 0);
      values.set(value, {
        seen: Math.max(0, before.seen + weight * failures),
        expected: Math.max(0, before.expected + weight * (failures + successes) * failureRate),
        successes: Math.max(0, before.successes + weight * successes),
      });
    }
    while (values.size > mostValues) values.delete(rarestOf(values));
    after.set(name, values);
  }
  const outcomes = Object.fromEntries([...after].map(([name, values]) => [name, Object.fromEntries(values)]));
  return { bucket, outcomes };
}

function rarestOf(values: ReadonlyMap<string, Outcomes>): string {
  return [...values].reduce((least, each) => (each[1].expected < least[1].expected ? each : least))[0];
}

/** Outcomes of one route in one context. `expected` is scaled, so that over all values of the context as many are expected as seen. */
interface Cell extends Outcomes {
  value: string;
  /** Probability that the route treats this value unlike all others, for example that it refuses a country. */
  exception: number;
}

/**
 * Ratios of each route. A ratio is shrunk towards 1, the more the less the values of its context differ over all routes, so that a
 * context that means nothing changes nothing. A value that the route treats unlike all others is shrunk less.
 */
export function contextRatios(
  memories: ReadonlyMap<string, ContextMemory>,
  policy: Policy,
): ReadonlyMap<string, ContextRatios> {
  const ratios = new Map([...memories.keys()].map((id) => [id, new Map<string, ReadonlyMap<string, number>>()]));
  const names = new Set([...memories.values()].flatMap(({ outcomes }) => Object.keys(outcomes)));
  for (const name of names) {
    const cells = new Map([...memories].map(([id, { outcomes }]) => [id, cellsOf(outcomes[name] ?? {}, policy)]));
    const shrinkage = shrinkageOf([...cells.values()].flat(), COMMON_CONTEXTS.has(name), policy);
    for (const [id, own] of cells) ratios.get(id)!.set(name, ratiosOf(own, shrinkage, policy));
  }
  return ratios;
}

function cellsOf(values: Readonly<Record<string, Outcomes>>, { context }: Policy): Cell[] {
  const total = sumOf(Object.values(values));
  const level = total.expected > 0 ? total.seen / total.expected : 1;
  return Object.entries(values).map(([value, each]) => {
    const outcomes = { ...each, expected: each.expected * level };
    return { ...outcomes, value, exception: exceptionOf(outcomes, context.evidence) };
  });
}

/**
 * Probability of an exception: 50 % if the evidence equals `prior`. The evidence is the log-likelihood of the outcomes at their own
 * share of failures, less that at the usual share.
 */
function exceptionOf({ seen, expected, successes }: Outcomes, prior: number): number {
  const [failed, succeeded] = [seen + SMOOTHING, successes + SMOOTHING];
  const usual = Math.min(expected, seen + successes) + SMOOTHING;
  const evidence = failed * Math.log(failed / usual) + succeeded * Math.log(succeeded / (failed + succeeded - usual));
  return 1 / (1 + Math.exp(prior - evidence));
}

/**
 * Weight, in failures, with which ratios are shrunk: the inverse of the variance of the ratios. The method of moments gives the
 * variance of the values that are no exceptions, as the squared differences beyond those of random (Poisson) counts. In a common
 * context, all failures have the same weight. In a named context, all values with many failures have nearly the same
 * weight: a route gets most payments of the values that it handles best, so their ratios are near 1 and would hide those of the others.
 */
function shrinkageOf(cells: readonly Cell[], isCommon: boolean, { context }: Policy): number {
  const { priorWeight, priorShrinkage } = isCommon ? context.common : context.named;
  let excess = 0;
  let weight = 0;
  for (const { seen, expected, exception } of cells) {
    const scale = isCommon ? expected + 1 : (expected + USUAL_SHRINKAGE) ** 2;
    excess += ((1 - exception) * ((seen - expected) ** 2 - expected)) / scale;
    weight += ((1 - exception) * expected ** 2) / scale;
  }
  return Math.max(
    context.leastShrinkage,
    (weight + priorWeight) / (Math.max(0, excess) + priorWeight / priorShrinkage),
  );
}

function ratiosOf(cells: readonly Cell[], shrinkage: number, { context }: Policy): ReadonlyMap<string, number> {
  const others = sumOf(cells.map((cell) => scaled(cell, 1 - cell.exception)));
  const rest = (others.seen + context.restWeight) / (others.expected + context.restWeight);
  return new Map(
    cells.map(({ value, seen, expected, exception }) => {
      const shrunk = (seen + shrinkage * rest) / (expected + shrinkage);
      const own = (seen + 1) / (expected + 1);
      return [value, exception * own + (1 - exception) * shrunk];
    }),
  );
}

function scaled({ seen, expected, successes }: Outcomes, share: number): Outcomes {
  return { seen: seen * share, expected: expected * share, successes: successes * share };
}

function sumOf(outcomes: readonly Outcomes[]): Pick<Outcomes, 'seen' | 'expected'> {
  return outcomes.reduce(
    (total, { seen, expected }) => ({ seen: total.seen + seen, expected: total.expected + expected }),
    { seen: 0, expected: 0 },
  );
}

/** A context of a payment in which a route fails more or less often than usual: a `ratio` of 2 means twice as often. */
export interface Offset {
  context: string;
  value: string;
  /** 2 decimals. */
  ratio: number;
}

/** The offsets of a route for a payment with these contexts, the largest first, without those that change little. */
export function offsetsOf(ratios: ContextRatios | undefined, contexts: PaymentContexts): Offset[] {
  const offsets: Offset[] = [];
  // A loop, because every new session computes the offsets of every route.
  for (const context in contexts) {
    const value = contexts[context]!;
    const ratio = Math.round((ratios?.get(context)?.get(value) ?? 1) * 100) / 100;
    if (Math.abs(ratio - 1) >= LEAST_DIFFERENCE) offsets.push({ context, value, ratio });
  }
  return offsets.toSorted((a, b) => Math.abs(Math.log(b.ratio)) - Math.abs(Math.log(a.ratio)));
}

/** A success rate with offsets, 4 decimals. */
export function withOffsets(rate: number, offsets: readonly Offset[]): number {
  if (offsets.length === 0) return rate;
  const ratio = offsets.reduce((product, each) => product * each.ratio, 1);
  const failures = (1 - rate) * Math.min(HIGHEST_RATIO, Math.max(LOWEST_RATIO, ratio));
  return publishedRate(1 - failures);
}

/** A success rate within its bounds, 4 decimals. */
export function publishedRate(rate: number): number {
  return Math.round(Math.min(HIGHEST_RATE, Math.max(LOWEST_RATE, rate)) * 10_000) / 10_000;
}
