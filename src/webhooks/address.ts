import { type LookupAddress, lookup as systemLookup, promises as dns } from 'node:dns';
import { type LookupFunction, isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import type { Environment } from '../domain/route.ts';

/** Which addresses webhooks may go to: `any`, `public` ones, or `loopback` besides those. */
export type WebhookTargets = 'public' | 'loopback' | 'any';

/** Those of an environment: a shop on this machine may be tried out, and what production tells is for no neighbour in it. */
export function targetsOf(environment: Environment, targets: WebhookTargets): WebhookTargets {
  return environment === 'production' && targets === 'loopback' ? 'public' : targets;
}

/** Whether what is sent to it stays on this machine: the name `localhost`, or a loopback address without brackets. */
export function isLoopbackHost(host: string): boolean {
  return host.toLowerCase() === 'localhost' || (isIP(host) !== 0 && isLoopback(parse(host)));
}

/** All addresses of a host name. Rejects where it has none. */
export type Resolve = (hostname: string) => Promise<LookupAddress[]>;

/** Refused before a connection was made. */
export class BlockedDestination extends Error {
  constructor(address: string, reason: string) {
    super(`blocked destination: ${address} ${reason}`);
  }
}

const KIND: Record<string, string> = {
  unspecified: 'is unspecified',
  broadcast: 'is a broadcast address',
  multicast: 'is multicast',
  linkLocal: 'is link-local',
  loopback: 'is loopback',
  carrierGradeNat: 'is shared by carrier-grade NAT',
  private: 'is private',
  uniqueLocal: 'is private',
  deprecatedSiteLocal: 'is private',
  '6to4': 'is a 6to4 tunnel',
  teredo: 'is a Teredo tunnel',
  benchmarking: 'is for benchmarking',
};
const RESERVED = 'is reserved';

// The instance metadata and agent service of one cloud, on an address that looks like any other.
// https://learn.microsoft.com/azure/virtual-network/what-is-ip-address-168-63-129-16
const CLOUD_HOST_ADDRESS = '168.63.129.16';
// https://www.rfc-editor.org/rfc/rfc4291#section-2.4: the only IPv6 unicast space that is handed out.
const GLOBAL_UNICAST: [ipaddr.IPv6, number] = [ipaddr.IPv6.parse('2000::'), 3];
// https://www.rfc-editor.org/rfc/rfc6052#section-2.1: the last 32 bits are an IPv4 address.
const NAT64: [ipaddr.IPv6, number] = [ipaddr.IPv6.parse('64:ff9b::'), 96];

/** Why an IP address may not be connected to, as the end of a sentence; undefined where it may. */
export function blockedBecause(address: string, targets: WebhookTargets): string | undefined {
  if (targets === 'any') return undefined;
  if (isIP(address) === 0) return 'is not an IP address';
  const parsed = parse(address);
  if (targets === 'loopback' && isLoopback(parsed)) return undefined;
  return parsed instanceof ipaddr.IPv4 ? blockedIpv4(parsed) : blockedIpv6(parsed);
}

/**
 * The name resolution of a socket: it answers exactly the addresses that were checked, so that what is connected to
 * cannot differ from what was allowed, whatever the next question to the same name server would be answered with.
 */
export function guardedLookup(targets: WebhookTargets, resolve: Resolve): LookupFunction {
  async function allowedAddresses(hostname: string, family: number): Promise<LookupAddress[]> {
    const found = await resolve(hostname);
    const usable = family === 4 || family === 6 ? found.filter((entry) => entry.family === family) : found;
    const allowed: LookupAddress[] = [];
    let refusal: BlockedDestination | undefined;
    for (const entry of usable) {
      const reason = blockedBecause(entry.address, targets);
      if (reason === undefined) allowed.push(entry);
      else refusal ??= new BlockedDestination(entry.address, reason);
    }
    if (allowed.length === 0) throw refusal ?? new Error(`no address for ${hostname}`);
    return allowed;
  }

  async function lookUp(...[hostname, options, callback]: Parameters<LookupFunction>): Promise<void> {
    try {
      const allowed = await allowedAddresses(hostname, Number(options.family ?? 0));
      if (options.all) callback(null, allowed);
      else callback(null, allowed[0]!.address, allowed[0]!.family);
    } catch (error) {
      callback(error instanceof Error ? error : new Error(String(error)), '');
    }
  }

  return (hostname, options, callback) => void lookUp(hostname, options, callback);
}

const DNS_TIMEOUT_MS = 1000;
const DNS_TRIES = 2;
const LOCAL_NAME = /^[^.]*\.?$|\.(?:localhost|local)\.?$/i;

/**
 * Asks the name servers directly, without a thread of the system's resolver: there are four of those, and four names
 * whose servers do not answer would stop every other. Names of this machine's own world, and names that DNS does not
 * know, are left to the system (hosts file, search domains).
 */
export function createResolve(): Resolve {
  const resolver = new dns.Resolver({ timeout: DNS_TIMEOUT_MS, tries: DNS_TRIES });
  return async (hostname) => {
    if (LOCAL_NAME.test(hostname)) return resolveBySystem(hostname);
    const answers = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
    const found = answers.flatMap((answer, index) =>
      answer.status === 'fulfilled' ? answer.value.map((address) => ({ address, family: index === 0 ? 4 : 6 })) : [],
    );
    if (found.length > 0) return found;
    const late = answers.find((answer) => answer.status === 'rejected' && isTimeout(answer.reason));
    if (late?.status === 'rejected') throw late.reason;
    return resolveBySystem(hostname);
  };
}

function resolveBySystem(hostname: string): Promise<LookupAddress[]> {
  return new Promise((resolve, reject) => {
    systemLookup(hostname, { all: true }, (error, addresses) => {
      if (error) reject(error);
      else resolve(addresses);
    });
  });
}

function isTimeout(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === dns.TIMEOUT;
}

function parse(address: string): ipaddr.IPv4 | ipaddr.IPv6 {
  if (isIP(address) === 4) return ipaddr.IPv4.parse(address);
  // ipaddr.js reads the long deprecated `::8.8.8.8` as if it were `::ffff:8.8.8.8`: hexadecimal has one meaning.
  const [unscoped] = address.split('%');
  return ipaddr.IPv6.parse(new URL(`http://[${unscoped}]`).hostname.slice(1, -1));
}

function isLoopback(address: ipaddr.IPv4 | ipaddr.IPv6): boolean {
  const mapped = address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress();
  return (mapped ? address.toIPv4Address() : address).range() === 'loopback';
}

function blockedIpv4(address: ipaddr.IPv4): string | undefined {
  if (address.toString() === CLOUD_HOST_ADDRESS) return RESERVED;
  const range: string = address.range();
  return range === 'unicast' ? undefined : (KIND[range] ?? RESERVED);
}

function blockedIpv6(address: ipaddr.IPv6): string | undefined {
  if (address.isIPv4MappedAddress()) return blockedIpv4(address.toIPv4Address());
  if (address.match(NAT64)) return blockedIpv4(new ipaddr.IPv4(address.toByteArray().slice(12)));
  const range: string = address.range();
  if (range === 'unicast' && address.match(GLOBAL_UNICAST)) return undefined;
  return KIND[range] ?? RESERVED;
}
