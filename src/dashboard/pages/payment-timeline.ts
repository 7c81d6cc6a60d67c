import { formatUsd, usd } from '../../domain/money.ts';
import { type Html, type HtmlValue, html } from '../../html/html.ts';
import type { EntryKind, RecordOf, TimelineEntry } from '../../operations/timeline-entries.ts';
import type { Timeline } from '../../operations/timeline.ts';
import { zonedTime } from '../components/time.ts';
import { discrepancySentence, failureSentences, refundResult, reversalSentence } from './payment-why.ts';

const SENTENCES: { [Kind in EntryKind]: (record: RecordOf<Kind>, timeline: Timeline) => HtmlValue } = {
  checkout: ({ amount, customerEmail, offerJson }) => {
    const { feeSplit } = JSON.parse(offerJson) as { feeSplit?: { total: number } };
    const quote = feeSplit && ` The quoted total is ${formatUsd(Math.round(feeSplit.total * 100))}.`;
    return html`Checkout of ${formatUsd(amount)} created for <bdi>${customerEmail}</bdi>.${quote}`;
  },
  routing: ({ decided: { output, paymentId } }) =>
    `${paymentId === null ? 'Offered' : 'Chose'} ${output.chosen ?? 'no route'} (${output.mode}): ${output.reason}.`,
  payment: (payment, timeline) => {
    const { route, fees, status } = payment;
    const start = isFailover(payment.id, timeline) ? 'Failover to' : 'The buyer started to pay by';
    const failed = failureSentences(timeline, payment).map((sentence) => html` ${sentence}`);
    return html`${start} <bdi>${route.label}</bdi>, ${formatUsd(fees.total)}.${status === 'failed' && failed}`;
  },
  provider: ({ provider, about, status, amount, outcome, flagged }) => {
    const money = amount !== null && ` of ${usd(amount)}`;
    return html`<bdi>${provider}</bdi> reported ${about} ${words(status)}${money}:
      ${flagged && 'flagged as '}${words(outcome)}.`;
  },
  dispute: reversalSentence,
  discrepancy: (one, { payments }) => discrepancySentence(one, payments),
  refund: ({ amount, reason }) => `Requested a refund of ${formatUsd(amount)}${reason && `, ${words(reason)}`}.`,
  refund_result: refundResult,
  resolution: ({ resolution, note }) =>
    html`Discrepancy resolved: ${words(resolution!)}${note !== null && html` (<bdi>${note}</bdi>)`}.`,
  ledger: ({ entries }) => {
    const lines = entries.map(({ account, amount }) => `${words(account)} ${usd(amount)}`);
    return `Booked ${words(entries[0]!.kind)}: ${lines.join(', ')}.`;
  },
  payout: ({ amount, source, reference }) =>
    html`${formatUsd(amount)} paid out, reported by ${source}${reference !== null && html`, <bdi>${reference}</bdi>`}.`,
  event: ({ id, type }, { deliveries }) => {
    const own = deliveries.filter(({ eventId }) => eventId === id);
    const ended = own.filter(({ status }) => status !== 'pending').length;
    return `${type}, ${own.length === 0 ? 'which no endpoint receives' : `deliveries ended: ${ended} of ${own.length}`}.`;
  },
  webhook: ({ delivery, url, failure, statusCode, durationMs }) => {
    const answer = failure === null ? `answered ${statusCode}` : html`failed, <bdi>${failure}</bdi>`;
    return html`Sent ${delivery.type} to <bdi>${url ?? 'a deleted endpoint'}</bdi>: ${answer}, after ${durationMs} ms.`;
  },
  audit: ({ actorName, action, outcome }) =>
    html`<bdi>${actorName}</bdi> ${outcome === 'done' ? 'did' : 'was refused'}: ${actionWords(action)}.`,
};

/** The timeline, newest entry last. `actionsOf` returns further controls of an entry. */
export function renderTimeline(timeline: Timeline, zone: string, actionsOf: (entry: TimelineEntry) => HtmlValue): Html {
  const items = timeline.entries.map((entry) => {
    const { kind, record, at, id } = entry;
    const sentence = SENTENCES[kind] as (record: unknown, timeline: Timeline) => HtmlValue;
    return html`<li id="${kind === 'payment' ? record.id : id}" class="${isBad(entry) && 'bad'}">
      <p class="when"><strong>${words(kind)}</strong> ${zonedTime(at, zone)}</p>
      <p>${sentence(record, timeline)}</p>
      ${actionsOf(entry)} ${!timeline.isMasked && renderRaw(entry)}
    </li>`;
  });
  return html`<ol class="timeline">
    ${items}
  </ol>`;
}

function renderRaw({ kind, id, record }: TimelineEntry): Html {
  // The snapshot of a decision has all routes.
  const raw = kind === 'routing' ? { ...record.decided, routes: undefined, snapshot: undefined } : record;
  return html`<details>
    <summary id="raw-${id}" aria-label="Raw record of ${words(id)}">Raw</summary>
    <pre tabindex="0">${JSON.stringify(raw, null, 2)}</pre>
  </details>`;
}

function isBad({ kind, record }: TimelineEntry): boolean {
  if (kind === 'provider') return record.flagged;
  if (kind === 'webhook') return record.failure !== null;
  if (kind === 'refund_result' || kind === 'payment') return record.status === 'failed';
  return kind === 'discrepancy' || kind === 'dispute';
}

/** True if a payment belongs to the same attempt of the buyer as the payment before it, whose handoff was refused. */
function isFailover(id: string, { payments, replays }: Timeline): boolean {
  const before = payments[payments.findIndex((one) => one.id === id) - 1];
  const attemptOf = (paymentId: string | undefined) =>
    replays.find(({ decided }) => decided.paymentId === paymentId)?.decided.input.draw?.attempt;
  return before?.failureCode === 'handoff_refused' && attemptOf(before.id) === attemptOf(id);
}

/** An operation id as words: `createRefund` is "create refund". */
function actionWords(action: string): string {
  return action.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}

/** A code as words: `amount_mismatch` is "amount mismatch". */
export function words(code: string): string {
  return code.replaceAll('_', ' ');
}
