import type { RouteSummary } from '../contract/route-contract.ts';
import type { Environment } from '../domain/route.ts';
import type { Deps } from './deps.ts';

/** The routes of an environment as they are now: those that can take a payment first, the best of them before the others. */
export function listRoutes(deps: Pick<Deps, 'router'>, environment: Environment): RouteSummary[] {
  return deps.router.view(environment).ranked.map(({ summary }) => summary);
}
