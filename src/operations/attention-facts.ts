import type { Environment } from '../domain/route.ts';
import { outcomesOf } from './sales-figures.ts';
import type { Deps } from './deps.ts';
import { readShownSales } from './read-overview.ts';

const HOUR_MS = 60 * 60_000;
const WEEK_MS = 7 * 24 * HOUR_MS;

/** Everything that the judgement of an environment depends on. */
export type AttentionFacts = Awaited<ReturnType<typeof readAttentionFacts>>;

export async function readAttentionFacts(deps: Deps, environment: Environment, allowsUnauthenticated: boolean) {
  const { store, router, readiness, providers } = deps;
  const now = deps.now();
  const outcomesBefore = async (until: number) => {
    const sales = await readShownSales(deps, { environment, from: until - HOUR_MS, until, step: 'quarter_hour' });
    return sales.sums;
  };
  const [unsolved, days, endpoints, keys, sessions, lastHour, usualHours] = await Promise.all([
    store.unsolved(environment, now),
    store.daySums(environment),
    store.endpoints(),
    store.listApiKeys({ environment }, { limit: 100 }),
    store.listSessions({ environment }, { limit: 1 }),
    outcomesBefore(now),
    Promise.all([1, 2, 3, 4].map((weeks) => outcomesBefore(now - weeks * WEEK_MS))),
  ]);
  return {
    environment,
    now,
    /** Sum of all ledger entries, which is 0 in a correct ledger. */
    ledgerCents: days.reduce((total, { debits, credits }) => total + debits - credits, 0),
    /** Routes with a connected provider that the catalogue does not disable. */
    routes: router
      .view(environment)
      .ranked.filter(
        ({ route, health }) => providers.has(route.integrationId) && health.cause !== 'disabled_in_catalogue',
      ),
    providers: readiness.list().filter((provider) => provider.environment === environment),
    /** Outcomes of the last hour, and of the same hour of each of the four weeks before. */
    lastHour: outcomesOf(lastHour),
    usualHour: outcomesOf(usualHours.flat()),
    unsolved,
    endpoints: endpoints.filter(({ status }) => status !== 'deleting'),
    /** The newest keys that are not revoked. */
    keys: keys.items.filter(({ revokedAt }) => revokedAt === null),
    allowsUnauthenticated,
    hasSession: sessions.items.length > 0,
  };
}
