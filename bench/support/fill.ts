import { DatabaseSync } from 'node:sqlite';
import { createIdSource } from '../../src/domain/id.ts';
import type { Payment } from '../../src/domain/records.ts';
import { createRandomBytes, systemClock } from '../../src/runtime.ts';
import { openSqlite } from '../../src/store/sqlite.ts';
import { paymentWrites } from '../../src/store/tables/payments-table.ts';
import { aPayment } from '../../test/fixtures/checkout-records.ts';

const SPACING_MS = 40;
const FIRST = Date.parse('2026-01-01T00:00:00.000Z');
const CUSTOMERS_PER_PAYMENT = 0.2;
const BATCH = 10_000;
const TEMPLATE = aPayment({ inquireAt: null });

export interface FilledDatabase {
  /** Id of a customer with 5 % of all payments, none of them pending. */
  bigCustomer: string;
  /** Id of a customer with few payments. */
  ordinaryCustomer: string;
  /** Id of a payment in the middle of the table. */
  middle: string;
}

/** Creates a database with `count` payments. It has no sessions, because lists of payments do not read them. */
export async function fillPayments(path: string, count: number): Promise<FilledDatabase> {
  const store = await openSqlite({
    path,
    clock: systemClock,
    log: { info: () => undefined, warn: () => undefined },
    onFatal(error) {
      throw error;
    },
  });
  await store.close();
  let now = FIRST;
  const newId = createIdSource(() => now, createRandomBytes());
  const customers = Array.from({ length: Math.ceil(count * CUSTOMERS_PER_PAYMENT) }, () => newId('cus'));
  const bigCustomer = customers[0]!;
  const database = new DatabaseSync(path, { enableForeignKeyConstraints: false });
  database.exec('PRAGMA synchronous = OFF; PRAGMA cache_size = -400000');
  let middle = '';
  let ordinaryCustomer = '';
  const insert = database.prepare(paymentWrites.payment_created({ payment: paymentAt(0) }).sql);
  for (let start = 0; start < count; start += BATCH) {
    database.exec('BEGIN');
    for (let index = start; index < Math.min(count, start + BATCH); index++) {
      now += SPACING_MS;
      const payment = paymentAt(index);
      insert.run(...paymentWrites.payment_created({ payment }).params);
      if (index === Math.floor(count / 2)) {
        middle = payment.id;
        ordinaryCustomer = payment.customerId;
      }
    }
    database.exec('COMMIT');
  }
  // The middle row may belong to the big customer.
  if (ordinaryCustomer === bigCustomer) ordinaryCustomer = customers[1]!;
  database.exec('PRAGMA wal_checkpoint(TRUNCATE); PRAGMA optimize');
  database.close();
  return { bigCustomer, ordinaryCustomer, middle };

  function paymentAt(index: number): Payment {
    const big = index % 20 === 0;
    const customerId = big ? bigCustomer : customers[(index * 7919) % customers.length]!;
    const status = !big && index % 10 === 1 ? 'pending' : index % 10 === 2 ? 'failed' : 'paid';
    return {
      ...TEMPLATE,
      id: newId('pay'),
      sessionId: newId('chk'),
      invoiceId: newId('inv'),
      customerId,
      environment: index % 4 === 3 ? 'production' : 'sandbox',
      status,
      failureSource: status === 'failed' ? 'issuer' : null,
      metadata: { orderId: `A-${index}` },
      created: now,
      timeoutAt: now,
    };
  }
}
