import { renderFailure } from '../../contract/payment-contract.ts';
import { leadingPayment } from '../../domain/checkout-state.ts';
import { heldAmount, wrongMoneyOf } from '../../domain/discrepancy.ts';
import { amountFromCents, formatUsd } from '../../domain/money.ts';
import { CURRENCY, type Discrepancy, type DiscrepancyKind, type Payment } from '../../domain/records.ts';
import { type Refund, paidAmount } from '../../domain/refund-record.ts';
import type { Reversal } from '../../domain/reversal.ts';
import { type Html, type HtmlValue, html } from '../../html/html.ts';
import type { Timeline } from '../../operations/timeline.ts';
import type { Mood } from '../components/parts.ts';
import { zonedTime } from '../components/time.ts';

/** State of a session for a person: a word, its mood, and the sentences that explain it. */
interface Why {
  word: string;
  mood: Mood;
  sentences: HtmlValue[];
}

/** The state of a session with its explanation. */
export function whyOf(timeline: Timeline, zone: string): Why {
  const { status, expiresAt, retryUntil } = timeline.session;
  const payment = leadingPayment(timeline);
  if (status === 'routed') {
    const text = html`The buyer has not started to pay. The checkout expires at ${zonedTime(expiresAt, zone)}.`;
    return { word: 'Not started', mood: 'neutral', sentences: [text] };
  }
  if (!payment) {
    return { word: 'Expired', mood: 'neutral', sentences: ['The checkout ended before the buyer started to pay.'] };
  }
  if (status === 'paid') return paidWhy(timeline, payment);
  if (payment.status === 'pending') {
    return { word: 'Waiting', mood: 'waiting', sentences: waitingSentences(timeline, payment, zone) };
  }
  const sentences = failureSentences(timeline, payment);
  if (retryUntil !== null) {
    sentences.push(html`The buyer may try again until ${zonedTime(retryUntil, zone)}.`);
    return { word: 'May try again', mood: 'waiting', sentences };
  }
  const mayArrive = payment.handoffUncertain || payment.failureCode === 'abandoned';
  sentences.push('The checkout is closed.', mayArrive && 'If money of this payment still arrives, it is booked.');
  return { word: 'Failed', mood: 'bad', sentences };
}

/** Sentences about a failed payment: the cause, the provider's own reason, and whether the failure counts against the route. */
export function failureSentences({ outcomes }: Timeline, payment: Payment): HtmlValue[] {
  const failure = renderFailure(payment);
  if (failure === null) return [];
  const own = outcomes.filter(({ paymentId }) => paymentId === payment.id);
  const counts = own.reduce((sum, { failures }) => sum + failures, 0) > 0;
  const verdict = counts ? 'It counts against the route.' : 'It does not count against the route.';
  return [failure.message, providerSays(failure.reason), verdict];
}

function providerSays(reason: string | null): HtmlValue {
  const text = html`<code><bdi>${reason}</bdi></code>`;
  return reason !== null && html`The provider says ${text}.`;
}

function waitingSentences({ discrepancies }: Timeline, payment: Payment, zone: string): HtmlValue[] {
  const { expectedBy, handoffUncertain, decline, providerReference, inquireAt, timeoutAt } = payment;
  const provider = html`<bdi>${payment.route.provider}</bdi>`;
  const end = html`Without a confirmation, the payment fails at ${zonedTime(timeoutAt, zone)}.`;
  const wrongMoney = wrongMoneyOf(discrepancies.filter(({ paymentId }) => paymentId === payment.id));
  if (wrongMoney === 'held') {
    return ['A different amount has arrived. The payment waits for the right amount, or for a decision about it.', end];
  }
  if (wrongMoney === 'refunded') {
    return ['A different amount arrived and was refunded. The buyer can pay again, or choose another way to pay.', end];
  }
  if (expectedBy !== null) {
    return [html`The buyer has done their part. The provider expects the money by ${zonedTime(expectedBy, zone)}.`];
  }
  if (handoffUncertain) {
    const next = inquireAt !== null && html`The service asks it again at ${zonedTime(inquireAt, zone)}.`;
    return [html`The provider ${provider} did not answer, so it may or may not have the payment.`, next, end];
  }
  if (providerReference === null) return [html`The payment is being handed to the provider ${provider}.`, end];
  if (decline === null) return [html`The provider ${provider} waits for the buyer to pay.`, end];
  return ['The last try was declined; the buyer can try again.', providerSays(decline.reason), end];
}

function paidWhy(timeline: Timeline, payment: Payment): Why {
  const { fees, shortfall, route, refunded, refundPending } = payment;
  const received = paidAmount(payment);
  const isOwn = (one: { paymentId: string }) => one.paymentId === payment.id;
  const isLate = timeline.outcomes.some((one) => isOwn(one) && one.stage === 'late');
  const isRefunded = refunded === received;
  const sentences: HtmlValue[] = [
    html`<bdi>${timeline.session.customerEmail}</bdi> paid ${formatUsd(received)} by <bdi>${route.label}</bdi>.`,
    isLate && 'The money arrived after the payment had failed.',
    shortfall !== 0 && `The total is ${formatUsd(fees.total)}; the difference was accepted.`,
    refunded > 0 && (isRefunded ? 'All of it was refunded.' : `${formatUsd(refunded)} of it was refunded.`),
    refundPending > 0 && `A refund of ${formatUsd(refundPending)} is in progress.`,
    ...timeline.refunds.filter((one) => isOwn(one) && one.status === 'failed').map(refundResult),
    ...timeline.reversals.filter(isOwn).map(reversalSentence),
    ...timeline.payments.filter((one) => one.surplus).map(surplusSentence),
    ...timeline.settlements.filter(isOwn).map(({ amount }) => `${formatUsd(amount)} was paid out.`),
  ];
  if (timeline.reversals.some(({ status }) => status !== 'won')) return { word: 'Disputed', mood: 'bad', sentences };
  if (isRefunded) return { word: 'Refunded', mood: 'neutral', sentences };
  return { word: refunded > 0 ? 'Partly refunded' : 'Paid', mood: 'good', sentences };
}

function surplusSentence({ fees, refunded, refundPending, surplusAccepted }: Payment): string {
  const state = refunded >= fees.total ? 'was refunded' : refundPending > 0 ? 'is being refunded' : 'is not refunded';
  const verdict = surplusAccepted ? 'was accepted for the merchant' : state;
  return `The buyer paid a second time, ${formatUsd(fees.total)}; this money ${verdict}.`;
}

/** The result of a refund as a sentence. */
export function refundResult({ amount, status, failureReason: why }: Refund): Html {
  return html`Refund of ${formatUsd(amount)} ${status}${why !== null && html`: <bdi>${why}</bdi>`}.`;
}

/** A dispute or another reversal as a sentence. */
export function reversalSentence({ status, taken, fee, reason }: Reversal): Html {
  const state = {
    open: `The buyer's bank disputes the payment; ${formatUsd(taken)} is taken back for now.`,
    won: 'A dispute was won: the money stays with the merchant.',
    lost: `A dispute was lost: ${formatUsd(taken)} went back to the buyer.`,
  }[status];
  return html`${state} ${fee > 0 && `The provider charged ${formatUsd(fee)} for it.`} ${providerSays(reason)}`;
}

/** A discrepancy as a sentence. */
export function discrepancySentence(one: Discrepancy, payments: readonly Payment[]): string {
  const { expected, received, currency } = one;
  const isUsd = (currency ?? CURRENCY) === CURRENCY;
  const money = isUsd ? formatUsd(Math.max(0, received)) : `${amountFromCents(received)} ${currency}`;
  const payment = payments.find(({ id }) => id === one.paymentId);
  const total = payment && received > 0 ? formatUsd(Math.max(0, heldAmount(payment, one))) : money;
  const due = formatUsd(payment?.fees.total ?? expected);
  const sentences: Record<DiscrepancyKind, string> = {
    surplus: `A second payment of ${money} arrived for a checkout that was paid already.`,
    amount_mismatch:
      expected === 0 ? `${money} more than expected arrived.` : `The provider reports ${total} instead of ${due}.`,
    currency_mismatch: `The provider reports ${money}, which is not in US dollars. It is not booked.`,
    unknown_payment: `The provider reports ${money} for a payment that this checkout does not have. It is not booked.`,
    refund_excess: `A refund of ${money} at the provider is not booked: it exceeds the rest of the payment, or is of another charge.`,
    reversal: 'The provider takes money back. It is booked.',
    environment_mismatch: 'The provider of the other environment reported about this checkout. Nothing was changed.',
    provider_mismatch: 'Another provider reported about this payment. Nothing was changed.',
    event_conflict: 'The provider sent two different reports with one event id. The second one changed nothing.',
  };
  return sentences[one.kind];
}
