import { isDeepStrictEqual } from 'node:util';
import type { OverrideRequest } from '../../contract/routing-contract.ts';
import { GatewayError, invalidField } from '../../domain/gateway-error.ts';
import { setOverride } from '../../routing/health-override.ts';
import type { HealthRecord } from '../../routing/health-record.ts';
import { maySee } from '../access/caller.ts';
import { withHealthEvents } from '../changes-of-event.ts';
import type { Deps } from '../deps.ts';
import { retryOnConflict } from '../retry-on-conflict.ts';
import { writesOf } from './health-watch.ts';
import type { RouteView } from './routing-view.ts';

/** Sets or ends an operator's override of a route's health. Throws GatewayError `not_found`, or `invalid_state` if there is nothing to change. */
export async function overrideHealth(deps: Deps, routeId: string, request: OverrideRequest): Promise<RouteView> {
  const route = deps.routes.find(({ id, environment }) => id === routeId && maySee(deps, environment));
  if (!route) {
    throw new GatewayError('not_found', `There is no route ${routeId}.`, {
      suggestion: 'Read GET /api/gateway/routing/routes for the routes there are.',
    });
  }
  const until = request.until === undefined ? null : Date.parse(request.until);
  if (until !== null && until <= deps.now()) {
    throw invalidField('until', 'too_small', 'must be in the future', 'Set until to a time to come, or remove it.');
  }
  const { health: state, reason = 'no reason given' } = request;
  const manual = state === 'automatic' ? null : { state, until, reason };
  const current = () => deps.router.view(route.environment).routes.get(routeId)!;
  await retryOnConflict(deps, `the health of route ${routeId}`, async () => {
    await deps.router.refresh();
    const { health } = current();
    if (manual !== null && isDeepStrictEqual(manual, health.manual)) return { changes: [], result: undefined };
    const change = setOverride(health, manual, deps.now());
    if (!change) throw nothingToChange(health, routeId);
    const writes = writesOf(deps, route.environment, routeId, change, deps.now());
    return { changes: await withHealthEvents(deps, route, writes), result: undefined };
  });
  deps.log.info({ route: routeId, health: state, until: request.until, reason }, 'override');
  await deps.router.refresh();
  return current();
}

function nothingToChange({ cause }: HealthRecord, routeId: string): GatewayError {
  if (cause === 'disabled_in_catalogue') {
    return new GatewayError('invalid_state', `Route ${routeId} is disabled in the catalogue.`, {
      suggestion: 'Change its health in the file that ROUTES_FILE names, and restart.',
    });
  }
  return new GatewayError('invalid_state', `Route ${routeId} has no override to end.`, {
    suggestion: 'Set health to live, degraded or standby to override it.',
  });
}
