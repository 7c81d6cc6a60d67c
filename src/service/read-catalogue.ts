import { readFileSync } from 'node:fs';
import type { Route } from '../domain/route.ts';
import { type ProviderInstance, SIMULATOR_ID } from '../providers/all.ts';
import { parseCatalogue } from '../routing/catalogue.ts';

const SHIPPED = new URL('../../config/routes.json', import.meta.url);

/**
 * The routes of ROUTES_FILE and the default routes of the instances. If both have a route id, the route of ROUTES_FILE counts, but
 * a default route replaces a route of the shipped catalogue. `offersSimulator`: with the routes of the simulated provider.
 */
export function readCatalogue(
  file: string | undefined,
  instances: readonly Pick<ProviderInstance, 'routes'>[],
  offersSimulator: boolean,
): Route[] {
  const listed = readRoutes(file ?? SHIPPED);
  const entries = instances.flatMap(({ routes }) => routes);
  const defaults = entries.length === 0 ? [] : parseCatalogue({ routes: entries });
  const [first, second] = file === undefined ? [defaults, listed] : [listed, defaults];
  const ids = new Set(first.map(({ id }) => id));
  const routes = [...first, ...second.filter(({ id }) => !ids.has(id))];
  return offersSimulator ? routes : routes.filter(({ integrationId }) => integrationId !== SIMULATOR_ID);
}

function readRoutes(source: string | URL): Route[] {
  try {
    return parseCatalogue(JSON.parse(readFileSync(source, 'utf8')));
  } catch (error) {
    throw new Error(`ROUTES_FILE ${String(source)}: ${(error as Error).message}`, { cause: error });
  }
}
