import { GatewayError } from '../domain/gateway-error.ts';
import { NO_DETAILS, type ProviderReport } from '../domain/provider-report.ts';
import type { Payment } from '../domain/records.ts';
import type { RefundOutcome } from '../domain/refund-record.ts';
import {
  type PaypalCall,
  type PaypalContext,
  type PaypalInstance,
  createPaypalApi,
  expected,
  isMissing,
  refusedCredentials,
} from './paypal-api.ts';
import { createCallbackVerifier } from './paypal-certificates.ts';
import { checkPaypal } from './paypal-check.ts';
import {
  EXPIRED,
  asksFor,
  captureOf,
  captureReport,
  hintOf,
  orderRequest,
  pageOf,
  paymentIdOf,
  paymentReport,
  refundIdOf,
  refundOutcome,
  refundRefusal,
  refundRequest,
  refusedCapture,
} from './paypal-messages.ts';
import { type PaypalOrder, type PaypalRefund, readError, readEvent, readOrder, readRefund } from './paypal-objects.ts';
import { createPaypalQueries, orderPath } from './paypal-queries.ts';
import { PAYPAL_NETWORK } from './paypal-settings.ts';
import { type HttpAnswer, handoffResult } from './provider-http.ts';
import type { HandoffResult, KnownPayment, Provider, RefundRequest } from './provider.ts';
import { jsonOf } from './signed-callback.ts';

const ORDERS = '/v2/checkout/orders';
const CAPTURED = new Set(['ORDER_ALREADY_CAPTURED', 'ORDER_ALREADY_COMPLETED']);

/** Adapter of PayPal. A payment is an order, which the service captures after the buyer has approved it. Callbacks are only hints. */
export function createPaypal(instance: PaypalInstance, context: PaypalContext): Provider {
  const { id, environment, settings } = instance;
  const api = createPaypalApi(instance, context);
  const verify = createCallbackVerifier({ environment, settings, now: context.now });

  const call: PaypalCall = async (method, path, options) => {
    const answer = await api.call(method, path, options);
    const reason = refusedCredentials(answer);
    // If the app lacks a permission only for a query, buyers can still pay, so the instance stays ready.
    if (reason !== undefined && (answer.status === 401 || path === ORDERS)) context.onNotReady(reason);
    return answer;
  };
  const queries = createPaypalQueries(call, settings, context.now);

  /** The order of a payment; undefined if PayPal does not have it any more. Throws if the order is not of this payment. */
  async function orderOf({ id: paymentId }: Payment, reference: string, timeoutMs?: number) {
    const order = await queries.order(reference, timeoutMs);
    if (order && paymentIdOf(order) !== paymentId) throw new Error(`order ${reference} is not of payment ${paymentId}`);
    return order;
  }

  /** Report on a payment from its order. Without the order, the capture that was pending can still take the money. */
  async function reportOf(
    order: PaypalOrder | undefined,
    { expectedBy, chargeReference }: Payment,
    timeoutMs?: number,
  ): Promise<ProviderReport> {
    if (order) return paymentReport(order, settings);
    const capture = chargeReference === null ? undefined : await queries.capture(chargeReference, timeoutMs);
    if (capture) return captureReport(capture, settings);
    return expectedBy === null ? EXPIRED : { ...NO_DETAILS, state: 'processing' };
  }

  async function captureIdOf({ chargeReference, providerReference }: Payment): Promise<string | undefined> {
    if (chargeReference !== null || providerReference === null) return chargeReference ?? undefined;
    const order = await queries.order(providerReference);
    return order && captureOf(order)?.id;
  }

  return {
    id,
    environment,
    traits: { cancel: 'holds', lookup: 'reference', refunds: 'api', costRefundable: false, resend: 'always' },

    async handoff(request): Promise<HandoffResult> {
      const { payment, timeoutMs } = request;
      const { network } = payment.route;
      if (network !== PAYPAL_NETWORK) {
        return { outcome: 'refused', reason: `PayPal does not serve the network ${network}`, providerReason: null };
      }
      const options = { json: orderRequest(request, settings), idempotencyKey: `${payment.id}:create`, timeoutMs };
      return handoffResult(
        call('POST', ORDERS, options),
        (answer) => resultOf(answer, payment),
        ({ json }) => readError(json)?.message,
      );
    },

    async readCallback(rawBody, headers) {
      await verify(rawBody, headers);
      const json = jsonOf(rawBody);
      const event = readEvent(json);
      if (!event && typeof json !== 'object') throw new GatewayError('invalid_input', 'The callback is not an event.');
      const hint = event && hintOf(event);
      if (hint === undefined) {
        const advice = 'look for its object at PayPal';
        const about = { provider: id, eventId: event?.id, type: event?.event_type, advice };
        context.log.warn(about, 'callback of PayPal ignored: it cannot be read');
      }
      return { signals: [], hints: event && hint ? [{ ...hint, eventId: event.id }] : [] };
    },

    query: (hint) => queries.answer(hint),

    returnHint({ providerReference }) {
      return providerReference === null ? undefined : { about: 'payment', id: providerReference };
    },

    async inquire(payment, timeoutMs): Promise<KnownPayment | 'unknown'> {
      const { providerReference: reference } = payment;
      // Without an answer to the handoff, no buyer has the URL of PayPal's page, so nobody can pay there.
      if (reference === null) return 'unknown';
      const order = await orderOf(payment, reference, timeoutMs);
      const report = await reportOf(order, payment, timeoutMs);
      return { report, reference, url: order ? pageOf(order) : null };
    },

    /** Orders cannot be withdrawn at PayPal. The service captures no cancelled payment, so no money can arrive. */
    async cancel(payment, timeoutMs): Promise<'cancelled' | 'unknown'> {
      const { providerReference: reference } = payment;
      if (reference === null) return 'unknown';
      const order = await orderOf(payment, reference, timeoutMs);
      if ((await reportOf(order, payment, timeoutMs)).state !== 'processing') return 'cancelled';
      throw new Error('PayPal cannot cancel the payment: its capture is pending');
    },

    async capture(payment, timeoutMs): Promise<ProviderReport> {
      const { id: paymentId, providerReference: reference, decline } = payment;
      if (reference === null) throw new Error(`payment ${paymentId} has no order to capture`);
      let idempotencyKey = `${paymentId}:capture`;
      if (decline !== null) {
        // PayPal repeats a decline under the same key, so the capture of a later approval has a key of its own.
        const report = await reportOf(await orderOf(payment, reference, timeoutMs), payment, timeoutMs);
        if (report.state !== 'requires_capture') return report;
        idempotencyKey += `:${report.revision}`;
      }
      const answer = await call('POST', `${orderPath(reference)}/capture`, { json: {}, idempotencyKey, timeoutMs });
      if (isMissing(answer)) return reportOf(undefined, payment, timeoutMs);
      const issue = answer.status === 422 ? readError(answer.json)?.issue : undefined;
      if (issue !== undefined && CAPTURED.has(issue)) {
        const captured = await orderOf(payment, reference, timeoutMs);
        if (captured) return paymentReport(captured, settings);
        throw new Error(`PayPal does not show the captured order ${reference}`);
      }
      const refused = issue === undefined ? undefined : refusedCapture(issue);
      if (refused) return refused;
      const order = expected('capture', answer, readOrder);
      if (paymentIdOf(order) !== paymentId) throw new Error(`PayPal captured another order than ${reference}`);
      return paymentReport(order, settings);
    },

    async refund(request): Promise<RefundOutcome | 'unknown'> {
      const { reference, refundId, payment } = request;
      if (reference !== null) return knownRefund(request, reference);
      const capture = await captureIdOf(payment);
      if (capture === undefined) return 'unknown';
      const path = `/v2/payments/captures/${encodeURIComponent(capture)}/refund`;
      const answer = await call('POST', path, { json: refundRequest(request), idempotencyKey: refundId });
      if (isMissing(answer)) return 'unknown';
      const reason = answer.status === 422 ? refundRefusal(readError(answer.json)?.issue) : undefined;
      if (reason !== undefined) return { status: 'failed', reason, reference: null };
      return ownOutcome(request, expected('refund', answer, readRefund));
    },

    async inquireRefund(request): Promise<RefundOutcome | undefined> {
      const { reference, refundId, payment } = request;
      if (reference !== null) return knownRefund(request, reference);
      const order = payment.providerReference === null ? undefined : await queries.order(payment.providerReference);
      const made = order?.purchase_units[0]!.payments?.refunds?.find((each) => refundIdOf(each) === refundId);
      return made && ownOutcome(request, made);
    },

    check: () => checkPaypal(api, instance, context),
  };

  async function knownRefund(request: RefundRequest, reference: string): Promise<RefundOutcome> {
    const found = await queries.refund(reference);
    if (!found) throw new Error(`PayPal does not know refund ${reference} in this account`);
    return ownOutcome(request, found);
  }
}

/** Outcome of a refund; throws if it is not the requested refund. A refund made at PayPal has no id of ours to compare. */
function ownOutcome({ refundId, amount }: RefundRequest, refund: PaypalRefund): RefundOutcome {
  const { value, currency_code: currency } = refund.amount;
  const isSame = value === refundRequest({ refundId, amount }).amount.value && currency === 'USD';
  if (isSame && (refundIdOf(refund) ?? refundId) === refundId) return refundOutcome(refund);
  throw new Error(`PayPal answered with another refund than ${refundId}: ${refund.id}`);
}

/** Result of a handoff from an answer with the order of the payment; undefined for other answers. */
function resultOf({ status, json }: HttpAnswer, { id, fees }: Payment): HandoffResult | undefined {
  const order = status === 200 || status === 201 ? readOrder(json) : undefined;
  const url = order && pageOf(order);
  if (!url || paymentIdOf(order) !== id || !asksFor(order, fees.total)) return undefined;
  return { outcome: 'accepted', reference: order.id, url };
}
