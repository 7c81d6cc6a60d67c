import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { HTTP_STATUS } from '../../src/http/errors.ts';
import { type TestService, call, sessionBody, startTestService } from '../support/service.ts';
import { type Refusal } from '../support/refusal.ts';

describe('refusals', () => {
  let tillway: TestService;
  let sessions: string;
  before(async () => {
    tillway = await startTestService();
    sessions = `${tillway.url}/api/gateway/sessions`;
  });
  after(() => tillway[Symbol.asyncDispose]());

  async function refused(expected: [number, string], ...request: Parameters<typeof call>): Promise<Headers> {
    const { status, body, headers } = await call<Refusal>(...request);
    assert.deepEqual([status, body.ok, body.error.code], [expected[0], false, expected[1]]);
    return headers;
  }

  it('404 for an unknown path', async () => {
    await refused([404, 'not_found'], 'GET', `${tillway.url}/nothing/here`);
    await refused([404, 'not_found'], 'GET', `${tillway.url}/%ff`);
  });

  it('405 with Allow for a wrong method', async () => {
    const headers = await refused([405, 'method_not_allowed'], 'DELETE', sessions);
    assert.deepEqual(headers.get('allow')?.split(', ').toSorted(), ['GET', 'HEAD', 'POST']);
    await refused([405, 'method_not_allowed'], 'PUT', `${sessions}/chk_x/expire`, {});
    await refused([405, 'method_not_allowed'], 'OPTIONS', sessions);
  });

  it('413 for a body over 128 KiB, and not for one of just that', async () => {
    const limit = 128 * 1024;
    const filler = limit - JSON.stringify({ ...sessionBody(), filler: '' }).length;
    await refused(
      [400, 'invalid_input'],
      'POST',
      sessions,
      JSON.stringify(sessionBody({ filler: 'x'.repeat(filler) })),
    );
    await refused(
      [413, 'payload_too_large'],
      'POST',
      sessions,
      JSON.stringify(sessionBody({ filler: 'x'.repeat(filler + 1) })),
    );
  });

  it('415 for another content type', async () => {
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/xml']) {
      await refused([415, 'unsupported_media_type'], 'POST', sessions, '{}', { 'content-type': type });
    }
  });

  it('400 invalid_json for what is not JSON in UTF-8, or nested more than 32 levels', async () => {
    const nested = (levels: number) => `${'['.repeat(levels)}1${']'.repeat(levels)}`;
    await refused([400, 'invalid_json'], 'POST', sessions, '{"product":');
    await refused([400, 'invalid_json'], 'POST', sessions, Uint8Array.from([0x22, 0xff, 0x22]));
    await refused([400, 'invalid_json'], 'POST', sessions, nested(33));
    await refused([400, 'invalid_input'], 'POST', sessions, nested(32));
    await refused([400, 'invalid_json'], 'POST', sessions, nested(60_000));
    await refused([400, 'invalid_input'], 'POST', sessions, '');
  });

  it('takes no property named __proto__ or constructor', async () => {
    await refused(
      [400, 'invalid_input'],
      'POST',
      sessions,
      '{"product":"x","amount":1,"customer":"a@b.co","__proto__":{"a":1}}',
    );
    await refused(
      [400, 'invalid_input'],
      'POST',
      sessions,
      '{"product":"x","amount":1,"customer":"a@b.co","constructor":1}',
    );
  });

  it('answers bytes that are not HTTP in the envelope', async () => {
    const answer = await raw('this is not http\r\n\r\n');
    assert.match(answer, /^HTTP\/1\.1 400 /);
    const { ok, error } = JSON.parse(answer.slice(answer.indexOf('\r\n\r\n'))) as Refusal;
    assert.deepEqual([ok, error.code], [false, 'invalid_input']);
    assert.match(await raw(`GET / HTTP/1.1\r\nhost: x\r\nx: ${'y'.repeat(20_000)}\r\n\r\n`), /^HTTP\/1\.1 431 /);
  });

  it('403 for a host name that is not ours: a page elsewhere may have been pointed at this machine', async () => {
    const { port } = new URL(tillway.url);
    assert.match(await raw(`GET /readyz HTTP/1.1\r\nhost: evil.example:${port}\r\nconnection: close\r\n\r\n`), / 403 /);
    assert.match(await raw(`GET /readyz HTTP/1.1\r\nhost: localhost:${port}\r\nconnection: close\r\n\r\n`), / 200 /);
  });

  it('400 for two host names: what stands in front may have gone by the other', async () => {
    const twice = await raw('GET /readyz HTTP/1.1\r\nhost: localhost\r\nHost: localhost\r\nconnection: close\r\n\r\n');
    assert.match(twice, / 400 /);
    assert.match(twice, /more than one Host header/);
  });

  it('says nothing of its insides, and names the request', async () => {
    const { headers, body } = await call<Refusal>('GET', `${tillway.url}/nothing`);
    assert.match(headers.get('x-request-id') ?? '', /^req_/);
    assert.doesNotMatch(JSON.stringify(body), /node_modules|\.ts|SELECT|stack/);
    assert.equal(headers.get('x-powered-by'), null);
    assert.equal(headers.get('x-content-type-options'), 'nosniff');
    assert.equal(headers.get('cache-control'), 'no-store');
  });

  it('has one table of refusals, each with a status of 400 to 599', () => {
    assert.equal(Object.keys(HTTP_STATUS).length, 17);
    for (const status of Object.values(HTTP_STATUS)) assert.ok(status >= 400 && status < 600);
  });

  function raw(bytes: string): Promise<string> {
    return new Promise((resolve, reject) => {
      const socket = connect(Number(new URL(tillway.url).port), '127.0.0.1', () => socket.write(bytes));
      let answer = '';
      socket.on('data', (chunk) => (answer += chunk.toString('utf8')));
      socket.on('end', () => resolve(answer));
      socket.on('error', reject);
    });
  }
});
