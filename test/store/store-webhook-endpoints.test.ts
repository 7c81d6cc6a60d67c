// @run on=sqlite,postgres
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type SealedSecret, type WebhookEndpoint } from '../../src/domain/webhook-endpoint.ts';
import type { Change, Store } from '../../src/store/store.ts';
import { MINUTE, NOW, idOf } from '../fixtures/checkout-records.ts';
import { anEndpoint, withStore, write } from '../fixtures/store-records.ts';

const CONFLICT = { done: false, conflict: 'overtaken' };
const ID = idOf('whe', 1);
const MADE = anEndpoint({ source: 'api', slot: 1, description: 'Orders ✓', events: ['payment.paid'] });

function aSecret(number: number, expiresAt: number | null): SealedSecret {
  return { endpointId: ID, environment: 'sandbox', number, sealed: `v1.${number}`, created: NOW + number, expiresAt };
}

async function readEndpoint(store: Store): Promise<WebhookEndpoint> {
  const endpoint = await store.endpoint(ID);
  assert(endpoint);
  return endpoint;
}

describe('stored webhook endpoints', () => {
  test('webhook endpoints are read unchanged, including their secrets', () =>
    withStore(async (store) => {
      const secrets = [aSecret(1, NOW + MINUTE), aSecret(2, null)];
      const replaced = { type: 'secrets_replaced', endpointId: ID, secrets } as const;
      await write(store, { type: 'endpoint_created', endpoint: MADE }, replaced);
      assert.deepEqual(await store.endpoints(), [MADE]);
      assert.deepEqual(await store.endpointSecrets([idOf('whe', 9), ID]), secrets);
      assert.deepEqual(await store.sealedSecrets(), secrets);
      await write(store, { type: 'secret_resealed', secret: secrets[0]!, sealed: 'v1.x' });
      assert.equal((await store.endpointSecrets([ID]))[0]!.sealed, 'v1.x');
      const again: Change = { type: 'secret_resealed', secret: secrets[0]!, sealed: 'v1.y' };
      assert.deepEqual(await store.commit([again]), CONFLICT);
    }));

  test('webhook endpoints have unique slots, and each version is written once', () =>
    withStore(async (store) => {
      await write(store, { type: 'endpoint_created', endpoint: MADE });
      const second: WebhookEndpoint = { ...MADE, id: idOf('whe', 2) };
      const created: Change = { type: 'endpoint_created', endpoint: second };
      const secret = { ...aSecret(1, null), endpointId: second.id };
      const replaced: Change = { type: 'secrets_replaced', endpointId: second.id, secrets: [secret] };
      assert.deepEqual(await store.commit([created, replaced]), CONFLICT);
      assert.deepEqual(await store.sealedSecrets(), []);
      await write(store, { type: 'endpoint_created', endpoint: { ...second, environment: 'production' } });
      const changed: Change = { type: 'endpoint_changed', endpoint: { ...MADE, description: 'x', version: 2 } };
      assert.deepEqual(await store.commit([changed]), { done: true });
      assert.deepEqual(await store.commit([changed]), CONFLICT);
    }));

  test('successes and failures of an endpoint may be written out of order', () =>
    withStore(async (store) => {
      await write(store, { type: 'endpoint_created', endpoint: MADE });
      const failed = (at: number) => write(store, { type: 'endpoint_failed', endpointId: ID, at });
      const succeeded = (at: number) => write(store, { type: 'endpoint_succeeded', endpointId: ID, at });
      const health = async () => {
        const { failingSince, lastSuccessAt } = await readEndpoint(store);
        return [failingSince, lastSuccessAt];
      };
      await succeeded(20);
      await failed(10);
      assert.deepEqual(await health(), [null, 20]);
      await failed(40);
      await failed(30);
      await failed(35);
      assert.deepEqual(await health(), [30, 20]);
      await succeeded(25);
      assert.deepEqual(await health(), [30, 25]);
      await succeeded(50);
      await succeeded(45);
      assert.deepEqual(await health(), [null, 50]);
    }));

  test('an endpoint is disabled only if its URL is unchanged and no success followed the failure', () =>
    withStore(async (store) => {
      await write(store, { type: 'endpoint_created', endpoint: MADE });
      const { url } = MADE;
      const shared = { type: 'endpoint_disabled', endpointId: ID, reason: 'r', at: 9 } as const;
      assert.deepEqual(await store.commit([{ ...shared, url, failingSince: 5 }]), CONFLICT);
      await write(store, { type: 'endpoint_failed', endpointId: ID, at: 5 });
      assert.deepEqual(await store.commit([{ ...shared, url: 'https://else.example/', failingSince: 5 }]), CONFLICT);
      assert.deepEqual(await store.commit([{ ...shared, url: 'https://else.example/', failingSince: null }]), CONFLICT);
      await write(store, { ...shared, url, failingSince: 5 });
      assert.deepEqual(await store.commit([{ ...shared, url, failingSince: null }]), CONFLICT);
      const { status, disabledReason, disabledAt, version } = await readEndpoint(store);
      assert.deepEqual([status, disabledReason, disabledAt, version], ['disabled', 'r', 9, 2]);
    }));

  test('an endpoint keeps its failures when the description changes, and loses its failures with a new URL or status', () =>
    withStore(async (store) => {
      await write(store, { type: 'endpoint_created', endpoint: MADE });
      const change = async (fields: Partial<WebhookEndpoint>) => {
        const before = await readEndpoint(store);
        await write(store, { type: 'endpoint_failed', endpointId: ID, at: 5 });
        const endpoint = { ...before, ...fields, version: before.version + 1 };
        await write(store, { type: 'endpoint_changed', endpoint });
        return (await readEndpoint(store)).failingSince;
      };
      assert.equal(await change({ description: 'x' }), 5);
      assert.equal(await change({ url: 'https://else.example/' }), null);
      assert.equal(await change({ status: 'disabled' }), null);
      assert.equal(await change({ description: 'y' }), 5);
      assert.equal(await change({ status: 'active' }), null);
    }));
});
