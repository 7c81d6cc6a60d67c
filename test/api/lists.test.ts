// @run on=sqlite,postgres
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Endpoint } from '../../src/contract/endpoint.ts';
import { jsonSchemaOf } from '../../src/contract/json-schema.ts';
import { ENVIRONMENTS } from '../../src/domain/route.ts';
import type { AppDeps } from '../../src/http/app.ts';
import { servedEndpoints } from '../../src/http/openapi-endpoint.ts';
import { IS_UNIT_RUN } from '../support/for-all.ts';
import { gatewayOf, paymentsOf } from '../support/gateway.ts';
import type { List } from '../support/merchant.ts';
import { providerSays } from '../support/money-arrives.ts';
import { sessionBody } from '../support/service.ts';
import { suiteService } from '../support/suite.ts';

interface Listed {
  id: string;
  environment?: string;
  created?: string;
}

const ZEROS = '0'.repeat(36);
/** Id prefix for each path parameter. */
const PREFIXES: Record<string, string> = {
  sessionId: 'chk_',
  customerId: 'cus_',
  paymentId: 'pay_',
  invoiceId: 'inv_',
  eventId: 'evt_chk_',
  deliveryId: 'dlv_',
  endpointId: 'whe_',
  refundId: 'ref_',
  discrepancyId: 'dis_',
  recoveryId: 'rcv_',
  experimentId: 'exp_',
};

const on = suiteService({ variables: { ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64') } }, async () => {
  // Creates three records of each environment for each list.
  for (let index = 0; index < 3; index++) {
    for (const environment of ENVIRONMENTS) {
      const customer = `buyer${index}@example.com`;
      await api.post('webhook-endpoints', { environment, url: 'https://shop.example/hooks' });
      const { id } = await api.post<{ id: string }>('sessions', sessionBody({ environment, customer }));
      // Creates two events with the same time.
      for (const status of ['provider_pending', 'paid'] as const) await providerSays(on, id, status);
      await providerSays(on, id, 'paid', { amount: 5999 });
      const [payment] = await paymentsOf(on, id);
      await api.post(`payments/${payment!.id}/refunds`, { amount: 1 });
      const route = environment === 'sandbox' ? 'sandbox_card_acquirer' : 'card_stripe';
      await api.put(`routing/routes/${route}/health`, { health: 'degraded', reason: id });
      const experiment = await api.post<{ id: string }>('routing/experiments', {
        environment,
        variant: { prefer: route },
      });
      await api.post(`routing/experiments/${experiment.id}/end`);
      on.clock.advance(1000);
    }
  }
  // API keys can be listed only with a key; this service has none.
  const recordEndpoints = servedEndpoints(on.service.deps as AppDeps).filter(
    ({ path, keys }) => path.startsWith('/api/gateway/') && !path.includes('/keys') && keys !== 'required',
  );
  endpoints = recordEndpoints.map((endpoint) => {
    const path = endpoint.path.slice('/api/gateway/'.length);
    return { request: `${endpoint.method} ${path}`, path, endpoint };
  });
});
const api = gatewayOf(on);
let endpoints: { request: string; path: string; endpoint: Endpoint }[];

const lists = () =>
  endpoints.filter(({ path, endpoint }) => !path.includes('{') && 'startingAfter' in queryOf(endpoint));
const queryOf = ({ query }: Endpoint) => (query && jsonSchemaOf(query, 'input').properties) ?? {};

describe('every list', () => {
  test('every list endpoint is paged in both directions, newest first', async () => {
    assert.ok(lists().length >= 11, `${lists().length} lists`);
    for (const { path } of lists()) {
      const page = (query: string) => api.get<List<Listed>>(`${path}?${query}`);
      const { data: all, hasMore, object } = await page('limit=100');
      assert.deepEqual([object, hasMore, all.length >= 3], ['list', false, true], path);
      const times = all.map(({ created = '' }) => created);
      assert.deepEqual(times, times.toSorted().toReversed(), path);
      for (const [index, { id }] of all.entries()) {
        // The unit run omits the positions that are far from both ends of the list.
        if (IS_UNIT_RUN && index > 3 && index < all.length - 4) continue;
        const older = await page(`limit=2&startingAfter=${id}`);
        assert.deepEqual(older.data, all.slice(index + 1, index + 3), path);
        assert.equal(older.hasMore, index + 3 < all.length, path);
        const newer = await page(`limit=2&endingBefore=${id}`);
        assert.deepEqual(newer.data, all.slice(Math.max(index - 2, 0), index), path);
        assert.equal(newer.hasMore, index > 2, path);
      }
    }
  });

  test('every list endpoint can be filtered by environment', async () => {
    for (const { path, endpoint } of lists()) {
      if (!('environment' in queryOf(endpoint))) continue;
      const all = await api.list<Listed>(`${path}?limit=100`);
      for (const environment of ENVIRONMENTS) {
        const found = await api.list<Listed>(`${path}?limit=100&environment=${environment}`);
        assert.ok(found.length >= 3, path);
        assert.deepEqual(
          found,
          all.filter((item) => isOf(environment, item)),
          path,
        );
      }
      await api.refused('400 invalid_input', `GET ${path}?environment=test`);
    }
  });

  test('every list endpoint rejects invalid limits and cursors, and repeated or unknown parameters', async () => {
    for (const { path } of lists()) {
      const [{ id }] = (await api.list(path)) as [Listed];
      const faults = ['limit=0', 'limit=-1', 'limit=1.5', 'limit=ten', 'limit=', 'limit=1e2', 'limit=1&limit=2'];
      const cursors = ['startingAfter=x', `startingAfter=odd_${ZEROS}`, `endingBefore=${id}_`, 'endingBefore='];
      for (const query of [...faults, ...cursors, 'colour=red']) {
        const { field } = await api.refused('400 invalid_input', `GET ${path}?${query}`);
        assert.equal(field, query.split('=')[0], `${path} ${query}`);
      }
      const { issues } = await api.refused('400 invalid_input', `GET ${path}?limit=1&limit=2`);
      assert.match(issues?.[0]?.message ?? '', /given once, not 2 times/);
      const both = `GET ${path}?startingAfter=${id}&endingBefore=${id}`;
      assert.equal((await api.refused('400 invalid_input', both)).field, 'endingBefore');
    }
  });
});

/** An event has `livemode` in place of an environment; true means production. */
function isOf(environment: string, item: Listed & { livemode?: boolean }): boolean {
  return (item.environment ?? (item.livemode === true ? 'production' : 'sandbox')) === environment;
}

test('every endpoint answers 404 for the id of a record that does not exist', async () => {
  const names = new Set<string>();
  for (const { request, endpoint } of endpoints) {
    const [, name] = /\{(\w+)\}/.exec(request) ?? [];
    if (name === undefined) continue;
    names.add(name);
    const prefix = PREFIXES[name];
    const known = prefix === undefined ? ['nowhere'] : [prefix + ZEROS, `${prefix}x`];
    for (const id of [...known, 'x', '__proto__', 'constructor', '%F0%9F%A6%89', 'x'.repeat(500)]) {
      const requestLine = request.replace(`{${name}}`, name === 'eventId' && id.startsWith('evt_') ? `${id}_paid` : id);
      await api.refused('404 not_found', requestLine, endpoint.body && (endpoint.requestExample ?? {}));
    }
  }
  assert.deepEqual([...names].toSorted(), [...Object.keys(PREFIXES), 'routeId'].toSorted());
});
