import { isIP } from 'node:net';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { GatewayError } from '../../domain/gateway-error.ts';
import type { Site } from '../../operations/access/passkeys.ts';
import { isLoopbackUrl } from '../../webhooks/address.ts';
import type { DashboardSettings } from '../visit.ts';

/** The host names of the dashboard: the one of its URL, and every name of this machine if that is a loopback address. */
export function hostNamesOf({ url }: DashboardSettings): ReadonlySet<string> {
  const { hostname } = new URL(url);
  return new Set([hostname, ...(isLoopbackUrl(url) ? ['localhost', '127.0.0.1', '[::1]'] : [])]);
}

/** Throws GatewayError `forbidden` where a login would be sent unencrypted. */
export function assertSafe({ isSafe }: DashboardSettings): void {
  if (isSafe) return;
  throw new GatewayError('forbidden', 'The dashboard is served over https and on this machine only.', {
    suggestion: 'Set DASHBOARD_URL to the https address of this service.',
  });
}

/** The site of a request whose host name was checked. */
export function siteOf({ url }: DashboardSettings, { hostname, host }: FastifyRequest): Site {
  return { rpId: hostname, origin: url.startsWith('https:') ? new URL(url).origin : `http://${host}` };
}

/** Browsers reject passkeys at a network address. */
export function allowsPasskeys({ hostname }: FastifyRequest): boolean {
  return isIP(hostname.replace(/^\[|\]$/g, '')) === 0;
}

export function tokenOf(settings: DashboardSettings, request: FastifyRequest): string | undefined {
  return request.cookies[cookieName(settings)];
}

/** Sets the cookie of a session, or removes it. Browsers accept the prefix `__Host-` only from https and for one host. */
export function setToken(settings: DashboardSettings, reply: FastifyReply, token: string | undefined): void {
  const options = { path: '/', httpOnly: true, sameSite: 'lax', secure: settings.url.startsWith('https:') } as const;
  if (token === undefined) reply.clearCookie(cookieName(settings), options);
  else reply.setCookie(cookieName(settings), token, options);
}

function cookieName({ url }: DashboardSettings): string {
  return url.startsWith('https:') ? '__Host-tillway' : 'tillway';
}
