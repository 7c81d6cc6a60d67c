import { setTimeout as sleep } from 'node:timers/promises';
import { ENVIRONMENTS, type Environment, type RouteHealth } from '../domain/route.ts';
import type { Deps } from '../operations/deps.ts';
import type { Backlog } from '../store/monitoring.ts';
import type { Instruments } from '../telemetry/instruments.ts';
import { type LedgerSum, createLedgerSum } from './ledger-sum.ts';

/** In milliseconds. */
interface WatchLimits {
  /** How long an answer of the database is shown again: several who scrape cost it no more than one. */
  keptMs: number;
  /** How long it is waited for: a scrape has its own limit, and is answered while the database is not there. */
  patienceMs: number;
}

const LIMITS: WatchLimits = { keptMs: 3000, patienceMs: 2000 };
const LEDGER_EVERY_MS = 60_000;
const STATES: readonly RouteHealth[] = ['live', 'degraded', 'standby'];

type Watched = Pick<Deps, 'store' | 'router' | 'log' | 'now'>;

/** Knows what the metrics say of the database and of the routes. */
export interface Watch {
  /** Everything as text for Prometheus; never older than some seconds, but for the ledger's sum. */
  read(): Promise<string>;
  /** Adds the ledger up now, and every minute, apart from all scrapes. */
  start(): void;
  stop(): Promise<void>;
}

export function createWatch(deps: Watched, instruments: Instruments, limits = LIMITS): Watch {
  const sums = new Map(ENVIRONMENTS.map((environment) => [environment, createLedgerSum(deps.store, environment)]));
  const stopping = new AbortController();
  let looking: Promise<void> | undefined;
  let lookedAt = -Infinity;
  let watching: Promise<void> | undefined;

  async function look(): Promise<void> {
    try {
      for (const environment of ENVIRONMENTS) {
        const now = deps.now();
        showBacklog(instruments, environment, await deps.store.backlog(environment, now), now);
      }
      instruments.databaseUp.set(1);
      lookedAt = performance.now();
    } catch (error) {
      // What nobody can look up is not shown, rather than as it was.
      hideBacklogs(instruments);
      instruments.databaseUp.set(0);
      deps.log.debug({ err: error }, 'metrics: the database does not answer');
    } finally {
      looking = undefined;
    }
  }

  async function lookInTime(): Promise<void> {
    if (performance.now() - lookedAt < limits.keptMs) return;
    const limit = new AbortController();
    const passed = sleep(limits.patienceMs, 'late', { signal: limit.signal }).catch(() => undefined);
    const late = await Promise.race([(looking ??= look()), passed]);
    limit.abort();
    if (late === undefined) return;
    hideBacklogs(instruments);
    instruments.databaseUp.set(0);
  }

  async function addUp(environment: Environment, sum: LedgerSum): Promise<void> {
    try {
      const cents = await sum.refresh(stopping.signal);
      if (cents === undefined) return;
      if (cents !== 0) deps.log.error({ environment, cents }, 'the ledger does not sum to 0: run tillway doctor');
      instruments.imbalance.labels(environment).set(cents);
      instruments.ledgerChecked.labels(environment).set(deps.now() / 1000);
    } catch (error) {
      // An alert tells of a check that is missing.
      deps.log.warn({ environment, reason: String(error) }, 'the ledger could not be added up');
    }
  }

  async function watchLedger(): Promise<void> {
    while (!stopping.signal.aborted) {
      for (const [environment, sum] of sums) await addUp(environment, sum);
      await sleep(LEDGER_EVERY_MS, undefined, { signal: stopping.signal, ref: false }).catch(() => undefined);
    }
  }

  return {
    async read() {
      await lookInTime();
      showRoutes(instruments, deps);
      return instruments.register.metrics();
    },
    start() {
      watching ??= watchLedger();
    },
    async stop() {
      stopping.abort();
      await watching;
      await looking;
    },
  };
}

function showBacklog(to: Instruments, environment: Environment, backlog: Backlog, now: number): void {
  const age = (since: number | null) => (since === null ? 0 : Math.max(0, now - since) / 1000);
  to.pending.labels(environment).set(backlog.deliveriesPending);
  to.dead.labels(environment).set(backlog.deliveriesDead);
  to.lag.labels(environment).set(age(backlog.deliveryDueSince));
  to.endpoints.labels(environment, 'active').set(backlog.endpointsActive);
  to.endpoints.labels(environment, 'disabled').set(backlog.endpointsDisabled);
  to.sessionsPending.labels(environment).set(backlog.sessionsPending);
  to.refundsPending.labels(environment).set(backlog.refundsPending);
  to.refundAge.labels(environment).set(age(backlog.refundPendingSince));
  to.discrepancies.labels(environment).set(backlog.discrepanciesOpen);
  to.wakesDue.set(backlog.wakesDue);
  to.tasks.set(backlog.tasksPending);
}

function hideBacklogs(of: Instruments): void {
  const labelled = [of.pending, of.dead, of.lag, of.endpoints, of.sessionsPending, of.refundsPending, of.refundAge];
  for (const gauge of [...labelled, of.discrepancies]) gauge.reset();
  // Those without a label cannot be absent.
  for (const gauge of [of.wakesDue, of.tasks]) gauge.set(Number.NaN);
}

function showRoutes({ routeState, routeEstimate }: Instruments, { router }: Watched): void {
  for (const environment of ENVIRONMENTS) {
    for (const { route, facts } of router.view(environment).ranked) {
      for (const state of STATES) routeState.labels(environment, route.id, state).set(Number(facts.health === state));
      routeEstimate.labels(environment, route.id).set(facts.p);
    }
  }
}
