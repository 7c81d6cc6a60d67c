import type { ActionError } from './generated/types.ts';

/** Error codes of the service. */
export type ServiceErrorCode = ActionError['code'];

/** Error codes of the client: no response, a response that is not from Tillway, or a webhook that failed verification. */
export type ClientErrorCode = 'connection_failed' | 'timed_out' | 'unexpected_response' | 'webhook_not_verified';

/** All error codes. `(string & {})` allows codes of later versions without losing completion for known codes. */
export type TillwayErrorCode = ServiceErrorCode | ClientErrorCode | (string & {});

/** A problem with one field. */
export interface TillwayIssue {
  /** Dotted path, for example `payload.amount`. */
  path: string;
  /** Machine-readable code of the problem. */
  code: string;
  message: string;
}

/** Optional fields of a {@link TillwayError}. */
export interface TillwayErrorDetails {
  status?: number | undefined;
  field?: string | undefined;
  issues?: TillwayIssue[] | undefined;
  suggestion?: string | undefined;
  requestId?: string | undefined;
  retryAfterMs?: number | undefined;
  cause?: unknown;
}

/** Error of a failed call. `message` is one sentence for people, `code` is for programs. */
export class TillwayError extends Error {
  static {
    // Sets the name on the prototype: stack traces then begin with the name, and logs do not print it as a field.
    this.prototype.name = 'TillwayError';
  }

  readonly code: TillwayErrorCode;
  /** HTTP status; undefined without a response. */
  declare readonly status: number | undefined;
  /** Dotted path of the first invalid field; undefined if no field is invalid. */
  declare readonly field: string | undefined;
  /** Problems of the input, one per field; empty if no field is invalid. */
  readonly issues: readonly TillwayIssue[];
  /** Suggested solution, in one sentence. */
  declare readonly suggestion: string | undefined;
  /** Header `x-request-id` of the response, which is also in the log of the service. */
  declare readonly requestId: string | undefined;
  /** Time to wait before the next attempt, in milliseconds, from the header `Retry-After`. */
  declare readonly retryAfterMs: number | undefined;

  constructor(code: TillwayErrorCode, message: string, details: TillwayErrorDetails = {}) {
    super(message, 'cause' in details ? { cause: details.cause } : undefined);
    this.code = code;
    this.issues = details.issues ?? [];
    const { status, field, suggestion, requestId, retryAfterMs } = details;
    // Does not set undefined fields, because logs print every field.
    for (const [name, value] of Object.entries({ status, field, suggestion, requestId, retryAfterMs })) {
      if (value !== undefined) Object.defineProperty(this, name, { value, enumerable: true });
    }
  }

  /** Fields for `JSON.stringify`, including the message. */
  toJSON(): Record<string, unknown> {
    const { name, code, message, status, field, issues, suggestion, requestId, retryAfterMs } = this;
    return { name, code, message, status, field, issues, suggestion, requestId, retryAfterMs };
  }
}

/**
 * Error without a response: no connection (`connection_failed`), or a timeout (`timed_out`). `cause` is the original
 * error.
 */
export class TillwayConnectionError extends TillwayError {
  static {
    this.prototype.name = 'TillwayConnectionError';
  }

  declare readonly code: 'connection_failed' | 'timed_out';
}

/**
 * Reason why a webhook was rejected. `missing_header`: the request has no signature. `malformed_header`: the header cannot be
 * parsed. `stale`: correctly signed, but too old or in the future. `wrong_signature`: the bytes or the secret differ.
 * `invalid_secret`: the secret has the wrong format. `invalid_payload`: correctly signed, but not an event.
 */
export type WebhookFailureReason =
  'missing_header' | 'malformed_header' | 'stale' | 'wrong_signature' | 'invalid_secret' | 'invalid_payload';

/** Error of a webhook that failed verification. Answer it with status 400, and ignore the event. */
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
