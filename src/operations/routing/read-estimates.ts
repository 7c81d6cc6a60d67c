import { setImmediate as turn } from 'node:timers/promises';
import type { Instant } from '../../domain/records.ts';
import type { Environment, Route } from '../../domain/route.ts';
import { fold } from '../../routing/estimate.ts';
import type { RoutePrior } from '../../routing/pooled-prior.ts';
import { type RouteState, type States, type Tally, bucketOf, withoutFastMemory } from '../../routing/route-memory.ts';
import { type ContextRatios, contextRatios } from '../../routing/context-offsets.ts';
import type { HealthRecord } from '../../routing/health-record.ts';
import { DEFAULT_POLICY } from '../../routing/routing-policy.ts';
import type { EstimateRecord } from '../../store/tables/routing-tables.ts';
import type { Store } from '../../store/store.ts';

/** Estimates of an environment's routes, which all instances compute from the same rows. */
export interface Estimates {
  /** Outcomes before this time, in ms since 1970, are folded into the stored states; null before the first fold. */
  foldedUntil: Instant | null;
  /** JSON of the stored states, so that unchanged states are not parsed again. */
  storedBody: string;
  stored: States;
  /** The stored states with all later outcomes. */
  states: States;
  /** Failures of the routes by context, from the stored states. */
  ratios: ReadonlyMap<string, ContextRatios>;
}

// Causes of a return from standby, which clears the estimates of the route.
const CLEARING = new Set<HealthRecord['cause']>(['probes_succeeded', 'untried', 'override_ended']);

/** For each route that came back from standby, the last bucket that its fast memory forgets. */
type Clearings = ReadonlyMap<string, number>;

const BUCKET_MS = DEFAULT_POLICY.bucketSeconds * 1000;
/** Six half-lives of the slow memory, in which older outcomes hardly weigh. The long-term rate loses them. */
const LOOK_BACK_MS = 24 * 3600_000;
// An outcome has the time of its decision, and other instances see it after its commit, at most some seconds later.
const SETTLED_MS = 20_000;
const BUCKETS_IN_A_TURN = 60;
const UNKNOWN_SUCCESS_RATE = 0.85;
const SLICE_MS = 10 * 60_000;
const LONGEST_SLICE_MS = 60 * 60_000;
// Minimum length of a range without outcomes that is folded into the stored states, so that it is not read again.
const EMPTY_FOLDED_MS = 10 * 60_000;

export const NO_ESTIMATES: Estimates = {
  foldedUntil: null,
  storedBody: '',
  stored: new Map(),
  states: new Map(),
  ratios: new Map(),
};

/** Priors of routes: their configured success rates, grouped by kind. */
export function priorsOf(routes: readonly Route[]): RoutePrior[] {
  return routes.map(({ id, kind, successRate }) => ({ id, successRate: successRate / 1_000_000, group: kind }));
}

/** The stored states with every later outcome. The first instance to commit folds old outcomes into them. */
export async function readEstimates(
  store: Store,
  environment: Environment,
  routes: readonly Route[],
  health: ReadonlyMap<string, HealthRecord>,
  before: Estimates,
): Promise<Estimates> {
  const now = store.now();
  const record = await store.routeEstimates(environment, DEFAULT_POLICY.memoryVersion);
  // After the clock was set back, stored states lie in the future. They are then computed again from the outcomes.
  const isAhead = record !== undefined && record.foldedUntil > now + SETTLED_MS;
  const base = record && !isAhead ? parsed(record, before) : NO_ESTIMATES;
  const clearings = clearingsOf(health);
  const priors = [...priorsOf(routes), ...foreignRoutes(routes, health)];
  const ids = priors.map(({ id }) => id);
  const settled = startOfBucket(now - SETTLED_MS);
  // Limits the look-back, for example after the service was stopped for a month.
  const since = Math.max(base.foldedUntil ?? 0, startOfBucket(now - LOOK_BACK_MS) + BUCKET_MS);

  const old = await readSettled(store, environment, ids, since, settled);
  const tallies = await store.outcomeTallies(environment, ids, Math.max(since, settled), Number.MAX_SAFE_INTEGER);
  const folded = await foldAll(base.stored, old, priors, clearings);
  const latest = await foldAll(folded, byBucket(ids, tallies), priors, clearings);
  const states = cleared(latest, bucketOf(now, DEFAULT_POLICY), clearings);
  if (old.length === 0 && settled - since < EMPTY_FOLDED_MS) return { ...base, states };
  const estimates: EstimateRecord = {
    environment,
    algorithm: DEFAULT_POLICY.memoryVersion,
    foldedUntil: settled,
    body: JSON.stringify(Object.fromEntries(folded)),
  };
  const { done } = await store.commit([{ type: 'estimates_folded', estimates, from: record?.foldedUntil ?? null }]);
  // If another instance has stored the same states first, the next read finds them.
  return { ...(done ? estimatesOf(estimates, folded) : base), states };
}

/** Routes that only the catalogue of another instance has. Their outcomes are folded too, so that the other instance does not lose them. */
function foreignRoutes(routes: readonly Route[], health: ReadonlyMap<string, HealthRecord>): RoutePrior[] {
  const own = new Set(routes.map(({ id }) => id));
  const others = [...health.keys()].filter((id) => !own.has(id)).toSorted();
  return others.map((id) => ({ id, successRate: UNKNOWN_SUCCESS_RATE, group: '' }));
}

type Bucket = [number, Map<string, Tally>];

/** Reads settled buckets with their contexts, in slices, because a day of outcomes would be one long statement and block the event loop. */
async function readSettled(
  store: Store,
  environment: Environment,
  ids: readonly string[],
  from: Instant,
  until: Instant,
): Promise<Bucket[]> {
  const buckets: Bucket[] = [];
  let slice = SLICE_MS;
  for (let start = from; start < until;) {
    const end = Math.min(until, start + slice);
    const [tallies, contexts] = await Promise.all([
      store.outcomeTallies(environment, ids, start, end),
      store.outcomeContexts(environment, ids, start, end),
    ]);
    const found = byBucket(ids, tallies, contexts);
    buckets.push(...found);
    start = end;
    // Longer slices while there are no outcomes, so that a quiet service does not send a query for every ten minutes of a day.
    slice = found.length === 0 ? Math.min(2 * slice, LONGEST_SLICE_MS) : SLICE_MS;
  }
  return buckets;
}

/** Folds in turns with other work, because the outcomes of a day can take some seconds. */
async function foldAll(
  stored: States,
  buckets: readonly Bucket[],
  priors: readonly RoutePrior[],
  clearings: Clearings,
): Promise<States> {
  let states = stored;
  for (const [place, [bucket, tallies]] of buckets.entries()) {
    if (place % BUCKETS_IN_A_TURN === BUCKETS_IN_A_TURN - 1) await turn();
    states = fold(cleared(states, bucket, clearings), tallies, bucket, priors, DEFAULT_POLICY);
  }
  return states;
}

function startOfBucket(ms: Instant): Instant {
  return bucketOf(ms, DEFAULT_POLICY) * BUCKET_MS;
}

function parsed(record: EstimateRecord, before: Estimates): Estimates {
  if (record.body === before.storedBody) return { ...before, foldedUntil: record.foldedUntil };
  return estimatesOf(record, new Map(Object.entries(JSON.parse(record.body) as Record<string, RouteState>)));
}

/** The estimates from the states of `record`, which are `stored`, without later outcomes. */
function estimatesOf({ foldedUntil, body }: EstimateRecord, stored: States): Estimates {
  const contexts = new Map([...stored].map(([id, state]) => [id, state.contexts]));
  return { foldedUntil, storedBody: body, stored, states: stored, ratios: contextRatios(contexts, DEFAULT_POLICY) };
}

function byBucket(
  ids: readonly string[],
  tallies: Awaited<ReturnType<Store['outcomeTallies']>>,
  contexts: Awaited<ReturnType<Store['outcomeContexts']>> = [],
): Bucket[] {
  const buckets = new Map<number, Map<string, Tally>>();
  for (const [index, ofRoute] of tallies.entries()) {
    const own = Map.groupBy(contexts[index] ?? [], ({ bucket }) => bucket);
    for (const tally of ofRoute) {
      const together = buckets.get(tally.bucket) ?? new Map<string, Tally>();
      buckets.set(tally.bucket, together.set(ids[index]!, { ...tally, contexts: own.get(tally.bucket) ?? [] }));
    }
  }
  return [...buckets].toSorted(([a], [b]) => a - b);
}

export function clearingsOf(health: ReadonlyMap<string, HealthRecord>): Clearings {
  const returned = [...health].filter(([, { cause }]) => CLEARING.has(cause));
  return new Map(returned.map(([id, { since }]) => [id, bucketOf(since, DEFAULT_POLICY)]));
}

export function cleared(states: States, bucket: number, clearings: Clearings): States {
  const after = new Map(states);
  for (const [id, last] of clearings) {
    const state = states.get(id);
    if (state && state.bucket <= last && last <= bucket) after.set(id, withoutFastMemory(state));
  }
  return after;
}
