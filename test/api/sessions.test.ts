// @run on=sqlite,postgres
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { CheckoutSessionResource } from '../../src/contract/session-contract.ts';
import type { List } from '../support/merchant.ts';
import { providerSays } from '../support/money-arrives.ts';
import { type TestService, call, sessionBody, startTestService } from '../support/service.ts';
import { refused } from '../support/refusal.ts';

describe('sessions', () => {
  let tillway: TestService;
  let url: string;
  before(async () => {
    tillway = await startTestService();
    url = `${tillway.url}/api/gateway/sessions`;
  });
  after(() => tillway[Symbol.asyncDispose]());

  const create = async (overrides: Record<string, unknown> = {}) =>
    (await call<{ id: string }>('POST', url, sessionBody(overrides))).body.id;

  it('GET /sessions/{id} answers the session with its present status', async () => {
    const id = await create();
    await providerSays(tillway, id, 'paid');
    const { status, body } = await call<{ id: string; status: string }>('GET', `${url}/${id}`);
    assert.equal(status, 200);
    assert.deepEqual([body.id, body.status], [id, 'paid']);
  });

  it('GET /sessions filters by customer, status, clientReferenceId and environment', async () => {
    const sandbox = await create({ customer: 'filter@example.com', clientReferenceId: 'ref-filter' });
    const production = await create({
      customer: 'filter@example.com',
      clientReferenceId: 'ref-filter',
      environment: 'production',
    });
    await providerSays(tillway, sandbox, 'provider_pending');
    const ids = async (query: string) =>
      (await call<List<CheckoutSessionResource>>('GET', `${url}?${query}`)).body.data.map(({ id }) => id).toSorted();
    const both = [sandbox, production].toSorted();
    assert.deepEqual(await ids('customer=FILTER@example.com'), both);
    assert.deepEqual(await ids('clientReferenceId=ref-filter'), both);
    assert.deepEqual(await ids('clientReferenceId=ref-filter&environment=production'), [production]);
    assert.deepEqual(await ids('customer=filter@example.com&status=pending'), [sandbox]);
    assert.deepEqual(await ids('customer=filter@example.com&status=nonsense'), []);
  });

  it('expires a session that no buyer has started; expiring it again has no effect', async () => {
    const id = await create();
    for (let time = 0; time < 2; time++) {
      const { status, body } = await call<{ status: string }>('POST', `${url}/${id}/expire`);
      assert.deepEqual([status, body.status], [200, 'expired']);
    }
  });

  it('refuses to expire a session that a buyer has started', async () => {
    const id = await create();
    await providerSays(tillway, id, 'provider_pending');
    await refused([409, 'invalid_state'], 'POST', `${url}/${id}/expire`);
  });

  it('expires an abandoned session after its time, without an event', async () => {
    const id = await create();
    await tillway.pass(86_399_000);
    assert.equal((await tillway.service.deps.store.session(id))?.status, 'routed');
    await tillway.pass(1000);
    assert.equal((await tillway.service.deps.store.session(id))?.status, 'expired');
    assert.deepEqual(await tillway.service.deps.store.eventsOfSession(id), []);
  });

  it('answers 404 in the envelope for an id that does not exist', async () => {
    await refused([404, 'not_found'], 'GET', `${url}/chk_unknown`);
    await refused([404, 'not_found'], 'POST', `${url}/chk_unknown/expire`);
  });
});
