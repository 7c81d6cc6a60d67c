import type { Environment } from '../domain/route.ts';
import { outcomesOf } from './sales-figures.ts';
import type { Deps } from './deps.ts';
import { quarterHourOf } from './count-sales.ts';
import { type NewestSales, readSales } from './sales-report.ts';

const HOUR_MS = 60 * 60_000;
const DAY_MS = 24 * HOUR_MS;
const WEEK_MS = 7 * DAY_MS;
/** Days whose ledger is checked here. With METRICS_PORT, the service checks all days every minute, and logs an imbalance. */
const LEDGER_DAYS = 31;

/** Everything that the judgement of an environment depends on. */
export type AttentionFacts = Awaited<ReturnType<typeof readAttentionFacts>>;

export async function readAttentionFacts(
  deps: Deps,
  environment: Environment,
  { allowsUnauthenticated, newest }: { allowsUnauthenticated: boolean; newest: NewestSales },
) {
  const { store, router, readiness, providers } = deps;
  const now = deps.now();
  const { ranked } = router.view(environment);
  const lastHour = { environment, from: now - HOUR_MS, until: now, step: 'quarter_hour' } as const;
  const ends = [1, 2, 3, 4].map((weeks) => quarterHourOf(now) - weeks * WEEK_MS).filter((end) => end <= newest.final);
  const sameHours = ends.map((until) => {
    return { table: 'sales_quarter_hours', from: until - HOUR_MS, until, stepMs: HOUR_MS } as const;
  });
  const [ledgerCents, unsolved, endpoints, keys, hasSession, sales, before] = await Promise.all([
    store.ledgerImbalance(environment, Math.floor(now / DAY_MS) - LEDGER_DAYS),
    store.unsolved(environment, now),
    store.endpoints(),
    store.listApiKeys({ environment }, { limit: 1 }),
    store.hasSession(environment),
    readSales(deps, lastHour, newest),
    store.finalSums(environment, sameHours, newest.days),
  ]);
  return {
    environment,
    now,
    zone: deps.reportingZone,
    ledgerCents,
    /** Routes with a connected provider that the catalogue does not disable. */
    routes: ranked.filter(
      ({ route, health }) => providers.has(route.integrationId) && health.cause !== 'disabled_in_catalogue',
    ),
    providers: readiness.list().filter((provider) => provider.environment === environment),
    /** Outcomes of the last hour, and of the same hour of each of the four weeks before. */
    lastHour: outcomesOf(sales.sums),
    usualHour: outcomesOf(before ?? []),
    unsolved,
    endpoints: endpoints.filter(({ status }) => status !== 'deleting'),
    hasKey: keys.items.length > 0,
    allowsUnauthenticated,
    hasSession,
  };
}
