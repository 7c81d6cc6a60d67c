// @run on=sqlite,postgres
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { test } from 'node:test';
import { Webhook } from 'standardwebhooks';
import { Stripe } from 'stripe';
import { providerSays } from '../support/money-arrives.ts';
import { type TestService, call, sessionBody, startTestService } from '../support/service.ts';
import { SECRET, receiver } from '../webhooks/fixtures.ts';

interface Guide {
  sampleSecret: string;
  verifySample: { secret: string };
  signature: { header: string; toleranceSeconds: number };
}

interface Verified {
  ok: boolean;
  result: { merchantWebhookQueued: boolean; signatureVerified: boolean; accepted: boolean };
  error?: { code: string; field?: string };
}

async function guideOf(url: string): Promise<Guide> {
  return (await call<{ webhooks: Guide }>('GET', `${url}/api/agent/capabilities`)).body.webhooks;
}

/** As capabilities describe it: t + "." + payload as compact JSON in the key order sent, the secret as text. */
function sign(secret: string, payload: object, timestamp = 1_700_000_000): string {
  const content = `${timestamp}.${JSON.stringify(payload)}`;
  return `t=${timestamp},v1=${createHmac('sha256', secret).update(content).digest('hex')}`;
}

function verify(url: string, body: object) {
  return call<Verified>('POST', `${url}/api/agent/actions/webhook.verify_sample`, body);
}

async function newSession(service: TestService, environment = 'sandbox'): Promise<string> {
  const { body } = await call<{ id: string }>(
    'POST',
    `${service.url}/api/gateway/sessions`,
    sessionBody({ environment }),
  );
  return body.id;
}

async function statusOf(service: TestService, id: string): Promise<string> {
  return (await call<{ status: string }>('GET', `${service.url}/api/gateway/sessions/${id}`)).body.status;
}

test('an example is verified by other people’s libraries with the published sample secret', async () => {
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

test('a sample is accepted with a placeholder, refused with a wrong signature, and verified over the order sent', async () => {
  await using service = await startTestService();
  const { secret } = (await guideOf(service.url)).verifySample;
  const payload = { status: 'paid', amount: 49.99, sessionId: 'chk_nobody_knows', eventId: 'evt_1' };
  const outcomes = async (signature?: string) => {
    const { status, body } = await verify(service.url, { payload, ...(signature !== undefined && { signature }) });
    assert.equal(status, 200, JSON.stringify(body));
    return [body.result.accepted, body.result.signatureVerified, body.result.merchantWebhookQueued];
  };
  assert.deepEqual(await outcomes(), [true, false, false]);
  assert.deepEqual(await outcomes('placeholder'), [true, false, false]);
  assert.deepEqual(await outcomes(sign(secret, payload)), [true, true, false], 'an unknown session is fine');

  const { eventId, ...others } = payload;
  for (const signature of [sign('another secret', payload), sign(secret, { eventId, ...others })]) {
    const { status, body } = await verify(service.url, { payload, signature });
    assert.deepEqual([status, body.error?.code, body.error?.field], [400, 'invalid_signature', 'signature']);
  }
});

test('a verified sample moves its sandbox session once, and queues its event once', async () => {
  await using service = await startTestService();
  const { secret } = (await guideOf(service.url)).verifySample;
  const sessionId = await newSession(service);
  const send = async (payload: object, signature = sign(secret, payload)) =>
    (await verify(service.url, { payload, signature })).body.result.merchantWebhookQueued;
  const pending = { eventId: 'evt_1', sessionId, status: 'provider_pending', amount: 49.99 };
  assert.equal(await send(pending, 'placeholder'), false);
  assert.equal(await statusOf(service, sessionId), 'routed', 'a placeholder moves nothing');
  assert.equal(await send(pending), true);
  assert.equal(await statusOf(service, sessionId), 'pending');
  assert.equal(await send(pending), false, 'the same event again');

  assert.equal(await send({ ...pending, eventId: 'evt_2', status: 'paid', amount: 49.98 }), false);
  assert.equal(await statusOf(service, sessionId), 'pending', 'a wrong amount pays nothing');
  assert(
    service.logged.some((line) => line.includes('amount_mismatch')),
    'a wrong amount is flagged',
  );

  const paid = { ...pending, eventId: 'evt_3', status: 'paid', txHash: 'tx_1' };
  assert.equal(await send(paid), true);
  assert.equal(await statusOf(service, sessionId), 'paid');
  assert.equal(await send({ ...paid, eventId: 'evt_4' }), false, 'paid already');
  const { body: payment } = await call<{ status: string }>('GET', `${service.url}/api/gateway/payments/${sessionId}`);
  assert.equal(payment.status, 'paid');
});

test('a sample never touches production', async () => {
  await using service = await startTestService();
  const { secret } = (await guideOf(service.url)).verifySample;
  const sessionId = await newSession(service, 'production');
  const payload = { eventId: 'evt_1', sessionId, status: 'paid', amount: 49.99 };
  const { status, body } = await verify(service.url, { payload, signature: sign(secret, payload) });
  assert.equal(status, 200);
  assert.deepEqual([body.result.signatureVerified, body.result.merchantWebhookQueued], [true, false]);
  assert.equal(await statusOf(service, sessionId), 'routed');
  assert(!service.logged.some((line) => line.includes('callback flagged')));
});

test('a verified sample with failed ends its session, and the receiver gets payment.failed', async (context) => {
  const { url, received } = await receiver(context);
  await using service = await startTestService({ variables: { WEBHOOK_URL: url, WEBHOOK_SECRET: SECRET } });
  const { secret } = (await guideOf(service.url)).verifySample;
  const { webhooks } = new Stripe('sk_test_none');
  /** Sends a sample, and checks that merchantWebhookQueued agrees with the events that the receiver got for it. */
  const fail = async (sessionId: string, eventId: string): Promise<boolean> => {
    await service.pass(0);
    const before = received.length;
    const payload = { eventId, sessionId, status: 'failed', amount: 49.99 };
    const { body } = await verify(service.url, { payload, signature: sign(secret, payload) });
    await service.pass(0);
    const events = received.slice(before).map(({ headers, body }) => {
      // The clock of this service is stopped at a time in the past.
      webhooks.constructEvent(body, headers['x-gateway-signature']!, SECRET, Number.MAX_SAFE_INTEGER);
      return JSON.parse(body) as { type: string; data: { session_id: string; status: string } };
    });
    const expected = body.result.merchantWebhookQueued ? [['payment.failed', sessionId, 'failed']] : [];
    const got = events.map(({ type, data }) => [type, data.session_id, data.status]);
    assert.deepEqual(got, expected, eventId);
    return body.result.merchantWebhookQueued;
  };

  const histories: Record<string, ('provider_pending' | 'failed')[]> = {
    routed: [],
    'attempt in progress': ['provider_pending'],
    'attempt declined, retry open': ['failed'],
  };
  for (const [history, statuses] of Object.entries(histories)) {
    const sessionId = await newSession(service);
    for (const status of statuses) await providerSays(service, sessionId, status);
    assert.equal(await fail(sessionId, `evt_${history}`), true, history);
    assert.equal(await statusOf(service, sessionId), 'failed', history);
    assert.equal(await fail(sessionId, `evt_${history}`), false, `${history}: the same sample again`);
    assert.equal(await fail(sessionId, `evt_${history}_2`), false, `${history}: the session has failed already`);
    const { body } = await call<{ status: string }>('GET', `${service.url}/api/gateway/payments/${sessionId}`);
    assert.equal(body.status, 'failed', history);
  }

  const paid = await newSession(service);
  await providerSays(service, paid, 'paid');
  assert.equal(await fail(paid, 'evt_paid'), false);
  assert.equal(await statusOf(service, paid), 'paid');
  const expired = await newSession(service);
  await call('POST', `${service.url}/api/gateway/sessions/${expired}/expire`);
  assert.equal(await fail(expired, 'evt_expired'), false);
  assert.equal(await statusOf(service, expired), 'expired');
});

test('a failed attempt reported by the provider itself leaves the session open', async () => {
  await using service = await startTestService();
  const sessionId = await newSession(service);
  const { queued } = await providerSays(service, sessionId, 'failed');
  assert.deepEqual([queued, await statusOf(service, sessionId)], [false, 'pending']);
});
