import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Tillway, VERSION } from '../../sdk/src/index.ts';
import manifest from '../../sdk/package.json' with { type: 'json' };
import { startTestService } from '../support/service.ts';
import { scriptedFetch } from './recorder.ts';

const BODY = { product: 'Field guide', amount: 49.99, customer: 'buyer@example.com' };
const SAMPLE = { eventId: 'e', sessionId: 'chk_x', status: 'paid', amount: 1 } as const;
const RULES = { version: 1, rules: [] } as const;

/** Every method of the client that is an endpoint, as somebody would call it. */
const CALLS: Record<string, (tillway: Tillway) => Promise<unknown>> = {
  'sessions.create': (tillway) => tillway.sessions.create(BODY),
  'sessions.list': (tillway) => tillway.sessions.list(),
  'sessions.get': (tillway) => tillway.sessions.get('chk_x'),
  'sessions.expire': (tillway) => tillway.sessions.expire('chk_x'),
  'customers.list': (tillway) => tillway.customers.list(),
  'customers.get': (tillway) => tillway.customers.get('cus_x'),
  'payments.list': (tillway) => tillway.payments.list(),
  'payments.get': (tillway) => tillway.payments.get('pay_x'),
  'invoices.list': (tillway) => tillway.invoices.list(),
  'invoices.get': (tillway) => tillway.invoices.get('inv_x'),
  'events.list': (tillway) => tillway.events.list(),
  'events.get': (tillway) => tillway.events.get('evt_x'),
  'events.resend': (tillway) => tillway.events.resend('evt_x'),
  'deliveries.list': (tillway) => tillway.deliveries.list(),
  'deliveries.get': (tillway) => tillway.deliveries.get('dlv_x'),
  'deliveries.replay': (tillway) => tillway.deliveries.replay('dlv_x'),
  'checkout.preview': (tillway) => tillway.checkout.preview(BODY),
  'checkout.create': (tillway) => tillway.checkout.create(BODY),
  'fees.estimate': (tillway) => tillway.fees.estimate({ amount: 1 }),
  'routes.list': (tillway) => tillway.routes.list({ environment: 'production' }),
  'routing.decisions': (tillway) => tillway.routing.decisions('chk_x'),
  'routing.replay': (tillway) => tillway.routing.replay('chk_x'),
  'routing.dryRun': (tillway) => tillway.routing.dryRun({ amount: 1 }),
  'routing.backtest': (tillway) => tillway.routing.backtest(),
  'routing.rules': (tillway) => tillway.routing.rules({ version: 3 }),
  'routing.saveRules': (tillway) => tillway.routing.saveRules({ ...RULES, rules: [] }),
  'routing.routes': (tillway) => tillway.routing.routes(),
  'routing.overrideHealth': (tillway) => tillway.routing.overrideHealth('rt_x', { health: 'standby' }),
  'routing.transitions': (tillway) => tillway.routing.transitions(),
  'webhooks.example': (tillway) => tillway.webhooks.example(),
  'webhooks.verifySample': (tillway) => tillway.webhooks.verifySample({ payload: SAMPLE }),
  'testClock.get': (tillway) => tillway.testClock.get(),
  'testClock.advance': (tillway) => tillway.testClock.advance({ seconds: 1 }),
  schema: (tillway) => tillway.schema('fees.estimate'),
  capabilities: (tillway) => tillway.capabilities(),
};
/** What is no endpoint of its own: for those that have no method, and what asks one again and again. */
const OTHERS = ['request', 'testClock.ready'];

const GOOD = { body: { ok: true, result: {}, routes: [], object: 'list', data: [], hasMore: false } };

/** `METHOD /path/{}`, with every parameter as `{}`. */
function nameless(method: string, path: string): string {
  return `${method.toUpperCase()} ${path.replace(/\{\w+\}|\b(?:chk|cus|pay|inv|evt|dlv|rt)_x\b|\bfees\.estimate$/g, '{}')}`;
}

/** The two actions and the schema of the same name differ in their folder, so that only the last part is a parameter. */
function endpointOf(method: string, path: string): string {
  return path.startsWith('/api/agent/actions/') ? `${method.toUpperCase()} ${path}` : nameless(method, path);
}

function methodNames(value: object): string[] {
  return Object.getOwnPropertyNames(Object.getPrototypeOf(value)).filter((name) => name !== 'constructor');
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
    for (const call of Object.values(CALLS)) {
      const { fetch, sent } = scriptedFetch(GOOD);
      await call(new Tillway({ fetch }));
      assert.equal(sent.length, 1);
      called.push(endpointOf(sent[0]!.method, sent[0]!.target.split('?')[0]!));
    }
    assert.deepEqual(called.toSorted(), described.toSorted());
  });

  test('has no method that this test does not know', () => {
    const tillway = new Tillway();
    const found = Object.entries(tillway).flatMap(([name, resource]) =>
      methodNames(resource as object).map((method) => `${name}.${method}`),
    );
    assert.deepEqual([...found, ...methodNames(tillway)].toSorted(), [...Object.keys(CALLS), ...OTHERS].toSorted());
  });

  test('says who it is, and sends what it is given', async () => {
    const { fetch, sent } = scriptedFetch(GOOD);
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
    const { fetch, sent } = scriptedFetch(GOOD);
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
    const { fetch, sent } = scriptedFetch(GOOD);
    const tillway = new Tillway({ fetch });
    await tillway.customers.get('a/b?c#d é');
    assert.equal(sent.pop()!.target, '/api/gateway/customers/a%2Fb%3Fc%23d%20%C3%A9');
    for (const id of ['', '.', '..', undefined as unknown as string, null as unknown as string]) {
      await assert.rejects(tillway.sessions.get(id), { name: 'TypeError', message: /^sessionId must be a string/ });
    }
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
