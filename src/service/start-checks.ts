import type { Config, ExposingSetting } from '../config.ts';
import { registerConfiguredKeys } from '../operations/api-keys.ts';
import type { Deps } from '../operations/deps.ts';
import { readFileSync } from 'node:fs';
import type { Logger } from 'pino';

const UNEXPOSED: Record<ExposingSetting, string> = {
  HOST: 'must be a loopback address',
  BASE_URL: 'must be of a loopback address',
  CHECKOUT_URL: 'must be of a loopback address',
  TRUSTED_PROXIES: 'must be left out',
};

/**
 * Registers the keys of the settings. Throws, before anything listens, if other machines could reach the service without a key.
 */
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

// The database, its files, deliveries, and what Node itself opens.
const RESERVE = 300;

/** Logs a warning if the system allows this process fewer open files than connections. */
export function warnOfFewFiles(maxConnections: number, log: Pick<Logger, 'warn'>): void {
  const files = openFilesAllowed();
  if (files === undefined || files >= maxConnections + RESERVE) return;
  log.warn(
    { files, maxConnections },
    `each connection needs a file: raise "ulimit -Hn" (LimitNOFILE= in systemd) to ${maxConnections + RESERVE}, or lower MAX_CONNECTIONS`,
  );
}

/** Undefined if the system does not report it. */
function openFilesAllowed(): number | undefined {
  try {
    const limit = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1];
    return limit === undefined ? undefined : Number(limit);
  } catch {
    return undefined;
  }
}
