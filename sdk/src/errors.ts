import type { ServiceErrorCode } from './generated/types.ts';

/** What this client adds: nothing came back, what came back is not Tillway's, or a webhook is not genuine. */
export type ClientErrorCode = 'connection_failed' | 'timed_out' | 'unexpected_response' | 'webhook_not_verified';

/** `(string & {})` leaves room for codes of later versions, and keeps the known ones in completion. */
export type TillwayErrorCode = ServiceErrorCode | ClientErrorCode | (string & {});

/** One problem of one field. */
export interface TillwayIssue {
  /** Dotted, for example `payload.amount`. */
  path: string;
  /** The kind of problem, for programs. */
  code: string;
  message: string;
}

export interface TillwayErrorDetails {
  status?: number | undefined;
  field?: string | undefined;
  issues?: TillwayIssue[] | undefined;
  suggestion?: string | undefined;
  requestId?: string | undefined;
  retryAfterMs?: number | undefined;
  cause?: unknown;
}

/** Everything that goes wrong ends as one of these. `message` is one sentence for people, `code` is for programs. */
export class TillwayError extends Error {
  static {
    // On the prototype, so that the first line of a stack says it and no log prints it as a field.
    this.prototype.name = 'TillwayError';
  }

  readonly code: TillwayErrorCode;
  /** HTTP status; undefined where no answer came. */
  declare readonly status: number | undefined;
  /** The first faulty field, dotted; undefined where it is not about a field. */
  declare readonly field: string | undefined;
  /** Every problem found, one a field; empty where it is not about fields. */
  readonly issues: readonly TillwayIssue[];
  /** What to do about it, in one sentence. */
  declare readonly suggestion: string | undefined;
  /** The `x-request-id` of the answer, as the log of the service names it. */
  declare readonly requestId: string | undefined;
  /** How long the service asks to wait before the next try, in milliseconds. */
  declare readonly retryAfterMs: number | undefined;

  constructor(code: TillwayErrorCode, message: string, details: TillwayErrorDetails = {}) {
    super(message, 'cause' in details ? { cause: details.cause } : undefined);
    this.code = code;
    this.issues = details.issues ?? [];
    const { status, field, suggestion, requestId, retryAfterMs } = details;
    // What is not known is not there either: logs print every field.
    for (const [name, value] of Object.entries({ status, field, suggestion, requestId, retryAfterMs })) {
      if (value !== undefined) Object.defineProperty(this, name, { value, enumerable: true });
    }
  }

  /** What `JSON.stringify` writes of it, the message included. */
  toJSON(): Record<string, unknown> {
    const { name, code, message, status, field, issues, suggestion, requestId, retryAfterMs } = this;
    return { name, code, message, status, field, issues, suggestion, requestId, retryAfterMs };
  }
}

/** The service was not reached (`connection_failed`), or did not answer in time (`timed_out`). `cause` says more. */
export class TillwayConnectionError extends TillwayError {
  static {
    this.prototype.name = 'TillwayConnectionError';
  }

  declare readonly code: 'connection_failed' | 'timed_out';
}

/**
 * Why a webhook was not accepted. `missing_header`: it carries no signature. `malformed_header`: the header cannot be
 * read. `stale`: rightly signed, but too long ago, or in the future. `wrong_signature`: other bytes, or another secret.
 * `invalid_secret`: the secret itself cannot be one. `invalid_payload`: rightly signed, but not an event.
 */
export type WebhookFailureReason =
  'missing_header' | 'malformed_header' | 'stale' | 'wrong_signature' | 'invalid_secret' | 'invalid_payload';

/** A webhook that must not be believed. Answer 400, and do not act on it. */
export class WebhookVerificationError extends TillwayError {
  static {
    this.prototype.name = 'WebhookVerificationError';
  }

  declare readonly code: 'webhook_not_verified';
  readonly reason: WebhookFailureReason;

  constructor(
    reason: WebhookFailureReason,
    message: string,
    details: Pick<TillwayErrorDetails, 'suggestion' | 'cause'> = {},
  ) {
    super('webhook_not_verified', message, details);
    this.reason = reason;
  }

  override toJSON(): Record<string, unknown> {
    return { ...super.toJSON(), reason: this.reason };
  }
}
