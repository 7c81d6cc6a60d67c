import type { AdapterContext, Instance } from './adapter-context.ts';
import { type HttpAnswer, contentOf, createHttpClient } from './provider-http.ts';
import { type StripeError, readError } from './stripe-objects.ts';
import type { StripeSettings } from './stripe-settings.ts';

/** Version of Stripe's API for which this adapter is written. */
export const STRIPE_API_VERSION = '2026-10-28.endive';
const API_ORIGIN = 'https://api.stripe.com';
const KEY = /\b(?:sk|rk)_(?:test|live)_[\w*]+/g;

export type StripeInstance = Instance<StripeSettings>;

interface CallOptions {
  /** Parameters in form encoding: the body of a POST. */
  form?: string;
  idempotencyKey?: string;
  timeoutMs?: number;
}

/** Sends one request to Stripe. Resolves with an answer of any status; rejects with NoAnswer without an answer. */
export type StripeCall = (method: 'GET' | 'POST', path: string, options?: CallOptions) => Promise<HttpAnswer>;

/** Returns a client of Stripe's API with the credentials of an instance. It logs refused calls with request id and without bodies. */
export function createStripeCall({ id, settings }: StripeInstance, { now, log }: AdapterContext): StripeCall {
  const http = createHttpClient({
    origin: settings.apiBase === undefined ? API_ORIGIN : new URL(settings.apiBase).origin,
    headers: { authorization: `Bearer ${settings.secretKey}`, 'stripe-version': STRIPE_API_VERSION },
    requestIdHeader: 'request-id',
    now,
  });
  return async (method, path, { form, idempotencyKey, timeoutMs } = {}) => {
    const answer = await http({
      method,
      path,
      headers: {
        ...(method === 'POST' && { 'content-type': 'application/x-www-form-urlencoded' }),
        ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
      },
      ...(method === 'POST' && { body: form ?? '' }),
      ...(timeoutMs !== undefined && { timeoutMs }),
    });
    const { status, json, requestId } = answer;
    if (status >= 400) {
      const { type, code } = readError(json) ?? {};
      const [resource] = path.split('?');
      log.warn({ provider: id, method, path: resource, status, type, code, requestId }, 'Stripe refused a request');
    }
    return answer;
  };
}

/** Stripe's error in an answer, with all API keys removed from its message, even masked keys. */
export function errorOf({ json }: HttpAnswer): StripeError | undefined {
  const error = readError(json);
  return error && { ...error, message: error.message?.replace(KEY, '[key]') };
}

/** Clause with the reason if Stripe refused the API key, or if the key lacks a permission; undefined for other answers. */
export function refusedKey(answer: HttpAnswer): string | undefined {
  if (answer.status !== 401 && answer.status !== 403) return undefined;
  return `the key was refused (${answer.status}): ${errorOf(answer)?.message ?? 'Stripe gives no reason'}`;
}

/** The content of an answer to a call; throws unless the status is 2xx and the body could be read. */
export function expected<Content>(
  call: string,
  answer: HttpAnswer,
  read: (json: unknown) => Content | undefined,
): Content {
  return contentOf(['Stripe', call], answer, read, errorOf(answer)?.message);
}
