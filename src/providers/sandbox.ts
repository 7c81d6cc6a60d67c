import type { Agent, Dispatcher } from 'undici';
import { GatewayError } from '../domain/errors.ts';
import type { Payment } from '../domain/records.ts';
import { traceHeaders } from '../telemetry/origin.ts';
import { loadHttpClient } from '../webhooks/http-client.ts';
import { verifyCallback } from '../webhooks/sign.ts';
import type { CallbackHeaders, HandoffRequest, HandoffResult, Provider, RefundRequest } from './provider.ts';
import { chargeOf, readAnswer, readError, readEvent, readRefund, refundOf } from './sandbox-messages.ts';

export const SIGNATURE_HEADER = 'x-provider-signature';
const TOLERANCE_SECONDS = 300;
const CALL_TIMEOUT_MS = 10_000;
// A call is not cut off before it is connected: this is how long that may take.
const CONNECT_TIMEOUT_MS = 2000;

// The request never left: nobody can hold the payment.
const NOT_SENT = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
  // Its certificate was not accepted, or there was no common version of TLS: both before a request can be sent.
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION',
  'ERR_SSL_UNSUPPORTED_PROTOCOL',
  'CERT_CHAIN_TOO_LONG',
  'CERT_HAS_EXPIRED',
  'CERT_NOT_YET_VALID',
  'CERT_REJECTED',
  'CERT_REVOKED',
  'CERT_SIGNATURE_FAILURE',
  'CERT_UNTRUSTED',
  'CRL_HAS_EXPIRED',
  'CRL_NOT_YET_VALID',
  'CRL_SIGNATURE_FAILURE',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'ERROR_IN_CERT_NOT_AFTER_FIELD',
  'ERROR_IN_CERT_NOT_BEFORE_FIELD',
  'ERROR_IN_CRL_LAST_UPDATE_FIELD',
  'ERROR_IN_CRL_NEXT_UPDATE_FIELD',
  'HOSTNAME_MISMATCH',
  'INVALID_CA',
  'INVALID_PURPOSE',
  'PATH_LENGTH_EXCEEDED',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_DECODE_ISSUER_PUBLIC_KEY',
  'UNABLE_TO_DECRYPT_CERT_SIGNATURE',
  'UNABLE_TO_DECRYPT_CRL_SIGNATURE',
  'UNABLE_TO_GET_CRL',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);

export interface SandboxOptions {
  /** Where the simulated provider's API is, without a trailing slash. */
  url: string;
  apiKey: string;
  callbackSecret: string;
  /** Milliseconds since 1970. */
  now: () => number;
}

/** The simulated provider, spoken to over HTTP like any other. It moves sandbox payments only. */
export function createSandboxProvider({ url, apiKey, callbackSecret, now }: SandboxOptions): Provider {
  let dispatcher: Agent | undefined;
  const payments = `${url}/simulator/api/payments`;

  async function ask(method: 'GET' | 'POST', path: string, timeoutMs: number, body?: unknown): Promise<Answer> {
    const client = await loadHttpClient();
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
    async handoff(handoff: HandoffRequest): Promise<HandoffResult> {
      // A catalogue may name this provider where it must not be: no simulated money in production, ever.
      if (handoff.session.environment !== 'sandbox') {
        return { outcome: 'refused', reason: 'sandbox payments only', providerReason: null };
      }
      try {
        return handoffResult(await ask('POST', '', handoff.timeoutMs, chargeOf(handoff)));
      } catch (error) {
        const reason = String(error);
        return wasSent(error) ? { outcome: 'ambiguous', reason } : { outcome: 'refused', reason, providerReason: null };
      }
    },
    readCallback(rawBody: Buffer, headers: CallbackHeaders) {
      const signature = headers[SIGNATURE_HEADER];
      const replay = { now: Math.floor(now() / 1000), toleranceSeconds: TOLERANCE_SECONDS };
      if (typeof signature === 'string' && verifyCallback(callbackSecret, signature, rawBody, replay)) {
        return readEvent(rawBody);
      }
      throw new GatewayError('unauthorized', `The header ${SIGNATURE_HEADER} does not sign this body, or is too old.`, {
        suggestion: 'Sign the exact bytes sent as t=<unix seconds>,v1=<hex HMAC-SHA256 of t.body>, at most 300 s ago.',
      });
    },
    readKept: (body: string) => readEvent(Buffer.from(body)),
    async inquire(payment: Payment, timeoutMs = CALL_TIMEOUT_MS) {
      const { status, json } = await ask('GET', `/${encodeURIComponent(payment.id)}`, timeoutMs);
      if (status === 404) return undefined;
      const report = status === 200 ? readAnswer(json) : undefined;
      if (!report) throw unexpected('inquiry', status);
      return report;
    },
    async cancel(payment: Payment, timeoutMs = CALL_TIMEOUT_MS) {
      const { status } = await ask('POST', `/${encodeURIComponent(payment.id)}/cancel`, timeoutMs);
      if (status !== 200 && status !== 404) throw unexpected('cancel', status);
      return status === 404 ? 'unknown' : 'cancelled';
    },
    async refund(refund: RefundRequest) {
      const { status, json } = await ask('POST', refundsOf(refund.payment), CALL_TIMEOUT_MS, refundOf(refund));
      if (status === 404 && readError(json)?.code === 'not_found') return 'unknown';
      // A clear no; what is wrong with the request itself, or with the provider, may pass.
      if (status === 409) return { status: 'failed', reason: 'the provider refused the refund' };
      const outcome = status === 200 ? readRefund(json, refund) : undefined;
      if (!outcome) throw unexpected('refund', status);
      return outcome;
    },
    async inquireRefund(refund: RefundRequest) {
      const path = `${refundsOf(refund.payment)}/${encodeURIComponent(refund.refundId)}`;
      const { status, json } = await ask('GET', path, CALL_TIMEOUT_MS);
      if (status === 404) return undefined;
      const outcome = status === 200 ? readRefund(json, refund) : undefined;
      if (!outcome) throw unexpected('inquiry about a refund', status);
      return outcome;
    },
  };
}

interface Answer {
  status: number;
  /** Undefined where the body is not JSON. */
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
  // A failure inside the provider leaves open whether it kept the payment; 4xx and 503 say that it did not.
  const refused = (status >= 400 && status < 500) || status === 503;
  if (!refused) return { outcome: 'ambiguous', reason };
  return { outcome: 'refused', reason, providerReason: readError(json)?.message ?? null };
}

function refundsOf({ id }: Payment): string {
  return `/${encodeURIComponent(id)}/refunds`;
}

function wasSent(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code !== 'string' || !NOT_SENT.has(code);
}

function unexpected(what: string, status: number): Error {
  return new Error(`the simulated provider answered ${status} to the ${what}`);
}
