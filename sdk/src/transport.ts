import { type Exchange, type Fetch, exchange, isRepeatable, problemOf, readAnswer } from './exchange.ts';
import type { Reader } from './answers.ts';
import { TillwayConnectionError, type TillwayError } from './errors.ts';
import { mergedHeaders } from './headers.ts';
import type { Answered } from './promise.ts';
import { type Timing, realTiming } from './timing.ts';
import { streamText } from './stream.ts';
import { VERSION } from './version.ts';

/** Settings of a client. */
export interface TillwayOptions {
  /** URL of the service, including a path prefix if there is one. Default `http://127.0.0.1:3000`. */
  baseUrl?: string | undefined;
  /**
   * API key `sk_sandbox_...` or `sk_live_...`, if the service requires a key. The client sends the key as a Bearer token, and
   * errors never contain it. Read the key from an environment variable; never put it into source code or web pages.
   */
  apiKey?: string | undefined;
  /** Additional headers of every request, for example for a proxy in front of the service. */
  headers?: Record<string, string> | undefined;
  /** Timeout of one attempt including the response body, in milliseconds. Default 30000; `Infinity` for no timeout. */
  timeoutMs?: number | undefined;
  /** Number of retries after temporary failures. Default 2. */
  maxRetries?: number | undefined;
  /** Default: the `fetch` of the runtime. */
  fetch?: Fetch | undefined;
  /** User-Agent header. Default `tillway-sdk/<version>`; browsers send their own. */
  userAgent?: string | undefined;
}

/** Settings of one call, which override the settings of the client. */
export interface RequestOptions {
  /** Aborts the call and its retries. The call then rejects with the reason of the signal, like `fetch`. */
  signal?: AbortSignal | undefined;
  /** Timeout of one attempt, in milliseconds. */
  timeoutMs?: number | undefined;
  maxRetries?: number | undefined;
  headers?: Record<string, string> | undefined;
}

export type QueryValue = string | number | boolean | undefined;

/** One request of a client method, with the reader of its response. */
export interface Call<Data> {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE' | 'PATCH';
  /** Path of the endpoint, with a placeholder `{name}` for each entry of `params`. */
  path: string;
  params?: Record<string, string>;
  query?: Record<string, QueryValue>;
  body?: unknown;
  /** Content that is sent verbatim instead of a JSON body. */
  file?: { type: 'text/csv'; text: string };
  /**
   * true if a repeated request has no further effect. If false, the client retries only after a 429, because no other failure
   * proves that the first request had no effect.
   */
  repeatable: boolean;
  options?: RequestOptions | undefined;
  read: Reader<Data>;
}

/** Sends requests with retries. */
export interface Transport {
  send<Data>(call: Call<Data>): Promise<Answered<Data>>;
  /** Yields the text of a file in parts. Sends the request once, when the first part is read. */
  stream(call: Omit<Call<never>, 'read'> & { type: 'text/csv' }): AsyncGenerator<string>;
  /** Returns a new idempotency key. */
  newKey(): string;
  /** Waits for `ms`. Rejects with the reason of the signal as soon as the signal is aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

const FIRST_BACKOFF_MS = 500;
const MAX_BACKOFF_MS = 8000;
// Longest wait that the client accepts from Retry-After. For a longer wait the call fails, because it would appear to hang.
const MAX_RETRY_AFTER_MS = 30_000;
// Lone surrogates, which a URL cannot encode.
const HALF_CHARACTER = /\p{Cs}/u;

/** Creates the transport. Throws TypeError for invalid settings. */
export function createTransport(options: TillwayOptions = {}, timing: Timing = realTiming): Transport {
  const base = baseOf(options.baseUrl ?? 'http://127.0.0.1:3000');
  const limits = limitsOf(options, { timeoutMs: 30_000, maxRetries: 2 });
  const fetch: Fetch = options.fetch ?? ((url, init) => globalThis.fetch(url, init));
  const headers = mergedHeaders(
    { accept: 'application/json' },
    agentHeader(options.userAgent),
    keyHeader(options.apiKey),
    options.headers,
  );

  function requestOf(call: Omit<Call<unknown>, 'read' | 'repeatable'>): Exchange {
    const { method, body, file, options } = call;
    return {
      fetch,
      method,
      url: base + pathOf(call) + queryOf(call.query),
      headers: mergedHeaders(typeOf(body, file), headers, options?.headers),
      body: file?.text ?? (body === undefined ? undefined : JSON.stringify(body)),
      timeoutMs: limitsOf(options ?? {}, limits).timeoutMs,
      signal: options?.signal,
    };
  }

  return {
    stream: ({ type, ...call }) => streamText(requestOf(call), type, timing.now),
    newKey: () => `sdk-${timing.uuid()}`,
    sleep: timing.sleep,
    async send<Data>(call: Call<Data>): Promise<Answered<Data>> {
      const { maxRetries } = limitsOf(call.options ?? {}, limits);
      const request = requestOf(call);
      for (let attempt = 1; ; attempt++) {
        const received = await exchange(request).catch(asConnectionError);
        const problem = problemOf(request, received, timing.now());
        if (problem === undefined) return readAnswer(request, received, call.read, attempt);
        const waitMs = attempt > maxRetries ? undefined : waitBefore(problem, call, attempt, timing);
        if (waitMs === undefined) throw problem;
        await timing.sleep(waitMs, call.options?.signal);
      }
    },
  };
}

/** Delay before the next attempt in milliseconds; undefined if there is no further attempt. */
function waitBefore(
  problem: TillwayError,
  call: Pick<Call<unknown>, 'repeatable'>,
  attempt: number,
  timing: Timing,
): number | undefined {
  if (!isRepeatable(problem, call.repeatable)) return undefined;
  const { retryAfterMs = 0 } = problem;
  if (retryAfterMs > MAX_RETRY_AFTER_MS) return undefined;
  const backoffMs = Math.min(FIRST_BACKOFF_MS * 2 ** (attempt - 1), MAX_BACKOFF_MS);
  // Jitter, so that clients that failed at the same time do not retry at the same time.
  return Math.max(retryAfterMs, backoffMs * (0.5 + timing.random() / 2));
}

function asConnectionError(error: unknown): TillwayConnectionError {
  if (error instanceof TillwayConnectionError) return error;
  throw error;
}

function baseOf(text: string): string {
  const problem = `baseUrl must be an absolute http or https URL, for example https://pay.example, not ${JSON.stringify(text)}`;
  let url: URL;
  try {
    url = new URL(text);
  } catch (cause) {
    throw new TypeError(problem, { cause });
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:') throw new TypeError(problem);
  if (url.search !== '' || url.hash !== '')
    throw new TypeError(`baseUrl must not contain a query or fragment: ${text}`);
  if (url.username !== '' || url.password !== '') {
    throw new TypeError(
      'baseUrl must not contain a user name or password: set an authorization header in headers instead',
    );
  }
  return url.origin + url.pathname.replace(/\/+$/, '');
}

interface Limits {
  timeoutMs: number;
  maxRetries: number;
}

function limitsOf(given: { timeoutMs?: number | undefined; maxRetries?: number | undefined }, usual: Limits): Limits {
  const { timeoutMs = usual.timeoutMs, maxRetries = usual.maxRetries } = given;
  if (!(timeoutMs > 0)) throw new TypeError(`timeoutMs must be more than 0 milliseconds, not ${String(timeoutMs)}`);
  if (!(maxRetries >= 0)) throw new TypeError(`maxRetries must be 0 or more, not ${String(maxRetries)}`);
  return { timeoutMs, maxRetries };
}

/** Authorization header. Throws TypeError for an invalid key; the message omits the key, which can be a real one with a line break. */
function keyHeader(apiKey: string | undefined): Record<string, string> {
  if (apiKey === undefined) return {};
  if (typeof apiKey !== 'string' || !/^[\x21-\x7e]+$/.test(apiKey)) {
    throw new TypeError('apiKey must be a key such as sk_sandbox_..., in ASCII without spaces or line breaks');
  }
  return { authorization: `Bearer ${apiKey}` };
}

function agentHeader(userAgent: string | undefined): Record<string, string> {
  // Sets no default in browsers, because a custom User-Agent causes a preflight request.
  if (userAgent === undefined && 'document' in globalThis) return {};
  return { 'user-agent': userAgent ?? `tillway-sdk/${VERSION}` };
}

function typeOf(body: unknown, file: Call<unknown>['file']): Record<string, string> {
  if (file !== undefined) return { 'content-type': file.type };
  return body === undefined ? {} : { 'content-type': 'application/json' };
}

function pathOf({ path, params = {} }: Pick<Call<unknown>, 'path' | 'params'>): string {
  if (!path.startsWith('/')) throw new TypeError(`path must start with a slash: ${path}`);
  return path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value: unknown = params[name];
    // Rejects an empty id, which would lead to the list, and "." and "..", which would lead to another endpoint.
    if (typeof value !== 'string' || /^\.{0,2}$/.test(value)) {
      throw new TypeError(`${name} must be a non-empty string, not ${JSON.stringify(value) ?? 'undefined'}`);
    }
    if (HALF_CHARACTER.test(value)) throw new TypeError(`${name} contains a lone surrogate: ${JSON.stringify(value)}`);
    return encodeURIComponent(value);
  });
}

function queryOf(query: Record<string, QueryValue> = {}): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) search.set(name, String(value));
  const text = search.toString();
  return text === '' ? '' : `?${text}`;
}
