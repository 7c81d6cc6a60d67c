import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { GatewayError } from '../../src/domain/gateway-error.ts';
import { createCallbackVerifier } from '../../src/providers/paypal-certificates.ts';
import { idOf } from '../fixtures/checkout-records.ts';
import { pick } from '../support/gateway.ts';
import { startServer } from '../support/http-server.ts';
import { SKIPPED } from './paypal-contract.ts';
import { type PaypalWorld, approvalOf, forgePaypal, startPaypalWorld } from './paypal-forgeries.ts';
import { PAYPAL_TEST_ROOT } from './scripted-paypal-signature.ts';

const DAY = 86_400_000;

function rejects(code: GatewayError['code'], pattern: RegExp) {
  return (error: unknown) => {
    assert.ok(error instanceof GatewayError, String(error));
    assert.equal(error.code, code);
    assert.match(error.message, pattern);
    return true;
  };
}

describe("PayPal's signature of a callback", () => {
  test('a signed callback is a hint about its order, and the certificate is fetched once a day', async () => {
    await using world = await startPaypalWorld();
    const { paypal, provider, clock } = world;
    const read = async () => {
      const { body, headers } = paypal.callbackOf(approvalOf(1));
      return provider.readCallback(Buffer.from(body), headers);
    };
    assert.deepEqual((await read()).hints, [{ about: 'payment', id: '5O190127TN361', eventId: 'WH-1' }]);
    await read();
    assert.equal(paypal.certificateRequests.length, 1);
    clock.ms += DAY;
    await read();
    assert.equal(paypal.certificateRequests.length, 2);
  });

  test('1,000 forged callbacks are rejected with 401', async () => {
    await using world = await startPaypalWorld();
    assert.deepEqual(await forgePaypal(world, 1000, Math.floor(performance.now() * 1000)), []);
  });

  test('a callback may be as old as the repetitions of PayPal, and not older', async () => {
    await using world = await startPaypalWorld();
    const { paypal, provider, clock } = world;
    const { body, headers } = paypal.callbackOf(approvalOf(1));
    clock.ms += 3 * DAY;
    assert.equal((await provider.readCallback(Buffer.from(body), headers)).hints.length, 1);
    clock.ms += 2 * DAY;
    await assert.rejects(provider.readCallback(Buffer.from(body), headers), rejects('unauthorized', /too old/));
  });

  for (const [fault, pattern] of [
    ['error_500', /could not be read \(500\)/],
    ['garbage', /could not be read/],
    ['redirect', /could not be read \(302\)/],
    ['too_large', /could not be read|fetched now/],
    ['drop', /cannot be fetched now/],
  ] as const) {
    test(`the answer is 503 while PayPal does not serve its certificate (${fault}), and the next callback is accepted`, async () => {
      await using world = await startPaypalWorld();
      const { body, headers } = world.paypal.callbackOf(approvalOf(1));
      const read = () => world.provider.readCallback(Buffer.from(body), headers);
      world.paypal.certificateFaults = [fault];
      await assert.rejects(read(), rejects('unavailable', pattern));
      assert.equal((await read()).hints.length, 1);
    });
  }

  test('with `roots`, the certificate must lead to one of them, directly or through its file', async () => {
    for (const [certificate, isTrusted] of [
      ['CERT-test', true],
      ['CERT-chain', true],
      ['CERT-foreign-root', false],
    ] as const) {
      await using world = await startPaypalWorld({ roots: [PAYPAL_TEST_ROOT] });
      world.paypal.certificate = certificate;
      const { body, headers } = world.paypal.callbackOf(approvalOf(1));
      const read = world.provider.readCallback(Buffer.from(body), headers);
      if (isTrusted) assert.equal((await read).hints.length, 1);
      else await assert.rejects(read, rejects('unauthorized', /authority|match/));
    }
  });

  test('a callback that PayPal sent in 2015 is accepted at its time and refused today', { skip: SKIPPED }, async () => {
    const file = join(process.env['PROVIDER_DATA']!, 'paypal-webhook-vector.json');
    const vector = JSON.parse(readFileSync(file, 'utf8')) as Record<string, string> & {
      headers: Record<string, string>;
    };
    const { headers, webhookId, rawBody, certPem, intermediatePem, rootPem } = vector;
    const sentAt = Date.parse(headers['paypal-transmission-time']!);
    await using server = await startServer((_request, response) => void response.end(`${certPem}\n${intermediatePem}`));
    // The signature does not contain the URL of the certificate.
    const path = new URL(headers['paypal-cert-url']!).pathname;
    const local = { ...headers, 'paypal-cert-url': server.url + path };
    for (const roots of [undefined, [rootPem!]]) {
      const verifyAt = (now: number, body = rawBody!) => {
        const settings = { webhookId: webhookId!, roots, apiBase: server.url };
        return createCallbackVerifier({ environment: 'sandbox', settings, now: () => now })(Buffer.from(body), local);
      };
      await verifyAt(sentAt + 60_000);
      await assert.rejects(verifyAt(sentAt + 60_000, `${rawBody} `), rejects('unauthorized', /does not match/));
      await assert.rejects(verifyAt(Date.now()), rejects('unauthorized', /too old/));
    }
  });

  test('callbacks that name certificates that PayPal does not have cannot replace the one in use', async () => {
    await using world = await startPaypalWorld();
    const { paypal, provider } = world;
    const { body, headers } = paypal.callbackOf(approvalOf(1));
    const read = (certificate: string) => {
      const url = headers['paypal-cert-url']!.replace(/[^/]*$/, certificate);
      return provider.readCallback(Buffer.from(body), { ...headers, 'paypal-cert-url': url });
    };
    await read('CERT-test');
    const forged = await Promise.allSettled(Array.from({ length: 25 }, (_, index) => read(`CERT-x${index}`)));
    assert.ok(forged.every(({ status }) => status === 'rejected'));
    const requests = paypal.certificateRequests.length;
    assert.ok(requests <= 1 + 5, `${requests} requests at once`);
    await read('CERT-test');
    assert.equal(paypal.certificateRequests.length, requests);
  });

  async function readSigned({ paypal, provider }: PaypalWorld, event_type: string, resource: object) {
    const { body, headers } = paypal.callbackOf({ ...approvalOf(1), event_type, resource });
    return (await provider.readCallback(Buffer.from(body), headers)).hints;
  }

  test('a verified event with an unusable field still has its hint', async () => {
    await using world = await startPaypalWorld();
    const order = { rel: 'up', href: 'https://api.paypal.com/v2/checkout/orders/ORDER-1' };
    const capture = { id: 'CAPTURE-1', custom_id: idOf('pay', 1) };
    const related = { related_ids: { order_id: 'ORDER-1' } };
    for (const [type, resource, id] of [
      ['CUSTOMER.DISPUTE.CREATED', { dispute_id: 'PP-D-1', order_id: null, links: [] }, 'PP-D-1'],
      ['CUSTOMER.DISPUTE.CREATED', { dispute_id: 'PP-D-1', links: null }, 'PP-D-1'],
      ['CUSTOMER.DISPUTE.UPDATED', { dispute_id: 'PP-D-1', links: 'none' }, 'PP-D-1'],
      ['PAYMENT.CAPTURE.REFUNDED', { id: 'REFUND-1', custom_id: 5, links: [{ href: '/x' }, null] }, 'REFUND-1'],
      ['PAYMENT.CAPTURE.COMPLETED', { ...capture, supplementary_data: related, links: null }, 'ORDER-1'],
      [
        'PAYMENT.CAPTURE.COMPLETED',
        { ...capture, supplementary_data: { related_ids: null }, links: [{}, order] },
        'ORDER-1',
      ],
      ['PAYMENT.CAPTURE.COMPLETED', { ...capture, supplementary_data: 'none', links: [order] }, 'ORDER-1'],
    ] as const) {
      const hints = await readSigned(world, type, resource);
      assert.deepEqual(pick(hints, 'id', 'eventId'), [[id, 'WH-1']], JSON.stringify(resource));
    }
    assert.deepEqual(world.log, []);
  });

  test('a verified event of a subscribed type that cannot be read is logged, and an event of another program is not', async () => {
    await using world = await startPaypalWorld();
    const foreign = { id: 'CAPTURE-1', custom_id: 'order 5', links: [] };
    assert.deepEqual(await readSigned(world, 'PAYMENT.CAPTURE.COMPLETED', foreign), []);
    assert.deepEqual(world.log, []);
    for (const [type, resource] of [
      ['CUSTOMER.DISPUTE.CREATED', { dispute_id: 5 }],
      ['PAYMENT.CAPTURE.COMPLETED', { ...foreign, custom_id: idOf('pay', 1) }],
      ['CHECKOUT.ORDER.APPROVED', { id: 'ORDER-1', purchase_units: 'none' }],
    ] as const) {
      world.log.length = 0;
      assert.deepEqual(await readSigned(world, type, resource), []);
      assert.equal(world.log.length, 1, type);
      assert.match(world.log[0]!, new RegExp(`"WH-1".*${type}`));
    }
  });

  test('a signed event of another kind has no hint', async () => {
    await using world = await startPaypalWorld();
    const event = { ...approvalOf(1), event_type: 'BILLING.PLAN.CREATED' };
    const { body, headers } = world.paypal.callbackOf(event);
    assert.deepEqual((await world.provider.readCallback(Buffer.from(body), headers)).hints, []);
  });
});
