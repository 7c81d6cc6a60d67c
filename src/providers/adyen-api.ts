import type { AdyenSettings } from './adyen-settings.ts';
import { type AdyenError, readError } from './adyen-objects.ts';
import type { AdapterContext, Instance } from './adapter-context.ts';
import { type HttpAnswer, contentOf, createHttpClient } from './provider-http.ts';

const VERSION = 'v71';
const TEST_ORIGIN = 'https://checkout-test.adyen.com';

export type AdyenInstance = Instance<AdyenSettings>;

interface CallOptions {
  json?: object;
  idempotencyKey?: string;
  timeoutMs?: number | undefined;
}

/** Sends one request to Adyen. Resolves with an answer of any status; rejects with NoAnswer without an answer. */
export type AdyenCall = (method: 'GET' | 'POST' | 'PATCH', path: string, options?: CallOptions) => Promise<HttpAnswer>;

/** Returns a client of Adyen's Checkout API with the API key of an instance. It logs refused calls without their bodies. */
export function createAdyenCall({ id, environment, settings }: AdyenInstance, { now, log }: AdapterContext): AdyenCall {
  const { apiKey, apiBase, livePrefix } = settings;
  const isLive = environment === 'production';
  const origin = isLive ? `https://${livePrefix}-checkout-live.adyenpayments.com` : TEST_ORIGIN;
  const http = createHttpClient({
    origin: apiBase === undefined ? origin : new URL(apiBase).origin,
    headers: { 'x-api-key': apiKey },
    requestIdHeader: 'pspreference',
    now,
  });
  const base = isLive ? `/checkout/${VERSION}` : `/${VERSION}`;
  return async (method, path, { json, idempotencyKey, timeoutMs } = {}) => {
    const headers: Record<string, string> = idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey };
    const answer = await http({ method, path: `${base}${path}`, headers, json, timeoutMs });
    const { status, requestId } = answer;
    if (status >= 400) {
      const { errorCode, errorType } = errorOf(answer);
      log.warn({ provider: id, method, path, status, errorCode, errorType, requestId }, 'Adyen refused a request');
    }
    return answer;
  };
}

/** Adyen's error in an answer; without fields if the answer has none. */
export function errorOf({ json }: HttpAnswer): AdyenError {
  return readError(json) ?? {};
}

/** Clause with the reason if Adyen refused the API key, or if the key lacks a role; undefined for other answers. */
export function refusedKey(answer: HttpAnswer): string | undefined {
  if (answer.status !== 401 && answer.status !== 403) return undefined;
  return `the key was refused (${answer.status}): ${errorOf(answer).message ?? 'Adyen gives no reason'}`;
}

/** The content of an answer to a call; throws unless the status is 2xx and the body could be read. */
export function expected<Content>(
  call: string,
  answer: HttpAnswer,
  read: (json: unknown) => Content | undefined,
): Content {
  return contentOf(['Adyen', call], answer, read, errorOf(answer).message);
}
