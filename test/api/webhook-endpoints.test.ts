// @run on=sqlite,postgres
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { type TestContext, describe, test } from 'node:test';
import type { DeliveryResource } from '../../src/contract/delivery-contract.ts';
import type { WebhookEndpointResource, WebhookTestResource } from '../../src/contract/webhook-endpoint-contract.ts';
import type { ProviderStatus } from '../../src/domain/records.ts';
import { STATUS_TYPES } from '../../src/domain/webhook-endpoint.ts';
import { verifyCallback } from '../../src/webhooks/sign.ts';
import { contentsOf } from '../support/database.ts';
import { gatewayOf, pick } from '../support/gateway.ts';
import { merchantOf } from '../support/merchant.ts';
import type { Refusal } from '../support/refusal.ts';
import { type TestService, call, startTestService } from '../support/service.ts';
import { SECRET, receiver } from '../webhooks/fixtures.ts';
import { suiteService } from '../support/suite.ts';

const HOUR = 3_600_000;
const KEY = randomBytes(32).toString('base64');
const URL = 'https://shop.example/webhooks';

type Endpoint = WebhookEndpointResource & { secret: string };

/** API requests about the webhook endpoints of a service. */
function endpointsOf(service: TestService) {
  const api = gatewayOf(service);
  const path = (rest: string) => `webhook-endpoints${rest}`;
  return {
    create: (fields: Record<string, unknown> = {}) => api.post<Endpoint>(path(''), { url: URL, ...fields }),
    list: (query = '') => api.list<Endpoint>(path(query)),
    get: (id: string) => api.get<Endpoint>(path(`/${id}`)),
    patch: (id: string, fields: object) => api.patch<Endpoint>(path(`/${id}`), fields),
    rotate: (id: string, body?: object) => api.post<Endpoint>(path(`/${id}/rotate-secret`), body),
    test: (id: string) => api.post<WebhookTestResource>(path(`/${id}/test`)),
    async remove(...ids: string[]) {
      for (const id of ids)
        assert.deepEqual(await api.delete(path(`/${id}`)), { id, object: 'webhook_endpoint', deleted: true });
    },
    refused: (expected: string, request: string, body?: unknown) =>
      api.refused(expected, request.replace(' ', ' webhook-endpoints'), body),
    sell: (...statuses: ProviderStatus[]) => merchantOf(service).sell(statuses),
    deliveries: (id: string) => api.list<DeliveryResource>(`deliveries?sessionId=${id}`),
  };
}

const tillway = suiteService({ variables: { ENCRYPTION_KEY: KEY, WEBHOOK_ALLOW_PRIVATE: 'false' } });
const api = endpointsOf(tillway);

const timeOf = ({ clock }: TestService, later = 0) => new Date(clock.now() + later).toISOString();

describe('creating a webhook endpoint', () => {
  test('creating a webhook endpoint returns the endpoint and its secret, and no later response, log line or database row contains the secret', async () => {
    const fields = { events: ['payment.paid'], description: 'Order system', environment: 'production' };
    const { secret, ...shown } = await api.create(fields);
    assert.match(shown.id, /^whe_\w{36}$/);
    assert.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
    const created = timeOf(tillway);
    assert.deepEqual(shown, {
      ...fields,
      id: shown.id,
      object: 'webhook_endpoint',
      url: URL,
      source: 'api',
      status: 'active',
      disabledReason: null,
      disabledAt: null,
      failingSince: null,
      lastSuccessAt: null,
      secrets: [{ created, expiresAt: null }],
      created,
    });
    assert.deepEqual(await api.get(shown.id), shown);
    assert.deepEqual(await api.list(), [shown]);
    const contents = await contentsOf(tillway.databaseUrl);
    const raw = Buffer.from(secret.slice('whsec_'.length), 'base64').toString('latin1');
    assert(!contents.includes(secret) && !contents.includes(raw));
    assert(contents.includes(shown.id));
    assert(!tillway.logged.join('').includes(secret));
    await api.remove(shown.id);
  });

  test('a webhook endpoint is created in sandbox and for the event types of session statuses, unless the request says otherwise', async () => {
    const { id, environment, events, description } = await api.create();
    assert.deepEqual([environment, events, description], ['sandbox', STATUS_TYPES, '']);
    await api.remove(id);
  });

  test('creating a webhook endpoint allows at most 20 endpoints in an environment, also with simultaneous requests', async () => {
    const url = gatewayOf(tillway).url('webhook-endpoints');
    const answers = await Promise.all(
      Array.from({ length: 24 }, () => call<Endpoint & Refusal>('POST', url, { url: URL })),
    );
    const made = answers.filter(({ status }) => status === 200).map(({ body }) => body.id);
    assert.equal(made.length, 20);
    for (const { status, body } of answers.filter((answer) => answer.status !== 200)) {
      assert.deepEqual([status, body.error.code], [409, 'invalid_state']);
      assert.match(body.error.message, /20 sandbox webhook endpoints/);
    }
    assert.equal((await api.list()).length, 20);
    const { id } = await api.create({ environment: 'production' });
    await api.remove(made.pop()!);
    made.push((await api.create()).id);
    assert.equal((await api.list('?environment=sandbox')).length, 20);
    await api.remove(...made, id);
    assert.deepEqual(await api.list(), []);
  });

  const TOO_LONG = `https://shop.example/${'a'.repeat(2049 - 'https://shop.example/'.length)}`;
  test('creating a webhook endpoint rejects invalid fields, and names the field and the problem', async () => {
    const urls: [url: string, message: RegExp][] = [
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
      [{ url: URL, events: ['payment.settled'] }, 'events', /contain only/],
      [{ url: URL, description: 'a'.repeat(501) }, 'description', /500/],
      [{ url: URL, environment: 'test' }, 'environment', /sandbox/],
      [{ url: URL, secret: 'whsec_mine' }, 'secret', /not a field/],
    ];
    for (const [fields, expected, fault] of [
      ...urls.map(([url, message]) => [{ url }, 'url', message] as const),
      ...others,
    ]) {
      const { field, message, suggestion } = await api.refused('400 invalid_input', 'POST ', fields);
      assert.equal(field, expected);
      assert.match(message, fault);
      assert(suggestion !== undefined);
    }
    assert.deepEqual(await api.list(), []);
  });

  test('a webhook endpoint can be created with fields at their limits', async () => {
    for (const fields of [
      { url: TOO_LONG.slice(0, 2048) },
      { url: 'http://shop.example:8080/hook?token=1' },
      { url: 'https://93.184.216.34/' },
      { url: URL, description: '🙂'.repeat(500) },
    ]) {
      const { id, url } = await api.create(fields);
      assert.equal(url, fields.url);
      await api.remove(id);
    }
  });
});

describe('changing a webhook endpoint', () => {
  test('changing a webhook endpoint changes only the given fields', async () => {
    const { secret: _, ...made } = await api.create();
    const { id } = made;
    const moved = { ...made, url: 'https://else.example/hook' };
    assert.deepEqual(await api.patch(id, { url: moved.url }), moved);
    const events = ['payment.failed'];
    assert.deepEqual(await api.patch(id, { events }), { ...moved, events });
    const last = { ...moved, description: 'x' };
    assert.deepEqual(await api.patch(id, { description: 'x', events: STATUS_TYPES }), last);
    assert.deepEqual(await api.get(id), last);
    await api.remove(id);
  });

  test('changing a webhook endpoint can disable the endpoint with a reason and a time, and enable it again', async () => {
    const { secret: _, ...made } = await api.create();
    const disabledReason = 'an operator disabled it';
    const disabled = { ...made, status: 'disabled', disabledReason, disabledAt: timeOf(tillway) };
    for (let time = 0; time < 2; time++) assert.deepEqual(await api.patch(made.id, { status: 'disabled' }), disabled);
    assert.deepEqual(await api.patch(made.id, { status: 'active' }), made);
    await api.remove(made.id);
  });

  test('changing a webhook endpoint rejects the same invalid fields as creating it, and an empty change', async () => {
    const { secret: _, ...made } = await api.create({ environment: 'production' });
    for (const [fields, field] of [
      [{}, 'body'],
      [{ url: 'http://shop.example/' }, 'url'],
      [{ url: 'https://10.0.0.1/' }, 'url'],
      [{ events: [] }, 'events'],
      [{ status: 'deleted' }, 'status'],
      [{ environment: 'sandbox' }, 'environment'],
    ] as const)
      assert.equal((await api.refused('400 invalid_input', `PATCH /${made.id}`, fields)).field, field);
    // The suggestion must not be the rejected body.
    const { suggestion } = await api.refused('400 invalid_input', `PATCH /${made.id}`, {});
    assert.match(suggestion, /^Set body to an object with url, events, description, status; then resend/);
    assert.deepEqual(await api.get(made.id), made);
    await api.remove(made.id);
  });

  test('changing a webhook endpoint applies every one of several simultaneous changes', async () => {
    const { id } = await api.create();
    const fields = { description: 'x', events: ['payment.paid'], url: 'https://else.example/' };
    const changes = Object.entries(fields).map(([name, value]) => api.patch(id, { [name]: value }));
    await Promise.all([...changes, api.rotate(id, {})]);
    const { secrets, ...changed } = await api.get(id);
    assert.partialDeepStrictEqual(changed, fields);
    assert.equal(secrets.length, 2);
    await api.remove(id);
  });
});

describe('rotating a webhook secret', () => {
  test('rotating a webhook secret lists both secrets without their values during the overlap, and only the new secret after it', async () => {
    const made = await api.create();
    const { secret, secrets } = await api.rotate(made.id, { expiresInHours: 2 });
    assert.notEqual(secret, made.secret);
    assert.deepEqual(pick(secrets, 'expiresAt'), [[null], [timeOf(tillway, 2 * HOUR)]]);
    tillway.clock.advance(2 * HOUR - 1);
    assert.equal((await api.get(made.id)).secrets.length, 2);
    tillway.clock.advance(1);
    assert.equal((await api.get(made.id)).secrets.length, 1);
    await api.remove(made.id);
  });

  test('a rotated webhook secret stays valid for 24 hours by default; with `expiresInHours` 0, it expires immediately', async () => {
    const { id } = await api.create();
    const day = await api.rotate(id);
    assert.equal(day.secrets[1]!.expiresAt, timeOf(tillway, 24 * HOUR));
    const soon = timeOf(tillway, HOUR);
    const hour = await api.rotate(id, { expiresInHours: 1 });
    assert.deepEqual(pick(hour.secrets, 'expiresAt'), [[null], [soon], [soon]]);
    assert.equal((await api.rotate(id, { expiresInHours: 0 })).secrets.length, 1);
    await api.remove(id);
  });

  test('rotating a webhook secret retains at most 10 earlier secrets', async () => {
    const { id } = await api.create();
    for (let turn = 0; turn < 10; turn++) await api.rotate(id);
    const { suggestion } = await api.refused('409 invalid_state', `POST /${id}/rotate-secret`);
    assert.match(suggestion, /expiresInHours/);
    assert.equal((await api.get(id)).secrets.length, 11);
    await api.rotate(id, { expiresInHours: 0 });
    await api.remove(id);
  });

  test('rotating a webhook secret rejects `expiresInHours` unless it is an integer from 0 to 24', async () => {
    const { id } = await api.create();
    for (const expiresInHours of [-1, 25, 1.5, '24', null]) {
      const { field } = await api.refused('400 invalid_input', `POST /${id}/rotate-secret`, { expiresInHours });
      assert.equal(field, 'expiresInHours');
    }
    assert.equal((await api.get(id)).secrets.length, 1);
    await api.remove(id);
  });
});

test('deleting a webhook endpoint removes it from every list and read, and its secrets from the database', async () => {
  const { id } = await api.create();
  const { store } = tillway.service.deps;
  const [sealed] = await store.endpointSecrets([id]);
  await api.remove(id);
  assert.deepEqual(await api.list(), []);
  for (const [request, body] of [
    [`GET /${id}`, undefined],
    [`PATCH /${id}`, { status: 'active' }],
    [`DELETE /${id}`, undefined],
    [`POST /${id}/rotate-secret`, {}],
    [`POST /${id}/test`, undefined],
  ] as const)
    assert.match((await api.refused('404 not_found', request, body)).message, /has been deleted/);
  assert.deepEqual(await store.endpointSecrets([id]), []);
  assert(!JSON.stringify(await store.sealedSecrets()).includes(sealed!.sealed));
  assert.equal((await store.endpoint(id))!.url, '');
});

/** Starts a service with a webhook endpoint whose receiver responds with the status from `answer`. */
async function openShop(context: TestContext, answer: () => number, fields: object = {}) {
  const service = await startTestService({ variables: { ENCRYPTION_KEY: KEY, WEBHOOK_ALLOW_PRIVATE: 'true' } });
  context.after(() => service[Symbol.asyncDispose]());
  const { url, received } = await receiver(context, (_, __, response) => {
    response.writeHead(answer()).end('from the shop');
  });
  const shop = endpointsOf(service);
  return { ...shop, service, received, endpoint: await shop.create({ url, ...fields }) };
}

type Received = Awaited<ReturnType<typeof receiver>>['received'][number];

const signatureOf = ({ headers }: Received) => String(headers['x-gateway-signature']);
const isSigned = (received: Received, secret: string) => verifyCallback(secret, signatureOf(received), received.body);

test('an event is sent to every endpoint whose filter contains its type, signed with the endpoint’s secret', async (context) => {
  const shop = await openShop(context, () => 200, { events: ['payment.paid'] });
  const [second, elsewhere] = [await receiver(context), await receiver(context)];
  const other = await shop.create({ url: second.url, events: ['payment.failed', 'payment.provider_pending'] });
  await shop.create({ url: elsewhere.url, environment: 'production' });
  const sessionId = await shop.sell('provider_pending', 'paid');
  await shop.service.pass(0);
  assert.deepEqual(pick(await shop.deliveries(sessionId), 'type', 'endpointId', 'status'), [
    ['payment.paid', shop.endpoint.id, 'delivered'],
    ['payment.provider_pending', other.id, 'delivered'],
  ]);
  assert.deepEqual([shop.received.length, second.received.length, elsewhere.received.length], [1, 1, 0]);
  assert(isSigned(shop.received[0]!, shop.endpoint.secret));
  assert(!isSigned(shop.received[0]!, other.secret));
  assert.notEqual((await shop.get(shop.endpoint.id)).lastSuccessAt, null);
});

test('after a rotation, every instance signs deliveries with the new secret, and also with the old secret until it expires', async (context) => {
  const { service, endpoint, received, rotate } = await openShop(context, () => 200);
  const secondInstance = await startTestService({ variables: { ENCRYPTION_KEY: KEY }, beside: service });
  context.after(() => secondInstance[Symbol.asyncDispose]());
  const secrets = [endpoint.secret, SECRET];
  const assertSigned = async (expected: boolean[], instances = [secondInstance, service]) => {
    for (const instance of instances) {
      await endpointsOf(instance).sell('paid');
      await instance.pass(0);
      assert.deepEqual(
        secrets.map((secret) => isSigned(received.at(-1)!, secret)),
        expected,
      );
    }
  };
  await assertSigned([true, false], [secondInstance]);
  secrets[1] = (await rotate(endpoint.id, { expiresInHours: 1 })).secret;
  await assertSigned([true, true]);
  for (const each of received.slice(1)) assert.equal(signatureOf(each).split(',v1=').length, 3);
  secondInstance.clock.advance(HOUR - 1);
  await assertSigned([true, true]);
  secondInstance.clock.advance(1);
  await assertSigned([false, true]);
  assert.equal(received.length, 7);
});

// test/webhooks/endpoints-dispatch.test.ts tests the rules for disabled and deleted endpoints.
test('a disabled endpoint shows the reason and gets no new event until it is enabled', async (context) => {
  let answer = 500;
  const { service, sell, get, patch, deliveries, endpoint } = await openShop(context, () => answer);
  const { id } = endpoint;
  await sell('paid');
  await service.pass(0);
  assert.partialDeepStrictEqual(await get(id), { status: 'active', failingSince: timeOf(service) });
  const waits = await sell('paid');
  await service.pass(120 * HOUR);
  const disabledReason = 'it acknowledged nothing for 120 hours, and failed again';
  assert.partialDeepStrictEqual(await get(id), { status: 'disabled', disabledReason });
  const missed = await sell('paid');
  await service.pass(HOUR);
  assert.deepEqual(await deliveries(missed), []);
  assert.equal((await deliveries(waits))[0]!.status, 'pending');
  answer = 200;
  const enabled = await patch(id, { status: 'active' });
  assert.deepEqual([enabled.disabledReason, enabled.failingSince], [null, null]);
  await service.pass(0);
  assert.equal((await deliveries(waits))[0]!.status, 'delivered');
});

test('a test delivery is one signed sample, marked as a test, and is not stored', async (context) => {
  let answer = 200;
  const { service, endpoint, received, ...shop } = await openShop(context, () => answer);
  const { id: endpointId, secret } = endpoint;
  const { eventId, headers, ...tested } = await shop.test(endpointId);
  assert.partialDeepStrictEqual(tested, {
    object: 'webhook_test',
    endpointId,
    delivered: true,
    statusCode: 200,
    failure: null,
    responseBody: 'from the shop',
  });
  const [sent, ...others] = received;
  assert.equal(others.length, 0);
  assert(isSigned(sent!, secret));
  const event = JSON.parse(sent!.body) as { id: string; type: string; livemode: boolean };
  assert.deepEqual([event.id, event.type, event.livemode], [eventId, 'payment.paid', false]);
  for (const name of headers) assert.notEqual(sent!.headers[name], undefined, name);
  answer = 503;
  await shop.patch(endpointId, { status: 'disabled' });
  const failed = { delivered: false, statusCode: 503, failure: 'answered 503' };
  assert.partialDeepStrictEqual(await shop.test(endpointId), failed);
  await service.pass(HOUR);
  assert.equal(received.length, 2);
  assert.deepEqual(await gatewayOf(service).list('events'), []);
  assert.equal((await shop.get(endpointId)).failingSince, null);
  assert(!service.logged.join('').includes(secret));
});

describe('the webhook endpoint from the configuration (WEBHOOK_URL)', () => {
  test('the webhook endpoint from WEBHOOK_URL is listed, and can only be enabled and tested through the API', async (context) => {
    const { url, received } = await receiver(context, 410);
    const variables = { ENCRYPTION_KEY: KEY, WEBHOOK_URL: url, WEBHOOK_SECRET: SECRET };
    await using service = await startTestService({ variables });
    const endpoints = endpointsOf(service);
    const [configured, ...others] = (await endpoints.list()) as [Endpoint];
    const { id, source, secrets } = configured;
    assert.deepEqual([source, configured.url, secrets, others], ['configuration', url, [], []]);
    for (const [request, body, remedy] of [
      [`PATCH /${id}`, { url: URL }, /WEBHOOK_URL/],
      [`PATCH /${id}`, { status: 'disabled' }, /WEBHOOK_URL/],
      [`PATCH /${id}`, { status: 'active', description: 'x' }, /WEBHOOK_URL/],
      [`DELETE /${id}`, undefined, /WEBHOOK_URL/],
      [`POST /${id}/rotate-secret`, {}, /WEBHOOK_SECRET/],
    ] as const)
      assert.match((await endpoints.refused('409 invalid_state', request, body)).suggestion, remedy);
    assert.deepEqual(await endpoints.list(), [configured]);
    await endpoints.sell('paid');
    await service.pass(0);
    assert.equal((await endpoints.get(id)).status, 'disabled');
    assert.equal((await endpoints.patch(id, { status: 'active' })).status, 'active');
    assert.equal((await endpoints.test(id)).statusCode, 410);
    assert(isSigned(received.at(-1)!, SECRET));
    assert(!(await contentsOf(service.databaseUrl)).includes(SECRET));
  });

  test('the webhook endpoint from WEBHOOK_URL can be deleted once WEBHOOK_URL is unset, and returns when WEBHOOK_URL is set again', async (context) => {
    const { url } = await receiver(context);
    const variables = { WEBHOOK_URL: url, WEBHOOK_SECRET: SECRET };
    await using first = await startTestService({ variables });
    const [{ id }] = (await endpointsOf(first).list()) as [Endpoint];
    await using second = await startTestService({ beside: first });
    const unconfigured = endpointsOf(second);
    await unconfigured.refused('409 invalid_state', `POST /${id}/test`);
    await unconfigured.remove(id);
    assert.deepEqual(await unconfigured.list(), []);
    await using third = await startTestService({ beside: first, variables });
    assert.deepEqual(pick(await endpointsOf(third).list(), 'id', 'status'), [[id, 'active']]);
  });
});

test('the service does not start if no ENCRYPTION_KEY decrypts a stored webhook secret', async () => {
  await using service = await startTestService({ variables: { ENCRYPTION_KEY: KEY } });
  const { id } = await endpointsOf(service).create();
  const other = randomBytes(32).toString('base64');
  const startWith = (ENCRYPTION_KEY: string) => startTestService({ beside: service, variables: { ENCRYPTION_KEY } });
  await assert.rejects(startWith(other), (error: Error) =>
    error.message.startsWith(`ENCRYPTION_KEY does not open the webhook secrets of ${id}`),
  );
  // A start with the new and the old key encrypts the secrets with the new key; then the old key can be removed.
  for (const keys of [`${other},${KEY}`, other]) await (await startWith(keys))[Symbol.asyncDispose]();
});
