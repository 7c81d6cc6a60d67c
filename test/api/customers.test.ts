import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Customer } from '../../sdk/src/index.ts';
import { GatewayError } from '../../src/domain/gateway-error.ts';
import { createCheckout } from '../../src/operations/create-checkout.ts';
import { startPayment } from '../../src/operations/start-payment.ts';
import { attempt, createSession, stateOf, submit } from '../simulator/buyer.ts';
import { gatewayOf, paymentsOf } from '../support/gateway.ts';
import { refused } from '../support/refusal.ts';
import { type TestService, sessionBody } from '../support/service.ts';
import { suiteInstances } from '../support/suite.ts';

// Each instance has its own cache of customers.
const [service, other] = suiteInstances(2, { sound: true }) as [TestService, TestService];

const customerOf = async (sessionId: string) => (await service.service.deps.store.session(sessionId))!.customerId;
const buyer = async (customer: string) => {
  const session = await createSession(service, { customer });
  return { session, id: await customerOf(session) };
};

const block = (id: string, body?: object, on = service) => gatewayOf(on).post<Customer>(`customers/${id}/block`, body);
const unblock = (id: string, on = service) => gatewayOf(on).post<Customer>(`customers/${id}/unblock`);

describe('blocking a customer', () => {
  test('blocking a customer is stored with its reason, shown in lists and reads, and can be undone', async () => {
    const api = gatewayOf(service);
    const { id } = await buyer('shown@example.com');
    const blocked = await block(id, { reason: 'chargebacks' });
    assert.deepEqual([blocked.status, blocked.statusReason], ['blocked', 'chargebacks']);
    assert.deepEqual(await api.list('customers?status=blocked'), [blocked]);
    assert.deepEqual(await api.get(`customers/${id}`), blocked);
    const undone = await unblock(id);
    assert.deepEqual([undone.status, undone.statusReason], ['active', null]);
  });

  test('blocking and unblocking a customer can be repeated; a new reason replaces the earlier reason', async () => {
    const { id } = await buyer('twice@example.com');
    await block(id, { reason: 'first' });
    assert.equal((await block(id)).statusReason, 'first');
    assert.equal((await block(id, { reason: 'second' })).statusReason, 'second');
    for (let time = 0; time < 2; time++) assert.equal((await unblock(id)).status, 'active');
  });

  test('blocking a customer applies immediately on an instance that has cached the customer as active', async () => {
    const body = sessionBody({ customer: 'Known@example.com' });
    const create = (on: TestService) => gatewayOf(on).post<{ customerId: string }>('sessions', body);
    const { customerId } = await create(other);
    // The second request uses the cache.
    await create(other);
    await block(customerId);
    for (const on of [service, other]) {
      await gatewayOf(on).refused('403 forbidden', 'POST sessions', body);
      await refused([400, 'forbidden'], 'POST', `${on.url}/api/agent/actions/checkout.preview`, body);
    }
    await unblock(customerId, other);
    for (const on of [service, other]) await create(on);
  });

  test('blocking a customer does not change the replayed response of an earlier session with an idempotency key', async () => {
    const body = sessionBody({ customer: 'replayed@example.com', idempotencyKey: 'replay-blocked' });
    const first = await gatewayOf(service).post<{ customerId: string }>('sessions', body);
    await block(first.customerId);
    assert.deepEqual(await gatewayOf(service).post('sessions', body), first);
  });
});

describe('a session whose customer is blocked', () => {
  test('a session whose customer is blocked shows on its page that the payment cannot be taken, without the reason', async () => {
    const { session, id } = await buyer('page@example.com');
    await block(id, { reason: 'a fraudster' });
    const pay = await submit(`${other.url}/checkout/${session}/pay`, { kind: 'card', total_card: '99999999' });
    assert.deepEqual([pay.status, pay.headers.get('location')], [303, `/checkout/${session}`]);
    const pageOn = async ({ url }: TestService) => (await fetch(`${url}/checkout/${session}`)).text();
    const page = await pageOn(other);
    assert.match(page, /This payment cannot be taken/);
    assert.match(page, /You have not been charged/);
    assert.doesNotMatch(page, /block|fraud|\/pay"/i);
    assert.deepEqual(await paymentsOf(service, session), []);
    await unblock(id);
    assert.match(await pageOn(other), /Choose how to pay/);
    await attempt(service, session, 'card', 'paid');
    await service.pass(0);
    assert.equal((await stateOf(service, session)).session, 'paid');
  });

  test('a session whose customer is blocked cannot be paid if the block commits between the read and the write of the payment start', async () => {
    const { session, id: customerId } = await buyer('race@example.com');
    const { deps } = service.service;
    let reads = 0;
    const late = {
      ...deps,
      store: {
        ...deps.store,
        // The other instance blocks the customer right after this read.
        async checkout(id: string) {
          const checkout = await deps.store.checkout(id);
          if (id === session && reads++ === 0) await block(customerId, undefined, other);
          return checkout;
        },
      },
    };
    const started = await startPayment(late, session, { kind: 'card', acceptedTotal: 10_000_000 });
    assert.equal(started.outcome, 'not_taken');
    assert.equal(reads, 2);
    assert.deepEqual(await paymentsOf(service, session), []);
  });

  test('a session whose customer is blocked cannot be created if the block commits between the read and the write of the creation', async () => {
    const { id: customerId } = await buyer('race2@example.com');
    const { deps } = service.service;
    let reads = 0;
    const late = {
      ...deps,
      directory: { find: () => undefined, remember: () => undefined },
      store: {
        ...deps.store,
        async customerByEmail(environment: 'sandbox' | 'production', email: string) {
          const customer = await deps.store.customerByEmail(environment, email);
          if (reads++ === 0) await block(customerId, undefined, other);
          return customer;
        },
      },
    };
    const request = { ...sessionBody({ customer: 'race2@example.com' }), metadata: {}, environment: 'sandbox' };
    await assert.rejects(
      createCheckout(late, request as unknown as Parameters<typeof createCheckout>[1]),
      (error) => error instanceof GatewayError && error.code === 'forbidden',
    );
  });

  test('a session whose customer is blocked is paid if the money of a payment in progress arrives', async () => {
    const { session, id } = await buyer('late@example.com');
    await attempt(service, session, 'card', 'paid_later');
    await block(id);
    await service.pass(25_000);
    assert.deepEqual((await stateOf(service, session)).payments, ['paid']);
    assert.match(await (await fetch(`${service.url}/checkout/${session}`)).text(), /Payment received/);
  });
});
