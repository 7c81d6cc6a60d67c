import { z } from 'zod';
import { isLoopbackHost } from '../webhooks/address.ts';
import { flag, number, origin } from './setting-fields.ts';

const PORT_ERROR = 'must be a port: 0 to 65535';

/** Settings of the dashboard; {@link dashboardOf} reads them. */
export const dashboardFields = {
  DASHBOARD: flag.default(true),
  DASHBOARD_URL: origin.optional(),
  DASHBOARD_PORT: number(PORT_ERROR).pipe(z.number().int(PORT_ERROR).max(65_535, PORT_ERROR)).optional(),
  DASHBOARD_HOST: z.string().min(1).default('127.0.0.1'),
  DASHBOARD_KEYS: flag.default(false),
};

type Values = z.output<z.ZodObject<typeof dashboardFields>>;

/** Error message for a URL over which logins would be sent unencrypted. */
export function faultOfDashboardUrl({ DASHBOARD_URL: url }: Values): string | undefined {
  if (url === undefined || url.startsWith('https:') || isLoopbackUrl(url)) return undefined;
  return 'must be an https URL, or one of this machine, because logins are sent to it';
}

export function faultOfDashboardPort({ DASHBOARD_PORT: port, PORT }: Values & { PORT: number }): string | undefined {
  return port !== undefined && port !== 0 && port === PORT
    ? 'must differ from PORT; leave it out to share the port'
    : undefined;
}

export function dashboardOf(values: Values & { PORT: number; BASE_URL?: string | undefined }) {
  const { DASHBOARD_URL, DASHBOARD_PORT: port, DASHBOARD_HOST: host, DASHBOARD_KEYS: keys } = values;
  const sharedUrl = port === undefined ? values.BASE_URL : undefined;
  // Passkeys need a host name, so the default is not the network address of this machine.
  const url = DASHBOARD_URL ?? sharedUrl ?? `http://localhost:${port ?? values.PORT}`;
  return {
    isEnabled: values.DASHBOARD,
    url,
    /** Listener of its own; undefined: the dashboard shares the service's. */
    listener: port === undefined ? undefined : { host, port },
    /** True if its own URL or listener lets other machines reach it. */
    isExposed: !isLoopbackUrl(url) || (port !== undefined && !isLoopbackHost(host)),
    keys,
  };
}

function isLoopbackUrl(url: string): boolean {
  return isLoopbackHost(new URL(url).hostname.replace(/^\[|\]$/g, ''));
}
