import type { Select, SelectEach } from '../keyset.ts';
import { createReader } from '../reader.ts';
import type { Store } from '../store.ts';
import * as routing from './routing.ts';

type RoutingReads = Pick<
  Store,
  | 'outcomeTallies'
  | 'recentResults'
  | 'routeEstimates'
  | 'routeHealth'
  | 'listTransitions'
  | 'routingRules'
  | 'routingSnapshot'
  | 'routingDecision'
  | 'routingDecisionsOfSession'
  | 'listRoutingDecisions'
>;

export function createRoutingReads(select: Select, selectEach: SelectEach): RoutingReads {
  const { one, all, list } = createReader(select);
  return {
    async outcomeTallies(environment, routeIds, from, until) {
      const sql = routing.SELECT_TALLIES;
      const found = await selectEach(routeIds.map((id) => ({ sql, params: [environment, id, from, until] })));
      return found.map((rows) => rows.map(routing.tallyFromRow));
    },
    async recentResults(environment, routes, limit) {
      const sql = routing.SELECT_RECENT_RESULTS;
      const found = await selectEach(routes.map(({ id, since }) => ({ sql, params: [environment, id, since, limit] })));
      return found.map((rows) => rows.map(routing.resultFromRow));
    },
    routeEstimates: (environment, algorithm) =>
      one(routing.estimatesFromRow, routing.SELECT_ESTIMATES, environment, algorithm),
    routeHealth: () => all(routing.healthFromRow, routing.SELECT_HEALTH),
    listTransitions: (filter, page) => list(routing.transitionKeyset(filter), page, routing.transitionFromRow),
    routingRules: (version) =>
      version === undefined
        ? one(routing.rulesFromRow, routing.SELECT_NEWEST_RULES)
        : one(routing.rulesFromRow, routing.SELECT_RULES, version),
    routingSnapshot: (id) => one(routing.snapshotFromRow, routing.SELECT_SNAPSHOT, id),
    routingDecision: (id) => one(routing.decisionFromRow, routing.SELECT_DECISION, id),
    routingDecisionsOfSession: (sessionId) =>
      all(routing.decisionFromRow, routing.SELECT_DECISIONS_OF_SESSION, sessionId),
    listRoutingDecisions: (environment, page) =>
      list(routing.decisionKeyset(environment), page, routing.decisionFromRow),
  };
}
