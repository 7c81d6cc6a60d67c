import type { Config, ExposingSetting } from '../config.ts';
import { registerConfiguredKeys } from '../operations/api-keys.ts';
import type { Deps } from '../operations/deps.ts';

const UNEXPOSED: Record<ExposingSetting, string> = {
  HOST: 'must be a loopback address',
  BASE_URL: 'must be of a loopback address',
  CHECKOUT_URL: 'must be of a loopback address',
  TRUSTED_PROXIES: 'must be left out',
};

/** Registers the configured keys. Throws if other machines could reach the service without a key. */
export async function prepareAccess(deps: Pick<Deps, 'store' | 'now' | 'log'>, config: Config): Promise<void> {
  await registerConfiguredKeys(deps, config.bootstrapKeys);
  const known = await deps.store.apiKeysKnown();
  const { exposedBy } = config;
  if (exposedBy !== undefined && !config.allowUnauthenticated && known !== 'active') {
    throw new Error(
      `${exposedBy} ${UNEXPOSED[exposedBy]} while there is no active API key: make one with "tillway keys create", name one in BOOTSTRAP_API_KEYS, or set ALLOW_UNAUTHENTICATED=true to open the API to everyone who reaches it`,
    );
  }
}

/** Logs that a started service has no API key. */
export function warnOfNoKey({ exposedBy }: Config, log: Deps['log']): void {
  const clients = exposedBy === undefined ? 'every program of this machine' : 'everyone who reaches it';
  log.warn(`there is no API key: the API is open to ${clients}; "tillway keys create" closes it`);
}
