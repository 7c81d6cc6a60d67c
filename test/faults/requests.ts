import { SAMPLE_PROVIDER_SECRET } from '../../src/operations/webhook-samples.ts';
import { DEADLINE_MS } from '../../src/store/postgres-connection.ts';
import { signCallback } from '../../src/webhooks/sign.ts';

/**
 * Upper limit for the time to a response, whatever happens to the database: the deadline of the service, and some time for
 * a busy machine.
 */
export const LIMIT_MS = DEADLINE_MS + 3500;

export const SESSIONS = '/api/gateway/sessions';
export const CALLBACKS = '/api/agent/actions/webhook.verify_sample';

export interface Answer {
  /** 0 without a response. */
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

/** Failures that a fault excuses. */
export interface Excuses {
  unavailable: boolean;
  dropped: boolean;
}

/** The complaint about a response, which must arrive in time with 200 or with an excused failure. */
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
