import { formatUsd, usd } from '../../domain/money.ts';
import type { Instant } from '../../domain/records.ts';
import { type Html, type HtmlValue, html } from '../../html/html.ts';
import type { Replayed } from '../../operations/routing/stored-decisions.ts';
import type { Timeline } from '../../operations/timeline.ts';
import type { SessionRecords } from '../../store/tables/session-records.ts';
import { words } from '../components/figures.ts';
import { zonedTime } from '../components/time.ts';
import { discrepancySentence, failureSentences, refundResult, reversalSentence } from './payment-why.ts';

type One<Name extends Exclude<keyof SessionRecords, 'session'>> = SessionRecords[Name][number];

/** One line of the timeline of a session. `id` is unique among the entries. */
interface Entry {
  kind: string;
  at: Instant;
  id: string;
  text: HtmlValue;
  isBad: boolean;
  record: unknown;
}

/** The timeline of a session, oldest entry first. Entries of the same time have the order in which this function lists them. */
export function entriesOf(timeline: Timeline): Entry[] {
  const { session, payments, discrepancies, refunds } = timeline;
  const entries: Entry[] = [];
  const add = (kind: string, at: Instant, id: string, record: unknown, text: HtmlValue, isBad = false) =>
    entries.push({ kind, at, id: kind === 'payment' ? id : `${kind}-${id}`, text, isBad, record });
  add('checkout', session.created, session.id, session, checkoutText(timeline));
  for (const { decided, ...replay } of timeline.replays) {
    // Sessions with the same offer share its decision, which can be older. The snapshot of a decision has all routes.
    const at = Math.max(decided.created, session.created);
    const raw = { ...replay, ...decided, routes: undefined, snapshot: undefined };
    add('routing', at, decided.id, raw, routingText(decided));
  }
  for (const one of payments) {
    add('payment', one.created, one.id, one, paymentText(one, timeline), one.status === 'failed');
  }
  for (const [index, one] of timeline.messages.entries()) {
    add('provider', one.received, String(index), one, messageText(one), one.flagged);
  }
  for (const one of timeline.reversals) add('dispute', one.updated, one.id, one, reversalSentence(one), true);
  for (const one of discrepancies) {
    add('discrepancy', one.created, one.id, one, discrepancySentence(one, payments), true);
  }
  for (const one of refunds) add('refund', one.created, one.id, one, refundText(one));
  for (const one of refunds.filter(({ status }) => status !== 'pending')) {
    add('refund_result', one.updated, one.id, one, refundResult(one), one.status === 'failed');
  }
  for (const one of discrepancies) {
    if (one.resolvedAt !== null) add('resolution', one.resolvedAt, one.id, one, resolutionText(one));
  }
  for (const [id, lines] of Map.groupBy(bookedLines(timeline), ({ postingId }) => postingId)) {
    const sums = lines.map(({ account, amount }) => `${words(account)} ${usd(amount)}`);
    add('ledger', lines[0]!.created, id, lines, `Booked ${words(lines[0]!.kind)}: ${sums.join(', ')}.`);
  }
  for (const one of timeline.settlements) add('payout', one.created, one.paymentId, one, payoutText(one));
  for (const one of timeline.events) add('event', one.created, one.id, one, eventText(one, timeline));
  for (const one of timeline.deliveryAttempts) {
    const text = attemptText(one, timeline);
    add('webhook', one.started, `${one.deliveryId}-${one.number}`, one, text, one.failure !== null);
  }
  for (const one of timeline.audit) add('audit', one.created, one.id, one, auditText(one));
  // The sort is stable.
  return entries.toSorted((a, b) => a.at - b.at);
}

/** The timeline, newest entry last. `resend` returns the control that sends an event again. */
export function renderTimeline(timeline: Timeline, zone: string, resend: (event: One<'events'>) => HtmlValue): Html {
  const items = entriesOf(timeline).map(({ kind, at, id, text, isBad, record }) => {
    const raw = html`<details>
      <summary id="raw-${id}" aria-label="Raw record of ${words(id)}">Raw</summary>
      <pre tabindex="0">${JSON.stringify(record, null, 2)}</pre>
    </details>`;
    return html`<li id="${id}" class="${isBad && 'bad'}">
      <p class="when"><strong>${words(kind)}</strong> ${zonedTime(at, zone)}</p>
      <p>${text}</p>
      ${kind === 'event' && resend(record as One<'events'>)} ${!timeline.isMasked && raw}
    </li>`;
  });
  return html`<ol class="timeline">
    ${items}
  </ol>`;
}

/** The lines of the ledger, oldest first. */
export function bookedLines({ ledgerEntries }: Timeline): One<'ledgerEntries'>[] {
  return ledgerEntries.toSorted((a, b) => a.created - b.created || a.line - b.line);
}

function checkoutText({ session: { amount, customerEmail, offerJson } }: Timeline): Html {
  const { feeSplit } = JSON.parse(offerJson) as { feeSplit?: { total: number } };
  const quote = feeSplit && ` The quoted total is ${formatUsd(Math.round(feeSplit.total * 100))}.`;
  return html`Checkout of ${formatUsd(amount)} created for <bdi>${customerEmail}</bdi>.${quote}`;
}

function routingText({ output: { chosen, mode, reason }, paymentId }: Replayed['decided']): string {
  return `${paymentId === null ? 'Offered' : 'Chose'} ${chosen ?? 'no route'} (${mode}): ${reason}.`;
}

function paymentText(payment: One<'payments'>, timeline: Timeline): Html {
  const { id, route, fees, status } = payment;
  const start = isFailover(id, timeline) ? 'Failover to' : 'The buyer started to pay by';
  const failed = failureSentences(timeline, payment).map((sentence) => html` ${sentence}`);
  return html`${start} <bdi>${route.label}</bdi>, ${formatUsd(fees.total)}.${status === 'failed' && failed}`;
}

/** True if a payment belongs to the same attempt of the buyer as the payment before it, whose handoff was refused. */
function isFailover(id: string, { payments, replays }: Timeline): boolean {
  const before = payments[payments.findIndex((one) => one.id === id) - 1];
  const attemptOf = (paymentId: string | undefined) =>
    replays.find(({ decided }) => decided.paymentId === paymentId)?.decided.input.draw?.attempt;
  return before?.failureCode === 'handoff_refused' && attemptOf(before.id) === attemptOf(id);
}

function messageText({ provider, about, status, amount, outcome, flagged }: One<'messages'>): Html {
  const money = amount !== null && ` of ${usd(amount)}`;
  return html`<bdi>${provider}</bdi> reported ${about} ${words(status)}${money}:
    ${flagged && 'flagged as '}${words(outcome)}.`;
}

function refundText({ amount, reason }: One<'refunds'>): string {
  return `Requested a refund of ${formatUsd(amount)}${reason && `, ${words(reason)}`}.`;
}

function resolutionText({ resolution, note }: One<'discrepancies'>): Html {
  return html`Discrepancy resolved: ${words(resolution!)}${note !== null && html` (<bdi>${note}</bdi>)`}.`;
}

function payoutText({ amount, source, reference }: One<'settlements'>): Html {
  const name = reference !== null && html`, <bdi>${reference}</bdi>`;
  return html`${formatUsd(amount)} paid out, reported by ${source}${name}.`;
}

function eventText({ id, type }: One<'events'>, { deliveries }: Timeline): string {
  const own = deliveries.filter(({ eventId }) => eventId === id);
  const ended = own.filter(({ status }) => status !== 'pending').length;
  return `${type}, ${own.length === 0 ? 'which no endpoint receives' : `deliveries ended: ${ended} of ${own.length}`}.`;
}

function attemptText(attempt: One<'deliveryAttempts'>, { deliveries, endpoints }: Timeline): Html {
  const { deliveryId, failure, statusCode, durationMs } = attempt;
  const { type, endpointId } = deliveries.find(({ id }) => id === deliveryId)!;
  const url = endpoints.find(({ id }) => id === endpointId)?.url || 'a deleted endpoint';
  const answer = failure === null ? `answered ${statusCode}` : html`failed, <bdi>${failure}</bdi>`;
  return html`Sent ${type} to <bdi>${url}</bdi>: ${answer}, after ${durationMs} ms.`;
}

function auditText({ actorName, action, outcome }: One<'audit'>): Html {
  const done = action.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  return html`<bdi>${actorName}</bdi> ${outcome === 'done' ? 'did' : 'was refused'}: ${done}.`;
}
