import assert from 'node:assert/strict';
import { type Fetch, TillwayError } from '../../sdk/src/index.ts';

/** Request that `scriptedFetch` has recorded. */
export interface Recorded {
  method: string;
  /** Path and query. */
  target: string;
  headers: Record<string, string>;
  body: unknown;
}

/** Response that `scriptedFetch` gives. */
export interface Scripted {
  status?: number;
  headers?: Record<string, string>;
  /** Text is sent unchanged, everything else as JSON. */
  body?: unknown;
  /** Error instead of a response. */
  error?: Error;
  /** True for a response that never arrives. */
  hangs?: boolean;
}

/** Creates a `fetch` that answers from a script, repeats its last entry, and records the requests. */
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

/** Asserts that a promise rejects with an error of the SDK; returns the error. */
export async function errorOf(promise: Promise<unknown>): Promise<TillwayError> {
  let error: unknown;
  await assert.rejects(promise, (reason) => (error = reason) instanceof TillwayError);
  return error as TillwayError;
}

/** All items of a list, a feed or an export. */
export async function itemsOf<Item>(iterable: AsyncIterable<Item>): Promise<Item[]> {
  const items: Item[] = [];
  for await (const item of iterable) items.push(item);
  return items;
}
