import { z } from 'zod';
import type { ErrorCode } from '../domain/gateway-error.ts';
import type { Endpoint, ErrorExample } from './endpoint.ts';
import { label } from './resource-fields.ts';
import { named } from './resource.ts';

const actionError = named(
  'ActionError',
  z.strictObject({
    code: label('Machine-readable error code.', 'invalid_input'),
    message: label('The error in one sentence.', 'customer must be an email address.'),
    field: label('The first invalid field.', 'customer').optional(),
    suggestion: label('The next step, in one sentence.', 'Set customer to an email address, then resend.').optional(),
    issues: z
      .array(
        z.strictObject({
          path: label('Dotted path of the field.', 'customer'),
          code: label('Machine-readable code of the problem.', 'invalid_format'),
          message: label('Description of the problem.', 'must be an email address'),
        }),
      )
      .describe('All problems, one per field.')
      .meta({ examples: [[{ path: 'customer', code: 'invalid_format', message: 'must be an email address' }]] })
      .optional(),
  }),
);
export type ActionError = z.output<typeof actionError>;

const SCOPE_NEEDED: ErrorExample = {
  message: 'This needs an API key of scope write or admin; this one is read.',
  suggestion: 'Use a key of scope write: the operator makes one with "tillway keys create --scope write".',
};

const MALFORMED_REQUEST: ErrorExample = {
  message: 'The query contains a NUL character.',
  suggestion: 'Remove %00 from the query; then resend.',
};

/** Common example of each error code. */
export const ERROR_EXAMPLES: Record<ErrorCode, ErrorExample> = {
  invalid_input: fieldError(
    'customer',
    'invalid_format',
    'must be an email address of at most 254 characters, not "buyer@"',
    'Set customer to an email address of at most 254 characters, for example "buyer@example.com"; then resend.',
  ),
  invalid_json: {
    message: 'The body is not valid JSON.',
    suggestion: 'Send one JSON object with the header Content-Type: application/json.',
  },
  invalid_signature: fieldError(
    'signature',
    'invalid_signature',
    'does not match the payload under the sample provider secret',
    'Sign the payload with the sample provider secret, or send a placeholder; then resend.',
  ),
  unauthorized: {
    message: 'This service asks for an API key.',
    suggestion:
      'Send one header Authorization: Bearer sk_sandbox_... or sk_live_..., with a key that the operator made (tillway keys create); then resend.',
  },
  forbidden: {
    message: 'This customer is blocked.',
    field: 'customer',
    suggestion: 'Stop: no checkout can be created for this customer until an operator unblocks it.',
  },
  not_found: {
    message: 'No payment "pay_1" exists.',
    suggestion: 'Use the id of a payment from a list or an earlier response.',
  },
  unknown_operation: {
    message: 'There is no operation "checkout.creat".',
    suggestion: 'Did you mean checkout.create? Use one of: checkout.preview, checkout.create, fees.estimate.',
  },
  method_not_allowed: { message: 'This path supports only GET.', suggestion: 'Use GET.' },
  invalid_state: {
    message: 'Session chk_... is paid, and only a routed one can expire.',
    suggestion: 'Leave it: a session that a buyer has started ends as paid or failed by itself.',
  },
  payload_too_large: {
    message: 'The body is larger than 128 KiB.',
    suggestion: 'Send a body of at most 131072 bytes.',
  },
  unsupported_media_type: {
    message: 'The body must be JSON.',
    suggestion: 'Send the body as JSON with the header Content-Type: application/json.',
  },
  idempotency_conflict: {
    message: 'This idempotencyKey was used with another body.',
    field: 'idempotencyKey',
    suggestion: 'Resend the first body to get its session again, or set idempotencyKey to a new key; then resend.',
    issues: [{ path: 'idempotencyKey', code: 'idempotency_conflict', message: 'was used with another body' }],
  },
  no_eligible_route: {
    message: 'No route can take this checkout: sandbox_card_acquirer: excluded by rule no-cards.',
    suggestion: 'Ask the operator to change the routing rules or the routes, or change what they look at.',
  },
  spend_limit_exceeded: {
    message:
      'This API key may spend $50.00 a checkout and $200.00 a day, of which $12.50 is left today; this checkout is $49.99.',
    field: 'amount',
    suggestion:
      "Set amount to at most $12.50, or ask the operator for a key with higher limits. The day's limit starts anew at 2026-01-16T00:00:00.000Z.",
  },
  rate_limited: { message: 'Too many requests.', suggestion: 'Resend after the seconds in Retry-After.' },
  unavailable: {
    message: 'The service is busy; try again.',
    suggestion: 'Resend after the seconds in Retry-After.',
  },
  internal_error: {
    message: 'An internal error occurred.',
    suggestion: 'Retry once with the same idempotencyKey; if it fails again, stop and report the x-request-id.',
  },
};

/** Example of an error with one invalid field. */
export function fieldError(field: string, code: string, message: string, suggestion: string): ErrorExample {
  return { message: `${field}: ${message}.`, field, suggestion, issues: [{ path: field, code, message }] };
}

/** Example of an error of an endpoint. If the endpoint does not list `forbidden`, the only cause is the scope of the key. */
export function exampleOfError(code: ErrorCode, { errors, method }: Endpoint): ErrorExample {
  if (code === 'forbidden' && !errors.includes(code)) return SCOPE_NEEDED;
  // A GET endpoint has no body, so its only invalid input is a malformed query.
  if (code === 'invalid_input' && method === 'GET') return MALFORMED_REQUEST;
  return ERROR_EXAMPLES[code];
}
