import type { Fetch } from '../../sdk/src/index.ts';

export interface Recorded {
  method: string;
  /** Path and query. */
  target: string;
  headers: Record<string, string>;
  body: unknown;
}

export interface Scripted {
  status?: number;
  headers?: Record<string, string>;
  /** Text goes out as it is, everything else as JSON. */
  body?: unknown;
  /** Thrown instead of an answer. */
  error?: Error;
  /** Never answers. */
  hangs?: boolean;
}

/** A `fetch` that answers from a script, its last line again and again, and records what was sent. */
export function scriptedFetch(...script: Scripted[]): { fetch: Fetch; sent: Recorded[] } {
  const sent: Recorded[] = [];
  const fetch: Fetch = (url, { method, headers, body, signal }) => {
    const { pathname, search } = new URL(url);
    const isFile = headers['content-type'] === 'text/csv';
    const read = body === undefined || isFile ? body : (JSON.parse(body) as unknown);
    sent.push({ method, target: pathname + search, headers, body: read });
    const answer = script[Math.min(sent.length, script.length) - 1] ?? {};
    if (answer.error) return Promise.reject(answer.error);
    if (answer.hangs) return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    const text = typeof answer.body === 'string' ? answer.body : JSON.stringify(answer.body ?? {});
    return Promise.resolve(
      new Response(text, {
        status: answer.status ?? 200,
        headers: { 'content-type': 'application/json', ...answer.headers },
      }),
    );
  };
  return { fetch, sent };
}
