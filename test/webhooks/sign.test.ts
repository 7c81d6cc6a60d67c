import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { Webhook } from 'standardwebhooks';
import { Stripe } from 'stripe';
import { deliveryHeaders } from '../../src/webhooks/sign.ts';
import { anyCodePoint } from '../support/code-point.ts';

const stripe = new Stripe('sk_test_x');
const body = JSON.stringify({ id: 'evt_1', object: 'event', note: 'Ünïcode ✓ \u{1f600}' });

function newSecret(): string {
  return `whsec_${randomBytes(32).toString('base64')}`;
}

function headersOf(secrets: string[], sent = body, timestamp = Math.floor(Date.now() / 1000)): Record<string, string> {
  return deliveryHeaders({ eventId: 'evt_1', body: sent, timestamp, secrets });
}

test('a delivery verifies with both secrets of a rotation, with Stripe and Standard Webhooks signatures', () => {
  const [before, after] = [newSecret(), newSecret()];
  const headers = headersOf([after, before]);
  for (const secret of [before, after]) {
    stripe.webhooks.constructEvent(body, headers['x-gateway-signature']!, secret);
    new Webhook(secret).verify(body, headers);
  }
  assert.match(headers['x-gateway-signature']!, /^t=\d+,v1=[0-9a-f]{64},v1=[0-9a-f]{64}$/);
  assert.match(headers['webhook-signature']!, /^v1,\S+ v1,\S+$/);
});

test('a delivery with any body verifies with Stripe and Standard Webhooks signatures', () => {
  const secret = newSecret();
  fc.assert(
    fc.property(fc.json({ stringUnit: anyCodePoint }), (json) => {
      const headers = headersOf([secret], json);
      stripe.webhooks.constructEvent(json, headers['x-gateway-signature']!, secret);
      new Webhook(secret).verify(json, headers);
    }),
    { numRuns: 40 },
  );
});
