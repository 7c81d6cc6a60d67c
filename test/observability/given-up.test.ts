import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { eraseSession } from '../../src/domain/personal-data.ts';
import type { SessionStatus } from '../../src/domain/records.ts';
import { createMetrics } from '../../src/service/count-metrics.ts';
import { aSession } from '../fixtures/checkout-records.ts';
import { attempt, createSession } from '../simulator/buyer.ts';
import { type TestService, call, startTestService } from '../support/service.ts';
import { type Merchant, startMerchant } from './merchant.ts';

const variables = {
  METRICS_PORT: '0',
  WEBHOOK_ALLOW_PRIVATE: 'true',
  ENCRYPTION_KEY: Buffer.alloc(32, 3).toString('base64'),
};

describe('deliveries of a deleted endpoint', () => {
  let service: TestService;
  let receiver: Merchant;
  before(async () => {
    receiver = await startMerchant();
    service = await startTestService({ variables });
  });
  after(async () => {
    await service[Symbol.asyncDispose]();
    await receiver[Symbol.asyncDispose]();
  });

  async function makeEndpoint(status: number): Promise<string> {
    receiver.status = status;
    const body = { url: receiver.url, environment: 'sandbox' };
    const made = await call<{ id: string }>('POST', `${service.url}/api/gateway/webhook-endpoints`, body);
    assert.equal(made.status, 200);
    return made.body.id;
  }

  async function sell(): Promise<void> {
    await attempt(service, await createSession(service), 'card', 'paid');
    await service.pass(0);
  }

  async function deleteEndpoint(endpoint: string): Promise<void> {
    assert.equal((await call('DELETE', `${service.url}/api/gateway/webhook-endpoints/${endpoint}`)).status, 200);
  }

  async function counted() {
    const lines = (await (await fetch(`${service.service.metricsUrl}/metrics`)).text()).split('\n');
    const value = (name: string, labels = '') => {
      const series = `tillway_${name}{environment="sandbox"${labels}} `;
      return Number(lines.find((line) => line.startsWith(series))?.slice(series.length));
    };
    return {
      givenUp: value('deliveries_ended_total', ',state="given_up"'),
      dead: value('deliveries_ended_total', ',state="dead"'),
      unanswered: value('delivery_attempts_total', ',status="none"'),
      timed: value('delivery_attempt_duration_seconds_count'),
    };
  }

  const letters = async () => (await service.service.deps.store.backlog('sandbox', service.clock.now())).deliveriesDead;

  test('count as given up, neither as attempts nor as dead letters', async () => {
    assert.deepEqual(await counted(), { givenUp: 0, dead: 0, unanswered: 0, timed: NaN });
    const endpoint = await makeEndpoint(500);
    await sell();
    await deleteEndpoint(endpoint);
    for (let minutes = 0; minutes < 4; minutes++) await service.pass(60_000);
    const { givenUp, ...others } = await counted();
    assert.ok(givenUp >= 2, String(givenUp));
    assert.deepEqual(others, { dead: 0, unanswered: 0, timed: receiver.received.length });
    const dead = await service.service.deps.store.listDeliveries({ status: 'dead' }, { limit: 100 });
    assert.equal(dead.items.length, givenUp);
    assert.equal(await letters(), 0);
  });

  test('count as dead letters until the deletion if they failed for good before it', async () => {
    const endpoint = await makeEndpoint(410);
    await sell();
    assert.equal(await letters(), 1);
    assert.equal((await counted()).dead, 1);
    await deleteEndpoint(endpoint);
    assert.equal(await letters(), 0);
  });
});

test('erasing a session counts an expiry only if the session was routed', async () => {
  for (const [from, expired] of [
    ['routed', 1],
    ['expired', 0],
    ['paid', 0],
  ] as [SessionStatus, number][]) {
    const { commits, instruments } = createMetrics();
    const session = eraseSession(aSession({ status: from }));
    commits.commit([{ type: 'session_erased', session, from, events: [] }], 'done', 0.001);
    const { values } = await instruments.sessionTransitions.get();
    assert.deepEqual(
      values.map(({ labels, value }) => [labels['state'], value]),
      expired === 0 ? [] : [['expired', expired]],
      from,
    );
  }
});
