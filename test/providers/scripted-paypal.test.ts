import assert from 'node:assert/strict';
import { X509Certificate, verify } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, test } from 'node:test';
import { crc32 } from 'node:zlib';
import { NOW } from '../fixtures/checkout-records.ts';
import { startServer } from '../support/http-server.ts';
import { SKIPPED, responseProblems } from './paypal-contract.ts';
import { PAYPAL_FORGERIES, PAYPAL_TEST_ROOT } from './scripted-paypal-signature.ts';
import { type ScriptedPaypal, type ScriptedPaypalOptions, startScriptedPaypal } from './scripted-paypal.ts';

const RETURN_URL = 'https://shop.example/checkout/chk_1/back';
const CANCEL_URL = 'https://shop.example/checkout/chk_1?cancelled=1';

const ORDER = {
  intent: 'CAPTURE',
  purchase_units: [{ custom_id: 'pay_1', description: 'Order 1', amount: { currency_code: 'USD', value: '19.99' } }],
  payment_source: {
    paypal: {
      experience_context: {
        user_action: 'PAY_NOW',
        shipping_preference: 'NO_SHIPPING',
        brand_name: 'Demo & <merchant>',
        return_url: RETURN_URL,
        cancel_url: CANCEL_URL,
      },
    },
  },
};

/** Fields of the resources that the tests read. */
interface Body {
  id: string;
  name: string;
  error: string;
  access_token: string;
  status: string;
  amount: { value: string };
  links: { rel: string; href: string }[];
  purchase_units: { payments?: { captures: Body[]; refunds?: Body[] } }[];
  details: { issue: string }[];
  items: { dispute_id: string }[];
  dispute_outcome: { outcome_code: string };
  fund_movements: { type: string; reason: string; amount: { value: string } }[];
  seller_receivable_breakdown: { paypal_fee: { value: string }; net_amount: { value: string } };
}

interface Answer {
  status: number;
  body: Body;
  headers: Headers;
}

/** A scripted PayPal with a client of its API. */
interface World extends AsyncDisposable {
  paypal: ScriptedPaypal;
  clock: { ms: number };
  token(): Promise<string>;
  call(method: string, path: string, body?: object, key?: string): Promise<Answer>;
  /** Creates an order that the buyer approves; returns its id. */
  approved(key?: string): Promise<string>;
  /** Creates, approves and captures an order; returns the id of the capture. */
  captured(key?: string): Promise<string>;
}

async function startWorld(options: ScriptedPaypalOptions = {}): Promise<World> {
  const clock = { ms: NOW };
  const paypal = await startScriptedPaypal({ now: () => clock.ms, ...options });
  let token: string | undefined;
  const world: Omit<World, typeof Symbol.asyncDispose> = {
    paypal,
    clock,
    async token() {
      const authorization = `Basic ${btoa(`${paypal.clientId}:${paypal.clientSecret}`)}`;
      const body = new URLSearchParams({ grant_type: 'client_credentials' });
      const answer = await fetch(`${paypal.url}/v1/oauth2/token`, { method: 'POST', headers: { authorization }, body });
      return ((await answer.json()) as Body).access_token;
    },
    async call(method, path, body, key = 'key') {
      token ??= await world.token();
      const headers = {
        authorization: `Bearer ${token}`,
        prefer: 'return=representation',
        ...(method === 'POST' && { 'paypal-request-id': key, 'content-type': 'application/json' }),
      };
      const request = { method, headers, ...(body && { body: JSON.stringify(body) }) };
      const answer = await fetch(`${paypal.url}${path}`, request);
      return { status: answer.status, body: (await answer.json()) as Body, headers: answer.headers };
    },
    async approved(key = 'pay_1') {
      const { body } = await world.call('POST', '/v2/checkout/orders', ORDER, `${key}:create`);
      paypal.approve(body.id);
      return body.id;
    },
    async captured(key = 'pay_1') {
      const orderId = await world.approved(key);
      const { body } = await world.call('POST', `/v2/checkout/orders/${orderId}/capture`, undefined, `${key}:capture`);
      return body.purchase_units[0]!.payments!.captures[0]!.id;
    },
  };
  return Object.assign(world, { [Symbol.asyncDispose]: () => paypal[Symbol.asyncDispose]() });
}

/** Callback that PayPal has published, with its certificate. */
interface Vector {
  headers: Record<string, string>;
  webhookId: string;
  rawBody: string;
  certPem: string;
}

const capturePath = (orderId: string): string => `/v2/checkout/orders/${orderId}/capture`;
const refundPath = (captureId: string): string => `/v2/payments/captures/${captureId}/refund`;
const usd = (value: string) => ({ currency_code: 'USD', value });
const issueOf = ({ body }: Answer): string | undefined => body.details?.[0]?.issue;

describe("the scripted PayPal's orders and captures", () => {
  test('an order is created, approved by the buyer and captured with its fee', async () => {
    await using world = await startWorld();
    const { paypal } = world;
    const created = await world.call('POST', '/v2/checkout/orders', ORDER, 'pay_1:create');
    const { id } = created.body;
    assert.match(id, /^[0-9A-Z]{17}$/);
    assert.deepEqual([created.status, created.body.status], [201, 'PAYER_ACTION_REQUIRED']);
    const action = created.body.links.find(({ rel }) => rel === 'payer-action');
    assert.equal(action?.href, `${paypal.url}/checkoutnow?token=${id}`);
    assert.equal(issueOf(await world.call('POST', capturePath(id), undefined, 'early')), 'ORDER_NOT_APPROVED');
    paypal.approve(id);
    const captured = await world.call('POST', capturePath(id), undefined, 'pay_1:capture');
    assert.deepEqual([captured.status, captured.body.status], [201, 'COMPLETED']);
    const [capture] = captured.body.purchase_units[0]!.payments!.captures;
    assert.deepEqual(capture!.seller_receivable_breakdown, {
      gross_amount: usd('19.99'),
      paypal_fee: usd('1.19'),
      net_amount: usd('18.80'),
    });
    assert.equal(paypal.balance(), 1880);
    assert.equal(issueOf(await world.call('POST', capturePath(id), undefined, 'again')), 'ORDER_ALREADY_CAPTURED');
    const types = paypal.events.map(({ event_type }) => event_type);
    assert.deepEqual(types, ['CHECKOUT.ORDER.APPROVED', 'PAYMENT.CAPTURE.COMPLETED']);
    assert.deepEqual(
      paypal.requests.flatMap(({ problems }) => problems),
      [],
    );
  });

  test('a declined instrument sends the buyer back, and a compliance error does not', async () => {
    await using world = await startWorld();
    const { paypal } = world;
    const id = await world.approved();
    paypal.nextCapture = 'decline';
    const declined = await world.call('POST', capturePath(id), undefined, 'first');
    assert.deepEqual([declined.status, issueOf(declined)], [422, 'INSTRUMENT_DECLINED']);
    const repeated = await world.call('POST', capturePath(id), undefined, 'first');
    assert.deepEqual([repeated.status, issueOf(repeated)], [422, 'INSTRUMENT_DECLINED']);
    const order = await world.call('GET', `/v2/checkout/orders/${id}`);
    assert.equal(order.body.status, 'PAYER_ACTION_REQUIRED');
    assert.ok(order.body.links.some(({ rel }) => rel === 'payer-action'));
    paypal.approve(id);
    for (const [outcome, issue] of [
      ['compliance', 'COMPLIANCE_VIOLATION'],
      ['restricted', 'PAYEE_ACCOUNT_RESTRICTED'],
      ['refused', 'TRANSACTION_REFUSED'],
    ] as const) {
      paypal.nextCapture = outcome;
      assert.equal(issueOf(await world.call('POST', capturePath(id), undefined, outcome)), issue);
    }
    assert.equal((await world.call('POST', capturePath(id), undefined, 'last')).status, 201);
  });

  test('a pending capture is not in the balance until it completes', async () => {
    await using world = await startWorld();
    const { paypal } = world;
    for (const [status, balance] of [
      ['COMPLETED', 1880],
      ['DECLINED', 1880],
    ] as const) {
      paypal.nextCapture = 'pending';
      const captureId = await world.captured(status);
      const pending = await world.call('GET', `/v2/payments/captures/${captureId}`);
      assert.equal(pending.body.status, 'PENDING');
      assert.equal(issueOf(await world.call('POST', refundPath(captureId), {}, `r${status}`)), 'PENDING_CAPTURE');
      paypal.finishPending(captureId, status);
      assert.equal(paypal.balance(), balance);
      assert.equal((await world.call('GET', `/v2/payments/captures/${captureId}`)).body.status, status);
    }
  });

  test('PayPal forgets an expired order, and a void order cannot be captured', async () => {
    await using world = await startWorld();
    const [expired, voided] = [await world.approved('pay_1'), await world.approved('pay_2')];
    world.paypal.expireOrder(expired);
    world.paypal.voidOrder(voided);
    const gone = await world.call('GET', `/v2/checkout/orders/${expired}`);
    assert.deepEqual([gone.status, gone.body.name], [404, 'RESOURCE_NOT_FOUND']);
    assert.equal(issueOf(await world.call('POST', capturePath(voided))), 'ORDER_NOT_APPROVED');
    assert.equal(world.paypal.events.at(-1)!.event_type, 'CHECKOUT.PAYMENT-APPROVAL.REVERSED');
  });

  test("a buyer pays or cancels on the scripted PayPal's page and returns", async () => {
    await using world = await startWorld();
    const { id, links } = (await world.call('POST', '/v2/checkout/orders', ORDER)).body;
    const { href } = links.find(({ rel }) => rel === 'payer-action')!;
    const page = await (await fetch(href)).text();
    assert.match(page, /<h1>Pay 19\.99 USD<\/h1>.*&#38; &#60;merchant&#62;.*Pay now.*Cancel and return/);
    const act = (value: string) =>
      fetch(href, { method: 'POST', body: new URLSearchParams({ act: value }), redirect: 'manual' });
    const cancelled = await act('cancel');
    assert.deepEqual([cancelled.status, cancelled.headers.get('location')], [302, `${CANCEL_URL}&token=${id}`]);
    const approved = await act('approve');
    assert.match(approved.headers.get('location')!, new RegExp(`^${RETURN_URL}\\?token=${id}&PayerID=`));
    assert.equal((await act('approve')).status, 410);
    assert.equal(world.paypal.world.orders.get(id)!.status, 'APPROVED');
  });
});

describe("the scripted PayPal's refunds and disputes", () => {
  test('refunds reduce the balance and never exceed the capture', async () => {
    await using world = await startWorld();
    const { paypal } = world;
    const captureId = await world.captured();
    const first = await world.call('POST', refundPath(captureId), { amount: usd('5.00'), custom_id: 'ref_1' }, 'ref_1');
    assert.deepEqual([first.status, first.body.status, paypal.balance()], [201, 'COMPLETED', 1380]);
    const capture = (): Promise<Answer> => world.call('GET', `/v2/payments/captures/${captureId}`);
    assert.equal((await capture()).body.status, 'PARTIALLY_REFUNDED');
    const large = { amount: usd('15.00') };
    assert.equal(issueOf(await world.call('POST', refundPath(captureId), large, 'ref_2')), 'REFUND_AMOUNT_EXCEEDED');
    paypal.nextRefundStatus = 'PENDING';
    const rest = await world.call('POST', refundPath(captureId), {}, 'ref_3');
    assert.deepEqual([rest.body.status, rest.body.amount, paypal.balance()], ['PENDING', usd('14.99'), -119]);
    assert.equal((await capture()).body.status, 'REFUNDED');
    assert.equal(issueOf(await world.call('POST', refundPath(captureId), {}, 'ref_4')), 'CAPTURE_FULLY_REFUNDED');
    paypal.finishRefund(rest.body.id, 'FAILED');
    assert.equal(paypal.balance(), 1380);
    assert.equal((await world.call('GET', `/v2/payments/refunds/${rest.body.id}`)).body.status, 'FAILED');
    const orderId = paypal.world.captures.get(captureId)!.orderId;
    const order = await world.call('GET', `/v2/checkout/orders/${orderId}`);
    assert.equal(order.body.purchase_units[0]!.payments!.refunds!.length, 2);
    assert.ok(first.body.links.some(({ rel, href }) => rel === 'up' && href.endsWith(`/captures/${captureId}`)));
  });

  test('a dispute withdraws the amount and a fee, and the winner gets the amount', async () => {
    await using world = await startWorld();
    const { paypal } = world;
    const [lost, won] = [await world.captured('pay_1'), await world.captured('pay_2')];
    const [first, second] = [paypal.openDispute(lost), paypal.openDispute(won)];
    const partial = await world.call('POST', refundPath(lost), { amount: usd('1.00') }, 'ref_1');
    assert.equal(issueOf(partial), 'TRANSACTION_DISPUTED');
    for (const { id } of [first, second]) paypal.takeDispute(id);
    assert.equal(paypal.balance(), 2 * (1880 - 1999 - 1500));
    const whole = await world.call('POST', refundPath(lost), {}, 'ref_2');
    assert.equal(issueOf(whole), 'REFUND_NOT_PERMITTED_DUE_TO_CHARGEBACK');
    paypal.closeDispute(first.id, 'buyer', { announcesReversal: true });
    paypal.closeDispute(second.id, 'seller', { returnsFee: true });
    assert.equal(paypal.balance(), 1880 - 1999 - 1500 + 1880);
    const list = await world.call('GET', `/v1/customer/disputes?disputed_transaction_id=${won}`);
    assert.deepEqual(
      list.body.items.map(({ dispute_id }) => dispute_id),
      [second.id],
    );
    const { body } = await world.call('GET', `/v1/customer/disputes/${second.id}`);
    assert.equal(body.dispute_outcome.outcome_code, 'RESOLVED_SELLER_FAVOUR');
    assert.deepEqual(
      body.fund_movements.map(({ type, reason }) => `${type} ${reason}`),
      ['DEBIT DISPUTE_SETTLEMENT', 'DEBIT DISPUTE_FEE', 'CREDIT DISPUTE_SETTLEMENT', 'CREDIT DISPUTE_FEE'],
    );
    const types = paypal.events.map(({ event_type }) => event_type).filter((type) => /DISPUTE|REVERSED/.test(type));
    assert.deepEqual(types.slice(-3), [
      'CUSTOMER.DISPUTE.RESOLVED',
      'PAYMENT.CAPTURE.REVERSED',
      'CUSTOMER.DISPUTE.RESOLVED',
    ]);
  });

  test('a reversal without a dispute is a refund that the API knows', async () => {
    await using world = await startWorld();
    const captureId = await world.captured();
    const { id } = world.paypal.reverseCapture(captureId);
    assert.equal(world.paypal.balance(), 1880 - 1999);
    const known = await world.call('GET', `/v2/payments/refunds/${id}`);
    assert.deepEqual(world.paypal.events.at(-1)!.resource, known.body);
  });
});

describe("the scripted PayPal's API", () => {
  test('a repeated PayPal-Request-Id executes once while PayPal stores it, and only with the same request', async () => {
    await using world = await startWorld();
    const { paypal, clock } = world;
    const create = (order: object) => world.call('POST', '/v2/checkout/orders', order, 'pay_1:create');
    const first = await create(ORDER);
    paypal.approve(first.body.id);
    const second = await create(ORDER);
    assert.deepEqual([second.status, second.body.id, second.body.status], [200, first.body.id, 'APPROVED']);
    paypal.repeatsLatest = false;
    assert.deepEqual((await create(ORDER)).body, first.body);
    assert.equal((await create({ ...ORDER, intent: 'AUTHORIZE' })).status, 422);
    await world.call('POST', capturePath(first.body.id), undefined, 'pay_1:capture');
    const repeated = await world.call('POST', capturePath(first.body.id), undefined, 'pay_1:capture');
    assert.deepEqual([repeated.status, repeated.body.status, paypal.balance()], [200, 'COMPLETED', 1880]);
    const captureId = repeated.body.purchase_units[0]!.payments!.captures[0]!.id;
    const refund = () => world.call('POST', refundPath(captureId), { amount: usd('1.00') }, 'ref_1');
    assert.equal((await refund()).body.id, (await refund()).body.id);
    clock.ms += 7 * 3_600_000;
    assert.notEqual((await create(ORDER)).body.id, first.body.id);
    assert.equal((await refund()).status, 201);
    assert.equal(paypal.balance(), 1780);
  });

  test('access tokens expire, are revoked and belong to the credentials', async () => {
    await using world = await startWorld();
    const { paypal, clock } = world;
    assert.equal((await world.call('GET', '/v2/checkout/orders/NONE')).status, 404);
    clock.ms += 32_400_000;
    const expired = await world.call('GET', '/v2/checkout/orders/NONE');
    assert.deepEqual([expired.status, expired.body.error], [401, 'invalid_token']);
    clock.ms -= 1;
    assert.equal((await world.call('GET', '/v2/checkout/orders/NONE')).status, 404);
    paypal.revokeTokens();
    assert.equal((await world.call('GET', '/v2/checkout/orders/NONE')).status, 401);
    paypal.clientSecret = 'another';
    assert.notEqual(await world.token(), undefined);
    paypal.isKeyRevoked = true;
    assert.equal(await world.token(), undefined);
  });

  test('requests without the documented headers are rejected', async () => {
    await using world = await startWorld();
    const authorization = `Bearer ${await world.token()}`;
    const post = (headers: Record<string, string>) =>
      fetch(`${world.paypal.url}/v2/checkout/orders`, { method: 'POST', headers, body: JSON.stringify(ORDER) });
    const json = { 'content-type': 'application/json' };
    assert.equal((await post({ ...json, authorization })).status, 400);
    assert.equal((await post({ authorization, 'paypal-request-id': 'key' })).status, 415);
    assert.equal((await post({ ...json, authorization: 'Bearer other', 'paypal-request-id': 'key' })).status, 401);
    assert.equal(world.paypal.world.orders.size, 0);
  });

  test('injected faults change one answer each, and a fault after the operation leaves its effect', async () => {
    await using world = await startWorld();
    const { paypal } = world;
    const create = () => world.call('POST', '/v2/checkout/orders', ORDER, 'pay_1:create');
    paypal.faults = ['error_500_before', 'rate_limited', 'forbidden', 'error_500_after', 'other_payment_after'];
    const statuses = [];
    for (let each = 0; each < 3; each++) statuses.push((await create()).status);
    assert.deepEqual([statuses, paypal.world.orders.size], [[500, 429, 403], 0]);
    assert.equal((await create()).status, 500);
    assert.equal(paypal.world.orders.size, 1);
    const changed = await create();
    assert.match(JSON.stringify(changed.body), /"custom_id":"pay_0+"/);
    assert.ok(changed.headers.get('paypal-debug-id'));
    for (const fault of ['drop_before', 'drop_after', 'garbage_after'] as const) {
      paypal.faults = [fault];
      await assert.rejects(create());
    }
    paypal.faults = ['empty_after', 'other_amount_after'];
    assert.deepEqual((await create()).body, {} as Body);
    assert.match(JSON.stringify((await create()).body), /"value":"0\.01"/);
    assert.equal(paypal.world.orders.size, 1);
  });

  test('the webhook is known by its id only', async () => {
    await using world = await startWorld({ callbackUrl: 'https://gateway.example/callbacks' });
    const { body } = await world.call('GET', `/v1/notifications/webhooks/${world.paypal.webhookId}`);
    assert.deepEqual(body, { ...body, id: world.paypal.webhookId, url: 'https://gateway.example/callbacks' });
    assert.equal((await world.call('GET', '/v1/notifications/webhooks/0EH40505U7160970P')).status, 404);
  });
});

/** True if a certificate of PayPal's test authority with PayPal's name, valid at NOW, signs the callback. */
async function isGenuine(paypal: ScriptedPaypal, body: string, headers: Record<string, string>): Promise<boolean> {
  const url = headers['paypal-cert-url']!;
  if (!new URL(url).href.startsWith(`${paypal.url}/v1/notifications/certs/`)) return false;
  const answer = await fetch(url);
  if (!answer.ok || headers['paypal-auth-algo'] !== 'SHA256withRSA') return false;
  const certificate = new X509Certificate(await answer.text());
  const isValid = Date.parse(certificate.validFrom) <= NOW && Date.parse(certificate.validTo) >= NOW;
  const isNamed = certificate.checkHost('messageverificationcerts.sandbox.paypal.com') !== undefined;
  const isTrusted = certificate.verify(new X509Certificate(PAYPAL_TEST_ROOT).publicKey);
  const [id, time] = [headers['paypal-transmission-id'], headers['paypal-transmission-time']];
  const message = `${id}|${time}|${paypal.webhookId}|${crc32(Buffer.from(body))}`;
  const signature = Buffer.from(headers['paypal-transmission-sig'] ?? '', 'base64');
  return (
    isValid && isNamed && isTrusted && verify('RSA-SHA256', Buffer.from(message), certificate.publicKey, signature)
  );
}

describe("the scripted PayPal's callbacks", () => {
  test('an event is sent once, twice, late or never, as `sendingOf` returns', async () => {
    const received: string[] = [];
    await using server = await startServer(async (request, response) => {
      received.push((JSON.parse(await text(request)) as Body).id);
      response.writeHead(200).end();
    });
    await using world = await startWorld({ callbackUrl: server.url });
    const { paypal } = world;
    const plan = [
      { times: 1, delayMs: 1000 },
      { times: 2, delayMs: 0 },
      { times: 0, delayMs: 0 },
    ];
    paypal.sendingOf = ({ id }) => plan[paypal.events.findIndex((event) => event.id === id)]!;
    await world.captured();
    paypal.refundInDashboard([...paypal.world.captures.keys()][0]!, 100);
    await paypal.sent();
    const ids = paypal.events.map(({ id }) => id);
    assert.deepEqual(received, [ids[1], ids[1], ids[0]]);
  });

  test('`resend` sends unanswered events again with the first transmission id and time', async () => {
    const received: (string | undefined)[] = [];
    let status = 503;
    await using server = await startServer((request, response) => {
      received.push(String(request.headers['paypal-transmission-time']));
      response.writeHead(status).end();
    });
    await using world = await startWorld({ callbackUrl: server.url });
    const { paypal, clock } = world;
    await world.approved();
    await paypal.sent();
    assert.equal(paypal.undelivered.length, 1);
    status = 200;
    clock.ms += 86_400_000;
    await paypal.resend();
    assert.deepEqual([received.length, new Set(received).size, paypal.undelivered.length], [2, 1, 0]);
  });

  test('with `paysBeforeAnswer` the callback arrives before the order is answered', async () => {
    const order: string[] = [];
    await using server = await startServer((_, response) => {
      order.push('callback');
      response.writeHead(200).end();
    });
    await using world = await startWorld({ callbackUrl: server.url });
    world.paypal.paysBeforeAnswer = true;
    const { body } = await world.call('POST', '/v2/checkout/orders', ORDER);
    order.push('answer');
    assert.deepEqual([order, body.status], [['callback', 'answer'], 'PAYER_ACTION_REQUIRED']);
  });

  test('node:crypto verifies the signature of every genuine callback and of no forged one', async () => {
    await using world = await startWorld();
    const { paypal } = world;
    await world.captured();
    const [event] = paypal.events;
    for (const certificate of ['CERT-test', 'CERT-chain']) {
      paypal.certificate = certificate;
      const { body, headers } = paypal.callbackOf(event!);
      assert.ok(await isGenuine(paypal, body, headers), certificate);
    }
    const accepted = [];
    for (const forgery of [...PAYPAL_FORGERIES, 'foreign_root'] as const) {
      const { body, headers } = paypal.callbackOf(event!, forgery);
      if (await isGenuine(paypal, body, headers)) accepted.push(forgery);
    }
    assert.deepEqual(accepted, []);
  });

  test('the server faults the requests for a certificate', async () => {
    await using world = await startWorld();
    const { paypal } = world;
    const url = `${paypal.url}/v1/notifications/certs/CERT-test`;
    paypal.certificateFaults = ['error_500', 'redirect', 'drop'];
    assert.equal((await fetch(url)).status, 500);
    assert.equal((await fetch(url, { redirect: 'manual' })).status, 302);
    await assert.rejects(fetch(url));
    assert.match(await (await fetch(url)).text(), /BEGIN CERTIFICATE/);
    assert.equal(paypal.certificateRequests.length, 4);
  });
});

describe("the scripted PayPal and PayPal's description", { skip: SKIPPED }, () => {
  /** Calls the API and adds the violations of the description in the response. */
  function checkedCalls(world: World) {
    const problems: string[] = [];
    const operations = new Set<string>();
    const call = async (method: string, path: string, body?: object, key?: string): Promise<Body> => {
      const answer = await world.call(method, path, body, key);
      const { operation } = world.paypal.requests.at(-1)!;
      operations.add(`${operation} ${answer.status}`);
      const found = responseProblems(operation, answer.status, answer.body);
      problems.push(...found.map((problem) => `${operation} ${answer.status}: ${problem}`));
      return answer.body;
    };
    return { call, problems, operations };
  }

  test('the responses of all operations follow the description', async () => {
    await using world = await startWorld();
    const { paypal } = world;
    const { call, problems, operations } = checkedCalls(world);
    const { id } = await call('POST', '/v2/checkout/orders', ORDER, 'create');
    await call('POST', capturePath(id), undefined, 'early');
    paypal.approve(id);
    await call('POST', '/v2/checkout/orders', ORDER, 'create');
    paypal.nextCapture = 'decline';
    await call('POST', capturePath(id), undefined, 'declined');
    await call('GET', `/v2/checkout/orders/${id}`);
    paypal.approve(id);
    paypal.nextCapture = 'review';
    const order = await call('POST', capturePath(id), undefined, 'capture');
    const captureId = order.purchase_units[0]!.payments!.captures[0]!.id;
    await call('GET', `/v2/payments/captures/${captureId}`);
    await call('POST', refundPath(captureId), {}, 'early refund');
    paypal.finishPending(captureId, 'COMPLETED');
    await call('POST', capturePath(id), undefined, 'again');
    await call('GET', `/v2/payments/captures/${captureId}`);
    const refund = await call('POST', refundPath(captureId), { amount: usd('5.00'), custom_id: 'ref_1' }, 'ref_1');
    paypal.nextRefundStatus = 'PENDING';
    await call('POST', refundPath(captureId), { amount: usd('50.00') }, 'ref_2');
    await call('POST', refundPath(captureId), {}, 'ref_3');
    await call('POST', refundPath(captureId), {}, 'ref_4');
    await call('GET', `/v2/payments/refunds/${refund.id}`);
    await call('GET', `/v2/checkout/orders/${id}`);
    await call('GET', '/v2/checkout/orders/NONE');
    await call('GET', '/v2/payments/captures/NONE');
    await call('GET', '/v2/payments/refunds/NONE');
    await call('GET', `/v1/notifications/webhooks/${paypal.webhookId}`);
    assert.deepEqual(problems, []);
    assert.ok(operations.size >= 14, [...operations].join(', '));
  });

  test('a callback that PayPal sent in 2015 is signed in the same form', () => {
    const file = join(process.env['PROVIDER_DATA']!, 'paypal-webhook-vector.json');
    const vector = JSON.parse(readFileSync(file, 'utf8')) as Vector;
    const { headers, webhookId, rawBody, certPem } = vector;
    const [id, time] = [headers['paypal-transmission-id'], headers['paypal-transmission-time']];
    const message = Buffer.from(`${id}|${time}|${webhookId}|${crc32(Buffer.from(rawBody))}`);
    const signature = Buffer.from(headers['paypal-transmission-sig']!, 'base64');
    assert.equal(headers['paypal-auth-algo'], 'SHA256withRSA');
    assert.ok(verify('RSA-SHA256', message, new X509Certificate(certPem).publicKey, signature));
  });

  test('the description rejects a response with a changed status, a missing link target or an unknown field', async () => {
    await using world = await startWorld();
    const id = await world.approved();
    const operation = 'GET /v2/checkout/orders/{id}';
    const { body } = await world.call('GET', `/v2/checkout/orders/${id}`);
    assert.deepEqual(responseProblems(operation, 200, body), []);
    for (const wrong of [
      { status: 'PAID' },
      { links: [{ rel: 'self' }] },
      { no_such_field: 1 },
      { purchase_units: [] },
    ]) {
      assert.notDeepEqual(responseProblems(operation, 200, { ...body, ...wrong }), [], JSON.stringify(wrong));
    }
  });

  test('the server records the violations of a request, and refuses it', async () => {
    await using world = await startWorld();
    const answer = await world.call('POST', '/v2/checkout/orders', { ...ORDER, intent: 'SALE' });
    assert.equal(answer.status, 400);
    assert.match(world.paypal.requests[0]!.problems.join(), /intent/);
  });
});
