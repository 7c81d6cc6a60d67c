import { sessionOfEvent } from '../domain/event-id.ts';
import { isId } from '../domain/id.ts';
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

/** Reads of the records that lead to a checkout, by the prefix of their ids. */
const READ_BY_ID = { pay: 'payment', inv: 'invoice', ref: 'refund', dlv: 'delivery', dis: 'discrepancy' } as const;

async function findIds(deps: SearchDeps, environment: Environment, text: string): Promise<Found> {
  const { store, caller, searchMetadataKeys: keys } = deps;
  const session = isId(text, 'chk') ? text : sessionOfEvent(text);
  if (session !== undefined) return { sessions: [session] };
  if (isId(text, 'cus')) return { customers: [text] };
  const prefix = (Object.keys(READ_BY_ID) as (keyof typeof READ_BY_ID)[]).find((each) => isId(text, each));
  const record = prefix && (await store[READ_BY_ID[prefix]](text));
  if (prefix) return { sessions: record ? [record.sessionId] : [] };
  const cents = centsFromText(text);
  const ofAmount = async () => ({ sessions: await store.sessionsOfAmount(environment, cents!, READ) });
  if (cents !== undefined && /[$.]/.test(text)) return ofAmount();

  const address = text.toLowerCase();
  // Prefixes would let a person without the permission guess addresses letter by letter.
  const mayGuess = !caller || can(caller, 'personal_data.read');
  const exact = text.includes('@') ? await store.customerByEmail(environment, text) : undefined;
  if (exact) return checkoutsOf(deps, environment, [exact.id]);
  const customers = mayGuess ? await store.customersOfPrefix(environment, address, READ) : [];
  if (text.includes('@')) return checkoutsOf(deps, environment, customers);
  const reference = await store.listSessions({ environment, clientReferenceId: text }, { limit: READ });
  const others = await store.sessionsOfText(environment, text, keys, READ);
  const sessions = [...new Set([...reference.items.map(({ id }) => id), ...others])].toSorted().toReversed();
  // A whole number is an order number; without one, it is an amount.
  if (sessions.length === 0 && cents !== undefined) return ofAmount();
  return { sessions: sessions.slice(0, READ), customers };
}

/** The newest checkouts of the only customer, if these are few; otherwise also the customers. */
async function checkoutsOf({ store }: SearchDeps, environment: Environment, customers: string[]): Promise<Found> {
  const [customer] = customers;
  if (customer === undefined || customers.length > 1) return { customers };
  const { items } = await store.listSessions({ environment, customer }, { limit: READ });
  const isWhole = items.length > 0 && items.length <= SHOWN;
  return { sessions: items.map(({ id }) => id), customers: isWhole ? [] : customers };
}
