import { type LookupAddress, promises as dns } from 'node:dns';
import { type LookupFunction, isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import type { Environment } from '../domain/route.ts';

/** Addresses to which webhooks may be sent. `loopback` allows loopback addresses in addition to `public` addresses. */
export type WebhookTargets = 'public' | 'loopback' | 'any';

/** Allowed addresses of an environment. With `loopback`, only sandbox events may be sent to this machine. */
export function targetsOf(environment: Environment, targets: WebhookTargets): WebhookTargets {
  return environment === 'production' && targets === 'loopback' ? 'public' : targets;
}

/** True if a host is this machine: the name `localhost`, or a loopback address without brackets. */
export function isLoopbackHost(host: string): boolean {
  return host.toLowerCase() === 'localhost' || (isIP(host) !== 0 && isLoopback(parse(host)));
}

/** True if the host of a URL is this machine. */
export function isLoopbackUrl(url: string): boolean {
  return isLoopbackHost(new URL(url).hostname.replace(/^\[|\]$/g, ''));
}

/** Resolves all addresses of a host name. Rejects if there are none. */
export type ResolveHost = (hostname: string) => Promise<LookupAddress[]>;

/** Error for an address to which webhooks must not be sent. It occurs before a connection is opened. */
export class BlockedDestination extends Error {
  constructor(address: string, reason: string) {
    super(`blocked destination: ${address} ${reason}`);
  }
}

// The instance metadata and agent service of Azure, whose address is in no special range.
// https://learn.microsoft.com/azure/virtual-network/what-is-ip-address-168-63-129-16
const CLOUD_HOST_ADDRESS = '168.63.129.16';
// https://www.rfc-editor.org/rfc/rfc4291#section-2.4: the only IPv6 unicast space in use.
const GLOBAL_UNICAST: [ipaddr.IPv6, number] = [ipaddr.IPv6.parse('2000::'), 3];
// https://www.rfc-editor.org/rfc/rfc6052#section-2.1: the last 32 bits are an IPv4 address.
const NAT64: [ipaddr.IPv6, number] = [ipaddr.IPv6.parse('64:ff9b::'), 96];

/** Reason why webhooks must not be sent to an IP address, such as `is private`; undefined if they may be sent there. */
export function blockReason(address: string, targets: WebhookTargets): string | undefined {
  if (targets === 'any') return undefined;
  if (isIP(address) === 0) return 'is not an IP address';
  const parsed = parse(address);
  if (targets === 'loopback' && isLoopback(parsed)) return undefined;
  return parsed instanceof ipaddr.IPv4 ? blockedIpv4(parsed) : blockedIpv6(parsed);
}

/** Name resolution for sockets that returns only allowed addresses. It fails if a name has no allowed address. */
export function guardedLookup(targets: WebhookTargets, resolve: ResolveHost): LookupFunction {
  async function allowedAddresses(hostname: string, family: number): Promise<LookupAddress[]> {
    const all = await resolve(hostname);
    const found = family === 4 || family === 6 ? all.filter((entry) => entry.family === family) : all;
    const allowed = found.filter(({ address }) => blockReason(address, targets) === undefined);
    if (allowed.length > 0) return allowed;
    const [first] = found;
    if (!first) throw new Error(`no address for ${hostname}`);
    throw new BlockedDestination(first.address, blockReason(first.address, targets)!);
  }

  async function lookUp(...[hostname, { all, family }, callback]: Parameters<LookupFunction>): Promise<void> {
    try {
      const allowed = await allowedAddresses(hostname, Number(family ?? 0));
      if (all) callback(null, allowed);
      else callback(null, allowed[0]!.address, allowed[0]!.family);
    } catch (error) {
      callback(error as Error, '');
    }
  }

  return (...args) => void lookUp(...args);
}

const DNS_TIMEOUT_MS = 1000;
const DNS_TRIES = 2;
const LOCAL_NAME = /^[^.]*\.?$|\.(?:localhost|local)\.?$/i;

/**
 * Resolver that queries the name servers directly. The system's resolver has four threads, and four names whose servers do not
 * answer would delay all other lookups. Local names, and names that DNS does not know, go to the system (hosts file, search domains).
 */
export function createResolve(): ResolveHost {
  const resolver = new dns.Resolver({ timeout: DNS_TIMEOUT_MS, tries: DNS_TRIES });
  return async (hostname) => {
    if (LOCAL_NAME.test(hostname)) return dns.lookup(hostname, { all: true });
    const answers = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
    const found = answers.flatMap((answer, index) =>
      answer.status === 'fulfilled' ? answer.value.map((address) => ({ address, family: index === 0 ? 4 : 6 })) : [],
    );
    if (found.length > 0) return found;
    for (const answer of answers) {
      if (answer.status === 'rejected' && answer.reason.code === dns.TIMEOUT) throw answer.reason;
    }
    return dns.lookup(hostname, { all: true });
  };
}

function parse(address: string): ipaddr.IPv4 | ipaddr.IPv6 {
  if (isIP(address) === 4) return ipaddr.IPv4.parse(address);
  // Converts to hexadecimal, because ipaddr.js reads the deprecated form `::8.8.8.8` as `::ffff:8.8.8.8`.
  const [unscoped] = address.split('%');
  return ipaddr.IPv6.parse(new URL(`http://[${unscoped}]`).hostname.slice(1, -1));
}

function isLoopback(address: ipaddr.IPv4 | ipaddr.IPv6): boolean {
  const mapped = address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress();
  return (mapped ? address.toIPv4Address() : address).range() === 'loopback';
}

function blockedIpv4(address: ipaddr.IPv4): string | undefined {
  if (address.toString() === CLOUD_HOST_ADDRESS) return 'is reserved';
  return address.range() === 'unicast' ? undefined : reasonOf(address);
}

function blockedIpv6(address: ipaddr.IPv6): string | undefined {
  if (address.isIPv4MappedAddress()) return blockedIpv4(address.toIPv4Address());
  if (address.match(NAT64)) return blockedIpv4(new ipaddr.IPv4(address.toByteArray().slice(12)));
  return address.range() === 'unicast' && address.match(GLOBAL_UNICAST) ? undefined : reasonOf(address);
}

/** Reason with the range of a blocked address, such as `is link-local`. */
function reasonOf(address: ipaddr.IPv4 | ipaddr.IPv6): string {
  const range: string = address.range();
  return `is ${range === 'unicast' ? 'reserved' : range.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}
