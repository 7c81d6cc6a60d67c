import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type RawRequest, Tillway, VERSION } from '../../sdk/src/index.ts';
import manifest from '../../sdk/package.json' with { type: 'json' };
import { startTestService } from '../support/service.ts';
import { BODY, CALLS } from './calls.ts';
import { readmeMethods } from './readme.ts';
import { scriptedFetch } from './recorder.ts';

/** Methods that do not correspond to one endpoint. */
const NOT_ONE_ENDPOINT = ['events.feed', 'request', 'testClock.ready'];
/** Methods whose response is a file; test/sdk/ledger.test.ts tests them. */
const FILE_METHODS: Record<string, string> = { 'ledger.export': 'GET /api/gateway/ledger/export' };

/** Methods that the client does not retry, because a repetition has a further effect. */
const NOT_RETRIED = [
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

/** `METHOD /path/{}`, with every parameter as `{}`. Actions have their name in the path. */
function endpointOf(method: string, path: string): string {
  const parameter = /\{\w+\}|\b(?:chk|cus|pay|inv|evt|dlv|rt|whe|ref|key|dis|rcv|exp)_x\b|\bfees\.estimate$/g;
  const isAction = path.startsWith('/api/agent/actions/');
  return `${method.toUpperCase()} ${isAction ? path : path.replace(parameter, '{}')}`;
}

/** Number of requests that a call sends if the first response is 503. */
async function attemptsOf(call: (tillway: Tillway) => Promise<unknown>, body: unknown = {}): Promise<number> {
  const unavailable = { status: 503, body: { ok: false, error: { code: 'unavailable', message: 'Stopping.' } } };
  const { fetch, sent } = scriptedFetch(unavailable, { body });
  await call(new Tillway({ fetch, maxRetries: 1 })).catch(() => undefined);
  return sent.length;
}

function methodNames(value: object): string[] {
  const prototype = Object.getPrototypeOf(value) as object | null;
  if (prototype === null || prototype === Object.prototype) return [];
  const members = Object.entries(Object.getOwnPropertyDescriptors(prototype));
  const own = members.filter(([name, { value: member }]) => name !== 'constructor' && typeof member === 'function');
  return [...new Set([...own.map(([name]) => name), ...methodNames(prototype)])];
}

describe('the SDK client', () => {
  test('the SDK client has exactly one method for each endpoint that the service describes', async () => {
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
    assert.deepEqual([...called, ...Object.values(FILE_METHODS)].toSorted(), described.toSorted());
  });

  test('the SDK client has exactly the methods that its README lists and these tests call', () => {
    const tillway = new Tillway();
    const found = Object.entries(tillway).flatMap(([name, resource]) =>
      methodNames(resource as object).map((method) => `${name}.${method}`),
    );
    const known = [...Object.keys(CALLS), ...Object.keys(FILE_METHODS), ...NOT_ONE_ENDPOINT].toSorted();
    assert.deepEqual([...found, ...methodNames(tillway)].toSorted(), known);
    assert.deepEqual(readmeMethods().toSorted(), known);
  });

  test('the SDK client retries only methods whose repetition has no further effect', async () => {
    const attempts = await Promise.all(
      Object.entries(CALLS).map(async ([name, { call, answer }]) => ({ name, count: await attemptsOf(call, answer) })),
    );
    assert.deepEqual(attempts.flatMap(({ name, count }) => (count === 1 ? [name] : [])).toSorted(), NOT_RETRIED);
  });

  test('the SDK client retries a raw request only with an idempotent HTTP method or an idempotency key', async () => {
    const path = '/api/new';
    const attempts = (request: RawRequest) => attemptsOf((tillway) => tillway.request(request));
    for (const method of ['GET', 'PUT', 'DELETE'] as const) assert.equal(await attempts({ method, path }), 2, method);
    for (const method of ['POST', 'PATCH'] as const) assert.equal(await attempts({ method, path }), 1, method);
    assert.equal(await attempts({ method: 'POST', path, idempotencyKey: 'key-12345' }), 2);
  });

  test('the SDK client sends its version, and the headers and parameters of the caller', async () => {
    const { fetch, sent } = scriptedFetch({ body: CALLS['payments.list']!.answer });
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

  test('the SDK client adds an idempotency key to each creation request that has none', async () => {
    const calls = ['sessions.create', 'checkout.create', 'sessions.create', 'checkout.preview'];
    const { fetch, sent } = scriptedFetch(...calls.map((name) => ({ body: CALLS[name]!.answer })));
    const tillway = new Tillway({ fetch });
    await tillway.sessions.create(BODY);
    await tillway.checkout.create(BODY);
    await tillway.sessions.create({ ...BODY, idempotencyKey: 'order-1001' });
    await tillway.checkout.preview(BODY);
    const keys = sent.map(({ body }) => (body as { idempotencyKey?: string }).idempotencyKey);
    for (const key of keys.slice(0, 2)) assert.match(key!, /^sdk-[0-9a-f-]{36}$/);
    assert.notEqual(keys[0], keys[1]);
    assert.deepEqual(keys.slice(2), ['order-1001', undefined]);
  });

  test('the SDK client encodes ids, and rejects ids that would address another endpoint', async () => {
    const { fetch, sent } = scriptedFetch({ body: CALLS['customers.get']!.answer });
    const tillway = new Tillway({ fetch });
    await tillway.customers.get('a/b?c#d é');
    assert.equal(sent.pop()!.target, '/api/gateway/customers/a%2Fb%3Fc%23d%20%C3%A9');
    for (const id of ['', '.', '..', undefined as unknown as string, null as unknown as string]) {
      await assert.rejects(tillway.sessions.get(id), { name: 'TypeError', message: /^sessionId must be / });
    }
    await assert.rejects(tillway.sessions.get('chk_\ud800'), { name: 'TypeError', message: /lone surrogate/ });
    assert.deepEqual(sent, []);
  });

  test('the SDK client rejects parameters that are absent or no object', async () => {
    const { fetch, sent } = scriptedFetch({});
    const tillway = new Tillway({ fetch });
    for (const given of [undefined, null, 'Field guide', [BODY]]) {
      const params = given as unknown as typeof BODY;
      for (const promise of [tillway.sessions.create(params), tillway.checkout.create(params)]) {
        await assert.rejects(promise, { name: 'TypeError', message: /parameters must be an object, not / });
      }
    }
    await assert.rejects(tillway.fees.estimate(undefined as unknown as { amount: number }), { name: 'TypeError' });
    assert.deepEqual(sent, []);
  });

  test('the SDK client sends a raw request', async () => {
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

  test('the SDK client rejects an invalid base URL, timeout or number of retries', () => {
    const invalid = ['pay.example', 'ftp://pay.example', '', 'https://pay.example/?a=1', 'https://a:b@pay.example'];
    for (const baseUrl of invalid) {
      assert.throws(() => new Tillway({ baseUrl }), { name: 'TypeError', message: /^baseUrl must/ }, baseUrl);
    }
    for (const timeoutMs of [0, Number.NaN]) assert.throws(() => new Tillway({ timeoutMs }), /timeoutMs must be/);
    assert.throws(() => new Tillway({ maxRetries: -1 }), /maxRetries must be/);
  });
});
