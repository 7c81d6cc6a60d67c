import type { SessionStatus } from '../domain/records.ts';

const OURS = new Set(['session_id', 'status']);

/**
 * The merchant's address with `session_id` and `status` in its query. Everything else of it stays as the merchant wrote
 * it, byte for byte, fragment included; parameters of those two names give way, so that no reader can take an old one
 * for ours. Works on any absolute URI, app schemes such as `shop://cart` too.
 */
export function returnUrl(redirectUrl: string, sessionId: string, status: SessionStatus): string {
  const [beforeFragment, fragment] = splitAt(redirectUrl, '#');
  const [address, query] = splitAt(beforeFragment, '?');
  const kept = query
    .slice(1)
    .split('&')
    .filter((pair) => pair !== '' && !isOurs(pair));
  const pairs = [...kept, `session_id=${encodeURIComponent(sessionId)}`, `status=${status}`];
  return `${address}?${pairs.join('&')}${fragment}`;
}

/** Where a redirect leads, in a word the buyer can check: the host, or the scheme of an app. */
export function destinationOf(redirectUrl: string): string {
  const { host, protocol } = new URL(redirectUrl);
  return protocol === 'http:' || protocol === 'https:' ? host : `the ${protocol.slice(0, -1)} app`;
}

/** Splits before the first `mark`; the second part is empty where there is none. */
function splitAt(text: string, mark: string): [before: string, from: string] {
  const index = text.indexOf(mark);
  return index === -1 ? [text, ''] : [text.slice(0, index), text.slice(index)];
}

/** Names are compared as every server reads them, whatever their escaping. */
function isOurs(pair: string): boolean {
  return [...new URLSearchParams(pair).keys()].some((name) => OURS.has(name));
}
