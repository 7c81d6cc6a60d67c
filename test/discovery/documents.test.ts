import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import type { FastifyInstance } from 'fastify';
import { type OpenApi, resolveResponse } from '../../src/contract/openapi-document.ts';
import { agentApi } from '../../src/http/agent-api.ts';
import { type AppDeps, createApp } from '../../src/http/app.ts';
import { discoveryDocuments } from '../../src/http/discovery-documents.ts';
import { apiReference } from '../../src/http/docs.ts';
import { salesApi } from '../../src/http/gateway-sales.ts';
import { healthProbes } from '../../src/http/health-probes.ts';
import { homePages } from '../../src/http/home.ts';
import { OPERATIONS } from '../../src/operations/registry.ts';
import { linksOf } from '../support/agent-client.ts';
import { type TestService, call, startTestService } from '../support/service.ts';

const BASE_URL = 'https://gateway.example';
const DOCUMENTS = ['/llms.txt', '/.well-known/api-catalog', '/arazzo.yaml', '/openapi.json', '/api/agent/capabilities'];

const local = await startTestService();
const open = await startTestService({ variables: { BASE_URL, ALLOW_UNAUTHENTICATED: 'true' } });
const parts = [homePages, salesApi, agentApi, discoveryDocuments, apiReference, healthProbes];
/** `guarded` accepts loopback host names only, `exposed` accepts any host name. */
const guarded = await createApp(local.service.deps as AppDeps, parts);
const exposed = await createApp({ ...(open.service.deps as AppDeps), allowedHosts: undefined }, parts);
after(async () => {
  await guarded.close();
  await exposed.close();
  await local[Symbol.asyncDispose]();
  await open[Symbol.asyncDispose]();
});

describe('discovery documents', () => {
  test('/llms.txt has a heading, a summary, and lists of absolute links only', async () => {
    const { headers, text } = await textOf(`${open.url}/llms.txt`);
    assert.equal(headers.get('content-type'), 'text/plain; charset=utf-8');
    const blocks = text.trimEnd().split('\n\n');
    assert.match(blocks[0]!, /^# \S/);
    assert.match(blocks[1]!, /^> \S/);
    const firstList = blocks.findIndex((block) => block.startsWith('## '));
    assert(firstList > 2, 'the payment flow comes before the lists');
    for (const block of blocks.slice(firstList)) {
      const lines = block.split('\n');
      if (block.startsWith('## ')) assert.equal(lines.length, 1);
      else
        for (const line of lines) assert.match(line, /^- \[[^\]]+\]\(https:\/\/gateway\.example\/[^)]*\): \S.*\.|`$/);
    }
    assert.doesNotMatch(text, /127\.0\.0\.1|localhost|undefined/);
  });

  test('/llms.txt names every endpoint, action and schema, and its links resolve', async () => {
    const { text } = await textOf(`${local.url}/llms.txt`);
    const { body: api } = await call<OpenApi>('GET', `${local.url}/openapi.json`);
    for (const [path, methods] of Object.entries(api.paths)) {
      for (const method of Object.keys(methods)) {
        const named = path.startsWith('/api/agent/actions/')
          ? `](${local.url}${path}): POST.`
          : `[${method.toUpperCase()} ${path}]`;
        assert(text.includes(named), named);
      }
    }
    const links = Array.from(text.matchAll(/\]\((\S+)\)/g), ([, url]) => url!);
    const pages = new Map<string, string>();
    for (const link of links) {
      const [page = '', fragment] = link.split('#');
      if (page.includes('/actions/') || page.endsWith('/mcp')) continue;
      const found = pages.get(page) ?? (await textOf(page)).text;
      pages.set(page, found);
      if (fragment !== undefined) assert(found.includes(`id="${fragment}"`), link);
    }
    for (const operation of OPERATIONS.keys()) assert(links.includes(`${local.url}/api/agent/schema/${operation}`));
  });

  test('/.well-known/api-catalog is a link set of RFC 9727, with the same headers for HEAD', async () => {
    const url = `${open.url}/.well-known/api-catalog`;
    const { headers, text } = await textOf(url);
    const type = 'application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"';
    assert.equal(headers.get('content-type'), type);
    const { linkset } = JSON.parse(text) as { linkset: Record<string, { href: string; type: string }[]>[] };
    const [api, mcp] = linkset;
    assert.deepEqual([api!['anchor'], mcp!['anchor']], [`${BASE_URL}/`, `${BASE_URL}/mcp`]);
    for (const [relation, paths] of [
      ['service-desc', ['/openapi.json', '/arazzo.yaml']],
      ['service-doc', ['/docs', '/llms.txt']],
      ['service-meta', ['/api/agent/capabilities']],
      ['status', ['/readyz']],
    ] as const) {
      const links = api![relation]!;
      assert.deepEqual(
        links.map(({ href }) => href),
        paths.map((path) => BASE_URL + path),
      );
      for (const { href, type: expectedType } of links) {
        const target = await textOf(href.replace(BASE_URL, open.url));
        assert.equal(target.headers.get('content-type')!.split(';')[0], expectedType, href);
      }
    }
    const head = await fetch(url, { method: 'HEAD' });
    assert.deepEqual([head.status, head.headers.get('content-type')], [200, type]);
    assert.deepEqual(linksOf(head.headers.get('link'))['api-catalog'], [`${BASE_URL}/.well-known/api-catalog`]);
  });

  test('discovery documents are linked from the front page and the capabilities', async () => {
    for (const path of ['/', '/api/agent/capabilities', '/.well-known/api-catalog']) {
      for (const method of ['GET', 'HEAD']) {
        const response = await fetch(`${open.url}${path}`, { method });
        await response.text();
        assert.deepEqual(
          { ...linksOf(response.headers.get('link')) },
          {
            'api-catalog': [`${BASE_URL}/.well-known/api-catalog`],
            'service-desc': [`${BASE_URL}/openapi.json`, `${BASE_URL}/arazzo.yaml`],
            'service-doc': [`${BASE_URL}/docs`],
            'service-meta': [`${BASE_URL}/api/agent/capabilities`],
            describedby: [`${BASE_URL}/llms.txt`],
          },
          `${method} ${path}`,
        );
      }
    }
  });

  test('discovery documents contain the configured base URL for any Host header', async () => {
    for (const path of [...DOCUMENTS, '/']) {
      const { status, body, link } = await getWithHost(exposed, path, 'evil.example');
      assert.equal(status, 200, path);
      assert.doesNotMatch(body + link, /evil\.example/, path);
      assert.match(body + link, /https:\/\/gateway\.example|url: \.\/openapi\.json/, path);
    }
  });

  test('discovery documents may be cached publicly, except capabilities that were requested with an API key', async () => {
    for (const path of DOCUMENTS) {
      const { headers } = await textOf(`${local.url}${path}`);
      const age = path.endsWith('capabilities') ? 0 : 300;
      assert.equal(headers.get('cache-control'), `public, max-age=${age}`);
    }
    const keyed = await textOf(`${local.url}/api/agent/capabilities`, { authorization: 'Bearer of-somebody' });
    assert.equal(keyed.headers.get('cache-control'), 'private, max-age=0');
    assert.equal(keyed.headers.get('vary'), 'authorization, accept-encoding');
  });

  test('only discovery documents and agent schemas allow cross-origin requests', async () => {
    for (const app of [guarded, exposed]) {
      const host = app === guarded ? 'localhost' : 'gateway.example';
      for (const path of [...DOCUMENTS, '/api/agent/schema/fees.estimate', '/api/agent/schema/none']) {
        assert.equal((await getWithHost(app, path, host)).origin, '*', path);
      }
      for (const path of ['/', '/docs', '/api/gateway/sessions', '/api/agent/routes', '/readyz', '/none']) {
        assert.equal((await getWithHost(app, path, host)).origin, undefined, path);
      }
    }
  });

  test('/openapi.json depends neither on the process nor on the health of the routes', async () => {
    const { url } = local;
    const etagOf = async (service: TestService) => (await textOf(`${service.url}/openapi.json`)).headers.get('etag');
    await using first = await startTestService({ variables: { BASE_URL: url } });
    const known = await etagOf(first);
    await using second = await startTestService({ variables: { BASE_URL: url } });
    const override = { health: 'standby', reason: 'maintenance' };
    const route = `${second.url}/api/gateway/routing/routes/sandbox_card_acquirer/health`;
    assert.equal((await call('PUT', route, override)).status, 200);
    assert.equal(await etagOf(second), known);
  });

  test('discovery documents reject an unknown host name with the 403 that OpenAPI shows as an example', async () => {
    const { status, body } = await getWithHost(guarded, '/api/agent/capabilities', 'evil.example');
    const { body: api } = await call<OpenApi>('GET', `${local.url}/openapi.json`);
    const refusal = resolveResponse(api, api.paths['/api/agent/capabilities']!.get!.responses['403']);
    const { examples } = refusal!.content!['application/json']!;
    assert.deepEqual([status, JSON.parse(body)], [403, examples!['forbidden']!.value]);
  });
});

async function textOf(url: string, headers: Record<string, string> = {}): Promise<{ headers: Headers; text: string }> {
  const response = await fetch(url, { headers });
  const text = await response.text();
  assert.equal(response.status, 200, `${url}: ${text}`);
  return { headers: response.headers, text };
}

/** Sends a GET with a given Host header, which fetch cannot do. */
async function getWithHost(app: FastifyInstance, url: string, host = 'gateway.example') {
  const { statusCode, body, headers } = await app.inject({ url, headers: { host } });
  const origin = headers['access-control-allow-origin'];
  return { status: statusCode, body, link: String(headers['link'] ?? ''), origin };
}
