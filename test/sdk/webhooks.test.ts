import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { Webhook } from 'standardwebhooks';
import { Stripe } from 'stripe';
import { type WebhookHeaders, WebhookVerificationError, webhooks } from '../../sdk/src/index.ts';
import { disputeEventId, refundEventId, sourceOfEvent } from '../../src/domain/event-id.ts';
import { deliveryHeaders } from '../../src/webhooks/sign.ts';
import { errorOf } from './recorder.ts';
import { runs } from '../support/for-all.ts';

const SECRET = 'whsec_dGlsbHdheSBzYW1wbGUgd2ViaG9vayBzZWNyZXQgIzE=';
const OTHER_SECRET = 'whsec_YW5vdGhlciB3ZWJob29rIHNlY3JldCBvZiB0aWxsd2F5';
const TIMESTAMP = 1_772_366_400;
const NOW = TIMESTAMP * 1000;
const EVENT = webhooks.sampleEvent('payment.paid', { data: { metadata: { orderId: 'A-1001', größe: 'XL €' } } });
const RUNS = runs(100);

const secrets = fc
  .uint8Array({ minLength: 24, maxLength: 64 })
  .map((bytes) => `whsec_${Buffer.from(bytes).toString('base64')}`);
const timestamps = fc.integer({ min: 0, max: 4_000_000_000 });

function signed(overrides: Partial<Parameters<typeof webhooks.sign>[0]> = {}) {
  return webhooks.sign({ payload: EVENT, secret: SECRET, timestamp: TIMESTAMP, ...overrides });
}

/** Asserts that a verification is rejected; returns the error. */
async function verificationError(promise: Promise<unknown>): Promise<WebhookVerificationError> {
  const error = await errorOf(promise);
  assert.ok(error instanceof WebhookVerificationError, String(error));
  assert.equal(error.code, 'webhook_not_verified');
  assert.ok(error.message.endsWith('.') && error.suggestion!.endsWith('.'));
  return error;
}

/** Verifies a webhook, by default at the time of the signature. */
function verified(
  body: Parameters<typeof webhooks.verify>[0],
  headers: WebhookHeaders,
  secret: string | string[] = SECRET,
  options: Parameters<typeof webhooks.verify>[3] = {},
) {
  return webhooks.verify(body, headers, secret, { now: NOW, ...options });
}

/** Asserts that a webhook is rejected with a reason, and that the message matches. */
async function assertRejected(request: Promise<unknown>, reason: string, words = /./) {
  const error = await verificationError(request);
  assert.equal(error.reason, reason, error.message);
  assert.match(error.message, words);
  return error;
}

function without(headers: Record<string, string>, ...names: string[]): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !names.includes(name)));
}

const gatewayOnly = (headers: Record<string, string>) =>
  without(headers, 'webhook-id', 'webhook-timestamp', 'webhook-signature');
const standardOnly = (headers: Record<string, string>) => without(headers, 'x-gateway-signature', 'x-gateway-event');

describe('a sample event', () => {
  test('a sample event of a refund or a dispute has the status paid, and an id of the form that the service creates', () => {
    const refunded = webhooks.sampleEvent('payment.refunded');
    const { refund, session_id: sessionId, status } = refunded.data;
    assert.deepEqual([refunded.id, status], [refundEventId({ ...refund, sessionId }), 'paid']);
    const failure = { ...refund, status: 'failed' } as const;
    const failed = webhooks.sampleEvent('payment.refunded', { data: { refund: failure } });
    assert.deepEqual([failed.id, failed.data.refund], [refundEventId({ ...failure, sessionId }), failure]);
    const disputed = webhooks.sampleEvent('payment.disputed', { data: { dispute: undefined } });
    const { dispute } = disputed.data;
    assert.equal(disputed.id, disputeEventId({ ...dispute, sessionId, revision: 1 }));
    assert.equal(disputed.data.refund, undefined);
    for (const { id } of [refunded, failed, disputed]) assert.equal(sourceOfEvent(id), sessionId);
  });
});

describe('a signed webhook', () => {
  test('a signed webhook is accepted under either signature scheme, and only with its own secret, for random secrets, events and times', async () => {
    await fc.assert(
      fc.asyncProperty(
        secrets,
        secrets,
        timestamps,
        fc.string(),
        fc.string(),
        async (secret, other, timestamp, id, text) => {
          fc.pre(secret !== other);
          const payload = webhooks.sampleEvent('payment.failed', { id: `evt_${id}`, data: { metadata: { text } } });
          const { headers, body } = await webhooks.sign({ payload, secret, timestamp });
          const options = { now: timestamp * 1000 };
          const bytes = new TextEncoder().encode(body);
          assert.deepEqual(await webhooks.verify(body, gatewayOnly(headers), secret, options), payload);
          assert.deepEqual(
            await webhooks.verify(bytes, standardOnly(headers), [OTHER_SECRET, secret], options),
            payload,
          );
          await assertRejected(webhooks.verify(body, headers, other, options), 'wrong_signature');
        },
      ),
      { numRuns: RUNS },
    );
  });

  for (const name of ['body', 'x-gateway-signature', 'webhook-signature', 'webhook-timestamp', 'webhook-id']) {
    test(`a signed webhook is rejected if one bit of any byte of its ${name} is flipped`, async () => {
      const { headers, body } = await signed();
      for (const schemeHeaders of [gatewayOnly(headers), standardOnly(headers)]) {
        const bytes = Buffer.from(name === 'body' ? body : (schemeHeaders[name] ?? ''));
        for (const index of bytes.keys()) {
          const flipped = Buffer.from(bytes);
          flipped[index]! ^= 1 << (index % 8);
          const changed = { ...schemeHeaders, [name]: flipped.toString('latin1') };
          const request =
            name === 'body'
              ? verified(flipped, schemeHeaders)
              : verified(body, changed, SECRET, { toleranceSeconds: 1e12 });
          const { reason } = await verificationError(request);
          const isMalformed = name !== 'body' && reason === 'malformed_header';
          assert.ok(isMalformed || reason === 'wrong_signature', `${index}: ${reason}`);
        }
      }
    });
  }

  test('a request with random headers and a random body is rejected with a WebhookVerificationError', async () => {
    const value = fc.oneof(fc.string(), fc.constant('t=1,v1='), fc.stringMatching(/^t=\d+,v1=[0-9a-f]{64}$/));
    const names = ['x-gateway-signature', 'webhook-signature', 'webhook-id', 'webhook-timestamp', 'x-gateway-event'];
    const headers = fc.dictionary(fc.constantFrom(...names), value);
    await fc.assert(
      fc.asyncProperty(
        headers,
        fc.string(),
        async (given, body) => void (await verificationError(verified(body, given))),
      ),
      { numRuns: RUNS * 3 },
    );
  });

  test('a signed webhook has the headers that the service sends, and is compatible with stripe and standardwebhooks', async () => {
    const [stripe, standard, both] = [new Stripe('sk_test_none').webhooks, new Webhook(SECRET), [SECRET, OTHER_SECRET]];
    const { headers, body } = await signed({ secret: both });
    assert.deepEqual(headers, deliveryHeaders({ eventId: EVENT.id, body, timestamp: TIMESTAMP, secrets: both }));
    const { headers: recent } = await webhooks.sign({ payload: EVENT, secret: SECRET });
    assert.deepEqual(stripe.constructEvent(body, recent['x-gateway-signature']!, SECRET), EVENT);
    assert.deepEqual(standard.verify(body, recent), EVENT);
    for (const foreignHeaders of [
      {
        'x-gateway-signature': stripe.generateTestHeaderString({ payload: body, secret: SECRET, timestamp: TIMESTAMP }),
      },
      {
        'webhook-id': EVENT.id,
        'webhook-timestamp': String(TIMESTAMP),
        'webhook-signature': standard.sign(EVENT.id, new Date(NOW), body),
      },
    ]) {
      assert.deepEqual(await verified(body, foreignHeaders), EVENT);
    }
  });
});

describe('webhooks.verify', () => {
  type Change = (name: string, value: string) => [string, string | string[]];
  const mapped = (headers: Record<string, string>, change: Change) =>
    Object.fromEntries(Object.entries(headers).map(([name, value]) => change(name, value)));
  const wrong = `v1,${'A'.repeat(43)}=`;
  const withStandard = (headers: Record<string, string>, join: (right: string) => string | string[]) => ({
    ...standardOnly(headers),
    'webhook-signature': join(headers['webhook-signature']!),
  });
  const forms: Record<string, (headers: Record<string, string>) => WebhookHeaders> = {
    'fetch Headers': (headers) => new Headers(headers),
    'a plain record': (headers) => headers,
    'a record in upper case': (headers) => mapped(headers, (name, value) => [name.toUpperCase(), value]),
    'the headers of Node, some of them lists or undefined': (headers) => ({
      ...mapped(headers, (name, value) => [name, name === 'x-gateway-signature' ? [value] : value]),
      'set-cookie': ['a=1', 'b=2'],
      cookie: undefined,
    }),
    'lists only': (headers) => mapped(headers, (name, value) => [name, [value]]),
    'null for an absent header': (headers) =>
      ({ ...headers, 'x-gateway-signature': null }) as unknown as WebhookHeaders,
    'an object with get': (headers) => ({ get: (name) => headers[name] }),
    'several signatures as a list': (headers) => withStandard(headers, (right) => [wrong, right]),
    'several signatures as Node joins them': (headers) => withStandard(headers, (right) => `${wrong}, ${right}`),
    'several signatures as the standard joins them': (headers) => withStandard(headers, (right) => `${wrong} ${right}`),
  };
  for (const [name, form] of Object.entries(forms)) {
    test(`webhooks.verify accepts headers as ${name}`, async () => {
      const { headers, body } = await signed();
      assert.deepEqual(await verified(body, form(headers)), EVENT);
    });
  }

  test('webhooks.verify accepts a time difference of 300 seconds or the given tolerance, and rejects a greater one as stale', async () => {
    const { headers, body } = await signed();
    for (const schemeHeaders of [gatewayOnly(headers), standardOnly(headers)]) {
      const at = (seconds: number) => verified(body, schemeHeaders, SECRET, { now: NOW + seconds * 1000 });
      for (const seconds of [-300, 300]) assert.deepEqual(await at(seconds), EVENT);
      await assertRejected(at(301), 'stale', /301 seconds ago/);
      await assertRejected(at(-301), 'stale', /301 seconds in the future/);
    }
    assert.ok(await verified(body, headers, SECRET, { now: NOW + 3600_000, toleranceSeconds: 3600 }));
    assert.ok(await webhooks.verify(body, headers, SECRET, { toleranceSeconds: Infinity }));
    for (const options of [{ toleranceSeconds: Number.NaN }, { now: Number.NaN }]) {
      await assertRejected(verified(body, headers, SECRET, options), 'stale');
    }
  });
});

describe('webhooks.verify rejects a request', () => {
  test('webhooks.verify rejects a request without a signature, or without a part of the Standard Webhooks headers, as missing_header', async () => {
    const { headers, body } = await signed();
    await assertRejected(verified(body, standardOnly(gatewayOnly(headers))), 'missing_header');
    for (const name of ['webhook-id', 'webhook-timestamp']) {
      const part = without(standardOnly(headers), name);
      await assertRejected(verified(body, part), 'missing_header', new RegExp(`not ${name}`));
    }
    for (const none of [undefined, null, 'none'] as unknown as WebhookHeaders[]) {
      await assertRejected(verified('{}', none), 'missing_header', /must be the headers of the request/);
    }
  });

  test('webhooks.verify rejects a request with a header that cannot be read as malformed_header', async () => {
    const { headers, body } = await signed();
    for (const header of ['', 'v1=ab', 't=1', 't=1,v1=', 't=x,v1=00', `t=-1,v1=${'0'.repeat(64)}`, 'sha256=abc']) {
      const error = await assertRejected(verified('{}', { 'x-gateway-signature': header }), 'malformed_header');
      assert.ok(error.message.includes(JSON.stringify(header)));
    }
    for (const changed of [
      { 'webhook-timestamp': 'now' },
      { 'webhook-signature': 'v1,abc' },
      { 'webhook-signature': 'v2,a' },
    ]) {
      await assertRejected(verified(body, { ...standardOnly(headers), ...changed }), 'malformed_header');
    }
  });

  test('webhooks.verify rejects a request as wrong_signature if its JSON was parsed and serialized again', async () => {
    const { headers, body } = await signed();
    const again = JSON.stringify(JSON.parse(body), null, 2);
    const { suggestion } = await assertRejected(verified(again, headers), 'wrong_signature');
    assert.match(suggestion!, /WEBHOOK_SECRET/);
  });

  test('webhooks.verify rejects a request as wrong_signature if the gateway signature is wrong, even if the Standard Webhooks signature is right', async () => {
    const { headers, body } = await signed();
    const mixed = { ...headers, 'x-gateway-signature': `t=${TIMESTAMP},v1=${'0'.repeat(64)}` };
    await assertRejected(verified(body, mixed), 'wrong_signature');
  });

  test('webhooks.verify rejects a request as invalid_secret, without the secret in the error', async () => {
    const { headers, body } = await signed();
    for (const [secret, words] of [
      [`${SECRET}\n`, /leading or trailing whitespace/],
      [SECRET.slice(6), /must start with whsec_/],
      ['whsec_', /must be base64/],
      ['whsec_a', /must be base64/],
      ['whsec_not base64!', /must be base64/],
      ['', /is empty/],
      [42, /must be a string, not number/],
      [[], /is empty/],
      [[SECRET, ''], /is empty/],
    ] as [string, RegExp][]) {
      const { message } = await assertRejected(verified(body, headers, secret), 'invalid_secret', words);
      assert.ok(!message.includes(SECRET.slice(6)), message);
    }
  });

  test('webhooks.verify rejects a request as invalid_payload if the body was parsed, is no event, or is not the event of the headers', async () => {
    const { headers } = await signed();
    for (const parsed of [EVENT, null, undefined, 42] as unknown as string[]) {
      const { suggestion } = await assertRejected(verified(parsed, headers), 'invalid_payload');
      assert.match(suggestion!, /express\.raw/);
    }
    for (const rawBody of ['', 'hello', '[]', 'null', '{"id":"evt_x"}', JSON.stringify({ ...EVENT, data: [] })]) {
      const delivery = await signed({ payload: undefined, rawBody, eventId: 'evt_x' });
      await assertRejected(verified(rawBody, delivery.headers), 'invalid_payload');
    }
    const other = await signed({ eventId: 'evt_other' });
    for (const schemeHeaders of [gatewayOnly(other.headers), standardOnly(other.headers)]) {
      await assertRejected(verified(other.body, schemeHeaders), 'invalid_payload', /contain another event id/);
    }
  });
});

test('check returns the reason of a rejection instead of throwing', async () => {
  const { headers, body } = await signed();
  assert.deepEqual(await webhooks.check(body, standardOnly(headers), SECRET, { now: NOW }), {
    ok: true,
    scheme: 'standard',
    timestamp: TIMESTAMP,
    eventId: EVENT.id,
  });
  const refused = await webhooks.check(body, headers, OTHER_SECRET, { now: NOW });
  assert.equal(!refused.ok && refused.reason, 'wrong_signature');
});
