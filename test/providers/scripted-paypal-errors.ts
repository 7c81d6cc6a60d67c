import type { Reply } from './scripted-party.ts';

// Errors of the scripted PayPal, with the texts of PayPal's description.

/** Issues of a 422 with their descriptions. */
const ISSUES = {
  ORDER_NOT_APPROVED:
    "Payer has not yet approved the Order for payment. Please redirect the payer to the 'rel':'approve' url returned as part of the HATEOAS links within the Create Order call or provide a valid `payment_source` in the request.",
  ORDER_ALREADY_CAPTURED: "Order already captured.If 'intent=CAPTURE' only one capture per order is allowed.",
  INSTRUMENT_DECLINED:
    "The instrument presented  was either declined by the processor or bank, or it can't be used for this payment.",
  COMPLIANCE_VIOLATION: 'Transaction is declined due to compliance violation.',
  PAYEE_ACCOUNT_RESTRICTED: 'The merchant account is restricted.',
  TRANSACTION_REFUSED: 'The request was refused.',
  PAYER_ACTION_REQUIRED: 'Transaction cannot complete successfully, instruct the buyer to return to PayPal.',
  CAPTURE_FULLY_REFUNDED: 'The capture has already been fully refunded',
  REFUND_AMOUNT_EXCEEDED:
    'The refund amount must be less than or equal to the capture amount that has not yet been refunded.',
  REFUND_CAPTURE_CURRENCY_MISMATCH: 'Refund must be in the same currency as the capture',
  REFUND_NOT_ALLOWED: 'Capture cannot be refunded.',
  REFUND_FAILED_INSUFFICIENT_FUNDS:
    'Capture could not be refunded due to insufficient funds. Please check to see if you have sufficient funds in your PayPal account or if the bank account linked to your PayPal account is verified and has sufficient funds.',
  PENDING_CAPTURE:
    'Cannot initiate a refund as the capture is pending. Capture is typically pending when the payer has funded the transaction using e-check/bank funded.',
  REFUND_NOT_PERMITTED_DUE_TO_CHARGEBACK:
    'Refunds are not allowed on this capture due to a chargeback on the card or bank. Please contact the payee to resolve the chargeback.',
  TRANSACTION_DISPUTED:
    'Partial refunds cannot be offered at this time because there is an open case on this transaction. Visit the PayPal Resolution Center to review this case.',
  CANNOT_BE_ZERO_OR_NEGATIVE:
    'Must be greater than zero. If the currency supports decimals, only two decimal place precision is supported.',
  DECIMAL_PRECISION: 'The value of the field should not be more than two decimal places.',
  PAYPAL_REQUEST_ID_PREVIOUSLY_USED: 'The PayPal-Request-Id was used for another request.',
} as const;

export type Issue = keyof typeof ISSUES;

/** Errors of PayPal by their HTTP status. */
const ERRORS: Readonly<Record<number, { name: string; message: string }>> = {
  400: {
    name: 'INVALID_REQUEST',
    message: 'Request is not well-formed, syntactically incorrect, or violates schema.',
  },
  403: { name: 'NOT_AUTHORIZED', message: 'Authorization failed due to insufficient permissions.' },
  404: { name: 'RESOURCE_NOT_FOUND', message: 'The specified resource does not exist.' },
  422: {
    name: 'UNPROCESSABLE_ENTITY',
    message: 'The requested action could not be performed, semantically incorrect, or failed business validation.',
  },
  415: { name: 'UNSUPPORTED_MEDIA_TYPE', message: 'The server does not support the request payload’s media type.' },
  429: { name: 'RATE_LIMIT_REACHED', message: 'Too many requests. Blocked due to rate limiting.' },
  500: { name: 'INTERNAL_SERVER_ERROR', message: 'An internal server error has occurred.' },
};

interface Detail {
  issue: string;
  description: string;
}

/** Error in PayPal's form; the server adds its `debug_id`. */
export function failure(status: number, details: Detail[] = [], links: object[] = []): Reply {
  return { status, body: { ...ERRORS[status]!, ...(details.length > 0 && { details }), links } };
}

export function unprocessable(issue: Issue, links: object[] = []): Reply {
  return failure(422, [{ issue, description: ISSUES[issue] }], links);
}

export function missing(): Reply {
  const description = 'Specified resource ID does not exist. Please check the resource ID and try again.';
  return failure(404, [{ issue: 'INVALID_RESOURCE_ID', description }]);
}
