// @run on=sqlite,postgres
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import type { Checkout } from '../../src/domain/records.ts';
import { ENVIRONMENTS } from '../../src/domain/route.ts';
import type { Store } from '../../src/store/store.ts';
import { NOW, aCustomer, aPayment, aSession, anInvoice, idOf } from '../fixtures/checkout-records.ts';
import { aDelivery, aMessage, anAttemptOf, anEndpoint, anEvent, withStore, write } from '../fixtures/store-records.ts';
import { runs } from '../support/for-all.ts';

// The API accepts any Unicode text without NUL and lone surrogates.
const anyText = fc
  .string({ unit: 'grapheme', maxLength: 40 })
  .filter((value) => value.isWellFormed() && !value.includes('\0'));
const someText = fc.oneof(
  anyText,
  fc.constantFrom("' OR 1=1 --", '"', '\\', '\u2028', '🦉', 'Ünïcödé', '{"a":1}', ' ', '%_', '?1'),
);
const orNull = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { nil: null });
const anyNumber = fc.integer({ min: 0, max: 4e15 });
const orNoNumber = orNull(anyNumber);
const anyMetadata = fc.dictionary(
  // V8 confuses keys that JSON escapes: https://github.com/nodejs/node/issues/63785.
  someText.filter((key) => key !== '' && JSON.stringify(key) === `"${key}"`),
  someText,
  { maxKeys: 10, noNullPrototype: true },
);

/** Records with the fields of an example and arbitrary values of the same types; null becomes any text or null. */
function anyLike<Item extends object>(
  example: Item,
  overrides: { [Name in keyof Item]?: unknown } = {},
): fc.Arbitrary<Item> {
  const fields = Object.entries(example).map(([name, value]: [string, unknown]) => {
    if (name === 'metadata') return [name, anyMetadata];
    if (typeof value === 'number') return [name, anyNumber];
    if (typeof value === 'boolean') return [name, fc.boolean()];
    if (value === null) return [name, orNull(someText)];
    return [name, typeof value === 'object' ? anyLike(value) : someText];
  });
  return fc.record({ ...Object.fromEntries(fields), ...overrides }, { noNullPrototype: true }) as fc.Arbitrary<Item>;
}

const anyCheckout = fc.record({
  environment: fc.constantFrom(...ENVIRONMENTS),
  session: anyLike(aSession(), { retryUntil: orNoNumber, wakeAt: orNoNumber, expiredAt: orNoNumber }),
  payment: anyLike(aPayment(), {
    inquireAt: orNoNumber,
    expectedBy: orNoNumber,
    actualCost: orNoNumber,
    decline: orNull(anyLike({ code: 'declined', source: 'issuer', reason: null })),
  }),
  invoice: anyLike(anInvoice()),
});
const anyDelivery = anyLike(aDelivery(), { lastAttempt: fc.constant(null) });
const anyAttempt = anyLike(anAttemptOf(aDelivery()), { statusCode: orNoNumber });

describe('records are read unchanged after they are written', () => {
  let count = 0;
  /** A test that writes many arbitrary records with different ids into one store. */
  const roundTrip = <Value>(
    name: string,
    values: fc.Arbitrary<Value>,
    check: (store: Store, value: Value, number: number) => Promise<void>,
  ): void => {
    test(name, () =>
      withStore((store) =>
        fc.assert(
          fc.asyncProperty(values, (value) => check(store, value, (count += 1))),
          { numRuns: runs(60) },
        ),
      ),
    );
  };

  roundTrip(
    'a checkout (session, payments and invoices) is read unchanged',
    anyCheckout,
    async (store, drawn, number) => {
      const written = checkoutOf(drawn, number);
      await write(store, ...creationOf(written));
      assert.deepEqual(await store.checkout(written.session.id), written);
      assert.deepEqual(await store.session(written.session.id), written.session);
      assert.deepEqual(await store.payment(written.payments[0]!.id), written.payments[0]);
      assert.deepEqual(await store.invoice(written.invoices[0]!.id), written.invoices[0]);
    },
  );

  roundTrip(
    'a checkout is read unchanged after a change',
    fc.tuple(anyCheckout, anyCheckout),
    async (store, drawn, number) => {
      const [before, after] = [checkoutOf(drawn[0], number), checkoutOf(drawn[1], number)];
      await write(store, ...creationOf(before));
      const { status, attempts, announced, retryUntil, wakeAt, expiredAt } = after.session;
      const version = before.session.version + 1;
      const session = { ...before.session, version, status, attempts, announced, retryUntil, wakeAt, expiredAt };
      const { fees, route, providerCost, costRefundable, probe, metadata, created } = before.payments[0]!;
      const fixed = { environment: before.session.environment, amount: before.session.amount, fees, metadata, created };
      const payment = { ...after.payments[0]!, ...fixed, route, providerCost, costRefundable, probe };
      payment.customerId = before.session.customerId;
      const invoice = { ...before.invoices[0]!, status: after.invoices[0]!.status };
      await write(
        store,
        { type: 'session_changed', session },
        { type: 'payment_changed', payment },
        { type: 'invoice_changed', invoice },
      );
      assert.deepEqual(await store.checkout(session.id), {
        session,
        payments: [payment],
        invoices: [invoice],
        discrepancies: [],
      });
    },
  );

  roundTrip(
    'an event, its delivery, attempts and endpoint are read unchanged',
    fc.tuple(anyCheckout, anyLike(anEvent()), anyDelivery, anyAttempt, someText),
    async (store, [drawn, event, delivery, attempt, url], number) => {
      const checkout = checkoutOf(drawn, number);
      const sessionId = checkout.session.id;
      const endpoint = anEndpoint({ id: idOf('whe', number), url, environment: drawn.environment });
      const written = {
        endpoint,
        event: anEvent({ ...event, id: `evt_${sessionId}`, sessionId }),
        delivery: aDelivery({ ...delivery, id: idOf('dlv', number), eventId: `evt_${sessionId}`, sessionId }),
      };
      written.delivery.endpointId = endpoint.id;
      await write(
        store,
        ...creationOf(checkout),
        { type: 'endpoint_saved', endpoint },
        { type: 'event_recorded', event: written.event },
        { type: 'delivery_created', delivery: written.delivery },
      );
      assert.deepEqual(await store.event(written.event.id), written.event);
      assert.deepEqual(await store.deliveriesOfSession(sessionId), [written.delivery]);
      assert.deepEqual(await store.delivery(written.delivery.id), written.delivery);
      assert.deepEqual(
        (await store.endpoints()).find(({ id }) => id === endpoint.id),
        endpoint,
      );
      const { attempts, dueAt } = delivery;
      written.delivery = { ...written.delivery, status: 'pending', scheduleStart: attempts, dueAt: dueAt + 1 };
      await write(store, { type: 'delivery_replayed', delivery: written.delivery, from: delivery.status });
      assert.deepEqual(await store.delivery(written.delivery.id), written.delivery);
      const attempted = { ...attempt, deliveryId: written.delivery.id };
      await write(store, { type: 'delivery_finished', delivery: written.delivery, attempt: attempted });
      assert.deepEqual(await store.deliveryAttempts(written.delivery.id), [attempted]);
    },
  );

  roundTrip(
    'a provider message is read unchanged',
    fc.tuple(anyLike(aMessage()), someText),
    async (store, [drawn, id], number) => {
      const message = { ...drawn, provider: `provider_${number}`, eventId: id };
      await write(store, { type: 'provider_message_received', message });
      assert.deepEqual(await store.messagesOfEvent(message, id, message.sessionId), [message]);
    },
  );
});

type Drawn = typeof anyCheckout extends fc.Arbitrary<infer Value> ? Value : never;

function checkoutOf({ environment, session, payment, invoice }: Drawn, number: number): Checkout {
  const { amount } = session;
  const customerId = idOf('cus', number);
  const { buyerFee, gatewayFee } = payment.fees;
  const fees = { buyerFee, gatewayFee, merchantNet: amount - gatewayFee, total: amount + buyerFee };
  const ids = { sessionId: idOf('chk', number), customerId, environment, amount };
  return {
    session: aSession({
      ...session,
      id: ids.sessionId,
      environment,
      customerId,
      customerEmail: `Buyer${number}@example.com`,
      // Idempotency keys are unique in the store.
      idempotencyKey: session.idempotencyKey === null ? null : `${session.idempotencyKey} ${number}`,
    }),
    payments: [aPayment({ ...payment, ...ids, id: idOf('pay', number), invoiceId: idOf('inv', number), fees })],
    invoices: [anInvoice({ ...invoice, ...ids, id: idOf('inv', number), paymentId: idOf('pay', number) })],
    discrepancies: [],
  };
}

function creationOf({ session, payments, invoices }: Checkout) {
  const { customerId: id, customerEmail: email, environment } = session;
  return [
    { type: 'customer_created', customer: aCustomer({ id, email, environment, created: NOW }) },
    { type: 'session_created', session },
    { type: 'payment_created', payment: payments[0]! },
    { type: 'invoice_created', invoice: invoices[0]! },
  ] as const;
}
