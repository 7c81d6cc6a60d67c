import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import type { Provider } from '../../src/providers/provider.ts';
import { aReport } from '../fixtures/provider-reports.ts';
import { createSession } from '../simulator/buyer.ts';
import { queryRows } from '../support/database.ts';
import { ONLY_IN_FULL_RUN } from '../support/for-all.ts';
import { sendRaw } from '../support/raw-http.ts';
import { assertSound } from '../support/sound.ts';
import type { StripeEvent } from './scripted-stripe-objects.ts';
import { type StripeService, choose, deliver, keepRoutes, lastPayment, startStripeService } from './stripe-service.ts';

const MAX_BYTES = 512 * 1024;

let world: StripeService;
let id: string;

before(async () => {
  world = await startStripeService();
  keepRoutes(world.on, 'card_stripe_test');
  id = await createSession(world.on);
  await choose(world.on, id, 'card');
});
after(async () => {
  await assertSound(world.on.databaseUrl);
  await world[Symbol.asyncDispose]();
});

const hints = () =>
  queryRows(world.on.databaseUrl, 'SELECT event_id, state FROM provider_inbox WHERE object_id IS NOT NULL');

async function post(body: string | Buffer, headers: Record<string, string>, instance = 'stripe_test'): Promise<number> {
  const url = `${world.on.url}/api/providers/${instance}/callbacks`;
  const answer = await fetch(url, { method: 'POST', body: new Uint8Array(Buffer.from(body)), headers });
  await answer.arrayBuffer();
  return answer.status;
}

/** Body and headers of an event, signed with the webhook secret that Stripe and the service share. */
function signed(event: object): { body: string; headers: Record<string, string> } {
  return world.stripe.callbackOf(event as StripeEvent);
}

const EVENT = { object: 'event', type: 'payout.paid', livemode: false, created: 0 } as const;

describe('callbacks of a sender who does not know the webhook secret', () => {
  /** A signature header of the right form whose signature is wrong. */
  const wrong = () => {
    const { headers } = signed({ ...EVENT, id: 'evt_1', data: { object: { id: 'po_1' } } });
    return headers['stripe-signature']!.replace(/.$/, (digit) => (digit === '0' ? '1' : '0'));
  };

  it('a callback with a wrong signature gets 401, whatever its body; a body above the size limit gets 413', async () => {
    const earlier = await hints();
    const { body } = signed({ ...EVENT, id: 'evt_1', data: { object: { id: 'po_1' } } });
    const many = `t=${Math.floor(world.on.clock.now() / 1000)},${Array(200)
      .fill(`v1=${'0'.repeat(64)}`)
      .join(',')}`;
    const signature = { 'stripe-signature': wrong() };
    assert.equal(await post('x'.repeat(MAX_BYTES), signature), 401);
    assert.equal(await post('['.repeat(MAX_BYTES), signature), 401);
    assert.equal(await post('x'.repeat(MAX_BYTES + 1), signature), 413);
    assert.equal(await post('', signature), 401);
    assert.equal(await post(body, { ...signature, 'content-encoding': 'gzip' }), 401);
    assert.equal(await post(body, { 'stripe-signature': many }), 401);
    assert.deepEqual(await hints(), earlier);
  });

  it('a signed callback is rejected at the URL of another provider instance and at variants of its path', async () => {
    const earlier = await hints();
    const { body, headers } = signed({ ...EVENT, id: 'evt_1', data: { object: { id: 'po_1' } } });
    assert.equal(await post(body, headers, 'sandbox'), 401);
    for (const instance of [
      'stripe',
      'STRIPE_TEST',
      '__proto__',
      '%00',
      'x'.repeat(2000),
      '..%2fproviders%2fstripe_test',
    ]) {
      assert.equal(await post(body, headers, instance), 404, instance);
    }
    const paths = [
      'stripe_test/callbacks/',
      '/stripe_test/callbacks',
      'x/../stripe_test/callbacks',
      'stripe_test%2fcallbacks',
    ];
    for (const path of paths) {
      const lines = [
        `POST /api/providers/${path} HTTP/1.1`,
        'host: 127.0.0.1',
        'connection: close',
        `content-length: ${body.length}`,
        `stripe-signature: ${headers['stripe-signature']}`,
      ];
      assert.equal((await sendRaw(world.on.url, `${lines.join('\r\n')}\r\n\r\n${body}`)).status, 404, path);
    }
    assert.deepEqual(await hints(), earlier);
  });
});

describe('callbacks of a sender who knows the webhook secret', () => {
  it('a signed callback with a malformed object id or event id is acknowledged, and neither stored nor queried', async () => {
    const earlier = await hints();
    const count = world.stripe.requests.length;
    const object = { id: 'po_1' };
    const events = [
      ...['po_\u0000', 'po_\ud800', 'p'.repeat(MAX_BYTES - 1000), '..', '../account', 'po_1?expand[]=x', ''].map(
        (id) => ({
          ...EVENT,
          id: 'evt_1',
          data: { object: { id } },
        }),
      ),
      ...['evt_\u0000', 'e'.repeat(256)].map((id) => ({ ...EVENT, id, data: { object } })),
      { ...EVENT, id: 'evt_1', data: [[[[]]]] },
    ];
    for (const event of events) {
      const { body, headers } = signed(event);
      assert.equal(await post(body, headers), 200);
    }
    await deliver(world);
    assert.deepEqual(await hints(), earlier);
    assert.equal(world.stripe.requests.length, count);
  });

  it('a signed callback whose body is nested arrays up to the size limit gets 400', async () => {
    const { headers } = world.stripe.callbackOf(EVENT as unknown as StripeEvent);
    const body = '['.repeat(MAX_BYTES);
    const time = Math.floor(world.on.clock.now() / 1000);
    const mac = createHmac('sha256', world.stripe.webhookSecret).update(`${time}.${body}`).digest('hex');
    assert.equal(await post(body, { ...headers, 'stripe-signature': `t=${time},v1=${mac}` }), 400);
  });

  it(
    'a repeated callback with 1,000 hints and 50 signals stores each hint once, and few queries answer all hints',
    ONLY_IN_FULL_RUN,
    async () => {
      const { deps } = world.on.service;
      const { providers } = deps;
      const provider = providers.get('stripe_test')!;
      const payment = await lastPayment(world.on, id);
      const report = aReport({ status: 'provider_pending', amount: payment.amount });
      const many = Array.from({ length: 1000 }, (_, number) => `event_${number}`);
      const changed = Object.create(provider) as Provider;
      changed.readCallback = async () => ({
        signals: many
          .slice(0, 50)
          .map((eventId) => ({ eventId, about: 'payment', ref: { paymentId: payment.id }, report })),
        hints: many.map((eventId) => ({ eventId: `hint_${eventId}`, about: 'payout', id: 'po_1' })),
      });
      deps.providers = new Map([...providers, [provider.id, changed]]);
      const earlier = (await hints()).length;
      for (let copy = 0; copy < 2; copy++) assert.equal(await post('{}', {}), 200);
      deps.providers = providers;
      assert.equal((await hints()).length, earlier + many.length);
      // All hints name the same payout: its answer completes all of them, also after an outage of Stripe.
      await world.stripe.goDown();
      await world.on.pass(0);
      await world.stripe.listen();
      const count = world.stripe.requests.length;
      await deliver(world, 10_000);
      assert.ok(world.stripe.requests.length - count <= 100);
      assert.deepEqual(await deps.store.hintsDue(Number.MAX_SAFE_INTEGER, 10), []);
    },
  );
});

describe('the return URL of a checkout', () => {
  it('many requests to the return URL store one hint and cause at most one query per 5 s, also after an outage', async () => {
    const { on, stripe } = world;
    const url = `${on.url}/checkout/${id}/back`;
    const flood = () =>
      Promise.all(Array.from({ length: 20 }, async () => (await fetch(url, { redirect: 'manual' })).arrayBuffer()));
    const earlier = (await hints()).length;
    let count = stripe.requests.length;
    for (let times = 0; times < 3; times++) {
      await flood();
      await on.pass(1000);
    }
    assert.equal(stripe.requests.length, count + 1);
    await stripe.goDown();
    for (let times = 0; times < 5; times++) {
      await flood();
      await on.pass(6000);
    }
    await stripe.listen();
    count = stripe.requests.length;
    await on.pass(5 * 60_000);
    // One request is the query of the hint; a second one can be the inquiry about the payment.
    assert.ok(stripe.requests.length - count <= 2);
    assert.equal((await hints()).length, earlier + 1);
  });

  it('the return URL answers 404 to an unknown id, and redirects only to the checkout page, whatever the query', async () => {
    for (const path of ['%00', '..%2f..', `${id}%00`, id.toUpperCase(), 'x'.repeat(5000)]) {
      assert.equal((await fetch(`${world.on.url}/checkout/${path}/back`, { redirect: 'manual' })).status, 404, path);
    }
    const query = '?returned=1&notice=%3Cscript%3E&url=https://evil.example';
    const answer = await fetch(`${world.on.url}/checkout/${id}/back${query}`, { redirect: 'manual' });
    assert.match(answer.headers.get('location')!, new RegExp(`^(${world.on.url})?/checkout/${id}(\\?returned=1)?$`));
  });
});
