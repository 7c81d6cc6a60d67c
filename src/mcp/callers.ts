import { isIP } from 'node:net';
import type { FastifyRequest } from 'fastify';
import { GatewayError } from '../domain/gateway-error.ts';
import { type AppDeps, hostNameOf } from '../http/app.ts';

const LOOPBACK_NAMES = new Set(['localhost', '127.0.0.1', '[::1]']);

/** Error for a request with an unknown host name or from a page of another site, which could use a visitor's browser. */
export function callerError(
  request: Pick<FastifyRequest, 'headers'>,
  deps: Pick<AppDeps, 'allowedHosts' | 'urls'>,
): GatewayError | undefined {
  const ours = [deps.urls.base, deps.urls.checkout].map((url) => new URL(url));
  const host = hostNameOf(request);
  // With `allowedHosts`, the app has already checked the host name. An IP address is safe, because DNS rebinding needs a name.
  const isKnown =
    deps.allowedHosts !== undefined ||
    LOOPBACK_NAMES.has(host) ||
    isIP(host.replace(/^\[|\]$/g, '')) !== 0 ||
    ours.some(({ hostname }) => hostname === host);
  if (!isKnown) return refusal('This service is not known under that host name.');
  const { origin } = request.headers;
  if (origin === undefined) return undefined;
  const from = URL.parse(origin);
  const isOurs =
    from !== null &&
    (ours.some((url) => url.origin === from.origin) ||
      (deps.allowedHosts !== undefined && LOOPBACK_NAMES.has(from.hostname) && /^https?:$/.test(from.protocol)));
  return isOurs ? undefined : refusal('Pages of other sites may not use this service.');
}

function refusal(message: string): GatewayError {
  return new GatewayError('forbidden', message, {
    suggestion: 'Use the address in BASE_URL, from a program or from a page of this service.',
  });
}
