import type { Instant } from '../domain/records.ts';
import type { SessionRecords } from '../store/tables/session-records.ts';
import type { Replayed } from './routing/stored-decisions.ts';

type One<Name extends Exclude<keyof SessionRecords, 'session'>> = SessionRecords[Name][number];

/** Record of each kind of entry. */
interface Kinds {
  checkout: SessionRecords['session'];
  routing: Replayed;
  payment: One<'payments'>;
  provider: One<'messages'>;
  dispute: One<'reversals'>;
  discrepancy: One<'discrepancies'>;
  refund: One<'refunds'>;
  refund_result: One<'refunds'>;
  resolution: One<'discrepancies'>;
  ledger: Posting;
  payout: One<'settlements'>;
  event: One<'events'>;
  webhook: Sent;
  audit: One<'audit'>;
}

/** A delivery attempt with its delivery, and the URL of its endpoint; null if the endpoint was deleted. */
type Sent = One<'deliveryAttempts'> & { delivery: One<'deliveries'>; url: string | null };
/** The ledger entries of one posting. */
type Posting = { id: string; entries: One<'ledgerEntries'>[] };

/** One line of the timeline of a session. `id` is unique among the entries. */
export type TimelineEntry = {
  [Kind in keyof Kinds]: { kind: Kind; at: Instant; id: string; record: Kinds[Kind] };
}[keyof Kinds];
export type EntryKind = keyof Kinds;
export type RecordOf<Kind extends EntryKind> = Kinds[Kind];

/** The timeline of a session, oldest entry first. Entries of the same time have the order in which this function lists them. */
export function timelineOf(records: SessionRecords, replays: readonly Replayed[]): TimelineEntry[] {
  const { session, payments, messages, reversals, discrepancies, refunds, settlements, events } = records;
  const entries: TimelineEntry[] = [];
  const add = <Kind extends EntryKind>(kind: Kind, at: Instant | null, id: string, record: Kinds[Kind]) => {
    if (at !== null) entries.push({ kind, at, id: `${kind}-${id}`, record } as TimelineEntry);
  };
  add('checkout', session.created, session.id, session);
  // Sessions with the same offer share its decision, which can be older than the session.
  for (const one of replays) add('routing', Math.max(one.decided.created, session.created), one.decided.id, one);
  for (const one of payments) add('payment', one.created, one.id, one);
  for (const [index, one] of messages.entries()) add('provider', one.received, String(index), one);
  for (const one of reversals) add('dispute', one.updated, one.id, one);
  for (const one of discrepancies) add('discrepancy', one.created, one.id, one);
  for (const one of refunds) add('refund', one.created, one.id, one);
  for (const one of refunds) add('refund_result', one.status === 'pending' ? null : one.updated, one.id, one);
  for (const one of discrepancies) add('resolution', one.resolvedAt, one.id, one);
  for (const one of postingsOf(records)) add('ledger', one.entries[0]!.created, one.id, one);
  for (const one of settlements) add('payout', one.created, one.paymentId, one);
  for (const one of events) add('event', one.created, one.id, one);
  for (const one of sentOf(records)) add('webhook', one.started, `${one.deliveryId}-${one.number}`, one);
  for (const one of records.audit) add('audit', one.created, one.id, one);
  // The sort is stable.
  return entries.toSorted((a, b) => a.at - b.at);
}

function sentOf({ deliveries, deliveryAttempts, endpoints }: SessionRecords): Sent[] {
  const byId = new Map(deliveries.map((delivery) => [delivery.id, delivery]));
  const urls = new Map(endpoints.map(({ id, url }) => [id, url]));
  return deliveryAttempts.map((attempt) => {
    const delivery = byId.get(attempt.deliveryId)!;
    return { ...attempt, delivery, url: urls.get(delivery.endpointId) || null };
  });
}

/** The postings of a session, oldest first. */
export function postingsOf({ ledgerEntries }: Pick<SessionRecords, 'ledgerEntries'>): Posting[] {
  const sorted = ledgerEntries.toSorted((a, b) => a.created - b.created || a.line - b.line);
  return Array.from(
    Map.groupBy(sorted, ({ postingId }) => postingId),
    ([id, entries]) => ({ id, entries }),
  );
}
