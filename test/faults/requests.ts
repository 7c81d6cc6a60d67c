import { SAMPLE_PROVIDER_SECRET } from '../../src/operations/webhook-samples.ts';
import { DEADLINE_MS } from '../../src/store/postgres-connection.ts';
import { signCallback } from '../../src/webhooks/sign.ts';
import type { Instance } from './instances.ts';
import type { RunProblems } from './scenario.ts';

/** Maximum response time under every fault: the deadline of the service, plus some time for a busy machine. */
const LIMIT_MS = DEADLINE_MS + 3500;

export const SESSIONS = '/api/gateway/sessions';
export const CALLBACKS = '/api/agent/actions/webhook.verify_sample';

export interface Answer {
  /** HTTP status; 0 if there was no response. */
  status: number;
  /** The reason why there was no response. */
  reason: string;
  late: boolean;
  retryAfter: string;
  body: {
    id?: string;
    status?: string;
    data?: unknown[];
    error?: { code: string };
    result?: { merchantWebhookQueued: boolean };
  };
}

const NOTHING: Answer = { status: 0, reason: '', late: false, retryAfter: '', body: {} };

/** Sends a GET request, or a POST request if there is a body. Never rejects. */
export async function ask(url: string, body?: unknown): Promise<Answer> {
  const post = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
  try {
    const signal = AbortSignal.timeout(LIMIT_MS);
    const response = await fetch(url, { ...(body !== undefined && post), signal });
    const { status, headers } = response;
    const retryAfter = headers.get('retry-after') ?? '';
    return { ...NOTHING, status, retryAfter, body: (await response.json()) as Answer['body'] };
  } catch (error) {
    const { name, message, cause } = error as Error;
    const reason = cause instanceof Error ? `${message}: ${cause.message}` : message;
    return { ...NOTHING, reason, late: name === 'TimeoutError' };
  }
}

/** Sends a request to an instance. Adds a problem if it fails, except with an allowed 503 or because of a kill. */
export async function askInstance(
  instance: Instance,
  problems: RunProblems,
  path: string,
  body?: unknown,
  mayBeUnavailable = true,
): Promise<Answer> {
  const before = instance.deaths();
  const answer = await ask(instance.url + path, body);
  const dropped = instance.deaths() > before;
  const complaint = complaintOf(answer, { unavailable: mayBeUnavailable, dropped });
  if (complaint !== undefined) problems.add(`${path} ${complaint}; the server: ${instance.lastOutput()}`);
  return answer;
}

/** Describes the problem of a response. A response must arrive in time, with 200 or with an allowed failure. */
function complaintOf(
  { status, reason, late, retryAfter, body }: Answer,
  excuses: { unavailable: boolean; dropped: boolean },
): string | undefined {
  if (status === 200) return undefined;
  if (late) return `was not answered within ${LIMIT_MS} ms`;
  if (status === 0) return excuses.dropped ? undefined : `was dropped: ${reason}`;
  if (status !== 503) return `was answered with ${status} ${JSON.stringify(body)}`;
  if (!excuses.unavailable) return 'was answered with 503, and nothing was unavailable';
  if (body.error?.code !== 'unavailable') return `was answered with 503 ${JSON.stringify(body)}`;
  return /^[1-9]\d*$/.test(retryAfter) ? undefined : 'was answered with 503 without Retry-After';
}

/**
 * The request body for a key, always the same. The part of the key before `--` names the buyer. The client reference is the
 * key, so that all sessions of a key can be listed.
 */
export function sessionBody(key: string) {
  const [buyer] = key.split('--');
  return {
    product: 'Field guide',
    amount: 49.99,
    customer: `${buyer}@example.com`,
    idempotencyKey: key,
    clientReferenceId: key,
  };
}

/** A provider callback about a session of {@link sessionBody}. */
export function callbackBody(eventId: string, sessionId: string, status: 'paid' | 'failed' = 'paid') {
  const payload = { eventId, sessionId, status, amount: 49.99 };
  const now = Math.floor(Date.now() / 1000);
  return { payload, signature: signCallback(SAMPLE_PROVIDER_SECRET, now, JSON.stringify(payload)) };
}

/** Handles all items, at most `lanes` of them concurrently. */
export async function inLanes<Item>(
  lanes: number,
  items: Iterable<Item>,
  handle: (item: Item) => Promise<unknown>,
): Promise<void> {
  const queue = [...items].values();
  const lane = async (): Promise<void> => {
    for (const item of queue) await handle(item);
  };
  await Promise.all(Array.from({ length: lanes }, lane));
}
