// @run on=sqlite,postgres
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { FAILURE_CODES, type FailureCode } from '../../src/domain/failure.ts';
import { PAYMENT_STATUSES, type Payment, type Session } from '../../src/domain/records.ts';
import { ENVIRONMENTS, type Environment } from '../../src/domain/route.ts';
import type { Page, PageResult } from '../../src/store/list-page.ts';
import type { Row, Select } from '../../src/store/keyset.ts';
import type { Change, Store } from '../../src/store/store.ts';
import { type PaymentFilter, createPaymentLists } from '../../src/store/tables/payment-lists.ts';
import { NOW, aCustomer, aPayment, aRoute, aSession, idOf } from '../fixtures/checkout-records.ts';
import { withStore, write } from '../fixtures/store-records.ts';
import { queryRows, runSql } from '../support/database.ts';
import { runs } from '../support/for-all.ts';

const ROUTES = ['sandbox_card', 'sandbox_card_2', 'sandbox"quoted'];

interface Sold {
  payment: Payment;
  session: Session;
  wrongAmount: boolean;
}

interface Drawn {
  environment: Environment;
  status: Payment['status'];
  amount: number;
  route: string;
  code: FailureCode;
  refunded: number;
  settled: boolean;
  wrongAmount: boolean;
}

const anySold: fc.Arbitrary<Drawn[]> = fc.array(
  fc.record({
    environment: fc.constantFrom(...ENVIRONMENTS),
    status: fc.constantFrom(...PAYMENT_STATUSES),
    amount: fc.constantFrom(1, 999, 4999, 5000),
    route: fc.constantFrom(...ROUTES),
    code: fc.constantFrom(...FAILURE_CODES.slice(0, 3)),
    refunded: fc.constantFrom(0, 1),
    settled: fc.boolean(),
    wrongAmount: fc.boolean(),
  }),
  { maxLength: 12 },
);

const anyFilter: fc.Arbitrary<PaymentFilter> = fc.record(
  {
    environment: fc.constantFrom(...ENVIRONMENTS),
    status: fc.constantFrom(...PAYMENT_STATUSES),
    route: fc.constantFrom(...ROUTES),
    reason: fc.constantFrom(...FAILURE_CODES.slice(0, 3)),
    amountFrom: fc.constantFrom(999, 5000),
    amountTo: fc.constantFrom(1, 4999),
    from: fc.integer({ min: NOW, max: NOW + 12 }),
    until: fc.integer({ min: NOW, max: NOW + 12 }),
    refunded: fc.boolean(),
    unsettled: fc.boolean(),
    wrongAmount: fc.boolean(),
    customerId: fc.constantFrom(idOf('cus', 1), idOf('cus', 2)),
  },
  { requiredKeys: [] },
);

function soldOf(drawn: Drawn[]): Sold[] {
  return drawn.map(({ environment, status, amount, route, code, refunded, settled, wrongAmount }, index) => {
    const ids = { customerId: idOf('cus', environment === 'sandbox' ? 1 : 2), sessionId: idOf('chk', index) };
    const session = aSession({
      id: ids.sessionId,
      environment,
      amount,
      customerId: ids.customerId,
      customerEmail: `${environment}@example.com`,
      product: `Product ${index}`,
    });
    const isPaid = status === 'paid';
    const payment = aPayment({
      ...ids,
      id: idOf('pay', index),
      invoiceId: idOf('inv', index),
      environment,
      amount,
      status,
      created: NOW + index,
      refunded: isPaid ? refunded : 0,
      ledgerStatus: isPaid && settled ? 'settled' : 'pending',
      failureCode: status === 'failed' ? code : null,
      failureSource: status === 'failed' ? 'buyer' : null,
    });
    payment.route = { ...payment.route, id: aRoute({ id: route }).id };
    return { payment, session, wrongAmount };
  });
}

/** The rules of the filters, as a person would write them. */
function matches({ payment, wrongAmount }: Sold, filter: PaymentFilter): boolean {
  const { environment, status, customerId, amount, created, route, failureCode, refunded, ledgerStatus } = payment;
  return (
    (filter.environment ?? environment) === environment &&
    (filter.status ?? status) === status &&
    (filter.customerId ?? customerId) === customerId &&
    (filter.route ?? route.id) === route.id &&
    (filter.reason ?? failureCode) === failureCode &&
    amount >= (filter.amountFrom ?? 0) &&
    amount <= (filter.amountTo ?? Infinity) &&
    created >= (filter.from ?? 0) &&
    created < (filter.until ?? Infinity) &&
    (!filter.refunded || refunded > 0) &&
    (!filter.unsettled || (status === 'paid' && ledgerStatus === 'pending')) &&
    (!filter.wrongAmount || wrongAmount)
  );
}

async function fill(store: Store, url: string, sold: readonly Sold[]): Promise<void> {
  const customers = ENVIRONMENTS.map((environment, index) =>
    aCustomer({ id: idOf('cus', index + 1), environment, email: `${environment}@example.com` }),
  );
  const changes: Change[] = customers.map((customer) => ({ type: 'customer_created', customer }));
  for (const { session, payment } of sold) {
    changes.push({ type: 'session_created', session }, { type: 'payment_created', payment });
  }
  await write(store, ...changes);
  for (const [index, { payment, wrongAmount }] of sold.entries()) {
    if (!wrongAmount) continue;
    await runSql(
      url,
      `INSERT INTO discrepancies (id, environment, kind, status, version, session_id, customer_id, payment_id, subject,
         expected, received, refunding, created) VALUES ('${idOf('dis', index)}', '${payment.environment}',
         'amount_mismatch', 'open', 1, '${payment.sessionId}', '${payment.customerId}', '${payment.id}', 'x', 2, 1, 0, ${NOW})`,
    );
  }
}

/** All rows of a filter, page by page in one direction, with the number of pages. */
async function walk<Item>(
  read: (page: Page) => Promise<PageResult<Item>>,
  idOfItem: (item: Item) => string,
  direction: 'older' | 'newer',
): Promise<string[]> {
  const found: string[] = [];
  let cursor: string | undefined = direction === 'older' ? undefined : idOf('pay', -1);
  for (;;) {
    const at = cursor === undefined ? {} : direction === 'older' ? { startingAfter: cursor } : { endingBefore: cursor };
    const { items, hasMore, searchedTo } = await read({ limit: 2, ...at });
    assert.ok(items.length <= 2);
    const ids = items.map(idOfItem);
    found.push(...(direction === 'older' ? ids : ids.toReversed()));
    if (!hasMore) return found;
    const next = searchedTo ?? (direction === 'older' ? ids.at(-1) : ids[0]);
    assert.ok(next !== undefined && next !== cursor, 'a page with more rows has a cursor');
    cursor = next;
  }
}

/** Lists over the rows of a database, with a small bound for scans. */
function listsOf(url: string, scannedRows: number, examined: number[] = []) {
  const select: Select = async (sql, ...params) => {
    const text = params.reduceRight<string>(
      (all, value, index) =>
        all.replaceAll(`?${index + 1}`, typeof value === 'string' ? `'${value.replaceAll("'", "''")}'` : String(value)),
      sql,
    );
    const rows = (await queryRows(url, text)) as Row[];
    const counted = rows.map((row) => (row['scanned'] === undefined ? undefined : Number(row['scanned'])));
    examined.push(...counted.filter((count) => count !== undefined));
    return rows.map((row) =>
      Object.fromEntries(
        Object.entries(row).map(([name, value]) => [
          name,
          typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value,
        ]),
      ),
    );
  };
  return createPaymentLists(select, select, scannedRows);
}

describe('filters of the payments list', () => {
  test('every filter lists its payments in both directions, however few rows one scan examines', async () => {
    await fc.assert(
      fc.asyncProperty(anySold, fc.array(anyFilter, { minLength: 3, maxLength: 6 }), async (drawn, filters) => {
        const sold = soldOf(drawn);
        await withStore(async (store, url) => {
          await fill(store, url, sold);
          for (const filter of filters) {
            const expected = sold.filter((one) => matches(one, filter)).map(({ payment }) => payment.id);
            for (const lists of [store, listsOf(url, 3)]) {
              const read = (page: Page) => lists.listPayments(filter, page);
              assert.deepEqual(await walk(read, ({ id }) => id, 'older'), expected.toReversed());
              assert.deepEqual(await walk(read, ({ id }) => id, 'newer'), expected);
            }
          }
        });
      }),
      { numRuns: runs(8) },
    );
  });

  test('a scan examines at most its limit of rows and names the row at which it ended', async () => {
    await withStore(async (store, url) => {
      const sold = soldOf(
        Array.from({ length: 9 }, (_, index) => ({
          environment: 'sandbox' as const,
          status: 'paid' as const,
          amount: index === 0 ? 999 : 4999,
          route: ROUTES[0]!,
          code: 'declined' as const,
          refunded: 0,
          settled: false,
          wrongAmount: false,
        })),
      );
      await fill(store, url, sold);
      const examined: number[] = [];
      const lists = listsOf(url, 4, examined);
      const filter = { environment: 'sandbox', amountTo: 999 } as const;
      const first = await lists.listPayments(filter, { limit: 2 });
      assert.deepEqual(first, { items: [], hasMore: true, searchedTo: idOf('pay', 5) });
      const second = await lists.listPayments(filter, { limit: 2, startingAfter: idOf('pay', 5) });
      assert.deepEqual(second, { items: [], hasMore: true, searchedTo: idOf('pay', 1) });
      const third = await lists.listPayments(filter, { limit: 2, startingAfter: idOf('pay', 1) });
      assert.deepEqual([third.items.map(({ id }) => id), third.hasMore], [[idOf('pay', 0)], false]);
      assert.deepEqual(examined, [4, 4, 1]);
    });
  });

  test('a list for people has the product and the buyer of each payment', async () => {
    await withStore(async (store, url) => {
      const [one] = soldOf([
        {
          environment: 'sandbox',
          status: 'paid',
          amount: 999,
          route: ROUTES[0]!,
          code: 'declined',
          refunded: 0,
          settled: false,
          wrongAmount: false,
        },
      ]);
      await fill(store, url, [one!]);
      const { items } = await store.listSoldPayments({ environment: 'sandbox' }, { limit: 2 });
      const [sold] = items;
      const { product, customerEmail, clientReferenceId, ...ofPayment } = sold!;
      assert.deepEqual([product, customerEmail, clientReferenceId], ['Product 0', 'sandbox@example.com', null]);
      assert.deepEqual({ ...one!.payment, ...ofPayment }, one!.payment);
      assert.equal(items.length, 1);
    });
  });
});
