import type { Config } from '../config.ts';
import type { Deps } from '../operations/deps.ts';
import { type ConnectedInstance, type Readiness, checkProvider } from '../operations/providers/readiness.ts';
import type { AdapterContext } from '../providers/adapter-context.ts';
import { type ProviderInstance, SIMULATOR_ID } from '../providers/all.ts';
import type { Provider } from '../providers/provider.ts';
import type { Database } from '../store/database.ts';
import { hostInUrl, urlsOf } from './addresses.ts';
import { readCatalogue } from './read-catalogue.ts';

/** Entry of the simulated provider in the list of instances. */
const SIMULATOR: ConnectedInstance = { id: SIMULATOR_ID, adapter: 'simulator', environment: 'sandbox' };

/** Collects all provider instances (configured, `given` and simulated) and their routes. */
export function instancesOf(config: Config, given: readonly ProviderInstance[] = []) {
  const configured = [...config.providers, ...given];
  const offersSimulator = config.simulator ?? !configured.some(({ environment }) => environment === 'sandbox');
  const named = configured.map(({ id, adapter, environment, account }) => ({ id, adapter, environment, account }));
  return {
    configured,
    instances: [SIMULATOR, ...named],
    routes: readCatalogue(config.routesFile, configured, offersSimulator),
  };
}

/** Dependencies that the adapter of an instance receives. */
function adapterContext(
  id: string,
  { urls, ...others }: { urls: Deps['urls'] } & Omit<AdapterContext, 'callbackUrl'>,
): AdapterContext {
  return { ...others, callbackUrl: `${urls.base}/api/providers/${id}/callbacks` };
}

/** The configured instances, each with a function that checks it while no service runs. */
export function localProviders(config: Config, surroundings: Pick<AdapterContext, 'now' | 'log'>) {
  const urls = urlsOf(config, `http://${hostInUrl(config.host)}:${config.port}`);
  const nothing = () => undefined;
  const shared = { ...surroundings, urls, onNotReady: nothing, onNews: nothing, countLostCallback: nothing };
  return config.providers.map(({ id, environment, routes, create, addressBook }) => ({
    id,
    environment,
    routes,
    check: async () => checkProvider(await create(adapterContext(id, shared))),
    ...(addressBook && { addressBook: () => addressBook(surroundings) }),
  }));
}

interface Connecting {
  urls: Deps['urls'];
  now(): number;
  log: Deps['log'];
  database: Database;
  readiness: Pick<Readiness, 'markNotReady' | 'checkSoon'>;
  telemetry: { countLostCallback(provider: string): void };
}

/** Creates the providers of the configured instances. Sends no request to them. */
export function connectProviders(
  configured: readonly ProviderInstance[],
  { readiness, telemetry, ...others }: Connecting,
): Promise<Provider[]> {
  const connected = configured.map(({ id, create }) =>
    create(
      adapterContext(id, {
        ...others,
        onNotReady: (reason) => readiness.markNotReady(id, reason),
        onNews: () => readiness.checkSoon(id),
        countLostCallback: () => telemetry.countLostCallback(id),
      }),
    ),
  );
  return Promise.all(connected);
}
