import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { Webhook } from 'standardwebhooks';
import { Stripe } from 'stripe';
import { type WebhookHeaders, WebhookVerificationError, webhooks } from '../../sdk/src/index.ts';
import { deliveryHeaders } from '../../src/webhooks/sign.ts';

const SECRET = 'whsec_dGlsbHdheSBzYW1wbGUgd2ViaG9vayBzZWNyZXQgIzE=';
const OTHER_SECRET = 'whsec_YW5vdGhlciB3ZWJob29rIHNlY3JldCBvZiB0aWxsd2F5';
const TIMESTAMP = 1_772_366_400;
const NOW = TIMESTAMP * 1000;
const EVENT = webhooks.sampleEvent('payment.paid', { data: { metadata: { orderId: 'A-1001', größe: 'XL €' } } });
const RUNS = 100;

const secrets = fc
  .uint8Array({ minLength: 24, maxLength: 64 })
  .map((bytes) => `whsec_${Buffer.from(bytes).toString('base64')}`);
const timestamps = fc.integer({ min: 0, max: 4_000_000_000 });

function signed(overrides: Partial<Parameters<typeof webhooks.sign>[0]> = {}) {
  return webhooks.sign({ payload: EVENT, secret: SECRET, timestamp: TIMESTAMP, ...overrides });
}

/** The reason for which a request is refused. */
async function reasonOf(promise: Promise<unknown>): Promise<WebhookVerificationError> {
  const error: unknown = await promise.then(
    () => assert.fail('it was accepted'),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof WebhookVerificationError, String(error));
  assert.equal(error.code, 'webhook_not_verified');
  assert.ok(error.message.endsWith('.') && error.suggestion!.endsWith('.'));
  return error;
}

function without(headers: Record<string, string>, ...names: string[]): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !names.includes(name)));
}

const gatewayOnly = (headers: Record<string, string>) =>
  without(headers, 'webhook-id', 'webhook-timestamp', 'webhook-signature');
const standardOnly = (headers: Record<string, string>) => without(headers, 'x-gateway-signature', 'x-gateway-event');

describe('a signed webhook', () => {
  test('is verified into its event, under either scheme, for all secrets, events and times', async () => {
    await fc.assert(
      fc.asyncProperty(secrets, timestamps, fc.string(), fc.string(), async (secret, timestamp, id, text) => {
        const payload = webhooks.sampleEvent('payment.failed', { id: `evt_${id}`, data: { metadata: { text } } });
        const { headers, body } = await webhooks.sign({ payload, secret, timestamp });
        const options = { now: timestamp * 1000 };
        const bytes = new TextEncoder().encode(body);
        assert.deepEqual(await webhooks.verify(body, gatewayOnly(headers), secret, options), payload);
        assert.deepEqual(await webhooks.verify(bytes, standardOnly(headers), [OTHER_SECRET, secret], options), payload);
      }),
      { numRuns: RUNS },
    );
  });

  test('is refused when any one bit of its body is another', async () => {
    const { headers, body } = await signed();
    const bytes = new TextEncoder().encode(body);
    await fc.assert(
      fc.asyncProperty(fc.nat(bytes.length * 8 - 1), fc.boolean(), async (bit, isGateway) => {
        const flipped = bytes.slice();
        flipped[bit >> 3]! ^= 1 << (bit & 7);
        const kept = isGateway ? gatewayOnly(headers) : standardOnly(headers);
        const error = await reasonOf(webhooks.verify(flipped, kept, SECRET, { now: NOW }));
        assert.equal(error.reason, 'wrong_signature');
      }),
      { numRuns: RUNS * 3 },
    );
  });

  for (const name of ['x-gateway-signature', 'webhook-signature', 'webhook-timestamp', 'webhook-id']) {
    test(`is refused when any one bit of ${name} is another`, async () => {
      const { headers, body } = await signed();
      const kept = name === 'x-gateway-signature' ? gatewayOnly(headers) : standardOnly(headers);
      for (let bit = 0; bit < kept[name]!.length * 8; bit++) {
        const bytes = Buffer.from(kept[name]!);
        bytes[bit >> 3]! ^= 1 << (bit & 7);
        const changed = { ...kept, [name]: bytes.toString('latin1') };
        const { reason } = await reasonOf(webhooks.verify(body, changed, SECRET, { now: NOW, toleranceSeconds: 1e12 }));
        assert.ok(['wrong_signature', 'malformed_header'].includes(reason), `${bit}: ${reason}`);
      }
    });
  }

  test('is refused under another secret', async () => {
    await fc.assert(
      fc.asyncProperty(secrets, secrets, async (secret, other) => {
        fc.pre(secret !== other);
        const { headers, body } = await signed({ secret });
        const { reason } = await reasonOf(webhooks.verify(body, headers, other, { now: NOW }));
        assert.equal(reason, 'wrong_signature');
      }),
      { numRuns: RUNS },
    );
  });

  test('nothing that headers or body can hold makes it fail in any other way', async () => {
    const value = fc.oneof(fc.string(), fc.constant('t=1,v1='), fc.stringMatching(/^t=\d+,v1=[0-9a-f]{64}$/));
    const headers = fc.dictionary(
      fc.constantFrom('x-gateway-signature', 'webhook-signature', 'webhook-id', 'webhook-timestamp', 'x-gateway-event'),
      value,
    );
    await fc.assert(
      fc.asyncProperty(headers, fc.string(), async (given, body) => {
        await reasonOf(webhooks.verify(body, given, SECRET, { now: NOW }));
      }),
      { numRuns: RUNS * 3 },
    );
  });
});

describe('others understand what is signed here, and the other way round', () => {
  const stripe = new Stripe('sk_test_none');
  const standard = new Webhook(SECRET);

  test('the service signs the same bytes as webhooks.sign', async () => {
    const both = [SECRET, OTHER_SECRET];
    const { headers, body } = await signed({ secret: both });
    assert.deepEqual(headers, deliveryHeaders({ eventId: EVENT.id, body, timestamp: TIMESTAMP, secrets: both }));
  });

  test('the stripe package accepts it', async () => {
    const { headers, body } = await webhooks.sign({ payload: EVENT, secret: SECRET });
    const event: unknown = stripe.webhooks.constructEvent(body, headers['x-gateway-signature']!, SECRET);
    assert.deepEqual(event, EVENT);
  });

  test('what the stripe package signs is verified', async () => {
    const payload = JSON.stringify(EVENT);
    const header = stripe.webhooks.generateTestHeaderString({ payload, secret: SECRET, timestamp: TIMESTAMP });
    const event = await webhooks.verify(payload, { 'x-gateway-signature': header }, SECRET, { now: NOW });
    assert.deepEqual(event, EVENT);
  });

  test('the standardwebhooks package accepts it', async () => {
    const { headers, body } = await webhooks.sign({ payload: EVENT, secret: SECRET });
    assert.deepEqual(standard.verify(body, headers), EVENT);
  });

  test('what the standardwebhooks package signs is verified', async () => {
    const body = JSON.stringify(EVENT);
    const headers = {
      'webhook-id': EVENT.id,
      'webhook-timestamp': String(TIMESTAMP),
      'webhook-signature': standard.sign(EVENT.id, new Date(NOW), body),
    };
    assert.deepEqual(await webhooks.verify(body, headers, SECRET, { now: NOW }), EVENT);
  });
});

describe('headers are taken', () => {
  const asMap = (headers: Record<string, string>) => new Map(Object.entries(headers));
  const upperCase = (headers: Record<string, string>) =>
    Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toUpperCase(), value]));
  const forms: Record<string, (headers: Record<string, string>) => WebhookHeaders> = {
    'as fetch Headers': (headers) => new Headers(headers),
    'as a plain record': (headers) => headers,
    'as a record with the case in which they were sent': upperCase,
    'as those of Node, some of them lists or undefined': (headers) => ({
      ...headers,
      'set-cookie': ['a=1', 'b=2'],
      cookie: undefined,
      'x-gateway-signature': [headers['x-gateway-signature']!],
    }),
    'as lists throughout': (headers) =>
      Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value]])),
    'with null for what is not there': (headers) =>
      ({ ...headers, 'x-gateway-signature': null }) as unknown as WebhookHeaders,
    'as anything with get': (headers) => ({ get: (name) => asMap(headers).get(name) }),
  };
  for (const [name, form] of Object.entries(forms)) {
    test(name, async () => {
      const { headers, body } = await signed();
      assert.deepEqual(await webhooks.verify(body, form(headers), SECRET, { now: NOW }), EVENT);
    });
  }
});

describe('signatures that came in several headers are taken', () => {
  const wrong = `v1,${'A'.repeat(43)}=`;
  const forms: Record<string, (right: string) => string | string[]> = {
    'as a list': (right) => [wrong, right],
    'as Node joins them': (right) => `${wrong}, ${right}`,
    'as the standard joins them': (right) => `${wrong} ${right}`,
  };
  for (const [name, form] of Object.entries(forms)) {
    test(name, async () => {
      const { headers, body } = await signed();
      const several = { ...standardOnly(headers), 'webhook-signature': form(headers['webhook-signature']!) };
      assert.deepEqual(await webhooks.verify(body, several, SECRET, { now: NOW }), EVENT);
    });
  }
});

describe('a body is taken', () => {
  test('as text, as bytes, as a buffer of Node and as an ArrayBuffer', async () => {
    const { headers, body } = await signed();
    const bytes = new TextEncoder().encode(body);
    const offset = new Uint8Array(bytes.length + 10).fill(1);
    offset.set(bytes, 7);
    const view = offset.subarray(7, 7 + bytes.length);
    for (const raw of [body, bytes, Buffer.from(body), bytes.buffer, view]) {
      assert.deepEqual(await webhooks.verify(raw, headers, SECRET, { now: NOW }), EVENT);
    }
  });

  test('but not where something has parsed it, and the error says what to do', async () => {
    const { headers } = await signed();
    for (const parsed of [EVENT, null, undefined, 42]) {
      const error = await reasonOf(webhooks.verify(parsed as unknown as string, headers, SECRET, { now: NOW }));
      assert.equal(error.reason, 'invalid_payload');
      assert.match(error.suggestion!, /express\.raw/);
    }
  });
});

describe('a request is refused', () => {
  test('as missing_header where it carries no signature', async () => {
    const { headers, body } = await signed();
    const bare = standardOnly(gatewayOnly(headers));
    assert.equal((await reasonOf(webhooks.verify(body, bare, SECRET, { now: NOW }))).reason, 'missing_header');
    for (const name of ['webhook-id', 'webhook-timestamp']) {
      const part = without(standardOnly(headers), name);
      const error = await reasonOf(webhooks.verify(body, part, SECRET, { now: NOW }));
      assert.equal(error.reason, 'missing_header');
      assert.match(error.message, new RegExp(`not ${name}`));
    }
  });

  for (const headers of [undefined, null, 'none']) {
    test(`as missing_header where the headers are ${String(headers)}`, async () => {
      const error = await reasonOf(webhooks.verify('{}', headers as unknown as WebhookHeaders, SECRET, { now: NOW }));
      assert.equal(error.reason, 'missing_header');
      assert.match(error.message, /must be the headers of the request/);
    });
  }

  for (const header of ['', 'v1=ab', 't=1', 't=1,v1=', 't=x,v1=00', `t=-1,v1=${'0'.repeat(64)}`, 'sha256=abc']) {
    test(`as malformed_header where that is ${JSON.stringify(header)}`, async () => {
      const error = await reasonOf(webhooks.verify('{}', { 'x-gateway-signature': header }, SECRET, { now: NOW }));
      assert.equal(error.reason, 'malformed_header');
      assert.ok(error.message.includes(JSON.stringify(header)));
    });
  }

  test('as malformed_header where those of Standard Webhooks cannot be read', async () => {
    const { headers, body } = await signed();
    for (const changed of [
      { 'webhook-timestamp': 'now' },
      { 'webhook-signature': 'v1,abc' },
      { 'webhook-signature': 'v2,a' },
    ]) {
      const error = await reasonOf(
        webhooks.verify(body, { ...standardOnly(headers), ...changed }, SECRET, { now: NOW }),
      );
      assert.equal(error.reason, 'malformed_header');
    }
  });

  test('as stale where it is 301 seconds old or early, and not at 300', async () => {
    const { headers, body } = await signed();
    for (const kept of [gatewayOnly(headers), standardOnly(headers)]) {
      for (const seconds of [-300, 300]) {
        assert.deepEqual(await webhooks.verify(body, kept, SECRET, { now: NOW + seconds * 1000 }), EVENT);
      }
      for (const [seconds, words] of [
        [301, /301 seconds ago/],
        [-301, /301 seconds in the future/],
      ] as const) {
        const error = await reasonOf(webhooks.verify(body, kept, SECRET, { now: NOW + seconds * 1000 }));
        assert.equal(error.reason, 'stale');
        assert.match(error.message, words);
      }
    }
  });

  test('by another tolerance where one is given; one that is no number accepts nothing', async () => {
    const { headers, body } = await signed();
    const later = NOW + 3600_000;
    assert.ok(await webhooks.verify(body, headers, SECRET, { now: later, toleranceSeconds: 3600 }));
    assert.ok(await webhooks.verify(body, headers, SECRET, { toleranceSeconds: Infinity }));
    for (const options of [{ now: NOW, toleranceSeconds: Number.NaN }, { now: Number.NaN }]) {
      assert.equal((await reasonOf(webhooks.verify(body, headers, SECRET, options))).reason, 'stale');
    }
  });

  test('as wrong_signature where its JSON was parsed and written again', async () => {
    const { headers, body } = await signed();
    const again = JSON.stringify(JSON.parse(body), null, 2);
    const error = await reasonOf(webhooks.verify(again, headers, SECRET, { now: NOW }));
    assert.equal(error.reason, 'wrong_signature');
    assert.match(error.suggestion!, /parsed and written again/);
    assert.match(error.suggestion!, /WEBHOOK_SECRET of the service, or with what tillway listen printed/);
  });

  test('as wrong_signature under the gateway scheme even where the other would be right', async () => {
    const { headers, body } = await signed();
    const mixed = { ...headers, 'x-gateway-signature': `t=${TIMESTAMP},v1=${'0'.repeat(64)}` };
    assert.equal((await reasonOf(webhooks.verify(body, mixed, SECRET, { now: NOW }))).reason, 'wrong_signature');
  });

  for (const [secret, words] of [
    [`${SECRET}\n`, /whitespace around it/],
    [SECRET.slice(6), /must start with whsec_/],
    ['whsec_', /must be base64/],
    ['whsec_a', /must be base64/],
    ['whsec_not base64!', /must be base64/],
    ['', /is empty/],
    [undefined, /must be a string, not undefined/],
    [[], /is empty/],
    [[SECRET, ''], /is empty/],
  ] as [string, RegExp][]) {
    test(`as invalid_secret where that is ${JSON.stringify(secret)}`, async () => {
      const { headers, body } = await signed();
      const error = await reasonOf(webhooks.verify(body, headers, secret, { now: NOW }));
      assert.equal(error.reason, 'invalid_secret');
      assert.match(error.message, words);
      assert.ok(!error.message.includes(SECRET.slice(6)), 'a secret belongs in no log');
    });
  }

  test('as invalid_payload where it is rightly signed, but no event', async () => {
    const bodies = ['', 'hello', '[]', 'null', '{"id":"evt_x"}', JSON.stringify({ ...EVENT, data: [] })];
    for (const rawBody of bodies) {
      const { headers } = await signed({ payload: undefined, rawBody, eventId: 'evt_x' });
      const error = await reasonOf(webhooks.verify(rawBody, headers, SECRET, { now: NOW }));
      assert.equal(error.reason, 'invalid_payload', rawBody);
    }
  });

  test('as invalid_payload where its headers name another event', async () => {
    const { headers, body } = await signed({ eventId: 'evt_other' });
    for (const kept of [gatewayOnly(headers), standardOnly(headers)]) {
      const error = await reasonOf(webhooks.verify(body, kept, SECRET, { now: NOW }));
      assert.equal(error.reason, 'invalid_payload');
      assert.match(error.message, /name another event/);
    }
  });
});

describe('besides', () => {
  test('while a secret is being rotated either side may know both', async () => {
    const { headers, body } = await signed({ secret: [OTHER_SECRET, SECRET] });
    assert.equal(headers['x-gateway-signature']!.match(/v1=/g)!.length, 2);
    for (const kept of [gatewayOnly(headers), standardOnly(headers)]) {
      assert.ok(await webhooks.verify(body, kept, SECRET, { now: NOW }));
      assert.ok(await webhooks.verify(body, kept, OTHER_SECRET, { now: NOW }));
    }
  });

  test('an event of a type that is not known yet is returned as it is', async () => {
    const rawBody = JSON.stringify({ ...EVENT, type: 'payment.refunded' });
    const { headers } = await signed({ payload: undefined, rawBody });
    const event = await webhooks.verify(rawBody, headers, SECRET, { now: NOW });
    assert.equal(event.type, 'payment.refunded' as string);
  });

  test('webhooks.check says the same without throwing', async () => {
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

  test('a sample event has the type asked for and the id that follows from it', () => {
    const event = webhooks.sampleEvent('payment.failed', { livemode: true, data: { session_id: 'chk_x', amount: 5 } });
    assert.equal(event.data.status satisfies 'failed', 'failed');
    assert.deepEqual([event.id, event.livemode, event.data.amount], ['evt_chk_x_failed', true, 5]);
  });

  test('what cannot be signed is told at once', async () => {
    await assert.rejects(webhooks.sign({ secret: SECRET }), /either payload or rawBody/);
    await assert.rejects(webhooks.sign({ secret: SECRET, rawBody: 'x' }), /give eventId/);
    await assert.rejects(webhooks.sign({ secret: 'x', payload: EVENT }), /must start with whsec_/);
    await assert.rejects(webhooks.sign({ secret: SECRET, payload: EVENT, timestamp: 1.5 }), /unix seconds/);
  });
});
