import { type KeyScope, KEY_SCOPES } from '../../src/domain/api-key.ts';
import { ENVIRONMENTS, type Environment } from '../../src/domain/route.ts';
import { call } from './service.ts';

/** Admin keys for `BOOTSTRAP_API_KEYS`, one of each environment. */
export const ADMIN: Record<Environment, string> = {
  sandbox: `sk_sandbox_${'Sandbox0Admin'.padEnd(43, '7')}`,
  production: `sk_live_${'Production0Admin'.padEnd(43, '7')}`,
};
export const BOOTSTRAP = { BOOTSTRAP_API_KEYS: Object.values(ADMIN).join(',') };

export function bearer(key: string): { authorization: string } {
  return { authorization: `Bearer ${key}` };
}

export type Keys = Record<Environment, Record<KeyScope, string>>;

/** Creates a key of each scope and environment through the API. Keys of agents may spend 1000 dollars a day. */
export async function makeKeys(url: string): Promise<Keys> {
  const made: Partial<Record<Environment, Record<string, string>>> = {};
  for (const environment of ENVIRONMENTS) {
    made[environment] = {};
    for (const scope of KEY_SCOPES) {
      const limits = scope === 'agent' ? { spendPerDay: 1000 } : {};
      made[environment][scope] = await makeKey(url, environment, { scope, ...limits });
    }
  }
  return made as Keys;
}

export async function makeKey(url: string, environment: Environment, fields: Record<string, unknown>): Promise<string> {
  const body = { name: `${environment} key`, ...fields };
  const { status, body: created } = await call<{ key: string }>(
    'POST',
    `${url}/api/gateway/keys`,
    body,
    bearer(ADMIN[environment]),
  );
  if (status !== 200) throw new Error(JSON.stringify(created));
  return created.key;
}
