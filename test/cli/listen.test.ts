import assert from 'node:assert/strict';
import { buffer } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import * as fc from 'fast-check';
import { Webhook } from 'standardwebhooks';
import { TillwayError, type WebhookEvent, webhooks } from '../../sdk/src/index.ts';
import type { Terminal } from '../../src/cli/command-context.ts';
import { createEventFeed } from '../../src/cli/listen/event-follower.ts';
import { adviceOn } from '../../src/cli/listen/forwarder.ts';
import { type Note, noteTexts } from '../../src/cli/listen/listen-notes.ts';
import { runTillway } from '../../src/cli/program.ts';
import { freePort } from '../process/program.ts';
import { createSession, startAt, submit } from '../simulator/buyer.ts';
import { type TestService, startTestService } from '../support/service.ts';
import { startStub } from './stub-server.ts';
import { createTerminal, runIn, runWith } from './terminal.ts';
import { until } from '../support/until.ts';

const START = Date.parse('2026-03-01T12:00:00.000Z');
const PAGE = 100;

/** An event with the times at which it is created and becomes visible, in milliseconds from the start. */
interface Planned {
  id: string;
  createdMs: number;
  visible: number;
}

function eventOf({ id, createdMs }: Planned): WebhookEvent {
  const data = { session_id: 'chk_1', amount: 1 };
  return { id, type: 'payment.paid', created: new Date(START + createdMs).toISOString(), data } as WebhookEvent;
}

/** A fake service: a list of events, newest first, and a feed that grows at its end, both with pages that can fail. */
function createFakeService(plan: readonly Planned[]) {
  const state = { now: 0, failsAfterPages: Infinity, pagesRead: 0 };
  const visibleEvents = () => plan.filter((event) => event.visible <= state.now);
  const visible = () =>
    visibleEvents()
      .toSorted((a, b) => b.createdMs - a.createdMs || (a.id < b.id ? 1 : -1))
      .map(eventOf);
  const inOrder = () =>
    visibleEvents().toSorted((a, b) => a.visible - b.visible || a.createdMs - b.createdMs || (a.id < b.id ? -1 : 1));
  async function* pagesOf(all: WebhookEvent[]) {
    for (let at = 0; at === 0 || at < all.length; at += PAGE) {
      if (at / PAGE >= state.failsAfterPages) throw new Error('unavailable');
      state.pagesRead += 1;
      yield { data: all.slice(at, at + PAGE) };
    }
  }
  async function* feedAfter(after: string) {
    const all = inOrder();
    const at = all.findIndex(({ id }) => id === after);
    if (after !== '' && at === -1) throw new TillwayError('invalid_input', 'no such event', { field: 'after' });
    yield* pagesOf(all.slice(at + 1).map(eventOf));
  }
  const feed = createEventFeed({ newestFirst: () => pagesOf(visible()), feed: feedAfter });
  return { state, feed, inOrder };
}

async function idsAt(fake: ReturnType<typeof createFakeService>, now: number): Promise<string[]> {
  fake.state.now = now;
  return (await fake.feed.poll()).events.map(({ id }) => id);
}

const burst = (count: number, createdMs: number): Planned[] =>
  Array.from({ length: count }, (_, index) => ({
    id: `evt_${createdMs + index}`,
    createdMs: createdMs + index,
    visible: createdMs + index,
  }));

describe('the event feed of tillway listen', () => {
  const plans = fc.array(
    fc.record({
      createdMs: fc.oneof(fc.integer({ min: -20_000, max: 30_000 }), fc.integer({ min: -100_000, max: 400_000 })),
      lag: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 10_000 })),
      copies: fc.oneof({ weight: 9, arbitrary: fc.constant(1) }, { weight: 1, arbitrary: fc.constant(160) }),
    }),
    { maxLength: 15 },
  );
  const polls = fc.array(
    fc.record({
      after: fc.oneof(
        { weight: 4, arbitrary: fc.integer({ min: 1, max: 4000 }) },
        { weight: 1, arbitrary: fc.integer({ min: 1, max: 90_000 }) },
      ),
      // Number of pages before the service fails: 0 if it is unavailable, Infinity if it does not fail.
      pages: fc.constantFrom(Infinity, Infinity, 0, 1),
    }),
    { maxLength: 20 },
  );

  it('returns each event once, in the order of the feed, whenever it becomes visible and whichever requests fail', async () => {
    await fc.assert(
      fc.asyncProperty(plans, polls, async (drawn, times) => {
        const plan = drawn.flatMap(({ createdMs, lag, copies }, index) =>
          Array.from({ length: copies }, (_, copy) => ({
            id: `evt_${index}_${copy}`,
            createdMs: createdMs + copy,
            visible: createdMs + copy + lag,
          })),
        );
        const fake = createFakeService(plan);
        await fake.feed.start();
        const seen: string[] = [];
        for (const { after: gap, pages } of [...times, { after: 600_000, pages: Infinity }]) {
          fake.state.failsAfterPages = pages;
          seen.push(...(await idsAt(fake, fake.state.now + gap).catch(() => [])));
        }
        const expected = fake.inOrder().filter(({ visible }) => visible > 0);
        const expectedIds = expected.map(({ id }) => id);
        assert.deepEqual(seen, expectedIds);
      }),
    );
  });

  it('reads one page per poll if there are no new events', async () => {
    const fake = createFakeService([...burst(2000, -3_000_000), ...burst(50, -1000)]);
    await fake.feed.start();
    fake.state.pagesRead = 0;
    for (let now = 500; now <= 200_000; now += 500) await idsAt(fake, now);
    assert.equal(fake.state.pagesRead, 400);
  });

  it('continues with newer events if the service has another database', async () => {
    const plan = burst(3, -1000);
    const fake = createFakeService(plan);
    await fake.feed.start();
    plan.splice(
      0,
      3,
      { id: 'evt_older', createdMs: -5000, visible: 0 },
      { id: 'evt_newer', createdMs: 300, visible: 300 },
    );
    fake.state.now = 500;
    const { events, isOtherHistory } = await fake.feed.poll();
    assert.deepEqual([events.map(({ id }) => id), isOtherHistory], [['evt_newer'], true]);
    plan.push({ id: 'evt_next', createdMs: 700, visible: 700 });
    assert.deepEqual(await idsAt(fake, 1000), ['evt_next']);
  });

  it('starts with the past events since a time or an event, and does not repeat them', async () => {
    for (const [since, first] of [
      [{ from: START - 200_000 }, 0],
      [{ from: START - 199_900 }, 100],
      [{ from: START - 199_900, event: eventOf(burst(1, -199_900)[0]!) }, 100],
      [{ from: START + 1 }, 250],
    ] as const) {
      const visibleEvents = burst(250, -200_000);
      const fake = createFakeService([...visibleEvents, { id: 'evt_new', createdMs: 100, visible: 100 }]);
      const ids = (await fake.feed.start(since)).map(({ id }) => id);
      const expectedIds = visibleEvents.slice(first).map(({ id }) => id);
      assert.deepEqual(ids, expectedIds);
      assert.deepEqual(await idsAt(fake, 100), ['evt_new']);
    }
  });

  it('starts at the given event, and omits earlier events of the same millisecond', async () => {
    const visibleEvents = ['evt_a', 'evt_b', 'evt_c'].map((id) => ({ id, createdMs: -5000, visible: -5000 }));
    const events = await createFakeService(visibleEvents).feed.start({
      from: START - 5000,
      event: eventOf(visibleEvents[1]!),
    });
    assert.deepEqual(
      events.map(({ id }) => id),
      ['evt_b', 'evt_c'],
    );
  });
});

describe('the advice of tillway listen about a failed delivery', () => {
  const ADVICE: [failure: string, status: number | null, message: RegExp][] = [
    ['connection refused', null, /start your server/],
    ['no complete answer within 15 s', null, /200 first/],
    ['answered 400', 400, /the secret shown above/],
    ['answered 404', 404, /nothing at that path/],
    ['answered 204, and only 200 acknowledges', 204, /exactly 200/],
    ['answered 302, and redirects are not followed', 302, /redirects are not followed/],
    ['answered 500', 500, /log of your server/],
  ];
  for (const [failure, status, message] of ADVICE) {
    it(`explains "${failure}"`, () => assert.match(adviceOn({ failure, status }), message));
  }
});

describe('the text output of tillway listen', () => {
  const textOf = (columns: number) => noteTexts(Object.assign((_style: unknown, text: string) => text, { columns }));
  const session = `chk_${'0'.repeat(36)}`;
  const data = { session_id: session, amount: 9999.99 };
  const event = { id: 'evt_1', type: 'payment.provider_pending', created: '2026-03-01T12:00:00.000Z', data };
  const shown = { object: 'event', number: 999, event: event as WebhookEvent } as const;

  it('shows the session id on a separate line at 80 columns, and on the same line on a wide terminal', () => {
    const failed = { object: 'forward', eventId: event.id, number: 999, attempt: 5, durationMs: 4 } as const;
    const failure = 'answered 302, and redirects are not followed';
    const notes: Note[] = [
      shown,
      { ...failed, status: 302, failure, nextTryMs: 15_000 },
      {
        object: 'service_away',
        url: 'http://127.0.0.1:3000',
        reason: `connect ECONNREFUSED, and ${'words '.repeat(9)}`,
      },
      { object: 'service_replaced', url: 'http://127.0.0.1:3000' },
    ];
    const lines = notes.map(textOf(80)).join('').split('\n');
    assert.ok(Math.max(...lines.map((line) => line.length)) <= 80, lines.join('\n'));
    assert.ok(lines.includes(`          ${session}`));
    assert.ok(textOf(120)(shown).endsWith(`#999  payment.provider_pending  9999.99 USD  ${session}\n`));
  });

  it('explains how to reuse a generated secret, and does not show a secret from the environment', () => {
    const start = (secret: string | null, secretFrom: 'made' | 'option' | 'environment') =>
      textOf(80)({ object: 'listen_started', url: 'http://a/', forwardTo: 'http://b/', secret, secretFrom });
    assert.match(start('whsec_x', 'made'), /signed with whsec_x\n[^]*give it as\s--secret/);
    assert.match(start('whsec_x', 'option'), /signed with whsec_x\n/);
    assert.doesNotMatch(start('whsec_x', 'option'), /--secret/);
    assert.doesNotMatch(start(null, 'environment'), /whsec_|--secret/);
  });
});

interface ReceivedRequest {
  headers: Record<string, string>;
  body: Buffer;
}

/** HTTP status of the response to an attempt to deliver an event. */
type Answer = (eventId: string, tries: number) => number;

/** A merchant's server that records requests; `answer` gives the status. */
async function openReceiver({ port = 0, answer = () => 200 }: Partial<{ port: number; answer: Answer }> = {}) {
  const received: ReceivedRequest[] = [];
  const stub = await startStub(async (request, response) => {
    const body = await buffer(request);
    received.push({ headers: request.headers as Record<string, string>, body });
    const id = String(request.headers['x-gateway-event']);
    const tries = received.filter(({ headers }) => headers['x-gateway-event'] === id).length;
    response.writeHead(answer(id, tries)).end();
  }, port);
  const receivedIds = () => received.map(({ headers }) => headers['x-gateway-event']);
  return Object.assign(stub, { url: `${stub.url}/hook`, received, receivedIds });
}

/** Sleeps for a fiftieth of the requested time. */
const shortSleep: Terminal['sleep'] = (ms, signal) =>
  pause(ms / 50, undefined, signal && { signal }).catch(() => undefined);

/** Runs `tillway listen` in the test process. */
function listen(url: string, ...given: (string | Partial<Terminal>)[]) {
  const args = given.filter((each) => typeof each === 'string');
  const overrides = given.filter((each) => typeof each === 'object');
  const controller = new AbortController();
  const { terminal, stdout, stderr } = createTerminal({
    url,
    now: () => Date.now(),
    sleep: shortSleep,
    interruption: () => controller.signal,
    ...Object.assign({}, ...overrides),
  });
  const local = { serve: () => Promise.reject(new Error()), database: () => Promise.reject(new Error()) };
  const ended = runTillway(['listen', ...args.flatMap((each) => each.split(' '))], terminal, local);
  const waitForOutput = (text: string | RegExp) =>
    until(
      () => (typeof text === 'string' ? stdout().includes(text) : text.test(stdout())),
      () => `${String(text)} was not printed: ${stdout()}${stderr()}`,
    );
  return {
    stdout,
    stderr,
    waitForOutput,
    ended,
    async stop(): Promise<number> {
      controller.abort();
      return ended;
    },
    async [Symbol.asyncDispose]() {
      controller.abort();
      await ended.catch(() => undefined);
    },
    /** The documents that --json prints, one per line. */
    lines: () =>
      stdout()
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as Record<string, unknown>),
  };
}

async function pay(on: TestService, metadata: Record<string, string> = {}): Promise<string> {
  const sessionId = await createSession(on, { metadata });
  const page = await startAt(on, sessionId, 'wallet');
  await submit(page, { outcome: 'paid' });
  return sessionId;
}

const eventsOf = (sessionId: string) => [`evt_${sessionId}_provider_pending`, `evt_${sessionId}_paid`];

describe('tillway listen', { concurrency: 4 }, () => {
  let on: TestService;
  let configuredReceiver: Awaited<ReturnType<typeof openReceiver>>;
  const CONFIGURED_SECRET = `whsec_${Buffer.alloc(32, 3).toString('base64')}`;
  before(async () => {
    configuredReceiver = await openReceiver();
    on = await startTestService({
      live: true,
      variables: { WEBHOOK_URL: configuredReceiver.url, WEBHOOK_SECRET: CONFIGURED_SECRET },
    });
  });
  after(async () => {
    await on[Symbol.asyncDispose]();
    await configuredReceiver[Symbol.asyncDispose]();
  });

  it('forwards the bytes and headers of a delivery, signed with the printed secret', async () => {
    await using receiver = await openReceiver();
    await using listening = listen(on.url, '--forward-to', receiver.url, '--json');
    await listening.waitForOutput('listen_started');
    const sessionId = await pay(on, { 10: 'ten', 9: 'nine', 'Straße/€': '<&> \u{1f600}', note: '"quoted"\\' });
    const events = eventsOf(sessionId);
    await until(() =>
      events.every((id) => receiver.receivedIds().includes(id) && configuredReceiver.receivedIds().includes(id)),
    );
    assert.equal(await listening.stop(), 0);

    const { secret } = listening.lines()[0] as { secret: string };
    for (const id of events) {
      const forwarded = receiver.received.find(({ headers }) => headers['x-gateway-event'] === id)!;
      const delivered = configuredReceiver.received.find(({ headers }) => headers['x-gateway-event'] === id)!;
      assert.equal(forwarded.body.toString(), delivered.body.toString());
      const namesOf = ({ headers }: ReceivedRequest) =>
        Object.keys(headers)
          .filter((name) => name !== 'connection')
          .toSorted();
      assert.deepEqual(namesOf(forwarded), namesOf(delivered));
      assert.equal((await webhooks.verify(forwarded.body, forwarded.headers, secret)).id, id);
      assert.equal((new Webhook(secret).verify(forwarded.body.toString(), forwarded.headers) as WebhookEvent).id, id);
      await assert.rejects(webhooks.verify(forwarded.body, forwarded.headers, CONFIGURED_SECRET));
    }
  });

  it('prints each event and response, forwards the events of a session in order, and ends with a summary', async () => {
    await using receiver = await openReceiver({
      answer: (id, tries) => (id.endsWith('_paid') ? 200 : ([500, 404][tries - 1] ?? 200)),
    });
    const secret = `whsec_${Buffer.alloc(24, 9).toString('base64')}`;
    await using listening = listen(on.url, `--forward-to ${receiver.url} --secret ${secret} --environment sandbox`);
    await listening.waitForOutput(secret);
    const sessionId = await pay(on);
    await listening.waitForOutput(new RegExp(`#\\d+ +payment\\.paid +49\\.99 USD  ${sessionId}`));
    await until(() => receiver.receivedIds().includes(`evt_${sessionId}_paid`));
    assert.equal(await listening.stop(), 0);
    assert.equal(listening.stderr(), '');
    const forwardedIds = receiver.receivedIds().filter((id) => id?.includes(sessionId));
    const [first, second] = eventsOf(sessionId);
    assert.deepEqual(forwardedIds.at(-1), second);
    assert.ok(forwardedIds.slice(0, -1).every((id) => id === first));
    const text = listening.stdout();
    assert.match(text, new RegExp(`\\d\\d:\\d\\d:\\d\\d  #\\d+ +payment\\.paid +49\\.99 USD  ${sessionId}\n`));
    assert.match(text, /\n {10}#\d+ +-> answered 500, next try in 1 s/);
    assert.match(text, /-> answered 404, next try in \d+ s/);
    assert.match(text, /Your server has nothing at that path: correct --forward-to\./);
    assert.match(text, /\n\n\d+ events, \d+ forwarded(?:, \d+ not forwarded yet)?\.\n/);
  });

  it('shows only the requested types, and no earlier event', async () => {
    const before = await pay(on);
    await until(() => configuredReceiver.receivedIds().includes(`evt_${before}_paid`));
    await using listening = listen(on.url, '--events', 'payment.paid', '--json');
    await listening.waitForOutput('listen_started');
    const sessionId = await pay(on);
    await listening.waitForOutput(`evt_${sessionId}_paid`);
    await listening.stop();
    const shown = listening.lines().filter(({ object }) => object === 'event') as unknown as { event: WebhookEvent }[];
    assert.ok(shown.every(({ event }) => event.type === 'payment.paid' && event.data.session_id !== before));
  });

  it('prints events while a slow target does not answer', async () => {
    await using silentTarget = await startStub(() => undefined);
    await using listening = listen(on.url, '--forward-to', silentTarget.url);
    await listening.waitForOutput('They are signed with');
    // The order of events of different sessions is not defined.
    for (const id of [await pay(on), await pay(on)])
      await listening.waitForOutput(new RegExp(`payment\\.paid .*${id}`));
    assert.equal(await listening.stop(), 0);
    assert.match(listening.stdout(), /\d+ events, \d+ not forwarded yet\.\nForward them again, /);
  });

  it('forwards the events to an unavailable target as soon as it is available', async () => {
    const port = await freePort();
    const isAvailable = Promise.withResolvers<void>();
    // The number of attempts is limited, so the attempts after the second one wait until the target is available.
    const sleep: Terminal['sleep'] = async (ms, signal) => {
      await shortSleep(ms, signal);
      if (ms >= 5000) await isAvailable.promise;
    };
    await using listening = listen(on.url, { sleep }, '--forward-to', `http://127.0.0.1:${port}/hook`);
    await listening.waitForOutput('They are signed with');
    const sessionId = await pay(on);
    await listening.waitForOutput(/-> connection refused, next try in 5 s/);
    assert.match(listening.stdout(), /Nothing listens there: start your server, or correct --forward-to\./);
    await using receiver = await openReceiver({ port });
    isAvailable.resolve();
    await until(() => receiver.receivedIds().includes(`evt_${sessionId}_paid`));
    await listening.waitForOutput(/-> 200 in \d+ ms, at try \d/);
    await listening.stop();
    const forwardedIds = receiver.receivedIds().filter((id) => id?.includes(sessionId));
    assert.deepEqual(forwardedIds, eventsOf(sessionId));
  });

  it('gives up after five attempts, and at once after a 410', async () => {
    await using receiver = await openReceiver({ answer: (id) => (id.endsWith('_paid') ? 302 : 410) });
    await using listening = listen(on.url, '--forward-to', receiver.url, '--json');
    await listening.waitForOutput('listen_started');
    const [pending, paid] = eventsOf(await pay(on));
    const triesOf = (id: string | undefined) =>
      listening
        .lines()
        .filter(({ object, eventId }) => object === 'forward' && eventId === id)
        .map(({ attempt, status, nextTryMs }) => [attempt, status, nextTryMs]);
    await until(() => triesOf(paid).length === 5);
    assert.deepEqual(triesOf(pending), [[1, 410, null]]);
    assert.deepEqual(triesOf(paid), [
      [1, 302, 1000],
      [2, 302, 5000],
      [3, 302, 15_000],
      [4, 302, 30_000],
      [5, 302, null],
    ]);
    await listening.stop();
  });

  it('misses no event while the service is unavailable, and reports the outage once', async () => {
    const port = String(await freePort());
    // A second instance shares the database and keeps running, so that payments continue during the outage.
    await using other = await startTestService({ live: true });
    const first = await startTestService({ live: true, beside: other, variables: { PORT: port } });
    await using listening = listen(first.url);
    await listening.waitForOutput('Listening to');
    const before = await pay(other);
    await listening.waitForOutput(new RegExp(`payment\\.paid +49\\.99 USD  ${before}`));
    await first[Symbol.asyncDispose]();
    await listening.waitForOutput(' is unreachable: ');
    const paidDuringOutage = [await pay(other), await pay(other)];
    await until(async () => {
      const { stdout } = await runIn(other, 'events', 'list', '--type', 'payment.paid', '--json');
      return paidDuringOutage.every((id) => stdout.includes(`evt_${id}_paid`));
    });
    await using second = await startTestService({ live: true, beside: other, variables: { PORT: port } });
    assert.equal(second.url, first.url);
    await listening.waitForOutput(' is back.');
    for (const id of paidDuringOutage) await listening.waitForOutput(new RegExp(`payment\\.paid .*${id}`));
    await listening.stop();
    const text = listening.stdout();
    assert.equal(text.split(' is unreachable: ').length, 2);
    for (const id of [before, ...paidDuringOutage]) {
      assert.equal(text.split(`USD  ${id}\n`).length - 1, 2, `${id} in ${text}`);
    }
  });

  it('ends with a command line that forwards the undelivered events', async () => {
    const port = await freePort();
    const target = `http://127.0.0.1:${port}/hook`;
    const secret = `whsec_${Buffer.alloc(24, 5).toString('base64')}`;
    const targetOptions = ['--forward-to', target, '--environment', 'sandbox', '--secret', secret];
    await using first = listen(on.url, ...targetOptions);
    await first.waitForOutput('They are signed with');
    const sessionId = await pay(on);
    await first.waitForOutput(new RegExp(`payment\\.paid .*${sessionId}`));
    await first.stop();
    const again = /with:\n {2}tillway listen (--since evt_\w+ .*)\n$/.exec(first.stdout())?.[1]?.split(' ') ?? [];
    assert.deepEqual(again.slice(2), targetOptions);

    await using receiver = await openReceiver({ port });
    await using second = listen(on.url, ...again);
    await until(() => eventsOf(sessionId).every((id) => receiver.receivedIds().includes(id)));
    const later = await pay(on);
    await until(() => receiver.receivedIds().includes(`evt_${later}_paid`));
    await second.stop();
    const forwardedIds = receiver.receivedIds().filter((id) => id?.includes(sessionId) || id?.includes(later));
    assert.deepEqual(forwardedIds, [...eventsOf(sessionId), ...eventsOf(later)]);

    await using third = listen(on.url, '--since', '1h', '--json');
    await third.waitForOutput(`evt_${sessionId}_paid`);
    await third.stop();
    assert.deepEqual((third.lines().at(-1) as { again: unknown }).again, null);
  });

  it('signs with WEBHOOK_SECRET, which it does not print, and accepts a target URL without a scheme', async () => {
    await using receiver = await openReceiver();
    const secret = `whsec_${Buffer.alloc(24, 6).toString('base64')}`;
    const target = receiver.url.replace('http://', '');
    for (const args of [[], ['--json']]) {
      await using listening = listen(on.url, { webhookSecret: secret }, '--forward-to', target, ...args);
      await listening.waitForOutput(/WEBHOOK_SECRET|listen_started.*"secret":null,"secretFrom":"environment"/);
      const sessionId = await pay(on);
      await until(() => receiver.receivedIds().includes(`evt_${sessionId}_paid`));
      await listening.stop();
      assert.ok(!listening.stdout().includes(secret));
    }
    for (const { headers, body } of receiver.received) await webhooks.verify(body, headers, secret);
    const refused = await runWith({ url: on.url, webhookSecret: 'hello' }, 'listen', '--forward-to', target);
    assert.equal(refused.code, 2);
    assert.match(refused.stderr, /WEBHOOK_SECRET of this shell is not whsec_/);
  });

  it('waits while another program answers at the URL of the service', async () => {
    const none = '{"object":"list","data":[],"hasMore":false}';
    let answer = none;
    const metadata = { note: 'a\u009b31mb\u202e' };
    const data = { session_id: 'chk_1', amount: 1, metadata };
    const event = { id: 'evt_1', type: 'payment.paid', livemode: false, created: '2026-03-01T12:00:00.000Z', data };
    await using service = await startStub(({ url = '' }, response) => {
      response.setHeader('content-type', 'application/json').end(url.endsWith('after=evt_1') ? none : answer);
    });
    await using receiver = await openReceiver();
    await using listening = listen(service.url, '--forward-to', receiver.url, '--json');
    await listening.waitForOutput('listen_started');
    answer = '{"status":"starting"}';
    await listening.waitForOutput('service_away');
    answer = JSON.stringify({ object: 'list', data: [event], hasMore: false });
    await listening.waitForOutput('"object":"forward","eventId":"evt_1"');
    assert.equal(await listening.stop(), 0);
    const shown = listening.lines().find(({ object }) => object === 'event');
    assert.deepEqual(shown, { object: 'event', number: 1, event });
    const ended = { object: 'listen_ended', events: 1, forwarded: 1, failed: 0, waiting: 0, again: null };
    assert.deepEqual(listening.lines().at(-1), ended);
    // oxlint-disable-next-line no-control-regex -- the output must not contain these
    assert.doesNotMatch(listening.stdout(), /[\u0080-\u009f\u202e]/);
  });

  it('exits if its output cannot be written', async () => {
    await using receiver = await openReceiver();
    const outputStarted = Promise.withResolvers<void>();
    const failingWrite = (text: string) => {
      if (text.includes('->')) throw new Error('the output is closed');
      outputStarted.resolve();
    };
    await using listening = listen(on.url, { write: failingWrite }, '--forward-to', receiver.url);
    const ended = assert.rejects(listening.ended, /the output is closed/);
    // Events from before the start are not forwarded.
    await outputStarted.promise;
    await pay(on);
    await ended;
  });

  it('rejects invalid options, and shows a valid form', async () => {
    const REFUSED: [options: string, code: number, message: RegExp][] = [
      ['--forward-to 4000', 2, /takes a URL such as http:\/\/127\.0\.0\.1:4000\/webhooks, not 4000/],
      ['--forward-to ftp://localhost', 2, /takes a URL such as/],
      ['--forward-to webhooks', 2, /takes a URL such as .*, not webhooks/],
      ['--since soon', 2, /--since takes the id of an event, evt_\.\.\., or a time such as 15m or 2h, not "soon"/],
      ['--since evt_chk_1_paid', 1, /evt_chk_1_paid/],
      ['--events payment.paid,payment.lost', 2, /knows no "payment\.lost"; there are payment\.provider_pending/],
      [`--secret ${CONFIGURED_SECRET}`, 2, /name --forward-to too/],
      ['--forward-to http://127.0.0.1:1 --secret whsec_c2hvcnQ=', 2, /base64 of 24 to 64 bytes/],
      ['--environment test', 2, /sandbox, production/],
    ];
    for (const target of ['http://me:hunter2@localhost:4000', 'me:hunter2@localhost:4000', 'me:hunter2@']) {
      REFUSED.push([`--forward-to ${target}`, 2, /^(?![^]*hunter2)[^]*without user and password/]);
    }
    for (const [options, code, message] of REFUSED) {
      const ended = await runIn(on, `listen ${options}`);
      assert.deepEqual([ended.code, ended.stdout], [code, ''], options);
      assert.match(ended.stderr, message);
    }
    const unreachable = await runWith({ url: `http://127.0.0.1:${await freePort()}` }, 'listen');
    assert.deepEqual([unreachable.code, unreachable.stdout], [1, '']);
    assert.match(unreachable.stderr, /^tillway: /);
  });
});
