/** Codes of all errors that a caller can get. `http/error-responses.ts` has their HTTP statuses. */
export type ErrorCode =
  | 'invalid_input'
  | 'invalid_json'
  | 'invalid_signature'
  | 'unauthorized'
  | 'forbidden'
  | 'not_found'
  | 'unknown_operation'
  | 'method_not_allowed'
  | 'invalid_state'
  | 'payload_too_large'
  | 'unsupported_media_type'
  | 'idempotency_conflict'
  | 'no_eligible_route'
  | 'spend_limit_exceeded'
  | 'rate_limited'
  | 'unavailable'
  | 'internal_error';

/** One problem of one field: its dotted path, an error code such as those of Zod, and a message. */
export interface Issue {
  path: string;
  code: string;
  message: string;
}

export interface ErrorDetails {
  field?: string;
  suggestion?: string;
  issues?: Issue[];
}

/** Error that a caller can cause. Every other error is a defect, answered as `internal_error`. */
export class GatewayError extends Error {
  readonly code: ErrorCode;
  readonly details: ErrorDetails;

  /** `options.cause` is logged and never sent to the caller. */
  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}, options: { cause?: unknown } = {}) {
    super(message, options);
    this.name = 'GatewayError';
    this.code = code;
    this.details = details;
  }
}

/** An `unauthorized` error about the API key of a request, which may succeed with another key. */
export class KeyRefusal extends GatewayError {
  constructor(message: string, details: ErrorDetails) {
    super('unauthorized', message, details);
  }
}

/** An `invalid_input` error about one field. `code` is the code of its issue, such as `too_big`. */
export function invalidField(field: string, code: string, message: string, suggestion: string): GatewayError {
  return new GatewayError('invalid_input', `${field}: ${message}.`, {
    field,
    suggestion,
    issues: [{ path: field, code, message }],
  });
}

/** An `idempotency_conflict` error. `problem` is a phrase that follows the field name `idempotencyKey`. */
export function idempotencyConflict(message: string, problem: string, suggestion: string): GatewayError {
  const field = 'idempotencyKey';
  const issues = [{ path: field, code: 'idempotency_conflict', message: problem }];
  return new GatewayError('idempotency_conflict', message, { field, suggestion, issues });
}
