import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { after, afterEach, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import * as fc from 'fast-check';
import { Stripe } from 'stripe';
import { GatewayError } from '../../src/domain/gateway-error.ts';
import { ATTEMPT_DELAYS_MS } from '../../src/webhooks/retry.ts';
import { attempt, createSession, stateOf, submit } from '../simulator/buyer.ts';
import { settingsOf } from '../support/database.ts';
import { connect, startFakeProvider } from '../support/fake-provider.ts';
import { type TestService, call, sessionBody, startTestService } from '../support/service.ts';
import { SECRET } from '../webhooks/fixtures.ts';
import {
  type Receiver,
  type ErrorBody,
  advance,
  advanceEnd,
  beginAdvance,
  clockAt,
  requestAdvance,
  startReceiver,
} from './stage.ts';
import { brokenInvariants } from '../support/sound.ts';
import { until } from '../support/until.ts';
import { runs } from '../support/for-all.ts';

const HOUR = 3600;
const DAY = 24 * HOUR;
const MINUTE_MS = 60_000;
/** Limit for an advance that does not reach the webhook timeout of 15 s. */
const NO_TIMEOUT_MS = 12_000;

interface Delivery {
  type: string;
  status: string;
  attempts: number;
  log: { number: number; started: string; durationMs: number }[];
}

describe('an advance of the test clock', () => {
  let merchant: Receiver;
  let on: TestService;
  before(async () => {
    merchant = await startReceiver();
    on = await startTestService({ live: true, variables: merchant.variables });
  });
  afterEach(() => merchant.respond());
  after(async () => {
    await on[Symbol.asyncDispose]();
    await merchant[Symbol.asyncDispose]();
  });

  const sessionOf = async (id: string) =>
    (await call<Record<string, string>>('GET', `${on.url}/api/gateway/sessions/${id}`)).body;

  async function deliveriesOf(sessionId: string): Promise<Delivery[]> {
    const path = `${on.url}/api/gateway/deliveries`;
    const { body } = await call<{ data: { id: string }[] }>('GET', `${path}?sessionId=${sessionId}`);
    return Promise.all(body.data.map(async ({ id }) => (await call<Delivery>('GET', `${path}/${id}`)).body));
  }

  /** Creates a session and makes one card payment with this outcome of the simulator. */
  async function payWith(outcome: string): Promise<string> {
    const id = await createSession(on);
    await attempt(on, id, 'card', outcome);
    return id;
  }

  test('expires a session a day after its creation, and not before', async () => {
    const id = await createSession(on);
    await advance(on.url, DAY - 60);
    assert.equal((await sessionOf(id))['status'], 'routed');
    await advance(on.url, 60);
    assert.equal((await sessionOf(id))['status'], 'expired');
  });

  test('ends at its target time, and later records have later times and ids', async () => {
    const before = await clockAt(on.url);
    const requested = await beginAdvance(on.url, 2 * HOUR);
    assert.equal(requested.status, 'advancing');
    assert.ok(Date.parse(requested.target!) - Date.parse(before.now) >= 2 * HOUR * 1000);
    const clock = await advanceEnd(on.url);
    assert.deepEqual([clock.status, clock.target], ['ready', null]);
    assert.ok(clock.now >= requested.target!);
    assert.equal(clock.advancedSeconds, before.advancedSeconds + 2 * HOUR);
    const first = await createSession(on);
    const { created, expiresAt } = await sessionOf(first);
    assert.ok(created! >= requested.target!);
    assert.equal(Date.parse(expiresAt!) - Date.parse(created!), DAY * 1000);
    await advance(on.url, 1);
    assert.ok((await createSession(on)) > first);
  });

  test('times out an unconfirmed payment once, at the time of its timeout', async () => {
    const id = await payWith('abandoned');
    const { payments } = (await on.service.deps.store.checkout(id))!;
    await advance(on.url, 2 * HOUR);
    const state = await stateOf(on, id);
    assert.deepEqual([state.session, state.failures], ['failed', ['timed_out']]);
    assert.deepEqual(merchant.typesOf(id), ['payment.provider_pending', 'payment.failed']);
    const { body } = merchant.arrivals.find((one) => one.sessionId === id && one.type === 'payment.failed')!;
    const late = Date.parse((JSON.parse(body) as { created: string }).created) - payments[0]!.timeoutAt;
    assert.ok(late >= 0 && late < MINUTE_MS, `${late} ms after its timeout`);
  });

  test('makes every webhook attempt to a failing receiver at its scheduled time, even after database errors', async () => {
    const { store } = on.service.deps;
    const { deliveriesDue } = store;
    let failures = 0;
    store.deliveriesDue = async (...requested) => {
      const due = await deliveriesDue(...requested);
      if (failures === 2 || !due.some(({ delivery }) => delivery.attempts === 3)) return due;
      failures++;
      throw new GatewayError('unavailable', 'injected');
    };
    merchant.respond((response) => response.writeHead(500).end());
    const id = await payWith('paid');
    await until(() => merchant.typesOf(id).length > 0);
    await advance(on.url, 6 * HOUR);
    store.deliveriesDue = deliveriesDue;
    assert.equal(failures, 2);
    const delays = ATTEMPT_DELAYS_MS.sandbox;
    const deliveries = await deliveriesOf(id);
    assert.deepEqual(deliveries.map(({ type }) => type).toSorted(), ['payment.paid', 'payment.provider_pending']);
    for (const { status, attempts, log } of deliveries) {
      assert.deepEqual([status, attempts, log.length], ['dead', delays.length, delays.length]);
      for (const [index, { started, durationMs }] of log.slice(0, -1).entries()) {
        const waited = Date.parse(log[index + 1]!.started) - Date.parse(started) - durationMs;
        const planned = delays[index + 1]!;
        assert.ok(waited >= planned * 0.8 && waited < planned * 1.2 + MINUTE_MS / 2, `${index}: waited ${waited} ms`);
      }
    }
    // The second event waits until the first one is dead.
    assert.deepEqual(merchant.typesOf(id), [
      ...delays.map(() => 'payment.provider_pending'),
      ...delays.map(() => 'payment.paid'),
    ]);
  });

  test('does not change the time in webhook signatures, which is the real time', async () => {
    assert.ok((await clockAt(on.url)).advancedSeconds > DAY);
    const id = await payWith('paid');
    await until(() => merchant.typesOf(id).length === 2);
    for (const { body, headers, at } of merchant.arrivals) {
      const signature = headers['x-gateway-signature']!;
      const event = Stripe.webhooks.constructEvent(body, signature, SECRET, undefined, undefined, at);
      assert.equal(event.id, headers['x-gateway-event']);
      assert.ok(Math.abs(Number(headers['webhook-timestamp']) * 1000 - at) < 10_000);
    }
    const example = await call<{ result: { headers: Record<string, string>; payload: { created: string } } }>(
      'POST',
      `${on.url}/api/agent/actions/webhook.example`,
      {},
    );
    const { headers, payload } = example.body.result;
    assert.ok(Math.abs(Number(headers['webhook-timestamp']) * 1000 - Date.now()) < 10_000);
    assert.ok(Date.parse(payload.created) > Date.now() + DAY * 1000);
  });

  test('pays sessions with a delayed capture, a lost callback and a late success in the order of their times', async () => {
    const late = await createSession(on);
    const lost = await createSession(on);
    const delayed = await payWith('paid_later');
    await attempt(on, lost, 'wallet', 'callback_lost');
    await attempt(on, late, 'card', 'late_success');
    await until(async () => (await stateOf(on, late)).payments[0] === 'failed');
    await advance(on.url, 5 * 60);
    for (const id of [late, lost, delayed]) {
      assert.equal((await stateOf(on, id)).session, 'paid', id);
      assert.equal(merchant.typesOf(id).at(-1), 'payment.paid');
    }
    // Deliveries of different sessions run in parallel, so only the feed shows the order of the payments.
    const feed = `${on.url}/api/gateway/events?after=&type=payment.paid&limit=100`;
    const order = (await call<{ data: { id: string }[] }>('GET', feed)).body.data.map(({ id }) => id);
    const paid = [delayed, lost, late].map((id) => `evt_${id}_paid`);
    assert.deepEqual(order.slice(-3), paid);
  });

  test('does not skip a webhook attempt in progress', async () => {
    let open = 0;
    let mostOpen = 0;
    merchant.respond((response) => {
      mostOpen = Math.max(mostOpen, ++open);
      setTimeout(() => {
        open--;
        response.writeHead(503).end();
      }, 100);
    });
    const id = await payWith('abandoned');
    await until(() => merchant.typesOf(id).length > 0);
    await advance(on.url, 20 * 60);
    merchant.respond();
    await advance(on.url, 2 * HOUR);
    assert.equal(mostOpen, 1);
    const deliveries = await deliveriesOf(id);
    for (const { attempts, log } of deliveries) assert.equal(attempts, log.length);
    const attempts = deliveries.reduce((sum, delivery) => sum + delivery.attempts, 0);
    assert.equal(merchant.typesOf(id).length, attempts);
  });

  test('leads to the rejection of other advances until it ends', async () => {
    let openResponse: ServerResponse | undefined;
    merchant.respond((response) => void (openResponse = response));
    await payWith('abandoned');
    await until(() => openResponse !== undefined);
    const before = (await clockAt(on.url)).advancedSeconds;
    const answers = await Promise.all([1, 2].map(() => requestAdvance(on.url, { seconds: 60 })));
    const second = answers.find(({ status }) => status !== 200)!;
    assert.deepEqual([second.status, second.body.error.code], [409, 'invalid_state']);
    assert.match(second.body.error.suggestion, /until its status is ready/);
    assert.equal((await requestAdvance(on.url, { seconds: 1 })).status, 409);
    assert.equal((await clockAt(on.url)).status, 'advancing');
    merchant.respond();
    openResponse!.end('ok');
    assert.equal((await advanceEnd(on.url)).advancedSeconds, before + 60);
  });

  test('waits for a handoff in progress', async () => {
    const { deps } = on.service;
    const { providers, routes } = deps;
    await using fake = await startFakeProvider();
    const steps: string[] = [];
    const answering = Promise.withResolvers<void>();
    connect(on.service, {
      ...fake,
      async handoff(request) {
        steps.push('asked');
        await answering.promise;
        steps.push('answered');
        return fake.handoff(request);
      },
      async inquire() {
        steps.push('inquired');
        return 'unknown';
      },
    });
    const id = await createSession(on);
    const paying = submit(`${on.url}/checkout/${id}/pay`, { kind: 'card', total_card: '999999' });
    await until(() => steps.length > 0);
    await beginAdvance(on.url, HOUR);
    // Without the wait for the handoff, the advance would pass the first inquiry within this time.
    await sleep(500);
    answering.resolve();
    assert.equal((await paying).status, 303);
    await advanceEnd(on.url);
    assert.deepEqual(steps.slice(0, 3), ['asked', 'answered', 'inquired']);
    assert.deepEqual((await stateOf(on, id)).failures, ['timed_out']);
    Object.assign(deps, { providers, routes });
  });

  test('allows a webhook receiver to call the API before it responds, and delivers each event once', async () => {
    merchant.respond((response) => void createSession(on).then(() => response.end('ok')));
    const id = await payWith('abandoned');
    const startedAt = performance.now();
    await advance(on.url, HOUR);
    assert.ok(performance.now() - startedAt < NO_TIMEOUT_MS);
    assert.deepEqual(merchant.typesOf(id), ['payment.provider_pending', 'payment.failed']);
  });

  test('needs a service with TEST_CLOCK, which rejects production sessions and production previews', async () => {
    for (const [path, status] of [
      ['gateway/sessions', 403],
      ['agent/actions/checkout.create', 400],
      ['agent/actions/checkout.preview', 400],
    ] as const) {
      const body = sessionBody({ environment: 'production' });
      const { status: answered, body: refused } = await call<ErrorBody>('POST', `${on.url}/api/${path}`, body);
      assert.deepEqual([answered, refused.error.code, refused.error.field], [status, 'forbidden', 'environment']);
      assert.match(refused.error.message, /TEST_CLOCK=true/);
    }
  });

  test('has the same outcome as several advances over the same period', async () => {
    const SPAN = 3 * HOUR;
    const results = new Set<string>();
    await fc.assert(
      fc.asyncProperty(fc.array(fc.integer({ min: 1, max: SPAN - 1 }), { maxLength: 4 }), async (cuts) => {
        const ids: string[] = [];
        for (const outcome of ['abandoned', 'late_success', 'callback_lost', 'declined', 'paid_later']) {
          ids.push(await payWith(outcome));
        }
        const marks = [0, ...new Set(cuts.toSorted((a, b) => a - b)), SPAN];
        for (const [index, mark] of marks.slice(1).entries()) await advance(on.url, mark - marks[index]!);
        const states = await Promise.all(ids.map((id) => stateOf(on, id)));
        results.add(JSON.stringify([states, ids.map((id) => merchant.typesOf(id))]));
        assert.equal(results.size, 1);
      }),
      { numRuns: runs(3) },
    );
  });

  test('breaks no invariant and logs no error', async () => {
    assert.deepEqual(await brokenInvariants(settingsOf(on.databaseUrl)), []);
    const errors = on.logged.filter((line) => (JSON.parse(line) as { level: number }).level >= 50);
    assert.deepEqual(
      errors.filter((line) => !line.includes('injected')),
      [],
    );
  });
});

test('a service without TEST_CLOCK rejects requests about the clock with 403 and names the setting', async () => {
  await using on = await startTestService();
  for (const [method, path] of [
    ['GET', ''],
    ['POST', '/advance'],
  ] as const) {
    const { status, body } = await call<ErrorBody>(method, `${on.url}/api/gateway/test-clock${path}`);
    assert.deepEqual([status, body.error.code], [403, 'forbidden']);
    assert.match(body.error.suggestion, /TEST_CLOCK=true/);
  }
});
