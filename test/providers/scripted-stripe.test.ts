import assert from 'node:assert/strict';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import type { Callback } from '../../src/providers/provider.ts';
import { idOf } from '../fixtures/checkout-records.ts';
import { startServer } from '../support/http-server.ts';
import { type StripeWorld, handedOff, startStripeWorld, stripePayment } from './stripe-fixtures.ts';

interface Receiver extends AsyncDisposable {
  world: StripeWorld;
  accepted: Callback[];
  refused: number;
  /** HTTP status of the next answers; undefined: 200 or 401, as the adapter decides. */
  status: number | undefined;
}

/** An HTTP server that only reads Stripe's callbacks, with the adapter. */
async function startReceiver(): Promise<Receiver> {
  const world = await startStripeWorld();
  const receiver: Omit<Receiver, typeof Symbol.asyncDispose> = { world, accepted: [], refused: 0, status: undefined };
  const server = await startServer(async (request, response) => {
    const body = Buffer.from(await text(request));
    if (receiver.status !== undefined) return response.writeHead(receiver.status).end();
    const found = await world.provider.readCallback(body, request.headers).catch(() => undefined);
    if (found) receiver.accepted.push(found);
    else receiver.refused++;
    return response.writeHead(found ? 200 : 401).end();
  });
  world.stripe.callbackUrl = `${server.url}/callbacks`;
  return Object.assign(receiver, {
    async [Symbol.asyncDispose]() {
      await world[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    },
  });
}

/** Ids of the events that the service would ask Stripe about. */
function eventIds({ accepted }: Receiver): string[] {
  const hints = accepted.flatMap((callback) => callback.hints);
  return hints.filter(({ mismatch }) => mismatch === undefined).map(({ eventId }) => eventId);
}

test('the scripted Stripe sends an event once, twice, late or never, as `sendingOf` returns', async () => {
  await using receiver = await startReceiver();
  const { stripe } = receiver.world;
  const payments = [];
  for (let each = 1; each <= 4; each++) {
    payments.push(await handedOff(receiver.world, stripePayment({ id: idOf('pay', each) })));
  }
  stripe.sendingOf = ({ id }) => {
    const number = stripe.events.findIndex((event) => event.id === id);
    return (
      [
        { times: 1, delayMs: 50 },
        { times: 2, delayMs: 0 },
        { times: 0, delayMs: 0 },
      ][number] ?? { times: 1, delayMs: 0 }
    );
  };
  for (const { providerReference } of payments) stripe.pay(providerReference!);
  await stripe.sent();
  const [delayed, twice, lost, last] = stripe.events.map(({ id }) => id);
  const count = (id: string | undefined) => eventIds(receiver).filter((each) => each === id).length;
  assert.deepEqual([delayed, twice, lost, last].map(count), [1, 2, 0, 1]);
});

test('`resend` of the scripted Stripe sends an event again that was not acknowledged', async () => {
  await using receiver = await startReceiver();
  const { stripe } = receiver.world;
  receiver.status = 503;
  stripe.pay((await handedOff(receiver.world)).providerReference!);
  await stripe.sent();
  assert.equal(stripe.undelivered.length, 1);
  receiver.status = undefined;
  await stripe.resend();
  assert.deepEqual([eventIds(receiver).length, stripe.undelivered.length], [1, 0]);
});

test('the adapter rejects forged callbacks of the scripted Stripe, and marks those of another environment or account', async () => {
  await using receiver = await startReceiver();
  const { stripe } = receiver.world;
  stripe.pay((await handedOff(receiver.world)).providerReference!);
  await stripe.sent();
  const [event] = stripe.events;
  const statuses = [];
  for (const forgery of ['other_secret', 'changed_body', 'old', 'future', 'other_scheme', 'unsigned'] as const) {
    statuses.push(await stripe.send(event!, forgery));
  }
  assert.deepEqual(statuses, Array(6).fill(401));
  for (const forgery of ['live', 'account'] as const) assert.equal(await stripe.send(event!, forgery), 200);
  assert.equal(eventIds(receiver).length, 1);
  const mismatches = receiver.accepted.flatMap(({ hints }) => hints.map(({ mismatch }) => mismatch));
  assert.deepEqual(mismatches, [undefined, 'environment_mismatch', 'account_mismatch']);
});

test("a buyer pays on the scripted Stripe's page and returns", async () => {
  await using world = await startStripeWorld();
  const payment = await handedOff(world);
  const page = await (await fetch(payment.providerUrl!)).text();
  assert.match(page, /50\.24 USD/);
  const body = new URLSearchParams({ act: 'pay' });
  const answer = await fetch(payment.providerUrl!, { method: 'POST', body, redirect: 'manual' });
  assert.equal(answer.headers.get('location'), 'https://shop.example/checkout/chk_1/back');
  const known = await world.provider.inquire(payment);
  assert.ok(typeof known === 'object' && known.report.state === 'paid');
});
