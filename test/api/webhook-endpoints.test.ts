// @run on=sqlite,postgres
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { type TestContext, after, before, describe, test } from 'node:test';
import type { DeliveryResource } from '../../src/contract/delivery-contract.ts';
import type { WebhookEndpointResource, WebhookTestResource } from '../../src/contract/webhook-endpoint-contract.ts';
import type { ProviderStatus } from '../../src/domain/records.ts';
import { EVERY_TYPE } from '../../src/domain/webhook-endpoint.ts';
import { verifyCallback } from '../../src/webhooks/sign.ts';
import { contentsOf } from '../support/database.ts';
import { merchantOf } from '../support/merchant.ts';
import { type TestService, call, startTestService } from '../support/service.ts';
import { SECRET, receiver } from '../webhooks/fixtures.ts';
import { type Refusal, refused } from '../support/refusal.ts';

const HOUR = 3_600_000;
const KEY = randomBytes(32).toString('base64');
const URL = 'https://shop.example/webhooks';

type Endpoint = WebhookEndpointResource & { secret?: string };

let tillway: TestService;
const path = (rest = '', service = tillway) => `${service.url}/api/gateway/webhook-endpoints${rest}`;

before(async () => {
  tillway = await startTestService({ variables: { ENCRYPTION_KEY: KEY, WEBHOOK_ALLOW_PRIVATE: 'false' } });
});
after(() => tillway[Symbol.asyncDispose]());

async function create(fields: Record<string, unknown> = {}, service = tillway): Promise<Endpoint & { secret: string }> {
  const { status, body } = await call<Endpoint>('POST', path('', service), { url: URL, ...fields });
  assert.equal(status, 200, JSON.stringify(body));
  assert(body.secret !== undefined);
  return { ...body, secret: body.secret };
}

async function list(query = '', service = tillway): Promise<Endpoint[]> {
  return (await call<{ data: Endpoint[] }>('GET', path(query, service))).body.data;
}

async function get(id: string, service = tillway): Promise<Endpoint> {
  return (await call<Endpoint>('GET', path(`/${id}`, service))).body;
}

async function patch(id: string, fields: object, service = tillway): Promise<Endpoint> {
  const { status, body } = await call<Endpoint>('PATCH', path(`/${id}`, service), fields);
  assert.equal(status, 200, JSON.stringify(body));
  return body;
}

async function remove(id: string, service = tillway): Promise<void> {
  const { status, body } = await call('DELETE', path(`/${id}`, service));
  assert.deepEqual([status, body], [200, { id, object: 'webhook_endpoint', deleted: true }]);
}

/** The `invalid_input` for a body, which must name that field. */
async function refusedField(field: string, method: string, url: string, body: unknown) {
  const error = await refused([400, 'invalid_input'], method, url, body);
  assert.equal(error.field, field);
  return error;
}

function sell(service: TestService, ...statuses: ProviderStatus[]): Promise<string> {
  return merchantOf(service).sell(statuses);
}

function deliveriesOf(service: TestService, sessionId: string): Promise<DeliveryResource[]> {
  return merchantOf(service).deliveries(`sessionId=${sessionId}`);
}

describe('creating', () => {
  test('returns the endpoint and its secret, which no later response, log line or row contains', async () => {
    const made = await create({ events: ['payment.paid'], description: 'Order system', environment: 'production' });
    const { secret, ...shown } = made;
    assert.match(made.id, /^whe_\w{36}$/);
    assert.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
    const created = new Date(tillway.clock.now()).toISOString();
    assert.deepEqual(shown, {
      id: made.id,
      object: 'webhook_endpoint',
      url: URL,
      environment: 'production',
      source: 'api',
      events: ['payment.paid'],
      description: 'Order system',
      status: 'active',
      disabledReason: null,
      disabledAt: null,
      failingSince: null,
      lastSuccessAt: null,
      secrets: [{ created, expiresAt: null }],
      created,
    });
    assert.deepEqual(await get(made.id), shown);
    assert.deepEqual(
      (await list()).find(({ id }) => id === made.id),
      shown,
    );
    const contents = await contentsOf(tillway.databaseUrl);
    const raw = Buffer.from(secret.slice('whsec_'.length), 'base64').toString('latin1');
    assert(!contents.includes(secret) && !contents.includes(raw));
    assert(contents.includes(made.id));
    assert(!tillway.logged.join('').includes(secret));
    await remove(made.id);
  });

  test('defaults to sandbox and every type', async () => {
    const made = await create();
    assert.deepEqual([made.environment, made.events, made.description], ['sandbox', EVERY_TYPE, '']);
    await remove(made.id);
  });

  test('allows at most 20 in an environment, also with simultaneous requests', async () => {
    const answers = await Promise.all(
      Array.from({ length: 24 }, () => call<Endpoint & Refusal>('POST', path(), { url: URL })),
    );
    const made = answers.filter(({ status }) => status === 200).map(({ body }) => body.id);
    assert.equal(made.length, 20);
    for (const { status, body } of answers.filter((answer) => answer.status !== 200)) {
      assert.deepEqual([status, body.error.code], [409, 'invalid_state']);
      assert.match(body.error.message, /20 sandbox webhook endpoints/);
    }
    assert.equal((await list()).length, 20);
    const { id } = await create({ environment: 'production' });
    await remove(made[0]!);
    made[0] = (await create()).id;
    assert.equal((await list('?environment=sandbox')).length, 20);
    for (const one of [...made, id]) await remove(one);
    assert.deepEqual(await list(), []);
  });

  const TOO_LONG = `https://shop.example/${'a'.repeat(2049 - 'https://shop.example/'.length)}`;
  test('rejects faulty fields, and names the fault', async () => {
    const faults: [url: string, message: RegExp][] = [
      ['', /absolute http or https URL/],
      ['shop.example', /absolute http or https URL/],
      ['ftp://shop.example/', /http or https/],
      ['https:/shop.example', /http or https/],
      ['https://user@shop.example/', /user name/],
      ['https://:secret@shop.example/', /user name/],
      ['https://@shop.example/', /user name/],
      ['https://shop.example/#x', /fragment/],
      ['https://shop.example/#', /fragment/],
      ['https://shop.example/a b', /spaces/],
      ['https://shop.example\\x', /backslashes/],
      ['https://shop.example/\n', /control/],
      [TOO_LONG, /2048/],
      ['http://127.0.0.1/', /127\.0\.0\.1: it is loopback/],
      ['http://2130706433/', /127\.0\.0\.1: it is loopback/],
      ['http://0x7f.1/', /loopback/],
      ['https://[::1]/', /::1: it is loopback/],
      ['https://10.0.0.8/', /is private/],
      ['https://169.254.169.254/latest', /link-local/],
      ['https://[::ffff:10.0.0.1]/', /is private/],
    ];
    const others: [fields: Record<string, unknown>, field: string, message: RegExp][] = [
      [{}, 'url', /missing/],
      [{ url: 7 }, 'url', /absolute URI/],
      [{ url: 'http://shop.example/', environment: 'production' }, 'url', /https in production/],
      [{ url: URL, events: [] }, 'events', /one or more/],
      [{ url: URL, events: 'payment.paid' }, 'events', /array/],
      [{ url: URL, events: ['payment.paid', 'payment.paid'] }, 'events', /once/],
      [{ url: URL, events: ['payment.refunded'] }, 'events', /nothing but/],
      [{ url: URL, description: 'a'.repeat(501) }, 'description', /500/],
      [{ url: URL, environment: 'test' }, 'environment', /sandbox/],
      [{ url: URL, secret: 'whsec_mine' }, 'secret', /not a property/],
    ];
    const cases = [...faults.map(([url, message]) => [{ url }, 'url', message] as const), ...others];
    for (const [fields, field, message] of cases) {
      const error = await refusedField(field, 'POST', path(), fields);
      assert.match(error.message, message);
      assert(error.suggestion !== undefined);
    }
    assert.deepEqual(await list(), []);
  });

  test('accepts values at the limits', async () => {
    const longest = TOO_LONG.slice(0, 2048);
    for (const fields of [
      { url: longest },
      { url: 'http://shop.example:8080/hook?token=1' },
      { url: 'https://93.184.216.34/' },
      { url: URL, description: '🙂'.repeat(500) },
    ]) {
      const made = await create(fields);
      assert.equal(made.url, fields.url);
      await remove(made.id);
    }
  });
});

describe('changing', () => {
  test('changes only the given fields', async () => {
    const { secret: _, ...made } = await create();
    const other = 'https://else.example/hook';
    assert.deepEqual(await patch(made.id, { url: other }), { ...made, url: other });
    assert.deepEqual(await patch(made.id, { events: ['payment.failed'] }), {
      ...made,
      url: other,
      events: ['payment.failed'],
    });
    const last = await patch(made.id, { description: 'x', events: EVERY_TYPE });
    assert.deepEqual(last, { ...made, url: other, description: 'x' });
    assert.deepEqual(await get(made.id), last);
    await remove(made.id);
  });

  test('disables with the reason and the time, and enables again', async () => {
    const { secret: _, ...made } = await create();
    const disabled = await patch(made.id, { status: 'disabled' });
    assert.deepEqual(
      [disabled.status, disabled.disabledReason, disabled.disabledAt],
      ['disabled', 'an operator disabled it', new Date(tillway.clock.now()).toISOString()],
    );
    assert.deepEqual(await patch(made.id, { status: 'disabled' }), disabled);
    assert.deepEqual(await patch(made.id, { status: 'active' }), made);
    await remove(made.id);
  });

  test('rejects the same faults as creating, and an empty change', async () => {
    const { secret: _, ...made } = await create({ environment: 'production' });
    for (const [fields, field] of [
      [{}, 'body'],
      [{ url: 'http://shop.example/' }, 'url'],
      [{ url: 'https://10.0.0.1/' }, 'url'],
      [{ events: [] }, 'events'],
      [{ status: 'deleted' }, 'status'],
      [{ environment: 'sandbox' }, 'environment'],
    ] as const) {
      await refusedField(field, 'PATCH', path(`/${made.id}`), fields);
    }
    assert.deepEqual(await get(made.id), made);
    await remove(made.id);
  });

  test('loses no simultaneous change', async () => {
    const { id } = await create();
    await Promise.all([
      patch(id, { description: 'x' }),
      patch(id, { events: ['payment.paid'] }),
      patch(id, { url: 'https://else.example/' }),
      call('POST', path(`/${id}/rotate-secret`), {}),
    ]);
    const { description, events, url, secrets } = await get(id);
    assert.deepEqual([description, events, url, secrets.length], ['x', ['payment.paid'], 'https://else.example/', 2]);
    await remove(id);
  });
});

describe('rotating', () => {
  test('both secrets are listed for the overlap, without their values, and the old one not after it', async () => {
    const made = await create();
    const { body: rotated } = await call<Endpoint>('POST', path(`/${made.id}/rotate-secret`), { expiresInHours: 2 });
    assert.notEqual(rotated.secret, made.secret);
    const expiresAt = new Date(tillway.clock.now() + 2 * HOUR).toISOString();
    assert.deepEqual(
      rotated.secrets.map((secret) => secret.expiresAt),
      [null, expiresAt],
    );
    tillway.clock.advance(2 * HOUR - 1);
    assert.equal((await get(made.id)).secrets.length, 2);
    tillway.clock.advance(1);
    assert.equal((await get(made.id)).secrets.length, 1);
    await remove(made.id);
  });

  test('overlaps for 24 hours by default; 0 ends all earlier secrets at once', async () => {
    const { id } = await create();
    const { body: day } = await call<Endpoint>('POST', path(`/${id}/rotate-secret`));
    assert.equal(day.secrets[1]!.expiresAt, new Date(tillway.clock.now() + 24 * HOUR).toISOString());
    const { body: hour } = await call<Endpoint>('POST', path(`/${id}/rotate-secret`), { expiresInHours: 1 });
    const soon = new Date(tillway.clock.now() + HOUR).toISOString();
    assert.deepEqual(
      hour.secrets.map(({ expiresAt }) => expiresAt),
      [null, soon, soon],
    );
    const { body: now } = await call<Endpoint>('POST', path(`/${id}/rotate-secret`), { expiresInHours: 0 });
    assert.equal(now.secrets.length, 1);
    await remove(id);
  });

  test('at most 10 earlier secrets sign at a time', async () => {
    const { id } = await create();
    for (let turn = 0; turn < 10; turn++) await call('POST', path(`/${id}/rotate-secret`));
    const { suggestion } = await refused([409, 'invalid_state'], 'POST', path(`/${id}/rotate-secret`));
    assert.match(suggestion ?? '', /expiresInHours/);
    assert.equal((await get(id)).secrets.length, 11);
    assert.equal((await call('POST', path(`/${id}/rotate-secret`), { expiresInHours: 0 })).status, 200);
    await remove(id);
  });

  test('rejects `expiresInHours` unless it is an integer from 0 to 24', async () => {
    const { id } = await create();
    for (const expiresInHours of [-1, 25, 1.5, '24', null]) {
      await refusedField('expiresInHours', 'POST', path(`/${id}/rotate-secret`), { expiresInHours });
    }
    assert.equal((await get(id)).secrets.length, 1);
    await remove(id);
  });
});

describe('deleting', () => {
  test('removes it from every list and read, and its secrets from the database', async () => {
    const { id } = await create();
    const { store } = tillway.service.deps;
    const [sealed] = await store.endpointSecrets([id]);
    await remove(id);
    assert.deepEqual(await list(), []);
    for (const [method, rest, body] of [
      ['GET', '', undefined],
      ['PATCH', '', { status: 'active' }],
      ['DELETE', '', undefined],
      ['POST', '/rotate-secret', {}],
      ['POST', '/test', undefined],
    ] as const) {
      const { message } = await refused([404, 'not_found'], method, path(`/${id}${rest}`), body);
      assert.match(message, /has been deleted/);
    }
    assert.deepEqual(await store.endpointSecrets([id]), []);
    assert(!JSON.stringify(await store.sealedSecrets()).includes(sealed!.sealed));
    assert.equal((await store.endpoint(id))!.url, '');
    for (const unknown of [`whe_${'0'.repeat(36)}`, 'x']) {
      await refused([404, 'not_found'], 'GET', path(`/${unknown}`));
      await refused([404, 'not_found'], 'DELETE', path(`/${unknown}`));
    }
  });
});

test('lists are newest first, page by page, and filter by environment', async () => {
  const made: string[] = [];
  for (const environment of ['sandbox', 'production', 'sandbox']) {
    tillway.clock.advance(1000);
    made.unshift((await create({ environment })).id);
  }
  const ids = async (query: string) => (await list(query)).map(({ id }) => id);
  assert.deepEqual(await ids(''), made);
  assert.deepEqual(await ids('?environment=sandbox'), [made[0], made[2]]);
  assert.deepEqual(await ids('?limit=2'), made.slice(0, 2));
  assert.deepEqual(await ids(`?startingAfter=${made[1]}`), [made[2]]);
  assert.deepEqual(await ids(`?endingBefore=${made[1]}`), [made[0]]);
  await refused([400, 'invalid_input'], 'GET', path('?type=x'));
  for (const id of made) await remove(id);
});

interface Shop {
  tillway: TestService;
  endpoint: Endpoint & { secret: string };
  received: { headers: Record<string, unknown>; body: string }[];
}

async function openShop(context: TestContext, answer: () => number, fields: object = {}): Promise<Shop> {
  const service = await startTestService({ variables: { ENCRYPTION_KEY: KEY, WEBHOOK_ALLOW_PRIVATE: 'true' } });
  context.after(() => service[Symbol.asyncDispose]());
  const { url, received } = await receiver(context, (_, __, response) => {
    response.writeHead(answer()).end('from the shop');
  });
  return {
    tillway: service,
    endpoint: await create({ url, ...fields }, service),
    received,
  };
}

const signatureOf = ({ headers }: Shop['received'][number]) => String(headers['x-gateway-signature']);

test('events go to every endpoint whose filter has their type, signed with its own secret', async (context) => {
  const shop = await openShop(context, () => 200, { events: ['payment.paid'] });
  const second = await receiver(context);
  const other = await create({ url: second.url, events: ['payment.failed', 'payment.provider_pending'] }, shop.tillway);
  const elsewhere = await receiver(context);
  await create({ url: elsewhere.url, environment: 'production' }, shop.tillway);
  const sessionId = await sell(shop.tillway, 'provider_pending', 'paid');
  await shop.tillway.pass(0);
  const deliveries = await deliveriesOf(shop.tillway, sessionId);
  assert.deepEqual(
    deliveries.map(({ type, endpointId, status }) => [type, endpointId, status]),
    [
      ['payment.paid', shop.endpoint.id, 'delivered'],
      ['payment.provider_pending', other.id, 'delivered'],
    ],
  );
  assert.deepEqual([shop.received.length, second.received.length, elsewhere.received.length], [1, 1, 0]);
  const { body } = shop.received[0]!;
  const signature = signatureOf(shop.received[0]!);
  assert(verifyCallback(shop.endpoint.secret, signature, body));
  assert(!verifyCallback(other.secret, signature, body));
  assert.notEqual((await get(shop.endpoint.id, shop.tillway)).lastSuccessAt, null);
});

test('a rotated secret signs the next delivery of every instance, together with the old one until that expires', async (context) => {
  const shop = await openShop(context, () => 200);
  const beside = await startTestService({ variables: { ENCRYPTION_KEY: KEY }, beside: shop.tillway });
  context.after(() => beside[Symbol.asyncDispose]());
  const { id, secret: old } = shop.endpoint;
  const verified = async (service: TestService) => {
    await sell(service, 'paid');
    await service.pass(0);
    const { body } = shop.received.at(-1)!;
    return [old, fresh].map((secret) => verifyCallback(secret, signatureOf(shop.received.at(-1)!), body));
  };
  let fresh = SECRET;
  assert.deepEqual(await verified(beside), [true, false]);
  const { body } = await call<Endpoint>('POST', path(`/${id}/rotate-secret`, shop.tillway), { expiresInHours: 1 });
  fresh = body.secret!;
  const instances = [beside, shop.tillway];
  for (const service of instances) {
    assert.deepEqual(await verified(service), [true, true]);
    assert.equal(signatureOf(shop.received.at(-1)!).split(',v1=').length, 3);
  }
  beside.clock.advance(HOUR - 1);
  for (const service of instances) assert.deepEqual(await verified(service), [true, true]);
  beside.clock.advance(1);
  for (const service of instances) assert.deepEqual(await verified(service), [false, true]);
  assert.equal(shop.received.length, 7);
});

test('an endpoint that fails for 120 hours is disabled with the reason, gets nothing new, and continues once it is enabled', async (context) => {
  let answer = 500;
  const shop = await openShop(context, () => answer);
  const { id } = shop.endpoint;
  const service = shop.tillway;
  await sell(service, 'paid');
  await service.pass(0);
  const failing = await get(id, service);
  assert.deepEqual([failing.status, failing.failingSince], ['active', new Date(service.clock.now()).toISOString()]);
  service.clock.advance(120 * HOUR - 1);
  await sell(service, 'paid');
  await service.pass(0);
  assert.equal((await get(id, service)).status, 'active');
  const waits = await sell(service, 'paid');
  await service.pass(1);
  const disabled = await get(id, service);
  assert.deepEqual(
    [disabled.status, disabled.disabledReason],
    ['disabled', 'it acknowledged nothing for 120 hours, and failed again'],
  );
  const lines = service.logged.filter((line) => line.includes('webhook endpoint is disabled'));
  assert.equal(lines.length, 1);
  const missed = await sell(service, 'paid');
  await service.pass(HOUR);
  assert.deepEqual(await deliveriesOf(service, missed), []);
  assert.equal((await deliveriesOf(service, waits))[0]!.status, 'pending');
  answer = 200;
  const enabled = await patch(id, { status: 'active' }, service);
  assert.deepEqual([enabled.disabledReason, enabled.failingSince], [null, null]);
  await service.pass(0);
  assert.equal((await deliveriesOf(service, waits))[0]!.status, 'delivered');
});

test('410 disables an endpoint, and the pending deliveries of a deleted one become dead', async (context) => {
  const shop = await openShop(context, () => 410);
  const service = shop.tillway;
  const sessionId = await sell(service, 'provider_pending', 'paid');
  await service.pass(0);
  const { id } = shop.endpoint;
  assert.match((await get(id, service)).disabledReason ?? '', /answered 410/);
  await remove(id, service);
  await service.pass(0);
  const deliveries = await deliveriesOf(service, sessionId);
  assert.deepEqual(
    deliveries.map(({ status, endpointId }) => [status, endpointId]),
    [
      ['dead', id],
      ['dead', id],
    ],
  );
  const { body } = await call<{ log: { failure: string }[] }>(
    'GET',
    `${service.url}/api/gateway/deliveries/${deliveries[0]!.id}`,
  );
  assert.equal(body.log.at(-1)!.failure, 'not attempted: the endpoint was deleted');
});

test('a test delivery is one signed sample that cannot be mistaken for a sale, and nothing of it is stored', async (context) => {
  let answer = 200;
  const shop = await openShop(context, () => answer);
  const { id, secret } = shop.endpoint;
  const url = path(`/${id}/test`, shop.tillway);
  const { body } = await call<WebhookTestResource>('POST', url);
  assert.deepEqual(
    [body.object, body.endpointId, body.delivered, body.statusCode, body.failure, body.responseBody],
    ['webhook_test', id, true, 200, null, 'from the shop'],
  );
  const [sent, ...others] = shop.received;
  assert.equal(others.length, 0);
  assert(verifyCallback(secret, signatureOf(sent!), sent!.body));
  const event = JSON.parse(sent!.body) as { id: string; type: string; livemode: boolean; data: unknown };
  assert.deepEqual([event.id, event.type, event.livemode], [body.eventId, 'payment.paid', false]);
  assert.deepEqual(
    body.headers.filter((name) => sent!.headers[name] === undefined),
    [],
  );
  answer = 503;
  await patch(id, { status: 'disabled' }, shop.tillway);
  const { body: failed } = await call<WebhookTestResource>('POST', url);
  assert.deepEqual([failed.delivered, failed.statusCode, failed.failure], [false, 503, 'answered 503']);
  await shop.tillway.pass(HOUR);
  assert.equal(shop.received.length, 2);
  const { body: events } = await call<{ data: unknown[] }>('GET', `${shop.tillway.url}/api/gateway/events`);
  assert.deepEqual(events.data, []);
  assert.equal((await get(id, shop.tillway)).failingSince, null);
  assert(!shop.tillway.logged.join('').includes(secret));
});

describe('the endpoint of the configuration', () => {
  test('is listed, and can only be enabled and tested through the API', async (context) => {
    const { url, received } = await receiver(context, 410);
    const variables = { ENCRYPTION_KEY: KEY, WEBHOOK_URL: url, WEBHOOK_SECRET: SECRET };
    await using service = await startTestService({ variables });
    const [configured] = await list('', service);
    const { id } = configured!;
    assert.deepEqual([configured!.source, configured!.url, configured!.secrets], ['configuration', url, []]);
    for (const [method, rest, body, remedy] of [
      ['PATCH', '', { url: URL }, /WEBHOOK_URL/],
      ['PATCH', '', { status: 'disabled' }, /WEBHOOK_URL/],
      ['PATCH', '', { status: 'active', description: 'x' }, /WEBHOOK_URL/],
      ['DELETE', '', undefined, /WEBHOOK_URL/],
      ['POST', '/rotate-secret', {}, /WEBHOOK_SECRET/],
    ] as const) {
      const { suggestion } = await refused([409, 'invalid_state'], method, path(`/${id}${rest}`, service), body);
      assert.match(suggestion ?? '', remedy);
    }
    assert.deepEqual(await list('', service), [configured]);
    await sell(service, 'paid');
    await service.pass(0);
    assert.equal((await get(id, service)).status, 'disabled');
    assert.equal((await patch(id, { status: 'active' }, service)).status, 'active');
    const { body } = await call<WebhookTestResource>('POST', path(`/${id}/test`, service));
    assert.equal(body.statusCode, 410);
    assert(verifyCallback(SECRET, signatureOf(received.at(-1) as never), received.at(-1)!.body));
    assert(!(await contentsOf(service.databaseUrl)).includes(SECRET));
  });

  test('can be deleted once no configuration names it, and returns when one does', async (context) => {
    const { url } = await receiver(context);
    await using first = await startTestService({ variables: { WEBHOOK_URL: url, WEBHOOK_SECRET: SECRET } });
    const [{ id }] = (await list('', first)) as [Endpoint];
    await using second = await startTestService({ beside: first });
    await refused([409, 'invalid_state'], 'POST', path(`/${id}/test`, second));
    await remove(id, second);
    assert.deepEqual(await list('', second), []);
    await using third = await startTestService({
      beside: first,
      variables: { WEBHOOK_URL: url, WEBHOOK_SECRET: SECRET },
    });
    assert.deepEqual(
      (await list('', third)).map((endpoint) => [endpoint.id, endpoint.status]),
      [[id, 'active']],
    );
  });
});

describe('ENCRYPTION_KEY', () => {
  test('a start fails with one line if no key opens a stored secret', async () => {
    await using service = await startTestService({ variables: { ENCRYPTION_KEY: KEY } });
    const { id } = await create({}, service);
    const other = randomBytes(32).toString('base64');
    await assert.rejects(startTestService({ beside: service, variables: { ENCRYPTION_KEY: other } }), (error: Error) =>
      error.message.startsWith(`ENCRYPTION_KEY does not open the webhook secrets of ${id}`),
    );
    // After a new key, the old one still opens secrets, which are then sealed with the new one.
    const both = await startTestService({ beside: service, variables: { ENCRYPTION_KEY: `${other},${KEY}` } });
    await both[Symbol.asyncDispose]();
    const fresh = await startTestService({ beside: service, variables: { ENCRYPTION_KEY: other } });
    await fresh[Symbol.asyncDispose]();
  });
});
