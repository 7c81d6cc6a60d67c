import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { gatewayOf } from '../support/gateway.ts';
import { sendRaw } from '../support/raw-http.ts';
import { call, sessionBody } from '../support/service.ts';
import { type Refusal, refusal, refused } from '../support/refusal.ts';
import { suiteService } from '../support/suite.ts';

// Unique values, so that the tests can search for them in logs and responses.
const API_KEY = `sk_live_${'Ab3'.repeat(15).slice(0, 43)}`;
const SECRET = `whsec_${'Xy9'.repeat(15).slice(0, 44)}`;
const CARD = '4242424242424242';
const EMAIL = 'ford.prefect@mailbox.example';
const INJECTED_ERROR = 'SELECT secret_column FROM injected at /srv/tillway/injected.ts:42';

const tillway = suiteService();

const path = (rest: string) => `${tillway.url}${rest}`;
const head = (method: string, target: string, more = '') =>
  `${method} ${target} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n${more}`;

async function sessions(): Promise<number> {
  const listed = await tillway.service.deps.store.listSessions({}, { limit: 100 });
  return listed.items.length;
}

describe('HTTP methods', () => {
  it('HTTP methods that an endpoint does not accept get 405 with an Allow header and the error envelope', async () => {
    for (const method of ['TRACE', 'PROPFIND', 'OPTIONS', 'DELETE', 'PUT', 'QUERY', 'get', 'Post', 'BREW']) {
      const { status, headers, body } = await sendRaw(tillway.url, `${head(method, '/api/gateway/sessions')}\r\n`);
      const { ok, error } = JSON.parse(body) as Refusal;
      assert.deepEqual([status, ok, error.code], [405, false, 'method_not_allowed'], method);
      assert.deepEqual(headers.get('allow')!.split(', ').toSorted(), ['GET', 'HEAD', 'POST'], method);
    }
    const body = 'content-type: text/csv\r\ncontent-length: 3\r\n\r\na,b';
    assert.equal((await sendRaw(tillway.url, head('PUT', '/healthz', body))).status, 405);
    const connect = await sendRaw(tillway.url, 'CONNECT localhost:80 HTTP/1.1\r\nhost: localhost:80\r\n\r\n');
    assert.deepEqual([connect.status, (JSON.parse(connect.body) as Refusal).error.code], [405, 'method_not_allowed']);
  });
});

describe('requests with ambiguous framing (request smuggling)', () => {
  const body = JSON.stringify(sessionBody());
  const post = (more: string, content: string) =>
    sendRaw(
      tillway.url,
      `${head('POST', '/api/gateway/sessions', `content-type: application/json\r\n${more}`)}\r\n${content}`,
    );
  const chunked = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;

  it('requests with ambiguous framing are rejected, and no request runs', async () => {
    const before = await sessions();
    const length = `content-length: ${body.length}\r\n`;
    const forms: [what: string, more: string, content: string][] = [
      ['a length and chunks', `${length}transfer-encoding: chunked\r\n`, chunked],
      ['chunks and a length', `transfer-encoding: chunked\r\n${length}`, chunked],
      ['two lengths', `${length}content-length: 5\r\n`, body],
      ['two lengths in one', `content-length: ${body.length}, 5\r\n`, body],
      ['a length with a sign', `content-length: +${body.length}\r\n`, body],
      ['a length in hexadecimal', `content-length: 0x${body.length.toString(16)}\r\n`, body],
      ['chunked is not the last encoding', 'transfer-encoding: chunked, identity\r\n', chunked],
      ['an unknown encoding', `transfer-encoding: xchunked\r\n${length}`, body],
      ['an invalid chunk size', 'transfer-encoding: chunked\r\n', `zz\r\n${body}\r\n0\r\n\r\n`],
      ['a space before the colon', `content-length : ${body.length}\r\n`, body],
      ['a bare line feed', `x: y\ncontent-length: ${body.length}\r\n`, body],
      ['a folded header', `x: y\r\n content-length: 0\r\n${length}transfer-encoding:\r\n chunked\r\n`, chunked],
    ];
    for (const [what, more, content] of forms) assert.equal((await post(more, content)).status, 400, what);
    assert.equal(await sessions(), before);
  });

  it('requests with valid framing are not rejected as ambiguous', async () => {
    const before = await sessions();
    assert.equal((await post('transfer-encoding: chunked\r\n', chunked)).status, 200);
    assert.equal((await post(`content-length: ${body.length}\r\n`, body)).status, 200);
    assert.equal(await sessions(), before + 2);
  });
});

describe('request input', () => {
  it('a repeated, array or object query parameter is rejected or read literally', async () => {
    for (const query of ['limit=1&limit=2', 'limit[]=1', 'limit[$gt]=1', 'limit=%00'])
      await refused([400, 'invalid_input'], 'GET', path(`/api/gateway/sessions?${query}`));
    assert.ok((await call('GET', path('/api/gateway/sessions?__proto__[status]=paid&__proto__=1'))).status < 500);
    for (const text of ['%25', '_', "' OR '1'='1", '"; DROP TABLE sessions; --', '\u{1f4a9}']) {
      const url = path(`/api/gateway/customers?email=${encodeURIComponent(`${text}@example.com`)}`);
      const { status, body } = await call<{ data: unknown[] }>('GET', url);
      assert.ok(status === 400 || body.data.length === 0, text);
    }
  });

  it('a request cannot set fields that the service controls, nor object prototypes', async () => {
    const fields = ['"id":"chk_mine"', '"status":"paid"', '"fees":{}', '"created":0', '"constructor":1'];
    for (const field of [...fields, '"__proto__":{"status":"paid"}']) {
      const body = JSON.stringify(sessionBody()).replace('{', `{${field},`);
      await refused([400, 'invalid_input'], 'POST', path('/api/gateway/sessions'), body);
    }
    assert.equal(({} as Record<string, unknown>)['status'], undefined);
  });

  it('a body is rejected above 128 KiB, with another content type, or if it is not UTF-8 JSON of at most 32 levels', async () => {
    const json = { 'content-type': 'application/json' };
    const filler = 128 * 1024 - JSON.stringify({ ...sessionBody(), filler: '' }).length;
    const nested = (levels: number) => `${'['.repeat(levels)}1${']'.repeat(levels)}`;
    for (const [status, code, body, headers = json] of [
      [400, 'invalid_input', sessionBody({ filler: 'x'.repeat(filler) })],
      [413, 'payload_too_large', sessionBody({ filler: 'x'.repeat(filler + 1) })],
      [415, 'unsupported_media_type', '{}', { 'content-type': 'text/plain' }],
      [415, 'unsupported_media_type', '{}', { 'content-type': 'application/x-www-form-urlencoded' }],
      [415, 'unsupported_media_type', '{}', { 'content-type': 'application/xml' }],
      [400, 'invalid_json', '{"product":'],
      [400, 'invalid_json', Uint8Array.from([0x22, 0xff, 0x22])],
      [400, 'invalid_json', nested(33)],
      [400, 'invalid_input', nested(32)],
      [400, 'invalid_json', nested(60_000)],
      [400, 'invalid_input', ''],
      [400, 'invalid_input', sessionBody({ product: 'a\0b' })],
    ] as const)
      await refused([status, code], 'POST', path('/api/gateway/sessions'), body, headers);
  });

  it('the Host header never appears in a redirect or link', async () => {
    const hosts = ['evil.example', 'localhost@evil.example', 'localhost.evil.example', 'localhost:80:evil', ''];
    for (const host of hosts) {
      const bytes = `GET / HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`;
      const { status, headers, body } = await sendRaw(tillway.url, bytes);
      assert.ok(status === 403 || status === 400, `${host}: ${status}`);
      assert.ok(!body.includes('evil') && !headers.get('location')?.includes('evil'), host);
    }
    const forwarded = { 'x-forwarded-host': 'evil.example', forwarded: 'host=evil.example' };
    const created = await gatewayOf(tillway, forwarded).post<{ checkoutUrl: string }>('sessions', sessionBody());
    assert.ok(created.checkoutUrl.startsWith(`${tillway.url}/`));
    // The service rejects a second Host header, because a proxy may have read the other header.
    for (const second of ['evil.example', 'localhost']) {
      const { status, body } = await sendRaw(tillway.url, `${head('GET', '/')}Host: ${second}\r\n\r\n`);
      assert.equal(status, 400);
      assert.match(body, /more than one Host header/);
      assert.ok(!body.includes('evil'));
    }
  });
});

describe('an internal error', () => {
  it('the response to an internal error shows only the request id; the log contains the cause', async () => {
    const { store } = tillway.service.deps;
    const { listSessions } = store;
    store.listSessions = () => Promise.reject(new Error(INJECTED_ERROR));
    try {
      const { body, headers } = await refusal([500, 'internal_error'], 'GET', path('/api/gateway/sessions'));
      assert.doesNotMatch(JSON.stringify(body), /SELECT|injected|\.ts|stack|node_modules|Error/);
      const lines = tillway.logged.filter((line) => line.includes(headers.get('x-request-id')!));
      assert.ok(lines.some((line) => line.includes('injected.ts:42')));
    } finally {
      store.listSessions = listSessions;
    }
  });
});

describe('keys, secrets, email addresses and card numbers', () => {
  it('keys, secrets, email addresses and card numbers never appear in the log, wherever a request contains them', async () => {
    const places: [string, string, unknown, Record<string, string>][] = [
      ['GET', `/api/gateway/sessions/${API_KEY}`, undefined, {}],
      ['GET', `/api/gateway/sessions/${API_KEY.replaceAll('_', '%5F')}`, undefined, {}],
      ['GET', `/api/gateway/sessions/${API_KEY.replaceAll('_', '%255f')}`, undefined, {}],
      ['GET', `/api/gateway/webhook-endpoints/${SECRET}`, undefined, {}],
      ['GET', `/api/gateway/payments/${CARD}`, undefined, {}],
      ['GET', `/api/gateway/payments/%34${CARD.slice(1)}`, undefined, {}],
      ['GET', `/checkout/${CARD}/status`, undefined, {}],
      ['GET', `/api/gateway/customers/${EMAIL}`, undefined, {}],
      ['GET', `/api/gateway/customers?email=${EMAIL}&x=${CARD}`, undefined, {}],
      ['GET', '/api/gateway/sessions', undefined, { authorization: `Bearer ${API_KEY}`, cookie: `key=${API_KEY}` }],
      ['POST', '/api/gateway/sessions', sessionBody({ customer: `${EMAIL} ${CARD}` }), {}],
      ['POST', '/api/gateway/sessions', `{"card":"${CARD}`, {}],
      ['POST', '/api/providers/sandbox/callbacks', { card: CARD, email: EMAIL }, { 'x-provider-signature': API_KEY }],
    ];
    for (const [method, rest, body, headers] of places) await call(method, path(rest), body, headers);
    await sendRaw(tillway.url, `GET /${CARD} HTTP/9\r\nauthorization: Bearer ${API_KEY}\r\n\r\n`);
    const log = tillway.logged.join('');
    assert.ok(log.includes('"status":401'));
    const parts = [API_KEY.slice(-20), SECRET.slice(-20), CARD.slice(1)];
    for (const secret of [...parts, EMAIL, encodeURIComponent(EMAIL)]) assert.ok(!log.includes(secret), secret);
  });
});
