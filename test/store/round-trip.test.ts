// @run on=sqlite,postgres
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { FAILURE_CODES, FAILURE_SOURCES } from '../../src/domain/failure.ts';
import type { Checkout } from '../../src/domain/records.ts';
import { ENVIRONMENTS, ROUTE_KINDS } from '../../src/domain/route.ts';
import { PAYMENT_STATUSES, PROVIDER_STATUSES, SESSION_STATUSES } from '../../src/domain/records.ts';
import type { Store } from '../../src/store/store.ts';
import { NOW, aCustomer, aPayment, aSession, anInvoice, idOf } from '../fixtures/checkout-records.ts';
import { aDelivery, withStore, anEndpoint, anEvent, write } from '../fixtures/store-records.ts';

// Text that the contract accepts: any Unicode without NUL and lone surrogates.
const anyText = fc
  .string({ unit: 'grapheme', maxLength: 40 })
  .filter((value) => value.isWellFormed() && !value.includes('\0'));
const someText = fc.oneof(
  anyText,
  fc.constantFrom("' OR 1=1 --", '"', '\\', '\u2028', '🦉', 'Ünïcödé', '{"a":1}', ' ', '%_', '?1'),
);
const orNull = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { nil: null });
const anyInstant = fc.integer({ min: 0, max: 8.64e15 });
const anyCents = fc.integer({ min: 0, max: 100_000_000 });
const anyCount = fc.nat(1000);
const anyMetadata = fc.dictionary(
  // V8 mixes up keys that JSON escapes (https://github.com/nodejs/node/issues/63785): that is not ours to test.
  someText.filter((key) => key !== '' && JSON.stringify(key) === `"${key}"`),
  someText,
  { maxKeys: 10, noNullPrototype: true },
);
const anyEnvironment = fc.constantFrom(...ENVIRONMENTS);

const anySession = fc.record({
  status: fc.constantFrom(...SESSION_STATUSES),
  version: fc.integer({ min: 1, max: 1000 }),
  product: someText,
  amount: anyCents,
  preferredRoute: orNull(fc.constantFrom(...ROUTE_KINDS)),
  redirectUrl: orNull(fc.webUrl()),
  metadata: anyMetadata,
  clientReferenceId: orNull(someText),
  idempotencyKey: orNull(someText),
  requestHash: orNull(someText),
  offerJson: someText,
  attempts: anyCount,
  announced: fc.boolean(),
  created: anyInstant,
  expiresAt: anyInstant,
  retryUntil: orNull(anyInstant),
  wakeAt: orNull(anyInstant),
});
const anyPayment = fc.record({
  status: fc.constantFrom(...PAYMENT_STATUSES),
  ledgerStatus: fc.constantFrom('pending' as const, 'settled' as const, 'refunded' as const),
  route: fc.record(
    {
      id: someText,
      kind: fc.constantFrom(...ROUTE_KINDS),
      label: someText,
      provider: someText,
      network: someText,
      asset: someText,
    },
    { noNullPrototype: true },
  ),
  providerCost: anyCents,
  providerReference: orNull(someText),
  providerUrl: orNull(fc.webUrl()),
  handoffUncertain: fc.boolean(),
  surplus: fc.boolean(),
  surplusAccepted: fc.boolean(),
  settled: fc.boolean(),
  shortfall: anyCents,
  mismatchRefunded: anyCents,
  mismatchRefundFailed: anyCents,
  refunded: anyCents,
  refundPending: anyCents,
  refundShares: fc.record({ gateway: anyCents, cost: anyCents }, { noNullPrototype: true }),
  failureCode: orNull(fc.constantFrom(...FAILURE_CODES)),
  failureSource: orNull(fc.constantFrom(...FAILURE_SOURCES)),
  failureReason: orNull(someText),
  probe: fc.boolean(),
  txHash: orNull(someText),
  metadata: anyMetadata,
  created: anyInstant,
  timeoutAt: anyInstant,
  inquireAt: orNull(anyInstant),
  inquiries: anyCount,
});
const anyFees = fc.record({ buyerFee: anyCents, gatewayFee: anyCents }).map((fees) => (amount: number) => ({
  ...fees,
  merchantNet: amount - fees.gatewayFee,
  total: amount + fees.buyerFee,
}));
const anyInvoice = fc.record({
  status: fc.constantFrom('open' as const, 'paid' as const, 'void' as const),
  metadata: anyMetadata,
  created: anyInstant,
});
const anyCheckout = fc.record({
  environment: anyEnvironment,
  session: anySession,
  payment: anyPayment,
  fees: anyFees,
  invoice: anyInvoice,
});

describe('records are read as they were written', () => {
  let count = 0;
  /** Many records in one store, each with ids of its own. */
  const roundTrip = <Value>(
    name: string,
    values: fc.Arbitrary<Value>,
    check: (store: Store, value: Value, number: number) => Promise<void>,
  ): void => {
    test(name, () =>
      withStore((store) =>
        fc.assert(
          fc.asyncProperty(values, (value) => check(store, value, (count += 1))),
          { numRuns: 60 },
        ),
      ),
    );
  };

  roundTrip('a checkout: session, payments and invoices', anyCheckout, async (store, drawn, number) => {
    const written = checkoutOf(drawn, number);
    await write(store, ...creationOf(written));
    assert.deepEqual(await store.checkout(written.session.id), written);
    assert.deepEqual(await store.session(written.session.id), written.session);
    assert.deepEqual(await store.payment(written.payments[0]!.id), written.payments[0]);
    assert.deepEqual(await store.invoice(written.invoices[0]!.id), written.invoices[0]);
  });

  roundTrip('a changed checkout', fc.tuple(anyCheckout, anyCheckout), async (store, drawn, number) => {
    const [before, after] = [checkoutOf(drawn[0], number), checkoutOf(drawn[1], number)];
    await write(store, ...creationOf(before));
    const { status, attempts, announced, retryUntil, wakeAt } = after.session;
    const version = before.session.version + 1;
    const session = { ...before.session, version, status, attempts, announced, retryUntil, wakeAt };
    const { fees, route, providerCost, probe, metadata, created, timeoutAt } = before.payments[0]!;
    const fixed = { environment: before.session.environment, amount: before.session.amount, fees, metadata, created };
    const payment = { ...after.payments[0]!, ...fixed, route, providerCost, probe, timeoutAt };
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
  });

  const anyType = fc.constantFrom(
    'payment.provider_pending' as const,
    'payment.paid' as const,
    'payment.failed' as const,
  );
  const anyEvent = fc.record({
    environment: anyEnvironment,
    sequence: anyCount,
    type: anyType,
    body: someText,
    created: anyInstant,
  });
  const anyDelivery = fc.record({
    environment: anyEnvironment,
    type: anyType,
    sequence: anyCount,
    status: fc.constantFrom('pending' as const, 'delivered' as const, 'dead' as const),
    attempts: anyCount,
    scheduleStart: anyCount,
    dueAt: anyInstant,
    created: anyInstant,
  });
  const anyAttempt = fc.record({
    number: anyCount,
    started: fc.integer({ min: 0, max: 8e15 }),
    durationMs: anyCount,
    statusCode: orNull(fc.integer({ min: 100, max: 599 })),
    failure: orNull(someText),
    responseBody: someText,
  });
  roundTrip(
    'an event, byte for byte, its delivery, its attempts and its endpoint',
    fc.tuple(anyCheckout, anyEvent, anyDelivery, anyAttempt, someText),
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
      if (delivery.status !== 'pending') {
        const { attempts, dueAt } = delivery;
        written.delivery = { ...written.delivery, status: 'pending', scheduleStart: attempts, dueAt: dueAt + 1 };
        await write(store, { type: 'delivery_replayed', delivery: written.delivery, from: delivery.status });
        assert.deepEqual(await store.delivery(written.delivery.id), written.delivery);
      }
      const attempted = { ...attempt, deliveryId: written.delivery.id };
      await write(store, { type: 'delivery_finished', delivery: written.delivery, attempt: attempted });
      assert.deepEqual(await store.deliveryAttempts(written.delivery.id), [attempted]);
    },
  );

  const anyMessage = fc.record({
    paymentId: orNull(someText),
    sessionId: someText,
    refundId: orNull(someText),
    environment: anyEnvironment,
    status: fc.constantFrom(...PROVIDER_STATUSES),
    amount: anyCents,
    currency: orNull(someText),
    outcome: someText,
    flagged: fc.boolean(),
    body: someText,
    received: anyInstant,
  });
  roundTrip('a provider’s message, verbatim', fc.tuple(anyMessage, someText), async (store, [drawn, id], number) => {
    const message = { ...drawn, provider: `provider_${number}`, eventId: id };
    await write(store, { type: 'provider_message_received', message });
    assert.deepEqual(await store.messagesOfEvent(message, id, message.sessionId), [message]);
  });
});

type Drawn = typeof anyCheckout extends fc.Arbitrary<infer Value> ? Value : never;

function checkoutOf({ environment, session, payment, fees, invoice }: Drawn, number: number): Checkout {
  const { amount } = session;
  const customerId = idOf('cus', number);
  const ids = { sessionId: idOf('chk', number), customerId, environment, amount };
  return {
    session: aSession({
      ...session,
      id: ids.sessionId,
      environment,
      customerId,
      customerEmail: `Buyer${number}@example.com`,
      // A key of its own: keys are unique, and another test's matter.
      idempotencyKey: session.idempotencyKey === null ? null : `${session.idempotencyKey} ${number}`,
    }),
    payments: [
      aPayment({ ...payment, ...ids, id: idOf('pay', number), invoiceId: idOf('inv', number), fees: fees(amount) }),
    ],
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
