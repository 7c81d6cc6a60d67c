import { z } from 'zod';
import type { Environment } from '../domain/route.ts';
import { isLoopbackUrl } from '../webhooks/address.ts';

/** Setting with the origin of a server that replaces the provider's API; only in sandbox and only on loopback. */
export const apiBaseSetting = z.url({ protocol: /^https?$/, error: 'must be an http or https URL' }).optional();

/** Fault of the setting `apiBase`, as a sentence that begins with its name. */
export function faultOfApiBase(environment: Environment, apiBase: string | undefined): string | undefined {
  if (apiBase === undefined) return undefined;
  if (environment !== 'sandbox') return 'apiBase is for sandbox only';
  const { pathname, search, username } = new URL(apiBase);
  if (!isLoopbackUrl(apiBase)) return 'apiBase must be on this machine, for example http://127.0.0.1:4010';
  return pathname === '/' && search + username === '' ? undefined : 'apiBase must have no path, query or user name';
}
