import type { Logger } from 'pino';
import type { NewId } from '../../domain/id.ts';
import type { OutcomeResult } from '../../domain/route-outcome.ts';
import type { Instant } from '../../domain/records.ts';
import type { Environment, Route, RouteHealth } from '../../domain/route.ts';
import { type RouteEstimate, estimateRoutes } from '../../routing/estimate.ts';
import { reconfigureHealth } from '../../routing/health-override.ts';
import { releaseProbe } from '../../routing/health-probe.ts';
import { type HealthChange, type HealthRecord, healthPeers, configuredHealth } from '../../routing/health-record.ts';
import type { HealthSignals, ResultKind } from '../../routing/health-signals.ts';
import { nextHealth } from '../../routing/health-machine.ts';
import { DEFAULT_POLICY } from '../../routing/routing-policy.ts';
import type { RecentOutcome } from '../../store/tables/routing-tables.ts';
import type { Change, Store } from '../../store/store.ts';
import { withHealthEvents } from '../changes-of-event.ts';
import { type Estimates, priorsOf } from './read-estimates.ts';

export interface WatchDeps {
  store: Store;
  newId: NewId;
  log: Pick<Logger, 'info' | 'warn'>;
  /** Random number from 0 up to, not including, 1. */
  random(): number;
}

/** The routes of an environment; `connected` are the routes whose provider is ready. */
interface Watched {
  environment: Environment;
  routes: readonly Route[];
  connected: readonly Route[];
  /** Ids of the routes whose health in the catalogue has been applied, which happens once in a process. {@link watchHealth} adds ids. */
  configured: Set<string>;
}

export const RESULTS_READ = 40;
const RESULTS_JUDGED = 20;
// A clock that was set back must not leave a record in the future, where no result would count.
const CLOCK_TOLERANCE_MS = 60_000;

const KINDS: Record<OutcomeResult, ResultKind> = {
  accepted: 'handoff_accepted',
  refused: 'handoff_error',
  paid: 'success',
  failed: 'failure',
  neutral: 'neutral',
};

/** Evaluates the health of routes. One of the instances commits each change. Updates `health` and returns the number of transitions. */
export async function watchHealth(
  deps: WatchDeps,
  { environment, routes, connected, configured }: Watched,
  health: Map<string, HealthRecord>,
  estimates: Estimates,
): Promise<number> {
  const now = deps.store.now();
  await writeFirst(deps, environment, routes, health, now);
  const known = estimateRoutes(estimates.states, priorsOf(routes), now, DEFAULT_POLICY);
  const since = routes.map(({ id }) => ({ id, since: health.get(id)!.since }));
  const recent = await deps.store.recentResults(environment, since, RESULTS_READ);
  let transitions = 0;
  for (const [index, route] of routes.entries()) {
    const record = health.get(route.id)!;
    const results = recent[index]!;
    const ofKind = connected.filter(({ kind }) => kind === route.kind).map(({ id }) => health.get(id)!);
    const signals = signalsOf(known.get(route.id)!, record, results, healthPeers(ofKind, now), now);
    const setting = configured.has(route.id) ? undefined : route.health;
    const changes = changesOf(record, setting, results, signals, deps.random());
    if (changes.length === 0) {
      configured.add(route.id);
      continue;
    }
    const writes = changes.flatMap((change) => writesOf(deps, environment, route.id, change, now));
    const { done } = await deps.store.commit(await withHealthEvents(deps, route, writes));
    // Another instance has changed the route first. The next evaluation reads that change.
    if (!done) continue;
    configured.add(route.id);
    health.set(route.id, changes.at(-1)!.record);
    for (const { transition } of changes) {
      if (!transition) continue;
      transitions++;
      const { from, to, cause, words, numbers } = transition;
      const level = to === 'live' ? 'info' : 'warn';
      deps.log[level]({ environment, route: route.id, from, to, cause, numbers }, `route ${route.id} is ${words}`);
    }
  }
  return transitions;
}

/** Writes for a change of a route's health: the guarded record, and its transition, if any. */
export function writesOf(
  { newId }: Pick<WatchDeps, 'newId'>,
  environment: Environment,
  routeId: string,
  { record, transition }: HealthChange,
  now: Instant,
): Change[] {
  const { version, state } = record;
  const health = { environment, routeId, version, state, body: JSON.stringify(record) };
  const changed: Change = { type: 'route_health_changed', health };
  if (!transition) return [changed];
  const row = { id: newId('rtr'), environment, routeId, version, ...transition, created: now };
  return [changed, { type: 'transition_recorded', transition: row }];
}

/** Initial health of new routes, from the catalogue. */
async function writeFirst(
  deps: WatchDeps,
  environment: Environment,
  routes: readonly Route[],
  health: Map<string, HealthRecord>,
  now: Instant,
): Promise<void> {
  const changes: Change[] = [];
  for (const route of routes) {
    if (health.has(route.id)) continue;
    const record = configuredHealth(route.health, now);
    health.set(route.id, record);
    changes.push(...writesOf(deps, environment, route.id, { record, transition: null }, now));
  }
  // If another instance has written these records first, the next evaluation reads them.
  if (changes.length > 0) await deps.store.commit(changes);
}

/**
 * The results that are evidence about the route in its present state. In standby, only results of attempts that were made
 * in standby count: an attempt that began before proves nothing. Several refusals of one session count once,
 * because the session may be the cause.
 */
function tellingResults({ retryAt }: HealthRecord, results: readonly RecentOutcome[]): RecentOutcome[] {
  const refusedSessions = new Set<string>();
  return results.filter(({ probe, result, sessionId }) => {
    if (retryAt !== null && !probe) return false;
    if (result !== 'refused') return true;
    if (refusedSessions.has(sessionId)) return false;
    refusedSessions.add(sessionId);
    return true;
  });
}

export function signalsOf(
  { fast, slow, shiftedAt, latency }: RouteEstimate,
  record: HealthRecord,
  results: readonly RecentOutcome[],
  peers: HealthSignals['peers'],
  now: Instant,
): HealthSignals {
  const recent = tellingResults(record, results)
    .slice(0, RESULTS_JUDGED)
    .map(({ at, result }) => ({ at, kind: KINDS[result] }));
  return { now, shiftedAt, fast, slow, latency, recent, peers };
}

/** Changes of a route's health: by the catalogue, then by a finished probe, then by the results. */
export function changesOf(
  record: HealthRecord,
  configured: RouteHealth | undefined,
  results: readonly RecentOutcome[],
  signals: HealthSignals,
  jitter: number,
): HealthChange[] {
  const changes: HealthChange[] = [];
  const last = () => changes.at(-1)?.record ?? record;
  const add = (change: HealthChange | undefined) => change && changes.push(change);
  if (configured !== undefined) add(reconfigureHealth(record, configured, signals.now));
  if (last().since > signals.now + CLOCK_TOLERANCE_MS) {
    const { now } = signals;
    add({ record: { ...last(), since: now, countedAt: now, version: last().version + 1 }, transition: null });
  }
  const { leasePaymentId } = last();
  const ended = results.find(({ paymentId, result }) => paymentId === leasePaymentId && result !== 'accepted');
  if (ended) add({ record: releaseProbe(last(), ended.paymentId)!, transition: null });
  add(nextHealth(last(), signals, jitter));
  return changes;
}
