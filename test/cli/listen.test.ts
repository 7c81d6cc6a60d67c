import assert from 'node:assert/strict';
import { buffer } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import * as fc from 'fast-check';
import { Webhook } from 'standardwebhooks';
import { type Tillway, TillwayError, type WebhookEvent, webhooks } from '../../sdk/src/index.ts';
import type { Terminal } from '../../src/cli/command-context.ts';
import { followFeed } from '../../src/cli/feed-follower.ts';
import { adviceOn } from '../../src/cli/listen/listen-command.ts';
import { runTillway } from '../../src/cli/program.ts';
import { freePort } from '../process/program.ts';
import { createSession, startAt, submit } from '../simulator/buyer.ts';
import { type TestService, startTestService } from '../support/service.ts';
import { startServer } from '../support/http-server.ts';
import { NOTHING_LOCAL, createTerminal, runIn, runWith } from './terminal.ts';
import { until } from '../support/until.ts';

describe('the follower of the event feed', () => {
  const polls = fc.array(
    fc.record({
      added: fc.integer({ min: 0, max: 5 }),
      // Number of events before the service fails: 0 if it is unavailable, Infinity if it does not fail.
      readable: fc.constantFrom(Infinity, Infinity, 0, 1, 3),
    }),
    { maxLength: 20 },
  );

  it('the follower of the event feed returns each event once, in the order of the feed, whichever requests fail', async () => {
    await fc.assert(
      fc.asyncProperty(polls, async (drawn) => {
        const plan = [{ added: 2, readable: Infinity }, ...drawn, { added: 1, readable: Infinity }];
        const all: string[] = [];
        const stop = new AbortController();
        let cursor = '';
        const feed = ({ after }: { after: string }) => {
          const { added, readable } = plan.shift()!;
          for (let count = 0; count < added; count++) all.push(`evt_${all.length}`);
          const rest = all.slice(all.indexOf(after) + 1);
          async function* read() {
            for (const [index, id] of rest.entries()) {
              if (index >= readable) throw new TillwayError('unavailable', 'stopping', { status: 503 });
              yield { id };
            }
            if (readable === 0) throw new TillwayError('unavailable', 'stopping', { status: 503 });
            cursor = all.at(-1)!;
          }
          return Object.defineProperty(read(), 'cursor', { get: () => cursor });
        };
        const seen: string[] = [];
        const reached: boolean[] = [];
        const events = followFeed({
          client: { events: { feed } } as unknown as Tillway,
          position: { after: '' },
          query: {},
          signal: stop.signal,
          sleep: async () => {
            if (plan.length === 0) stop.abort();
          },
          onReach: (reason) => reached.push(reason === null),
        });
        for await (const { id } of events) seen.push(id);
        assert.deepEqual(seen, all);
        assert.deepEqual(
          reached,
          Array.from(reached, (_, index) => index % 2 === 1),
        );
      }),
    );
  });
});

describe('the advice of tillway listen about a failed delivery', () => {
  const ADVICE: [failure: string, status: number | null, message: RegExp][] = [
    ['connection refused', null, /start your server/],
    ['no complete answer within 15 s', null, /send 200 first/],
    ['answered 400', 400, /the secret shown above/],
    ['answered 404', 404, /no route at this path/],
    ['answered 204, and only 200 acknowledges', 204, /with status 200/],
    ['answered 302, and redirects are not followed', 302, /redirects are not followed/],
    ['answered 500', 500, /log of your server/],
  ];
  for (const [failure, status, message] of ADVICE) {
    it(`the advice of tillway listen about a failed delivery explains "${failure}"`, () =>
      assert.match(adviceOn({ failure, status }), message));
  }
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
  const stub = await startServer(async (request, response) => {
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
  const ended = runTillway(['listen', ...args.flatMap((each) => each.split(' '))], terminal, NOTHING_LOCAL);
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

  it('`tillway listen` forwards the bytes and headers of a delivery, signed with the printed secret', async () => {
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

  it('`tillway listen` prints each event and response, forwards the events of a session in order, and ends with a summary', async () => {
    await using receiver = await openReceiver({
      answer: (id, tries) => (id.endsWith('_paid') ? 200 : ([500, 404][tries - 1] ?? 200)),
    });
    const secret = `whsec_${Buffer.alloc(24, 9).toString('base64')}`;
    await using listening = listen(on.url, `--forward-to ${receiver.url} --secret ${secret} --environment sandbox`);
    await listening.waitForOutput(secret);
    const sessionId = await pay(on);
    await listening.waitForOutput(new RegExp(`payment\\.paid +49\\.99 USD  ${sessionId}`));
    await until(() => receiver.receivedIds().includes(`evt_${sessionId}_paid`));
    assert.equal(await listening.stop(), 0);
    assert.equal(listening.stderr(), '');
    const forwardedIds = receiver.receivedIds().filter((id) => id?.includes(sessionId));
    const [first, second] = eventsOf(sessionId);
    assert.deepEqual(forwardedIds.at(-1), second);
    assert.ok(forwardedIds.slice(0, -1).every((id) => id === first));
    const text = listening.stdout();
    assert.match(text, new RegExp(`\\d\\d:\\d\\d:\\d\\d  payment\\.paid +49\\.99 USD  ${sessionId}\n`));
    assert.match(text, /-> answered 500, next try in 1 s\n/);
    assert.match(text, /-> answered 404, next try in 5 s\n/);
    assert.match(text, /\n\n\d+ events?, \d+ forwarded\./);
  });

  it('`tillway listen` shows only the requested types, and no earlier event', async () => {
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

  it('`tillway listen` prints events while a slow target does not answer', async () => {
    await using silentTarget = await startServer(() => undefined);
    await using listening = listen(on.url, '--forward-to', silentTarget.url);
    await listening.waitForOutput('The events are signed with');
    // The order of events of different sessions is not defined.
    for (const id of [await pay(on), await pay(on)])
      await listening.waitForOutput(new RegExp(`payment\\.paid .*${id}`));
    assert.equal(await listening.stop(), 0);
    assert.match(listening.stdout(), /\d+ events?, 0 forwarded\. To forward the remaining events, use --since evt_/);
  });

  it('`tillway listen` forwards the events to an unavailable target as soon as it is available', async () => {
    const port = await freePort();
    const isAvailable = Promise.withResolvers<void>();
    // The number of attempts is limited, so the attempts after the second one wait until the target is available.
    const sleep: Terminal['sleep'] = async (ms, signal) => {
      await shortSleep(ms, signal);
      if (ms >= 5000) await isAvailable.promise;
    };
    await using listening = listen(on.url, { sleep }, '--forward-to', `http://127.0.0.1:${port}/hook`);
    await listening.waitForOutput('The events are signed with');
    const sessionId = await pay(on);
    await listening.waitForOutput(/-> connection refused, next try in 5 s/);
    assert.match(listening.stdout(), /No server listens there: start your server, or correct --forward-to\./);
    await using receiver = await openReceiver({ port });
    isAvailable.resolve();
    await until(() => receiver.receivedIds().includes(`evt_${sessionId}_paid`));
    await listening.waitForOutput(/-> 200 in \d+ ms/);
    await listening.stop();
    const forwardedIds = receiver.receivedIds().filter((id) => id?.includes(sessionId));
    assert.deepEqual(forwardedIds, eventsOf(sessionId));
  });

  it('`tillway listen` gives up after five attempts, and at once after a 410', async () => {
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

  it('`tillway listen` misses no event while the service is unavailable, and reports the outage once', async () => {
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
    await listening.waitForOutput(' is reachable again.');
    for (const id of paidDuringOutage) await listening.waitForOutput(new RegExp(`payment\\.paid .*${id}`));
    await listening.stop();
    const text = listening.stdout();
    assert.equal(text.split(' is unreachable: ').length, 2);
    for (const id of [before, ...paidDuringOutage]) {
      assert.equal(text.split(`USD  ${id}\n`).length - 1, 2, `${id} in ${text}`);
    }
  });

  it('`tillway listen` names the oldest undelivered event at its end, from which --since forwards again', async () => {
    const port = await freePort();
    const target = `http://127.0.0.1:${port}/hook`;
    await using first = listen(on.url, '--forward-to', target);
    await first.waitForOutput('The events are signed with');
    const sessionId = await pay(on);
    await first.waitForOutput(new RegExp(`payment\\.paid .*${sessionId}`));
    await first.stop();
    const since = / --since (evt_\w+)\n$/.exec(first.stdout())![1]!;

    await using receiver = await openReceiver({ port });
    await using second = listen(on.url, '--forward-to', target, '--since', since);
    await until(() => eventsOf(sessionId).every((id) => receiver.receivedIds().includes(id)));
    const later = await pay(on);
    await until(() => receiver.receivedIds().includes(`evt_${later}_paid`));
    await second.stop();
    const forwardedIds = receiver.receivedIds().filter((id) => id?.includes(sessionId) || id?.includes(later));
    assert.deepEqual(forwardedIds, [...eventsOf(sessionId), ...eventsOf(later)]);
  });

  it('`tillway listen` signs with WEBHOOK_SECRET, which it does not print, and accepts a target URL without a scheme', async () => {
    await using receiver = await openReceiver();
    const secret = `whsec_${Buffer.alloc(24, 6).toString('base64')}`;
    const target = receiver.url.replace('http://', '');
    for (const args of [[], ['--json']]) {
      await using listening = listen(on.url, { webhookSecret: secret }, '--forward-to', target, ...args);
      await listening.waitForOutput(/WEBHOOK_SECRET|listen_started.*"secret":null/);
      const sessionId = await pay(on);
      await until(() => receiver.receivedIds().includes(`evt_${sessionId}_paid`));
      await listening.stop();
      assert.ok(!listening.stdout().includes(secret));
    }
    for (const { headers, body } of receiver.received) await webhooks.verify(body, headers, secret);
    const refused = await runWith({ url: on.url, webhookSecret: 'hello' }, 'listen', '--forward-to', target);
    assert.equal(refused.code, 2);
    assert.match(refused.stderr, /WEBHOOK_SECRET must be whsec_/);
  });

  it('`tillway listen` waits while another program answers at the URL of the service', async () => {
    const none = '{"object":"list","data":[],"hasMore":false}';
    let answer = none;
    const metadata = { note: 'a\u009b31mb\u202e' };
    const data = { session_id: 'chk_1', amount: 1, metadata };
    const event = { id: 'evt_1', type: 'payment.paid', livemode: false, created: '2026-03-01T12:00:00.000Z', data };
    await using service = await startServer(({ url = '' }, response) => {
      response.setHeader('content-type', 'application/json').end(url.endsWith('after=evt_1') ? none : answer);
    });
    await using receiver = await openReceiver();
    await using listening = listen(service.url, '--forward-to', receiver.url, '--json');
    await listening.waitForOutput('listen_started');
    answer = '{"status":"starting"}';
    await listening.waitForOutput('"object":"service_reach"');
    answer = JSON.stringify({ object: 'list', data: [event], hasMore: false });
    await listening.waitForOutput('"object":"forward","eventId":"evt_1"');
    assert.equal(await listening.stop(), 0);
    const shown = listening.lines().find(({ object }) => object === 'event');
    assert.deepEqual(shown, { object: 'event', event });
    const ended = { object: 'listen_ended', events: 1, forwarded: 1, since: null };
    assert.deepEqual(listening.lines().at(-1), ended);
    // oxlint-disable-next-line no-control-regex -- the output must not contain these
    assert.doesNotMatch(listening.stdout(), /[\u0080-\u009f\u202e]/);
  });

  it('`tillway listen` exits if its output cannot be written', async () => {
    await using receiver = await openReceiver();
    const outputStarted = Promise.withResolvers<void>();
    const failingWrite = (text: string) => {
      if (text.includes('->')) throw new Error('the output is closed');
      outputStarted.resolve();
    };
    await using listening = listen(on.url, { write: failingWrite }, '--forward-to', receiver.url);
    const ended = assert.rejects(listening.ended, /the output is closed/);
    // `tillway listen` does not forward events from before its start.
    await outputStarted.promise;
    await pay(on);
    await ended;
  });

  it('`tillway listen` rejects invalid options, and shows a valid form', async () => {
    const REFUSED: [options: string, code: number, message: RegExp][] = [
      ['--forward-to ftp://localhost', 2, /takes a URL such as/],
      ['--since evt_chk_1_paid', 1, /evt_chk_1_paid/],
      ['--events payment.paid,payment.lost', 2, /takes payment\.provider_pending[^]* not "payment\.lost"/],
      ['--forward-to http://127.0.0.1:1 --secret whsec_c2hvcnQ=', 2, /base64 of 24 to 64 bytes/],
      ['--environment test', 2, /sandbox, production/],
    ];
    for (const target of ['http://me:hunter2@localhost:4000', 'me:hunter2@localhost:4000', 'me:hunter2@']) {
      REFUSED.push([`--forward-to ${target}`, 2, /^(?![^]*hunter2)[^]*without user name and password/]);
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
