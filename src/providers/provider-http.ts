import type { Agent, Dispatcher } from 'undici';
import { traceHeaders } from '../telemetry/origin.ts';
import { httpClient } from '../webhooks/http-client.ts';
import { parseRetryAfter } from '../webhooks/retry.ts';
import type { HandoffResult } from './provider.ts';

/** Default timeout of one call to a provider. */
export const CALL_TIMEOUT_MS = 10_000;
// The timeout of a call does not cover the connection setup, which therefore has its own timeout.
const CONNECT_TIMEOUT_MS = 2000;
const MAX_ANSWER_BYTES = 1024 * 1024;
/** Longest wait that a provider can demand with `Retry-After`. */
const MAX_WAIT_MS = 5 * 60_000;

// Errors after which the request was certainly not sent: no connection, or no common version of TLS.
const NOT_SENT = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION',
  'ERR_SSL_UNSUPPORTED_PROTOCOL',
]);
// Error codes of a rejected certificate: https://nodejs.org/api/tls.html#x509-certificate-error-codes
const CERTIFICATE_ERROR =
  /^(?:CERT_|CRL_|UNABLE_TO_|ERROR_IN_C|(?:DEPTH_ZERO_)?SELF_SIGNED_|HOSTNAME_MISMATCH|INVALID_CA|INVALID_PURPOSE|PATH_LENGTH_)/;

export interface HttpClientOptions {
  /** Origin of the provider's API, without a trailing slash. The client sends requests only to this origin. */
  origin: string;
  /** Headers of every request, credentials included. */
  headers: Record<string, string>;
  /** Name of the response header with the provider's id of the request, for the log. */
  requestIdHeader?: string;
  /** Milliseconds since 1970. */
  now(): number;
  /** Called with the reason if the provider answers 401. */
  onNotReady?(reason: string): void;
}

interface HttpRequest {
  method: 'GET' | 'POST' | 'PATCH';
  /** Path with its query string. */
  path: string;
  headers?: Record<string, string>;
  body?: string | undefined;
  /** Body that is sent as JSON. */
  json?: object | undefined;
  timeoutMs?: number | undefined;
}

export interface HttpAnswer {
  status: number;
  text: string;
  /** Undefined if the body is not JSON. */
  json: unknown;
  /** The provider's id of the request; null if the response has none. */
  requestId: string | null;
}

/** Error of a request that got no answer. `wasSent` is false if the provider certainly does not have the request. */
export class NoAnswer extends Error {
  readonly wasSent: boolean;

  constructor(message: string, wasSent: boolean, options: { cause?: unknown } = {}) {
    super(message, options);
    this.name = 'NoAnswer';
    this.wasSent = wasSent;
  }
}

/**
 * Result of a handoff from its answer. `read` returns the result of an answer that it knows, such as the accepted payment. For other
 * answers, 4xx except 409 mean that the provider does not have the payment, and all others leave that open. `messageOf` is the
 * provider's own reason.
 */
export async function handoffResult(
  request: Promise<HttpAnswer>,
  read: (answer: HttpAnswer) => HandoffResult | undefined,
  messageOf: (answer: HttpAnswer) => string | null | undefined = () => null,
): Promise<HandoffResult> {
  let answer: HttpAnswer;
  try {
    answer = await request;
  } catch (error) {
    if (!(error instanceof NoAnswer)) throw error;
    const { message: reason, wasSent } = error;
    if (wasSent) return { outcome: 'ambiguous', reason, isAnswered: false };
    return { outcome: 'refused', reason, providerReason: null };
  }
  const known = read(answer);
  if (known) return known;
  const { status } = answer;
  const reason = `the provider answered ${status}${status < 300 ? ' without the required fields' : ''}`;
  const isRefused = status >= 400 && status < 500 && status !== 409;
  if (!isRefused) return { outcome: 'ambiguous', reason, isAnswered: true };
  return { outcome: 'refused', reason, providerReason: messageOf(answer) ?? null };
}

/**
 * The content of an answer to a call, which is a noun such as "refund". Throws unless the status is 2xx and `read` accepts the
 * body. `problem` is the provider's own reason.
 */
export function contentOf<Content>(
  [provider, call]: readonly [provider: string, call: string],
  { status, json, requestId }: HttpAnswer,
  read: (json: unknown) => Content | undefined,
  problem: string | null | undefined,
): Content {
  const isAccepted = status >= 200 && status < 300;
  const content = isAccepted ? read(json) : undefined;
  if (content !== undefined) return content;
  const why = isAccepted ? 'without the required fields' : (problem ?? '');
  throw new Error(`${provider} answered ${status} to the ${call} (request ${requestId ?? 'without id'}) ${why}`.trim());
}

export type HttpClient = (request: HttpRequest) => Promise<HttpAnswer>;

/**
 * Client of one provider's API: a fixed origin, no redirects, TLS 1.2 or newer, answers of at most 1 MiB. A response of any
 * status is an answer; without a response, the call rejects with {@link NoAnswer}. After a 429 or 503 with `Retry-After`, the
 * client sends no request until that time has passed, for at most 5 minutes.
 */
export function createHttpClient({ origin, headers, requestIdHeader, now, onNotReady }: HttpClientOptions): HttpClient {
  let dispatcher: Agent | undefined;
  let waitUntil = 0;

  return async ({ method, path, headers: more, body, json, timeoutMs = CALL_TIMEOUT_MS }) => {
    const waitMs = waitUntil - now();
    if (waitMs > 0) throw new NoAnswer(`the provider asked for a pause of ${Math.ceil(waitMs / 1000)} s`, false);
    const client = await httpClient();
    dispatcher ??= new client.Agent({
      connect: { timeout: CONNECT_TIMEOUT_MS, minVersion: 'TLSv1.2' },
      maxResponseSize: MAX_ANSWER_BYTES,
    });
    const options: Parameters<typeof client.request>[1] = {
      method,
      dispatcher,
      headers: { ...headers, ...more, ...(json && { 'content-type': 'application/json' }), ...traceHeaders() },
      signal: AbortSignal.timeout(timeoutMs),
    };
    const content = json === undefined ? body : JSON.stringify(json);
    if (content !== undefined) options.body = content;
    try {
      const answer = await client.request(`${origin}${path}`, options);
      if (answer.statusCode === 429 || answer.statusCode === 503) {
        const askedMs = parseRetryAfter(textOf(answer.headers['retry-after']) ?? '', now()) ?? 0;
        waitUntil = Math.max(waitUntil, now() + Math.min(askedMs, MAX_WAIT_MS));
      }
      if (answer.statusCode === 401) onNotReady?.('the key was refused (401)');
      return await answerOf(answer, requestIdHeader);
    } catch (error) {
      throw new NoAnswer(error instanceof Error ? error.message : String(error), wasSent(error), { cause: error });
    }
  };
}

async function answerOf(
  { statusCode, headers, body }: Pick<Dispatcher.ResponseData, 'statusCode' | 'headers' | 'body'>,
  requestIdHeader: string | undefined,
): Promise<HttpAnswer> {
  const requestId = requestIdHeader === undefined ? null : (textOf(headers[requestIdHeader]) ?? null);
  const text = await body.text();
  return { status: statusCode, text, json: jsonOf(text), requestId };
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function textOf(header: string | string[] | undefined): string | undefined {
  return typeof header === 'string' ? header : header?.[0];
}

function wasSent(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code !== 'string' || !(NOT_SENT.has(code) || CERTIFICATE_ERROR.test(code));
}
