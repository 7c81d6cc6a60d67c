import { type Reader, isObject } from './answers.ts';
import { TillwayConnectionError, TillwayError, type TillwayErrorDetails, type TillwayIssue } from './errors.ts';
import type { Answered, ResponseInfo } from './promise.ts';

/** The part of `fetch` that the client uses. */
export type Fetch = (
  url: string,
  init: {
    method: string;
    headers: Record<string, string>;
    body?: string;
    signal: AbortSignal;
    redirect: 'manual';
  },
) => Promise<Response>;

/** One HTTP request, with its timeout and abort signal. */
export interface Exchange {
  fetch: Fetch;
  method: string;
  url: string;
  headers: Record<string, string>;
  body: string | undefined;
  timeoutMs: number;
  signal: AbortSignal | undefined;
}

/** One response with its complete body. */
export interface Received {
  response: Response;
  text: string;
}

/** Longest delay that a timer supports. A longer timeout counts as no timeout. */
const MAX_TIMER_MS = 2 ** 31 - 1;
const MAX_QUOTED_LENGTH = 120;

/**
 * One attempt of a request. The caller waits for one or more parts, such as the headers and the body. The timeout applies to each
 * part, and one abort signal aborts all parts.
 */
export interface Attempt {
  /** Sends the request. */
  fetch(): Promise<Response>;
  /**
   * Waits for one part. Throws TillwayConnectionError if the part does not arrive in time, and the reason of the caller's
   * signal if the signal is aborted.
   */
  part<Part>(arrives: () => Promise<Part>): Promise<Part>;
  /** Aborts the pending part. */
  end(): void;
}

/** Starts an attempt. Throws the reason of the caller's signal if the signal is already aborted. */
export function startAttempt(request: Exchange): Attempt {
  const { fetch, method, url, headers, body, timeoutMs, signal } = request;
  signal?.throwIfAborted();
  const controller = new AbortController();
  const abort = () => controller.abort(signal?.reason);
  signal?.addEventListener('abort', abort, { once: true });
  return {
    fetch: () =>
      fetch(url, {
        method,
        headers,
        ...(body !== undefined && { body }),
        signal: controller.signal,
        // Does not follow redirects, because a redirect can silently turn a POST into a GET.
        redirect: 'manual',
      }),
    async part(arrives) {
      let isLate = false;
      const expire = () => {
        isLate = true;
        controller.abort();
      };
      const timer = timeoutMs > MAX_TIMER_MS ? undefined : setTimeout(expire, timeoutMs);
      try {
        // Ends the wait even if fetch ignores its signal.
        return await Promise.race([ended(controller.signal), arrives()]);
      } catch (cause) {
        if (isLate) throw timedOut(request, cause);
        if (signal?.aborted) throw signal.reason;
        throw notReached(request, cause);
      } finally {
        clearTimeout(timer);
      }
    },
    end() {
      signal?.removeEventListener('abort', abort);
      controller.abort();
    },
  };
}

/** Sends one request and reads its response within one timeout. */
export async function exchange(request: Exchange): Promise<Received> {
  const attempt = startAttempt(request);
  try {
    return await attempt.part(async () => {
      const response = await attempt.fetch();
      return { response, text: await response.text() };
    });
  } finally {
    attempt.end();
  }
}

function ended(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const abort = () => reject(signal.reason as Error);
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort, { once: true });
  });
}

function timedOut({ method, url, timeoutMs }: Exchange, cause: unknown): TillwayConnectionError {
  return new TillwayConnectionError('timed_out', `${method} ${url} got no response within ${timeoutMs} ms.`, {
    suggestion: 'Try again later, or increase timeoutMs.',
    cause,
  });
}

function notReached({ method, url }: Exchange, cause: unknown): TillwayConnectionError {
  const { origin } = new URL(url);
  return new TillwayConnectionError('connection_failed', `${method} ${url}: ${reasonOf(cause)}.`, {
    suggestion: `Check that the service runs at ${origin}, and that baseUrl is correct.`,
    cause,
  });
}

/** Message of the innermost cause: runtimes wrap the cause in an error that only says "fetch failed". */
function reasonOf(error: unknown): string {
  // Does not use instanceof, because the error can come from another realm.
  const { cause, errors, code, name, message } = Object(error) as Record<string, unknown>;
  if (cause !== undefined) return reasonOf(cause);
  if (Array.isArray(errors) && errors.length > 0) return reasonOf(errors[0]);
  if (typeof message !== 'string') return String(error);
  const kind = typeof code === 'string' ? code : String(name);
  const words = message.replace(/\.$/, '');
  if (words === '') return kind;
  return kind === 'Error' || words.includes(kind) ? words : `${words} (${kind})`;
}

/** The error of a response; undefined for a success. `now` is in milliseconds since 1970. */
export function problemOf(
  request: Exchange,
  received: Received | TillwayConnectionError,
  now: number,
): TillwayError | undefined {
  if (received instanceof TillwayConnectionError) return received;
  const { response, text } = received;
  if (response.ok) return undefined;
  const refusal = refusalOf(text);
  if (!refusal) return unexpected(request, received, now);
  return new TillwayError(refusal.code, refusal.message, {
    status: response.status,
    field: refusal.field,
    issues: refusal.issues,
    suggestion: refusal.suggestion,
    requestId: requestIdOf(response),
    retryAfterMs: retryAfterMs(response, now),
  });
}

/** Returns true if a retry is safe and can succeed. */
export function isRepeatable({ code, status }: TillwayError, repeatable: boolean): boolean {
  if (status === 429) return true;
  if (!repeatable) return false;
  if (code === 'connection_failed' || code === 'timed_out') return true;
  return status === 500 || status === 502 || status === 503 || status === 504;
}

/** Reads a successful response. Throws TillwayError `unexpected_response` if it is not from Tillway. */
export function readAnswer<Data>(
  request: Exchange,
  received: Received | TillwayConnectionError,
  read: Reader<Data>,
  attempts: number,
): Answered<Data> {
  if (received instanceof TillwayConnectionError) throw received;
  const { response, text } = received;
  const info: ResponseInfo = {
    status: response.status,
    headers: response.headers,
    requestId: requestIdOf(response),
    replayed: response.headers.get('idempotent-replayed') === 'true',
    attempts,
  };
  try {
    // Rejects an error with a success status, which Tillway never sends: the response is from another program.
    if (refusalOf(text)) throw new TypeError('the response is an error');
    return { data: read(JSON.parse(text)), response: info };
  } catch (cause) {
    throw unexpected(request, received, 0, cause);
  }
}

interface Refusal extends Pick<TillwayErrorDetails, 'field' | 'issues' | 'suggestion'> {
  code: string;
  message: string;
}

/** Reads the `error` of a response `{ok: false, error}`; drops fields of the wrong type. */
function refusalOf(text: string): Refusal | undefined {
  const error = errorIn(text);
  if (!isObject(error)) return undefined;
  const { code, message, field, suggestion, issues } = error;
  if (typeof code !== 'string' || typeof message !== 'string') return undefined;
  return {
    code,
    message,
    field: typeof field === 'string' ? field : undefined,
    suggestion: typeof suggestion === 'string' ? suggestion : undefined,
    issues: Array.isArray(issues) ? issues.filter(isIssue) : undefined,
  };
}

function errorIn(text: string): unknown {
  try {
    const body: unknown = JSON.parse(text);
    return isObject(body) ? body['error'] : undefined;
  } catch {
    // An error response of Tillway is always JSON, so this response is from another program.
    return undefined;
  }
}

function isIssue(value: unknown): value is TillwayIssue {
  return isObject(value) && [value['path'], value['code'], value['message']].every((each) => typeof each === 'string');
}

/** Error for a response that is not from Tillway, such as a redirect or the page of a proxy. */
export function unexpected(
  request: Exchange,
  { response, text }: Received,
  now: number,
  cause?: unknown,
): TillwayError {
  const { method, url } = request;
  const target = response.headers.get('location');
  const isRedirect = response.type === 'opaqueredirect' || (response.status >= 300 && response.status < 400);
  const details = {
    status: response.status,
    requestId: requestIdOf(response),
    retryAfterMs: retryAfterMs(response, now),
    ...(cause !== undefined && { cause }),
  };
  if (isRedirect) {
    const where = target === null ? 'elsewhere' : `to ${target}`;
    const message = `${method} ${url} was redirected ${where}; redirects are not followed.`;
    return new TillwayError('unexpected_response', message, {
      ...details,
      suggestion: 'Set baseUrl to the final URL of the service.',
    });
  }
  const type = response.headers.get('content-type')?.split(';')[0] ?? 'no content type';
  const message = `${method} ${url} answered ${response.status} with a response that is not from Tillway (${type}): ${quoted(text)}`;
  return new TillwayError('unexpected_response', message, {
    ...details,
    suggestion: 'Check baseUrl, and any proxy or login page in front of the service.',
  });
}

function quoted(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length > MAX_QUOTED_LENGTH ? `${line.slice(0, MAX_QUOTED_LENGTH)}...` : line || '(empty)';
}

function requestIdOf(response: Response): string | undefined {
  return response.headers.get('x-request-id') ?? undefined;
}

/** Value of Retry-After (https://www.rfc-editor.org/rfc/rfc9110#field.retry-after), which is in seconds or a date. */
function retryAfterMs(response: Response, now: number): number | undefined {
  const value = response.headers.get('retry-after');
  if (value === null) return undefined;
  const ms = /^\d+$/.test(value) ? Number(value) * 1000 : Date.parse(value) - now;
  return Number.isNaN(ms) ? undefined : Math.max(ms, 0);
}
