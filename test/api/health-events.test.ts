import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { type TestContext, describe, test } from 'node:test';
import type { z } from 'zod';
import type { DeliveryResource } from '../../src/contract/delivery-contract.ts';
import type { transitionResource } from '../../src/contract/routing-contract.ts';
import type { WebhookEndpointResource } from '../../src/contract/webhook-endpoint-contract.ts';
import { type RouteHealthEvent, webhooks } from '../../sdk/src/index.ts';
import { runIn } from '../cli/terminal.ts';
import { createSession, start } from '../simulator/buyer.ts';
import { connect, startFakeProvider } from '../support/fake-provider.ts';
import { gatewayOf } from '../support/gateway.ts';
import type { List } from '../support/merchant.ts';
import { startTestService } from '../support/service.ts';
import { assertSound } from '../support/sound.ts';
import { SECRET, receiver } from '../webhooks/fixtures.ts';

const SECOND = 1000;
const ACQUIRER = 'sandbox_card_acquirer';

/** A service with the endpoint of WEBHOOK_URL, and an endpoint that subscribes to `route.health_changed`. */
async function openEndpoints(context: TestContext) {
  const [usual, named] = [await receiver(context), await receiver(context)];
  const variables = {
    WEBHOOK_URL: usual.url,
    WEBHOOK_SECRET: SECRET,
    ENCRYPTION_KEY: randomBytes(32).toString('base64'),
  };
  const tillway = await startTestService({ variables });
  context.after(async () => {
    await assertSound(tillway.databaseUrl);
    await tillway[Symbol.asyncDispose]();
  });
  const api = gatewayOf(tillway);
  const subscribe = () =>
    api.post<WebhookEndpointResource & { secret: string }>('webhook-endpoints', {
      url: named.url,
      events: ['route.health_changed'],
    });
  const sent = () => named.received.map(({ body }) => JSON.parse(body) as RouteHealthEvent);
  const transitions = async () =>
    (await api.get<List<z.output<typeof transitionResource>>>('routing/transitions')).data.toReversed();
  return { tillway, api, usual, named, subscribe, sent, transitions };
}

describe('a change of the health of a route', () => {
  test('an override of a health sends one signed event to the endpoint that names the type, and none to others', async (context) => {
    const { tillway, api, usual, named, subscribe, transitions } = await openEndpoints(context);
    const { secret } = await subscribe();
    await runIn(tillway, 'routes', 'override', ACQUIRER, 'standby', '--reason', 'works');
    await tillway.pass(SECOND);
    await tillway.pass(SECOND);
    assert.deepEqual([usual.received.length, named.received.length], [0, 1]);
    const [{ id, created } = assert.fail()] = await transitions();
    const { body, headers } = named.received[0]!;
    const event = await webhooks.verify(body, headers, secret, { now: tillway.clock.now() });
    assert.deepEqual(event, {
      id: `evt_${id}`,
      type: 'route.health_changed',
      livemode: false,
      created,
      data: {
        route: { id: ACQUIRER, kind: 'card', label: 'Card, simulated acquirer', provider: 'sandbox' },
        from: 'live',
        to: 'standby',
        cause: 'override',
        words: 'standby: set by the operator (works)',
      },
    });

    const { data } = await api.get<List<DeliveryResource>>('deliveries?type=route.health_changed');
    assert.deepEqual(
      data.map(({ eventId, sessionId, status }) => [eventId, sessionId, status]),
      [[event.id, null, 'delivered']],
    );
    assert.deepEqual(await api.get(`events/${event.id}`), event);
    assert.deepEqual((await api.get<List<unknown>>('events?after=')).data, [event]);
    assert.deepEqual((await api.get<List<unknown>>(`events?startingAfter=${event.id}`)).data, []);
    await api.post(`events/${event.id}/resend`);
    await tillway.pass(SECOND);
    assert.deepEqual([usual.received.length, named.received[1]?.body], [0, body]);
    const [audited] = (await api.get<List<{ action: string; sessionId: string | null }>>('audit?limit=1')).data;
    assert.equal(audited!.sessionId, null);
    for (const line of ['events list', 'events feed', `events get ${event.id}`, 'deliveries list']) {
      const { stdout, code } = await runIn(tillway, ...line.split(' '));
      assert.equal(code, 0, line);
      assert.match(stdout, /route\.health_changed/, line);
    }
  });

  test('an equal override changes nothing, and a new reason or the end of an override to degraded sends no event', async (context) => {
    const { tillway, api, subscribe, sent, transitions } = await openEndpoints(context);
    await subscribe();
    const until = new Date(tillway.clock.now() + 10 * SECOND).toISOString();
    const degraded = { health: 'degraded', until };
    const standings: unknown[] = [];
    for (const body of [degraded, degraded, { until, health: 'degraded' }, { ...degraded, reason: 'slow' }]) {
      standings.push(await api.put(`routing/routes/${ACQUIRER}/health`, body));
      await tillway.pass(SECOND);
    }
    assert.deepEqual([standings[1], standings[2]], [standings[0], standings[0]]);
    assert.partialDeepStrictEqual(standings[3], { override: { health: 'degraded', until, reason: 'slow' } });
    await tillway.pass(10 * SECOND);
    await tillway.pass(SECOND);
    assert.deepEqual(
      (await transitions()).map(({ from, to, cause }) => [from, to, cause]),
      [
        ['live', 'degraded', 'override'],
        ['degraded', 'degraded', 'override'],
        ['degraded', 'degraded', 'override_ended'],
      ],
    );
    assert.deepEqual(
      sent().map(({ data }) => [data.from, data.to]),
      [['live', 'degraded']],
    );
  });

  test('transitions by the router are sent as they are recorded, one event each, in order', async (context) => {
    const { tillway, usual, subscribe, sent, transitions } = await openEndpoints(context);
    await using provider = await startFakeProvider();
    provider.answer = 'refuse';
    connect(tillway.service, provider);
    await subscribe();
    for (let index = 0; index < 4; index++) {
      await start(tillway, await createSession(tillway), 'card');
      await tillway.pass(SECOND);
    }
    await runIn(tillway, 'routes', 'override', ACQUIRER, 'live');
    await tillway.pass(SECOND);
    const recorded = await transitions();
    assert.ok(recorded.length >= 2);
    assert.deepEqual(
      sent().map(({ id, data }) => [id, data.route.id, data.from, data.to, data.cause, data.words]),
      recorded.map(({ id, routeId, from, to, cause, words }) => [`evt_${id}`, routeId, from, to, cause, words]),
    );
    assert.ok(usual.received.every(({ body }) => !body.includes('route.health_changed')));
  });

  test('an endpoint that was disabled during a transition recovers its event', async (context) => {
    const { tillway, api, subscribe, sent } = await openEndpoints(context);
    const { id } = await subscribe();
    const since = new Date(tillway.clock.now()).toISOString();
    await api.patch(`webhook-endpoints/${id}`, { status: 'disabled' });
    await runIn(tillway, 'routes', 'override', ACQUIRER, 'standby');
    await tillway.pass(SECOND);
    assert.deepEqual(sent(), []);
    await api.patch(`webhook-endpoints/${id}`, { status: 'active' });
    await api.post(`webhook-endpoints/${id}/recover`, { from: since });
    await tillway.pass(SECOND);
    assert.deepEqual(
      sent().map(({ data }) => data.to),
      ['standby'],
    );
  });

  test('without a subscribed endpoint a transition records no event', async (context) => {
    const { tillway, api, usual, transitions } = await openEndpoints(context);
    await runIn(tillway, 'routes', 'override', ACQUIRER, 'standby');
    await tillway.pass(SECOND);
    assert.equal((await transitions()).length, 1);
    assert.deepEqual((await api.get<List<unknown>>('events')).data, []);
    assert.equal(usual.received.length, 0);
  });
});
