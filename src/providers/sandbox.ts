import type { Payment } from '../domain/records.ts';
import { CALL_TIMEOUT_MS, type HttpAnswer, createHttpClient, handoffResult } from './provider-http.ts';
import type { CallbackHeaders, HandoffResult, Provider, RefundRequest } from './provider.ts';
import { chargeOf, readAnswer, readError, readEvent, readRefund, refundOf } from './sandbox-messages.ts';
import { readSignedCallback } from './signed-callback.ts';

/** Header with the signature of a callback from the simulated provider. */
export const SIGNATURE_HEADER = 'x-provider-signature';
const PAYMENTS = '/simulator/api/payments';

export interface SandboxOptions {
  /** Origin of the simulated provider's API, without a trailing slash. */
  url: string;
  apiKey: string;
  callbackSecret: string;
  /** Milliseconds since 1970. */
  now: () => number;
}

/** Adapter of the simulated provider. It uses HTTP, as the adapters of real providers do, and accepts only sandbox payments. */
export function createSandboxProvider({ url, apiKey, callbackSecret, now }: SandboxOptions): Provider {
  const http = createHttpClient({
    origin: url,
    headers: { authorization: `Bearer ${apiKey}` },
    now,
  });
  const ask = (method: 'GET' | 'POST', path: string, timeoutMs: number, json?: object) =>
    http({ method, path: `${PAYMENTS}${path}`, timeoutMs, json });

  return {
    id: 'sandbox',
    environment: 'sandbox',
    traits: { cancel: 'holds', lookup: 'own_id', refunds: 'api', costRefundable: true, resend: 'always' },
    handoff: (handoff) =>
      handoffResult(
        ask('POST', '', handoff.timeoutMs, chargeOf(handoff)),
        resultOf,
        ({ json }) => readError(json)?.message,
      ),
    async readCallback(rawBody: Buffer, headers: CallbackHeaders) {
      const suggestion = 'Sign the exact bytes sent as t=<unix seconds>,v1=<hex HMAC-SHA256 of t.body>.';
      const signature = { header: SIGNATURE_HEADER, secrets: [callbackSecret], nowMs: now(), suggestion };
      return { signals: [readEvent(readSignedCallback(rawBody, headers, signature))], hints: [] };
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
    // The simulated provider runs in this process, so it is always ready.
    check: async () => ({ ready: true, findings: [] }),
  };
}

function resultOf({ status, json }: HttpAnswer): HandoffResult | undefined {
  const answer = status === 200 ? readAnswer(json) : undefined;
  if (answer) return { outcome: 'accepted', reference: answer.reference, url: answer.url };
  // The simulated provider has not stored a payment that it answers with 409 or 503.
  if (status !== 409 && status !== 503) return undefined;
  return {
    outcome: 'refused',
    reason: `the provider answered ${status}`,
    providerReason: readError(json)?.message ?? null,
  };
}

function refundsOf({ id }: Payment): string {
  return `/${encodeURIComponent(id)}/refunds`;
}

/** The answer to a call; throws unless the status is 200 and the body could be read. */
function expected<Answered>(call: string, status: number, answer: Answered | undefined): Answered {
  if (status === 200 && answer !== undefined) return answer;
  throw new Error(`the simulated provider answered ${status} to the ${call}`);
}
