import type { SessionStatus } from '../domain/records.ts';

const OURS = new Set(['session_id', 'status']);

/** The merchant's URL with `session_id` and `status` set in its query. Works on any absolute URI, also on app schemes. */
export function returnUrl(redirectUrl: string, sessionId: string, status: SessionStatus): string {
  const [beforeFragment, fragment] = splitAt(redirectUrl, '#');
  const [address, query] = splitAt(beforeFragment, '?');
  const otherPairs = query
    .slice(1)
    .split('&')
    .filter((pair) => pair !== '' && !isOurs(pair));
  const pairs = [...otherPairs, `session_id=${encodeURIComponent(sessionId)}`, `status=${status}`];
  return `${address}?${pairs.join('&')}${fragment}`;
}

/** Destination of a redirect for the buyer to check: the host, or the scheme of an app. */
export function destinationOf(redirectUrl: string): string {
  const { host, protocol } = new URL(redirectUrl);
  return protocol === 'http:' || protocol === 'https:' ? host : `the ${protocol.slice(0, -1)} app`;
}

/** Splits before the first `mark`; the second part is empty if there is none. */
function splitAt(text: string, mark: string): [before: string, from: string] {
  const index = text.indexOf(mark);
  return index === -1 ? [text, ''] : [text.slice(0, index), text.slice(index)];
}

/** True if Tillway sets this parameter. Compares decoded names, because a server decodes them too. */
function isOurs(pair: string): boolean {
  return [...new URLSearchParams(pair).keys()].some((name) => OURS.has(name));
}
