import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { attempt, createSession } from '../simulator/buyer.ts';
import { call, startTestService } from '../support/service.ts';
import { startMerchant } from '../support/http-server.ts';

const variables = {
  METRICS_PORT: '0',
  WEBHOOK_ALLOW_PRIVATE: 'true',
  ENCRYPTION_KEY: Buffer.alloc(32, 3).toString('base64'),
};

const receiver = await startMerchant();
const service = await startTestService({ variables });
after(async () => {
  await service[Symbol.asyncDispose]();
  await receiver[Symbol.asyncDispose]();
});

describe('deliveries of a deleted endpoint', () => {
  async function createEndpoint(status: number): Promise<string> {
    receiver.status = status;
    const body = { url: receiver.url, environment: 'sandbox' };
    const created = await call<{ id: string }>('POST', `${service.url}/api/gateway/webhook-endpoints`, body);
    assert.equal(created.status, 200);
    return created.body.id;
  }

  async function sellAndDelete(endpoint: string): Promise<void> {
    await attempt(service, await createSession(service), 'card', 'paid');
    await service.pass(0);
    assert.equal((await call('DELETE', `${service.url}/api/gateway/webhook-endpoints/${endpoint}`)).status, 200);
    for (let minutes = 0; minutes < 4; minutes++) await service.pass(60_000);
  }

  async function readCounters(): Promise<Record<string, number>> {
    const text = await (await fetch(`${service.service.metricsUrl}/metrics`)).text();
    const value = (series: string) =>
      Number(
        text
          .split('\n')
          .find((line) => line.startsWith(`${series} `))
          ?.split(' ')[1],
      );
    return {
      givenUp: value('tillway_deliveries_ended_total{environment="sandbox",state="given_up"}'),
      dead: value('tillway_deliveries_ended_total{environment="sandbox",state="dead"}'),
      unanswered: value('tillway_delivery_attempts_total{environment="sandbox",status="none"}'),
      timed: value('tillway_delivery_attempt_duration_seconds_count{environment="sandbox"}'),
    };
  }

  test('pending deliveries of a deleted endpoint count as given up, but neither as attempts nor as dead letters', async () => {
    assert.deepEqual(await readCounters(), { givenUp: 0, dead: 0, unanswered: 0, timed: NaN });
    await sellAndDelete(await createEndpoint(500));
    const { givenUp, ...others } = await readCounters();
    assert.ok(givenUp! >= 2, String(givenUp));
    assert.deepEqual(others, { dead: 0, unanswered: 0, timed: receiver.received.length });
    const dead = await service.service.deps.store.listDeliveries({ status: 'dead' }, { limit: 100 });
    assert.equal(dead.items.length, givenUp);
    assert.equal((await service.service.deps.store.backlog('sandbox', service.clock.now())).deliveriesDead, 0);
  });

  test('dead deliveries count as dead letters until their endpoint is deleted', async () => {
    const endpoint = await createEndpoint(410);
    await attempt(service, await createSession(service), 'card', 'paid');
    await service.pass(0);
    const { deps } = service.service;
    const countDeadLetters = async () => (await deps.store.backlog('sandbox', deps.now())).deliveriesDead;
    assert.equal(await countDeadLetters(), 1);
    assert.equal((await readCounters())['dead'], 1);
    assert.equal((await call('DELETE', `${service.url}/api/gateway/webhook-endpoints/${endpoint}`)).status, 200);
    assert.equal(await countDeadLetters(), 0);
  });
});
