import { type PaymentEvent, renderEvent } from '../contract/event-contract.ts';
import { SAMPLE_ROUTE_ID } from '../contract/sample-ids.ts';
import type { WebhookExampleRequest, VerifySampleRequest } from '../contract/action-contract.ts';
import { invalidField, GatewayError } from '../domain/gateway-error.ts';
import { splitFees } from '../domain/fees.ts';
import { NO_DETAILS } from '../domain/provider-report.ts';
import { type Instant, CURRENCY } from '../domain/records.ts';
import type { Route } from '../domain/route.ts';
import { statusOfType } from '../domain/webhook-endpoint.ts';
import { deliveryHeaders, isCallbackSignature, verifyCallback } from '../webhooks/sign.ts';
import { centsOf } from './cents-of.ts';
import type { Deps } from './deps.ts';
import { applySignal } from './apply-signal.ts';

/** Public secret that signs only `webhook.example`: `whsec_` and base64 of 32 bytes. */
export const SAMPLE_WEBHOOK_SECRET = 'whsec_dGlsbHdheSBzYW1wbGUgd2ViaG9vayBzZWNyZXQgIzE=';

/** Public secret that signs only payloads for `webhook.verify_sample`. */
export const SAMPLE_PROVIDER_SECRET = 'tillway_sample_provider_secret';

/** Prefix that separates samples from the callbacks of a real provider. */
const SAMPLE_EVENT_PREFIX = 'sample:';

const MAX_IDS_NAMED = 20;

/**
 * A sample delivery. Its signature is valid under the sample webhook secret, for the compact JSON of `payload`, at the
 * time `realNow`. Needs no record and writes nothing. Throws GatewayError `invalid_input` for an unknown route.
 */
export function webhookExample(
  { routes }: Pick<Deps, 'routes'>,
  request: WebhookExampleRequest,
  now: Instant,
  realNow: Instant = now,
): { headers: Record<string, string>; payload: PaymentEvent } {
  const route = namedRoute(routes, request.routeId);
  const amount = centsOf(request.amount);
  const payload = renderEvent({
    sessionId: request.sessionId,
    customerId: request.customerId,
    status: statusOfType(request.event),
    livemode: request.livemode,
    amount,
    fees: splitFees(amount, route),
    route: { ...route, provider: request.provider },
    txHash: request.txHash,
    metadata: request.metadata,
    created: now,
  });
  const delivery = { eventId: payload.id, body: JSON.stringify(payload), timestamp: Math.floor(realNow / 1000) };
  return { headers: deliveryHeaders({ ...delivery, secrets: [SAMPLE_WEBHOOK_SECRET] }), payload };
}

/** The route that samples show: the default route of samples or, if the catalogue does not have it, another route. */
export function sampleRoute(routes: readonly Route[]): Route {
  const inUse = (route: Route) => route.environment === 'sandbox' && route.health !== 'standby';
  return routes.find(({ id }) => id === SAMPLE_ROUTE_ID) ?? routes.find(inUse) ?? routes[0]!;
}

function namedRoute(routes: readonly Route[], routeId: string): Route {
  const route = routes.find(({ id }) => id === routeId);
  if (route) return route;
  // The default route id works even if the catalogue does not have that route.
  if (routeId === SAMPLE_ROUTE_ID) return sampleRoute(routes);
  const ids = routes.slice(0, MAX_IDS_NAMED).map(({ id }) => id);
  const advice = `Set routeId to one of ${ids.join(', ')}, for example ${JSON.stringify(ids[0])}; then resend.`;
  throw invalidField('routeId', 'invalid_value', 'is not a route of this service', advice);
}

/**
 * Checks a sample provider callback. Its age does not matter, because callers store samples and send them again. A verified sample
 * about a sandbox session is applied like a callback of the simulated provider; production sessions never change. `sent` is
 * the unparsed input, because the signature covers its payload with the keys in their original order. Throws GatewayError
 * `invalid_signature`.
 */
export async function verifySample(deps: Deps, request: VerifySampleRequest, sent: unknown) {
  const { provider, signature, payload } = request;
  const body = JSON.stringify((sent as { payload: unknown }).payload);
  const signatureVerified = signature !== undefined && isCallbackSignature(signature);
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

/** Applies a verified sample. Returns true if a merchant event was queued. */
async function applySample(deps: Deps, { provider, payload }: VerifySampleRequest, body: string): Promise<boolean> {
  const session = await deps.store.session(payload.sessionId);
  if (session?.environment !== 'sandbox') return false;
  const isFailed = payload.status === 'failed';
  const { queued } = await applySignal(deps, {
    provider: 'sandbox',
    environment: 'sandbox',
    eventId: SAMPLE_EVENT_PREFIX + JSON.stringify([provider, payload.eventId]),
    signal: {
      about: 'payment',
      ref: { sessionId: payload.sessionId },
      report: {
        ...NO_DETAILS,
        state: payload.status === 'provider_pending' ? 'processing' : payload.status,
        received: { units: BigInt(centsOf(payload.amount)), currency: CURRENCY, exponent: 2, excludesBuyerFee: true },
        txHash: payload.txHash ?? null,
        // The source is `buyer`, because a sample is no evidence about a route.
        decline: isFailed ? { code: 'declined', source: 'buyer', reason: null } : null,
      },
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
