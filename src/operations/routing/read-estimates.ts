import { setImmediate as turn } from 'node:timers/promises';
import type { Instant } from '../../domain/records.ts';
import type { Environment, Route } from '../../domain/route.ts';
import { type RoutePrior, fold } from '../../routing/estimate.ts';
import { type RouteState, type States, type Tally, bucketOf, withoutFastMemory } from '../../routing/route-memory.ts';
import { type ContextRatios, contextRatios } from '../../routing/context-offsets.ts';
import type { HealthRecord } from '../../routing/health-record.ts';
import { DEFAULT_POLICY } from '../../routing/routing-policy.ts';
import type { EstimateRecord } from '../../store/tables/routing-tables.ts';
import type { Store } from '../../store/store.ts';

/** Estimates of an environment's routes, which all instances compute from the same rows. */
export interface Estimates {
  environment: Environment;
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

interface Clearing {
  routeId: string;
  /** The last bucket whose outcomes no longer count. */
  bucket: number;
}

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

export function emptyEstimates(environment: Environment): Estimates {
  return { environment, foldedUntil: null, storedBody: '', stored: new Map(), states: new Map(), ratios: new Map() };
}

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
  const base = record && !isAhead(record, now) ? parsed(record, before) : emptyEstimates(environment);
  const clearings = clearingsOf(health);
  const priors = [...priorsOf(routes), ...foreignRoutes(routes, health)];
  const settled = startOfBucket(now - SETTLED_MS);
  // Limits the look-back, for example after the service was stopped for a month.
  const since = Math.max(base.foldedUntil ?? 0, startOfBucket(now - LOOK_BACK_MS) + BUCKET_MS);

  const old = await readBuckets(store, environment, priors, { from: since, until: settled }, true);
  const recent = await readBuckets(
    store,
    environment,
    priors,
    { from: Math.max(since, settled), until: Infinity },
    false,
  );
  const folded = await foldAll(base.stored, old, priors, clearings);
  const latest = await foldAll(folded, recent, priors, clearings);
  const states = cleared(latest, bucketOf(now, DEFAULT_POLICY), clearings);
  if (old.length === 0 && settled - since < EMPTY_FOLDED_MS) return { ...base, states };
  const estimates: EstimateRecord = {
    environment,
    algorithm: DEFAULT_POLICY.memoryVersion,
    foldedUntil: settled,
    body: JSON.stringify(Object.fromEntries(folded)),
  };
  const { done } = await store.commit([{ type: 'estimates_folded', estimates, from: record?.foldedUntil ?? null }]);
  // Another instance has stored the same states first.
  if (!done) return { ...base, states };
  return {
    environment,
    foldedUntil: settled,
    storedBody: estimates.body,
    stored: folded,
    states,
    ratios: ratiosOf(folded),
  };
}

/** Routes that only the catalogue of another instance has. Their outcomes are folded too, so that the other instance does not lose them. */
function foreignRoutes(routes: readonly Route[], health: ReadonlyMap<string, HealthRecord>): RoutePrior[] {
  const own = new Set(routes.map(({ id }) => id));
  const others = [...health.keys()].filter((id) => !own.has(id)).toSorted();
  return others.map((id) => ({ id, successRate: UNKNOWN_SUCCESS_RATE, group: '' }));
}

/** True if stored states lie in the future, after the clock was set back. They are then computed again from the outcomes. */
function isAhead({ foldedUntil }: EstimateRecord, now: Instant): boolean {
  return foldedUntil > now + SETTLED_MS;
}

type Bucket = [number, Map<string, Tally>];

/** Reads buckets in slices, the settled ones with their contexts, because a day of outcomes would be one long statement and block the event loop. */
async function readBuckets(
  store: Store,
  environment: Environment,
  routes: readonly { id: string }[],
  { from, until }: { from: Instant; until: Instant },
  areSettled: boolean,
): Promise<Bucket[]> {
  const ids = routes.map(({ id }) => id);
  const buckets: Bucket[] = [];
  let slice = SLICE_MS;
  for (let start = from; start < until;) {
    const isLast = until === Infinity;
    const end = isLast ? Number.MAX_SAFE_INTEGER : Math.min(until, start + slice);
    const [tallies, contexts] = await Promise.all([
      store.outcomeTallies(environment, ids, start, end),
      areSettled ? store.outcomeContexts(environment, ids, start, end) : [],
    ]);
    const found = byBucket(ids, tallies, contexts);
    buckets.push(...found);
    if (isLast) break;
    start = end;
    // Longer slices while there are no outcomes, so that a quiet service does not send a query for every ten minutes of a day.
    slice = found.length === 0 ? Math.min(2 * slice, LONGEST_SLICE_MS) : SLICE_MS;
  }
  return buckets;
}

/** Folds in turns with other work, because the outcomes of a day can take a second. */
async function foldAll(
  stored: States,
  buckets: readonly Bucket[],
  priors: readonly RoutePrior[],
  clearings: readonly Clearing[],
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

function parsed({ environment, foldedUntil, body }: EstimateRecord, before: Estimates): Estimates {
  if (body === before.storedBody) return { ...before, foldedUntil };
  const stored = new Map(Object.entries(JSON.parse(body) as Record<string, RouteState>));
  return { environment, foldedUntil, storedBody: body, stored, states: stored, ratios: ratiosOf(stored) };
}

function ratiosOf(states: States): ReadonlyMap<string, ContextRatios> {
  return contextRatios(new Map([...states].map(([id, { contexts }]) => [id, contexts])), DEFAULT_POLICY);
}

function byBucket(
  ids: readonly string[],
  tallies: Awaited<ReturnType<Store['outcomeTallies']>>,
  contexts: Awaited<ReturnType<Store['outcomeContexts']>>,
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

/** Times at which routes came back from standby. At that time, the fast memory of the route is cleared. */
export function clearingsOf(health: ReadonlyMap<string, HealthRecord>): Clearing[] {
  return [...health].flatMap(([routeId, { cause, since }]) =>
    CLEARING.has(cause) ? [{ routeId, bucket: bucketOf(since, DEFAULT_POLICY) }] : [],
  );
}

export function cleared(states: States, bucket: number, clearings: readonly Clearing[]): States {
  const due = clearings.filter(({ routeId, bucket: from }) => {
    const state = states.get(routeId);
    return state !== undefined && from <= bucket && state.bucket <= from;
  });
  if (due.length === 0) return states;
  const after = new Map(states);
  for (const { routeId } of due) {
    after.set(routeId, withoutFastMemory(after.get(routeId)!));
  }
  return after;
}
