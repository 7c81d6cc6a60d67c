import type { Config, ExposingSetting } from '../config.ts';
import { registerConfiguredKeys } from '../operations/api-keys.ts';
import { resealTotp } from '../operations/access/second-factor.ts';
import type { Deps } from '../operations/deps.ts';
import { SIMULATOR_ID } from '../providers/all.ts';

const UNEXPOSED: Record<ExposingSetting, string> = {
  HOST: 'must be a loopback address',
  BASE_URL: 'must have a loopback address',
  CHECKOUT_URL: 'must have a loopback address',
  DASHBOARD_URL: 'must have a loopback address',
  TRUSTED_PROXIES: 'must be unset',
};

const WILDCARDS = new Set(['0.0.0.0', '::']);

type AccessDeps = Pick<Deps, 'store' | 'now' | 'log' | 'caller' | 'webhooks'>;

/** Registers the configured API keys. Throws if other machines, or a production provider, could be used without a key. */
export async function prepareAccess(deps: AccessDeps, config: Config): Promise<void> {
  await registerConfiguredKeys(deps, config.bootstrapKeys);
  await resealTotp(deps);
  const known = await deps.store.apiKeysKnown();
  const live = config.providers.find(({ environment }) => environment === 'production');
  if (live && known !== 'active') {
    throw new Error(
      `the provider ${live.id} takes real money, and there is no active API key: create one with "tillway keys create", or set BOOTSTRAP_API_KEYS`,
    );
  }
  const { exposedBy } = config;
  // The API requires a key once an operator has joined.
  const isOpen = known !== 'active' && !(await deps.store.hasOperators());
  if (exposedBy !== undefined && !config.allowUnauthenticated && isOpen) {
    throw new Error(
      `${exposedBy} ${UNEXPOSED[exposedBy]} while there is no active API key: create one with "tillway keys create", set BOOTSTRAP_API_KEYS, or set ALLOW_UNAUTHENTICATED=true to open the API to every client`,
    );
  }
}

/** Warns of each provider instance without a route, and of each route of ROUTES_FILE without a connected provider. */
export function warnOfRoutes({ routes, readiness, log }: Deps, { routesFile }: Config): void {
  const instances = readiness.list();
  for (const { id, environment } of instances) {
    const isUsed = routes.some((route) => route.integrationId === id && route.environment === environment);
    if (!isUsed && id !== SIMULATOR_ID) log.warn({ provider: id }, `provider ${id} has no route in ${environment}`);
  }
  if (routesFile === undefined) return;
  for (const { id: route, integrationId: provider, environment, health } of routes) {
    const isConnected = instances.some(({ id, environment: own }) => id === provider && own === environment);
    if (isConnected || health === 'standby') continue;
    log.warn({ route, provider }, `route ${route} is not used: there is no provider ${provider} of ${environment}`);
  }
}

/** Warns if the links of the service contain a wildcard address, which is not an address of any machine. */
export function warnOfWildcard({ urls, log }: Deps, { host, baseUrl }: Config): void {
  if (baseUrl !== undefined || !WILDCARDS.has(host)) return;
  log.warn(`BASE_URL is not set: links to this service have the address ${urls.base}, which buyers cannot open`);
}

/** Warns that the service has no API key. */
export function warnOfNoKey({ exposedBy }: Config, log: Deps['log']): void {
  const clients = exposedBy === undefined ? 'every program on this machine' : 'every client that can reach it';
  log.warn(`there is no API key: the API is open to ${clients}; restrict it with "tillway keys create"`);
}
