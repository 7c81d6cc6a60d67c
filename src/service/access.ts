import type { Config, ExposingSetting } from '../config.ts';
import { registerConfiguredKeys } from '../operations/api-keys.ts';
import type { Deps } from '../operations/deps.ts';

const UNEXPOSED: Record<ExposingSetting, string> = {
  HOST: 'must be a loopback address',
  BASE_URL: 'must be of a loopback address',
  CHECKOUT_URL: 'must be of a loopback address',
  TRUSTED_PROXIES: 'must be left out',
};

/**
 * Registers the keys of the settings. Throws where others than this machine could get in without any key: before anything
 * listens.
 */
export async function prepareAccess(deps: Pick<Deps, 'store' | 'now' | 'log'>, config: Config): Promise<void> {
  await registerConfiguredKeys(deps, config.bootstrapKeys);
  const known = await deps.store.apiKeysKnown();
  const { exposedBy } = config;
  if (exposedBy !== undefined && !config.allowUnauthenticated && known !== 'active') {
    throw new Error(
      `${exposedBy} ${UNEXPOSED[exposedBy]} while there is no active API key: make one with "tillway keys create", name one in BOOTSTRAP_API_KEYS, or set ALLOW_UNAUTHENTICATED=true to open the API to whoever reaches it`,
    );
  }
}

/** For the log of a service that has started. */
export function warnOfNoKey({ exposedBy }: Config, log: Deps['log']): void {
  const whom = exposedBy === undefined ? 'every program of this machine' : 'whoever reaches it';
  log.warn(`there is no API key: the API is open to ${whom}; "tillway keys create" closes it`);
}
