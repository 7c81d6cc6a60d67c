import type { Urls } from '../contract/session-contract.ts';

const YEAR_SECONDS = 31_536_000;

/** Content-Security-Policy of responses that are not pages: a browser runs and loads nothing in them, and frames none of them. */
const NOT_A_PAGE = "default-src 'none'; frame-ancestors 'none'";

/** Headers of every response, including responses to invalid HTTP. */
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
