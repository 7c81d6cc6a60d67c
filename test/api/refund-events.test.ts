// @run on=sqlite,postgres
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { type TestContext, describe, test } from 'node:test';
import type { DeliveryResource } from '../../src/contract/delivery-contract.ts';
import type { WebhookEndpointResource } from '../../src/contract/webhook-endpoint-contract.ts';
import type { PaymentEvent, Refund } from '../../sdk/src/index.ts';
import { webhooks } from '../../sdk/src/index.ts';
import { changed } from '../../src/domain/checkout-state.ts';
import type { Reversal } from '../../src/domain/reversal.ts';
import { commitDecision } from '../../src/operations/commit-decision.ts';
import { idOf } from '../fixtures/checkout-records.ts';
import { attempt, createSession } from '../simulator/buyer.ts';
import { gatewayOf } from '../support/gateway.ts';
import { startTestService } from '../support/service.ts';
import { assertSound } from '../support/sound.ts';
import { SECRET, receiver } from '../webhooks/fixtures.ts';

const SECOND = 1000;

interface Shop {
  id: string;
  secret: string;
  answer: number;
  received: { body: string; headers: Record<string, string | undefined> }[];
  /** Ids of the received events, without the prefix `evt_<session>_`. */
  reports(): string[];
}

/**
 * A paid session and two endpoints: the endpoint from WEBHOOK_URL with the default subscription, and an endpoint that
 * subscribes to `payment.paid`, `payment.refunded` and `payment.disputed`.
 */
async function openShops(context: TestContext) {
  const open = async (): Promise<Shop & { url: string }> => {
    const shop = { id: '', secret: SECRET, answer: 200 };
    const { url, received } = await receiver(context, (_, __, response) => void response.writeHead(shop.answer).end());
    const reports = () => received.map(({ body }) => eventIn(body).id.replace(/^evt_chk_[^_]+_/, ''));
    return Object.assign(shop, { url, received: received as Shop['received'], reports });
  };
  const [usual, named] = [await open(), await open()];
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
  const events = ['payment.paid', 'payment.refunded', 'payment.disputed'];
  const endpoint = { url: named.url, events };
  const { id, secret } = await api.post<WebhookEndpointResource & { secret: string }>('webhook-endpoints', endpoint);
  Object.assign(named, { id, secret });
  const sessionId = await createSession(tillway, { metadata: { orderId: 'A-1001' } });
  await attempt(tillway, sessionId, 'card', 'paid');
  await tillway.pass(0);
  return { tillway, api, usual, named, sessionId };
}

const eventIn = (body: string) => JSON.parse(body) as PaymentEvent;

describe('a refund', () => {
  test('a refund sends payment.refunded after payment.paid, and only to endpoints that name the type', async (context) => {
    const { tillway, api, usual, named, sessionId } = await openShops(context);
    const body = { amount: 20, reason: 'duplicate' };
    const { id } = await api.post<Refund>(`payments/${sessionId}/refunds`, body);
    assert.deepEqual(named.reports(), ['paid']);
    await tillway.pass(SECOND);
    assert.deepEqual(named.reports(), ['paid', `refunded_${id}`]);
    assert.deepEqual(usual.reports(), ['provider_pending', 'paid']);

    const [paid, refunded] = named.received;
    const event = await webhooks.verify(refunded!.body, refunded!.headers, named.secret, {
      now: tillway.clock.now(),
    });
    assert.equal(refunded!.headers['x-gateway-event'], event.id);
    const { created, data } = eventIn(paid!.body);
    assert.deepEqual(event, {
      id: `evt_${sessionId}_refunded_${id}`,
      type: 'payment.refunded',
      livemode: false,
      created: event.created,
      data: { ...data, refund: { id, amount: 20, status: 'succeeded', reason: 'duplicate' } },
    });
    assert.equal(data.status, 'paid');
    assert.ok(event.created > created);

    const second = await api.post<Refund>(`payments/${sessionId}/refunds`);
    await tillway.pass(SECOND);
    assert.deepEqual(named.reports().slice(2), [`refunded_${second.id}`]);
  });

  test('a refund that fails after its success sends a second event; a refund that fails at once sends no event', async (context) => {
    const { tillway, api, named, sessionId } = await openShops(context);
    await api.post<Refund>(`payments/${sessionId}/refunds`, { amount: 5.02 });
    const { id } = await api.post<Refund>(`payments/${sessionId}/refunds`, { amount: 5.03, reason: 'other' });
    for (const seconds of [1, 40]) await tillway.pass(seconds * SECOND);
    assert.deepEqual(named.reports(), ['paid', `refunded_${id}`, `refunded_${id}_failed`]);
    const { data } = eventIn(named.received[2]!.body);
    assert.deepEqual([data.status, data.refund], ['paid', { id, amount: 5.03, status: 'failed', reason: 'other' }]);
    assert.equal((await api.get<Refund>(`refunds/${id}`)).status, 'failed');
  });

  test('the refund of a surplus payment sends no event', async (context) => {
    const { tillway, named } = await openShops(context);
    const sessionId = await createSession(tillway);
    await attempt(tillway, sessionId, 'card', 'late_success');
    await tillway.pass(0);
    await attempt(tillway, sessionId, 'card', 'paid');
    for (let waited = 0; waited < 6; waited++) await tillway.pass(10 * SECOND);
    const { payments } = (await tillway.service.deps.store.checkout(sessionId))!;
    assert.deepEqual(payments.map(({ surplus, ledgerStatus }) => `${surplus} ${ledgerStatus}`).toSorted(), [
      'false pending',
      'true refunded',
    ]);
    assert.deepEqual(named.reports(), ['paid', 'paid']);
  });

  test('the event of a refund waits for earlier events, and can be read, listed, resent and replayed by its id', async (context) => {
    const { tillway, api, usual, named, sessionId } = await openShops(context);
    named.answer = 500;
    const { id } = await api.post<Refund>(`payments/${sessionId}/refunds`, { amount: 5.03 });
    for (const seconds of [1, 40]) await tillway.pass(seconds * SECOND);
    const refunded = `evt_${sessionId}_refunded_${id}`;
    assert.deepEqual(new Set(named.reports()), new Set(['paid', `refunded_${id}`]));
    named.answer = 200;
    await tillway.pass(90 * SECOND);
    assert.deepEqual(named.reports().slice(-2), [`refunded_${id}`, `refunded_${id}_failed`]);

    const event = eventIn(named.received.at(-2)!.body);
    assert.deepEqual(await api.get(`events/${refunded}`), event);
    assert.deepEqual(await api.ids(`events?sessionId=${sessionId}&type=payment.refunded`), [
      `${refunded}_failed`,
      refunded,
    ]);
    assert.deepEqual(await api.ids('events?type=payment.refunded&limit=1'), [`${refunded}_failed`]);
    assert.deepEqual(await api.ids(`events?type=payment.refunded&startingAfter=${refunded}_failed`), [refunded]);
    assert.deepEqual(await api.ids(`events?after=evt_${sessionId}_paid`), [refunded, `${refunded}_failed`]);
    assert.deepEqual(await api.ids(`events?after=${refunded}`), [`${refunded}_failed`]);
    const [delivery] = await api.list<DeliveryResource>(`deliveries?eventId=${refunded}&type=payment.refunded`);
    assert.deepEqual([delivery!.endpointId, delivery!.status], [named.id, 'delivered']);

    const count = named.received.length;
    const resent = await api.post<{ data: DeliveryResource[] }>(`events/${refunded}/resend`);
    assert.deepEqual(
      resent.data.map(({ endpointId }) => endpointId),
      [named.id],
    );
    await tillway.pass(0);
    await api.post(`deliveries/${delivery!.id}/replay`);
    await tillway.pass(0);
    assert.deepEqual(named.reports().slice(count), [`refunded_${id}`, `refunded_${id}`]);
    assert.equal(named.received.at(-1)!.body, JSON.stringify(event));
    assert.deepEqual(usual.reports(), ['provider_pending', 'paid']);

    await api.delete(`webhook-endpoints/${named.id}`);
    const { suggestion } = await api.refused('409 invalid_state', `POST events/${refunded}/resend`);
    assert.match(suggestion, /endpoints create --environment sandbox --events payment\.refunded,/);
  });

  test('a recovery sends the event of a refund to an endpoint that subscribed to payment.refunded later', async (context) => {
    const { tillway, api, usual, sessionId } = await openShops(context);
    const from = new Date(tillway.clock.now()).toISOString();
    const { id } = await api.post<Refund>(`payments/${sessionId}/refunds`, { amount: 20 });
    await tillway.pass(SECOND);
    const { url } = usual;
    const later = await api.post<WebhookEndpointResource>('webhook-endpoints', { url, events: ['payment.refunded'] });
    await tillway.pass(SECOND);
    await api.post(`webhook-endpoints/${later.id}/recover`, { from });
    await tillway.pass(0);
    assert.deepEqual(usual.reports(), ['provider_pending', 'paid', `refunded_${id}`]);
  });
});

describe('a dispute', () => {
  test('a dispute sends an event for each revision to the endpoints that name it', async (context) => {
    const { tillway, api, usual, named, sessionId } = await openShops(context);
    const announce = (fields: Pick<Reversal, 'status' | 'revision' | 'taken' | 'fee'>) =>
      commitDecision(tillway.service.deps, sessionId, (checkout, now) => {
        const [payment] = checkout.payments;
        const of = { paymentId: payment!.id, sessionId, environment: 'sandbox', reference: 'dp_1' } as const;
        const about = { id: idOf('rev', 1), reason: 'fraudulent', created: now, updated: now };
        const reversal: Reversal = { ...of, ...about, ...fields };
        return changed(checkout, checkout, 'disputed', [{ type: 'announce_dispute', payment: payment!, reversal }]);
      });
    await announce({ status: 'open', revision: 1, taken: 4999, fee: 1500 });
    await announce({ status: 'won', revision: 2, taken: 0, fee: 0 });
    await tillway.pass(0);
    const name = `disputed_${idOf('rev', 1)}`;
    assert.deepEqual(named.reports(), ['paid', `${name}_1`, `${name}_2`]);
    assert.deepEqual(usual.reports(), ['provider_pending', 'paid']);
    const [paid, opened, won] = named.received.map(({ body }) => eventIn(body));
    const dispute = { id: idOf('rev', 1), status: 'open', amount: 49.99, fee: 15, reason: 'fraudulent' };
    assert.deepEqual(opened!.data, { ...paid!.data, dispute });
    assert.deepEqual(won!.data, { ...paid!.data, dispute: { ...dispute, status: 'won', amount: 0, fee: 0 } });
    assert.deepEqual(await api.get(`events/${opened!.id}`), opened);
    assert.deepEqual(await api.ids(`events?after=${opened!.id}`), [won!.id]);
  });
});
