import type { Config, ExposingSetting } from '../config.ts';
import { registerConfiguredKeys } from '../operations/api-keys.ts';
import type { Deps } from '../operations/deps.ts';

const UNEXPOSED: Record<ExposingSetting, string> = {
  HOST: 'must be a loopback address',
  BASE_URL: 'must have a loopback address',
  CHECKOUT_URL: 'must have a loopback address',
  TRUSTED_PROXIES: 'must be unset',
};

/** Registers the configured keys. Throws if other machines could use the service without a key. */
export async function prepareAccess(deps: Pick<Deps, 'store' | 'now' | 'log'>, config: Config): Promise<void> {
  await registerConfiguredKeys(deps, config.bootstrapKeys);
  const known = await deps.store.apiKeysKnown();
  const { exposedBy } = config;
  if (exposedBy !== undefined && !config.allowUnauthenticated && known !== 'active') {
    throw new Error(
      `${exposedBy} ${UNEXPOSED[exposedBy]} while there is no active API key: create one with "tillway keys create", set BOOTSTRAP_API_KEYS, or set ALLOW_UNAUTHENTICATED=true to open the API to every client`,
    );
  }
}

/** Warns that the service has no API key. */
export function warnOfNoKey({ exposedBy }: Config, log: Deps['log']): void {
  const clients = exposedBy === undefined ? 'every program on this machine' : 'every client that can reach it';
  log.warn(`there is no API key: the API is open to ${clients}; restrict it with "tillway keys create"`);
}
