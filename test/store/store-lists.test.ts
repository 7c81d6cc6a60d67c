// @run on=sqlite,postgres
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import type { Delivery, DeliveryStatus } from '../../src/domain/delivery.ts';
import { DELIVERY_STATUSES } from '../../src/domain/delivery.ts';
import type { Customer, Invoice, Payment, Session } from '../../src/domain/records.ts';
import { CUSTOMER_STATUSES, PAYMENT_STATUSES, PROVIDER_STATUSES, SESSION_STATUSES } from '../../src/domain/records.ts';
import { ENVIRONMENTS } from '../../src/domain/route.ts';
import type { PageResult, Page } from '../../src/store/list-page.ts';
import type { Change, Store } from '../../src/store/store.ts';
import type { MerchantEvent } from '../../src/store/webhooks-port.ts';
import { NOW, aCustomer, aPayment, aSession, anInvoice, idOf } from '../fixtures/checkout-records.ts';
import { aDelivery, withStore, anEndpoint, anEvent, write } from '../fixtures/store-records.ts';
import { runs } from '../support/for-all.ts';

type ListName = 'listCustomers' | 'listSessions' | 'listPayments' | 'listInvoices' | 'listDeliveries' | 'listEvents';
type Filter = Record<string, string>;
interface Records {
  listCustomers: Customer[];
  listSessions: Session[];
  listPayments: Payment[];
  listInvoices: Invoice[];
  listDeliveries: Delivery[];
  listEvents: MerchantEvent[];
}

/** Returns the values of a record for each filter. A filter matches the record if the filter's value is among them. */
const MODEL: Record<ListName, Record<string, (record: never, records: Records) => (string | null)[]>> = {
  listCustomers: {
    customerId: ({ id }: Customer) => [id],
    email: ({ email }: Customer) => [email],
    status: ({ status }: Customer) => [status],
    environment: ({ environment }: Customer) => [environment],
  },
  listSessions: {
    customer: ({ customerId }: Session, { listCustomers }) => [
      customerId,
      listCustomers.find(({ id }) => id === customerId)!.email,
    ],
    status: ({ status }: Session) => [status],
    clientReferenceId: ({ clientReferenceId }: Session) => [clientReferenceId],
    environment: ({ environment }: Session) => [environment],
  },
  listPayments: {
    customerId: ({ customerId }: Payment) => [customerId],
    invoiceId: ({ invoiceId }: Payment) => [invoiceId],
    paymentId: ({ id }: Payment) => [id],
    sessionId: ({ sessionId }: Payment) => [sessionId],
    status: ({ status }: Payment) => [status],
    environment: ({ environment }: Payment) => [environment],
  },
  listInvoices: {
    customerId: ({ customerId }: Invoice) => [customerId],
    invoiceId: ({ id }: Invoice) => [id],
    paymentId: ({ paymentId }: Invoice) => [paymentId],
    status: ({ status }: Invoice) => [status],
    environment: ({ environment }: Invoice) => [environment],
  },
  listDeliveries: {
    sessionId: ({ sessionId }: Delivery) => [sessionId],
    eventId: ({ eventId }: Delivery) => [eventId],
    status: ({ status }: Delivery) => [status],
    environment: ({ environment }: Delivery) => [environment],
  },
  listEvents: {
    sessionId: ({ sessionId }: MerchantEvent) => [sessionId],
    type: ({ type }: MerchantEvent) => [type],
    environment: ({ environment }: MerchantEvent) => [environment],
  },
};
const LISTS = Object.keys(MODEL) as ListName[];

/** Sort key of a record: the id, or for events the time, sequence and id. */
function keyOf(record: { id: string } | MerchantEvent): string {
  return 'sequence' in record && 'body' in record ? `${record.created} ${record.sequence} ${record.id}` : record.id;
}

/** The expected list: all records, filtered, newest first. */
function expected(records: Records, list: ListName, filter: Filter): { id: string; key: string }[] {
  const isAddress = (key: string, value: string) => key === 'email' || (key === 'customer' && value.includes('@'));
  const all: readonly { id: string }[] = records[list];
  return all
    .filter((record) =>
      Object.entries(filter).every(([key, value]) => {
        const values = MODEL[list][key]!(record as never, records);
        if (!isAddress(key, value)) return values.includes(value);
        return values.some((each) => each?.toLowerCase() === value.toLowerCase());
      }),
    )
    .map((record) => ({ id: record.id, key: keyOf(record) }))
    .toSorted((a, b) => (a.key < b.key ? 1 : -1));
}

/** Cursors that sort before and after every record of a list. */
const cursorsOf = (list: ListName) =>
  list === 'listEvents'
    ? { oldest: `evt_${idOf('chk', -10_000)}_paid`, newest: `evt_${idOf('chk', 10_000)}_paid` }
    : { oldest: '', newest: '~' };

async function readPageOf(store: Store, list: ListName, filter: Filter, page: Page): Promise<PageResult<string>> {
  const { items, hasMore }: PageResult<{ id: string }> = await store[list](filter, page);
  return { items: items.map(({ id }) => id), hasMore };
}

/** Reads a list page by page in both directions and compares every page with the expected list. */
async function assertWalks(store: Store, records: Records, list: ListName, filter: Filter, limit: number) {
  const ids = expected(records, list, filter).map(({ id }) => id);
  const about = `${list} ${JSON.stringify(filter)} limit ${limit}`;
  const { oldest, newest } = cursorsOf(list);
  let page: Page = { limit };
  for (let from = 0; from === 0 || from < ids.length; from += limit) {
    const found = await readPageOf(store, list, filter, page);
    assert.deepEqual(found, { items: ids.slice(from, from + limit), hasMore: from + limit < ids.length }, about);
    page = { limit, startingAfter: found.items.at(-1) ?? oldest };
  }
  page = { limit, endingBefore: oldest };
  for (let end = ids.length; end === ids.length || end > 0; end -= limit) {
    const found = await readPageOf(store, list, filter, page);
    assert.deepEqual(found, { items: ids.slice(Math.max(0, end - limit), end), hasMore: end > limit }, `${about} back`);
    page = { limit, endingBefore: found.items[0] ?? newest };
  }
}

/** Compares the pages before and after a record, which may be outside of the filtered list. */
async function assertCursor(store: Store, records: Records, { list, limit, cursor }: Query, filter: Filter) {
  const all: readonly { id: string }[] = records[list];
  const record = all[cursor % Math.max(1, all.length)] ?? { id: cursorsOf(list).oldest };
  const listed = expected(records, list, filter);
  const idsOf = (items: { id: string }[]) => items.map(({ id }) => id);
  const older = idsOf(listed.filter(({ key }) => key < keyOf(record)));
  const newer = idsOf(listed.filter(({ key }) => key > keyOf(record)));
  const down = await readPageOf(store, list, filter, { limit, startingAfter: record.id });
  assert.deepEqual(down, { items: older.slice(0, limit), hasMore: older.length > limit });
  const up = await readPageOf(store, list, filter, { limit, endingBefore: record.id });
  assert.deepEqual(up, { items: newer.slice(-limit), hasMore: newer.length > limit });
}

interface DrawnSession {
  /** Index into the active customers, modulo their number. */
  customer: number;
  status: Session['status'];
  reference: string | null;
  /** Statuses of the payments, oldest first. */
  payments: Payment['status'][];
  /** Statuses of the deliveries, one per event, to one or two endpoints. */
  deliveries: DeliveryStatus[];
}
interface Drawn {
  customers: { address: number; environment: Customer['environment']; status: Customer['status'] }[];
  sessions: DrawnSession[];
}

const ENDPOINTS = [anEndpoint({ id: idOf('whe', 1) }), anEndpoint({ id: idOf('whe', 2) })];
const ADDRESSES = ['ann@example.com', 'Bob@Example.com', 'CAT@EXAMPLE.COM', 'dan@example.com'];

function recordsOf({ customers, sessions }: Drawn): Records {
  const records: Records = {
    listCustomers: [],
    listSessions: [],
    listPayments: [],
    listInvoices: [],
    listDeliveries: [],
    listEvents: [],
  };
  const seen = new Set<string>();
  for (const [index, { address, environment, status }] of customers.entries()) {
    const key = `${address} ${environment}`;
    if (seen.has(key)) continue;
    seen.add(key);
    records.listCustomers.push(aCustomer({ id: idOf('cus', index), email: ADDRESSES[address]!, environment, status }));
  }
  const active = records.listCustomers.filter(({ status }) => status === 'active');
  if (active.length === 0) return records;
  for (const [index, { customer, status, reference, payments, deliveries }] of sessions.entries()) {
    const { id: customerId, email: customerEmail, environment } = active[customer % active.length]!;
    const sessionId = idOf('chk', index);
    const shared = { sessionId, customerId, environment };
    const session = { id: sessionId, customerId, customerEmail, environment, status };
    records.listSessions.push(aSession({ ...session, clientReferenceId: reference }));
    for (const [attempt, paymentStatus] of payments.entries()) {
      // The schema allows one pending and one paying payment: further pending payments become failed, further paid ones surplus.
      const first = payments.indexOf(paymentStatus) === attempt;
      const state = paymentStatus === 'pending' && !first ? 'failed' : paymentStatus;
      const surplus = paymentStatus === 'paid' && !first;
      const ids = { id: idOf('pay', index * 10 + attempt), invoiceId: idOf('inv', index * 10 + attempt) };
      records.listPayments.push(aPayment({ ...shared, ...ids, status: state, surplus }));
      const invoice = surplus ? 'void' : ({ pending: 'open', failed: 'void', paid: 'paid' } as const)[state];
      records.listInvoices.push(anInvoice({ ...shared, id: ids.invoiceId, paymentId: ids.id, status: invoice }));
    }
    for (const [sequence, deliveryStatus] of deliveries.entries()) {
      // Many events have the same creation time.
      const created = NOW + ((index * 7 + sequence * 3) % 11);
      const type = `payment.${PROVIDER_STATUSES[sequence % 3]!}` as const;
      const event = anEvent({ id: `evt_${sessionId}_${sequence}`, sessionId, environment, sequence, type, created });
      records.listEvents.push(event);
      for (const endpoint of ENDPOINTS.slice(0, 1 + (index % 2))) {
        const id = idOf('dlv', records.listDeliveries.length);
        const own = { id, eventId: event.id, endpointId: endpoint.id, sessionId, environment, sequence, type };
        records.listDeliveries.push(aDelivery({ ...own, status: deliveryStatus }));
      }
    }
  }
  return records;
}

function creationOf(records: Records): Change[] {
  return [
    ...records.listCustomers.map((customer): Change => ({ type: 'customer_created', customer })),
    ...records.listSessions.map((session): Change => ({ type: 'session_created', session })),
    ...records.listPayments.map((payment): Change => ({ type: 'payment_created', payment })),
    ...records.listInvoices.map((invoice): Change => ({ type: 'invoice_created', invoice })),
    ...ENDPOINTS.map((endpoint): Change => ({ type: 'endpoint_saved', endpoint })),
    ...records.listEvents.map((event): Change => ({ type: 'event_recorded', event })),
    ...records.listDeliveries.map((delivery): Change => ({ type: 'delivery_created', delivery })),
  ];
}

const anyDrawn: fc.Arbitrary<Drawn> = fc.record({
  customers: fc.array(
    fc.record({
      address: fc.nat(ADDRESSES.length - 1),
      environment: fc.constantFrom(...ENVIRONMENTS),
      status: fc.constantFrom(...CUSTOMER_STATUSES, 'active' as const),
    }),
    { minLength: 1, maxLength: 12 },
  ),
  sessions: fc.array(
    fc.record({
      customer: fc.nat(20),
      status: fc.constantFrom(...SESSION_STATUSES),
      reference: fc.constantFrom(null, 'A-1', 'A-2'),
      payments: fc.array(fc.constantFrom(...PAYMENT_STATUSES), { maxLength: 3 }),
      deliveries: fc.array(fc.constantFrom(...DELIVERY_STATUSES), { maxLength: 3 }),
    }),
    { maxLength: 25, size: 'max' },
  ),
});

interface Query {
  list: ListName;
  /** Bit set of the filters in use. `picks` selects the records from which the filters take their values. */
  filters: number;
  picks: number[];
  upper: boolean;
  limit: number;
  cursor: number;
}

const anyQuery: fc.Arbitrary<Query> = fc.record({
  list: fc.constantFrom(...LISTS),
  filters: fc.nat(63),
  picks: fc.array(fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, fc.nat(30)), { minLength: 6, maxLength: 6 }),
  upper: fc.boolean(),
  limit: fc.oneof(fc.integer({ min: 1, max: 5 }), fc.integer({ min: 1, max: 100 })),
  cursor: fc.nat(30),
});

/** Values that no record has, for picks from KNOWN_PICKS on. */
const UNKNOWN = ['nothing', 'nobody@example.com', idOf('key', 5), '', "' OR 1=1 --", '%'];
const KNOWN_PICKS = 27;

/** A filter with values of existing records, so that most filters match some records. */
function filterOf(records: Records, { list, filters, picks, upper }: Query): Filter {
  const filter: Filter = {};
  const all: readonly unknown[] = records[list];
  for (const [index, [key, valuesOf]] of Object.entries(MODEL[list]).entries()) {
    if ((filters & (1 << index)) === 0) continue;
    const pick = picks[0]! + picks[index]!;
    const record = all[pick % Math.max(1, all.length)];
    const values = record === undefined ? ['nothing'] : valuesOf(record as never, records);
    const isUnknown = picks[index]! >= KNOWN_PICKS && key !== 'environment';
    const value = isUnknown ? UNKNOWN[pick % UNKNOWN.length]! : (values[pick % values.length] ?? 'nothing');
    filter[key] = upper && value.includes('@') ? value.toUpperCase() : value;
  }
  return filter;
}

describe('the lists of the store', () => {
  test('the lists of the store have the same pages as a model, for any records, filters, limit and cursor', () =>
    fc.assert(
      fc.asyncProperty(anyDrawn, fc.array(anyQuery, { minLength: 80, maxLength: 80 }), (drawn, queries) =>
        withStore(async (store) => {
          const records = recordsOf(drawn);
          await write(store, ...creationOf(records));
          for (const query of queries) {
            const filter = filterOf(records, query);
            await assertWalks(store, records, query.list, filter, query.limit);
            await assertCursor(store, records, query, filter);
          }
        }),
      ),
      { numRuns: runs(10), interruptAfterTimeLimit: 20_000 },
    ));
});
