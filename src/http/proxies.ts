import { BlockList, isIPv6 } from 'node:net';

/** Creates a predicate for addresses of trusted proxies; `entries` are addresses and networks (CIDR). */
export function proxyMatcher(entries: readonly string[]): (address: string) => boolean {
  const list = new BlockList();
  for (const entry of entries) {
    const [address = '', bits] = entry.split('/');
    if (bits === undefined) list.addAddress(address, familyOf(address));
    else list.addSubnet(address, Number(bits), familyOf(address));
  }
  return (address) => {
    const bare = bareAddress(address);
    return list.check(bare, familyOf(bare));
  };
}

/** Removes the port, brackets and quotation marks that some proxies add to addresses in X-Forwarded-For. */
export function bareAddress(named: string): string {
  const text = named.trim().replace(/^"(.*)"$/, '$1');
  const [, inBrackets, beforePort] = /^\[([^\]]*)\](?::\d+)?$|^([\d.]+):\d+$/.exec(text) ?? [];
  return inBrackets ?? beforePort ?? text;
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIPv6(address) ? 'ipv6' : 'ipv4';
}
