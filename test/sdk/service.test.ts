import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Tillway, webhooks } from '../../sdk/src/index.ts';
import { type MerchantServer, startMerchant } from '../support/http-server.ts';
import { providerSays } from '../support/money-arrives.ts';
import { type TestService, startTestService } from '../support/service.ts';
import { BODY } from './calls.ts';

const SECRET = 'whsec_dGhlIHNlY3JldCBvZiB0aGUgc2RrIHRlc3QgIzE=';

describe('the SDK client of a running service', () => {
  let receiver: MerchantServer;
  let service: TestService;
  let tillway: Tillway;

  before(async () => {
    receiver = await startMerchant();
    service = await startTestService({ variables: { WEBHOOK_URL: receiver.url, WEBHOOK_SECRET: SECRET } });
    tillway = new Tillway({ baseUrl: service.url, maxRetries: 0 });
  });
  after(async () => {
    await service[Symbol.asyncDispose]();
    await receiver[Symbol.asyncDispose]();
  });

  test('the SDK client of a running service creates one session if the first response is lost', async () => {
    let isLost = false;
    const losesFirstResponse = new Tillway({
      baseUrl: service.url,
      async fetch(url, init) {
        const response = await fetch(url, init);
        if (isLost) return response;
        isLost = true;
        throw new TypeError('fetch failed');
      },
    });
    const params = { ...BODY, clientReferenceId: 'lost-answer' };
    const { data, response } = await losesFirstResponse.sessions.create(params).withResponse();
    assert.deepEqual([response.attempts, response.replayed], [2, true]);
    const sessions = await tillway.sessions.list({ clientReferenceId: 'lost-answer' }).toArray();
    const { transfer, ...listed } = data;
    assert.deepEqual([transfer, sessions], [null, [listed]]);
  });

  test('the SDK client of a running service verifies the webhook of a payment, and reads the same event and the payment from the API', async () => {
    const session = await tillway.sessions.create({ ...BODY, metadata: { orderId: 'A-1001' } });
    await providerSays(service, session.id, 'paid');
    await service.pass(0);
    const { headers, body } = receiver.received.at(-1)!;
    const event = await webhooks.verify(body, headers, SECRET, { now: service.clock.now() });
    assert.equal(event.type, 'payment.paid');
    assert.equal(event.data.metadata['orderId'], 'A-1001');
    assert.equal((await tillway.sessions.get(session.id)).status, 'paid');
    const payment = await tillway.payments.get(session.id);
    assert.deepEqual(await tillway.payments.list({ paymentId: session.id }).toArray(), [payment]);
    assert.equal((await tillway.invoices.get(payment.invoiceId)).status, 'paid');
    assert.equal((await tillway.customers.get(payment.customerId)).email, BODY.customer);
    assert.deepEqual(await tillway.events.get(event.id), event);
    assert.deepEqual(await tillway.events.list({ sessionId: session.id }).toArray(), [event]);
    const [delivery] = (await tillway.deliveries.list({ eventId: event.id })).data;
    assert.deepEqual((await tillway.deliveries.get(delivery!.id)).payload, event);
    assert.equal((await tillway.deliveries.replay(delivery!.id)).status, 'pending');
    assert.equal((await tillway.events.resend(event.id)).data[0]!.eventId, event.id);
  });
});
