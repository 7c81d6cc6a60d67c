import { setTimeout as sleep } from 'node:timers/promises';
import type { AdapterContext, Instance } from './adapter-context.ts';
import { PAYPAL_ORIGINS } from './paypal-certificates.ts';
import { readError, readToken } from './paypal-objects.ts';
import type { PaypalSettings } from './paypal-settings.ts';
import { CALL_TIMEOUT_MS, type HttpAnswer, NoAnswer, contentOf, createHttpClient } from './provider-http.ts';

/** A token is renewed this long before it expires. */
const RENEWAL_MS = 60_000;
const TOKEN_TIMEOUT_MS = 5000;
/** Statuses with which PayPal refuses the credentials of a request for a token. */
const REFUSED = new Set([400, 401, 403]);

export type PaypalInstance = Instance<PaypalSettings>;
export type PaypalContext = Pick<AdapterContext, 'now' | 'log' | 'callbackUrl' | 'onNotReady'>;

interface CallOptions {
  json?: object | undefined;
  /** `PayPal-Request-Id`: PayPal executes requests with the same id once. */
  idempotencyKey?: string | undefined;
  timeoutMs?: number | undefined;
}

/** Sends one request to PayPal. Resolves with an answer of any status; rejects with NoAnswer without an answer. */
export type PaypalCall = (method: 'GET' | 'POST', path: string, options?: CallOptions) => Promise<HttpAnswer>;

interface Token {
  value: string;
  scope: string;
  expiresAt: number;
}

export interface PaypalApi {
  call: PaypalCall;
  /** Scopes of the last token, separated by spaces; empty before the first token. */
  scope(): string;
}

/** Returns a client of PayPal's API with the credentials of an instance. It logs refused calls with their debug id and without bodies. */
export function createPaypalApi({ id, environment, settings }: PaypalInstance, { now, log }: PaypalContext): PaypalApi {
  const { clientId, clientSecret, apiBase } = settings;
  const http = createHttpClient({
    origin: apiBase === undefined ? PAYPAL_ORIGINS[environment][0] : new URL(apiBase).origin,
    headers: { accept: 'application/json' },
    requestIdHeader: 'paypal-debug-id',
    now,
  });
  const basic = Buffer.from(`${clientId}:${clientSecret}`).toString('base64');
  let token: Token | undefined;
  let renewing: Promise<Token | HttpAnswer> | undefined;

  /** A valid token, or PayPal's answer if it refuses the credentials. */
  async function authorized(timeoutMs: number): Promise<Token | HttpAnswer> {
    if (token && token.expiresAt - RENEWAL_MS > now()) return token;
    // Calls with different limits share one renewal, so each waits only for its own time.
    renewing ??= renew().finally(() => (renewing = undefined));
    const given = await Promise.race([renewing, sleep(timeoutMs, undefined, { ref: false })]);
    if (given) return given;
    throw new NoAnswer('PayPal gave no token in time', false);
  }

  async function renew(): Promise<Token | HttpAnswer> {
    const answer = await http({
      method: 'POST',
      path: '/v1/oauth2/token',
      headers: { authorization: `Basic ${basic}`, 'content-type': 'application/x-www-form-urlencoded' },
      body: 'grant_type=client_credentials',
      timeoutMs: TOKEN_TIMEOUT_MS,
    }).catch((error: unknown) => {
      // The request itself was not sent, because it had no token.
      throw error instanceof NoAnswer ? new NoAnswer(error.message, false, { cause: error }) : error;
    });
    const given = answer.status === 200 ? readToken(answer.json) : undefined;
    if (given) {
      return (token = { value: given.access_token, scope: given.scope, expiresAt: now() + given.expires_in * 1000 });
    }
    logRefusal('POST', '/v1/oauth2/token', answer);
    // Only 401 tells the caller that the credentials are refused; a 400 would mean that its own request is invalid.
    if (REFUSED.has(answer.status)) return { ...answer, status: 401 };
    throw new NoAnswer(`PayPal gave no token (${answer.status})`, false);
  }

  function logRefusal(method: string, path: string, { status, json, requestId }: HttpAnswer): void {
    const [resource] = path.split('?');
    const issue = readError(json)?.issue;
    log.warn({ provider: id, method, path: resource, status, issue, requestId }, 'PayPal refused a request');
  }

  async function call(
    method: 'GET' | 'POST',
    path: string,
    { json, idempotencyKey, timeoutMs = CALL_TIMEOUT_MS }: CallOptions = {},
    isRepeated = false,
  ): Promise<HttpAnswer> {
    // The request for a token, the request itself and its repetition share the time.
    const until = performance.now() + timeoutMs;
    const rest = () => Math.max(1, Math.floor(until - performance.now()));
    const given = await authorized(rest());
    if (!('value' in given)) return given;
    const answer = await http({
      method,
      path,
      headers: {
        authorization: `Bearer ${given.value}`,
        ...(method === 'POST' && { prefer: 'return=representation' }),
        ...(idempotencyKey !== undefined && { 'paypal-request-id': idempotencyKey }),
      },
      json,
      timeoutMs: rest(),
    });
    if (answer.status === 401 && !isRepeated) {
      if (token === given) token = undefined;
      return call(method, path, { json, idempotencyKey, timeoutMs: rest() }, true);
    }
    if (answer.status >= 400) logRefusal(method, path, answer);
    return answer;
  }
  return { call, scope: () => token?.scope ?? '' };
}

/** Clause with the reason if PayPal refused the credentials, or if they lack a permission; undefined for other answers. */
export function refusedCredentials({ status, json }: HttpAnswer): string | undefined {
  if (status !== 401 && status !== 403) return undefined;
  return `the credentials were refused (${status}): ${readError(json)?.message ?? 'PayPal gives no reason'}`;
}

/** True if PayPal itself answers that it does not have the object. A 404 of a proxy proves nothing. */
export function isMissing({ status, json }: HttpAnswer): boolean {
  return status === 404 && readError(json) !== undefined;
}

/** The content of an answer to a call; throws unless the status is 2xx and the body could be read. */
export function expected<Content>(
  call: string,
  answer: HttpAnswer,
  read: (json: unknown) => Content | undefined,
): Content {
  return contentOf(['PayPal', call], answer, read, readError(answer.json)?.issue);
}
