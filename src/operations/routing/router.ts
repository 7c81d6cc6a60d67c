import { setImmediate as turn } from 'node:timers/promises';
import { ENVIRONMENTS, type Environment, type Route } from '../../domain/route.ts';
import type { Provider } from '../../providers/provider.ts';
import { type CompiledRules, type RoutingExperiment, compileRules } from '../../routing/evaluate-rules.ts';
import { type HealthRecord, configuredHealth } from '../../routing/health-record.ts';
import { type MoneyDay, type RouteMoney, routeMoney } from '../../routing/route-money.ts';
import { DEFAULT_POLICY } from '../../routing/routing-policy.ts';
import type { RuleSet } from '../../routing/rule-set.ts';
import type { RulesVersion } from '../../store/tables/routing-tables.ts';
import { type Readiness, providerReason } from '../providers/readiness.ts';
import { createTurns } from '../in-turn.ts';
import { type Estimates, NO_ESTIMATES, readEstimates } from './read-estimates.ts';
import { type WatchDeps, watchHealth } from './health-watch.ts';
import { type RoutingView, buildView } from './routing-view.ts';

const DAY_MS = 24 * 3_600_000;

interface Catalogue {
  routes: readonly Route[];
  providers: ReadonlyMap<string, Provider>;
  readiness: Readiness;
}

/** Dependencies of the router, which reads the catalogue at every refresh. */
export interface RouterDeps extends WatchDeps {
  catalogue(): Catalogue;
  /** Random seed of this process, stored with its decisions. */
  seed: string;
}

/** State of the routes in this process, some seconds old. All instances share the database, which is authoritative. */
export interface Router {
  seed: string;
  view(environment: Environment): RoutingView;
  /** The exploration budget of this process, in multiples of one payment's amount. */
  tokens: Record<Environment, number>;
  /** Reads new outcomes and updates the health of the routes; returns the number of transitions. */
  refresh(): Promise<number>;
  /** Reads the losses and charges of past payments, which the next refresh uses. */
  refreshMoney(): Promise<void>;
}

interface Known {
  health: Record<Environment, ReadonlyMap<string, HealthRecord>>;
  estimates: Record<Environment, Estimates>;
  /** Losses and charges by route id. */
  money: ReadonlyMap<string, RouteMoney>;
  rules: RulesVersion | undefined;
  experiments: readonly RoutingExperiment[];
}

interface Built {
  routes: readonly Route[];
  providers: ReadonlyMap<string, Provider>;
  /** Version of the readiness. */
  version: number;
  views: Record<Environment, RoutingView>;
}

/** Creates the router. It knows no outcomes, health or rules before the first {@link Router.refresh}. */
export function createRouter(deps: RouterDeps): Router {
  let known: Known = {
    health: { sandbox: new Map(), production: new Map() },
    estimates: { sandbox: NO_ESTIMATES, production: NO_ESTIMATES },
    money: new Map(),
    rules: undefined,
    experiments: [],
  };
  const configured = new Set<string>();
  let built: Built | undefined;
  let compiled: { routes: readonly Route[]; version: string; rules: CompiledRules } | undefined;

  function rulesFor(routes: readonly Route[]): CompiledRules {
    const { rules, experiments } = known;
    const version = [rules?.version, ...experiments.map(({ id }) => id)].join(' ');
    if (compiled?.routes !== routes || compiled.version !== version) {
      const ruleSet: RuleSet = rules ? (JSON.parse(rules.body) as RuleSet) : { version: 1, rules: [] };
      compiled = { routes, version, rules: compileRules(ruleSet, routes, experiments) };
    }
    return compiled.rules;
  }

  function build(): Built {
    const catalogue = deps.catalogue();
    const { routes, providers, readiness } = catalogue;
    const rules = { compiled: rulesFor(routes), version: known.rules?.version ?? 0 };
    const viewOf = (environment: Environment) =>
      buildView({
        environment,
        at: deps.store.now(),
        routes: routes.filter((route) => route.environment === environment),
        providerReason: (route) => providerReason(catalogue, route),
        healthOf: (route) =>
          known.health[environment].get(route.id) ?? configuredHealth(route.health, deps.store.now()),
        estimates: known.estimates[environment],
        moneyOf: (route) => known.money.get(route.id) ?? routeMoney([], route, 0, DEFAULT_POLICY),
        rules,
        newId: deps.newId,
        before: built?.views[environment],
      });
    const version = readiness.version();
    return { routes, providers, version, views: { sandbox: viewOf('sandbox'), production: viewOf('production') } };
  }

  async function look(): Promise<number> {
    const catalogue = deps.catalogue();
    const { routes } = catalogue;
    const estimates = { ...known.estimates };
    const health = { sandbox: new Map<string, HealthRecord>(), production: new Map<string, HealthRecord>() };
    for (const { environment, routeId, body } of await deps.store.routeHealth()) {
      health[environment].set(routeId, JSON.parse(body) as HealthRecord);
    }
    let transitions = 0;
    for (const environment of ENVIRONMENTS) {
      const own = routes.filter((route) => route.environment === environment);
      const records = health[environment];
      estimates[environment] = await readEstimates(deps.store, environment, own, records, estimates[environment]);
      const connected = own.filter((route) => providerReason(catalogue, route) === null);
      const watched = { environment, routes: own, connected, configured };
      transitions += await watchHealth(deps, watched, records, estimates[environment]);
    }
    const rules = await deps.store.routingRules();
    const experiments = await deps.store.runningExperiments();
    known = { ...known, rules, health, estimates, experiments };
    built = build();
    return transitions;
  }

  async function refreshMoney(): Promise<void> {
    const today = Math.floor(deps.store.now() / DAY_MS);
    const money = new Map<string, RouteMoney>();
    for (const environment of ENVIRONMENTS) {
      const days: MoneyDay[] = [];
      for (let age = 0; age < DEFAULT_POLICY.money.memoryDays; age++) {
        days.push(...(await deps.store.routeMoneyOfDay(environment, today - age)));
        // Requests run between the days, because a read of SQLite blocks them.
        await turn();
      }
      const byRoute = Map.groupBy(days, ({ routeId }) => routeId);
      for (const route of deps.catalogue().routes) {
        if (route.environment !== environment) continue;
        money.set(route.id, routeMoney(byRoute.get(route.id) ?? [], route, today, DEFAULT_POLICY));
      }
    }
    known = { ...known, money };
  }

  // Refreshes run one after another, so that a slow refresh cannot overwrite the state of a later one.
  const inTurn = createTurns();

  return {
    seed: deps.seed,
    tokens: { sandbox: DEFAULT_POLICY.exploration.budgetCap, production: DEFAULT_POLICY.exploration.budgetCap },
    refresh: () => inTurn(look),
    refreshMoney,
    view(environment) {
      const { routes, providers, readiness } = deps.catalogue();
      const isCurrent =
        built?.routes === routes && built.providers === providers && built.version === readiness.version();
      if (!built || !isCurrent) built = build();
      return built.views[environment];
    },
  };
}
