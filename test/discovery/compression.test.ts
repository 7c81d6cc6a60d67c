import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import type { FastifyInstance } from 'fastify';
import { type AppDeps, createApp } from '../../src/http/app.ts';
import { apiReference } from '../../src/http/docs.ts';
import { PARTS } from '../../src/service/parts.ts';
import { call, sessionBody, startTestService } from '../support/service.ts';

const MAX_BYTES = 60 * 1024;
const DISCOVERY = ['/openapi.json', '/llms.txt', '/arazzo.yaml', '/.well-known/api-catalog'];
const DOCUMENTS = ['/docs', '/api/agent/capabilities', ...DISCOVERY];
const CHROME = 'gzip, deflate, br, zstd';

const DECODE: Record<string, (bytes: Buffer) => Buffer> = {
  br: (bytes) => brotliDecompressSync(bytes),
  gzip: (bytes) => gunzipSync(bytes),
  identity: (bytes) => bytes,
};

const service = await startTestService();
const payloads: unknown[] = [];
const watch = (watched: FastifyInstance) =>
  void watched.addHook('onSend', async (_request, _reply, payload) => void payloads.push(payload));
const app = await createApp(service.service.deps as AppDeps, [watch, ...PARTS]);
after(async () => {
  await app.close();
  await service[Symbol.asyncDispose]();
});

async function get(url: string, encoding?: string, more: Record<string, string> = {}) {
  const headers = { host: 'localhost', ...(encoding !== undefined && { 'accept-encoding': encoding }), ...more };
  const { statusCode: status, headers: answered, rawPayload: bytes } = await app.inject({ url, headers });
  return { status, bytes, header: (name: string) => String(answered[name] ?? '') };
}

async function stylesheet(): Promise<string> {
  const { bytes } = await get('/docs');
  return /href="(\/assets\/[^"]+\.css)"/.exec(bytes.toString())![1]!;
}

describe('documents that are the same for all callers', () => {
  test('public documents are sent in the encoding that the caller prefers', async () => {
    const cases: [accepted: string | undefined, encoding: string][] = [
      [undefined, 'identity'],
      ['', 'identity'],
      ['identity', 'identity'],
      ['deflate', 'identity'],
      ['gzip', 'gzip'],
      ['GZIP', 'gzip'],
      ['br', 'br'],
      ['*', 'br'],
      [CHROME, 'br'],
      ['gzip;q=1.0, br;q=0.5', 'gzip'],
      ['gzip;q=0, br;q=0', 'identity'],
      ['br;q=0, *', 'gzip'],
      ['gzip;q=0.2, identity;q=0.8', 'identity'],
    ];
    for (const path of [...DOCUMENTS, await stylesheet()]) {
      const plain = await get(path);
      for (const [accepted, encoding] of cases) {
        const answer = await get(path, accepted);
        const what = `${path} ${accepted}`;
        assert.equal(answer.status, 200, what);
        assert.equal(answer.header('content-encoding') || 'identity', encoding, what);
        assert.match(answer.header('vary'), /(?:^|, )accept-encoding$/, what);
        assert.equal(answer.header('content-type'), plain.header('content-type'), what);
        assert.equal(answer.header('content-length'), String(answer.bytes.length), what);
        assert.deepEqual(DECODE[encoding]!(answer.bytes), plain.bytes, what);
      }
    }
  });

  test('public documents have an ETag for each encoding, and a request with this ETag gets a 304', async () => {
    for (const path of [...DOCUMENTS, await stylesheet()]) {
      const tags = new Map<string, string>();
      for (const encoding of Object.keys(DECODE)) {
        const first = await get(path, encoding);
        const etag = first.header('etag');
        tags.set(etag, encoding);
        for (const known of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
          const again = await get(path, encoding, { 'if-none-match': known });
          assert.deepEqual([again.status, again.bytes.length, again.header('etag')], [304, 0, etag], path);
          assert.equal(again.header('vary'), first.header('vary'));
          assert.equal(again.header('cache-control'), first.header('cache-control'));
        }
      }
      assert.equal(tags.size, 3, path);
      for (const [etag, encoding] of tags) {
        for (const other of Object.keys(DECODE).filter((name) => name !== encoding)) {
          assert.equal((await get(path, other, { 'if-none-match': etag })).status, 200, `${path} ${etag} ${other}`);
        }
      }
    }
  });

  test('public documents are compressed once, also for concurrent callers', async () => {
    for (const path of [...DOCUMENTS, await stylesheet()]) {
      payloads.splice(0);
      for (const encoding of ['br', 'gzip']) {
        await Promise.all([get(path, encoding), get(path, encoding)]);
        await get(path, encoding);
        const [one, two, later] = payloads.splice(0);
        assert.ok(Buffer.isBuffer(one) && one === two && one === later, `${path} ${encoding}`);
      }
    }
  });

  test('public documents have at most 60 KB each, and the same headers for HEAD', async () => {
    for (const path of DOCUMENTS) {
      for (const encoding of ['br', 'gzip', CHROME]) {
        const got = await get(path, encoding);
        assert.ok(got.bytes.length <= MAX_BYTES, `${path} has ${got.bytes.length} bytes as ${encoding}`);
        const headers = { host: 'localhost', 'accept-encoding': encoding };
        const head = await app.inject({ method: 'HEAD', url: path, headers });
        for (const name of ['etag', 'vary', 'content-encoding', 'content-length', 'cache-control', 'content-type']) {
          assert.equal(String(head.headers[name]), got.header(name), `${path} ${name}`);
        }
      }
    }
  });

  test('the page /docs is revalidated at each visit and changes with the first API key', async () => {
    const deps = service.service.deps as AppDeps;
    let isOpen = true;
    const reference = await createApp({ ...deps, gate: { ...deps.gate, isOpen: async () => isOpen } }, [apiReference]);
    const visit = (etag = '') =>
      reference.inject({
        url: '/docs',
        headers: { host: 'localhost', 'accept-encoding': 'gzip', 'if-none-match': etag },
      });
    const etag = String((await visit()).headers['etag']);
    const again = await visit(etag);
    assert.deepEqual([again.statusCode, again.headers['cache-control']], [304, 'public, no-cache']);
    isOpen = false;
    const changed = await visit(etag);
    assert.equal(changed.statusCode, 200);
    assert.match(gunzipSync(changed.rawPayload).toString(), /TILLWAY_API_KEY/);
    await reference.close();
  });
});

test('responses with private data are never compressed, because the compressed length could reveal the data', async () => {
  const { body } = await call<{ id: string }>('POST', `${service.url}/api/gateway/sessions`, sessionBody());
  const paths = [
    '/',
    `/checkout/${body.id}`,
    `/checkout/${body.id}/status`,
    '/api/gateway/sessions',
    `/api/gateway/sessions/${body.id}`,
    '/api/agent/routes',
    '/readyz',
    '/none',
  ];
  for (const path of paths) {
    const answer = await get(path, CHROME);
    assert.equal(answer.header('content-encoding'), '', path);
    assert.equal(answer.header('cache-control'), 'no-store', path);
  }
});
