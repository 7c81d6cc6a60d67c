import { formatUsd, usd } from '../../domain/money.ts';
import type { Instant } from '../../domain/records.ts';
import { can } from '../../domain/permission.ts';
import { type Html, type HtmlValue, html } from '../../html/html.ts';
import type { Replayed } from '../../operations/routing/stored-decisions.ts';
import type { Timeline } from '../../operations/timeline.ts';
import type { SessionRecords } from '../../store/tables/session-records.ts';
import { words } from '../components/figures.ts';
import { zonedTime } from '../components/time.ts';
import type { Visit } from '../visit.ts';
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
  const { created, id: sessionId, amount, customerEmail } = session;
  const text = html`Checkout of ${formatUsd(amount)} created for <bdi>${customerEmail}</bdi>.`;
  add('checkout', created, sessionId, session, text);
  for (const { decided } of timeline.replays) {
    // Sessions with the same offer share its decision, which can be older. The snapshot of a decision has all routes.
    const at = Math.max(decided.created, session.created);
    add('routing', at, decided.id, { ...decided, snapshot: undefined }, routingText(decided));
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
  const booked = timeline.ledgerEntries.toSorted((a, b) => a.line - b.line);
  for (const [id, lines] of Map.groupBy(booked, ({ postingId }) => postingId)) {
    const sums = lines.map(({ account, amount }) => `${words(account)} ${usd(amount)}`);
    add('ledger', lines[0]!.created, id, lines, `Booked ${words(lines[0]!.kind)}: ${sums.join(', ')}.`);
  }
  for (const one of timeline.settlements) {
    const by = html`${one.source}${one.reference !== null && html`, <bdi>${one.reference}</bdi>`}`;
    add('payout', one.created, one.paymentId, one, html`${formatUsd(one.amount)} paid out, reported by ${by}.`);
  }
  for (const one of timeline.events) add('event', one.created, one.id, one, eventText(one, timeline));
  for (const one of timeline.deliveryAttempts) {
    const text = attemptText(one, timeline);
    add('webhook', one.started, `${one.deliveryId}-${one.number}`, one, text, one.failure !== null);
  }
  for (const one of timeline.audit) add('audit', one.created, one.id, one, auditText(one));
  // The sort is stable.
  return entries.toSorted((a, b) => a.at - b.at);
}

/** The timeline, newest entry last. */
export function renderTimeline(visit: Visit, timeline: Timeline): Html {
  const canSend = can(visit.visitor.principal, 'delivery.send');
  const items = entriesOf(timeline).map(({ kind, at, id, text, isBad, record }) => {
    const raw = html`<details>
      <summary id="raw-${id}" aria-label="Raw record of ${words(id)}">Raw</summary>
      <pre tabindex="0">${JSON.stringify(record, null, 2)}</pre>
    </details>`;
    return html`<li id="${id}" class="${isBad && 'bad'}">
      <p class="when"><strong>${words(kind)}</strong> ${zonedTime(at, visit.deps.reportingZone)}</p>
      <p>${text}</p>
      ${kind === 'event' && canSend && renderResend(visit, record as One<'events'>)} ${!timeline.isMasked && raw}
    </li>`;
  });
  return html`<ol class="timeline">
    ${items}
  </ol>`;
}

function renderResend({ path, formToken }: Visit, { id, sessionId }: One<'events'>): Html {
  return html`<form method="post" action="${path(`payments/${sessionId}/resend`)}">
    ${formToken}
    <input type="hidden" name="event" value="${id}" />
    <button class="link-button" id="resend-${id}">Send again</button>
  </form>`;
}

function routingText({ output: { chosen, mode, reason }, paymentId }: Replayed['decided']): string {
  return `${paymentId === null ? 'Offered' : 'Chose'} ${chosen ?? 'no route'} (${mode}): ${reason}.`;
}

function paymentText(payment: One<'payments'>, timeline: Timeline): Html {
  const failed = failureSentences(timeline, payment).map((sentence) => html` ${sentence}`);
  return html`Attempt to pay ${formatUsd(payment.fees.total)} by <bdi>${payment.route.label}</bdi>.${failed}`;
}

function messageText({ provider, about, status, amount, outcome, flagged }: One<'messages'>): Html {
  const money = amount !== null && ` of ${usd(amount)}`;
  return html`<bdi>${provider}</bdi> reported ${about} ${words(status)}${money}:
    ${flagged && 'flagged as '}${words(outcome)}.`;
}

function refundText({ amount, reason }: One<'refunds'>): string {
  return `Requested a refund of ${formatUsd(amount)}${reason === null ? '' : `, ${words(reason)}`}.`;
}

function resolutionText({ resolution, note }: One<'discrepancies'>): Html {
  return html`Discrepancy resolved: ${words(resolution!)}${note !== null && html` (<bdi>${note}</bdi>)`}.`;
}

function eventText({ id, type }: One<'events'>, { deliveries }: Timeline): string {
  const receivers = deliveries.filter(({ eventId }) => eventId === id).length;
  return `${type}, for ${receivers} ${receivers === 1 ? 'endpoint' : 'endpoints'}.`;
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
