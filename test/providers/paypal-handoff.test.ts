import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type PaypalWorld, startPaypalWorld } from './paypal-forgeries.ts';
import { startServer } from '../support/http-server.ts';
import { handoffOf, stripePayment } from './stripe-fixtures.ts';
import type { ApiFault } from './scripted-party.ts';

const HOUR = 3_600_000;

const payment = stripePayment({}, 'paypal');

function handoff({ provider }: PaypalWorld, timeoutMs = 400) {
  return provider.handoff(handoffOf(payment, timeoutMs));
}

describe('a handoff to PayPal', () => {
  test('an order has the total, our id, the names of merchant and product, and the two URLs', async () => {
    await using world = await startPaypalWorld({ brandName: 'Books & Co' });
    const result = await handoff(world);
    const [order] = [...world.paypal.world.orders.values()];
    assert.deepEqual(result, {
      outcome: 'accepted',
      reference: order!.id,
      url: `${world.paypal.url}/checkoutnow?token=${order!.id}`,
    });
    const { cents, customId, brandName, description, returnUrl, cancelUrl } = order!;
    const { returnUrl: back, cancelUrl: page, session } = handoffOf(payment);
    assert.deepEqual(
      [cents, customId, brandName, description, returnUrl, cancelUrl],
      [payment.fees.total, payment.id, 'Books & Co', session.product, back, page],
    );
  });

  const outcomes: Record<ApiFault, 'refused' | 'ambiguous'> = {
    error_500_before: 'ambiguous',
    error_500_after: 'ambiguous',
    rate_limited: 'refused',
    garbage_after: 'ambiguous',
    empty_after: 'ambiguous',
    other_amount_after: 'ambiguous',
    other_payment_after: 'ambiguous',
    forbidden: 'refused',
    drop_before: 'ambiguous',
    drop_after: 'ambiguous',
    hang_before: 'ambiguous',
    hang_after: 'ambiguous',
  };
  for (const [fault, expected] of Object.entries(outcomes) as [ApiFault, 'refused' | 'ambiguous'][]) {
    test(`with the fault ${fault}, the handoff is ${expected}`, async () => {
      await using world = await startPaypalWorld();
      world.paypal.faults = [fault];
      assert.equal((await handoff(world)).outcome, expected);
    });
  }

  test('a repeated handoff has the same key, and makes one order', async () => {
    await using world = await startPaypalWorld();
    world.paypal.faults = ['drop_after'];
    await handoff(world);
    assert.equal((await handoff(world)).outcome, 'accepted');
    assert.equal(world.paypal.world.orders.size, 1);
  });

  for (const [fault, name] of [
    ['drop_before', 'no answer'],
    ['error_500_before', 'a 500'],
    ['garbage_after', 'garbage'],
  ] as const) {
    test(`${name} to the request for a token refuses the handoff, because no order was requested`, async () => {
      await using world = await startPaypalWorld();
      world.paypal.tokenFaults = [fault];
      assert.equal((await handoff(world)).outcome, 'refused');
      assert.equal(world.paypal.requests.length, 0);
    });
  }

  test('refused credentials refuse the handoff and make the instance not ready', async () => {
    await using world = await startPaypalWorld();
    world.paypal.isKeyRevoked = true;
    assert.equal((await handoff(world)).outcome, 'refused');
    assert.match(world.log.at(-1)!, /^the credentials were refused \(401\): Client Authentication failed/);
    const { ready, findings } = await world.provider.check();
    assert.equal(ready, false);
    assert.match(findings[0]!.message, /refused \(401\)/);
  });
});

describe('a 404', () => {
  async function answersOf(token: [status: number, body: string], others: [status: number, body: string]) {
    await using server = await startServer(({ url }, response) => {
      const [status, body] = url === '/v1/oauth2/token' ? token : others;
      response.writeHead(status, { 'content-type': 'application/json' }).end(body);
    });
    await using world = await startPaypalWorld({ apiBase: server.url });
    const sent = { ...payment, providerReference: '5O190127TN364715T' };
    const stateOf = async (call: Promise<unknown>) => call.then(JSON.stringify, () => 'rejected');
    return {
      inquiry: await stateOf(world.provider.inquire(sent)),
      capture: await stateOf(world.provider.capture!(sent)),
    };
  }
  const TOKEN: [number, string] = [200, JSON.stringify({ access_token: 'x', expires_in: 3600 })];

  test("of PayPal itself means that the order is gone, and a proxy's means nothing", async () => {
    const gone = await answersOf(TOKEN, [
      404,
      JSON.stringify({ name: 'RESOURCE_NOT_FOUND', message: 'No such order' }),
    ]);
    assert.match(gone.inquiry, /"state":"failed"/);
    assert.match(gone.capture, /"state":"failed"/);
    const rejected = { inquiry: 'rejected', capture: 'rejected' };
    assert.deepEqual(await answersOf(TOKEN, [404, '<html>not found']), rejected);
    assert.deepEqual(await answersOf([404, 'no route'], TOKEN), rejected);
  });
});

describe("PayPal's access token", () => {
  test('one token serves concurrent and later requests until a minute before it expires', async () => {
    await using world = await startPaypalWorld();
    const { paypal, clock } = world;
    await Promise.all([handoff(world), world.provider.check(), world.provider.check()]);
    assert.equal(paypal.tokenRequests, 1);
    clock.ms += 9 * HOUR - 61_000;
    await world.provider.check();
    assert.equal(paypal.tokenRequests, 1);
    clock.ms += 2000;
    await world.provider.check();
    assert.equal(paypal.tokenRequests, 2);
  });

  test('a revoked token is replaced once, and the request is repeated', async () => {
    await using world = await startPaypalWorld();
    await handoff(world);
    world.paypal.revokeTokens();
    assert.equal((await world.provider.check()).ready, true);
    assert.equal(world.paypal.tokenRequests, 2);
  });
});

describe('a check of PayPal', () => {
  async function messages(change: (world: PaypalWorld) => void): Promise<string[]> {
    await using world = await startPaypalWorld();
    world.paypal.callbackUrl = 'http://127.0.0.1:3000/api/providers/paypal_test/callbacks';
    change(world);
    return (await world.provider.check()).findings.map(({ level, message }) => `${level}: ${message}`);
  }

  test('a check names the webhook that gets all events', async () => {
    assert.match(
      (await messages(() => undefined)).join(),
      /^ok: the credentials are accepted,ok: the webhook \w+ gets all/,
    );
  });

  for (const [name, change, pattern] of [
    ['another URL', ({ paypal }) => (paypal.webhook.url = 'https://other.example/'), /warning: .* not http:\/\/127/],
    ['another id', ({ paypal }) => (paypal.webhookId = '0XX00000XX000000X'), /warning: the app has no webhook/],
    ['too few events', ({ paypal }) => paypal.webhook.events.splice(1), /warning: .* does not get all events/],
    ['no right to disputes', ({ paypal }) => (paypal.scopes = ['openid']), /warning: .* disputes/],
    ['a 503', ({ paypal }) => (paypal.faults = ['error_500_before']), /^error: PayPal answered 500/],
  ] as [string, (world: PaypalWorld) => unknown, RegExp][]) {
    test(`a check reports ${name}`, async () => assert.match((await messages(change)).join(), pattern));
  }
});
