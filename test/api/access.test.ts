// @run on=sqlite,postgres
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type Endpoint, scopesOf } from '../../src/contract/endpoint.ts';
import { jsonSchemaOf, sampleOf } from '../../src/contract/json-schema.ts';
import { KEY_SCOPES, type KeyScope, hashOfKey } from '../../src/domain/api-key.ts';
import type { ErrorCode } from '../../src/domain/gateway-error.ts';
import { ENVIRONMENTS, type Environment } from '../../src/domain/route.ts';
import type { AppDeps } from '../../src/http/app.ts';
import { servedEndpoints } from '../../src/http/openapi-endpoint.ts';
import { SERVICE_OPTIONS, restrictStore } from '../../src/operations/access/restrict-store.ts';
import type { Change, Store } from '../../src/store/store.ts';
import { openTestStore, createTestDatabase } from '../support/database.ts';
import { type HalfSent, sendHalf } from '../support/half-sent.ts';
import { BOOTSTRAP, type Keys, bearer, makeKey, makeKeys } from '../support/keys.ts';
import { providerSays } from '../support/money-arrives.ts';
import { type TestService, call, sessionBody, startTestService } from '../support/service.ts';
import { rpc } from '../mcp/rpc.ts';

const OTHER: Record<Environment, Environment> = { sandbox: 'production', production: 'sandbox' };
const SCOPE_NEEDED = /needs an API key of scope/;
// Every name in braces, by what its ids start with; of an operation there is one for all.
const PREFIXES: Record<string, string> = {
  sessionId: 'chk_',
  customerId: 'cus_',
  paymentId: 'pay_',
  invoiceId: 'inv_',
  eventId: 'evt_',
  deliveryId: 'dlv_',
  endpointId: 'whe_',
  refundId: 'ref_',
  discrepancyId: 'dis_',
  recoveryId: 'rcv_',
  keyId: 'key_',
};
const ROUTES: Record<Environment, string> = { sandbox: 'sandbox_card_acquirer', production: 'card_stripe' };

interface Answer {
  status: number;
  headers: Headers;
  text: string;
  code?: ErrorCode;
  message: string;
}

let service: TestService;
let keys: Keys;
let endpoints: readonly Endpoint[];
let ids: Record<Environment, Record<string, string>>;

before(async () => {
  service = await startTestService({
    // Of some requests the last byte is held back, until one of every endpoint has been begun.
    variables: { ...BOOTSTRAP, ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64'), REQUEST_TIMEOUT: '600' },
  });
  keys = await makeKeys(service.url);
  endpoints = servedEndpoints(service.service.deps as AppDeps);
  ids = { sandbox: await fill('sandbox'), production: await fill('production') };
});
after(() => service[Symbol.asyncDispose]());

/** A session that is paid, with all that comes of it, and another; answers an id of each kind. */
async function fill(environment: Environment): Promise<Record<string, string>> {
  const headers = bearer(keys[environment].admin);
  const { url } = service;
  const post = async (path: string, body?: unknown) => {
    const { status, body: answer } = await call<{ id: string }>('POST', `${url}/api/gateway/${path}`, body, headers);
    assert.equal(status, 200, `${path}: ${JSON.stringify(answer)}`);
    return answer.id;
  };
  const endpointId = await post('webhook-endpoints', { environment, url: 'https://shop.example/hooks' });
  const sessionId = await post('sessions', sessionBody({ environment, customer: `${environment}@example.com` }));
  const other = await post('sessions', sessionBody({ environment, customer: `${environment}@example.com` }));
  await providerSays(service, sessionId, 'paid', { amount: 4999 });
  // An unexpected amount creates a discrepancy.
  await providerSays(service, other, 'paid', { amount: 1 });
  const recoveryId = await post(`webhook-endpoints/${endpointId}/recover`, { from: '2026-03-01T00:00:00.000Z' });
  const found: Record<string, string> = { routeId: ROUTES[environment], recoveryId };
  const paymentsUrl = `${url}/api/gateway/payments`;
  const { body: payments } = await call<{ data: { id: string }[] }>('GET', paymentsUrl, undefined, headers);
  await post(`payments/${payments.data[0]!.id}/refunds`, { amount: 1 });
  for (const endpoint of endpoints) {
    if (endpoint.method !== 'GET' || endpoint.path.includes('{')) continue;
    const { text } = await ask(endpoint, keys[environment].admin, {});
    for (const [name, prefix] of Object.entries(PREFIXES)) {
      const id = new RegExp(`"id":"(${prefix}\\w+)"`).exec(text)?.[1];
      if (id !== undefined) found[name] ??= id;
    }
  }
  // The one that is paid.
  return { ...found, operation: 'fees.estimate', sessionId };
}

/** Request of the example of an endpoint, for that environment. */
function requestOf(
  endpoint: Endpoint,
  key: string | undefined,
  params: Record<string, string>,
  environment: Environment = 'sandbox',
) {
  const { method, body, requestExample = {} } = endpoint;
  const path = endpoint.path.replace(/\{(\w+)\}/g, (_, name: string) => params[name] ?? `${PREFIXES[name] ?? ''}x`);
  const takesEnvironment = body && 'environment' in (jsonSchemaOf(body, 'input').properties ?? {});
  const isText = endpoint.bodyType === 'text/csv';
  const sent = isText
    ? String(sampleOf(jsonSchemaOf(body!, 'input')))
    : JSON.stringify({ ...(requestExample as object), ...(takesEnvironment && { environment }) });
  const headers = {
    ...(key !== undefined && bearer(key)),
    ...(body && { 'content-type': isText ? 'text/csv' : 'application/json' }),
  };
  return { url: service.url + path, method, headers, ...(body && { body: sent }) };
}

async function ask(...asked: Parameters<typeof requestOf>): Promise<Answer> {
  const { url, ...init } = requestOf(...asked);
  const response = await fetch(url, init);
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.startsWith('application/json') === true;
  const error = isJson ? (JSON.parse(text) as { error?: { code: ErrorCode; message: string } }).error : undefined;
  return {
    status: response.status,
    headers: response.headers,
    text,
    message: error?.message ?? '',
    ...(error && { code: error.code }),
  };
}

const nameOf = ({ method, path }: Endpoint) => `${method} ${path}`;
const namesIn = ({ path }: Endpoint) => [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!);

describe('every endpoint', () => {
  it('has a record in this test for each name in its path', () => {
    for (const environment of ENVIRONMENTS) {
      const wanted = [...new Set(endpoints.flatMap(namesIn))];
      assert.deepEqual(
        wanted.filter((name) => ids[environment][name] === undefined),
        [],
        environment,
      );
    }
  });

  it('answers 401 without a key, before it looks at anything else of the request', async () => {
    for (const endpoint of endpoints) {
      const answer = await ask(endpoint, undefined, {});
      assert.equal(answer.status, 401, nameOf(endpoint));
      assert.equal(answer.code, 'unauthorized');
      assert.equal(answer.headers.get('www-authenticate'), 'Bearer');
      const head = endpoint.method === 'GET' && (await fetch(service.url + endpoint.path, { method: 'HEAD' }));
      if (head) assert.equal(head.status, 401, nameOf(endpoint));
    }
  });

  it('admits exactly the scopes of its access', async () => {
    for (const endpoint of endpoints) {
      const allowed: readonly KeyScope[] = scopesOf(endpoint.access);
      for (const scope of KEY_SCOPES) {
        // Ids of nothing: what is looked at here comes before that.
        const answer = await ask(endpoint, keys.sandbox[scope], { operation: 'fees.estimate' });
        const isLet = !SCOPE_NEEDED.test(answer.message);
        assert.equal(isLet, allowed.includes(scope), `${nameOf(endpoint)} with ${scope}: ${answer.text}`);
        assert.ok(answer.status < 500, `${nameOf(endpoint)} with ${scope}: ${answer.text}`);
        if (isLet) assert.notEqual(answer.status, 401);
        else assert.deepEqual([answer.code, answer.status], ['forbidden', endpoint.envelope === 'action' ? 400 : 403]);
      }
    }
  });

  it('does not find records of the other environment, and changes none', async () => {
    const shown = async () => {
      const answers: Record<string, string> = {};
      for (const environment of ENVIRONMENTS) {
        for (const endpoint of endpoints) {
          if (endpoint.method !== 'GET') continue;
          const { text } = await ask(endpoint, keys[environment].admin, ids[environment]);
          // Every request updates the last use of its key.
          answers[`${environment} ${nameOf(endpoint)}`] = text.replace(/"lastUsedAt":("[^"]*"|null)/g, '');
        }
      }
      return answers;
    };
    const own = await shown();
    for (const environment of ENVIRONMENTS) {
      const key = keys[OTHER[environment]].admin;
      for (const endpoint of endpoints) {
        const names = namesIn(endpoint).filter((name) => name !== 'operation');
        if (names.length === 0) continue;
        const answer = await ask(endpoint, key, ids[environment], OTHER[environment]);
        assert.deepEqual(
          [answer.status, answer.code],
          [404, 'not_found'],
          `${nameOf(endpoint)} of ${environment} by a key of ${OTHER[environment]}: ${answer.text}`,
        );
      }
    }
    assert.deepEqual(await shown(), own);
  });

  it('shows in its lists no record of the other environment', async () => {
    for (const environment of ENVIRONMENTS) {
      const foreign = Object.entries(ids[OTHER[environment]])
        .filter(([name]) => name !== 'operation' && name !== 'routeId')
        .map(([, id]) => id);
      for (const endpoint of endpoints) {
        if (endpoint.method !== 'GET' || namesIn(endpoint).length > 0) continue;
        const { status, text } = await ask(endpoint, keys[environment].admin, {});
        if (endpoint.path.endsWith('/test-clock')) continue;
        assert.equal(status, 200, `${nameOf(endpoint)}: ${text}`);
        for (const id of [...foreign, `${OTHER[environment]}@example.com`]) {
          assert.ok(!text.includes(id), `${nameOf(endpoint)} shows ${id} to a key of ${environment}`);
        }
      }
    }
  });

  it('refuses a filter by the other environment, and a body about it', async () => {
    for (const environment of ENVIRONMENTS) {
      for (const endpoint of endpoints) {
        const { query, body } = endpoint;
        const inQuery = query && 'environment' in (jsonSchemaOf(query, 'input').properties ?? {});
        const inBody = body && 'environment' in (jsonSchemaOf(body, 'input').properties ?? {});
        if (!inQuery && !inBody) continue;
        const asked = inQuery ? { ...endpoint, path: `${endpoint.path}?environment=${OTHER[environment]}` } : endpoint;
        const answer = await ask(asked, keys[environment].admin, ids[environment], OTHER[environment]);
        const status = endpoint.envelope === 'action' ? 400 : 403;
        assert.deepEqual([answer.status, answer.code], [status, 'forbidden'], `${nameOf(endpoint)}: ${answer.text}`);
        assert.match(answer.message, new RegExp(`is of ${environment}, and this is about ${OTHER[environment]}`));
      }
    }
  });
});

describe('a key that is revoked while the body of a request arrives', () => {
  it('is rejected by every endpoint, action and tool', async () => {
    const key = await makeKey(service.url, 'sandbox', { scope: 'admin', name: 'Lost' });
    const admin = bearer(keys.sandbox.admin);
    const text = async (path: string) => {
      const shown = await fetch(`${service.url}/api/gateway/${path}?limit=100`, { headers: admin });
      return (await shown.text()).replace(/"lastUsedAt":("[^"]*"|null)/g, '');
    };
    const keysUrl = `${service.url}/api/gateway/keys`;
    const { body: lost } = await call<{ data: { id: string }[] }>('GET', keysUrl, undefined, bearer(key));
    const { id } = lost.data[0]!;
    const half: [name: string, sent: HalfSent][] = [];
    for (const endpoint of endpoints) {
      if (endpoint.method === 'GET') continue;
      const { url, method, headers, body = '{}' } = requestOf(endpoint, key, ids.sandbox);
      const typed = { 'content-type': 'application/json', ...headers };
      half.push([nameOf(endpoint), await sendHalf(url, { method, headers: typed, body })]);
    }
    const tool = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'checkout_create' } };
    const body = JSON.stringify({ ...tool, params: { ...tool.params, arguments: sessionBody() } });
    const headers = {
      ...bearer(key),
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    };
    half.push(['/mcp', await sendHalf(`${service.url}/mcp`, { method: 'POST', headers, body })]);

    await call('POST', `${service.url}/api/gateway/keys/${id}/revoke`, undefined, admin);
    const lists = ['keys', 'sessions', 'customers', 'payments', 'refunds', 'webhook-endpoints', 'discrepancies'];
    const before = await Promise.all(lists.map(text));
    const answers = await Promise.all(half.map(async ([name, sent]) => ({ name, ...(await sent.finish()) })));
    for (const { name, ...answer } of answers) {
      assert.equal(answer.status, 401, `${name}: ${answer.text}`);
      assert.match(answer.text, /This API key was revoked/, name);
    }
    assert.deepEqual(await Promise.all(lists.map(text)), before);
  });
});

describe('an export of the ledger', () => {
  it('sends no further part after its key has been revoked', async (context) => {
    const key = await makeKey(service.url, 'sandbox', { scope: 'read' });
    const read = async () => {
      const response = await fetch(`${service.url}/api/gateway/ledger/export`, { headers: bearer(key) });
      return response.text();
    };
    assert.match(await read(), new RegExp(ids.sandbox['paymentId']!));
    const { store, gate, now } = service.service.deps as AppDeps;
    const { id: keyId } = (await store.apiKeyByHash(hashOfKey(key)))!;
    const { journal } = store;
    context.mock.method(store, 'journal', async (...asked: Parameters<typeof journal>) => {
      await store.commit([{ type: 'api_key_revoked', keyId, at: now() }]);
      gate.forget();
      // A full page is not the last one.
      const [entry] = await journal(...asked);
      return Array.from({ length: asked[1].limit }, () => entry!);
    });
    await assert.rejects(read());
  });

  it('is refused with 403 if it names the other environment', async () => {
    const key = await makeKey(service.url, 'sandbox', { scope: 'read' });
    const url = `${service.url}/api/gateway/ledger/export?environment=production`;
    assert.equal((await fetch(url, { headers: bearer(key) })).status, 403);
  });
});

describe('a path without a key', () => {
  it('serves documents, probes, checkout pages and the simulated provider', async () => {
    const documents =
      '/ /healthz /readyz /docs /openapi.json /llms.txt /arazzo.yaml /.well-known/api-catalog /simulator';
    for (const path of [...documents.split(' '), `/checkout/${ids.sandbox['sessionId']}`])
      assert.equal((await fetch(service.url + path)).status, 200, path);
    // It asks for a signature, and not for a key.
    const callback = await call('POST', `${service.url}/api/providers/sandbox/callbacks`, {});
    assert.deepEqual([callback.status, callback.headers.get('www-authenticate')], [401, null]);
  });

  it('answers 404 and 405 like other paths', async () => {
    assert.equal((await fetch(`${service.url}/api/gateway/nothing`)).status, 404);
    assert.equal((await fetch(`${service.url}/api/gateway/sessions`, { method: 'DELETE' })).status, 405);
  });

  it('does not serve the test checkout of the front page once there is a key', async () => {
    assert.ok(!(await (await fetch(`${service.url}/`)).text()).includes('action="/demo"'));
    const sessions = async () =>
      (await fetch(`${service.url}/api/gateway/sessions?limit=100`, { headers: bearer(keys.sandbox.read) })).text();
    const before = await sessions();
    const headers = { origin: service.url };
    const pressed = await fetch(`${service.url}/demo`, { method: 'POST', redirect: 'manual', headers });
    assert.ok(pressed.status >= 300 && pressed.status < 500, String(pressed.status));
    assert.equal(await sessions(), before);
    const shown = await fetch(`${service.url}/demo?session_id=${ids.sandbox['sessionId']}`, { redirect: 'manual' });
    assert.equal(shown.status, 303);
  });
});

describe('POST /mcp', () => {
  const tool = (name: string, input: unknown, key: string) =>
    rpc<{ structuredContent: { ok: boolean; error?: { code: string; message: string } } }>(
      service.url,
      'tools/call',
      { name, arguments: input },
      bearer(key),
    );

  it('answers 401 without a key', async () => {
    const answer = await rpc(service.url, 'tools/list');
    assert.equal(answer.status, 401);
    assert.equal(answer.headers.get('www-authenticate'), 'Bearer');
    assert.equal((answer.error!.data as { code: string }).code, 'unauthorized');
    assert.equal((await rpc(service.url, '', '{')).status, 401);
  });

  it('rejects a tool beyond the scope of the key as REST does', async () => {
    const payload = { eventId: 'evt_1', sessionId: ids.sandbox['sessionId'], status: 'paid', amount: 49.99 };
    const { result } = await tool('webhook_verify_sample', { payload }, keys.sandbox.agent);
    assert.equal(result.structuredContent.error?.code, 'forbidden');
    assert.match(result.structuredContent.error?.message ?? '', SCOPE_NEEDED);
    const created = await tool('checkout_create', sessionBody(), keys.sandbox.read);
    assert.match(created.result.structuredContent.error?.message ?? '', SCOPE_NEEDED);
    assert.equal((await tool('checkout_preview', sessionBody(), keys.sandbox.agent)).result.structuredContent.ok, true);
  });

  it('finds only records of the environment of the key', async () => {
    const found = async (environment: Environment, key: string) =>
      (await tool('payment_get', { paymentId: ids[environment]['sessionId'] }, key)).result.structuredContent;
    assert.equal((await found('sandbox', keys.sandbox.agent)).ok, true);
    assert.equal((await found('sandbox', keys.production.agent)).error?.code, 'not_found');
    assert.equal((await found('production', keys.sandbox.admin)).error?.code, 'not_found');
    const { result } = await tool('checkout_create', sessionBody(), keys.production.write);
    assert.equal(result.structuredContent.error?.code, 'forbidden');
    const routes = JSON.stringify((await tool('routes_list', {}, keys.production.agent)).result.structuredContent);
    assert.ok(routes.includes(ROUTES.production) && !routes.includes(ROUTES.sandbox));
  });

  it('serves simultaneous requests each by its own key', async () => {
    const asked = Array.from({ length: 40 }, (_, index) => ENVIRONMENTS[index % 2]!);
    const answers = await Promise.all(asked.map((environment) => tool('routes_list', {}, keys[environment].agent)));
    for (const [index, { result }] of answers.entries()) {
      assert.ok(JSON.stringify(result).includes(ROUTES[asked[index]!]), asked[index]!);
      assert.ok(!JSON.stringify(result).includes(ROUTES[OTHER[asked[index]!]]), asked[index]!);
    }
  });
});

describe('settings of the whole installation', () => {
  it('such as routing rules are changed by production keys only', async () => {
    const url = `${service.url}/api/gateway/routing/rules`;
    // oxlint-disable-next-line unicorn/no-thenable -- the rule language says then
    const effect = { then: { explore: false } };
    const when = { environment: 'production', customer: 'vip@example.com' };
    const rules = {
      version: 1,
      rules: [
        { id: 'secret-of-production', when, ...effect },
        { id: 'of-both', ...effect },
      ],
    };
    assert.equal((await call('PUT', url, rules, bearer(keys.sandbox.admin))).status, 403);
    assert.equal((await call('PUT', url, rules, bearer(keys.production.admin))).status, 200);
    type Rules = { ruleSet: { rules: { id: string }[] } };
    const seen = async (key: string) =>
      (await call<Rules>('GET', url, undefined, bearer(key))).body.ruleSet.rules.map(({ id }) => id);
    assert.deepEqual(await seen(keys.production.read), ['secret-of-production', 'of-both']);
    assert.deepEqual(await seen(keys.sandbox.read), ['of-both']);
  });
});

describe('the store of a key', () => {
  it('has every read of the store: restricted, shared, or refused', async () => {
    await using database = await createTestDatabase();
    const store = await openTestStore(database.settings);
    try {
      const restricted = restrictStore(store, 'sandbox');
      const missing = (of: Store) => Object.keys(of).filter((name) => !(name in restricted));
      assert.deepEqual(missing(store), []);
      // The check can fail.
      assert.deepEqual(missing({ ...store, somethingNew: () => 1 } as Store), ['somethingNew']);
      for (const name of SERVICE_OPTIONS) {
        assert.throws(() => (restricted[name] as () => unknown)(), /is not read for a request/);
      }
      const changes: Change[] = [
        { type: 'routing_snapshot_recorded', snapshot: { environment: 'production' } } as unknown as Change,
      ];
      await assert.rejects(() => restricted.commit(changes), { code: 'forbidden' });
    } finally {
      await store.close();
    }
  });
});
