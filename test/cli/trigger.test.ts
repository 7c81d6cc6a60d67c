import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { after, before, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { OUTCOMES, withTag } from '../../src/cli/trigger/outcomes.ts';
import { HANDOFF_TAGS, INSTRUMENTS } from '../../src/simulator/test-instruments.ts';
import { stateOf } from '../simulator/buyer.ts';
import { type TestService, call, sessionBody, startTestService } from '../support/service.ts';
import { temporaryFolder } from '../process/program.ts';
import { startServer } from '../support/http-server.ts';
import { runWith } from './terminal.ts';

const ROUTES = new URL('../../config/routes.json', import.meta.url);

interface Triggered {
  outcome: string;
  steps: string[];
  session: { id: string; status: string; amount: number; customer: string; metadata: Record<string, string> };
  payments: { id: string; status: string; route: { kind: string } }[];
  events: { id: string; type: string }[];
}

/** Runs `tillway trigger` with a real clock and shortened waits. */
async function trigger(on: { url: string }, ...args: string[]) {
  const terminal = { url: on.url, now: () => Date.now(), sleep: (ms: number) => pause(ms / 10) };
  const ended = await runWith(terminal, ...['trigger', ...args].join(' ').split(' '));
  return { ...ended, answer: () => JSON.parse(ended.stdout) as Triggered };
}

describe('the outcomes of tillway trigger', () => {
  it('the outcomes of `tillway trigger` include every instrument and tag of the simulated provider', () => {
    const chosen = new Set(OUTCOMES.map(({ instrument }) => instrument));
    assert.deepEqual(
      INSTRUMENTS.filter(({ id }) => !chosen.has(id)),
      [],
    );
    const tags = new Set(OUTCOMES.map(({ tag }) => tag));
    assert.deepEqual(
      HANDOFF_TAGS.filter(({ tag }) => !tags.has(tag)),
      [],
    );
  });

  it('the outcomes of `tillway trigger` have unique names that begin with their last event', () => {
    assert.ok(OUTCOMES.every(({ name, ends }) => name === ends || name.startsWith(`${ends}.`)));
    assert.equal(new Set(OUTCOMES.map(({ name }) => name)).size, OUTCOMES.length);
  });

  it('the outcomes of `tillway trigger` add their tag to the email address of the customer', () => {
    assert.equal(withTag('ann@example.com', 'handoff_error'), 'ann+handoff_error@example.com');
    assert.equal(withTag('ann@example.com', undefined), 'ann@example.com');
  });
});

describe('tillway trigger', { concurrency: 4 }, () => {
  let on: TestService;
  before(async () => {
    on = await startTestService({ live: true });
  });
  after(() => on[Symbol.asyncDispose]());

  // This list omits outcomes that take half a minute each or leave the routes in standby.
  const QUICK: [name: string, kind: string, session: string, payments: string[], events: string[]][] = [
    ['payment.provider_pending', 'card', 'pending', ['pending'], ['provider_pending']],
    ['payment.provider_pending.wrong_amount', 'wallet', 'pending', ['pending'], ['provider_pending']],
    ['payment.paid', 'card', 'paid', ['paid'], ['provider_pending', 'paid']],
    ['payment.paid.after_decline', 'wallet', 'paid', ['failed', 'paid'], ['provider_pending', 'paid']],
    ['payment.paid.duplicates', 'card', 'paid', ['paid'], ['provider_pending', 'paid']],
    ['payment.paid.reordered', 'card', 'paid', ['paid'], ['provider_pending', 'paid']],
    ['payment.failed', 'card', 'failed', ['failed', 'failed', 'failed'], ['provider_pending', 'failed']],
    ['payment.failed.cancelled', 'card', 'failed', ['failed'], ['provider_pending', 'failed']],
  ];
  for (const [name, kind, session, payments, events] of QUICK) {
    it(`\`tillway trigger ${name}\` with a ${kind} payment brings a checkout to this outcome`, async () => {
      const { code, stderr, answer } = await trigger(on, name, '--kind', kind, '--json');
      assert.deepEqual([code, stderr], [0, '']);
      const { session: shownSession, payments: shownPayments, events: shownEvents, steps, outcome } = answer();
      const state = await stateOf(on, shownSession.id);
      assert.deepEqual([outcome, state.session, state.payments], [name, session, payments]);
      assert.deepEqual(
        [shownSession.status, shownPayments.map(({ status }) => status).toReversed()],
        [session, payments],
      );
      assert.ok(shownPayments.every(({ route }) => route.kind === kind));
      assert.deepEqual(
        shownEvents.map(({ type }) => type),
        events.map((status) => `payment.${status}`),
      );
      assert.match(steps.join('\n'), /^opens http[^]*\nchooses to pay by/);
    });
  }

  it('`tillway trigger` prints the actions of the buyer and the outcome', async () => {
    const { code, stdout, stderr } = await trigger(on, 'payment.paid', '--amount', '120.5');
    assert.deepEqual([code, stderr], [0, '']);
    assert.match(
      stdout,
      /^buyer {2}opens http\S+\/checkout\/chk_\w+\nbuyer {2}chooses to pay by \w+\nbuyer {2}pays at /,
    );
    assert.match(stdout, /\nStatus +paid\n[^]*\nAmount +120\.50 USD\n/);
    assert.match(stdout, /\npay_\w+ +paid /);
    assert.match(stdout, /\npayment\.paid +evt_chk_\w+_paid\n$/);
  });

  it('`tillway trigger` creates the session with the options of the command', async () => {
    const options = ['--customer', 'ann@example.com', '--metadata', 'a=1', '--metadata', 'b=x=y'];
    const { customer, metadata } = (await trigger(on, 'payment.paid', ...options, '--json')).answer().session;
    assert.deepEqual([customer, metadata], ['ann@example.com', { a: '1', b: 'x=y' }]);
  });

  it('`tillway trigger` lists the outcomes', async () => {
    const { code, stdout } = await trigger(on, '--list');
    assert.equal(code, 0);
    for (const { name, summary } of OUTCOMES) assert.ok(stdout.includes(name) && stdout.includes(summary));
    const { data } = JSON.parse((await trigger(on, '--list', '--json')).stdout) as { data: { name: string }[] };
    assert.deepEqual(
      data.map(({ name }) => name),
      OUTCOMES.map(({ name }) => name),
    );
  });

  it('`tillway trigger` rejects an unknown outcome or an invalid option', async () => {
    const REFUSED: [args: string[], code: number, message: RegExp][] = [
      [[], 2, /name an event; tillway trigger --list[^]*payment\.failed\.cancelled/],
      [['payment.pad'], 2, /^tillway: there is no event "payment\.pad" \(did you mean payment\.paid\?\); .*--list/],
      [['nothing'], 2, /^tillway: there is no event "nothing"; tillway trigger --list shows all events\n/],
      [['payment.paid --amount much'], 2, /--amount takes a number, such as 49\.99/],
      [['payment.paid --amount -1'], 1, /amount/],
      [['payment.paid --customer nobody'], 1, /customer/],
    ];
    for (const [args, code, message] of REFUSED) {
      const ended = await trigger(on, ...args);
      assert.deepEqual([ended.code, ended.stdout], [code, ''], args.join(' '));
      assert.match(ended.stderr, message);
    }
  });
});

describe('tillway trigger with routes that fail', () => {
  it('`tillway trigger payment.paid.failover` continues with the next route', async () => {
    await using on = await startTestService({ live: true });
    const { code, stderr, answer } = await trigger(on, 'payment.paid.failover', '--json');
    assert.deepEqual([code, stderr], [0, '']);
    const { payments, session } = answer();
    const statuses = payments.map(({ status }) => status);
    assert.deepEqual(statuses, ['paid', 'failed']);
    assert.equal(session.customer, 'buyer+handoff_error@example.com');
  });

  it('`tillway trigger payment.failed.provider_down` fails the session when no route is left', async () => {
    await using on = await startTestService({ live: true });
    const down = await trigger(on, 'payment.failed.provider_down', '--json');
    assert.deepEqual([down.code, down.stderr], [0, '']);
    assert.equal(down.answer().session.status, 'failed');
  });

  it('`tillway trigger` is rejected with the reason if the service has no sandbox routes', async () => {
    using folder = temporaryFolder();
    const { routes } = JSON.parse(readFileSync(ROUTES, 'utf8')) as { routes: { environment: string }[] };
    const live = routes.map((route) => ({ ...route, environment: 'production' }));
    writeFileSync(folder.path('routes.json'), JSON.stringify({ routes: live }));
    await using on = await startTestService({ variables: { ROUTES_FILE: folder.path('routes.json') } });
    const { code, stdout, stderr } = await trigger(on, 'payment.paid');
    assert.deepEqual([code, stdout], [1, '']);
    assert.match(stderr, /sandbox/);
  });
});

describe('tillway trigger --session', () => {
  let on: TestService;
  before(async () => {
    on = await startTestService({ live: true });
  });
  after(() => on[Symbol.asyncDispose]());
  const create = async (overrides: Record<string, unknown> = {}) =>
    (await call<{ id: string; checkoutUrl: string }>('POST', `${on.url}/api/gateway/sessions`, sessionBody(overrides)))
      .body;

  it('`tillway trigger --session` pays a session that another program created, by its id or its checkoutUrl', async () => {
    for (const field of ['id', 'checkoutUrl'] as const) {
      const session = await create();
      const { code, answer } = await trigger(on, 'payment.paid', '--session', session[field], '--json');
      assert.deepEqual([code, answer().session.id, answer().session.status], [0, session.id, 'paid']);
    }
  });

  it('`tillway trigger --session` rejects a session that cannot reach the outcome', async () => {
    const { id } = await create();
    const expired = await create();
    await call('POST', `${on.url}/api/gateway/sessions/${expired.id}/expire`);
    const live = await create({ environment: 'production', redirectUrl: 'https://shop.example/back' });
    for (const [line, code, complaint] of [
      [`payment.paid --amount 10 --session ${id}`, 2, /(?=[^]*--amount)(?=[^]*--session)[^]*cannot be used with/],
      ['payment.paid --session pay_1', 2, /chk_/],
      [`payment.paid --session ${id.slice(0, -4)}0000`, 1, /exists|There is no/],
      [`payment.paid.failover --session ${expired.id}`, 2, /omit --session/],
      [`payment.paid --session ${expired.id}`, 1, /is expired/],
      [`payment.paid --session ${live.id}`, 1, /production/],
    ] as const) {
      const refused = await trigger(on, line);
      assert.equal(refused.code, code, refused.stderr);
      assert.match(refused.stderr, complaint);
    }
  });
});

describe('tillway trigger with an untrusted service', () => {
  interface PageRequest {
    method: string | undefined;
    url: string | undefined;
    origin: string | undefined;
  }

  /** Starts a service with a minimal API that answers page requests with `answer` and records them. */
  async function openService(
    answer: (response: ServerResponse) => void,
    { checkout, types = [] }: { checkout?: string; types?: string[] } = {},
  ) {
    const pageRequests: PageRequest[] = [];
    const stub = await startServer((request, response) => {
      const { method, url = '', headers } = request;
      request.resume();
      const serviceUrl = `http://${headers.host}`;
      const sendJson = (body: object) =>
        response.setHeader('content-type', 'application/json').end(JSON.stringify(body));
      if (url.startsWith('/api/gateway/sessions')) {
        const id = 'chk_1\u001b]0;owned\u0007';
        const checkoutUrl = checkout ?? `${serviceUrl}/checkout/chk_1`;
        sendJson({ object: 'checkout_session', id, environment: 'sandbox', status: 'routed', checkoutUrl });
      } else if (url.startsWith('/api/')) {
        sendJson({ object: 'list', data: types.map((type) => ({ id: 'evt_1', type })), hasMore: false });
      } else {
        pageRequests.push({ method, url, origin: headers.origin });
        answer(response);
      }
    });
    return Object.assign(stub, { pageRequests });
  }

  it('`tillway trigger` follows no link or redirect to another origin', async () => {
    await using victim = await openService((response) => response.end());
    const link = `<a href="${victim.url}/_shutdown">Continue</a><input name="attempt" value="1">`;
    await using linking = await openService((response) => response.end(link));
    const { code, stderr } = await trigger(linking, 'payment.failed');
    assert.equal(code, 1);
    assert.ok(stderr.includes(`links to ${victim.url}/_shutdown, which is not the simulated provider`), stderr);
    const location = `${victim.url}/_shutdown`;
    await using redirecting = await openService((response) => response.writeHead(303, { location }).end());
    assert.match((await trigger(redirecting, 'payment.failed')).stderr, /answered 303/);
    assert.deepEqual(victim.pageRequests, []);
  });

  it('`tillway trigger` sends the origin of a form as a browser does, and prints no control character of a response', async () => {
    const form = '<input type="hidden" name="total_card" value="4999">';
    await using service = await openService((response) => response.end(form), { types: ['payment.paid'] });
    await trigger(service, 'payment.paid');
    const posts = service.pageRequests.filter(({ method }) => method === 'POST');
    assert.deepEqual(posts, [{ method: 'POST', url: '/checkout/chk_1/pay', origin: service.url }]);
    const { code, stdout, stderr } = await trigger(service, 'payment.failed');
    assert.equal(code, 1);
    assert.match(stderr, /should end with payment\.failed, but session chk_1[^]*has payment\.paid/);
    // oxlint-disable-next-line no-control-regex -- the output must not contain these
    assert.doesNotMatch(stdout + stderr, /[\u001b\u0007]/);
  });

  it('`tillway trigger` reports a session without a checkoutUrl', async () => {
    await using service = await openService((response) => response.end(), { checkout: 'nowhere' });
    const { code, stderr } = await trigger(service, 'payment.paid');
    assert.equal(code, 1);
    assert.match(stderr, /without checkoutUrl/);
  });
});
