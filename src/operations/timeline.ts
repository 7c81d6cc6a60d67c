import { ERASED_BODY, eraseEventBody, maskedAddress } from '../domain/personal-data.ts';
import type { SessionRecords } from '../store/tables/session-records.ts';
import { assertCan, callerCan } from './access/caller.ts';
import type { Deps } from './deps.ts';
import { foundSession } from './not-found.ts';
import { type Replayed, replay, withSnapshots } from './routing/stored-decisions.ts';

/** A session with all its records and its recomputed routing decisions. */
export interface Timeline extends SessionRecords {
  /** The decision of the offer, then those of the attempts. */
  replays: Replayed[];
  /** True if addresses, metadata, notes and bodies are left out, because the caller may not read personal data. */
  isMasked: boolean;
}

type Reading = Pick<Deps, 'store' | 'caller' | 'realNow'>;

/** Reads everything of a session in one round trip. Throws GatewayError `not_found`, or `forbidden` without `payments.read`. */
export async function readTimeline(deps: Reading, sessionId: string): Promise<Timeline> {
  assertCan(deps, 'payments.read');
  const found = foundSession(await deps.store.sessionRecords(sessionId), sessionId);
  const isMasked = !callerCan(deps, 'personal_data.read');
  const records = isMasked ? withoutPersonalData(found) : found;
  const { offers, offerSnapshots, decisions, snapshots } = records;
  const replays = withSnapshots([...offers, ...decisions], [...offerSnapshots, ...snapshots]).map(replay);
  return { ...records, replays, isMasked };
}

function withoutPersonalData(records: SessionRecords): SessionRecords {
  const metadata = {};
  const { session, customers, payments, invoices, events, messages, deliveryAttempts, discrepancies } = records;
  const customerEmail = maskedAddress(session.customerEmail);
  return {
    ...records,
    session: { ...session, customerEmail, metadata, redirectUrl: null },
    customers: customers.map((one) => ({ ...one, email: customerEmail, statusReason: null })),
    payments: payments.map((one) => ({ ...one, metadata, providerUrl: null })),
    invoices: invoices.map((one) => ({ ...one, metadata })),
    events: events.map((one) => ({ ...one, body: eraseEventBody(one.body) })),
    messages: messages.map((one) => ({ ...one, body: ERASED_BODY, signal: null })),
    deliveryAttempts: deliveryAttempts.map((one) => ({ ...one, responseBody: '' })),
    discrepancies: discrepancies.map((one) => ({ ...one, note: null })),
  };
}
