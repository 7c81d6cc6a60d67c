import type { VerifySampleRequest } from '../contract/action-contract.ts';
import { CURRENCY } from '../domain/records.ts';
import { GatewayError } from '../domain/gateway-error.ts';
import { isSignature, verifyCallback } from '../webhooks/sign.ts';
import { applyProviderMessage } from './apply-provider-message.ts';
import { centsOf } from './cents-of.ts';
import type { Deps } from './deps.ts';
import { SAMPLE_EVENT_PREFIX, SAMPLE_PROVIDER_SECRET } from './samples.ts';

/**
 * Checks a provider callback; its age does not matter, since samples are kept and sent again. A verified sample of an
 * existing sandbox session is applied like a callback of the simulated provider; production is never touched. `sent` is the input as it came, since the
 * signature is over its payload with the keys in that order. Throws GatewayError `invalid_signature`.
 */
export async function verifySample(deps: Deps, request: VerifySampleRequest, sent: unknown) {
  const { provider, signature, payload } = request;
  const body = JSON.stringify((sent as { payload: unknown }).payload);
  const signatureVerified = signature !== undefined && isSignature(signature);
  if (signatureVerified && !verifyCallback(SAMPLE_PROVIDER_SECRET, signature, body)) throw wrongSignature(deps);
  return {
    accepted: true as const,
    provider,
    eventId: payload.eventId,
    sessionId: payload.sessionId,
    status: payload.status,
    merchantWebhookQueued: signatureVerified && (await applySample(deps, request, body)),
    signatureVerified,
  };
}

/** True if a merchant event was queued. */
async function applySample(deps: Deps, { provider, payload }: VerifySampleRequest, body: string): Promise<boolean> {
  const session = await deps.store.session(payload.sessionId);
  if (session?.environment !== 'sandbox') return false;
  const { queued } = await applyProviderMessage(deps, {
    provider: 'sandbox',
    environment: 'sandbox',
    callback: {
      eventId: SAMPLE_EVENT_PREFIX + JSON.stringify([provider, payload.eventId]),
      sessionId: payload.sessionId,
      paymentId: null,
      status: payload.status,
      amount: centsOf(payload.amount),
      currency: CURRENCY,
      txHash: payload.txHash ?? null,
      // A sample says nothing about a route.
      failure: payload.status === 'failed' ? { code: 'declined', source: 'buyer', reason: null } : null,
    },
    // Developers send `failed` to receive payment.failed, and a failed attempt alone sends no event.
    endsCheckout: true,
    body,
  });
  return queued;
}

function wrongSignature({ urls }: Pick<Deps, 'urls'>): GatewayError {
  const message = 'does not match the payload under the sample provider secret';
  return new GatewayError('invalid_signature', `signature: ${message}.`, {
    field: 'signature',
    suggestion: `Set signature to t=<unix seconds>,v1=<hex HMAC-SHA256 of t, a full stop and the payload as compact JSON in the key order sent>, keyed with webhooks.verifySample.secret of GET ${urls.base}/api/agent/capabilities, or to a placeholder, for example "placeholder"; then resend.`,
    issues: [{ path: 'signature', code: 'invalid_signature', message }],
  });
}
