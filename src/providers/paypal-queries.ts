import type { Hint } from '../domain/provider-report.ts';
import { type PaypalCall, expected, isMissing } from './paypal-api.ts';
import {
  amountOf,
  bankReversal,
  paymentIdOf,
  paymentReport,
  refundIdOf,
  refundOutcome,
  reversalReport,
} from './paypal-messages.ts';
import {
  type PaypalCapture,
  type PaypalDispute,
  type PaypalOrder,
  type PaypalRefund,
  idOfLink,
  readCapture,
  readDispute,
  readDisputes,
  readOrder,
  readRefund,
} from './paypal-objects.ts';
import type { PaypalSettings } from './paypal-settings.ts';
import type { HintAnswer, Signal } from './provider.ts';

const DISPUTE_ID = /^PP-/;
/** A reversal that has no dispute after this time has none. It is not longer than the time until a hint is asked again. */
const DISPUTE_LAG_MS = 55 * 60_000;

/** PayPal does not show the object now, so it is asked again later. */
const NOT_YET: HintAnswer = { signals: [], next: null, isIncomplete: true };

/** Read-only requests to PayPal. Each returns undefined if PayPal does not have the object in this account. */
export interface PaypalQueries {
  order(reference: string, timeoutMs?: number): Promise<PaypalOrder | undefined>;
  capture(reference: string, timeoutMs?: number): Promise<PaypalCapture | undefined>;
  refund(reference: string): Promise<PaypalRefund | undefined>;
  answer(hint: Hint): Promise<HintAnswer>;
}

export function createPaypalQueries(
  call: PaypalCall,
  settings: Pick<PaypalSettings, 'settlesAt'>,
  now: () => number,
): PaypalQueries {
  async function find<Found>(
    name: string,
    path: string,
    read: (json: unknown) => Found | undefined,
    timeoutMs?: number,
  ): Promise<Found | undefined> {
    const answer = await call('GET', path, { timeoutMs });
    return isMissing(answer) ? undefined : expected(`query of the ${name}`, answer, read);
  }

  const dispute = (id: string) => find('dispute', `/v1/customer/disputes/${encodeURIComponent(id)}`, readDispute);

  /** The disputes of a capture. */
  async function disputesOf(capture: string): Promise<PaypalDispute[]> {
    const path = `/v1/customer/disputes?disputed_transaction_id=${encodeURIComponent(capture)}`;
    const { items = [] } = (await find('list of disputes', path, readDisputes)) ?? {};
    const found = await Promise.all(items.map(({ dispute_id: id }) => dispute(id)));
    return found.filter((each) => each !== undefined);
  }

  async function reversalAnswer(id: string): Promise<HintAnswer> {
    if (DISPUTE_ID.test(id)) {
      const found = await dispute(id);
      return found ? { signals: disputeSignals([found]), next: null } : NOT_YET;
    }
    const reversal = await queries.refund(id);
    if (!reversal) return NOT_YET;
    const capture = captureIdOf(reversal);
    const disputes = await disputesOf(capture);
    // The reversal of a disputed payment is a part of its dispute, which is booked once.
    if (disputes.length > 0) return { signals: disputeSignals(disputes), next: null };
    // PayPal can announce the reversal before it lists the dispute.
    if (now() - Date.parse(reversal.create_time ?? '') < DISPUTE_LAG_MS) return NOT_YET;
    return {
      signals: [{ about: 'reversal', ref: { reference: capture }, reversal: bankReversal(reversal) }],
      next: null,
    };
  }

  const queries: PaypalQueries = {
    order: (reference, timeoutMs) => find('order', orderPath(reference), readOrder, timeoutMs),
    capture: (reference, timeoutMs) =>
      find('capture', `/v2/payments/captures/${encodeURIComponent(reference)}`, readCapture, timeoutMs),
    refund: (reference) => find('refund', `/v2/payments/refunds/${encodeURIComponent(reference)}`, readRefund),
    async answer({ about, id }) {
      switch (about) {
        case 'payment':
          return paymentAnswer(await queries.order(id), settings);
        case 'refund':
          return refundAnswer(await queries.refund(id));
        case 'reversal':
          return reversalAnswer(id);
        // PayPal's balance is the merchant's, so the adapter queues no hint about a payout.
        case 'payout':
          return { signals: [], next: null };
      }
    },
  };
  return queries;
}

export function orderPath(reference: string): string {
  return `/v2/checkout/orders/${encodeURIComponent(reference)}`;
}

function paymentAnswer(order: PaypalOrder | undefined, settings: Pick<PaypalSettings, 'settlesAt'>): HintAnswer {
  if (!order) return NOT_YET;
  const paymentId = paymentIdOf(order);
  if (paymentId === undefined) return { signals: [], next: null };
  const report = paymentReport(order, settings);
  const isIncomplete = report.state === 'paid' && report.cost === null;
  return { signals: [{ about: 'payment', ref: { paymentId, reference: order.id }, report }], next: null, isIncomplete };
}

function refundAnswer(found: PaypalRefund | undefined): HintAnswer {
  if (!found) return NOT_YET;
  const refund = { ...refundOutcome(found), ours: refundIdOf(found), amount: amountOf(found.amount) };
  return { signals: [{ about: 'refund', ref: { reference: captureIdOf(found) }, refund }], next: null };
}

function captureIdOf({ id, links }: PaypalRefund): string {
  const capture = idOfLink(links, 'up', 'captures');
  if (capture === undefined) throw new Error(`PayPal names no capture of refund ${id}`);
  return capture;
}

function disputeSignals(disputes: readonly PaypalDispute[]): Signal[] {
  return disputes.flatMap((found): Signal[] => {
    const reference = found.disputed_transactions[0]!.seller_transaction_id;
    return typeof reference === 'string'
      ? [{ about: 'reversal', ref: { reference }, reversal: reversalReport(found) }]
      : [];
  });
}
