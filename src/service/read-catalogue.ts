import { readFileSync } from 'node:fs';
import type { Route } from '../domain/route.ts';
import { type ProviderInstance, SIMULATOR_ID } from '../providers/all.ts';
import { parseCatalogue } from '../routing/catalogue.ts';

const SHIPPED = new URL('../../config/routes.json', import.meta.url);

/**
 * Reads the routes of ROUTES_FILE, or else of the shipped catalogue, and adds the default routes of the instances. If two routes
 * have the same id, a route of ROUTES_FILE replaces the default route, which replaces a route of the shipped catalogue.
 * Removes the routes of the simulated provider unless `offersSimulator` is true.
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
