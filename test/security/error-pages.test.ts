import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { FastifyInstance } from 'fastify';
import { type AppDeps, createApp } from '../../src/http/app.ts';
import { PARTS } from '../../src/service/parts.ts';
import { type TestService, startTestService } from '../support/service.ts';

// Accept headers of browsers for page navigation.
const BROWSERS = [
  'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8',
  'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8',
  'text/html',
];
// Accept headers of programs: curl and fetch, none, the SDK, an MCP client, a client that prefers JSON, an image request.
const PROGRAMS = [
  '*/*',
  undefined,
  'application/json',
  'application/json, text/event-stream',
  'application/json, text/html;q=0.9',
  'image/avif,image/webp,*/*;q=0.8',
  'text/html;q=0, */*',
];

interface Request {
  method?: 'GET' | 'POST';
  url: string;
  headers?: Record<string, string>;
}

const FOREIGN_FORM = { 'sec-fetch-site': 'cross-site', 'content-type': 'application/x-www-form-urlencoded' };
const REFUSED: [status: number, code: string, title: string, request: Request][] = [
  [404, 'not_found', 'Page not found', { url: '/no-such-page' }],
  [404, 'not_found', 'Page not found', { url: '/%ff' }],
  [404, 'not_found', 'Page not found', { url: '/docs/%00' }],
  [404, 'not_found', 'Page not found', { url: '/assets/checkout-000000000000.css' }],
  [400, 'invalid_input', 'The request was rejected', { url: '/docs?x=%00' }],
  [403, 'forbidden', 'Not allowed', { url: '/', headers: { host: 'evil.example' } }],
  [403, 'forbidden', 'Not allowed', { method: 'POST', url: '/demo', headers: FOREIGN_FORM }],
  [405, 'method_not_allowed', 'This page cannot be opened directly', { method: 'POST', url: '/docs' }],
  [500, 'internal_error', 'Server error', { url: '/injected/failure' }],
];

const ALWAYS_JSON =
  'GET /api, GET /api/gateway/none, GET /api/gateway/sessions/chk_none, GET /api/agent/schema/none, GET /mcp, ' +
  'POST /api/agent/capabilities, POST /openapi.json, POST /llms.txt, POST /.well-known/api-catalog, ' +
  'GET /.well-known/none, GET /nothing.json, POST /healthz, POST /readyz';

let tillway: TestService;
let app: FastifyInstance;
before(async () => {
  tillway = await startTestService();
  app = await createApp(tillway.service.deps as AppDeps, [
    ...PARTS,
    (each) =>
      void each.get('/injected/failure', async () => {
        throw new Error('injected <b>secret</b>');
      }),
  ]);
});
after(async () => {
  await app.close();
  await tillway[Symbol.asyncDispose]();
});

async function ask({ method = 'GET', url, headers }: Request, accept?: string) {
  return app.inject({
    method,
    url,
    headers: { host: 'localhost', ...headers, ...(accept !== undefined && { accept }) },
  });
}

describe('an error response', () => {
  for (const [status, code, title, request] of REFUSED) {
    const { method = 'GET', url } = request;

    it(`the ${status} response to ${method} ${url} is an HTML page for a browser`, async () => {
      for (const accept of BROWSERS) {
        const { statusCode, headers, body } = await ask(request, accept);
        assert.equal(statusCode, status);
        assert.equal(headers['content-type'], 'text/html; charset=utf-8');
        assert.equal(headers['vary'], 'accept');
        assert.equal(headers['cache-control'], 'no-store');
        assert.match(String(headers['content-security-policy']), /default-src 'none'.*style-src 'self'/);
        assert.match(body, /<html lang="en">/);
        assert.match(body, new RegExp(`<title>${title} - Tillway</title>`));
        assert.deepEqual(
          [...body.matchAll(/<h[1-6][^>]*>(.*?)<\/h[1-6]>/gs)].map(([, text]) => text),
          [title],
        );
        assert.match(body, /<a class="button" href="\/">/);
        assert.ok(body.includes(String(headers['x-request-id'])));
        assert.doesNotMatch(body, /injected|\{"ok"/);
      }
    });

    it(`the ${status} response to ${method} ${url} is the JSON envelope for a program`, async () => {
      for (const accept of PROGRAMS) {
        const { statusCode, headers, body } = await ask(request, accept);
        assert.equal(statusCode, status, String(accept));
        assert.equal(headers['content-type'], 'application/json; charset=utf-8', String(accept));
        assert.equal(headers['vary'], 'accept');
        const answer = JSON.parse(body) as { ok: boolean; error: { code: string } };
        assert.deepEqual([answer.ok, answer.error.code], [false, code]);
      }
    });
  }

  it('an error response on an API path is the JSON envelope for any Accept header', async () => {
    for (const line of ALWAYS_JSON.split(', ')) {
      const [method, url] = line.split(' ') as ['GET' | 'POST', string];
      const { statusCode, headers, body } = await ask({ method, url }, BROWSERS[0]);
      assert.ok(statusCode >= 400, line);
      assert.match(String(headers['content-type']), /^application\/json/, line);
      assert.equal(headers['vary'], undefined);
      assert.ok('error' in (JSON.parse(body) as object), url);
    }
  });
});
