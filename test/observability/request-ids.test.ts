// @run needs=process
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { after, before, describe, test } from 'node:test';
import { startMerchant } from '../support/http-server.ts';
import { sessionBody, startTestService } from '../support/service.ts';
import { until } from '../support/until.ts';

const SECRET = `whsec_${Buffer.from('0123456789abcdef0123456789abcdef').toString('base64')}`;
const GENERATED_ID = /^req_[\w-]{12}_[0-9a-z]+$/;
const PURCHASES = 6;

interface Line {
  msg: string;
  requestId?: string | undefined;
  sessionId?: string;
  eventId?: string;
  [field: string]: unknown;
}

const linesOf = (logged: readonly string[]) => logged.map((line) => JSON.parse(line) as Line);

// Log messages of the service itself and of its router. These messages belong to no request.
const MESSAGES_WITHOUT_REQUEST = /^(?:stopping$|stopped$|there is no API key|route \w+ is )/;

describe('the log of a service during concurrent purchases', () => {
  let raw: string[];
  let lines: Line[];
  const sent: { id: string; request: string; sessionId: string | undefined }[] = [];
  before(async () => {
    await using merchant = await startMerchant();
    await using service = await startTestService({
      live: true,
      variables: { WEBHOOK_URL: merchant.url, WEBHOOK_SECRET: SECRET },
    });
    const linesBefore = service.logged.length;
    await Promise.all(Array.from({ length: PURCHASES }, (_, index) => purchase(service.url, index)));
    await until(() => service.logged.filter((line) => /_paid".*"webhook delivered"/.test(line)).length === PURCHASES);
    await service.service.stop();
    raw = service.logged.slice(linesBefore);
    lines = linesOf(raw);
  });

  async function send(method: string, url: string, sessionId?: string, body?: URLSearchParams | string) {
    const answer = await fetch(url, {
      method,
      redirect: 'manual',
      ...(body !== undefined && { body }),
      ...(typeof body === 'string' && { headers: { 'content-type': 'application/json' } }),
    });
    const text = await answer.text();
    const id = answer.headers.get('x-request-id');
    assert.match(id ?? '', GENERATED_ID, `${method} ${url}`);
    const entry = { id: id!, request: `${method} ${new URL(url).pathname}`, sessionId };
    sent.push(entry);
    return { answer, text, entry };
  }

  /** Makes one purchase. The first route refuses purchases with an odd index, which the operation logs. */
  async function purchase(url: string, index: number): Promise<void> {
    const customer = index % 2 === 0 ? `buyer${index}@example.com` : `buyer${index}+handoff_error@example.com`;
    const order = JSON.stringify(sessionBody({ customer }));
    const created = await send('POST', `${url}/api/gateway/sessions`, undefined, order);
    const { id } = JSON.parse(created.text) as { id: string };
    created.entry.sessionId = id;
    const checkout = `${url}/checkout/${id}`;
    await send('GET', checkout, id);
    await send('POST', `${checkout}/pay`, id, new URLSearchParams({ kind: 'card', total_card: '99999999' }));
    const page = await send('GET', `${checkout}/continue`, id);
    const form = /http:[^"]+\/simulator\/pay\/[^"]+/.exec(page.text)![0];
    const card = { number: '4242424242424242', expiry: '12 / 34', cvc: '123', name: 'Test Buyer' };
    assert.equal((await send('POST', form, id, new URLSearchParams(card))).answer.status, 303);
    await send('GET', checkout, id);
  }

  test('the log has one closing line for each request, and every other line of a session has the id of a request for this session', () => {
    assert.equal(new Set(sent.map(({ id }) => id)).size, sent.length);
    assert.ok(sent.length >= PURCHASES * 6);
    const closing = lines.filter(({ msg }) => msg === 'request').map(({ requestId }) => requestId);
    for (const { id, request } of sent) {
      assert.equal(closing.filter((requestId) => requestId === id).length, 1, request);
    }
    const callbacks = lines.filter(({ msg }) => msg === 'callback');
    const sessionOf = new Map(callbacks.map(({ requestId, sessionId }) => [requestId, sessionId]));
    for (const { id, sessionId } of sent) sessionOf.set(id, sessionId);
    let linesWithSession = 0;
    for (const [index, { msg, requestId, sessionId, eventId }] of lines.entries()) {
      const logged = raw[index]!;
      assert.ok(logged.split('"requestId"').length <= 2, logged);
      if (requestId === undefined) {
        assert.match(msg, MESSAGES_WITHOUT_REQUEST);
        continue;
      }
      assert.ok(closing.includes(requestId), logged);
      const session = sessionId ?? /chk_[0-9a-z]+/.exec(eventId ?? '')?.[0];
      if (session === undefined) continue;
      assert.equal(sessionOf.get(requestId), session, logged);
      linesWithSession += 1;
    }
    assert.ok(linesWithSession >= PURCHASES * 3, `only ${linesWithSession} lines name a session`);
  });

  test('log lines of operations, callbacks and deliveries contain the id of the causing request', () => {
    const refused = lines.filter(({ msg }) => msg === 'handoff failed');
    assert.equal(refused.length, PURCHASES / 2);
    for (const { requestId } of refused) {
      assert.match(sent.find(({ id }) => id === requestId)?.request ?? '', /^POST \/checkout\/.*\/pay$/);
    }
    const callbacks = lines.filter(({ msg }) => msg === 'callback').map(({ requestId }) => requestId);
    assert.ok(callbacks.length >= PURCHASES);
    const delivered = lines.filter(({ msg, eventId }) => msg === 'webhook delivered' && eventId?.endsWith('_paid'));
    assert.equal(delivered.length, PURCHASES);
    for (const { requestId } of delivered) assert.ok(callbacks.includes(requestId));
  });
});

const service = await startTestService({
  variables: { METRICS_PORT: '0', TRUSTED_PROXIES: '127.0.0.1', ALLOW_UNAUTHENTICATED: 'true' },
});
after(() => service[Symbol.asyncDispose]());

describe('x-request-id', () => {
  for (const [what, method, path, body, status] of [
    ['a list request', 'GET', '/api/gateway/sessions', undefined, 200],
    ['a page request', 'GET', '/', undefined, 200],
    ['an unknown path', 'GET', '/nothing', undefined, 404],
    ['an unknown method', 'DELETE', '/api/gateway/sessions', undefined, 405],
    ['a body that is too large', 'POST', '/api/gateway/sessions', ' '.repeat(140_000), 413],
    ['a body that is not JSON', 'POST', '/api/gateway/sessions', '{', 400],
    ['an MCP request', 'POST', '/mcp', '{"jsonrpc":"2.0","id":1,"method":"ping"}', undefined],
    ['an invalid MCP request', 'POST', '/mcp', '{', 400],
    ['a callback', 'POST', '/api/providers/sandbox/callbacks', '{}', 401],
  ] as const) {
    test(`x-request-id is in the response to ${what}, and in the log line of the request`, async () => {
      const answer = await fetch(service.url + path, {
        method,
        ...(body !== undefined && { body, headers: { 'content-type': 'application/json' } }),
      });
      await answer.arrayBuffer();
      if (status !== undefined) assert.equal(answer.status, status);
      const id = answer.headers.get('x-request-id') ?? '';
      assert.match(id, GENERATED_ID);
      await until(() => service.logged.some((line) => line.includes(`"requestId":"${id}"`)));
    });
  }

  for (const [what, bytes, status] of [
    ['bytes that are not HTTP', 'not HTTP at all\r\n\r\n', 400],
    ['headers that are too large', `GET / HTTP/1.1\r\nhost: x\r\nx: ${'x'.repeat(20_000)}\r\n\r\n`, 431],
  ] as const) {
    test(`x-request-id is in the error response to ${what}, on the public port and on the port for metrics`, async () => {
      for (const url of [service.url, service.service.metricsUrl!]) {
        const socket = connect(Number(new URL(url).port), '127.0.0.1', () => socket.write(bytes));
        const answer = await text(socket);
        assert.match(answer, new RegExp(`^HTTP/1\\.1 ${status} `));
        assert.match(/x-request-id: (\S+)/.exec(answer)?.[1] ?? '', GENERATED_ID);
      }
    });
  }

  test('the service uses the x-request-id of a trusted proxy if the id is safe to log', async () => {
    const requestIdFor = async (id: string) =>
      (await fetch(`${service.url}/healthz`, { headers: { 'x-request-id': id } })).headers.get('x-request-id')!;
    for (const id of ['7f3e1c9a0b2d4e6f8a1c3e5d7b9f0a2c', 'edge-01_abcdef123456', 'a'.repeat(64)]) {
      assert.equal(await requestIdFor(id), id);
    }
    const unsafe = [
      'short-id',
      'a'.repeat(65),
      '4242424242424242',
      'buyer@example.com-and-more',
      'a b c d e f g h i j',
    ];
    for (const id of unsafe) assert.match(await requestIdFor(id), GENERATED_ID, id);
  });
});
