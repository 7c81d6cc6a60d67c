import { resource } from './answers.ts';
import { callWith, get, listFor } from './call.ts';
import type { TillwayList } from './list.ts';
import type { TillwayPromise } from './promise.ts';
import type { RequestOptions, Transport } from './transport.ts';
import type {
  BacktestParams,
  DryRunParams,
  HealthOverrideParams,
  RoutingBacktest,
  RoutingDecisions,
  RoutingDryRun,
  RoutingReplay,
  RoutingRoute,
  RoutingRouteListParams,
  RoutingRules,
  RoutingTransition,
  TransitionListParams,
} from './types-routing.ts';
import type { RuleSet } from './types-rules.ts';

/** What the operator sees and sets of routing. */
export class Routing {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Why a session was quoted its route, and where each attempt was sent. */
  decisions(sessionId: string, options?: RequestOptions): TillwayPromise<RoutingDecisions> {
    const path = '/api/gateway/routing/decisions/{sessionId}';
    return get(this.#transport, {
      path,
      params: { sessionId },
      read: resource<RoutingDecisions>('routing_decisions'),
      options,
    });
  }

  /** Makes the decisions about a session again, and says whether each gives the same bytes. Changes nothing. */
  replay(sessionId: string, options?: RequestOptions): TillwayPromise<RoutingReplay> {
    const path = '/api/gateway/routing/decisions/{sessionId}/replay';
    return get(this.#transport, {
      path,
      params: { sessionId },
      read: resource<RoutingReplay>('routing_replay'),
      options,
    });
  }

  /** Which route a checkout would get, and why. Writes nothing. */
  dryRun(params: DryRunParams, options?: RequestOptions): TillwayPromise<RoutingDryRun> {
    return callWith(this.#transport, {
      method: 'POST',
      path: '/api/gateway/routing/dry-run',
      body: params,
      repeatable: true,
      read: resource<RoutingDryRun>('routing_dry_run'),
      options,
    });
  }

  /** Makes past decisions again under other rules, margin or objective. Writes nothing. */
  backtest(params: BacktestParams = {}, options?: RequestOptions): TillwayPromise<RoutingBacktest> {
    return callWith(this.#transport, {
      method: 'POST',
      path: '/api/gateway/routing/backtest',
      body: params,
      repeatable: true,
      read: resource<RoutingBacktest>('routing_backtest'),
      options,
    });
  }

  /** The rules in force, or those of an earlier version. */
  rules(params: { version?: number | undefined } = {}, options?: RequestOptions): TillwayPromise<RoutingRules> {
    return get(this.#transport, {
      path: '/api/gateway/routing/rules',
      query: { ...params },
      read: resource<RoutingRules>('routing_rules'),
      options,
    });
  }

  /** Puts a rule set in force, as a new version. One that is wrong is refused with every problem in `issues`. */
  saveRules(ruleSet: RuleSet, options?: RequestOptions): TillwayPromise<RoutingRules> {
    return callWith(this.#transport, {
      method: 'PUT',
      path: '/api/gateway/routing/rules',
      body: ruleSet,
      // The same set again changes nothing.
      repeatable: true,
      read: resource<RoutingRules>('routing_rules'),
      options,
    });
  }

  /** The routes as the router knows them, best first: always one page. */
  routes(params?: RoutingRouteListParams, options?: RequestOptions): TillwayList<RoutingRoute> {
    return listFor(this.#transport, { path: '/api/gateway/routing/routes', options }, { ...params });
  }

  /** Takes a route out of use, or holds it in use, until a time or until health is set to `automatic`. */
  overrideHealth(
    routeId: string,
    params: HealthOverrideParams,
    options?: RequestOptions,
  ): TillwayPromise<RoutingRoute> {
    return callWith(this.#transport, {
      method: 'PUT',
      path: '/api/gateway/routing/routes/{routeId}/health',
      params: { routeId },
      body: params,
      // Done already, it may be refused as nothing to change: after a lost answer that would be wrong news.
      repeatable: false,
      read: resource<RoutingRoute>('routing_route'),
      options,
    });
  }

  /** Changes of the health of routes, newest first, with what they were decided on. */
  transitions(params?: TransitionListParams, options?: RequestOptions): TillwayList<RoutingTransition> {
    return listFor(this.#transport, { path: '/api/gateway/routing/transitions', options }, params);
  }
}
