import { renderRoute } from '../contract/render.ts';
import type { RouteSummary } from '../contract/resources.ts';
import type { Environment, Route } from '../domain/route.ts';
import { rankRoutes, scoreOf } from '../routing/select.ts';
import type { Deps } from './deps.ts';

const described = new WeakMap<Route, RouteSummary>();

/** A route as everybody outside sees it. */
export function describeRoute(route: Route): RouteSummary {
  let summary = described.get(route);
  if (!summary) described.set(route, (summary = renderRoute(route, scoreOf(route))));
  return summary;
}

/** The routes of an environment, best first. */
export function listRoutes(deps: Pick<Deps, 'routes'>, environment: Environment): RouteSummary[] {
  return rankRoutes(deps.routes, { environment }).map(describeRoute);
}
