import { setImmediate as turn } from 'node:timers/promises';
import { sourceOfEvent } from '../domain/event-id.ts';
import { isId } from '../domain/id.ts';
import { centsFromText } from '../domain/money.ts';
import type { Session } from '../domain/records.ts';
import type { Environment } from '../domain/route.ts';
import { termsOf } from '../domain/search-term.ts';
import type { PageResult } from '../store/list-page.ts';
import { assertCan } from './access/caller.ts';
import type { Deps, Pace } from './deps.ts';

/** Result of a search: at most 5 checkouts, the newest first, or the id of a customer who has several checkouts and a payment. */
export interface SearchHits {
  /** Checkouts, to which payments, invoices, refunds, events, deliveries and discrepancies lead. */
  sessions: PageResult<Session>;
  customerId: string | undefined;
}

type SearchDeps = Pick<Deps, 'store' | 'caller' | 'realNow' | 'searchMetadataKeys'>;

const SHOWN = 5;
/** One more than the shown ones, which tells whether there are more. */
const READ = SHOWN + 1;
const MAX_QUERY = 500;

/**
 * Finds records of an environment by what a person types; the form of `query` decides what it means. Every statement is a search
 * in an index, or examines a bounded number of the newest rows. Throws GatewayError `forbidden`.
 */
export async function searchRecords(deps: SearchDeps, environment: Environment, query: string): Promise<SearchHits> {
  assertCan(deps, 'payments.read');
  const { store } = deps;
  const text = query.trim().toWellFormed().replaceAll('\0', '').slice(0, MAX_QUERY);
  if (isId(text, 'cus') || text.includes('@')) {
    const found = isId(text, 'cus') ? store.customer(text) : store.customerByEmail(environment, text);
    const customer = (await found)?.id;
    const none = { items: [], hasMore: false };
    if (customer === undefined) return { sessions: none, customerId: undefined };
    const sessions = await store.listSessions({ environment, customer }, { limit: SHOWN });
    // The list of payments lacks the checkouts that the buyer has not started to pay.
    const { items } = await store.listPayments({ environment, customerId: customer }, { limit: 1 });
    const isList = sessions.items.length > 1 && items.length > 0;
    return isList ? { sessions: none, customerId: customer } : { sessions, customerId: undefined };
  }
  const ids = text === '' ? [] : await findIds(deps, environment, text);
  const found = await Promise.all(ids.map((id) => store.session(id)));
  const items = found.filter((item) => item !== undefined);
  return { sessions: { items: items.slice(0, SHOWN), hasMore: items.length > SHOWN }, customerId: undefined };
}

/** Reads of the records that lead to a checkout, by the prefix of their ids. */
const READ_BY_ID = { pay: 'payment', inv: 'invoice', ref: 'refund', dlv: 'delivery', dis: 'discrepancy' } as const;

/** Ids of the newest matching checkouts. */
async function findIds(deps: SearchDeps, environment: Environment, text: string): Promise<readonly string[]> {
  const { store, searchMetadataKeys: keys } = deps;
  const session = isId(text, 'chk') ? text : sourceOfEvent(text);
  // The source of an event about a route is a health transition, which leads to no checkout.
  if (session !== undefined) return isId(session, 'chk') ? [session] : [];
  const prefix = (Object.keys(READ_BY_ID) as (keyof typeof READ_BY_ID)[]).find((each) => isId(text, each));
  const record = prefix && (await store[READ_BY_ID[prefix]](text));
  if (prefix) return record ? [record.sessionId] : [];
  const cents = centsFromText(text);
  const ofAmount = () => store.sessionsOfAmount(environment, cents!, READ);
  if (cents !== undefined && /[$.]/.test(text)) return ofAmount();
  const reference = await store.listSessions({ environment, clientReferenceId: text }, { limit: READ });
  const others = await store.sessionsOfText(environment, text, keys, READ);
  const ids = [...new Set([...reference.items.map(({ id }) => id), ...others])].toSorted().toReversed();
  // A whole number is an order number; without one, it is an amount.
  return ids.length === 0 && cents !== undefined ? ofAmount() : ids.slice(0, READ);
}

// No commit takes longer, so no older row can appear behind a cursor.
const SETTLED_MS = 60_000;
const ROWS = 300;

/** Stores the search terms of records older than a minute, and awaits `pace` after each batch. Returns the number of records. Another instance may do the same. */
export async function indexRecords(
  { store, now, searchMetadataKeys }: Pick<Deps, 'store' | 'now' | 'searchMetadataKeys'>,
  isStopped: () => boolean,
  pace: Pace = turn,
): Promise<number> {
  let count = 0;
  for (let isFull = true; isFull && !isStopped();) {
    isFull = false;
    for (const from of await store.unindexedRows(now() - SETTLED_MS, ROWS)) {
      const terms = from.rows.flatMap((row) => termsOf(row, searchMetadataKeys));
      const { done } = await store.commit([{ type: 'terms_added', from, terms }]);
      if (done) count += from.rows.length;
      isFull ||= from.rows.length === ROWS;
    }
    await pace();
  }
  return count;
}
