import { invalidField } from '../domain/errors.ts';
import type { Route } from '../domain/route.ts';
import { type Wish, rankRoutes } from '../routing/select.ts';
import type { Deps } from './deps.ts';

/** The best route for a wish, or exactly the one asked for. Throws GatewayError `invalid_input` for an unknown id. */
export function chooseRoute(deps: Pick<Deps, 'routes'>, wish: Wish & { routeId?: string | undefined }): Route {
  const ranked = rankRoutes(deps.routes, wish);
  if (wish.routeId === undefined) {
    const [best] = ranked;
    if (best) return best;
    throw invalidField(
      'environment',
      'invalid_value',
      `has no routes: the catalogue names none for ${wish.environment}`,
      'Use the other environment, or add routes for this one to the catalogue.',
    );
  }
  const named = ranked.find(({ id }) => id === wish.routeId);
  if (named) return named;
  const ids = ranked.map(({ id }) => id).join(', ');
  throw invalidField(
    'routeId',
    'invalid_value',
    `is not a route of ${wish.environment}`,
    `Set routeId to one of ${ids}, for example ${JSON.stringify(ranked[0]?.id ?? '')}, or remove it; then resend.`,
  );
}
