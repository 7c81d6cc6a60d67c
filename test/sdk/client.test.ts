import assert from 'node:assert/strict';
import { type TestContext, describe, test } from 'node:test';
import { type RawRequest, Tillway, VERSION } from '../../sdk/src/index.ts';
import manifest from '../../sdk/package.json' with { type: 'json' };
import { startTestService } from '../support/service.ts';
import { BODY, CALLS } from './calls.ts';
import { readmeMethods } from './readme.ts';
import { type Scripted, scriptedFetch } from './recorder.ts';

/** What is no endpoint of its own: for those that have no method, and what asks one again and again. */
const OTHERS = ['events.feed', 'request', 'testClock.ready'];
/** Methods whose answers are files: test/sdk/ledger.test.ts has them. */
const FILES: Record<string, string> = { 'ledger.export': 'GET /api/gateway/ledger/export' };

/** What would be done twice if it were sent twice. */
const ONCE = [
  'apiKeys.create',
  'deliveries.replay',
  'discrepancies.resolve',
  'events.resend',
  'routing.overrideHealth',
  'testClock.advance',
  'webhookEndpoints.create',
  'webhookEndpoints.delete',
  'webhookEndpoints.rotateSecret',
  'webhookEndpoints.test',
];

function answerTo(method: string): Scripted {
  return { body: CALLS[method]!.answer };
}

/** `METHOD /path/{}`, with every parameter as `{}`. */
function nameless(method: string, path: string): string {
  return `${method.toUpperCase()} ${path.replace(/\{\w+\}|\b(?:chk|cus|pay|inv|evt|dlv|rt|whe|ref|key|dis|rcv)_x\b|\bfees\.estimate$/g, '{}')}`;
}

/** The two actions and the schema of the same name differ in their folder, so that only the last part is a parameter. */
function endpointOf(method: string, path: string): string {
  return path.startsWith('/api/agent/actions/') ? `${method.toUpperCase()} ${path}` : nameless(method, path);
}

const UNAVAILABLE = { status: 503, body: { ok: false, error: { code: 'unavailable', message: 'Stopping.' } } };

const HURRY = 100;

/** What a call comes to, on timers that run faster. Not on mocked ones: those that others here have begun would get lost. */
async function hurried(context: TestContext, send: () => Promise<unknown>): Promise<unknown> {
  const { setTimeout } = globalThis;
  const faster = (run: () => void, ms: number) => setTimeout(run, ms / HURRY);
  const mocked = context.mock.method(globalThis, 'setTimeout', faster as typeof setTimeout);
  return send().finally(() => mocked.mock.restore());
}

function methodNames(value: object): string[] {
  const prototype = Object.getPrototypeOf(value) as object | null;
  if (prototype === null || prototype === Object.prototype) return [];
  const own = Object.getOwnPropertyNames(prototype).filter((name) => name !== 'constructor');
  return [...own, ...methodNames(prototype)];
}

describe('the client', () => {
  test('has exactly one method for each endpoint that the service describes', async () => {
    await using service = await startTestService();
    const document = (await (await fetch(`${service.url}/openapi.json`)).json()) as { paths: Record<string, object> };
    const described = Object.entries(document.paths)
      .filter(([path]) => path.startsWith('/api/'))
      .flatMap(([path, methods]) => Object.keys(methods).map((method) => endpointOf(method, path)));
    assert.ok(described.length > 30);
    const called: string[] = [];
    for (const { call, answer } of Object.values(CALLS)) {
      const { fetch, sent } = scriptedFetch({ body: answer });
      await call(new Tillway({ fetch }));
      assert.equal(sent.length, 1);
      called.push(endpointOf(sent[0]!.method, sent[0]!.target.split('?')[0]!));
    }
    assert.deepEqual([...called, ...Object.values(FILES)].toSorted(), described.toSorted());
  });

  test('has no method that this test does not know, and its README has the same', () => {
    const tillway = new Tillway();
    const found = Object.entries(tillway).flatMap(([name, resource]) =>
      methodNames(resource as object).map((method) => `${name}.${method}`),
    );
    const known = [...Object.keys(CALLS), ...Object.keys(FILES), ...OTHERS].toSorted();
    assert.deepEqual([...found, ...methodNames(tillway)].toSorted(), known);
    assert.deepEqual(readmeMethods().toSorted(), known);
  });

  test('sends again what comes to the same when it is done twice, and nothing else', async (context) => {
    const sentOnce: string[] = [];
    for (const [name, { call, answer }] of Object.entries(CALLS)) {
      const { fetch, sent } = scriptedFetch(UNAVAILABLE, { body: answer });
      await hurried(context, () => call(new Tillway({ fetch, maxRetries: 1 }))).catch(() => undefined);
      if (sent.length === 1) sentOnce.push(name);
    }
    assert.deepEqual(sentOnce.toSorted(), ONCE);
  });

  test('sends a request that has no method again by what HTTP says of it, or where it has a key', async (context) => {
    const attempts = async (request: RawRequest) => {
      const { fetch, sent } = scriptedFetch(UNAVAILABLE, { body: {} });
      await hurried(context, () => new Tillway({ fetch, maxRetries: 1 }).request(request)).catch(() => undefined);
      return sent.length;
    };
    const path = '/api/new';
    for (const method of ['GET', 'PUT', 'DELETE'] as const) assert.equal(await attempts({ method, path }), 2, method);
    for (const method of ['POST', 'PATCH'] as const) assert.equal(await attempts({ method, path }), 1, method);
    assert.equal(await attempts({ method: 'POST', path, idempotencyKey: 'key-12345' }), 2);
  });

  test('says who it is, and sends what it is given', async () => {
    const { fetch, sent } = scriptedFetch(answerTo('payments.list'));
    const tillway = new Tillway({ fetch, baseUrl: 'https://pay.example/till/', headers: { 'x-proxy': 'open' } });
    await tillway.payments.list({ limit: 5, status: 'paid', paymentId: undefined }, { headers: { 'x-call': 'one' } });
    assert.deepEqual(sent, [
      {
        method: 'GET',
        target: '/till/api/gateway/payments?limit=5&status=paid',
        headers: {
          accept: 'application/json',
          'user-agent': `tillway-sdk/${VERSION}`,
          'x-proxy': 'open',
          'x-call': 'one',
        },
        body: undefined,
      },
    ]);
    assert.equal(VERSION, manifest.version);
  });

  test('makes a key for each creation that has none, and keeps one that is given', async () => {
    const { fetch, sent } = scriptedFetch(
      answerTo('sessions.create'),
      answerTo('checkout.create'),
      answerTo('sessions.create'),
      answerTo('checkout.preview'),
    );
    const tillway = new Tillway({ fetch });
    await tillway.sessions.create(BODY);
    await tillway.checkout.create(BODY);
    await tillway.sessions.create({ ...BODY, idempotencyKey: 'order-1001' });
    await tillway.checkout.preview(BODY);
    const keys = sent.map(({ body }) => (body as { idempotencyKey?: string }).idempotencyKey);
    assert.match(keys[0]!, /^sdk-[0-9a-f-]{36}$/);
    assert.match(keys[1]!, /^sdk-[0-9a-f-]{36}$/);
    assert.notEqual(keys[0], keys[1]);
    assert.deepEqual(keys.slice(2), ['order-1001', undefined]);
  });

  test('encodes ids, and sends nothing for one that would name another endpoint', async () => {
    const { fetch, sent } = scriptedFetch(answerTo('customers.get'));
    const tillway = new Tillway({ fetch });
    await tillway.customers.get('a/b?c#d é');
    assert.equal(sent.pop()!.target, '/api/gateway/customers/a%2Fb%3Fc%23d%20%C3%A9');
    for (const id of ['', '.', '..', undefined as unknown as string, null as unknown as string]) {
      await assert.rejects(tillway.sessions.get(id), { name: 'TypeError', message: /^sessionId must be a string/ });
    }
    await assert.rejects(tillway.sessions.get('chk_\ud800'), { name: 'TypeError', message: /half a character/ });
    assert.deepEqual(sent, []);
  });

  test('sends nothing where the parameters were forgotten, or are no object', async () => {
    const { fetch, sent } = scriptedFetch({});
    const tillway = new Tillway({ fetch });
    for (const given of [undefined, null, 'Field guide', [BODY]]) {
      const params = given as unknown as typeof BODY;
      for (const promise of [tillway.sessions.create(params), tillway.checkout.create(params)]) {
        await assert.rejects(promise, { name: 'TypeError', message: /its parameters must be an object, not / });
      }
    }
    await assert.rejects(tillway.sessions.create(undefined as unknown as typeof BODY), {
      message: 'POST /api/gateway/sessions: its parameters must be an object, not undefined',
    });
    await assert.rejects(tillway.fees.estimate(undefined as unknown as { amount: number }), { name: 'TypeError' });
    assert.deepEqual(sent, []);
  });

  test('reaches what has no method', async () => {
    const { fetch, sent } = scriptedFetch({ body: { a: 1 } });
    const tillway = new Tillway({ fetch });
    const answer = await tillway.request<{ a: number }>({
      method: 'POST',
      path: '/api/new',
      query: { deep: true, none: undefined },
      body: { x: 1 },
      idempotencyKey: 'key-12345',
    });
    assert.equal(answer.a, 1);
    assert.equal(sent[0]!.target, '/api/new?deep=true');
    assert.deepEqual(sent[0]!.body, { x: 1, idempotencyKey: 'key-12345' });
    await assert.rejects(tillway.request({ method: 'GET', path: 'api/new' }), { message: /must start with a slash/ });
  });

  test('waits for the test clock until that is ready', async () => {
    const moving = { body: { object: 'test_clock', status: 'advancing' } };
    const { fetch, sent } = scriptedFetch(moving, moving, { body: { object: 'test_clock', status: 'ready' } });
    assert.equal((await new Tillway({ fetch }).testClock.ready()).status, 'ready');
    assert.equal(sent.length, 3);
  });

  for (const baseUrl of [
    'pay.example',
    'ftp://pay.example',
    '',
    'https://pay.example/?a=1',
    'https://a:b@pay.example',
  ]) {
    test(`does not take ${JSON.stringify(baseUrl)} as its base`, () => {
      assert.throws(() => new Tillway({ baseUrl }), { name: 'TypeError', message: /^baseUrl must/ });
    });
  }

  test('does not take limits that cannot be meant', () => {
    assert.throws(() => new Tillway({ timeoutMs: 0 }), /timeoutMs must be/);
    assert.throws(() => new Tillway({ timeoutMs: Number.NaN }), /timeoutMs must be/);
    assert.throws(() => new Tillway({ maxRetries: -1 }), /maxRetries must be/);
  });
});
