import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { test } from 'node:test';
import { Webhook } from 'standardwebhooks';
import { Stripe } from 'stripe';
import { createSession } from '../simulator/buyer.ts';
import { gatewayOf, paymentsOf } from '../support/gateway.ts';
import { providerSays } from '../support/money-arrives.ts';
import { refused } from '../support/refusal.ts';
import { type TestService, call, startTestService } from '../support/service.ts';
import { SECRET, receiver } from '../webhooks/fixtures.ts';
import { suiteService } from '../support/suite.ts';

interface Guide {
  sampleSecret: string;
  verifySample: { secret: string };
  signature: { header: string; toleranceSeconds: number };
}

interface Verified {
  result: { merchantWebhookQueued: boolean; signatureVerified: boolean; accepted: boolean };
}

const service = suiteService({}, async () => {
  secret = (await guideOf(service.url)).verifySample.secret;
});
let secret: string;

async function guideOf(url: string): Promise<Guide> {
  return (await call<{ webhooks: Guide }>('GET', `${url}/api/agent/capabilities`)).body.webhooks;
}

/** Signs as the capabilities document describes: HMAC of t + "." + the payload as compact JSON, keys in the order sent. */
function sign(payload: object, by = secret, timestamp = 1_700_000_000): string {
  const content = `${timestamp}.${JSON.stringify(payload)}`;
  return `t=${timestamp},v1=${createHmac('sha256', by).update(content).digest('hex')}`;
}

const urlOf = (on: TestService) => `${on.url}/api/agent/actions/webhook.verify_sample`;

/** Sends a sample with the given signature, by default the valid one; an empty signature is left out. */
async function verify(payload: object, signature: string | undefined = sign(payload), on = service) {
  const { status, body } = await call<Verified>('POST', urlOf(on), { payload, ...(signature !== '' && { signature }) });
  assert.equal(status, 200, JSON.stringify(body));
  return body.result;
}

async function statusOf(id: string, on = service): Promise<string> {
  return (await on.service.deps.store.session(id))!.status;
}

test('third-party webhook libraries verify an example with the published sample secret', async () => {
  await using service = await startTestService({ live: true });
  const guide = await guideOf(service.url);
  for (const event of ['payment.provider_pending', 'payment.paid', 'payment.failed']) {
    const { body } = await call<{ result: { headers: Record<string, string>; payload: { id: string; type: string } } }>(
      'POST',
      `${service.url}/api/agent/actions/webhook.example`,
      { event, metadata: { note: 'Grüße 🎉' } },
    );
    const { headers, payload } = body.result;
    const raw = JSON.stringify(payload);
    assert.equal(payload.type, event);
    assert.equal(headers['x-gateway-event'], payload.id);
    const signature = headers[guide.signature.header]!;
    const { webhooks } = new Stripe('sk_test_none');
    webhooks.constructEvent(raw, signature, guide.sampleSecret, guide.signature.toleranceSeconds);
    assert.throws(() => webhooks.constructEvent(`${raw} `, signature, guide.sampleSecret));
    new Webhook(guide.sampleSecret).verify(raw, headers);
    assert.throws(() => new Webhook(guide.sampleSecret).verify(`${raw} `, headers));
  }
});

test('a sample is accepted with a placeholder signature, rejected with a wrong signature, and verified in the key order sent', async () => {
  const payload = { status: 'paid', amount: 49.99, sessionId: 'chk_unknown', eventId: 'evt_1' };
  const accepted = { accepted: true, merchantWebhookQueued: false };
  for (const placeholder of ['', 'placeholder'])
    assert.partialDeepStrictEqual(await verify(payload, placeholder), { ...accepted, signatureVerified: false });
  // The signature is verified although the session does not exist.
  assert.partialDeepStrictEqual(await verify(payload), { ...accepted, signatureVerified: true });

  const { eventId, ...others } = payload;
  for (const signature of [sign(payload, 'another secret'), sign({ eventId, ...others })]) {
    const error = await refused([400, 'invalid_signature'], 'POST', urlOf(service), { payload, signature });
    assert.equal(error.field, 'signature');
  }
});

test('a verified sample changes its sandbox session once and queues one event, also if the sample is repeated', async () => {
  const sessionId = await createSession(service);
  const pending = { eventId: 'evt_1', sessionId, status: 'provider_pending', amount: 49.99 };
  const paid = { ...pending, eventId: 'evt_3', status: 'paid', txHash: 'tx_1' };
  for (const [payload, isQueued, status, signature] of [
    [pending, false, 'routed', 'placeholder'],
    [pending, true, 'pending'],
    [pending, false, 'pending'],
    [{ ...paid, eventId: 'evt_2', amount: 49.98 }, false, 'pending'],
    [paid, true, 'paid'],
    [{ ...paid, eventId: 'evt_4' }, false, 'paid'],
  ] as const) {
    assert.equal((await verify(payload, signature)).merchantWebhookQueued, isQueued, payload.eventId);
    assert.equal(await statusOf(sessionId), status, payload.eventId);
  }
  assert(service.logged.some((line) => line.includes('amount_mismatch')));
  assert.equal((await paymentsOf(service, sessionId))[0]!.status, 'paid');
});

test('a sample never changes production', async () => {
  const sessionId = await createSession(service, { environment: 'production' });
  const logged = service.logged.length;
  const verified = await verify({ eventId: 'evt_production', sessionId, status: 'paid', amount: 49.99 });
  assert.partialDeepStrictEqual(verified, { signatureVerified: true, merchantWebhookQueued: false });
  assert.equal(await statusOf(sessionId), 'routed');
  assert(!service.logged.slice(logged).some((line) => line.includes('callback flagged')));
});

test('a verified sample with the status failed closes its session, and the receiver gets payment.failed', async (context) => {
  const { url, received } = await receiver(context);
  await using service = await startTestService({ variables: { WEBHOOK_URL: url, WEBHOOK_SECRET: SECRET } });
  const { webhooks } = new Stripe('sk_test_none');
  /** Sends a failed sample; asserts that the receiver got an event exactly if merchantWebhookQueued is true. */
  const sendFailed = async (sessionId: string, eventId: string): Promise<boolean> => {
    await service.pass(0);
    const before = received.length;
    const payload = { eventId, sessionId, status: 'failed', amount: 49.99 };
    const { merchantWebhookQueued } = await verify(payload, sign(payload), service);
    await service.pass(0);
    const events = received.slice(before).map(({ headers, body }) => {
      // The clock of this service is stopped at a time in the past.
      webhooks.constructEvent(body, headers['x-gateway-signature']!, SECRET, Number.MAX_SAFE_INTEGER);
      return JSON.parse(body) as { type: string; data: { session_id: string; status: string } };
    });
    const expected = merchantWebhookQueued ? [['payment.failed', sessionId, 'failed']] : [];
    const got = events.map(({ type, data }) => [type, data.session_id, data.status]);
    assert.deepEqual(got, expected, eventId);
    return merchantWebhookQueued;
  };

  const histories: Record<string, ('provider_pending' | 'failed')[]> = {
    routed: [],
    'attempt in progress': ['provider_pending'],
    'attempt declined, retry open': ['failed'],
  };
  for (const [history, statuses] of Object.entries(histories)) {
    const sessionId = await createSession(service);
    for (const status of statuses) await providerSays(service, sessionId, status);
    assert.equal(await sendFailed(sessionId, `evt_${history}`), true, history);
    assert.equal(await statusOf(sessionId, service), 'failed', history);
    assert.equal(await sendFailed(sessionId, `evt_${history}`), false, `${history}: the same sample again`);
    assert.equal(await sendFailed(sessionId, `evt_${history}_2`), false, `${history}: the session has failed already`);
    assert.equal((await paymentsOf(service, sessionId)).at(-1)!.status, 'failed', history);
  }

  const paid = await createSession(service);
  await providerSays(service, paid, 'paid');
  assert.equal(await sendFailed(paid, 'evt_paid'), false);
  assert.equal(await statusOf(paid, service), 'paid');
  const expired = await createSession(service);
  await gatewayOf(service).post(`sessions/${expired}/expire`);
  assert.equal(await sendFailed(expired, 'evt_expired'), false);
  assert.equal(await statusOf(expired, service), 'expired');
});
