import type { Agent, Dispatcher } from 'undici';
import { GatewayError } from '../domain/gateway-error.ts';
import type { Payment } from '../domain/records.ts';
import { traceHeaders } from '../telemetry/origin.ts';
import { verifyCallback } from '../webhooks/sign.ts';
import type { CallbackHeaders, HandoffRequest, HandoffResult, Provider, RefundRequest } from './provider.ts';
import { chargeOf, readAnswer, readError, readEvent, readRefund, refundOf } from './sandbox-messages.ts';

export const SIGNATURE_HEADER = 'x-provider-signature';
const TOLERANCE_SECONDS = 300;
const CALL_TIMEOUT_MS = 10_000;
// The timeout of a call does not cover the time to connect; this one does.
const CONNECT_TIMEOUT_MS = 2000;

// Errors after which the request was certainly not sent: no connection, or no common version of TLS.
const NOT_SENT = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION',
  'ERR_SSL_UNSUPPORTED_PROTOCOL',
]);
// A certificate that was not accepted: https://nodejs.org/api/tls.html#x509-certificate-error-codes
const CERTIFICATE_ERROR =
  /^(?:CERT_|CRL_|UNABLE_TO_|ERROR_IN_C|(?:DEPTH_ZERO_)?SELF_SIGNED_|HOSTNAME_MISMATCH|INVALID_CA|INVALID_PURPOSE|PATH_LENGTH_)/;

export interface SandboxOptions {
  /** Origin of the simulated provider's API, without a trailing slash. */
  url: string;
  apiKey: string;
  callbackSecret: string;
  /** Milliseconds since 1970. */
  now: () => number;
}

/** Adapter of the simulated provider, over HTTP like that of any other provider. It moves sandbox payments only. */
export function createSandboxProvider({ url, apiKey, callbackSecret, now }: SandboxOptions): Provider {
  let dispatcher: Agent | undefined;
  const payments = `${url}/simulator/api/payments`;

  async function ask(method: 'GET' | 'POST', path: string, timeoutMs: number, body?: unknown): Promise<Answer> {
    const client = await import('undici');
    dispatcher ??= new client.Agent({ connect: { timeout: CONNECT_TIMEOUT_MS } });
    const options: Parameters<typeof client.request>[1] = {
      method,
      dispatcher,
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json', ...traceHeaders() },
      signal: AbortSignal.timeout(timeoutMs),
    };
    if (body !== undefined) options.body = JSON.stringify(body);
    return answerOf(await client.request(`${payments}${path}`, options));
  }

  return {
    id: 'sandbox',
    environment: 'sandbox',
    traits: { cancel: 'holds', lookup: 'own_id', refunds: 'api', costRefundable: true, resend: 'always' },
    async handoff(handoff: HandoffRequest): Promise<HandoffResult> {
      // A catalogue may name this provider for production routes by mistake.
      if (handoff.session.environment !== 'sandbox') {
        return { outcome: 'refused', reason: 'sandbox payments only', providerReason: null };
      }
      try {
        return handoffResult(await ask('POST', '', handoff.timeoutMs, chargeOf(handoff)));
      } catch (error) {
        const reason = String(error);
        return wasSent(error)
          ? { outcome: 'ambiguous', reason, isAnswered: false }
          : { outcome: 'refused', reason, providerReason: null };
      }
    },
    async readCallback(rawBody: Buffer, headers: CallbackHeaders) {
      const signature = headers[SIGNATURE_HEADER];
      const replay = { now: Math.floor(now() / 1000), toleranceSeconds: TOLERANCE_SECONDS };
      if (typeof signature === 'string' && verifyCallback(callbackSecret, signature, rawBody, replay)) {
        return { signals: [readEvent(rawBody)], hints: [] };
      }
      throw new GatewayError('unauthorized', `The header ${SIGNATURE_HEADER} does not sign this body, or is too old.`, {
        suggestion: 'Sign the exact bytes sent as t=<unix seconds>,v1=<hex HMAC-SHA256 of t.body>, at most 300 s ago.',
      });
    },
    async inquire(payment: Payment, timeoutMs = CALL_TIMEOUT_MS) {
      const { status, json } = await ask('GET', `/${encodeURIComponent(payment.id)}`, timeoutMs);
      return status === 404 ? 'unknown' : expected('inquiry', status, readAnswer(json));
    },
    async cancel(payment: Payment, timeoutMs = CALL_TIMEOUT_MS) {
      const { status } = await ask('POST', `/${encodeURIComponent(payment.id)}/cancel`, timeoutMs);
      return status === 404 ? 'unknown' : expected('cancel', status, 'cancelled' as const);
    },
    async refund(refund: RefundRequest) {
      const { status, json } = await ask('POST', refundsOf(refund.payment), CALL_TIMEOUT_MS, refundOf(refund));
      if (status === 404 && readError(json)?.code === 'not_found') return 'unknown';
      // Only 409 is a clear refusal; other errors may be temporary.
      if (status === 409) return { status: 'failed', reason: 'the provider refused the refund' };
      return expected('refund', status, readRefund(json, refund));
    },
    async inquireRefund(refund: RefundRequest) {
      const path = `${refundsOf(refund.payment)}/${encodeURIComponent(refund.refundId)}`;
      const { status, json } = await ask('GET', path, CALL_TIMEOUT_MS);
      return status === 404 ? undefined : expected('inquiry about a refund', status, readRefund(json, refund));
    },
    // It runs in the same process.
    check: async () => ({ ready: true, findings: [] }),
  };
}

interface Answer {
  status: number;
  /** Undefined if the body is not JSON. */
  json: unknown;
}

async function answerOf({ statusCode, body }: Pick<Dispatcher.ResponseData, 'statusCode' | 'body'>): Promise<Answer> {
  const text = await body.text();
  try {
    return { status: statusCode, json: JSON.parse(text) };
  } catch {
    return { status: statusCode, json: undefined };
  }
}

function handoffResult({ status, json }: Answer): HandoffResult {
  const answer = status === 200 ? readAnswer(json) : undefined;
  if (answer) return { outcome: 'accepted', reference: answer.reference, url: answer.url };
  const reason = `the provider answered ${status}`;
  // 4xx and 503 mean that the provider does not have the payment; other failures leave that open.
  const refused = (status >= 400 && status < 500) || status === 503;
  if (!refused) return { outcome: 'ambiguous', reason, isAnswered: true };
  return { outcome: 'refused', reason, providerReason: readError(json)?.message ?? null };
}

function refundsOf({ id }: Payment): string {
  return `/${encodeURIComponent(id)}/refunds`;
}

function wasSent(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code !== 'string' || !(NOT_SENT.has(code) || CERTIFICATE_ERROR.test(code));
}

/** The answer to a call; throws unless the status is 200 and the body could be read. */
function expected<Answered>(call: string, status: number, answer: Answered | undefined): Answered {
  if (status === 200 && answer !== undefined) return answer;
  throw new Error(`the simulated provider answered ${status} to the ${call}`);
}
