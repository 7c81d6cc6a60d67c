import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { z } from 'zod';
import type { Limits } from '../http/rate-limits.ts';
import { oneOf, positive, texts } from './setting-fields.ts';

const MIN_CONNECTIONS = 10;

/** Field for a number of requests. `off` becomes null, because zod would replace undefined with the default. */
const rate = (unit: string) =>
  z.union([z.literal('off').transform(() => null), positive(unit)], {
    error: `must be a whole number of ${unit}, more than 0, or off`,
  });

const proxies = texts.superRefine((entries, context) => {
  const message = entries.map(faultOfProxy).find((fault) => fault !== undefined);
  if (message !== undefined) context.addIssue({ code: 'custom', message });
});

/** Settings of connection and rate limits; {@link limitsOf} reads them. */
export const limitFields = {
  TRUSTED_PROXIES: proxies.default([]),
  MAX_CONNECTIONS: positive('connections')
    .pipe(
      z.number().min(MIN_CONNECTIONS, `must be at least ${MIN_CONNECTIONS}`).max(1_000_000, 'must be at most 1000000'),
    )
    .default(8192),
  HEADERS_TIMEOUT: positive('seconds').default(10),
  REQUEST_TIMEOUT: positive('seconds').default(30),
  API_RATE_LIMIT: oneOf('off', 'standard').default('off'),
  PAGE_RATE_LIMIT: rate('requests a minute').default(1200),
  CALLBACK_RATE_LIMIT: rate('callbacks a minute').default(60),
  PAYMENT_RATE_LIMIT: rate('payments a minute').default(60),
};

type Values = z.output<z.ZodObject<typeof limitFields>>;

/** Converts the settings of {@link limitFields} to the limits of the HTTP layer. */
export function limitsOf(values: Values): Limits {
  return {
    trustedProxies: values.TRUSTED_PROXIES,
    maxConnections: values.MAX_CONNECTIONS,
    headersTimeoutMs: values.HEADERS_TIMEOUT * 1000,
    requestTimeoutMs: values.REQUEST_TIMEOUT * 1000,
    api: values.API_RATE_LIMIT,
    pages: values.PAGE_RATE_LIMIT ?? undefined,
    callbacks: values.CALLBACK_RATE_LIMIT ?? undefined,
    payments: values.PAYMENT_RATE_LIMIT ?? undefined,
  };
}

/** Error message if REQUEST_TIMEOUT is shorter than HEADERS_TIMEOUT. */
export function faultOfTimes({ HEADERS_TIMEOUT: headers, REQUEST_TIMEOUT: request }: Values): string | undefined {
  return request < headers ? 'must be at least HEADERS_TIMEOUT: the headers are a part of the request' : undefined;
}

// Minimum prefix lengths of trusted networks. The largest private networks, 10.0.0.0/8 and fc00::/7, have these lengths.
const MIN_PREFIX = { ipv4: 8, ipv6: 7 };
// IPv4-mapped IPv6 addresses: https://www.rfc-editor.org/rfc/rfc4291#section-2.5.5.2.
const MAPPED = { address: ipaddr.IPv6.parse('::ffff:0:0'), prefix: 96 };

/** Error message for an invalid proxy. Rejects very large networks, because a trusted proxy can claim any client address. */
function faultOfProxy(entry: string): string | undefined {
  const [address = '', prefix, ...rest] = entry.split('/');
  const isWhole = prefix === undefined || /^(?:0|[1-9]\d{0,2})$/.test(prefix);
  // Rejects an address with a zone (an interface name after %), which `isIP` accepts.
  if (isIP(address) === 0 || address.includes('%') || !isWhole || rest.length > 0) return NO_PROXY;
  if (prefix === undefined) return undefined;
  const bits = Number(prefix);
  const parsed = ipaddr.parse(address);
  if (bits > (parsed.kind() === 'ipv4' ? 32 : 128)) return NO_PROXY;
  return bits < leastPrefix(parsed, bits) ? `must not contain a network as wide as ${entry}` : undefined;
}

const NO_PROXY = 'must be addresses or networks, for example 10.0.0.7,192.168.0.0/16';

function leastPrefix(address: ipaddr.IPv4 | ipaddr.IPv6, prefix: number): number {
  if (address instanceof ipaddr.IPv4) return MIN_PREFIX.ipv4;
  const holdsMapped = address.isIPv4MappedAddress() || MAPPED.address.match(address, prefix);
  return holdsMapped ? MAPPED.prefix + MIN_PREFIX.ipv4 : MIN_PREFIX.ipv6;
}
