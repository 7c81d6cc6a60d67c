import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Tillway, webhooks } from '../../sdk/src/index.ts';
import { SAMPLE_WEBHOOK_SECRET } from '../../src/operations/webhook-samples.ts';
import { type Merchant, startMerchant } from '../observability/merchant.ts';
import { providerSays } from '../support/money-arrives.ts';
import { type TestService, startTestService } from '../support/service.ts';
import { BODY } from './calls.ts';
import { errorOf } from './recorder.ts';

const SECRET = 'whsec_dGhlIHNlY3JldCBvZiB0aGUgc2RrIHRlc3QgIzE=';

describe('the SDK client of a running service', () => {
  let receiver: Merchant;
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

  test('creates, reads and expires a session', async () => {
    const { data: session, response } = await tillway.sessions.create(BODY).withResponse();
    assert.ok(session.checkoutUrl.startsWith(`${service.url}/checkout/`));
    assert.deepEqual([response.status, response.replayed, typeof response.requestId], [200, false, 'string']);
    assert.deepEqual(await tillway.sessions.get(session.id), session);
    assert.equal((await tillway.sessions.expire(session.id)).status, 'expired');
    assert.equal((await tillway.sessions.expire(session.id)).status, 'expired');
  });

  test('gets the same session for a repeated idempotency key, marked as a replay', async () => {
    const params = { ...BODY, idempotencyKey: 'sdk-test-1' };
    const first = await tillway.sessions.create(params);
    const { data, response } = await tillway.sessions.create(params).withResponse();
    assert.deepEqual([data.id, response.replayed], [first.id, true]);
    const error = await errorOf(tillway.sessions.create({ ...params, amount: 1 }));
    assert.deepEqual([error.code, error.status], ['idempotency_conflict', 422]);
  });

  test('creates one session if the first response is lost', async () => {
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
    assert.deepEqual(sessions, [data]);
  });

  test('gets an error with every problem and a suggestion', async () => {
    const error = await errorOf(tillway.checkout.create({ ...BODY, amount: -1, customer: 'nobody' }));
    assert.deepEqual([error.code, error.status, error.field], ['invalid_input', 400, 'amount']);
    const issues = error.issues.map(({ path, code }) => `${path} ${code}`);
    assert.deepEqual(issues, ['amount too_small', 'customer invalid_format']);
    assert.match(error.suggestion!, /Set amount to/);
    assert.match(error.requestId!, /./);
    assert.equal((await errorOf(tillway.payments.get('pay_none'))).code, 'not_found');
    assert.equal((await errorOf(tillway.schema('nothing'))).code, 'unknown_operation');
  });

  test('verifies the webhook of a payment, and reads the same event and the payment from the API', async () => {
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

  test('reads previews, fees, routes, schemas and samples', async () => {
    const preview = await tillway.checkout.preview({ ...BODY, preferredRoute: 'card' });
    assert.equal(preview.dryRun, true);
    const { feeSplit } = await tillway.fees.estimate({ amount: 49.99, preferredRoute: 'card' });
    assert.deepEqual(feeSplit, preview.feeSplit);
    const created = await tillway.checkout.create({ ...BODY, preferredRoute: 'card' });
    assert.deepEqual([created.dryRun, created.status], [false, 'routed']);
    const routes = await tillway.routes.list();
    assert.ok(routes.data.some(({ id }) => id === created.route.id));
    assert.equal((await tillway.schema('checkout.create')).operation, 'checkout.create');
    assert.equal((await tillway.capabilities()).product, 'Tillway');
    const { headers, payload } = await tillway.webhooks.example({ event: 'payment.failed' });
    const options = { now: service.clock.now() };
    const event = await tillway.webhooks.verify(JSON.stringify(payload), headers, SAMPLE_WEBHOOK_SECRET, options);
    assert.equal(event.type, 'payment.failed');
  });
});
