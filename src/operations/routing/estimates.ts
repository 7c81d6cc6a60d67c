import type { Instant } from '../../domain/records.ts';
import type { Environment, Route } from '../../domain/route.ts';
import { type RoutePrior, fold } from '../../routing/estimate.ts';
import { type RouteState, type States, type Tally, bucketOf, withFastCleared } from '../../routing/memory.ts';
import type { HealthRecord } from '../../routing/health-record.ts';
import { DEFAULT_POLICY } from '../../routing/policy.ts';
import type { EstimateRecord } from '../../store/routing.ts';
import type { Store } from '../../store/store.ts';

/** What the outcomes say of an environment's routes, as all instances compute it from the same rows. */
export interface Estimates {
  environment: Environment;
  /** Up to there, in ms since 1970, outcomes are folded into the stored states for good; null where they never were. */
  foldedUntil: Instant | null;
  /** The stored states, as read, so that unchanged ones are not parsed again. */
  storedBody: string;
  stored: States;
  /** Those with all outcomes since. */
  states: States;
}

interface StoredBody {
  algorithm: string;
  states: Record<string, RouteState>;
}

interface Clearing {
  routeId: string;
  /** Outcomes up to this one do not count on. */
  bucket: number;
}

const BUCKET_MS = DEFAULT_POLICY.bucketSeconds * 1000;
/** What is older hardly weighs: four half-lives of the slow memory are 16 hours. */
const LOOK_BACK_MS = 24 * 3600_000;
// An outcome is timed when it is decided and seen when it is committed; what is this old has been.
const SETTLED_MS = 60_000;

export function emptyEstimates(environment: Environment): Estimates {
  return { environment, foldedUntil: null, storedBody: '', stored: new Map(), states: new Map() };
}

export function priorsOf(routes: readonly Route[]): RoutePrior[] {
  return routes.map(({ id, kind, successRate }) => ({ id, successRate: successRate / 1_000_000, group: kind }));
}

/**
 * The states as of now: the stored ones with every outcome since, bucket by bucket. Where enough has become old, it is
 * folded into the stored ones, by whichever instance comes first.
 */
export async function readEstimates(
  store: Store,
  environment: Environment,
  routes: readonly Route[],
  health: ReadonlyMap<string, HealthRecord>,
  before: Estimates,
): Promise<Estimates> {
  const now = store.now();
  const record = await store.routeEstimates(environment);
  const base = record ? parsed(record, before) : emptyEstimates(environment);
  const since = base.foldedUntil ?? (bucketOf(now - LOOK_BACK_MS, DEFAULT_POLICY) + 1) * BUCKET_MS;
  const ids = routes.map(({ id }) => id);
  const buckets = byBucket(ids, await store.outcomeTallies(environment, ids, since));
  const clearings = clearingsOf(health);
  const settled = bucketOf(now - SETTLED_MS, DEFAULT_POLICY);
  const priors = priorsOf(routes);

  let stored = base.stored;
  let states = base.stored;
  let isOld = false;
  for (const [bucket, tallies] of buckets) {
    const after = fold(cleared(states, bucket, clearings), tallies, bucket, priors, DEFAULT_POLICY);
    states = after;
    if (bucket < settled) {
      stored = after;
      isOld = true;
    }
  }
  states = cleared(states, bucketOf(now, DEFAULT_POLICY), clearings);
  if (!isOld) return { ...base, states };
  const foldedUntil = settled * BUCKET_MS;
  const body: StoredBody = { algorithm: DEFAULT_POLICY.algorithm, states: Object.fromEntries(stored) };
  const estimates: EstimateRecord = { environment, foldedUntil, body: JSON.stringify(body) };
  const { done } = await store.commit([{ type: 'estimates_folded', estimates, from: record?.foldedUntil ?? null }]);
  // Another instance came first, and stored the same.
  if (!done) return { ...base, states };
  return { environment, foldedUntil, storedBody: estimates.body, stored, states };
}

function parsed({ environment, foldedUntil, body }: EstimateRecord, before: Estimates): Estimates {
  if (body === before.storedBody) return { ...before, foldedUntil };
  const { algorithm, states } = JSON.parse(body) as StoredBody;
  // Another version of the program counted in another way: the outcomes themselves are still there.
  if (algorithm !== DEFAULT_POLICY.algorithm) return emptyEstimates(environment);
  const stored = new Map(Object.entries(states));
  return { environment, foldedUntil, storedBody: body, stored, states: stored };
}

function byBucket(ids: readonly string[], tallies: readonly Tally[][]): [number, Map<string, Tally>][] {
  const buckets = new Map<number, Map<string, Tally>>();
  for (const [index, ofRoute] of tallies.entries()) {
    for (const tally of ofRoute) {
      const together = buckets.get(tally.bucket) ?? new Map<string, Tally>();
      buckets.set(tally.bucket, together.set(ids[index]!, tally));
    }
  }
  return [...buckets].toSorted(([a], [b]) => a - b);
}

/** A route that is back from standby is judged by what comes after: its fast counts begin anew there. */
function clearingsOf(health: ReadonlyMap<string, HealthRecord>): Clearing[] {
  return [...health].flatMap(([routeId, { cause, since }]) =>
    cause === 'probes_succeeded' || cause === 'override_ended'
      ? [{ routeId, bucket: bucketOf(since, DEFAULT_POLICY) }]
      : [],
  );
}

function cleared(states: States, bucket: number, clearings: readonly Clearing[]): States {
  const due = clearings.filter(({ routeId, bucket: from }) => {
    const state = states.get(routeId);
    return state !== undefined && from <= bucket && state.bucket <= from;
  });
  if (due.length === 0) return states;
  const after = new Map(states);
  for (const { routeId } of due) {
    after.set(routeId, withFastCleared(after.get(routeId)!));
  }
  return after;
}
