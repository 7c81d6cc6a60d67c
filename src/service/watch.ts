import { setTimeout as sleep } from 'node:timers/promises';
import { ENVIRONMENTS, type Environment, type RouteHealth } from '../domain/route.ts';
import type { Deps } from '../operations/deps.ts';
import type { Backlog } from '../store/tables/backlog-reads.ts';
import type { Instruments } from '../telemetry/instruments.ts';

/** Lifetime of a database answer, so that several scrapers cost no more than one. */
const KEPT_MS = 3000;
const LEDGER_EVERY_MS = 60_000;
const STATES: readonly RouteHealth[] = ['live', 'degraded', 'standby'];

type Watched = Pick<Deps, 'store' | 'router' | 'readiness' | 'log' | 'now'>;

/** Metrics about the database and the routes. */
interface Watch {
  /** All metrics as text for Prometheus, at most some seconds old except for the sum of the ledger. */
  read(): Promise<string>;
  /** Sums the ledger now and every minute, independently of scrapes. */
  start(): void;
  stop(): Promise<void>;
}

export function createWatch(deps: Watched, instruments: Instruments, keptMs = KEPT_MS): Watch {
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
      // Metrics without a present value are left out.
      hideBacklogs(instruments);
      instruments.databaseUp.set(0);
      deps.log.debug({ err: error }, 'metrics: the database does not answer');
    } finally {
      looking = undefined;
    }
  }

  /** The database maintains the sums, and `tillway doctor` compares them with the entries. */
  async function sumLedger(environment: Environment): Promise<void> {
    try {
      const sums = await deps.store.daySums(environment);
      const cents = sums.reduce((total, { debits, credits }) => total + debits - credits, 0);
      if (cents !== 0) deps.log.error({ environment, cents }, 'the ledger does not sum to 0: run tillway doctor');
      instruments.imbalance.labels(environment).set(cents);
      instruments.ledgerChecked.labels(environment).set(deps.now() / 1000);
    } catch (error) {
      // An alert reports the missing check.
      deps.log.warn({ environment, reason: String(error) }, 'the ledger could not be summed');
    }
  }

  async function watchLedger(): Promise<void> {
    while (!stopping.signal.aborted) {
      for (const environment of ENVIRONMENTS) await sumLedger(environment);
      await sleep(LEDGER_EVERY_MS, undefined, { signal: stopping.signal, ref: false }).catch(() => undefined);
    }
  }

  return {
    async read() {
      // The store answers or fails within the time limit of a scrape.
      if (performance.now() - lookedAt >= keptMs) await (looking ??= look());
      showRoutes(instruments, deps);
      for (const { id, ready } of deps.readiness.list()) instruments.providerReady.labels(id).set(Number(ready));
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
  // Gauges without labels cannot be absent.
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
