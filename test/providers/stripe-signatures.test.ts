import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { Stripe } from 'stripe';
import { GatewayError } from '../../src/domain/gateway-error.ts';
import { NOW } from '../fixtures/checkout-records.ts';
import { anyCodePoint } from '../support/code-point.ts';
import { runs } from '../support/for-all.ts';
import { STRIPE_FORGERIES, forgeCallbacks } from './stripe-forgeries.ts';
import { startStripeWorld } from './stripe-fixtures.ts';

const SIGNED_BODIES = 1000;
const FORGERIES = 2000;

const sdk = new Stripe('sk_test_sdk');
const NOTHING = { signals: [], hints: [] };

function signed(payload: string, secret: string, timestamp = NOW / 1000): Record<string, string> {
  return { 'stripe-signature': sdk.webhooks.generateTestHeaderString({ payload, secret, timestamp }) };
}

function refusal(failing: Promise<unknown>): Promise<GatewayError> {
  return failing.then(
    () => assert.fail('the callback was accepted'),
    (error: unknown) => (error instanceof GatewayError ? error : assert.fail(String(error))),
  );
}

test("the adapter accepts callbacks that Stripe's SDK has signed, whatever their content", async () => {
  await using world = await startStripeWorld();
  await fc.assert(
    fc.asyncProperty(fc.json({ stringUnit: anyCodePoint }), async (payload) => {
      const headers = signed(payload, world.stripe.webhookSecret);
      assert.deepEqual(await world.provider.readCallback(Buffer.from(payload), headers), NOTHING);
    }),
    { numRuns: runs(SIGNED_BODIES) },
  );
});

test('the adapter rejects all randomly forged callbacks as `unauthorized`', async () => {
  await using world = await startStripeWorld();
  assert.deepEqual(await forgeCallbacks(world, runs(FORGERIES), NOW), []);
});

test('the scenario of forged callbacks reports a problem if the forger knows the webhook secret', async () => {
  const { problems } = await STRIPE_FORGERIES.run({ cycles: 1, injected: true });
  assert.ok(problems.length > 0);
});

test('the adapter accepts both secrets of a rotation, skips other schemes and signatures, and rejects malformed headers', async () => {
  await using world = await startStripeWorld({ webhookSecrets: ['whsec_old', 'whsec_new'] });
  const body = '{"a":1}';
  for (const secret of ['whsec_old', 'whsec_new']) {
    await world.provider.readCallback(Buffer.from(body), signed(body, secret));
  }
  const [time, signature] = signed(body, 'whsec_new')['stripe-signature']!.split(',');
  const other = `v1=${'0'.repeat(64)}`;
  for (const header of [`${time},v0=${'1'.repeat(64)},${other},${signature}`, `${time}, ${signature}, v2=text`]) {
    await world.provider.readCallback(Buffer.from(body), { 'stripe-signature': header });
  }
  for (const header of [
    `${time},${time},${signature}`,
    `${signature}`,
    `${time}`,
    '',
    undefined,
    [`${time},${signature}`],
  ]) {
    const { code } = await refusal(world.provider.readCallback(Buffer.from(body), { 'stripe-signature': header }));
    assert.equal(code, 'unauthorized');
  }
});

test('the adapter accepts a signature within 300 s of its timestamp; a later refusal suggests to check the clock', async () => {
  await using world = await startStripeWorld();
  const send = (offset: number) =>
    world.provider.readCallback(Buffer.from('{}'), signed('{}', world.stripe.webhookSecret, NOW / 1000 + offset));
  for (const offset of [-300, 0, 300]) await send(offset);
  for (const [offset, what] of [
    [-301, '301 s old'],
    [3600, '3600 s in the future'],
  ] as const) {
    const { code, message, details } = await refusal(send(offset));
    assert.equal(code, 'unauthorized');
    assert.match(message, new RegExp(what));
    assert.match(details.suggestion!, /clock/);
  }
});

test('a signed body that is not JSON is rejected as `invalid_input`, and an event of another format gives no hint', async () => {
  await using world = await startStripeWorld();
  const { webhookSecret } = world.stripe;
  const { code } = await refusal(world.provider.readCallback(Buffer.from('text'), signed('text', webhookSecret)));
  assert.equal(code, 'invalid_input');
  const thin = JSON.stringify({ id: 'evt_1', object: 'v2.core.event', type: 'v1.charge.updated' });
  assert.deepEqual(await world.provider.readCallback(Buffer.from(thin), signed(thin, webhookSecret)), NOTHING);
});
