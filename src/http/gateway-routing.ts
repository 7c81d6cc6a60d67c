import { EXPERIMENT_ENDPOINTS, renderExperiment } from '../contract/experiment-contract.ts';
import { ROUTING_ENDPOINTS, renderRules, renderStanding, renderTransition } from '../contract/routing-contract.ts';
import {
  ROUTING_DECISION_ENDPOINTS,
  renderBacktest,
  renderDecision,
  renderVerdict,
} from '../contract/routing-decision-contract.ts';
import { environmentsOf } from '../operations/access/caller.ts';
import {
  endExperiment,
  listExperiments,
  readExperiment,
  startExperiment,
} from '../operations/experiments/manage-experiments.ts';
import { decisionsOf, replay } from '../operations/routing/stored-decisions.ts';
import { overrideHealth } from '../operations/routing/override-health.ts';
import { readRules, saveRules } from '../operations/routing/saved-rules.ts';
import { backtest, dryRun } from '../operations/routing/suppose.ts';
import type { RouteView } from '../operations/routing/routing-view.ts';
import { apiPart, listing, onRecord, renderList } from './api-part.ts';

const CHANGES_SHOWN = 100;

/** Endpoints of the routing rules and of the health of routes. */
export const routingApi = apiPart((serve) => {
  serve(ROUTING_ENDPOINTS.getRoutingRules, async ({ deps, query: { version } }) =>
    renderRules(await readRules(deps, version === undefined ? undefined : Number(version))),
  );
  // Passes the unparsed body: the operation validates the rules, so that it can report all their problems.
  serve(ROUTING_ENDPOINTS.saveRoutingRules, async ({ deps, request }) =>
    renderRules(await saveRules(deps, request.body)),
  );
  serve(ROUTING_ENDPOINTS.listRoutingRoutes, async ({ deps, query: { environment } }) => {
    const items = environmentsOf(deps, environment).flatMap((each) => [...deps.router.view(each).ranked]);
    return renderList({ items, hasMore: false }, standingOf);
  });
  serve(ROUTING_ENDPOINTS.overrideRouteHealth, async ({ deps, body, param }) =>
    standingOf(await overrideHealth(deps, param('routeId'), body)),
  );
  serve(
    ROUTING_ENDPOINTS.listRoutingTransitions,
    listing(({ store }, filter, page) => store.listTransitions(filter, page), renderTransition),
  );
});

/** Endpoints that explain, replay, dry-run and backtest routing decisions. */
export const routingDecisionsApi = apiPart((serve) => {
  serve(ROUTING_DECISION_ENDPOINTS.listRoutingDecisions, async ({ deps, param }) => {
    const sessionId = param('sessionId');
    const decisions = await decisionsOf(deps, sessionId);
    return { object: 'routing_decisions', sessionId, decisions: decisions.map(renderDecision) };
  });
  serve(ROUTING_DECISION_ENDPOINTS.replayRoutingDecisions, async ({ deps, param }) => {
    const sessionId = param('sessionId');
    const decisions = (await decisionsOf(deps, sessionId)).map(replay).map(({ decided, again, identical, note }) => ({
      id: decided.id,
      identical,
      chosen: decided.output.chosen,
      again: again.chosen,
      note,
    }));
    const identical = decisions.every((decision) => decision.identical);
    return { object: 'routing_replay', sessionId, identical, decisions };
  });
  serve(ROUTING_DECISION_ENDPOINTS.dryRunRouting, async ({ deps, body }) => {
    const supposed = dryRun(deps, body);
    const { input, warnings } = supposed;
    return { object: 'routing_dry_run', rejected: input.effect.rejected, warnings, ...renderVerdict(supposed) };
  });
  serve(ROUTING_DECISION_ENDPOINTS.backtestRouting, async ({ deps, body }) => {
    const { different, ...totals } = await backtest(deps, body);
    const changes = different.slice(0, CHANGES_SHOWN).map(({ decided, again }) => ({
      // Not null, because a backtest covers only the decisions of attempts, which have a session and a payment.
      sessionId: decided.sessionId!,
      paymentId: decided.paymentId!,
      created: decided.created,
      was: decided.output.chosen,
      wouldBe: again.chosen,
      reason: again.reason,
    }));
    return renderBacktest({ ...totals, environment: body.environment, different: different.length, changes });
  });
});

/** Endpoints of the experiments. */
export const experimentsApi = apiPart((serve) => {
  serve(EXPERIMENT_ENDPOINTS.listExperiments, listing(listExperiments, renderExperiment));
  serve(EXPERIMENT_ENDPOINTS.getExperiment, onRecord('experimentId', readExperiment, renderExperiment));
  serve(EXPERIMENT_ENDPOINTS.startExperiment, async ({ deps, body }) =>
    renderExperiment(await startExperiment(deps, body)),
  );
  serve(EXPERIMENT_ENDPOINTS.endExperiment, onRecord('experimentId', endExperiment, renderExperiment));
});

function standingOf({ route, facts, health, money, summary }: RouteView) {
  return renderStanding(route.environment, facts, health, money, summary.score);
}
