import type { Payment } from '../domain/records.ts';
import type { RefundOutcome } from '../domain/refund-record.ts';
import type { AdapterContext } from './adapter-context.ts';
import { type AdyenCall, type AdyenInstance, createAdyenCall, errorOf, expected, refusedKey } from './adyen-api.ts';
import { createAdyenCallbacks } from './adyen-callbacks.ts';
import { checkAdyen } from './adyen-check.ts';
import { refundRefusal } from './adyen-failures.ts';
import { isOverdue, linkReport, linkRequest, refundRequest } from './adyen-messages.ts';
import { type PaymentLink, readLink, readRefund } from './adyen-objects.ts';
import { createAdyenSettlementFile } from './adyen-settlement.ts';
import { type HttpAnswer, handoffResult } from './provider-http.ts';
import type { HandoffRequest, HandoffResult, KnownPayment, Provider } from './provider.ts';

const LINKS = '/paymentLinks';
const CLOSED = new Set(['expired', 'completed', 'paid']);
// Adyen forgets an idempotency key after 7 days at the earliest. A retry after that time could create a second refund.
const KEY_LIFE_MS = 6 * 24 * 60 * 60_000;
// Error code of a request with the idempotency key of another request, which Adyen may be processing.
const KEY_IN_USE = '704';

/**
 * Adapter of Adyen. A payment is a payment link. Adyen cannot be asked whether a payment was authorised, so signed callbacks are
 * the only proof of money.
 */
export function createAdyen(instance: AdyenInstance, context: AdapterContext): Provider {
  const { id, environment, settings } = instance;
  const { merchantAccount } = settings;
  const { now, log } = context;
  const plainCall = createAdyenCall(instance, context);
  const callbacks = createAdyenCallbacks(instance, context);

  const call: AdyenCall = async (method, path, options) => {
    const answer = await plainCall(method, path, options);
    const reason = refusedKey(answer);
    // If the key lacks a role only for a refund, buyers can still pay, so the instance stays ready.
    if (reason !== undefined && (answer.status === 401 || path === LINKS)) context.onNotReady(reason);
    return answer;
  };

  /** The link of a payment, or undefined if it belongs to another account. */
  function readOwnLink({ id: paymentId }: Payment, answer: HttpAnswer): PaymentLink | undefined {
    if (answer.status === 404 || answer.status === 422) return undefined;
    const link = expected('inquiry', answer, readLink);
    return link.reference === paymentId && link.merchantAccount === merchantAccount ? link : undefined;
  }

  function reportLostCallback({ id: paymentId }: Payment, { id: link }: PaymentLink): void {
    const advice = "look for the payment in Adyen's Customer Area, and at the failed deliveries of the webhook";
    log.error({ provider: id, paymentId, link, advice }, 'the notification about a used payment link has not arrived');
    context.countLostCallback();
  }

  return {
    id,
    environment,
    traits: { cancel: 'holds', lookup: 'reference', refunds: 'api', costRefundable: false, resend: 'always' },

    async handoff(request: HandoffRequest): Promise<HandoffResult> {
      const { payment, timeoutMs } = request;
      const json = linkRequest(request, settings);
      if (!json) {
        const reason = `Adyen does not serve the network ${payment.route.network}`;
        return { outcome: 'refused', reason, providerReason: null };
      }
      return handoffResult(
        call('POST', LINKS, { json, idempotencyKey: `${payment.id}:create`, timeoutMs }),
        (answer) => resultOf(answer, payment, merchantAccount),
        (answer) => errorOf(answer).message,
      );
    },

    readCallback: callbacks.read,

    async inquire(payment, timeoutMs): Promise<KnownPayment | 'unknown' | 'cannot_tell'> {
      // Without an answer to the handoff, no buyer has the URL of Adyen's page, so nobody can pay there.
      if (payment.providerReference === null) return 'unknown';
      const answer = await call('GET', linkPath(payment.providerReference), { timeoutMs });
      const link = readOwnLink(payment, answer);
      if (!link) return 'cannot_tell';
      if (isOverdue(link, payment, now())) reportLostCallback(payment, link);
      const url = link.status === 'active' ? link.url : null;
      return { report: linkReport(link, payment, now()), reference: link.id, url };
    },

    async cancel(payment, timeoutMs): Promise<'cancelled' | 'unknown'> {
      if (payment.providerReference === null) return 'unknown';
      const path = linkPath(payment.providerReference);
      const patched = await call('PATCH', path, { json: { status: 'expired' }, timeoutMs });
      // Adyen refuses to change a link that is not active, so its state decides.
      const isRefused = patched.status >= 400 && patched.status < 500;
      const answer = isRefused ? await call('GET', path, { timeoutMs }) : patched;
      const link = readOwnLink(payment, answer);
      // Nobody can pay at a link that is used. Only a notification tells whether it was paid.
      if (link && CLOSED.has(link.status)) return 'cancelled';
      throw new Error(`Adyen cannot cancel the payment: its link is ${link?.status ?? 'unknown'}`);
    },

    async refund(request): Promise<RefundOutcome | 'unknown'> {
      const { refundId, payment, amount, reference, created } = request;
      if (reference !== null) return { status: 'pending', reason: null, reference };
      if (payment.chargeReference === null) return 'unknown';
      if (now() - created > KEY_LIFE_MS) {
        throw new Error(`Adyen may have forgotten refund ${refundId}: look for it in the Customer Area`);
      }
      const path = `/payments/${encodeURIComponent(payment.chargeReference)}/refunds`;
      const json = refundRequest(request, merchantAccount);
      const answer = await call('POST', path, { json, idempotencyKey: refundId });
      const refusal = refundRefusal(answer.status, errorOf(answer).errorCode);
      if (refusal !== undefined) return { status: 'failed', reason: refusal, reference: null };
      const made = expected('refund', answer, readRefund);
      const isOwn = made.paymentPspReference === payment.chargeReference && isAmount(made.amount, amount);
      if (!isOwn) throw new Error(`Adyen answered with another refund than ${refundId}: ${made.pspReference}`);
      // The result arrives in a callback.
      return { status: 'pending', reason: null, reference: made.pspReference };
    },

    /** Adyen cannot be asked about a refund: its result arrives in a callback only. */
    async inquireRefund({ reference }): Promise<RefundOutcome | undefined> {
      return reference === null ? undefined : { status: 'pending', reason: null, reference };
    },

    settlementFile: createAdyenSettlementFile(settings, now),

    check: () => checkAdyen(plainCall, instance, callbacks.finding),
  };
}

function linkPath(reference: string): string {
  return `${LINKS}/${encodeURIComponent(reference)}`;
}

function isAmount({ currency, value }: PaymentLink['amount'], cents: number): boolean {
  return currency === 'USD' && value === cents;
}

/** Result of a handoff from an answer with the requested link, or with a conflict of idempotency keys; undefined for other answers. */
function resultOf(answer: HttpAnswer, { id, fees }: Payment, merchantAccount: string): HandoffResult | undefined {
  if (errorOf(answer).errorCode === KEY_IN_USE) {
    return { outcome: 'ambiguous', reason: 'Adyen still processes an equal request', isAnswered: true };
  }
  const link = answer.status === 201 ? readLink(answer.json) : undefined;
  const isRequested =
    link?.reference === id && isAmount(link.amount, fees.total) && link.merchantAccount === merchantAccount;
  return isRequested ? { outcome: 'accepted', reference: link.id, url: link.url } : undefined;
}
