import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { splitFees } from '../../src/domain/fees.ts';
import { type IdPrefix, createIdSource } from '../../src/domain/id.ts';
import { paidPosting } from '../../src/domain/ledger.ts';
import type { Customer, Payment } from '../../src/domain/records.ts';
import { outcomesOf } from '../../src/domain/route-outcome.ts';
import { createRandomBytes, systemClock } from '../../src/runtime.ts';
import { writesOf } from '../../src/store/changes.ts';
import { migrateSqlite } from '../../src/store/sqlite.ts';
import type { Change } from '../../src/store/store.ts';
import { aCustomer, aPayment, aSession, anInvoice } from '../../test/fixtures/checkout-records.ts';

const YEAR_MS = 365 * 24 * 3_600_000;
const BATCH = 5000;
const CUSTOMERS_PER_SALE = 0.2;
const ROUTES = ['sandbox_card', 'sandbox_wallet', 'sandbox_local', 'stripe_card', 'usdc_base'];
/** Few amounts, so that a search for one finds a full page of payments. */
const AMOUNTS = 200;
/** Time from the start of a payment to its result. */
const PAID_AFTER_MS = 20_000;

/** A sale of the filled database, for requests about it. */
export interface FilledSale {
  sessionId: string;
  email: string;
  amount: number;
}

/** Creates a database with `count` sessions of the past year, each with a payment that is paid (nine of ten) or failed. Returns one of them. */
export function fillSales(path: string, count: number): FilledSale {
  migrateSqlite(path);
  const database = new DatabaseSync(path);
  database.exec('PRAGMA synchronous = OFF; PRAGMA cache_size = -400000');
  const statements = new Map<string, StatementSync>();
  const end = systemClock.now();
  let now = end - YEAR_MS;
  const newId = createIdSource(() => now, createRandomBytes());
  const customers: Customer[] = [];
  let chosen: FilledSale | undefined;
  for (let start = 0; start < count; start += BATCH) {
    database.exec('BEGIN');
    for (let index = start; index < Math.min(count, start + BATCH); index++) {
      now = Math.floor(end - YEAR_MS + (YEAR_MS * index) / count);
      const sale = saleAt(index, now, newId, customers, Math.ceil(count * CUSTOMERS_PER_SALE));
      for (const { sql, params } of writesOf(sale.changes)) {
        let statement = statements.get(sql);
        if (!statement) statements.set(sql, (statement = database.prepare(sql)));
        statement.run(...params);
      }
      if (index === Math.floor(count / 2)) chosen = sale;
    }
    database.exec('COMMIT');
  }
  database.exec('PRAGMA wal_checkpoint(TRUNCATE); PRAGMA optimize');
  database.close();
  return chosen!;
}

function saleAt(
  index: number,
  now: number,
  newId: (prefix: IdPrefix) => string,
  customers: Customer[],
  mostCustomers: number,
): FilledSale & { changes: Change[] } {
  const changes: Change[] = [];
  let customer = customers[(index * 7919) % mostCustomers];
  if (!customer) {
    customer = aCustomer({ id: newId('cus'), email: `buyer${index}@example.com`, created: now });
    customers[(index * 7919) % mostCustomers] = customer;
    changes.push({ type: 'customer_created', customer });
  }
  const { id: customerId, email } = customer;
  const ids = { sessionId: newId('chk'), invoiceId: newId('inv'), customerId };
  const amount = 500 + ((index * 37) % AMOUNTS);
  const isPaid = index % 10 !== 3;
  const started = aPayment({
    ...ids,
    id: newId('pay'),
    amount,
    fees: splitFees(amount, { buyerFeeRate: 5_000, gatewayFeeRate: 29_000 }),
    route: { ...aPayment().route, id: ROUTES[index % ROUTES.length]! },
    metadata: { orderId: `A-${index}` },
    created: now,
    inquireAt: null,
  });
  const failure = { failureCode: 'insufficient_funds', failureSource: 'buyer' } as const;
  const payment: Payment = { ...started, status: isPaid ? 'paid' : 'failed', ...(!isPaid && failure) };
  const session = aSession({
    id: ids.sessionId,
    customerId,
    customerEmail: email,
    amount,
    status: isPaid ? 'paid' : 'failed',
    version: 3,
    attempts: 1,
    announced: true,
    metadata: { orderId: `A-${index}` },
    created: now,
    expiresAt: now + 86_400_000,
    wakeAt: null,
  });
  const invoice = { ...anInvoice(), id: ids.invoiceId, paymentId: payment.id, sessionId: session.id };
  const before = { session, payments: [started], invoices: [], discrepancies: [] };
  const outcomes = outcomesOf(before, { ...before, payments: [payment] }, now + PAID_AFTER_MS);
  changes.push(
    { type: 'session_created', session },
    { type: 'payment_created', payment },
    {
      type: 'invoice_created',
      invoice: { ...invoice, customerId, amount, status: isPaid ? 'paid' : 'void', created: now },
    },
    ...outcomes.map((outcome): Change => ({ type: 'outcome_recorded', outcome })),
  );
  if (isPaid) {
    const posting = paidPosting(payment, now + PAID_AFTER_MS);
    changes.push({ type: 'ledger_posted', posting, environment: 'sandbox' });
  }
  return { sessionId: session.id, email, amount, changes };
}
