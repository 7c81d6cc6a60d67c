// @run on=sqlite,postgres
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { FAILING_LIMIT_MS, type WebhookEndpoint, deletedEndpoint } from '../../src/domain/webhook-endpoint.ts';
import type { Store } from '../../src/store/store.ts';
import { LEASE_MS } from '../../src/webhooks/lane.ts';
import { until } from '../support/until.ts';
import { SILENT, START, addSession, stage, testDispatcher } from './fixtures.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

async function onlyEndpoint(store: Store): Promise<WebhookEndpoint> {
  const [endpoint, ...others] = await store.endpoints();
  assert(endpoint && others.length === 0);
  return endpoint;
}

/** A stage that records the warnings of its dispatcher. */
async function stageWithWarnings(context: TestContext) {
  let answer = 200;
  const warned: string[] = [];
  const log = { ...SILENT, warn: (_: object, message: string) => void warned.push(message) };
  const { store, clock, endpoint, dispatcher } = await stage(context, () => answer, { log });
  /** Delivers a new event at time `at`; the receiver responds with `status`. */
  async function attempt(at: number, status: number): Promise<WebhookEndpoint> {
    clock.time = at;
    answer = status;
    await addSession(store, [endpoint], ['paid'], at);
    await dispatcher.runOnce();
    return onlyEndpoint(store);
  }
  return { store, warned, attempt };
}

test('failingSince of an endpoint is the time of the first failure after the last success', async (context) => {
  const { attempt } = await stageWithWarnings(context);
  assert.equal((await attempt(START + 1, 500)).failingSince, START + 1);
  assert.equal((await attempt(START + HOUR, 503)).failingSince, START + 1);
  const recovered = await attempt(START + 2 * HOUR, 200);
  assert.deepEqual(
    [recovered.failingSince, recovered.lastSuccessAt, recovered.status],
    [null, START + 2 * HOUR, 'active'],
  );
  assert.equal((await attempt(START + 3 * HOUR, 500)).failingSince, START + 3 * HOUR);
  const late = await attempt(START + 3 * HOUR + FAILING_LIMIT_MS, 200);
  assert.deepEqual([late.failingSince, late.status], [null, 'active']);
});

test('an endpoint is disabled by a failure at least 120 hours after its first failure', async (context) => {
  const { attempt, warned } = await stageWithWarnings(context);
  await attempt(START, 500);
  const before = await attempt(START + FAILING_LIMIT_MS - 1, 500);
  assert.deepEqual([before.status, before.disabledReason], ['active', null]);
  assert.deepEqual(
    warned.filter((message) => /disabled/.test(message)),
    [],
  );
  const after = await attempt(START + FAILING_LIMIT_MS, 500);
  assert.deepEqual(
    [after.status, after.disabledReason, after.disabledAt, after.failingSince],
    ['disabled', 'it acknowledged nothing for 120 hours, and failed again', START + FAILING_LIMIT_MS, START],
  );
  assert.equal(warned.filter((message) => message === 'webhook endpoint is disabled').length, 1);
});

test('successes of an endpoint are stored at most once a minute, except for a success after a failure', async (context) => {
  const { store, attempt } = await stageWithWarnings(context);
  await attempt(START, 200);
  const commit = context.mock.method(store, 'commit');
  const between = await attempt(START + 59_999, 200);
  assert.equal(between.lastSuccessAt, START);
  const changes = commit.mock.calls.flatMap(({ arguments: [set] }) => set);
  assert(changes.length > 0 && !changes.some(({ type }) => type.startsWith('endpoint_')));
  assert.equal((await attempt(START + 60_000, 200)).lastSuccessAt, START + 60_000);
  await attempt(START + 60_001, 500);
  assert.equal((await attempt(START + 60_002 + HOUR, 200)).failingSince, null);
});

test('pending deliveries of a deleted endpoint become dead, with the reason in their log', async (context) => {
  const { store, clock, endpoint, received, dispatcher } = await stage(context, 500);
  const [tried] = await addSession(store, [endpoint]);
  await dispatcher.runOnce();
  const sessions = await Promise.all(
    Array.from({ length: 130 }, () => addSession(store, [endpoint], ['provider_pending', 'paid'], START + DAY)),
  );
  await store.commit([
    { type: 'endpoint_changed', endpoint: { ...deletedEndpoint(endpoint, START), version: endpoint.version + 1 } },
  ]);
  await dispatcher.runOnce();
  assert.equal(received.length, 1);
  for (const [event] of [...sessions, [tried]]) {
    const deliveries = await store.deliveriesOfSession(event!.sessionId);
    assert(deliveries.every(({ status }) => status === 'dead'));
    const logs = await Promise.all(deliveries.map(({ id }) => store.deliveryAttempts(id)));
    const last = logs.map((log) => [log.at(-1)!.failure, log.at(-1)!.statusCode]);
    assert.deepEqual(
      last,
      deliveries.map(() => ['not attempted: the endpoint was deleted', null]),
    );
  }
  assert.equal((await store.endpoint(endpoint.id))!.status, 'deleting');
  clock.time = START + 2 * LEASE_MS - 1;
  await dispatcher.runOnce();
  assert.equal((await store.endpoint(endpoint.id))!.status, 'deleting');
  clock.time++;
  await dispatcher.runOnce();
  assert.equal((await store.endpoint(endpoint.id))!.status, 'deleted');
  assert.deepEqual(await store.endpoints(), []);
});

test('an attempt in progress during the deletion of its endpoint keeps its outcome', async (context) => {
  let finish: (() => void) | undefined;
  const { store, clock, endpoint, dispatcher } = await stage(context, (_, __, response) => {
    finish = () => void response.writeHead(500).end('late');
  });
  const [event] = await addSession(store, [endpoint]);
  const first = dispatcher.runOnce();
  await until(() => finish !== undefined);
  await store.commit([
    { type: 'endpoint_changed', endpoint: { ...deletedEndpoint(endpoint, START), version: endpoint.version + 1 } },
  ]);
  await testDispatcher(context, store, clock).runOnce();
  const [inProgress] = await store.deliveriesOfSession(event!.sessionId);
  assert.deepEqual([inProgress!.status, inProgress!.attempts], ['pending', 1]);
  finish!();
  await first;
  await dispatcher.runOnce();
  const [delivery] = await store.deliveriesOfSession(event!.sessionId);
  const log = await store.deliveryAttempts(delivery!.id);
  assert.deepEqual(
    [delivery!.status, log.map(({ failure }) => failure)],
    ['dead', ['answered 500', 'not attempted: the endpoint was deleted']],
  );
});
