import { sessionOfEvent } from '../domain/event-id.ts';
import { type IdPrefix, isId } from '../domain/id.ts';
import { centsFromText } from '../domain/money.ts';
import { can } from '../domain/permission.ts';
import type { Customer, Session } from '../domain/records.ts';
import type { Environment } from '../domain/route.ts';
import type { PageResult } from '../store/list-page.ts';
import { assertCan } from './access/caller.ts';
import type { Deps } from './deps.ts';

/** Records that a search finds, newest first: at most 5 of each kind. */
export interface SearchHits {
  /** Checkouts, to which payments, invoices, refunds, events, deliveries and discrepancies lead. */
  sessions: PageResult<Session>;
  customers: PageResult<Customer>;
}

type SearchDeps = Pick<Deps, 'store' | 'caller' | 'realNow' | 'searchMetadataKeys'>;
type Found = { sessions?: readonly string[]; customers?: readonly string[] };

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
  const text = query.trim().toWellFormed().replaceAll('\0', '').slice(0, MAX_QUERY);
  const { sessions = [], customers = [] } = text === '' ? {} : await findIds(deps, environment, text);
  const { store } = deps;
  const [soldTo, buyers] = await Promise.all([
    Promise.all(sessions.map((id) => store.session(id))),
    Promise.all(customers.map((id) => store.customer(id))),
  ]);
  return { sessions: pageOf(soldTo), customers: pageOf(buyers) };
}

function pageOf<Item>(found: readonly (Item | undefined)[]): PageResult<Item> {
  const items = found.filter((item) => item !== undefined);
  return { items: items.slice(0, SHOWN), hasMore: items.length > SHOWN };
}

/** Reads of a record by its id, by the prefix of the id; each returns the ids of what the record leads to. */
const BY_ID: Partial<Record<IdPrefix, (store: Deps['store'], id: string) => Promise<Found>>> = {
  chk: async (_store, id) => ({ sessions: [id] }),
  cus: async (_store, id) => ({ customers: [id] }),
  pay: async (store, id) => sessionOf(await store.payment(id)),
  inv: async (store, id) => sessionOf(await store.invoice(id)),
  ref: async (store, id) => sessionOf(await store.refund(id)),
  dlv: async (store, id) => sessionOf(await store.delivery(id)),
  dis: async (store, id) => sessionOf(await store.discrepancy(id)),
};

function sessionOf(record: { sessionId: string } | undefined): Found {
  return { sessions: record ? [record.sessionId] : [] };
}

async function findIds(deps: SearchDeps, environment: Environment, text: string): Promise<Found> {
  const { store, caller, searchMetadataKeys: keys } = deps;
  const eventSession = sessionOfEvent(text);
  if (eventSession !== undefined) return { sessions: [eventSession] };
  const byId = isId(text, ...(Object.keys(BY_ID) as IdPrefix[])) ? BY_ID[text.slice(0, 3) as IdPrefix] : undefined;
  if (byId) return byId(store, text);
  const cents = centsFromText(text);
  const amountSessions = () => store.sessionsOfAmount(environment, cents!, READ);
  if (cents !== undefined && /[$.]/.test(text)) return { sessions: await amountSessions() };

  const address = text.toLowerCase();
  // Prefixes would let a person without the permission guess addresses letter by letter.
  const mayGuess = !caller || can(caller, 'personal_data.read');
  if (text.startsWith('@')) {
    return mayGuess ? { customers: await store.customersOfDomain(environment, address.slice(1), READ) } : {};
  }
  const buyers = async () => (mayGuess ? store.customersOfPrefix(environment, address, READ) : []);
  if (text.includes('@')) {
    const exact = await store.customerByEmail(environment, text);
    return exact ? checkoutsOf(deps, environment, exact.id) : checkoutsOfOne(deps, environment, await buyers());
  }
  const reference = await store.listSessions({ environment, clientReferenceId: text }, { limit: READ });
  const others = await store.sessionsOfText(environment, text, keys, READ);
  const sessions = [...new Set([...reference.items.map(({ id }) => id), ...others])].toSorted().toReversed();
  // A whole number is an order number; without one, it is an amount.
  if (sessions.length === 0 && cents !== undefined) return { sessions: await amountSessions() };
  return { sessions: sessions.slice(0, READ), customers: await buyers() };
}

/** The newest checkouts of the only customer of an address; with several customers, the customers. */
async function checkoutsOfOne(deps: SearchDeps, environment: Environment, customers: string[]): Promise<Found> {
  const [only] = customers;
  return only !== undefined && customers.length === 1 ? checkoutsOf(deps, environment, only) : { customers };
}

/** The newest checkouts of a customer; the customer, if there are none or more than the shown ones. */
async function checkoutsOf({ store }: SearchDeps, environment: Environment, customer: string): Promise<Found> {
  const { items } = await store.listSessions({ environment, customer }, { limit: READ });
  const isWhole = items.length > 0 && items.length <= SHOWN;
  return { sessions: items.map(({ id }) => id), customers: isWhole ? [] : [customer] };
}
