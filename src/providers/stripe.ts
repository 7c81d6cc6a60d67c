import type { Payment } from '../domain/records.ts';
import type { RefundOutcome } from '../domain/refund-record.ts';
import type { AdapterContext } from './adapter-context.ts';
import { type HttpAnswer, handoffResult } from './provider-http.ts';
import type { HandoffRequest, HandoffResult, KnownPayment, Provider, RefundRequest } from './provider.ts';
import { readSignedCallback } from './signed-callback.ts';
import { type StripeCall, type StripeInstance, createStripeCall, errorOf, expected, refusedKey } from './stripe-api.ts';
import { checkStripe } from './stripe-check.ts';
import { refundRefusal } from './stripe-failures.ts';
import {
  formOf,
  hintOf,
  intentIdOf,
  paymentIdOf,
  paymentReport,
  refundOutcome,
  refundIdOf,
  refundParams,
  sessionParams,
} from './stripe-messages.ts';
import { type StripeRefund, readEvent, readRefund, readSession } from './stripe-objects.ts';
import { createStripeQueries, sessionPath } from './stripe-queries.ts';
import { stripeMethodOf } from './stripe-settings.ts';

const SESSIONS = '/v1/checkout/sessions';
// Stripe forgets an idempotency key after 24 hours. A retry after that time would create a second refund.
const KEY_LIFE_MS = 23 * 60 * 60_000;

/** Adapter of Stripe. A payment is a Checkout Session. Callbacks are only hints; money is booked from Stripe's answers to queries. */
export function createStripe(instance: StripeInstance, context: AdapterContext): Provider {
  const { id, environment, settings } = instance;
  const { now } = context;
  const plainCall = createStripeCall(instance, context);
  const isLive = environment === 'production';

  const call: StripeCall = async (method, path, options) => {
    const answer = await plainCall(method, path, options);
    const reason = refusedKey(answer);
    // If the key lacks a permission only for a query, buyers can still pay, so the instance stays ready.
    if (reason !== undefined && (answer.status === 401 || path === SESSIONS)) context.onNotReady(reason);
    return answer;
  };
  const queries = createStripeQueries(call, instance, context);

  /** The PaymentIntent of a payment; undefined if the buyer has not tried to pay. */
  async function intentOf({ chargeReference, providerReference }: Payment): Promise<string | undefined> {
    if (chargeReference !== null || providerReference === null) return chargeReference ?? undefined;
    const session = await queries.session(providerReference);
    return (session && intentIdOf(session)) ?? undefined;
  }

  async function findRefund(request: RefundRequest, intent: string): Promise<RefundOutcome | undefined> {
    const found = await queries.refundOf(request.refundId, intent);
    return found && ownOutcome(request, found);
  }

  async function readKnownRefund(request: RefundRequest, reference: string): Promise<RefundOutcome> {
    const found = await queries.refund(reference);
    if (!found) throw new Error(`Stripe does not know refund ${reference} in this account`);
    return ownOutcome(request, found);
  }

  return {
    id,
    environment,
    traits: { cancel: 'holds', lookup: 'reference', refunds: 'api', costRefundable: false, resend: 'no_answer' },

    async handoff(request: HandoffRequest): Promise<HandoffResult> {
      const { payment, timeoutMs } = request;
      const params = sessionParams(request, settings);
      if (!params) {
        const reason = `Stripe does not serve the network ${payment.route.network}`;
        return { outcome: 'refused', reason, providerReason: null };
      }
      const options = { form: formOf(params), idempotencyKey: `${payment.id}:create`, timeoutMs };
      return handoffResult(
        call('POST', SESSIONS, options),
        (answer) => resultOf(answer, payment, isLive),
        (answer) => errorOf(answer)?.message,
      );
    },

    async readCallback(rawBody, headers) {
      const signature = {
        header: 'stripe-signature',
        secrets: settings.webhookSecrets,
        nowMs: now(),
        suggestion: "Use the signing secret of this endpoint, and forward Stripe's exact bytes.",
      };
      const event = readEvent(readSignedCallback(rawBody, headers, signature));
      const hint = event && hintOf(event);
      if (!hint) return { signals: [], hints: [] };
      const { id: eventId, livemode } = event;
      const account = event.account ?? settings.account;
      const found = { ...hint, eventId };
      if (livemode !== isLive) return { signals: [], hints: [{ ...found, mismatch: 'environment_mismatch' }] };
      if (account !== settings.account) return { signals: [], hints: [{ ...found, mismatch: 'account_mismatch' }] };
      return { signals: [], hints: [found] };
    },

    query: queries.answer,

    returnHint({ providerReference }) {
      return providerReference === null ? undefined : { about: 'payment', id: providerReference };
    },

    async inquire(payment, timeoutMs): Promise<KnownPayment | 'unknown' | 'cannot_tell'> {
      // Without an answer to the handoff, no buyer has the URL of Stripe's page, so nobody can pay there.
      if (payment.providerReference === null) return 'unknown';
      const session = await queries.session(payment.providerReference, timeoutMs);
      // Stripe does not delete sessions. A missing session belongs to another account, where the buyer may still pay.
      if (!session || paymentIdOf(session) !== payment.id) return 'cannot_tell';
      const url = session.status === 'open' ? (session.url ?? null) : null;
      return { report: paymentReport(session), reference: session.id, url };
    },

    async cancel({ providerReference }, timeoutMs): Promise<'cancelled' | 'unknown'> {
      if (providerReference === null) return 'unknown';
      const options = timeoutMs === undefined ? {} : { timeoutMs };
      const answer = await call('POST', `${sessionPath(providerReference)}/expire`, options);
      // Stripe answers 400 if the session is not open.
      const isClosed = answer.status === 400;
      const session = isClosed
        ? await queries.session(providerReference, timeoutMs)
        : expected('cancellation', answer, readSession);
      const state = session && paymentReport(session).state;
      if (state === 'paid' || state === 'failed') return 'cancelled';
      throw new Error(`Stripe cannot cancel the payment: its session is ${session?.status ?? 'unknown'}`);
    },

    async refund(request): Promise<RefundOutcome | 'unknown'> {
      if (request.reference !== null) return readKnownRefund(request, request.reference);
      const intent = await intentOf(request.payment);
      if (intent === undefined) return 'unknown';
      const isKeyOld = now() - request.created > KEY_LIFE_MS;
      const made = isKeyOld ? await findRefund(request, intent) : undefined;
      if (made) return made;
      const options = { form: formOf(refundParams(request, intent)), idempotencyKey: request.refundId };
      const answer = await call('POST', '/v1/refunds', options);
      const { status, json } = answer;
      if (status === 404 && errorOf(answer)?.code === 'resource_missing') return 'unknown';
      const refusal = refundRefusal(status, json);
      if (refusal !== undefined) return { status: 'failed', reason: refusal, reference: null };
      // Stripe repeats a 500 for as long as it keeps the idempotency key, although the refund may exist.
      const found = status >= 500 ? await findRefund(request, intent) : undefined;
      return found ?? ownOutcome(request, expected('refund', answer, readRefund));
    },

    async inquireRefund(request): Promise<RefundOutcome | undefined> {
      if (request.reference !== null) return readKnownRefund(request, request.reference);
      const intent = await intentOf(request.payment);
      return intent === undefined ? undefined : findRefund(request, intent);
    },

    check: () => checkStripe(plainCall, instance, context),
  };
}

/** Outcome of a refund; throws if it is not the requested refund. A refund made in Stripe's dashboard has no id of ours to compare. */
function ownOutcome({ refundId, amount }: RefundRequest, refund: StripeRefund): RefundOutcome {
  const isOwn = (refundIdOf(refund) ?? refundId) === refundId && refund.amount === amount && refund.currency === 'usd';
  if (isOwn) return refundOutcome(refund);
  throw new Error(`Stripe answered with another refund than ${refundId}: ${refund.id}`);
}

/** Result of a handoff from an answer with a session, or with a conflict of idempotency keys; undefined for other answers. */
function resultOf(answer: HttpAnswer, { id, fees, route }: Payment, isLive: boolean): HandoffResult | undefined {
  // The idempotency key was used before: with other parameters, or by a request that is still in progress.
  if (errorOf(answer)?.type === 'idempotency_error') {
    return { outcome: 'ambiguous', reason: 'Stripe reports a conflict of idempotency keys', isAnswered: true };
  }
  const session = answer.status === 200 ? readSession(answer.json) : undefined;
  const isRequested =
    session?.livemode === isLive &&
    session.amount_total === fees.total &&
    session.currency === 'usd' &&
    paymentIdOf(session) === id;
  if (!isRequested || !session.url) return undefined;
  const method = stripeMethodOf(route.network)!.type;
  if (session.payment_method_types.includes(method)) {
    return { outcome: 'accepted', reference: session.id, url: session.url };
  }
  // The handoff can be refused safely: no buyer gets the URL of this session, so nobody can pay it.
  const reason = `Stripe does not offer ${method}: turn it on at https://dashboard.stripe.com/settings/payment_methods`;
  return { outcome: 'refused', reason, providerReason: null };
}
