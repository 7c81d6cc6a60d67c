// @run on=sqlite,postgres
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import type { Delivery, DeliveryStatus } from '../../src/domain/delivery.ts';
import { DELIVERY_STATUSES } from '../../src/domain/delivery.ts';
import type { Customer, Invoice, Payment, Session } from '../../src/domain/records.ts';
import { CUSTOMER_STATUSES, PAYMENT_STATUSES, SESSION_STATUSES } from '../../src/domain/records.ts';
import { ENVIRONMENTS } from '../../src/domain/route.ts';
import type { Listed, Page } from '../../src/store/page.ts';
import type { Change, Store } from '../../src/store/store.ts';
import type { MerchantEvent } from '../../src/store/webhooks.ts';
import { aCustomer, aPayment, aSession, anInvoice, idOf } from '../fixtures/records.ts';
import { aDelivery, adapters, anEndpoint, anEvent, write } from '../fixtures/store.ts';
import { TEST_DATABASE } from '../support/database.ts';

type ListName = 'listCustomers' | 'listSessions' | 'listPayments' | 'listInvoices' | 'listDeliveries';
type Filter = Record<string, string>;
interface Records {
  listCustomers: Customer[];
  listSessions: Session[];
  listPayments: Payment[];
  listInvoices: Invoice[];
  listDeliveries: Delivery[];
  /** What the deliveries are of. */
  events: MerchantEvent[];
}

/** What a record is asked for, by filter: a filter takes the record where it names one of these values. */
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
};
const LISTS = Object.keys(MODEL) as ListName[];

/** The naive list: everything, filtered, newest first. */
function expected(records: Records, list: ListName, filter: Filter): string[] {
  const isAddress = (key: string, value: string) => key === 'email' || (key === 'customer' && value.includes('@'));
  const all: readonly { id: string }[] = records[list];
  return all
    .filter((record) =>
      Object.entries(filter).every(([key, wanted]) => {
        const values = MODEL[list][key]!(record as never, records);
        if (!isAddress(key, wanted)) return values.includes(wanted);
        return values.some((value) => value?.toLowerCase() === wanted.toLowerCase());
      }),
    )
    .map(({ id }) => id)
    .toSorted()
    .toReversed();
}

async function ask(store: Store, list: ListName, filter: Filter, page: Page): Promise<Listed<string>> {
  const { items, hasMore }: Listed<{ id: string }> = await store[list](filter, page);
  return { items: items.map(({ id }) => id), hasMore };
}

/** Walks the list page by page in both directions and holds every page against the naive list. */
async function assertWalks(store: Store, records: Records, list: ListName, filter: Filter, limit: number) {
  const ids = expected(records, list, filter);
  const about = `${list} ${JSON.stringify(filter)} limit ${limit}`;
  let page: Page = { limit };
  for (let from = 0; from === 0 || from < ids.length; from += limit) {
    const found = await ask(store, list, filter, page);
    assert.deepEqual(found, { items: ids.slice(from, from + limit), hasMore: from + limit < ids.length }, about);
    page = { limit, startingAfter: found.items.at(-1) ?? '' };
  }
  // Before every id there is.
  page = { limit, endingBefore: '' };
  for (let end = ids.length; end === ids.length || end > 0; end -= limit) {
    const found = await ask(store, list, filter, page);
    assert.deepEqual(found, { items: ids.slice(Math.max(0, end - limit), end), hasMore: end > limit }, `${about} back`);
    page = { limit, endingBefore: found.items[0] ?? '~' };
  }
}

/** A cursor needs not be in the list itself: it stands where it would stand. */
async function assertCursor(store: Store, records: Records, list: ListName, filter: Filter, page: Page) {
  const ids = expected(records, list, filter);
  const { startingAfter, endingBefore, limit } = page;
  const rest = ids.filter((id) => (startingAfter === undefined ? id > endingBefore! : id < startingAfter));
  const items = startingAfter === undefined ? rest.slice(-limit) : rest.slice(0, limit);
  assert.deepEqual(await ask(store, list, filter, page), { items, hasMore: rest.length > limit });
}

interface Draw {
  /** Which customer, modulo those there are. */
  customer: number;
  status: Session['status'];
  reference: string | null;
  /** Of its attempts, oldest first. */
  payments: Payment['status'][];
  /** Of its events, each to one or two endpoints. */
  deliveries: DeliveryStatus[];
}
interface Drawn {
  customers: { address: number; environment: Customer['environment']; status: Customer['status'] }[];
  sessions: Draw[];
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
    events: [],
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
      // One pending and one paying payment at most: any other pending one has failed, any other paid one is surplus.
      const first = payments.indexOf(paymentStatus) === attempt;
      const state = paymentStatus === 'pending' && !first ? 'failed' : paymentStatus;
      const surplus = paymentStatus === 'paid' && !first;
      const ids = { id: idOf('pay', index * 10 + attempt), invoiceId: idOf('inv', index * 10 + attempt) };
      records.listPayments.push(aPayment({ ...shared, ...ids, status: state, surplus }));
      const invoice = surplus ? 'void' : ({ pending: 'open', failed: 'void', paid: 'paid' } as const)[state];
      records.listInvoices.push(anInvoice({ ...shared, id: ids.invoiceId, paymentId: ids.id, status: invoice }));
    }
    for (const [sequence, deliveryStatus] of deliveries.entries()) {
      const event = anEvent({ id: `evt_${sessionId}_${sequence}`, sessionId, environment, sequence });
      records.events.push(event);
      for (const endpoint of ENDPOINTS.slice(0, 1 + (index % 2))) {
        const id = idOf('dlv', records.listDeliveries.length);
        const own = { id, eventId: event.id, endpointId: endpoint.id, sessionId, environment, sequence };
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
    ...records.events.map((event): Change => ({ type: 'event_recorded', event })),
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

interface Question {
  list: ListName;
  /** Which filters, as bits, and of which record each takes its value. */
  filters: number;
  picks: number[];
  upper: boolean;
  limit: number;
  cursor: number;
}

const anyQuestion: fc.Arbitrary<Question> = fc.record({
  list: fc.constantFrom(...LISTS),
  filters: fc.nat(63),
  picks: fc.array(fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, fc.nat(30)), { minLength: 6, maxLength: 6 }),
  upper: fc.boolean(),
  limit: fc.oneof(fc.integer({ min: 1, max: 5 }), fc.integer({ min: 1, max: 100 })),
  cursor: fc.nat(30),
});

/** A filter whose values are those of records, so that it finds something more often than not. */
function filterOf(records: Records, { list, filters, picks, upper }: Question): Filter {
  const filter: Filter = {};
  const all: readonly unknown[] = records[list];
  for (const [index, [key, valuesOf]] of Object.entries(MODEL[list]).entries()) {
    if ((filters & (1 << index)) === 0) continue;
    const pick = picks[0]! + picks[index]!;
    const record = all[pick % Math.max(1, all.length)];
    const values = record === undefined ? ['nothing'] : valuesOf(record as never, records);
    const value = values[pick % values.length] ?? 'nothing';
    filter[key] = upper && value.includes('@') ? value.toUpperCase() : value;
  }
  return filter;
}

/** Every set of filters. */
function subsets(names: string[]): string[][] {
  return names.reduce<string[][]>((sets, name) => [...sets, ...sets.map((set) => [...set, name])], [[]]);
}

/** Enough of everything, for the filters that are asked one by one. */
const SOME: Drawn = {
  customers: [0, 1, 2, 3].flatMap((address) =>
    ENVIRONMENTS.map((environment) => ({
      address,
      environment,
      status: address === 3 ? ('blocked' as const) : ('active' as const),
    })),
  ),
  sessions: Array.from({ length: 24 }, (_, index) => ({
    customer: index,
    status: SESSION_STATUSES[index % 5]!,
    reference: [null, 'A-1', 'A-2'][index % 3]!,
    payments: (['failed', 'pending', 'paid', 'paid'] as const).slice(index % 4, 3 + (index % 2)),
    deliveries: (['delivered', 'dead', 'pending'] as const).slice(index % 3, 2 + (index % 2)),
  })),
};

for (const adapter of adapters) {
  describe(`${adapter.name}: lists`, () => {
    test('every filter alone, in pairs and all together finds what a naive list finds, page by page', () =>
      adapter.withStore(async (store) => {
        const records = recordsOf(SOME);
        await write(store, ...creationOf(records));
        for (const list of LISTS) {
          const all: readonly unknown[] = records[list];
          for (const names of subsets(Object.keys(MODEL[list]))) {
            // The values of an old, a middle and a new record, and those of two records mixed.
            for (const [first, second] of [
              [0, 0],
              [7, 7],
              [all.length - 1, all.length - 1],
              [3, 8],
            ] as const) {
              const filter: Filter = {};
              for (const [index, name] of names.entries()) {
                const record = all[(index === 0 ? first : second) % all.length];
                const values = MODEL[list][name]!(record as never, records);
                filter[name] = values[(first + index) % values.length] ?? 'nothing';
              }
              await assertWalks(store, records, list, filter, 3);
            }
          }
        }
      }));

    test('any records, any filters, any limit, any cursor: the same as a naive list', () =>
      fc.assert(
        fc.asyncProperty(anyDrawn, fc.array(anyQuestion, { minLength: 40, maxLength: 40 }), (drawn, questions) =>
          adapter.withStore(async (store) => {
            const records = recordsOf(drawn);
            await write(store, ...creationOf(records));
            for (const question of questions) {
              const { list, limit } = question;
              const filter = filterOf(records, question);
              await assertWalks(store, records, list, filter, limit);
              const all: readonly { id: string }[] = records[list];
              const cursor = all[question.cursor % Math.max(1, all.length)]?.id ?? 'nothing';
              await assertCursor(store, records, list, filter, { limit, startingAfter: cursor });
              await assertCursor(store, records, list, filter, { limit, endingBefore: cursor });
            }
          }),
        ),
        { numRuns: TEST_DATABASE === 'sqlite' ? 25 : 10, interruptAfterTimeLimit: 20_000 },
      ));

    test('what is not there is an empty list: unknown ids, addresses, references and statuses', () =>
      adapter.withStore(async (store) => {
        await write(store, ...creationOf(recordsOf(SOME)));
        for (const list of LISTS) {
          for (const name of Object.keys(MODEL[list])) {
            for (const value of ['nothing', 'nobody@example.com', idOf('key', 5), '', "' OR 1=1 --", '%']) {
              if (name === 'environment') continue;
              const found = await ask(store, list, { [name]: value }, { limit: 20 });
              assert.deepEqual(found, { items: [], hasMore: false }, `${list} ${name}=${value}`);
            }
          }
        }
      }));

    const faults: [fault: string, list: (store: Store) => Store['listPayments']][] = [
      [
        'hasMore is forgotten',
        (store) =>
          async (...ask) => ({ ...(await store.listPayments(...ask)), hasMore: false }),
      ],
      [
        'another filter is taken',
        (store) => (filter, page) => store.listPayments({ ...filter, status: 'failed' }, page),
      ],
      ['the page is one short', (store) => (filter, page) => store.listPayments(filter, { ...page, limit: 2 })],
      [
        'the cursor is ignored',
        (store) =>
          (filter, { limit }) =>
            store.listPayments(filter, { limit }),
      ],
      [
        'the oldest come first',
        (store) =>
          async (...ask) => {
            const { items, hasMore } = await store.listPayments(...ask);
            return { items: items.toReversed(), hasMore };
          },
      ],
    ];
    for (const [fault, listPayments] of faults) {
      test(`the walk finds it where ${fault}`, () =>
        adapter.withStore(async (store) => {
          const records = recordsOf(SOME);
          await write(store, ...creationOf(records));
          const faulty = { ...store, listPayments: listPayments(store) };
          await assertWalks(store, records, 'listPayments', { status: 'paid' }, 3);
          await assert.rejects(
            assertWalks(faulty, records, 'listPayments', { status: 'paid' }, 3),
            assert.AssertionError,
          );
        }));
    }

    test('an empty store has empty lists', () =>
      adapter.withStore(async (store) => {
        for (const list of LISTS) {
          assert.deepEqual(await ask(store, list, {}, { limit: 20 }), { items: [], hasMore: false });
        }
      }));
  });
}
