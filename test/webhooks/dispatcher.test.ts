// @run on=sqlite,postgres
import assert from 'node:assert/strict';
import { createHook } from 'node:async_hooks';
import { createServer } from 'node:net';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Stripe } from 'stripe';
import type { Delivery } from '../../src/domain/delivery.ts';
import { GatewayError } from '../../src/domain/gateway-error.ts';
import { ENVIRONMENTS } from '../../src/domain/route.ts';
import type { Change, CommitListener, Store } from '../../src/store/store.ts';
import type { Dispatcher } from '../../src/workers/dispatcher.ts';
import { LEASE_MS } from '../../src/webhooks/lane.ts';
import { ATTEMPT_DELAYS_MS } from '../../src/webhooks/retry.ts';
import {
  SECRET,
  START,
  addEndpoint,
  addSession,
  listen,
  openStore,
  receiver,
  sessionWithEvents,
  stage,
  testClock,
  testDispatcher,
} from './fixtures.ts';
import { until } from '../support/until.ts';

const SCHEDULE = ATTEMPT_DELAYS_MS.sandbox;

/** URL of a server that accepts connections and never answers. */
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

async function attemptsOf(store: Store, sessionId: string) {
  return store.deliveryAttempts((await onlyDelivery(store, sessionId)).id);
}

/** Stops a dispatcher. If its last writes take longer than the one second that a stop allows, waits for them. */
async function stopSettled(dispatcher: Dispatcher, isSettled: () => Promise<boolean>): Promise<void> {
  const startedAt = performance.now();
  await dispatcher.stop(10);
  if (performance.now() - startedAt > 900) await until(isSettled);
}

test('an event is delivered once, signed, and its attempt is recorded', async (context) => {
  const { store, clock, endpoint, received, dispatcher } = await stage(
    context,
    (_, __, response) => void response.end('thank you'),
  );
  clock.time = Date.now();
  const [event] = await addSession(store, [endpoint]);
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

for (const environment of ENVIRONMENTS) {
  test(`a failing receiver gets the same bytes at each attempt of the ${environment} schedule, then the delivery is dead`, async (context) => {
    const { store, clock, endpoint, received, dispatcher } = await stage(context, 500, { targets: 'any' }, environment);
    const [event] = await addSession(store, [endpoint]);
    const delays = ATTEMPT_DELAYS_MS[environment];
    for (const [index, delay] of delays.entries()) {
      clock.time += delay - 1;
      if (index > 0) assert.equal(await dispatcher.runOnce(), 0);
      clock.time += 1;
      assert.equal(await dispatcher.runOnce(), 1);
    }
    clock.time += 100 * 24 * 3_600_000;
    assert.equal(await dispatcher.runOnce(), 0);

    const delivery = await onlyDelivery(store, event!.sessionId);
    assert.deepEqual([delivery.status, delivery.attempts], ['dead', delays.length]);
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

test('the events of a session arrive in order, each immediately after the previous event was acknowledged', async (context) => {
  let failures = 3;
  const { store, clock, endpoint, received, dispatcher } = await stage(context, () => (failures-- > 0 ? 500 : 200));
  const events = await addSession(store, [endpoint], ['provider_pending', 'failed', 'paid']);
  for (const delay of SCHEDULE.slice(0, 3)) {
    clock.time += delay;
    assert.equal(await dispatcher.runOnce(), 1);
  }
  clock.time += SCHEDULE[3]!;
  assert.equal(await dispatcher.runOnce(), 3);
  const [first, second, third] = events.map(({ id }) => id);
  const arrived = received.map(({ headers }) => headers['x-gateway-event']);
  assert.deepEqual(arrived, [first, first, first, first, second, third]);
});

test('a dead delivery does not delay later events of its session', async (context) => {
  const { store, clock, endpoint, received, dispatcher } = await stage(context, ({ body }) =>
    body.includes('provider_pending') ? 500 : 200,
  );
  const events = await addSession(store, [endpoint], ['provider_pending', 'paid']);
  for (const delay of SCHEDULE) {
    clock.time += delay;
    await dispatcher.runOnce();
  }
  const deliveries = await store.deliveriesOfSession(events[0]!.sessionId);
  assert.deepEqual(
    deliveries.map(({ status }) => status),
    ['dead', 'delivered'],
  );
  assert.equal(received.length, SCHEDULE.length + 1);
});

test('endpoints that do not respond delay no other endpoint, even on the same host', async (context) => {
  const { store, endpoint, received, dispatcher } = await stage(context);
  const url = await hangingUrl(context);
  const hanging = await Promise.all(Array.from({ length: 20 }, (_, index) => addEndpoint(store, `${url}/${index}`)));
  const sessions = await Promise.all(Array.from({ length: 20 }, () => addSession(store, [...hanging, endpoint])));
  dispatcher.start();
  await until(() => received.length === 20);
  // No hanging attempt has ended yet, so the deliveries to the responsive endpoint waited for no hanging attempt.
  const deliveries = await Promise.all(sessions.map(([event]) => store.deliveriesOfSession(event!.sessionId)));
  const others = deliveries.flat().filter(({ endpointId }) => endpointId !== endpoint.id);
  assert.equal(others.length, 20 * 20);
  assert.ok(others.every(({ attempts, scheduleStart }) => attempts <= 1 && scheduleStart === 0));
  for (const { id, attempts } of others) {
    if (attempts > 0) assert.deepEqual(await store.deliveryAttempts(id), []);
  }
  await dispatcher.stop(0);
});

test('deliveries without a response do not delay other sessions of their endpoint', async (context) => {
  const { store, clock, endpoint, received, dispatcher } = await stage(context, ({ body }) =>
    body.includes('failed') ? undefined : 200,
  );
  const hanging: string[] = [];
  for (let count = 0; count < 12; count++) {
    const [event] = await addSession(store, [endpoint], ['failed']);
    hanging.push(event!.sessionId);
  }
  await addSession(store, [endpoint], ['paid'], START + 1);
  clock.time += 1;
  dispatcher.start();
  await until(() => received.some(({ body }) => body.includes('"paid"')));
  for (const id of hanging) assert.deepEqual(await attemptsOf(store, id), []);
  await dispatcher.stop(0);
});

test('the dispatcher delivers after a commit of its own store, and finds deliveries of other instances by polling', async (context) => {
  const { store, clock, endpoint, received, dispatcher } = await stage(context);
  dispatcher.start();
  const [event] = await addSession(store, [endpoint], ['provider_pending', 'paid']);
  await until(() => received.length === 2);
  const [later] = await addSession(store, [endpoint], ['paid'], START + 1000);
  clock.time += 1000;
  await until(() => received.length === 3);
  await dispatcher.stop(1000);
  assert.deepEqual(
    received.map(({ headers }) => headers['x-gateway-event']),
    [event!.id, event!.id.replace('provider_pending', 'paid'), later!.id],
  );
});

test('a delivery claimed by a killed process is attempted again after the lease expires', async (context) => {
  const { store, clock, endpoint, received, dispatcher } = await stage(context);
  const [event] = await addSession(store, [endpoint]);
  const delivery = await onlyDelivery(store, event!.sessionId);
  await store.commit([{ type: 'delivery_claimed', delivery: { ...delivery, attempts: 1, dueAt: START + LEASE_MS } }]);
  clock.time += LEASE_MS - 1;
  assert.equal(await dispatcher.runOnce(), 0);
  clock.time += 1;
  assert.equal(await dispatcher.runOnce(), 1);
  assert.equal(received.length, 1);
  const after = await onlyDelivery(store, event!.sessionId);
  assert.deepEqual([after.status, after.attempts], ['delivered', 2]);
});

test('an attempt that ends after its lease changes nothing if another instance has attempted the delivery', async (context) => {
  const answers: (() => void)[] = [];
  const { store, clock, endpoint, dispatcher } = await stage(context, (_, __, response) => {
    if (answers.length > 0) return 500;
    answers.push(() => void response.writeHead(200).end());
    return undefined;
  });
  const [event] = await addSession(store, [endpoint]);
  const late = dispatcher.runOnce();
  await until(() => answers.length === 1);
  clock.time += LEASE_MS;
  assert.equal(await testDispatcher(context, store, clock).runOnce(), 1);
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
  const { store, clock, endpoint, received, dispatcher } = await stage(context);
  await Promise.all(Array.from({ length: 50 }, () => addSession(store, [endpoint])));
  const other = testDispatcher(context, store, clock);
  while ((await Promise.all([dispatcher.runOnce(), other.runOnce()])).some((count) => count > 0));
  assert.equal(received.length, 50);
});

test('a response with status 410 makes the delivery dead and disables the endpoint; other deliveries stay pending', async (context) => {
  const { store, clock, endpoint, received, dispatcher } = await stage(context, 410);
  const events = await addSession(store, [endpoint], ['provider_pending', 'paid']);
  assert.equal(await dispatcher.runOnce(), 1);
  clock.time += 1000 * 3_600_000;
  assert.equal(await dispatcher.runOnce(), 0);
  assert.equal(received.length, 1);
  const [known] = await store.endpoints();
  assert.deepEqual([known!.status, known!.disabledAt], ['disabled', START]);
  assert.match(known!.disabledReason!, /answered 410/);
  const deliveries = await store.deliveriesOfSession(events[0]!.sessionId);
  assert.deepEqual(
    deliveries.map(({ status, attempts }) => [status, attempts]),
    [
      ['dead', 1],
      ['pending', 0],
    ],
  );
});

test('the dispatcher releases its claims of further deliveries if their endpoint responds with 410', async (context) => {
  const { store, endpoint, received, dispatcher } = await stage(context, 410);
  const sessions = await Promise.all(Array.from({ length: 60 }, () => addSession(store, [endpoint])));
  await dispatcher.runOnce();
  const deliveries = await Promise.all(sessions.map(([event]) => onlyDelivery(store, event!.sessionId)));
  const dead = deliveries.filter(({ status }) => status === 'dead');
  assert.equal(dead.length, received.length);
  assert(dead.length < 60);
  for (const { status, dueAt } of deliveries) assert(status === 'dead' || (status === 'pending' && dueAt === START));
});

test('an endpoint without a secret receives no deliveries', async (context) => {
  const { store, endpoint, connections, dispatcher } = await stage(context, 200, { secretsOf: async () => [] });
  await addSession(store, [endpoint]);
  assert.equal(await dispatcher.runOnce(), 0);
  assert.equal(connections(), 0);
});

test('a stop aborts attempts after the grace period, and makes their deliveries due immediately', async (context) => {
  const store = await openStore(context);
  const endpoint = await addEndpoint(store, await hangingUrl(context));
  const sessions = await Promise.all(Array.from({ length: 20 }, () => addSession(store, [endpoint])));
  const dispatcher = testDispatcher(context, store, testClock());
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
});

test('attempts that a stop aborts do not count in the retry schedule', async (context) => {
  const { store, clock, endpoint, url } = await stage(context, 500);
  await store.commit([{ type: 'endpoint_saved', endpoint: { ...endpoint, url: await hangingUrl(context) } }]);
  const [event] = await addSession(store, [endpoint]);
  for (let stop = 0; stop < SCHEDULE.length + 3; stop++) {
    const dispatcher = testDispatcher(context, store, clock);
    const before = (await onlyDelivery(store, event!.sessionId)).attempts;
    dispatcher.start();
    await until(async () => (await onlyDelivery(store, event!.sessionId)).attempts > before);
    await stopSettled(dispatcher, async () => (await onlyDelivery(store, event!.sessionId)).dueAt === START);
  }
  await store.commit([{ type: 'endpoint_saved', endpoint: { ...endpoint, url } }]);
  const dispatcher = testDispatcher(context, store, clock);
  for (const delay of SCHEDULE) {
    assert.equal((await onlyDelivery(store, event!.sessionId)).status, 'pending');
    clock.time += delay * 2;
    await dispatcher.runOnce();
  }
  assert.equal((await onlyDelivery(store, event!.sessionId)).status, 'dead');
});

test('a stop waits for attempts that end within the grace period', async (context) => {
  const answers: (() => void)[] = [];
  const { store, endpoint, dispatcher } = await stage(
    context,
    (_, __, response) => void answers.push(() => response.writeHead(200).end()),
  );
  const [event] = await addSession(store, [endpoint]);
  dispatcher.start();
  await until(() => answers.length === 1);
  const stopped = dispatcher.stop(20_000);
  answers[0]!();
  await stopped;
  assert.equal((await onlyDelivery(store, event!.sessionId)).status, 'delivered');
});

test('the dispatcher waits for an unavailable store without a busy loop', async (context) => {
  const pauses = (['reads', 'delivery_claimed', 'delivery_finished'] as const).map(async (unavailable) => {
    const { store, endpoint, received } = await stage(context);
    const [event] = await addSession(store, [endpoint]);
    let failures = 0;
    const fail = <Result>(isUnavailable: boolean, call: () => Promise<Result>) => {
      if (!isUnavailable || failures > 0) return call();
      failures++;
      return Promise.reject(new GatewayError('unavailable', 'unavailable'));
    };
    const flaky: Store = {
      ...store,
      endpoints: () => fail(unavailable === 'reads', store.endpoints),
      commit: (changes) => fail(changes[0]?.type === unavailable, () => store.commit(changes)),
    };
    const dispatcher = testDispatcher(context, flaky, testClock());
    const startedAt = performance.now();
    if (unavailable === 'reads') {
      await assert.rejects(dispatcher.runOnce(), { code: 'unavailable' });
    } else {
      // The failure counts as work, so the caller runs the dispatcher again.
      assert.equal(await dispatcher.runOnce(), 1);
      assert.ok(performance.now() - startedAt > 900, unavailable);
    }
    if (unavailable !== 'delivery_finished') assert.equal(await dispatcher.runOnce(), 1);
    assert.equal(failures, 1);
    assert.equal((await onlyDelivery(store, event!.sessionId)).status, 'delivered');
    assert.equal(received.length, 1);
  });
  await Promise.all(pauses);
});

test('a paused dispatcher delivers only in runOnce, without a busy loop, until it resumes', async (context) => {
  const answers: (() => void)[] = [];
  const { store, clock, endpoint, received } = await stage(
    context,
    (_, __, response) => void answers.push(() => response.end('ok')),
  );
  let timers = 0;
  let wake = () => {};
  const watch = createHook({ init: (_id, type) => void (timers += type === 'Timeout' ? 1 : 0) });
  context.after(() => watch.disable());
  const onCommit = (listener: CommitListener) => {
    wake = () => listener([{ type: 'endpoint_changed', endpoint }], Promise.resolve({ done: true }));
  };
  const dispatcher = testDispatcher(context, { ...store, onCommit }, clock);
  await addSession(store, [endpoint]);
  dispatcher.start();
  await until(() => answers.length === 1);
  const [second] = await addSession(store, [endpoint], ['paid'], START + 1);
  const paused = dispatcher.pause();
  clock.time += 1;
  answers[0]!();
  await paused;
  wake();
  watch.enable();
  await sleep(100);
  watch.disable();
  assert.equal(received.length, 1);
  assert.ok(timers < 10, `${timers} timers in a tenth of a second`);

  const ran = dispatcher.runOnce();
  await until(() => answers.length === 2);
  answers[1]!();
  assert.equal(await ran, 1);
  assert.equal((await onlyDelivery(store, second!.sessionId)).status, 'delivered');
  const [third] = await addSession(store, [endpoint]);
  dispatcher.resume();
  await until(() => answers.length === 3);
  answers[2]!();
  await until(async () => (await onlyDelivery(store, third!.sessionId)).status === 'delivered');
  assert.equal(received.length, 3);
});

/** A running dispatcher that knows its endpoint, because it has delivered one event. */
async function runningStage(context: TestContext, deafTo?: Change['type']) {
  const { store, clock, endpoint, received } = await stage(context);
  const onCommit: Store['onCommit'] = (listener) =>
    store.onCommit((changes, committed) => {
      if (changes[0]!.type !== deafTo) listener(changes, committed);
    });
  testDispatcher(context, { ...store, onCommit }, clock).start();
  const [event] = await addSession(store, [endpoint]);
  // After the outcome is stored, the dispatcher looks for due deliveries once more. That look must not find those of the test.
  await until(async () => (await onlyDelivery(store, event!.sessionId)).status === 'delivered');
  return { store, endpoint, received };
}

test('a running dispatcher claims a new delivery in the transaction that stores it', async (context) => {
  const { store, endpoint, received } = await runningStage(context);
  const { changes, events } = sessionWithEvents([endpoint]);
  await store.commit(changes);
  assert.equal((await onlyDelivery(store, events[0]!.sessionId)).attempts, 1);
  await until(() => received.length === 2);
  assert.equal(received[1]!.headers['x-gateway-event'], events[0]!.id);
});

test('a new delivery is not claimed before the earlier deliveries of its session are delivered', async (context) => {
  const { store, endpoint, received } = await runningStage(context);
  const events = await addSession(store, [endpoint], ['provider_pending', 'paid']);
  await until(() => received.length === 3);
  assert.deepEqual(
    received.slice(1).map(({ headers }) => headers['x-gateway-event']),
    events.map(({ id }) => id),
  );
});

test('a new delivery is not sent to a URL that another process has replaced', async (context) => {
  const { store, endpoint, received } = await runningStage(context, 'endpoint_changed');
  const moved = await receiver(context);
  await store.commit([{ type: 'endpoint_changed', endpoint: { ...endpoint, url: moved.url, version: 2 } }]);
  const [event] = await addSession(store, [endpoint]);
  await until(() => moved.received.length === 1);
  assert.equal(moved.received[0]!.headers['x-gateway-event'], event!.id);
  assert.equal(received.length, 1);
});
