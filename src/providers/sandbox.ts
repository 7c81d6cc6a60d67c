import { GatewayError } from '../domain/gateway-error.ts';
import type { Payment } from '../domain/records.ts';
import { verifyCallback } from '../webhooks/sign.ts';
import { CALL_TIMEOUT_MS, type HttpAnswer, createHttpClient, unansweredHandoff } from './provider-http.ts';
import type { CallbackHeaders, HandoffRequest, HandoffResult, Provider, RefundRequest } from './provider.ts';
import { chargeOf, readAnswer, readError, readEvent, readRefund, refundOf } from './sandbox-messages.ts';

/** Header with the signature of a callback from the simulated provider. */
export const SIGNATURE_HEADER = 'x-provider-signature';
const TOLERANCE_SECONDS = 300;
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
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    now,
  });
  const ask = (method: 'GET' | 'POST', path: string, timeoutMs: number, body?: unknown) =>
    http({ method, path: `${PAYMENTS}${path}`, timeoutMs, body: JSON.stringify(body) });

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
        return unansweredHandoff(error);
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
    // The simulated provider runs in this process, so it is always ready.
    check: async () => ({ ready: true, findings: [] }),
  };
}

function handoffResult({ status, json }: HttpAnswer): HandoffResult {
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

/** The answer to a call; throws unless the status is 200 and the body could be read. */
function expected<Answered>(call: string, status: number, answer: Answered | undefined): Answered {
  if (status === 200 && answer !== undefined) return answer;
  throw new Error(`the simulated provider answered ${status} to the ${call}`);
}
