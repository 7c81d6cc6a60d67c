// @run on=sqlite,postgres
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { RoutingRules } from '../../sdk/src/index.ts';
import type { Endpoint } from '../../src/contract/endpoint.ts';
import { jsonSchemaOf, sampleOf } from '../../src/contract/json-schema.ts';
import type { OpenApi, Security } from '../../src/contract/openapi-document.ts';
import { KEY_SCOPES, hashOfKey } from '../../src/domain/api-key.ts';
import type { ErrorCode } from '../../src/domain/gateway-error.ts';
import { ENVIRONMENTS, type Environment } from '../../src/domain/route.ts';
import type { AppDeps } from '../../src/http/app.ts';
import { servedEndpoints } from '../../src/http/openapi-endpoint.ts';
import { SERVICE_READS, restrictStore } from '../../src/operations/access/restrict-store.ts';
import type { Change, Store } from '../../src/store/store.ts';
import { createServiceDatabase, openTestStore } from '../support/database.ts';
import { gatewayOf } from '../support/gateway.ts';
import { type HalfSent, sendHalf } from '../support/half-sent.ts';
import { BOOTSTRAP, type Keys, bearer, makeKey, makeKeys } from '../support/keys.ts';
import { providerSays } from '../support/money-arrives.ts';
import { type TestService, call, sessionBody, startTestService } from '../support/service.ts';
import { rpc } from '../mcp/rpc.ts';
import { suiteService } from '../support/suite.ts';

const OTHER: Record<Environment, Environment> = { sandbox: 'production', production: 'sandbox' };
/** Id prefix for each path parameter. Parameters without a prefix (route, operation) are filled in separately. */
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
  experimentId: 'exp_',
};
const ROUTES: Record<Environment, string> = { sandbox: 'sandbox_card_acquirer', production: 'card_stripe' };

/** Environments of the keys that each security scheme of the OpenAPI document accepts. */
const SCHEMES: Record<string, readonly Environment[]> = {
  apiKey: ENVIRONMENTS,
  sandboxKey: ['sandbox'],
  productionKey: ['production'],
};
// The request timeout is long, because one test keeps unfinished requests to all endpoints open.
const VARIABLES = { ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64'), REQUEST_TIMEOUT: '600' };

const service = suiteService({ variables: { ...VARIABLES, ...BOOTSTRAP } }, async () => {
  keys = await makeKeys(service.url);
  endpoints = servedEndpoints(service.service.deps as AppDeps);
  ids = { sandbox: await fill('sandbox'), production: await fill('production') };
});
let keys: Keys;
let endpoints: readonly Endpoint[];
let ids: Record<Environment, Record<string, string>>;

/** Creates a paid session with all related records, and a session with a discrepancy; returns an id of each kind. */
async function fill(environment: Environment): Promise<Record<string, string>> {
  const api = gatewayOf(service, bearer(keys[environment].admin));
  const create = async (path: string, body: object) => (await api.post<{ id: string }>(path, body)).id;
  const endpointId = await create('webhook-endpoints', { environment, url: 'https://shop.example/hooks' });
  const session = sessionBody({ environment, customer: `${environment}@example.com` });
  const [sessionId, other] = [await create('sessions', session), await create('sessions', session)];
  await providerSays(service, sessionId, 'paid', { amount: 4999 });
  // An unexpected amount creates a discrepancy.
  await providerSays(service, other, 'paid', { amount: 1 });
  const recoveryId = await create(`webhook-endpoints/${endpointId}/recover`, { from: '2026-03-01T00:00:00.000Z' });
  await api.post(`payments/${(await api.ids('payments'))[0]}/refunds`, { amount: 1 });
  await create('routing/experiments', { environment, variant: { smart: true } });
  const found: Record<string, string> = { routeId: ROUTES[environment], recoveryId };
  for (const endpoint of endpoints) {
    if (endpoint.method !== 'GET' || endpoint.path.includes('{')) continue;
    const { text } = await ask(endpoint, keys[environment].admin, {});
    for (const [name, prefix] of Object.entries(PREFIXES)) {
      const id = new RegExp(`"id":"(${prefix}\\w+)"`).exec(text)?.[1];
      if (id !== undefined) found[name] ??= id;
    }
  }
  return { ...found, operation: 'fees.estimate', sessionId };
}

/** The documented example request of an endpoint, for the given environment. */
function requestOf(
  { method, path, body, bodyType, requestExample = {} }: Endpoint,
  key: string | undefined,
  params: Record<string, string>,
  environment: Environment = 'sandbox',
  { url } = service,
) {
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => params[name] ?? `${PREFIXES[name] ?? ''}x`);
  const schema = body && jsonSchemaOf(body, 'input');
  const takesEnvironment = schema && 'environment' in (schema.properties ?? {});
  const sent =
    bodyType === 'text/csv'
      ? String(sampleOf(schema!))
      : JSON.stringify({ ...(requestExample as object), ...(takesEnvironment && { environment }) });
  const headers = {
    ...(key !== undefined && bearer(key)),
    ...(body && { 'content-type': bodyType ?? 'application/json' }),
  };
  return { url: url + filled, method, headers, ...(body && { body: sent }) };
}

async function ask(...request: Parameters<typeof requestOf>) {
  const { url, ...init } = requestOf(...request);
  const response = await fetch(url, init);
  const { status, headers } = response;
  const text = await response.text();
  const isJson = headers.get('content-type')?.startsWith('application/json') === true;
  const { error } = (isJson ? JSON.parse(text) : {}) as { error?: { code: ErrorCode; message: string } };
  return { status, headers, text, message: error?.message ?? '', code: error?.code };
}

const nameOf = ({ method, path }: Endpoint) => `${method} ${path}`;
const namesIn = ({ path }: Endpoint) => [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!);

/** The security requirements in the OpenAPI document, by operation id. */
async function requirementsOf({ url }: TestService): Promise<Map<string, Security>> {
  const { paths, security: usual } = (await (await fetch(`${url}/openapi.json`)).json()) as OpenApi;
  const operations = Object.values(paths).flatMap((methods) => Object.values(methods));
  return new Map(operations.map(({ operationId, security = usual }) => [operationId, security]));
}

describe('every endpoint', () => {
  it('every endpoint has a test record for each parameter in its path', () => {
    for (const environment of ENVIRONMENTS) {
      const wanted = [...new Set(endpoints.flatMap(namesIn))];
      assert.deepEqual(
        wanted.filter((name) => ids[environment][name] === undefined),
        [],
        environment,
      );
    }
  });

  it('every endpoint answers 401 without a key, before it validates the rest of the request', async () => {
    for (const endpoint of endpoints) {
      const answer = await ask(endpoint, undefined, {});
      assert.equal(answer.status, 401, nameOf(endpoint));
      assert.equal(answer.code, 'unauthorized');
      assert.equal(answer.headers.get('www-authenticate'), 'Bearer');
      const head = endpoint.method === 'GET' && (await fetch(service.url + endpoint.path, { method: 'HEAD' }));
      if (head) assert.equal(head.status, 401, nameOf(endpoint));
    }
  });

  it('every endpoint accepts exactly the key scopes and environments that the OpenAPI document names', async () => {
    // A service with a test clock rejects writes in production, so only the test clock endpoints use it.
    await using clocked = await startTestService({ variables: { ...VARIABLES, ...BOOTSTRAP, TEST_CLOCK: 'true' } });
    const clockedKeys = await makeKeys(clocked.url);
    const requirements = await requirementsOf(service);
    for (const endpoint of endpoints) {
      const [on, of] = endpoint.tag === 'test clock' ? [clocked, clockedKeys] : [service, keys];
      const alternatives = requirements.get(endpoint.operationId)!.flatMap((each) => Object.entries(each));
      for (const environment of ENVIRONMENTS) {
        for (const scope of KEY_SCOPES) {
          const admits = alternatives.some(
            ([scheme, scopes]) => SCHEMES[scheme]!.includes(environment) && scopes.includes(scope),
          );
          const names = { routeId: ROUTES[environment], operation: 'fees.estimate' };
          const answer = await ask(endpoint, of[environment][scope], names, environment, on);
          const what = `${nameOf(endpoint)} with ${scope} of ${environment}: ${answer.text}`;
          const refused = endpoint.envelope === 'action' ? 400 : 403;
          if (admits) assert.ok(answer.code !== 'forbidden' && answer.status !== 401 && answer.status < 500, what);
          else assert.deepEqual([answer.code, answer.status], ['forbidden', refused], what);
        }
      }
    }
  });

  it('on a service without keys, an endpoint accepts requests without a key exactly if the OpenAPI document says so', async () => {
    await using open = await startTestService({ variables: { ...VARIABLES, TEST_CLOCK: 'true' } });
    const requirements = await requirementsOf(open);
    for (const endpoint of endpoints) {
      const isOpen = requirements
        .get(endpoint.operationId)!
        .some((alternative) => Object.keys(alternative).length === 0);
      const { code } = await ask(endpoint, undefined, { operation: 'fees.estimate' }, 'sandbox', open);
      assert.equal(code !== 'forbidden', isOpen, `${nameOf(endpoint)}: ${code}`);
    }
  });

  it('every endpoint answers 404 for records of the other environment, and changes none of them', async () => {
    const readAll = async () => {
      const answers: Record<string, string> = {};
      for (const environment of ENVIRONMENTS) {
        for (const endpoint of endpoints) {
          // Exports and refusals leave audit entries.
          if (endpoint.method !== 'GET' || endpoint.tag === 'audit') continue;
          const { text } = await ask(endpoint, keys[environment].admin, ids[environment]);
          // The comparison omits `lastUsedAt`, because every request updates this field of its key.
          answers[`${environment} ${nameOf(endpoint)}`] = text.replace(/"lastUsedAt":("[^"]*"|null)/g, '');
        }
      }
      return answers;
    };
    const before = await readAll();
    for (const environment of ENVIRONMENTS) {
      const key = keys[OTHER[environment]].admin;
      for (const endpoint of endpoints) {
        if (namesIn(endpoint).every((name) => name === 'operation')) continue;
        const { status, code, text } = await ask(endpoint, key, ids[environment], OTHER[environment]);
        assert.deepEqual([status, code], [404, 'not_found'], `${nameOf(endpoint)} of ${environment}: ${text}`);
      }
    }
    assert.deepEqual(await readAll(), before);
  });

  it('every list endpoint returns no record of the other environment', async () => {
    for (const environment of ENVIRONMENTS) {
      const foreign = Object.entries(ids[OTHER[environment]])
        .filter(([name]) => name !== 'operation' && name !== 'routeId')
        .map(([, id]) => id);
      for (const endpoint of endpoints) {
        if (endpoint.method !== 'GET' || namesIn(endpoint).length > 0) continue;
        const { status, text } = await ask(endpoint, keys[environment].admin, {});
        if (endpoint.path.endsWith('/test-clock')) continue;
        assert.equal(status, 200, `${nameOf(endpoint)}: ${text}`);
        for (const id of [...foreign, `${OTHER[environment]}@example.com`, `"environment":"${OTHER[environment]}"`])
          assert.ok(!text.includes(id), `${nameOf(endpoint)} shows ${id} to a key of ${environment}`);
      }
    }
  });

  it('every endpoint rejects a filter or a body that names the other environment', async () => {
    for (const environment of ENVIRONMENTS) {
      for (const endpoint of endpoints) {
        const { query, body } = endpoint;
        const inQuery = query && 'environment' in (jsonSchemaOf(query, 'input').properties ?? {});
        const inBody = body && 'environment' in (jsonSchemaOf(body, 'input').properties ?? {});
        if (!inQuery && !inBody) continue;
        const filtered = inQuery
          ? { ...endpoint, path: `${endpoint.path}?environment=${OTHER[environment]}` }
          : endpoint;
        const answer = await ask(filtered, keys[environment].admin, ids[environment], OTHER[environment]);
        const status = endpoint.envelope === 'action' ? 400 : 403;
        assert.deepEqual([answer.status, answer.code], [status, 'forbidden'], `${nameOf(endpoint)}: ${answer.text}`);
        assert.match(answer.message, new RegExp(`is of ${environment}, and this is about ${OTHER[environment]}`));
      }
    }
  });
});

describe('a key that is revoked while the body of a request arrives', () => {
  it('a key that is revoked while the body of a request arrives is rejected by every endpoint, agent action and MCP tool', async () => {
    const key = await makeKey(service.url, 'sandbox', { scope: 'admin', name: 'Lost' });
    const admin = bearer(keys.sandbox.admin);
    const text = async (path: string) => {
      const shown = await fetch(`${service.url}/api/gateway/${path}?limit=100`, { headers: admin });
      return (await shown.text()).replace(/"lastUsedAt":("[^"]*"|null)/g, '');
    };
    const [id] = await gatewayOf(service, bearer(key)).ids('keys');
    const half: [name: string, sent: HalfSent][] = [];
    for (const endpoint of endpoints) {
      if (endpoint.method === 'GET') continue;
      const { url, method, headers, body = '{}' } = requestOf(endpoint, key, ids.sandbox);
      const typed = { 'content-type': 'application/json', ...headers };
      half.push([nameOf(endpoint), await sendHalf(url, { method, headers: typed, body })]);
    }
    const params = { name: 'checkout_create', arguments: sessionBody() };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
    const accept = 'application/json, text/event-stream';
    const headers = { ...bearer(key), 'content-type': 'application/json', accept };
    half.push(['/mcp', await sendHalf(`${service.url}/mcp`, { method: 'POST', headers, body })]);

    await gatewayOf(service, admin).post(`keys/${id}/revoke`);
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
  it('a ledger export stops with an error once its API key is revoked', async (context) => {
    const key = await makeKey(service.url, 'sandbox', { scope: 'read' });
    const read = async () => {
      const response = await fetch(`${service.url}/api/gateway/ledger/export`, { headers: bearer(key) });
      return response.text();
    };
    assert.match(await read(), new RegExp(ids.sandbox['paymentId']!));
    const { store, gate, now } = service.service.deps as AppDeps;
    const { id: keyId } = (await store.apiKeyByHash(hashOfKey(key)))!;
    const { journal } = store;
    context.mock.method(store, 'journal', async (...args: Parameters<typeof journal>) => {
      await store.commit([{ type: 'api_key_revoked', keyId, environment: 'sandbox', at: now() }]);
      gate.forget();
      // A full page makes the export read the next page.
      const [entry] = await journal(...args);
      return Array.from({ length: args[1].limit }, () => entry!);
    });
    await assert.rejects(read());
  });
});

describe('a request without a key', () => {
  it('a request without a key reads documents, probes, checkout pages and the simulated provider', async () => {
    const documents =
      '/ /healthz /readyz /docs /openapi.json /llms.txt /arazzo.yaml /.well-known/api-catalog /simulator';
    for (const path of [...documents.split(' '), `/checkout/${ids.sandbox['sessionId']}`])
      assert.equal((await fetch(service.url + path)).status, 200, path);
    // A callback is authenticated by its signature, not by a key.
    const callback = await call('POST', `${service.url}/api/providers/sandbox/callbacks`, {});
    assert.deepEqual([callback.status, callback.headers.get('www-authenticate')], [401, null]);
  });

  it('a request without a key gets 404 for an unknown API path and 405 for an unsupported method', async () => {
    assert.equal((await fetch(`${service.url}/api/gateway/nothing`)).status, 404);
    assert.equal((await fetch(`${service.url}/api/gateway/sessions`, { method: 'DELETE' })).status, 405);
  });

  it('a request without a key cannot start the test checkout of the front page once an API key exists', async () => {
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

// test/mcp/records.test.ts tests the tools that each scope may use.
describe('POST /mcp', () => {
  const tool = (name: string, input: unknown, key: string) =>
    rpc<{ structuredContent: { ok: boolean; error?: { code: string; message: string } } }>(
      service.url,
      'tools/call',
      { name, arguments: input },
      bearer(key),
    );

  it('POST /mcp answers 401 without a key', async () => {
    const answer = await rpc(service.url, 'tools/list');
    assert.equal(answer.status, 401);
    assert.equal(answer.headers.get('www-authenticate'), 'Bearer');
    assert.equal((answer.error!.data as { code: string }).code, 'unauthorized');
    assert.equal((await rpc(service.url, '', '{')).status, 401);
  });

  it('POST /mcp finds only records of the environment of the key', async () => {
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

  it('POST /mcp serves each of many simultaneous requests with its own key', async () => {
    const order = Array.from({ length: 40 }, (_, index) => ENVIRONMENTS[index % 2]!);
    const answers = await Promise.all(order.map((environment) => tool('routes_list', {}, keys[environment].agent)));
    for (const [index, { result }] of answers.entries()) {
      const environment = order[index]!;
      assert.ok(JSON.stringify(result).includes(ROUTES[environment]), environment);
      assert.ok(!JSON.stringify(result).includes(ROUTES[OTHER[environment]]), environment);
    }
  });
});

describe('settings of the whole installation', () => {
  it('settings of the whole installation, such as routing rules, can be changed with production keys only', async () => {
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
    const as = (environment: Environment, scope: 'admin' | 'read') =>
      gatewayOf(service, bearer(keys[environment][scope]));
    await as('sandbox', 'admin').refused('403 forbidden', 'PUT routing/rules', rules);
    await as('production', 'admin').put('routing/rules', rules);
    const ruleIdsIn = async (environment: Environment) =>
      (await as(environment, 'read').get<RoutingRules>('routing/rules')).ruleSet.rules.map(({ id }) => id);
    assert.deepEqual(await ruleIdsIn('production'), ['secret-of-production', 'of-both']);
    assert.deepEqual(await ruleIdsIn('sandbox'), ['of-both']);
  });
});

describe('the store restricted to the environment of a key', () => {
  it('the store restricted to the environment of a key implements every read of the store, and rejects service-wide reads and writes of the other environment', async () => {
    await using database = await createServiceDatabase();
    const store = await openTestStore(database.settings);
    try {
      const restricted = restrictStore(store, 'sandbox');
      const missing = (of: Store) => Object.keys(of).filter((name) => !(name in restricted));
      assert.deepEqual(missing(store), []);
      // `missing` detects a store method that the restricted store lacks.
      assert.deepEqual(missing({ ...store, somethingNew: () => 1 } as Store), ['somethingNew']);
      for (const name of SERVICE_READS)
        assert.throws(() => (restricted[name] as () => unknown)(), /is not available to requests/);
      const changes: Change[] = [
        { type: 'routing_snapshot_recorded', snapshot: { environment: 'production' } } as unknown as Change,
      ];
      await assert.rejects(() => restricted.commit(changes), { code: 'forbidden' });
    } finally {
      await store.close();
    }
  });
});
