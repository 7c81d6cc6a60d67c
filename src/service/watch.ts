import { setTimeout as sleep } from 'node:timers/promises';
import { ENVIRONMENTS, type Environment, ROUTE_HEALTHS } from '../domain/route.ts';
import type { Deps } from '../operations/deps.ts';
import type { Backlog } from '../store/tables/backlog-reads.ts';
import type { Instruments } from '../telemetry/instruments.ts';

/** Time for which the query results are cached, so that several scrapers cause no more queries than one scraper. */
const KEPT_MS = 3000;
const LEDGER_EVERY_MS = 60_000;

type Watched = Pick<Deps, 'store' | 'router' | 'readiness' | 'log' | 'now'>;

/** Reader of the metrics about the database and the routes. */
interface Watch {
  /** Returns all metrics as text for Prometheus. The values are a few seconds old at most; the sum of the ledger can be older. */
  read(): Promise<string>;
  /** Starts to sum the ledger every minute, independently of scrapes. */
  start(): void;
  stop(): Promise<void>;
}

/** Creates the reader of the database and route metrics, whose values it stores in `instruments`. */
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
      // Removes the backlog metrics, which have no current value.
      hideBacklogs(instruments);
      instruments.databaseUp.set(0);
      deps.log.debug({ err: error }, 'metrics: the database does not answer');
    } finally {
      looking = undefined;
    }
  }

  /** Checks that the day sums of the ledger add up to 0. `tillway doctor` compares the day sums with the entries. */
  async function sumLedger(environment: Environment): Promise<void> {
    try {
      const sums = await deps.store.daySums(environment);
      const cents = sums.reduce((total, { debits, credits }) => total + debits - credits, 0);
      if (cents !== 0) deps.log.error({ environment, cents }, 'the ledger does not sum to 0: run tillway doctor');
      instruments.imbalance.labels(environment).set(cents);
      instruments.ledgerChecked.labels(environment).set(deps.now() / 1000);
    } catch (error) {
      // Only logs a failure, because the alert TillwayLedgerUnchecked reports missing checks.
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
      // Needs no timeout, because the store answers or fails within the time limit of a scrape.
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
  // Sets NaN, because a gauge without labels cannot be removed.
  for (const gauge of [of.wakesDue, of.tasks]) gauge.set(Number.NaN);
}

function showRoutes({ routeState, routeEstimate }: Instruments, { router }: Watched): void {
  for (const environment of ENVIRONMENTS) {
    for (const { route, facts } of router.view(environment).ranked) {
      for (const state of ROUTE_HEALTHS)
        routeState.labels(environment, route.id, state).set(Number(facts.health === state));
      routeEstimate.labels(environment, route.id).set(facts.p);
    }
  }
}
