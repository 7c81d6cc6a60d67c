// @run on=sqlite,postgres
import assert from 'node:assert/strict';
import { createHook } from 'node:async_hooks';
import { createServer } from 'node:net';
import { type TestContext, test } from 'node:test';
import { Stripe } from 'stripe';
import type { Delivery } from '../../src/domain/delivery.ts';
import { GatewayError } from '../../src/domain/errors.ts';
import type { Environment } from '../../src/domain/route.ts';
import type { Store } from '../../src/store/store.ts';
import type { Dispatcher } from '../../src/webhooks/dispatcher.ts';
import { LEASE_MS } from '../../src/webhooks/lane.ts';
import { ATTEMPT_DELAYS_MS } from '../../src/webhooks/retry.ts';
import {
  SECRET,
  SHORT_LIMITS,
  START,
  addEndpoint,
  addSession,
  listen,
  openStore,
  receiver,
  testClock,
  testDispatcher,
} from './fixtures.ts';
import { until } from '../support/until.ts';

/** A server that accepts and says nothing. */
async function hangingUrl(context: TestContext): Promise<string> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined).resume();
    context.after(() => socket.destroy());
  });
  return `http://127.0.0.1:${await listen(context, server)}/hook`;
}

async function onlyDelivery(store: Store, sessionId: string): Promise<Delivery> {
  const [delivery, ...others] = await store.deliveriesOfSession(sessionId);
  assert(delivery && others.length === 0);
  return delivery;
}

/** Stops, and lets what comes of that be written: a stop waits a second for it, which a slow disk can take. */
async function stopSettled(dispatcher: Dispatcher, isSettled: () => Promise<boolean>): Promise<void> {
  const began = performance.now();
  await dispatcher.stop(10);
  if (performance.now() - began > 900) await until(isSettled);
}

test('an event is delivered once, signed, and its attempt recorded', async (context) => {
  const store = await openStore(context);
  const clock = testClock();
  clock.time = Date.now();
  const { url, received } = await receiver(context, (_, __, response) => void response.end('thank you'));
  const [event] = await addSession(store, [await addEndpoint(store, url)]);
  const dispatcher = testDispatcher(context, store, clock);
  assert.equal(await dispatcher.runOnce(), 1);
  assert.equal(await dispatcher.runOnce(), 0);

  const { headers, body } = received[0]!;
  assert.equal(received.length, 1);
  assert.equal(body, event!.body);
  assert.equal(headers['x-gateway-event'], event!.id);
  new Stripe('sk_test_x').webhooks.constructEvent(body, headers['x-gateway-signature']!, SECRET);
  const delivery = await onlyDelivery(store, event!.sessionId);
  assert.equal(delivery.status, 'delivered');
  const [attempt] = await store.deliveryAttempts(delivery.id);
  assert.deepEqual(attempt, {
    deliveryId: delivery.id,
    number: 1,
    started: clock.time,
    durationMs: 0,
    statusCode: 200,
    failure: null,
    responseBody: 'thank you',
  });
});

for (const environment of ['production', 'sandbox'] as Environment[]) {
  test(`the whole ${environment} schedule is gone through, with the same bytes each time, and ends dead`, async (context) => {
    const store = await openStore(context);
    const clock = testClock();
    const { url, received } = await receiver(context, 500);
    const [event] = await addSession(store, [await addEndpoint(store, url, { environment })]);
    const dispatcher = testDispatcher(context, store, clock, { targets: 'any' });
    const delays = ATTEMPT_DELAYS_MS[environment];
    for (const [index, delay] of delays.entries()) {
      // Not a millisecond early.
      clock.time += delay - 1;
      if (index > 0) assert.equal(await dispatcher.runOnce(), 0);
      clock.time += 1;
      assert.equal(await dispatcher.runOnce(), 1);
    }
    clock.time += 100 * 24 * 3_600_000;
    assert.equal(await dispatcher.runOnce(), 0);

    const delivery = await onlyDelivery(store, event!.sessionId);
    assert.equal(delivery.status, 'dead');
    assert.equal(delivery.attempts, delays.length);
    const attempts = await store.deliveryAttempts(delivery.id);
    assert.deepEqual(
      attempts.map(({ number, statusCode, failure }) => ({ number, statusCode, failure })),
      delays.map((_, index) => ({ number: index + 1, statusCode: 500, failure: 'answered 500' })),
    );
    assert.equal(received.length, delays.length);
    assert(received.every(({ body }) => body === event!.body));
    assert.equal(new Set(received.map(({ headers }) => headers['x-gateway-signature'])).size, delays.length);
  });
}

test('events of a session arrive in order, one after the other, each at once after the one before', async (context) => {
  const store = await openStore(context);
  const clock = testClock();
  let failures = 3;
  const { url, received } = await receiver(context, () => (failures-- > 0 ? 500 : 200));
  const endpoint = await addEndpoint(store, url);
  const events = await addSession(store, [endpoint], ['provider_pending', 'failed', 'paid']);
  const dispatcher = testDispatcher(context, store, clock);
  for (const delay of ATTEMPT_DELAYS_MS.sandbox.slice(0, 3)) {
    clock.time += delay;
    assert.equal(await dispatcher.runOnce(), 1);
  }
  clock.time += ATTEMPT_DELAYS_MS.sandbox[3]!;
  assert.equal(await dispatcher.runOnce(), 3);
  const [first, second, third] = events.map(({ id }) => id);
  assert.deepEqual(
    received.map(({ headers }) => headers['x-gateway-event']),
    [first, first, first, first, second, third],
  );
});

test('a dead event does not hold up the ones behind it', async (context) => {
  const store = await openStore(context);
  const clock = testClock();
  const { url, received } = await receiver(context, ({ body }) => (body.includes('provider_pending') ? 500 : 200));
  const events = await addSession(store, [await addEndpoint(store, url)], ['provider_pending', 'paid']);
  const dispatcher = testDispatcher(context, store, clock);
  for (const delay of ATTEMPT_DELAYS_MS.sandbox) {
    clock.time += delay;
    await dispatcher.runOnce();
  }
  const deliveries = await store.deliveriesOfSession(events[0]!.sessionId);
  assert.deepEqual(
    deliveries.map(({ status }) => status),
    ['dead', 'delivered'],
  );
  assert.equal(received.length, ATTEMPT_DELAYS_MS.sandbox.length + 1);
});

test(
  'many sessions to several endpoints: everything arrives everywhere, in order',
  { timeout: 60_000 },
  async (context) => {
    const store = await openStore(context);
    let answered = 0;
    const receivers = await Promise.all(
      [1, 2, 3].map(() => receiver(context, () => (++answered % 7 === 0 ? 503 : 200))),
    );
    const endpoints = await Promise.all(receivers.map(({ url }) => addEndpoint(store, url)));
    const sessions = await Promise.all(
      Array.from({ length: 60 }, () => addSession(store, endpoints, ['provider_pending', 'failed', 'paid'])),
    );
    const clock = testClock();
    const dispatcher = testDispatcher(context, store, clock);
    for (const delay of ATTEMPT_DELAYS_MS.sandbox) {
      clock.time += delay * 2;
      await dispatcher.runOnce();
    }
    for (const { received } of receivers) {
      for (const events of sessions) {
        const arrived = received.filter(({ body }) => body.includes(events[0]!.sessionId)).map(({ body }) => body);
        const once = arrived.filter((body, index) => body !== arrived[index - 1]);
        assert.deepEqual(
          once,
          events.map(({ body }) => body),
        );
      }
    }
  },
);

test('hanging endpoints delay no other endpoint', { timeout: 60_000 }, async (context) => {
  const store = await openStore(context);
  const hanging = await hangingUrl(context);
  const { url, received } = await receiver(context);
  // On one host as well: their connections are not shared out either.
  const urls = Array.from({ length: 50 }, (_, index) => `${hanging}/${index}`);
  const endpoints = await Promise.all([...urls, url].map((each) => addEndpoint(store, each)));
  await Promise.all(Array.from({ length: 40 }, () => addSession(store, endpoints)));
  const dispatcher = testDispatcher(context, store, testClock());
  dispatcher.start();
  await until(() => received.length === 40);
  // All of the others are still waiting, each as soon as it has begun too.
  for (const endpoint of endpoints.slice(0, -1)) {
    const due = () => store.deliveriesDue(endpoint.id, START + LEASE_MS - 1, 100);
    await until(async () => (await due()).length < 40);
    assert((await due()).every(({ delivery }) => delivery.attempts === 0));
  }
  await dispatcher.stop(0);
});

test('hanging sessions do not delay other sessions of their endpoint', { timeout: 60_000 }, async (context) => {
  const store = await openStore(context);
  const { url, received } = await receiver(context, ({ body }) => (body.includes('failed') ? undefined : 200));
  const endpoint = await addEndpoint(store, url);
  for (let count = 0; count < 12; count++) await addSession(store, [endpoint], ['failed']);
  await addSession(store, [endpoint], ['paid'], START + 1);
  const clock = testClock();
  clock.time += 1;
  const dispatcher = testDispatcher(context, store, clock);
  dispatcher.start();
  await until(() => received.some(({ body }) => body.includes('"paid"')));
  await dispatcher.stop(0);
});

test('the loop delivers what is committed while it sleeps, and what others left', async (context) => {
  const store = await openStore(context);
  const { url, received } = await receiver(context);
  const endpoint = await addEndpoint(store, url);
  const clock = testClock();
  const dispatcher = testDispatcher(context, store, clock);
  dispatcher.start();
  await addSession(store, [endpoint], ['provider_pending', 'paid']);
  await until(() => received.length === 2);
  await addSession(store, [endpoint], ['paid'], START + 1000);
  clock.time += 1000;
  await until(() => received.length === 3);
  await dispatcher.stop(1000);
});

test('a delivery that was claimed and never finished is taken up again after its lease', async (context) => {
  const store = await openStore(context);
  const clock = testClock();
  const { url, received } = await receiver(context);
  const [event] = await addSession(store, [await addEndpoint(store, url)]);
  const delivery = await onlyDelivery(store, event!.sessionId);
  // As a process that was killed leaves it.
  await store.commit([{ type: 'delivery_claimed', delivery: { ...delivery, attempts: 1, dueAt: START + LEASE_MS } }]);
  const dispatcher = testDispatcher(context, store, clock);
  clock.time += LEASE_MS - 1;
  assert.equal(await dispatcher.runOnce(), 0);
  clock.time += 1;
  assert.equal(await dispatcher.runOnce(), 1);
  assert.equal(received.length, 1);
  const after = await onlyDelivery(store, event!.sessionId);
  assert.deepEqual([after.status, after.attempts], ['delivered', 2]);
});

test('an attempt that was overtaken changes nothing', async (context) => {
  const store = await openStore(context);
  const clock = testClock();
  const answers: (() => void)[] = [];
  const slow = await receiver(context, (_, __, response) => {
    answers.push(() => void response.writeHead(200).end());
  });
  const [event] = await addSession(store, [await addEndpoint(store, slow.url)]);
  const late = testDispatcher(context, store, clock).runOnce();
  await until(() => answers.length === 1);
  // The first one was stopped for longer than its lease; somebody else takes over, and fails.
  clock.time += LEASE_MS;
  const other = testDispatcher(context, store, clock, { limits: SHORT_LIMITS });
  assert.equal(await other.runOnce(), 1);
  const taken = await onlyDelivery(store, event!.sessionId);
  assert.deepEqual([taken.status, taken.attempts], ['pending', 2]);
  answers[0]!();
  assert.equal(await late, 1);
  assert.deepEqual(await onlyDelivery(store, event!.sessionId), taken);
  assert.deepEqual(
    (await store.deliveryAttempts(taken.id)).map(({ number }) => number),
    [2],
  );
});

test('two dispatchers on one store attempt each delivery once', async (context) => {
  const store = await openStore(context);
  const { url, received } = await receiver(context);
  const endpoint = await addEndpoint(store, url);
  await Promise.all(Array.from({ length: 50 }, () => addSession(store, [endpoint])));
  const clock = testClock();
  const [one, two] = [testDispatcher(context, store, clock), testDispatcher(context, store, clock)];
  while ((await Promise.all([one.runOnce(), two.runOnce()])).some((count) => count > 0));
  assert.equal(received.length, 50);
});

test('410 ends the delivery, disables the endpoint, and leaves what else waits for it', async (context) => {
  const store = await openStore(context);
  const clock = testClock();
  const { url, received } = await receiver(context, 410);
  const endpoint = await addEndpoint(store, url);
  const events = await addSession(store, [endpoint], ['provider_pending', 'paid']);
  const dispatcher = testDispatcher(context, store, clock);
  assert.equal(await dispatcher.runOnce(), 1);
  clock.time += 1000 * 3_600_000;
  assert.equal(await dispatcher.runOnce(), 0);
  assert.equal(received.length, 1);
  const [known] = await store.endpoints();
  assert.deepEqual(
    [known!.status, known!.disabledAt, known!.disabledReason],
    ['disabled', START, 'it answered 410, which says that it takes no events any more'],
  );
  const deliveries = await store.deliveriesOfSession(events[0]!.sessionId);
  assert.deepEqual(
    deliveries.map(({ status, attempts }) => [status, attempts]),
    [
      ['dead', 1],
      ['pending', 0],
    ],
  );
});

test('what was claimed ahead for an endpoint that turns out to be gone is given back', async (context) => {
  const store = await openStore(context);
  const { url, received } = await receiver(context, 410);
  const endpoint = await addEndpoint(store, url);
  const sessions = await Promise.all(Array.from({ length: 60 }, () => addSession(store, [endpoint])));
  await testDispatcher(context, store, testClock()).runOnce();
  const deliveries = await Promise.all(sessions.map(([event]) => onlyDelivery(store, event!.sessionId)));
  const dead = deliveries.filter(({ status }) => status === 'dead');
  assert.equal(dead.length, received.length);
  assert(dead.length < 60);
  for (const { status, dueAt } of deliveries) assert(status === 'dead' || (status === 'pending' && dueAt === START));
});

test('a disabled endpoint gets nothing until it is active again', async (context) => {
  const store = await openStore(context);
  const { url, received } = await receiver(context);
  const endpoint = await addEndpoint(store, url, { status: 'disabled' });
  await addSession(store, [endpoint]);
  const dispatcher = testDispatcher(context, store, testClock());
  assert.equal(await dispatcher.runOnce(), 0);
  await store.commit([{ type: 'endpoint_saved', endpoint: { ...endpoint, status: 'active' } }]);
  assert.equal(await dispatcher.runOnce(), 1);
  assert.equal(received.length, 1);
});

test('an endpoint without a secret gets nothing', async (context) => {
  const store = await openStore(context);
  const { url, received } = await receiver(context);
  await addSession(store, [await addEndpoint(store, url)]);
  const dispatcher = testDispatcher(context, store, testClock(), { secretsOf: async () => [] });
  assert.equal(await dispatcher.runOnce(), 0);
  assert.equal(received.length, 0);
});

test('Retry-After puts the next attempt off, up to twice the delay', async (context) => {
  const store = await openStore(context);
  const clock = testClock();
  const { url } = await receiver(context, (_, __, response) => {
    response.writeHead(429, { 'retry-after': '8' }).end();
  });
  const [event] = await addSession(store, [await addEndpoint(store, url)]);
  const dispatcher = testDispatcher(context, store, clock);
  await dispatcher.runOnce();
  assert.equal((await onlyDelivery(store, event!.sessionId)).dueAt, START + 8000);
});

test('a blocked destination is a failed attempt like any other', async (context) => {
  const store = await openStore(context);
  const { url, connections } = await receiver(context);
  const [event] = await addSession(store, [await addEndpoint(store, url)]);
  const dispatcher = testDispatcher(context, store, testClock(), { targets: 'public' });
  assert.equal(await dispatcher.runOnce(), 1);
  const delivery = await onlyDelivery(store, event!.sessionId);
  const [attempt] = await store.deliveryAttempts(delivery.id);
  assert.equal(attempt?.failure, 'blocked destination: 127.0.0.1 is loopback');
  assert.equal(delivery.status, 'pending');
  assert.equal(connections(), 0);
});

test('of what may go to loopback, production may not: the same address gets test events alone', async (context) => {
  const store = await openStore(context);
  const { url, received, connections } = await receiver(context);
  const dispatcher = testDispatcher(context, store, testClock(), { targets: 'loopback' });
  for (const environment of ['production', 'sandbox', 'production'] as const) {
    const [event] = await addSession(store, [await addEndpoint(store, url, { environment })]);
    await dispatcher.runOnce();
    const { id, status } = await onlyDelivery(store, event!.sessionId);
    const [attempt] = await store.deliveryAttempts(id);
    const blocked = environment === 'production';
    assert.equal(attempt?.failure, blocked ? 'blocked destination: 127.0.0.1 is loopback' : null);
    assert.equal(status, blocked ? 'pending' : 'delivered');
  }
  assert.deepEqual([received.length, connections()], [1, 1]);
});

test(
  'stopping cuts attempts off after the grace, and leaves them due at once',
  { timeout: 60_000 },
  async (context) => {
    const store = await openStore(context);
    const url = await hangingUrl(context);
    const endpoint = await addEndpoint(store, url);
    const sessions = await Promise.all(Array.from({ length: 20 }, () => addSession(store, [endpoint])));
    const clock = testClock();
    const dispatcher = testDispatcher(context, store, clock);
    dispatcher.start();
    await until(async () => (await store.deliveriesDue(endpoint.id, START, 100)).length < 20);
    await stopSettled(dispatcher, async () => (await store.deliveriesDue(endpoint.id, START, 100)).length === 20);
    for (const [event] of sessions) {
      const delivery = await onlyDelivery(store, event!.sessionId);
      assert.deepEqual([delivery.status, delivery.dueAt], ['pending', START]);
      const attempts = await store.deliveryAttempts(delivery.id);
      assert.equal(attempts.length, delivery.attempts);
      assert(attempts.every(({ failure }) => failure?.endsWith(': the service stopped')));
    }
  },
);

test(
  'stops use up nothing of the schedule: only what the receiver failed counts',
  { timeout: 60_000 },
  async (context) => {
    const store = await openStore(context);
    const hanging = await addEndpoint(store, await hangingUrl(context));
    const [event] = await addSession(store, [hanging]);
    const clock = testClock();
    const stops = ATTEMPT_DELAYS_MS.sandbox.length + 3;
    for (let stop = 0; stop < stops; stop++) {
      const dispatcher = testDispatcher(context, store, clock);
      const before = (await onlyDelivery(store, event!.sessionId)).attempts;
      dispatcher.start();
      await until(async () => (await onlyDelivery(store, event!.sessionId)).attempts > before);
      await stopSettled(dispatcher, async () => (await onlyDelivery(store, event!.sessionId)).dueAt === START);
    }
    const { url } = await receiver(context, 500);
    await store.commit([{ type: 'endpoint_saved', endpoint: { ...hanging, url } }]);
    const dispatcher = testDispatcher(context, store, clock);
    for (const delay of ATTEMPT_DELAYS_MS.sandbox) {
      assert.equal((await onlyDelivery(store, event!.sessionId)).status, 'pending');
      clock.time += delay * 2;
      await dispatcher.runOnce();
    }
    assert.equal((await onlyDelivery(store, event!.sessionId)).status, 'dead');
  },
);

test('stopping lets attempts end within the grace', async (context) => {
  const store = await openStore(context);
  const answers: (() => void)[] = [];
  const { url } = await receiver(context, (_, __, response) => void answers.push(() => response.writeHead(200).end()));
  const [event] = await addSession(store, [await addEndpoint(store, url)]);
  const dispatcher = testDispatcher(context, store, testClock());
  dispatcher.start();
  await until(() => answers.length === 1);
  const stopped = dispatcher.stop(20_000);
  answers[0]!();
  await stopped;
  assert.equal((await onlyDelivery(store, event!.sessionId)).status, 'delivered');
});

test('a store that is away for a while is waited for, without a crash and without spinning', async (context) => {
  const store = await openStore(context);
  const { url, received } = await receiver(context);
  const [event] = await addSession(store, [await addEndpoint(store, url)]);
  let calls = 0;
  let away: 'reads' | 'claims' | 'outcomes' | undefined;
  const fail = () => {
    calls++;
    return Promise.reject(new GatewayError('unavailable', 'away'));
  };
  const flaky: Store = {
    ...store,
    endpoints: () => (away === 'reads' ? fail() : store.endpoints()),
    commit: (changes) => {
      const type = changes[0]?.type === 'delivery_claimed' ? 'claims' : 'outcomes';
      return away === type ? fail() : store.commit(changes);
    },
  };
  const errors: string[] = [];
  const log = { info() {}, warn() {}, error: (_: object, message: string) => void errors.push(message) };
  const dispatcher = testDispatcher(context, flaky, testClock(), { log });
  for (const part of ['reads', 'claims'] as const) {
    away = part;
    // There is more to do, and it has waited a while.
    assert.equal(await dispatcher.runOnce(), 1);
  }
  assert.equal(calls, 2);
  away = 'outcomes';
  const ran = dispatcher.runOnce();
  await until(() => errors.includes('webhook outcome could not be written'));
  away = undefined;
  assert.equal(await ran, 1);
  assert.equal((await onlyDelivery(store, event!.sessionId)).status, 'delivered');
  assert.equal(received.length, 1);
});

test('one that rests begins nothing but what it is told to, and does not spin', async (context) => {
  const store = await openStore(context);
  const answers: (() => void)[] = [];
  const { url, received } = await receiver(context, (_, __, response) => void answers.push(() => response.end('ok')));
  const endpoint = await addEndpoint(store, url);
  let timers = 0;
  let wake = () => {};
  const watched: Store = {
    ...store,
    onCommit: (listener) => void (wake = listener),
  };
  const watch = createHook({ init: (_id, type) => void (timers += type === 'Timeout' ? 1 : 0) });
  context.after(() => watch.disable());
  const clock = testClock();
  const dispatcher = testDispatcher(context, watched, clock);
  await addSession(store, [endpoint]);
  dispatcher.start();
  await until(() => answers.length === 1);
  // Not due while it may still begin something by itself.
  await addSession(store, [endpoint], ['paid'], START + 1);
  const rests = dispatcher.pause();
  clock.time += 1;
  answers[0]!();
  await rests;
  wake();
  watch.enable();
  await new Promise((resolve) => setTimeout(resolve, 100));
  watch.disable();
  assert.equal(received.length, 1);
  assert.ok(timers < 10, `${timers} timers in a tenth of a second`);

  const ran = dispatcher.runOnce();
  await until(() => answers.length === 2);
  answers[1]!();
  assert.equal(await ran, 1);
  const [event] = await addSession(store, [endpoint]);
  dispatcher.resume();
  await until(() => answers.length === 3);
  answers[2]!();
  await until(async () => (await onlyDelivery(store, event!.sessionId)).status === 'delivered');
});
