import type { Urls } from '../contract/session-contract.ts';

const YEAR_SECONDS = 31_536_000;

/** Nothing of an answer that is not a page may be shown, run or framed as one. Pages bring a policy of their own. */
const NOT_A_PAGE = "default-src 'none'; frame-ancestors 'none'";

/** The headers that every answer carries, also those to bytes that never became a request. */
export function commonHeaders(urls: Urls): Readonly<Record<string, string>> {
  const isHttps = Object.values(urls).some((url) => url.startsWith('https:'));
  return {
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-store',
    'referrer-policy': 'no-referrer',
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'content-security-policy': NOT_A_PAGE,
    'x-frame-options': 'DENY',
    'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=()',
    ...(isHttps && { 'strict-transport-security': `max-age=${YEAR_SECONDS}; includeSubDomains` }),
  };
}
