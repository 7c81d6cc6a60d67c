import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { HTTP_STATUS } from '../../src/http/error-responses.ts';
import { sendRaw } from '../support/raw-http.ts';
import { type TestService, sessionBody, startTestService } from '../support/service.ts';
import { type Refusal, refused } from '../support/refusal.ts';

describe('refusals', () => {
  let tillway: TestService;
  let sessions: string;
  before(async () => {
    tillway = await startTestService();
    sessions = `${tillway.url}/api/gateway/sessions`;
  });
  after(() => tillway[Symbol.asyncDispose]());

  it('413 for a body over 128 KiB, and not for one of exactly 128 KiB', async () => {
    const limit = 128 * 1024;
    const filler = limit - JSON.stringify({ ...sessionBody(), filler: '' }).length;
    await refused([400, 'invalid_input'], 'POST', sessions, sessionBody({ filler: 'x'.repeat(filler) }));
    await refused([413, 'payload_too_large'], 'POST', sessions, sessionBody({ filler: 'x'.repeat(filler + 1) }));
  });

  it('415 for another content type', async () => {
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/xml']) {
      await refused([415, 'unsupported_media_type'], 'POST', sessions, '{}', { 'content-type': type });
    }
  });

  it('400 invalid_json for a body that is not JSON in UTF-8, or nested more than 32 levels', async () => {
    const nested = (levels: number) => `${'['.repeat(levels)}1${']'.repeat(levels)}`;
    await refused([400, 'invalid_json'], 'POST', sessions, '{"product":');
    await refused([400, 'invalid_json'], 'POST', sessions, Uint8Array.from([0x22, 0xff, 0x22]));
    await refused([400, 'invalid_json'], 'POST', sessions, nested(33));
    await refused([400, 'invalid_input'], 'POST', sessions, nested(32));
    await refused([400, 'invalid_json'], 'POST', sessions, nested(60_000));
    await refused([400, 'invalid_input'], 'POST', sessions, '');
  });

  it('rejects properties named __proto__ and constructor', async () => {
    for (const property of ['"__proto__":{"a":1}', '"constructor":1']) {
      const body = `{"product":"x","amount":1,"customer":"a@b.co",${property}}`;
      await refused([400, 'invalid_input'], 'POST', sessions, body);
    }
  });

  const raw = (bytes: string) => sendRaw(tillway.url, bytes);
  const get = (hosts: string) => raw(`GET /readyz HTTP/1.1\r\n${hosts}\r\nconnection: close\r\n\r\n`);

  it('answers bytes that are not HTTP in the envelope', async () => {
    const { status, body } = await raw('this is not http\r\n\r\n');
    const { ok, error } = JSON.parse(body) as Refusal;
    assert.deepEqual([status, ok, error.code], [400, false, 'invalid_input']);
    assert.equal((await raw(`GET / HTTP/1.1\r\nhost: x\r\nx: ${'y'.repeat(20_000)}\r\n\r\n`)).status, 431);
  });

  it('403 for an unknown host name, which a DNS rebinding attack uses, and 400 for two', async () => {
    const { port } = new URL(tillway.url);
    assert.equal((await get(`host: evil.example:${port}`)).status, 403);
    assert.equal((await get(`host: localhost:${port}`)).status, 200);
    // A proxy may have decided by the other one.
    const { status, body } = await get('host: localhost\r\nHost: localhost');
    assert.equal(status, 400);
    assert.match(body, /more than one Host header/);
  });

  it('every error code has a status of 400 to 599', () => {
    for (const status of Object.values(HTTP_STATUS)) assert.ok(status >= 400 && status < 600);
  });
});
