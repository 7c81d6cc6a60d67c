import type { Instant } from '../domain/records.ts';
import type { Environment } from '../domain/route.ts';

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

const OK = 200;
const GONE = 410;

/** Delay before each attempt, in milliseconds after the failure of the previous attempt. There is one attempt per entry. */
export const ATTEMPT_DELAYS_MS: Record<Environment, readonly number[]> = {
  // The example schedule of https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
  production: [
    0,
    5 * SECOND_MS,
    5 * MINUTE_MS,
    30 * MINUTE_MS,
    2 * HOUR_MS,
    5 * HOUR_MS,
    10 * HOUR_MS,
    14 * HOUR_MS,
    20 * HOUR_MS,
    24 * HOUR_MS,
  ],
  sandbox: [0, 5 * SECOND_MS, MINUTE_MS, 10 * MINUTE_MS, HOUR_MS],
};

const JITTER = 0.2;
/** Maximum factor by which a `Retry-After` header can lengthen a delay. */
const MAX_STRETCH = 2;

/** Status of a delivery after an attempt. */
export type Verdict =
  | { status: 'delivered' }
  /** The next attempt follows in `delayMs`. */
  | { status: 'pending'; delayMs: number }
  /** `gone`: the receiver answered 410, so it accepts no more events. */
  | { status: 'dead'; gone: boolean };

/** Judges an attempt. Only status 200 acknowledges. */
export function judgeAttempt(attempt: {
  environment: Environment;
  /** Number of attempts in the current retry schedule, including this one. */
  attempts: number;
  /** Null without an answer. */
  statusCode: number | null;
  retryAfterMs?: number | undefined;
  /** Random number from 0 up to, not including, 1. */
  random: number;
}): Verdict {
  if (attempt.statusCode === OK) return { status: 'delivered' };
  if (attempt.statusCode === GONE) return { status: 'dead', gone: true };
  const delay = ATTEMPT_DELAYS_MS[attempt.environment][attempt.attempts];
  if (delay === undefined) return { status: 'dead', gone: false };
  const spread = delay * (1 - JITTER + 2 * JITTER * attempt.random);
  const requested = Math.min(attempt.retryAfterMs ?? 0, delay * MAX_STRETCH);
  return { status: 'pending', delayMs: Math.round(Math.max(spread, requested)) };
}

const SECONDS = /^\d{1,9}$/;

/** Milliseconds in a `Retry-After` header. https://www.rfc-editor.org/rfc/rfc9110#section-10.2.3 */
export function parseRetryAfter(header: string, now: Instant): number | undefined {
  const value = header.trim();
  if (SECONDS.test(value)) return Number(value) * SECOND_MS;
  // Requires ` GMT`, with which every HTTP date ends, because Date.parse accepts almost any text.
  const instant = value.endsWith(' GMT') ? Date.parse(value) : Number.NaN;
  return Number.isNaN(instant) ? undefined : Math.max(0, instant - now);
}
