import type { FastifyInstance } from 'fastify';
import { inputReader } from '../contract/problems.ts';
import { pageOf, rulesQuery, standingsQuery, transitionsQuery } from '../contract/queries.ts';
import { renderDecision, renderStanding, renderTransition, renderVerdict } from '../contract/render-routing.ts';
import { timestamp } from '../contract/render.ts';
import { ROUTING_ENDPOINTS } from '../contract/routing-endpoints.ts';
import { backtestRequest, dryRunRequest, overrideRequest } from '../contract/routing.ts';
import { environmentsOf } from '../operations/access/caller.ts';
import { decisionsOf, replay } from '../operations/routing/decisions.ts';
import { overrideHealth, routeStandings } from '../operations/routing/override.ts';
import { type SavedRules, readRules, saveRules } from '../operations/routing/rules.ts';
import { backtest, dryRun } from '../operations/routing/suppose.ts';
import type { KnownRoute } from '../operations/routing/view.ts';
import type { AppDeps } from './app.ts';
import { defined, param, renderList, serve } from './gateway.ts';

const readDryRun = inputReader(dryRunRequest);
const readBacktest = inputReader(backtestRequest);
const readOverride = inputReader(overrideRequest);
const readTransitionsQuery = inputReader(transitionsQuery);
const readStandingsQuery = inputReader(standingsQuery);
const readRulesQuery = inputReader(rulesQuery);

const CHANGES_SHOWN = 100;

/** The operator's API of routing: why, what if, rules, health. */
export function routingApi(app: FastifyInstance, deps: AppDeps): void {
  const hint = `Parameters: GET ${deps.urls.base}/openapi.json`;
  explain(app, deps);
  suppose(app, deps, hint);
  rule(app, deps, hint);
  serve(app, deps, ROUTING_ENDPOINTS.listStandings, async (request, _reply, deps) => {
    const { environment } = readStandingsQuery.read(request.query, hint);
    const items = routeStandings(deps, environmentsOf(deps, environment));
    return renderList({ items, hasMore: false }, standingOf);
  });
  serve(app, deps, ROUTING_ENDPOINTS.overrideHealth, async (request, _reply, deps) =>
    standingOf(await overrideHealth(deps, param(request, 'routeId'), readOverride.read(request.body ?? {}, hint))),
  );
  serve(app, deps, ROUTING_ENDPOINTS.listTransitions, async (request, _reply, deps) => {
    const query = readTransitionsQuery.read(request.query, hint);
    const { environment, routeId } = query;
    return renderList(
      await deps.store.listTransitions(defined({ environment, routeId }), pageOf(query)),
      renderTransition,
    );
  });
}

function explain(app: FastifyInstance, deps: AppDeps): void {
  serve(app, deps, ROUTING_ENDPOINTS.listDecisions, async (request, _reply, deps) => {
    const sessionId = param(request, 'sessionId');
    const decisions = await decisionsOf(deps, sessionId);
    return { object: 'routing_decisions', sessionId, decisions: decisions.map(renderDecision) };
  });
  serve(app, deps, ROUTING_ENDPOINTS.replayDecisions, async (request, _reply, deps) => {
    const sessionId = param(request, 'sessionId');
    const replayed = (await decisionsOf(deps, sessionId)).map(replay);
    return {
      object: 'routing_replay',
      sessionId,
      identical: replayed.every(({ identical }) => identical),
      decisions: replayed.map(({ decided, again, identical, note }) => ({
        id: decided.id,
        identical,
        chosen: decided.output.chosen,
        again: again.chosen,
        note,
      })),
    };
  });
}

function suppose(app: FastifyInstance, deps: AppDeps, hint: string): void {
  serve(app, deps, ROUTING_ENDPOINTS.dryRun, async (request, _reply, deps) => {
    const supposed = dryRun(deps, readDryRun.read(request.body ?? {}, hint));
    const { rejected, warnings } = supposed;
    return { object: 'routing_dry_run', rejected, warnings, ...renderVerdict(supposed) };
  });
  serve(app, deps, ROUTING_ENDPOINTS.backtest, async (request, _reply, deps) => {
    const input = readBacktest.read(request.body ?? {}, hint);
    const { decisions, was, wouldBe, different } = await backtest(deps, input);
    return {
      object: 'routing_backtest',
      environment: input.environment,
      decisions,
      different: different.length,
      was,
      wouldBe,
      changes: different.slice(0, CHANGES_SHOWN).map(({ decided, again }) => ({
        sessionId: decided.sessionId,
        paymentId: decided.paymentId,
        created: timestamp(decided.created),
        was: decided.output.chosen,
        wouldBe: again.chosen,
        reason: again.reason,
      })),
    };
  });
}

function rule(app: FastifyInstance, deps: AppDeps, hint: string): void {
  serve(app, deps, ROUTING_ENDPOINTS.getRules, async (request, _reply, deps) => {
    const { version } = readRulesQuery.read(request.query, hint);
    return rulesOf(await readRules(deps, version === undefined ? undefined : Number(version)));
  });
  serve(app, deps, ROUTING_ENDPOINTS.saveRules, async (request, _reply, deps) =>
    rulesOf(await saveRules(deps, request.body)),
  );
}

function rulesOf({ version, source, ruleSet, warnings, created }: SavedRules) {
  return {
    object: 'routing_rules',
    version,
    source,
    ruleSet,
    warnings,
    created: created === null ? null : timestamp(created),
  };
}

function standingOf({ route, facts, health, summary }: KnownRoute) {
  return renderStanding(route.environment, facts, health, summary.score);
}
