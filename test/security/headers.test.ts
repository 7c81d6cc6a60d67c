import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type AppDeps, type Part, createApp } from '../../src/http/app.ts';
import { PARTS } from '../../src/service/parts.ts';
import { createSession } from '../simulator/buyer.ts';
import { sendRaw } from '../support/raw-http.ts';
import { startTestService } from '../support/service.ts';
import { suiteService } from '../support/suite.ts';

const PUBLIC_URL = 'https://pay.shop.example';

const tillway = suiteService({ variables: { BASE_URL: PUBLIC_URL, ALLOW_UNAUTHENTICATED: 'true' } }, async () => {
  sessionId = await createSession(tillway);
});
let sessionId: string;

interface ReceivedResponse {
  what: string;
  status: number;
  headers: Headers;
  body: string;
}

const EVERYWHERE: Record<string, string> = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'x-frame-options': 'DENY',
  'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=()',
  'strict-transport-security': 'max-age=31536000; includeSubDomains',
};
/** Responses that may be cached, because they contain no personal data. */
const CACHEABLE =
  /^\w+ \/(?:assets\/|openapi\.json|docs|llms|\.well-known|arazzo|api\/agent\/capabilities|schema|mcp\/server-card)/;

function faultsOf({ what, status, headers, body }: ReceivedResponse): string[] {
  const faults = Object.entries(EVERYWHERE)
    .filter(([name, value]) => headers.get(name) !== value)
    .map(([name]) => `${name} is ${headers.get(name)}`);
  const policy = headers.get('content-security-policy') ?? '';
  if (!policy.includes("default-src 'none'") || !policy.includes("frame-ancestors 'none'")) faults.push('framing');
  if (/unsafe|\*|https?:/.test(policy)) faults.push(`policy ${policy}`);
  for (const name of ['server', 'x-powered-by', 'via']) if (headers.has(name)) faults.push(name);
  if (headers.get('x-request-id')?.startsWith('req_') !== true) faults.push('no request id');
  // Media types that end in +json have no charset, because JSON is always UTF-8.
  if (body !== '' && !/charset=utf-8|\+json/.test(headers.get('content-type') ?? '')) faults.push('no charset');
  if (headers.get('cache-control') !== 'no-store' && !CACHEABLE.test(what)) faults.push('cacheable');
  return faults.map((fault) => `${what} (${status}): ${fault}`);
}

async function ask(method: string, path: string, init: RequestInit = {}): Promise<ReceivedResponse> {
  const response = await fetch(tillway.url + path, { method, redirect: 'manual', ...init });
  return {
    what: `${method} ${path}`,
    status: response.status,
    headers: response.headers,
    body: await response.text(),
  };
}

/** Method and example path of every route of the service. */
async function everyRoute(): Promise<[method: string, path: string][]> {
  const routes: [string, string][] = [];
  const recordRoutes: Part = (app) =>
    void app.addHook('onRoute', ({ method, url }) => {
      const path = url.replace(/:sessionId|:id/, sessionId).replace(/:\w+|\*/g, 'x');
      for (const each of [method].flat()) routes.push([each, path]);
    });
  const app = await createApp(tillway.service.deps as AppDeps, [recordRoutes, ...PARTS]);
  await app.close();
  return routes;
}

describe('security headers', () => {
  it('security headers are set on the response of every route', async () => {
    const routes = [...(await everyRoute()), ['GET', '/simulator'], ['GET', '/simulator/pay/x']] as const;
    assert.ok(routes.length > 60, `only ${routes.length} routes were found`);
    const faults: string[] = [];
    const statuses = new Set<number>();
    for (const [method, path] of routes) {
      const answer = await ask(method, path);
      statuses.add(answer.status);
      faults.push(...faultsOf(answer));
    }
    assert.deepEqual(faults, []);
    for (const status of [200, 303, 400, 404, 415]) assert.ok(statuses.has(status), `no answer had status ${status}`);
  });

  it('security headers are set on every kind of error response, including responses to malformed requests', async () => {
    const head = (method: string, path: string, more = '') =>
      `${method} ${path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n${more}\r\n`;
    const kinds: [status: number, bytes: string][] = [
      [400, 'not http\r\n\r\n'],
      [400, 'GET / HTTP/1.1\r\nconnection: close\r\n\r\n'],
      [403, 'GET / HTTP/1.1\r\nhost: evil.example\r\nconnection: close\r\n\r\n'],
      [404, head('GET', '/nothing')],
      [404, head('GET', '/%ff')],
      [400, head('GET', '/api/gateway/sessions?limit=%00')],
      [404, head('GET', `/checkout/${'0'.repeat(20)}`)],
      [405, head('TRACE', '/healthz')],
      [405, head('PROPFIND', '/api/gateway/sessions')],
      [405, head('get', '/healthz')],
      [405, 'CONNECT evil.example:443 HTTP/1.1\r\nhost: evil.example\r\n\r\n'],
      [413, head('POST', '/api/gateway/sessions', 'content-type: application/json\r\ncontent-length: 200000\r\n')],
      [415, head('POST', '/api/gateway/sessions', 'content-type: text/csv\r\ncontent-length: 0\r\n')],
      [431, head('GET', '/', `x: ${'y'.repeat(20_000)}\r\n`)],
      [303, head('GET', `/checkout/${sessionId}/pay`)],
    ];
    const faults: string[] = [];
    for (const [status, bytes] of kinds) {
      const what = bytes.split('\r\n', 1)[0]!.slice(0, 60);
      const answer = await sendRaw(tillway.url, bytes);
      assert.equal(answer.status, status, what);
      faults.push(...faultsOf({ what, ...answer }));
    }
    assert.deepEqual(faults, []);
  });

  it('the check of this test detects missing and wrong security headers', () => {
    const none = faultsOf({ what: 'GET /', status: 200, headers: new Headers({ server: 'x/1' }), body: 'x' });
    assert.equal(none.length, Object.keys(EVERYWHERE).length + 5);
  });

  it('security headers do not include HSTS if the public URL is not https', async () => {
    await using plain = await startTestService();
    const { headers } = await fetch(plain.url);
    assert.equal(headers.get('strict-transport-security'), null);
  });

  it('the security headers of a page forbid inline and foreign content, framing, and forms to other sites', async () => {
    for (const path of ['/', `/checkout/${sessionId}`, '/checkout/unknown', '/docs', '/simulator']) {
      const { headers } = await ask('GET', path);
      assert.deepEqual(headers.get('content-security-policy')!.split('; ').toSorted(), [
        "base-uri 'none'",
        "connect-src 'self'",
        "default-src 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
        "img-src 'self' data:",
        "object-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
      ]);
    }
  });
});
