import type { z } from 'zod';
import { isLoopbackUrl } from '../webhooks/address.ts';
import { flag, origin } from './setting-fields.ts';

const isSafe = (url: string) => url.startsWith('https:') || isLoopbackUrl(url);
const RULE = 'must be an https URL, or one of this machine, because logins are sent to it';

/** Settings of the dashboard; {@link dashboardOf} reads them. */
export const dashboardFields = { DASHBOARD: flag.default(true), DASHBOARD_URL: origin.refine(isSafe, RULE).optional() };

type Values = z.output<z.ZodObject<typeof dashboardFields>>;

export function dashboardOf(values: Values & { PORT: number; BASE_URL?: string | undefined }) {
  // Passkeys need a host name, so the default is not the network address of this machine.
  const url = values.DASHBOARD_URL ?? values.BASE_URL ?? `http://localhost:${values.PORT}`;
  return { isEnabled: values.DASHBOARD, url, isExposed: !isLoopbackUrl(url), isSafe: isSafe(url) };
}
