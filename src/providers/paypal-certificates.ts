import { X509Certificate, verify } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { z } from 'zod';
import { GatewayError } from '../domain/gateway-error.ts';
import type { Environment } from '../domain/route.ts';
import type { PaypalSettings } from './paypal-settings.ts';
import { type HttpClient, NoAnswer, createHttpClient } from './provider-http.ts';
import type { CallbackHeaders } from './provider.ts';

/** Origins of PayPal's API. The first one receives the requests; PayPal serves the certificates from both. */
export const PAYPAL_ORIGINS = {
  sandbox: ['https://api-m.sandbox.paypal.com', 'https://api.sandbox.paypal.com'],
  production: ['https://api-m.paypal.com', 'https://api.paypal.com'],
} as const satisfies Record<Environment, readonly string[]>;
const CERTIFICATE_NAMES = {
  sandbox: 'messageverificationcerts.sandbox.paypal.com',
  production: 'messageverificationcerts.paypal.com',
} as const satisfies Record<Environment, string>;

const CERTIFICATE_PATH = /^\/v1\/notifications\/certs\/[\w-]{1,100}$/;
const PEM = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;
const ALGORITHM = 'SHA256withRSA';
const FETCH_TIMEOUT_MS = 3000;
const MAX_BYTES = 32 * 1024;
const CACHE_MS = 24 * 60 * 60_000;
const MAX_CACHED = 20;
/** Limit of simultaneous requests, because anyone can send a callback that names a certificate. */
const MAX_FETCHING = 5;
// PayPal repeats a callback for three days. Callbacks are only hints, so a replay within this time causes nothing but a query.
const MAX_AGE_MS = 4 * 24 * 60 * 60_000;
const MAX_AHEAD_MS = 5 * 60_000;

const signedHeaders = z.object({
  'paypal-transmission-id': z.string(),
  'paypal-transmission-time': z.string(),
  'paypal-transmission-sig': z.string(),
  'paypal-cert-url': z.string(),
  'paypal-auth-algo': z.literal(ALGORITHM),
});

interface VerifierOptions {
  environment: Environment;
  settings: Pick<PaypalSettings, 'webhookId' | 'roots' | 'apiBase'>;
  /** Milliseconds since 1970. */
  now(): number;
}

/**
 * Returns a function that verifies PayPal's signature of a callback. It throws GatewayError `unauthorized` for an invalid signature,
 * and `unavailable` if PayPal does not serve the certificate now, so that PayPal sends the callback again.
 * https://developer.paypal.com/api/rest/webhooks/rest/#link-selfverificationmethod
 */
export function createCallbackVerifier({ environment, settings, now }: VerifierOptions) {
  const { webhookId, roots = [], apiBase } = settings;
  const origins: readonly string[] = apiBase === undefined ? PAYPAL_ORIGINS[environment] : [new URL(apiBase).origin];
  const clients = new Map<string, HttpClient>();
  const cached = new Map<string, { chain: X509Certificate[]; until: number }>();
  const fetching = new Map<string, Promise<X509Certificate[]>>();
  const trusted = roots.map((pem) => new X509Certificate(pem));

  async function chainOf(url: URL): Promise<X509Certificate[]> {
    const key = `${url.origin}${url.pathname}`;
    const known = cached.get(key);
    if (known && known.until > now()) return known.chain;
    const found = fetching.get(key);
    if (found) return found;
    if (fetching.size >= MAX_FETCHING) throw unavailable('too many certificates are being fetched');
    const chain = fetchChain(url);
    fetching.set(key, chain);
    // Only a certificate that PayPal has is stored, so that forged callbacks cannot replace it.
    return chain
      .then((certificates) => {
        cached.delete(key);
        cached.set(key, { chain: certificates, until: now() + CACHE_MS });
        if (cached.size > MAX_CACHED) cached.delete(cached.keys().next().value!);
        return certificates;
      })
      .finally(() => fetching.delete(key));
  }

  async function fetchChain({ origin, pathname: path }: URL): Promise<X509Certificate[]> {
    const http = clients.get(origin) ?? createHttpClient({ origin, headers: {}, now });
    clients.set(origin, http);
    const { status, text } = await http({ method: 'GET', path, timeoutMs: FETCH_TIMEOUT_MS }).catch(
      (error: unknown) => {
        throw error instanceof NoAnswer ? unavailable(error.message) : error;
      },
    );
    // PayPal has no such certificate, so the callback is not PayPal's.
    if (status >= 400 && status < 500 && status !== 429)
      throw unauthorized('names a certificate that PayPal does not have');
    const pems = status === 200 && text.length <= MAX_BYTES ? (text.match(PEM) ?? []) : [];
    const chain = pems.flatMap((pem) => certificateOf(pem) ?? []);
    if (chain.length > 0 && chain.length === pems.length) return chain;
    throw unavailable(`the certificate could not be read (${status})`);
  }

  function assertTrusted(chain: X509Certificate[]): X509Certificate {
    const [leaf, ...issuers] = chain;
    if (chain.some((one) => one.validFromDate.getTime() > now() || one.validToDate.getTime() < now()))
      throw unauthorized('uses a certificate that is not valid now');
    if (leaf!.checkHost(CERTIFICATE_NAMES[environment]) === undefined)
      throw unauthorized('uses the certificate of another name');
    const isChain = issuers.every((issuer, index) => issuer.ca && isIssuedBy(chain[index]!, issuer));
    if (!isChain) throw unauthorized('uses a certificate that its issuer did not sign');
    const last = chain.at(-1)!;
    // No bundled list of authorities is used: the root of PayPal's known certificates is not in it.
    const isRooted = trusted.some((root) => root.fingerprint256 === last.fingerprint256 || isIssuedBy(last, root));
    if (trusted.length > 0 && !isRooted)
      throw unauthorized('uses a certificate of an authority that is not in the setting roots');
    return leaf!;
  }

  return async (rawBody: Buffer, headers: CallbackHeaders): Promise<void> => {
    const given = signedHeaders.safeParse(headers).data;
    if (!given) throw unauthorized(`has no signature of PayPal with ${ALGORITHM}`);
    const time = given['paypal-transmission-time'];
    const url = certificateUrlOf(given['paypal-cert-url'], origins);
    if (!url) throw unauthorized('names a certificate at a place that is not PayPal');
    const age = now() - Date.parse(time);
    if (!(age <= MAX_AGE_MS && age >= -MAX_AHEAD_MS)) throw unauthorized('is too old, or in the future');
    const leaf = assertTrusted(await chainOf(url));
    const message = Buffer.from(`${given['paypal-transmission-id']}|${time}|${webhookId}|${crc32(rawBody)}`);
    const signature = Buffer.from(given['paypal-transmission-sig'], 'base64');
    if (verify('RSA-SHA256', message, leaf.publicKey, signature)) return;
    const suggestion = 'Set PAYPAL_WEBHOOK_ID to the id of the webhook with this URL.';
    throw unauthorized('has a signature that does not match', suggestion);
  };
}

/** URL of a certificate, if it is at PayPal; undefined for all other URLs. */
function certificateUrlOf(text: string, origins: readonly string[]): URL | undefined {
  const url = URL.parse(text);
  if (!url || url.username + url.password + url.search + url.hash !== '') return undefined;
  return origins.includes(url.origin) && CERTIFICATE_PATH.test(url.pathname) ? url : undefined;
}

function certificateOf(pem: string): X509Certificate | undefined {
  try {
    return new X509Certificate(pem);
  } catch {
    return undefined;
  }
}

function isIssuedBy(certificate: X509Certificate, issuer: X509Certificate): boolean {
  return certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey);
}

function unauthorized(problem: string, suggestion = "Forward PayPal's exact bytes and headers."): GatewayError {
  return new GatewayError('unauthorized', `The callback ${problem}.`, { suggestion });
}

function unavailable(reason: string): GatewayError {
  return new GatewayError('unavailable', `PayPal's certificate cannot be fetched now: ${reason}.`);
}
