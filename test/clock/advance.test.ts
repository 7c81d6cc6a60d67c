import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { connect as connectTo } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import * as fc from 'fast-check';
import { Stripe } from 'stripe';
import { GatewayError } from '../../src/domain/errors.ts';
import { ATTEMPT_DELAYS_MS } from '../../src/webhooks/retry.ts';
import { attempt, createSession, stateOf, submit } from '../simulator/buyer.ts';
import { settingsOf } from '../support/database.ts';
import { connect, startFakeProvider } from '../support/fake-provider.ts';
import { type TestService, call, sessionBody, startTestService } from '../support/service.ts';
import { SECRET } from '../webhooks/fixtures.ts';
import { type Receiver, advance, arrived, ask, clockAt, startReceiver } from './stage.ts';
import { brokenInvariants } from '../support/sound.ts';
import { until } from '../support/until.ts';

const HOUR = 3600;
const DAY = 24 * HOUR;
const MINUTE_MS = 60_000;

interface Delivery {
  id: string;
  type: string;
  status: string;
  attempts: number;
  log: { number: number; started: string; durationMs: number }[];
}

describe('time is moved forward', () => {
  let merchant: Receiver;
  let on: TestService;
  let answer: (response: ServerResponse) => void = (response) => response.end('ok');
  before(async () => {
    merchant = await startReceiver((response) => answer(response));
    on = await startTestService({ live: true, variables: merchant.variables });
  });
  after(async () => {
    await on[Symbol.asyncDispose]();
    await merchant[Symbol.asyncDispose]();
  });

  const sessionOf = async (id: string) =>
    (await call<Record<string, string>>('GET', `${on.url}/api/gateway/sessions/${id}`)).body;

  async function deliveriesOf(sessionId: string): Promise<Delivery[]> {
    const listed = await call<{ data: { id: string }[] }>(
      'GET',
      `${on.url}/api/gateway/deliveries?sessionId=${sessionId}`,
    );
    return Promise.all(
      listed.body.data.map(
        async ({ id }) => (await call<Delivery>('GET', `${on.url}/api/gateway/deliveries/${id}`)).body,
      ),
    );
  }

  test('a session expires a day after it was made, and not before', async () => {
    const id = await createSession(on);
    await advance(on.url, DAY - 60);
    assert.equal((await sessionOf(id))['status'], 'routed');
    await advance(on.url, 60);
    assert.equal((await sessionOf(id))['status'], 'expired');
  });

  test('the clock says how far time was moved, and records are made by it', async () => {
    const before = await clockAt(on.url);
    const asked = await ask(on.url, 2 * HOUR);
    assert.equal(asked.status, 'advancing');
    assert.ok(Date.parse(asked.target!) - Date.parse(before.now) >= 2 * HOUR * 1000);
    const clock = await arrived(on.url);
    assert.deepEqual([clock.status, clock.target], ['ready', null]);
    assert.ok(clock.now >= asked.target!);
    assert.equal(clock.advancedSeconds, before.advancedSeconds + 2 * HOUR);
    const first = await createSession(on);
    const { created, expiresAt } = await sessionOf(first);
    assert.ok(created! >= asked.target!);
    assert.equal(Date.parse(expiresAt!) - Date.parse(created!), DAY * 1000);
    await advance(on.url, 1);
    // Ids sort by creation, and each is newer than all before.
    assert.ok((await createSession(on)) > first);
  });

  test('a payment that nobody confirms times out, once, at its own time', async () => {
    const id = await createSession(on);
    await attempt(on, id, 'card', 'abandoned');
    const { payments } = (await on.service.deps.store.checkout(id))!;
    await advance(on.url, 2 * HOUR);
    const state = await stateOf(on, id);
    assert.deepEqual([state.session, state.failures], ['failed', ['timed_out']]);
    assert.deepEqual(merchant.typesOf(id), ['payment.provider_pending', 'payment.failed']);
    const failed = JSON.parse(
      merchant.arrivals.find((one) => one.sessionId === id && one.type === 'payment.failed')!.body,
    );
    const late = Date.parse(failed.created) - payments[0]!.timeoutAt;
    assert.ok(late >= 0 && late < MINUTE_MS, `${late} ms after its timeout`);
  });

  test('a receiver that is dead gets the whole schedule, each attempt at its time, and the delivery is dead', async () => {
    answer = (response) => response.writeHead(500).end();
    const id = await createSession(on);
    await attempt(on, id, 'card', 'paid');
    await until(() => merchant.typesOf(id).length > 0);
    await advance(on.url, 6 * HOUR);
    answer = (response) => response.end('ok');
    const delays = ATTEMPT_DELAYS_MS.sandbox;
    const deliveries = await deliveriesOf(id);
    assert.deepEqual(deliveries.map(({ type }) => type).toSorted(), ['payment.paid', 'payment.provider_pending']);
    for (const { status, attempts, log } of deliveries) {
      assert.deepEqual([status, attempts, log.length], ['dead', delays.length, delays.length]);
      for (const [index, { started, durationMs }] of log.slice(0, -1).entries()) {
        const waited = Date.parse(log[index + 1]!.started) - Date.parse(started) - durationMs;
        const wanted = delays[index + 1]!;
        assert.ok(waited >= wanted * 0.8 && waited < wanted * 1.2 + MINUTE_MS / 2, `${index}: waited ${waited} ms`);
      }
    }
    assert.equal(merchant.typesOf(id).length, 2 * delays.length);
    // Order holds: nothing of the second event while the first may still come.
    assert.deepEqual(merchant.typesOf(id), merchant.typesOf(id).toSorted().toReversed());
  });

  test('every delivery is signed by the real time, whatever time it is here', async () => {
    assert.ok((await clockAt(on.url)).advancedSeconds > DAY);
    const id = await createSession(on);
    await attempt(on, id, 'card', 'paid');
    await until(() => merchant.typesOf(id).length === 2);
    for (const { body, headers, at } of merchant.arrivals) {
      const event = Stripe.webhooks.constructEvent(
        body,
        headers['x-gateway-signature']!,
        SECRET,
        undefined,
        undefined,
        at,
      );
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

  test('what happens on the way happens in its order: a late success, a lost callback, a delayed capture', async () => {
    const late = await createSession(on);
    const lost = await createSession(on);
    const delayed = await createSession(on);
    await attempt(on, delayed, 'card', 'paid_later');
    await attempt(on, lost, 'wallet', 'callback_lost');
    await attempt(on, late, 'card', 'late_success');
    await until(async () => (await stateOf(on, late)).payments[0] === 'failed');
    await advance(on.url, 5 * 60);
    for (const id of [late, lost, delayed]) {
      assert.equal((await stateOf(on, id)).session, 'paid', id);
      assert.equal(merchant.typesOf(id).at(-1), 'payment.paid');
    }
    // 20 s after its button, 30 s after its start, 30 s after its button. Those of different sessions are sent side by side:
    // the feed has the order in which they happened.
    const { body } = await call<{ data: { id: string }[] }>(
      'GET',
      `${on.url}/api/gateway/events?after=&type=payment.paid&limit=100`,
    );
    const order = body.data.map(({ id }) => id);
    assert.deepEqual(
      order.slice(-3),
      [delayed, lost, late].map((id) => `evt_${id}_paid`),
    );
  });

  test('an attempt that takes its time is not jumped over', async () => {
    let open = 0;
    let mostOpen = 0;
    answer = (response) => {
      mostOpen = Math.max(mostOpen, ++open);
      setTimeout(() => {
        open--;
        response.writeHead(503).end();
      }, 300);
    };
    const id = await createSession(on);
    await attempt(on, id, 'card', 'abandoned');
    await until(() => merchant.typesOf(id).length > 0);
    await advance(on.url, 20 * 60);
    answer = (response) => response.end('ok');
    await advance(on.url, 2 * HOUR);
    // One at a time, each counted once.
    assert.equal(mostOpen, 1);
    const logs = (await deliveriesOf(id)).map(({ attempts, log }) => [attempts, log.length]);
    for (const [attempts, logged] of logs) assert.equal(attempts, logged);
    assert.equal(
      merchant.typesOf(id).length,
      logs.reduce((sum, [attempts]) => sum + attempts!, 0),
    );
  });

  test('one advance at a time; what is under way is said', async () => {
    let held: ServerResponse | undefined;
    answer = (response) => (held = response);
    const id = await createSession(on);
    await attempt(on, id, 'card', 'abandoned');
    await until(() => held !== undefined);
    await ask(on.url, 60);
    const second = await call<{ error: { code: string; suggestion: string } }>(
      'POST',
      `${on.url}/api/gateway/test-clock/advance`,
      { seconds: 1 },
    );
    assert.deepEqual([second.status, second.body.error.code], [409, 'invalid_state']);
    assert.match(second.body.error.suggestion, /until its status is ready/);
    assert.equal((await clockAt(on.url)).status, 'advancing');
    answer = (response) => response.end('ok');
    held!.end('ok');
    await arrived(on.url);
  });

  test('time waits for a buyer who is being handed to a provider', async () => {
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
        return undefined;
      },
    });
    const id = await createSession(on);
    const paying = submit(`${on.url}/checkout/${id}/pay`, { kind: 'card', total_card: '999999' });
    await until(() => steps.length > 0);
    await ask(on.url, HOUR);
    await until(() => deps.testClock!.known().holder !== null);
    // Were time moved meanwhile, the provider would be asked what has become of it.
    await sleep(200);
    answering.resolve();
    assert.equal((await paying).status, 303);
    await arrived(on.url);
    assert.deepEqual(steps.slice(0, 3), ['asked', 'answered', 'inquired']);
    assert.deepEqual((await stateOf(on, id)).failures, ['timed_out']);
    Object.assign(deps, { providers, routes });
  });

  test('requests that never cease do not keep time from moving on', async () => {
    const { deps } = on.service;
    const { providers, routes } = deps;
    await using fake = await startFakeProvider();
    let inside = 0;
    connect(on.service, {
      ...fake,
      async handoff(request) {
        inside++;
        await sleep(100);
        inside--;
        return fake.handoff(request);
      },
      inquire: async () => undefined,
    });
    let goOn = true;
    const buyers = [0, 60].map(async (behindMs) => {
      await sleep(behindMs);
      while (goOn) {
        const id = await createSession(on);
        assert.equal(
          (await submit(`${on.url}/checkout/${id}/pay`, { kind: 'card', total_card: '999999' })).status,
          303,
        );
      }
    });
    await until(() => inside === 2);
    try {
      await advance(on.url, 60);
    } finally {
      goOn = false;
      await Promise.all(buyers);
      Object.assign(deps, { providers, routes });
    }
  });

  test('nor do events that never cease', async () => {
    answer = (response) => void setTimeout(() => response.end('ok'), 300);
    let goOn = true;
    const traffic = (async () => {
      while (goOn) {
        await attempt(on, await createSession(on), 'card', 'paid');
        await sleep(50);
      }
    })();
    const before = merchant.arrivals.length;
    await until(() => merchant.arrivals.length > before);
    try {
      await advance(on.url, 60);
    } finally {
      goOn = false;
      await traffic;
      answer = (response) => response.end('ok');
    }
  });

  test('a receiver may make something here before it answers', async () => {
    answer = (response) => void createSession(on).then(() => response.end('ok'));
    const id = await createSession(on);
    await attempt(on, id, 'card', 'abandoned');
    await advance(on.url, HOUR);
    answer = (response) => response.end('ok');
    // Each of them once.
    assert.deepEqual(merchant.typesOf(id), ['payment.provider_pending', 'payment.failed']);
  });

  test('a request that is still being sent is not waited for', async () => {
    const socket = connectTo(Number(new URL(on.url).port), '127.0.0.1');
    let answered = '';
    socket.on('data', (data) => (answered += String(data)));
    const body = JSON.stringify(sessionBody());
    const head = `POST /api/gateway/sessions HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: ${body.length}`;
    socket.write(`${head}\r\n\r\n${body.slice(0, 5)}`);
    // The next request has been seen, so that one has.
    await createSession(on);
    await advance(on.url, 60);
    assert.equal(answered, '');
    socket.write(body.slice(5));
    await until(() => answered.startsWith('HTTP/1.1 200'));
    socket.destroy();
  });

  test('where the database is away for a moment, an attempt is not later for it', async () => {
    const { store } = on.service.deps;
    const { deliveriesDue } = store;
    let failures = 0;
    store.deliveriesDue = async (...asked) => {
      const due = await deliveriesDue(...asked);
      if (failures === 2 || !due.some(({ delivery }) => delivery.attempts === 3)) return due;
      failures++;
      throw new GatewayError('unavailable', 'planted');
    };
    answer = (response) => response.writeHead(500).end();
    const id = await createSession(on);
    await attempt(on, id, 'card', 'abandoned');
    await advance(on.url, 6 * HOUR);
    answer = (response) => response.end('ok');
    store.deliveriesDue = deliveriesDue;
    assert.equal(failures, 2);
    for (const { log } of await deliveriesOf(id)) {
      const waited = Date.parse(log[3]!.started) - Date.parse(log[2]!.started);
      assert.ok(waited < ATTEMPT_DELAYS_MS.sandbox[3]! * 1.2 + MINUTE_MS / 2, `waited ${waited} ms`);
    }
  });

  test('where the database takes nothing, it is not asked without a pause', async () => {
    const { store } = on.service.deps;
    const { commit } = store;
    const tries: number[] = [];
    const id = await createSession(on);
    await attempt(on, id, 'card', 'abandoned');
    store.commit = (changes) => {
      if (tries.length === 4 || !changes.some(({ type }) => type === 'wake_claimed')) return commit(changes);
      tries.push(performance.now());
      return Promise.reject(new GatewayError('unavailable', 'planted'));
    };
    await advance(on.url, HOUR);
    store.commit = commit;
    assert.equal((await stateOf(on, id)).session, 'failed');
    assert.ok(tries[3]! - tries[0]! > 300);
    // Said, and seen.
    on.logged.splice(0, on.logged.length, ...on.logged.filter((line) => !line.includes('planted')));
  });

  const wrong: [unknown, string][] = [
    [{}, 'seconds'],
    [undefined, 'seconds'],
    [{ seconds: 0 }, 'seconds'],
    [{ seconds: -5 }, 'seconds'],
    [{ seconds: 1.5 }, 'seconds'],
    [{ seconds: '24h' }, 'seconds'],
    [{ seconds: 2_592_001 }, 'seconds'],
    [{ seconds: 60, to: 'tomorrow' }, 'to'],
  ];
  for (const [body, field] of wrong) {
    test(`${JSON.stringify(body)} is refused`, async () => {
      const before = await clockAt(on.url);
      const answered = await call<{ error: { code: string; field: string } }>(
        'POST',
        `${on.url}/api/gateway/test-clock/advance`,
        body,
      );
      assert.deepEqual(
        [answered.status, answered.body.error.code, answered.body.error.field],
        [400, 'invalid_input', field],
      );
      assert.equal((await clockAt(on.url)).advancedSeconds, before.advancedSeconds);
    });
  }

  test('no production session is taken, nor shown', async () => {
    const body = { product: 'Field guide', amount: 49.99, customer: 'buyer@example.com', environment: 'production' };
    for (const [path, status] of [
      ['gateway/sessions', 403],
      ['agent/actions/checkout.create', 400],
      ['agent/actions/checkout.preview', 400],
    ] as const) {
      const refused = await call<{ error: { code: string; field: string; message: string } }>(
        'POST',
        `${on.url}/api/${path}`,
        body,
      );
      assert.deepEqual(
        [refused.status, refused.body.error.code, refused.body.error.field],
        [status, 'forbidden', 'environment'],
      );
      assert.match(refused.body.error.message, /TEST_CLOCK=true/);
    }
  });

  test('however a span is cut into advances, the same comes of it', async () => {
    const OUTCOMES = ['abandoned', 'late_success', 'callback_lost', 'declined', 'paid_later'];
    const SPAN = 3 * HOUR;
    const results = new Set<string>();
    await fc.assert(
      fc.asyncProperty(fc.array(fc.integer({ min: 1, max: SPAN - 1 }), { maxLength: 4 }), async (cuts) => {
        const ids: string[] = [];
        for (const outcome of OUTCOMES) {
          const id = await createSession(on);
          await attempt(on, id, 'card', outcome);
          ids.push(id);
        }
        const marks = [0, ...new Set(cuts.toSorted((a, b) => a - b)), SPAN];
        for (const [index, mark] of marks.slice(1).entries()) await advance(on.url, mark - marks[index]!);
        const states = await Promise.all(ids.map((id) => stateOf(on, id)));
        const sent = ids.map((id) => merchant.typesOf(id));
        results.add(JSON.stringify([states, sent]));
        assert.equal(results.size, 1);
      }),
      { numRuns: 5 },
    );
  });

  test('after all that, every promise of the database holds', async () => {
    assert.deepEqual(await brokenInvariants(settingsOf(on.databaseUrl)), []);
    const faults = on.logged.filter((line) => (JSON.parse(line) as { level: number }).level >= 50);
    assert.deepEqual(faults, []);
  });
});

describe('without TEST_CLOCK', () => {
  test('time cannot be moved, and the refusal says how it could', async () => {
    await using on = await startTestService();
    for (const [method, path] of [
      ['GET', ''],
      ['POST', '/advance'],
    ] as const) {
      const refused = await call<{ error: { code: string; suggestion: string } }>(
        method,
        `${on.url}/api/gateway/test-clock${path}`,
      );
      assert.deepEqual([refused.status, refused.body.error.code], [403, 'forbidden']);
      assert.match(refused.body.error.suggestion, /TEST_CLOCK=true/);
    }
  });
});
