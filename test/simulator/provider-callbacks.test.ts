import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createSandboxProvider } from '../../src/providers/sandbox.ts';
import { signCallback } from '../../src/webhooks/sign.ts';
import { idOf } from '../fixtures/checkout-records.ts';
import { type TestService, call, startTestService } from '../support/service.ts';
import { SECRET, attempt, createSession, replaceProvider, start, stateOf, trustSecret } from './buyer.ts';

/** A session with a payment in progress, and a function that posts callbacks for it. */
async function startWithKnownSecret() {
  const on = await startTestService();
  const sessionId = await createSession(on);
  await start(on, sessionId, 'card');
  // Now the service accepts callbacks that the test signs.
  trustSecret(on);
  const payment = (await on.service.deps.store.checkout(sessionId))!.payments[0]!;

  function send({ fields = {}, body }: { fields?: Record<string, unknown>; body?: string } = {}) {
    const event = {
      event: 'ev_of_this_test',
      type: 'charge.updated',
      order: sessionId,
      charge: payment.id,
      state: 'CAPTURED',
      amount: 4999,
      currency: 'USD',
      transaction: 'sim_1',
      ...fields,
    };
    const sent = body ?? JSON.stringify(event);
    const signature = signCallback(SECRET, Math.floor(on.clock.now() / 1000), sent);
    return call('POST', `${on.url}/api/providers/sandbox/callbacks`, sent, { 'x-provider-signature': signature });
  }
  return { on, sessionId, send, [Symbol.asyncDispose]: () => on[Symbol.asyncDispose]() };
}

test('a malformed callback with a valid signature gets a 4xx and changes nothing', async () => {
  await using given = await startWithKnownSecret();
  const before = await stateOf(given.on, given.sessionId);
  const bodies = ['', 'null', '[]', '"x"', '{', '{}', '[[[[[', '\u0000', '{"event":"ev_1"}'];
  for (const body of bodies) {
    const answer = await given.send({ body });
    assert(answer.status >= 400 && answer.status < 500, `${body} ${answer.status}`);
  }
  const fields: Record<string, unknown>[] = [
    { amount: 49.99 },
    { amount: '4999' },
    { amount: -1 },
    { amount: 1e300 },
    { amount: null },
    { order: 7 },
    { event: '' },
    { event: 'x'.repeat(201) },
    { state: undefined },
    { currency: undefined },
    { charge: {} },
    { transaction: 5 },
  ];
  for (const each of fields) {
    assert.equal((await given.send({ fields: each })).status, 400, JSON.stringify(each));
  }
  assert.deepEqual(await stateOf(given.on, given.sessionId), before);
});

test('a callback for an unknown session is acknowledged and changes nothing', async () => {
  await using given = await startWithKnownSecret();
  for (const order of [idOf('chk', 99), 'chk_x', '../x', given.sessionId.toUpperCase()]) {
    const { status, body } = await given.send({ fields: { order } });
    assert.deepEqual([status, body], [200, { ok: true, outcome: 'unknown' }], order);
  }
});

test('a callback marks the session paid only with the state CAPTURED; unknown states leave it pending', async () => {
  await using given = await startWithKnownSecret();
  const states = ['captured', 'SUCCEEDED', 'AUTHORIZED', 'REFUNDED', 'toString', '__proto__', 'PROCESSING'];
  for (const [index, state] of states.entries()) {
    assert.equal((await given.send({ fields: { state, event: `ev_${index}` } })).status, 200);
    assert.equal((await stateOf(given.on, given.sessionId)).session, 'pending', state);
  }
  await given.send({ fields: { type: 'dispute.opened', event: 'ev_dispute' } });
  assert.equal((await stateOf(given.on, given.sessionId)).session, 'pending');
  await given.send({ fields: { event: 'ev_last' } });
  assert.equal((await stateOf(given.on, given.sessionId)).session, 'paid');
});

test('a hundred concurrent copies of one callback are applied once', async () => {
  await using given = await startWithKnownSecret();
  const answers = await Promise.all(Array.from({ length: 100 }, () => given.send()));
  assert(answers.every(({ status }) => status === 200));
  const state = await stateOf(given.on, given.sessionId);
  assert.deepEqual(state.messages, ['applied']);
  assert.deepEqual(state.events, ['payment.provider_pending', 'payment.paid']);
});

describe('a callback of the simulated provider', () => {
  test('the simulator retries a callback with growing delays, and drops it after the eighth attempt', async () => {
    await using on = await startTestService();
    const sessionId = await createSession(on);
    await attempt(on, sessionId, 'card', 'paid');
    // Now the gateway rejects the signatures of the provider.
    const restore = useOtherSecret(on);
    await on.pass(0);
    const [waiting] = await on.simulator.callbacksDue(Number.MAX_SAFE_INTEGER, 10);
    assert.equal(waiting?.attempts, 1);
    assert.equal(waiting.dueAt, on.clock.now() + 1000);
    for (let attempts = 2; attempts <= 8; attempts++) {
      const [next] = await on.simulator.callbacksDue(Number.MAX_SAFE_INTEGER, 10);
      assert(next);
      on.clock.advance(next.dueAt - on.clock.now());
      await on.service.runDue();
    }
    assert.deepEqual(await on.simulator.callbacksDue(Number.MAX_SAFE_INTEGER, 10), []);
    restore();
  });

  test('the simulator does not report a capture after the payment was cancelled', async () => {
    await using on = await startTestService();
    const sessionId = await createSession(on);
    await attempt(on, sessionId, 'card', 'paid_later');
    await on.pass(0);
    const sandbox = on.service.deps.providers.get('sandbox')!;
    const payment = (await on.service.deps.store.checkout(sessionId))!.payments[0]!;
    assert.equal(await sandbox.cancel(payment), 'cancelled');
    assert.equal(await sandbox.cancel(payment), 'cancelled');
    await on.pass(20_000);
    const state = await stateOf(on, sessionId);
    assert.deepEqual(state.simulated, ['cancelled']);
    assert.deepEqual(state.messages, ['applied']);
    const answer = await sandbox.inquire(payment);
    assert(typeof answer !== 'string');
    assert.equal(answer.report.state, 'failed');
  });

  test('the simulator reports a capture again if the gateway tries to cancel the captured payment', async () => {
    await using on = await startTestService();
    const sessionId = await createSession(on);
    await attempt(on, sessionId, 'card', 'callback_lost');
    const payment = (await on.service.deps.store.checkout(sessionId))!.payments[0]!;
    await on.service.deps.providers.get('sandbox')!.cancel(payment);
    await on.pass(0);
    assert.equal((await stateOf(on, sessionId)).session, 'paid');
  });
});

test('the API of the simulated provider requires its key', async () => {
  await using on = await startTestService();
  const path = `${on.url}/simulator/api/payments`;
  for (const authorization of ['', 'Bearer', 'Bearer x', 'Basic x']) {
    for (const target of ['', '/pay_x/cancel', '/pay_x/refunds'])
      assert.equal((await call('POST', path + target, {}, { authorization })).status, 401);
    for (const target of ['/pay_x', '/pay_x/refunds/ref_x'])
      assert.equal((await call('GET', path + target, undefined, { authorization })).status, 401);
  }
});

/** Makes the gateway reject the provider's callbacks until the returned function is called. */
function useOtherSecret(on: TestService): () => void {
  const { readCallback } = on.service.deps.providers.get('sandbox')!;
  const options = { url: on.url, apiKey: 'x', callbackSecret: 'another', now: on.clock.now };
  replaceProvider(on, { readCallback: createSandboxProvider(options).readCallback });
  return () => replaceProvider(on, { readCallback });
}
