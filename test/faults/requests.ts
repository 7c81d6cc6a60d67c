import { SAMPLE_PROVIDER_SECRET } from '../../src/operations/samples.ts';
import { DEADLINE_MS } from '../../src/store/postgres-connection.ts';
import { signCallback } from '../../src/webhooks/sign.ts';

/**
 * Nobody waits longer for an answer, whatever has happened to the database: the service gives up in time, and its answer
 * must come through a busy machine.
 */
export const LIMIT_MS = DEADLINE_MS + 3500;

export const SESSIONS = '/api/gateway/sessions';
export const CALLBACKS = '/api/agent/actions/webhook.verify_sample';

export interface Answer {
  /** 0 where none came. */
  status: number;
  /** Why none came, in words. */
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

/** GET, or POST where there is a body. Never rejects. */
export async function ask(url: string, body?: unknown): Promise<Answer> {
  const post = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
  try {
    const response = await fetch(url, {
      ...(body !== undefined && post),
      signal: AbortSignal.timeout(LIMIT_MS),
    });
    const { status, headers } = response;
    const retryAfter = headers.get('retry-after') ?? '';
    return { ...NOTHING, status, retryAfter, body: (await response.json()) as Answer['body'] };
  } catch (error) {
    const { name, message, cause } = error as Error;
    const reason = cause instanceof Error ? `${message}: ${cause.message}` : message;
    return { ...NOTHING, reason, late: name === 'TimeoutError' };
  }
}

/** What a fault excuses. */
export interface Excuses {
  unavailable: boolean;
  dropped: boolean;
}

/** What is wrong with an answer: it must come in time, and be 200, or else what is excused. */
export function complaintOf({ status, reason, late, retryAfter, body }: Answer, excuses: Excuses): string | undefined {
  if (status === 200) return undefined;
  if (late) return `was not answered within ${LIMIT_MS} ms`;
  if (status === 0) return excuses.dropped ? undefined : `was dropped: ${reason}`;
  if (status !== 503) return `was answered with ${status} ${JSON.stringify(body)}`;
  if (!excuses.unavailable) return 'was answered with 503, and nothing was away';
  if (body.error?.code !== 'unavailable') return `was answered with 503 ${JSON.stringify(body)}`;
  return /^[1-9]\d*$/.test(retryAfter) ? undefined : 'was answered with 503 without Retry-After';
}

/**
 * What is asked for with a key, always the same: for the buyer whom the key names before `--`, or for one of its own. The
 * reference is the key, so that all sessions of a key can be listed.
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

/** The provider's word on a session of {@link sessionBody}. */
export function callbackBody(eventId: string, sessionId: string, status: 'paid' | 'failed' = 'paid') {
  const payload = { eventId, sessionId, status, amount: 49.99 };
  const now = Math.floor(Date.now() / 1000);
  return { payload, signature: signCallback(SAMPLE_PROVIDER_SECRET, now, JSON.stringify(payload)) };
}
