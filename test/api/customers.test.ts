// @run on=sqlite,postgres
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { GatewayError } from '../../src/domain/gateway-error.ts';
import { createCheckout } from '../../src/operations/create-checkout.ts';
import { startPayment } from '../../src/operations/start-payment.ts';
import { attempt, createSession, stateOf } from '../simulator/buyer.ts';
import { type TestService, call, sessionBody, startTestService } from '../support/service.ts';
import { assertSound } from '../support/sound.ts';
import { type Refusal } from '../support/refusal.ts';

interface Customer {
  id: string;
  status: string;
  statusReason: string | null;
  email: string;
}

let service: TestService;
/** Another instance with the same database: what it remembers of customers is its own. */
let other: TestService;

before(async () => {
  service = await startTestService();
  other = await startTestService({ beside: service });
});
after(async () => {
  try {
    await assertSound(service.databaseUrl);
  } finally {
    await other[Symbol.asyncDispose]();
    await service[Symbol.asyncDispose]();
  }
});

const customers = (on = service) => `${on.url}/api/gateway/customers`;
const sessions = (on = service) => `${on.url}/api/gateway/sessions`;

async function customerOf(sessionId: string): Promise<string> {
  return (await service.service.deps.store.session(sessionId))!.customerId;
}

const block = (id: string, body?: unknown, on = service) =>
  call<Customer & Refusal>('POST', `${customers(on)}/${id}/block`, body);
const unblock = (id: string, on = service) => call<Customer & Refusal>('POST', `${customers(on)}/${id}/unblock`);

describe('blocking a customer', () => {
  test('is kept with its reason, shown, listed, and undone', async () => {
    const id = await customerOf(await createSession(service, { customer: 'shown@example.com' }));
    const answer = await block(id, { reason: 'chargebacks' });
    assert.equal(answer.status, 200);
    assert.deepEqual([answer.body.status, answer.body.statusReason], ['blocked', 'chargebacks']);
    const listed = await call<{ data: Customer[] }>('GET', `${customers()}?status=blocked`);
    assert.deepEqual(
      listed.body.data.map((each) => each.id),
      [id],
    );
    assert.deepEqual((await call<Customer>('GET', `${customers()}/${id}`)).body, answer.body);
    const undone = await unblock(id);
    assert.deepEqual([undone.body.status, undone.body.statusReason], ['active', null]);
  });

  test('twice changes nothing, unless another reason is given; so does undoing it twice', async () => {
    const id = await customerOf(await createSession(service, { customer: 'twice@example.com' }));
    await block(id, { reason: 'first' });
    assert.equal((await block(id)).body.statusReason, 'first');
    assert.equal((await block(id, { reason: 'second' })).body.statusReason, 'second');
    for (let time = 0; time < 2; time++) assert.equal((await unblock(id)).body.status, 'active');
  });

  test('refuses a reason of 501 characters and takes one of 500', async () => {
    const id = await customerOf(await createSession(service, { customer: 'long@example.com' }));
    const refused = await block(id, { reason: 'r'.repeat(501) });
    assert.deepEqual([refused.status, refused.body.error.field], [400, 'reason']);
    assert.equal((await service.service.deps.store.customer(id))!.status, 'active');
    assert.equal((await block(id, { reason: 'r'.repeat(500) })).status, 200);
  });

  test('of one that does not exist is 404', async () => {
    for (const verb of ['block', 'unblock']) {
      const answer = await call<Refusal>('POST', `${customers()}/cus_x/${verb}`);
      assert.deepEqual([answer.status, answer.body.error.code], [404, 'not_found']);
    }
  });

  test('is honoured at once by an instance that remembers the customer as active', async () => {
    const body = sessionBody({ customer: 'Known@example.com' });
    const first = await call<{ customerId: string }>('POST', sessions(other), body);
    // It is remembered now, and the directory is used.
    assert.equal((await call('POST', sessions(other), body)).status, 200);
    const id = first.body.customerId;
    await block(id);
    for (const on of [service, other]) {
      const refused = await call<Refusal>('POST', sessions(on), body);
      assert.deepEqual([refused.status, refused.body.error.code], [403, 'forbidden']);
      const preview = await call<Refusal>('POST', `${on.url}/api/agent/actions/checkout.preview`, body);
      assert.equal(preview.body.error.code, 'forbidden');
    }
    await unblock(id, other);
    for (const on of [service, other]) assert.equal((await call('POST', sessions(on), body)).status, 200);
  });

  test('leaves the replay of an earlier session as it was', async () => {
    const body = sessionBody({ customer: 'replayed@example.com', idempotencyKey: 'replay-blocked' });
    const first = await call<{ id: string; customerId: string }>('POST', sessions(), body);
    await block(first.body.customerId);
    const again = await call<{ id: string }>('POST', sessions(), body);
    assert.deepEqual([again.status, again.body.id], [200, first.body.id]);
  });
});

describe('a session made before its customer was blocked', () => {
  test('is refused by its page, which says so plainly and not why', async () => {
    const id = await createSession(service, { customer: 'page@example.com' });
    await block(await customerOf(id), { reason: 'a fraudster' });
    const pay = await fetch(`${other.url}/checkout/${id}/pay`, {
      method: 'POST',
      redirect: 'manual',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: 'kind=card&total_card=99999999',
    });
    await pay.arrayBuffer();
    assert.deepEqual([pay.status, pay.headers.get('location')], [303, `/checkout/${id}`]);
    const page = await (await fetch(`${other.url}/checkout/${id}`)).text();
    assert.match(page, /This payment cannot be taken/);
    assert.match(page, /You have not been charged/);
    assert.doesNotMatch(page, /block|fraud|\/pay"/i);
    assert.deepEqual((await stateOf(service, id)).payments, []);
    await unblock(await customerOf(id));
    assert.match(await (await fetch(`${other.url}/checkout/${id}`)).text(), /Choose how to pay/);
    await attempt(service, id, 'card', 'paid');
    await service.pass(0);
    assert.equal((await stateOf(service, id)).session, 'paid');
  });

  test('is rejected in the transaction too: a reader from before the block cannot pay after it', async () => {
    const id = await createSession(service, { customer: 'race@example.com' });
    const customerId = await customerOf(id);
    const { deps } = service.service;
    let looks = 0;
    const late = {
      ...deps,
      store: {
        ...deps.store,
        // It reads the customer as active, and is then overtaken by the block.
        async customer(asked: string) {
          const customer = await deps.store.customer(asked);
          if (asked === customerId && looks++ === 0) await block(customerId, undefined, other);
          return customer;
        },
      },
    };
    const started = await startPayment(late, id, { kind: 'card', acceptedTotal: 10_000_000 });
    assert.equal(started.outcome, 'not_taken');
    assert.equal(looks, 2);
    assert.deepEqual((await stateOf(service, id)).payments, []);
  });

  test('creating is refused in the transaction too', async () => {
    const id = await createSession(service, { customer: 'race2@example.com' });
    const customerId = await customerOf(id);
    const { deps } = service.service;
    let looks = 0;
    const late = {
      ...deps,
      directory: { find: () => undefined, remember: () => undefined },
      store: {
        ...deps.store,
        async customerByEmail(environment: 'sandbox' | 'production', email: string) {
          const customer = await deps.store.customerByEmail(environment, email);
          if (looks++ === 0) await block(customerId, undefined, other);
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

  test('still counts money that comes of what was in progress: it is real', async () => {
    const id = await createSession(service, { customer: 'late@example.com' });
    await attempt(service, id, 'card', 'paid_later');
    await block(await customerOf(id));
    await service.pass(25_000);
    assert.deepEqual((await stateOf(service, id)).payments, ['paid']);
    assert.match(await (await fetch(`${service.url}/checkout/${id}`)).text(), /Payment received/);
  });
});
