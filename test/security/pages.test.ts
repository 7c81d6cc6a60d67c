import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it, test } from 'node:test';
import { createSession } from '../simulator/buyer.ts';
import { suiteService } from '../support/suite.ts';

const PUBLIC_URL = 'https://pay.shop.example';

const tillway = suiteService({
  variables: { CHECKOUT_URL: PUBLIC_URL, ALLOW_UNAUTHENTICATED: 'true', DEMO: 'true' },
});

const create = (overrides: Record<string, unknown> = {}) => createSession(tillway, overrides);

async function send(method: string, path: string, headers: Record<string, string> = {}, form?: Record<string, string>) {
  const body = form ? { body: new URLSearchParams(form) } : {};
  const answer = await fetch(tillway.url + path, { method, redirect: 'manual', headers, ...body });
  return { status: answer.status, location: answer.headers.get('location'), text: await answer.text() };
}

async function stateOf(id: string): Promise<string> {
  return JSON.stringify(await tillway.service.deps.store.checkout(id));
}

describe('a form submitted from another site', () => {
  const FOREIGN: Record<string, string>[] = [
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { 'sec-fetch-site': 'cross-site', origin: PUBLIC_URL },
    { 'sec-fetch-site': '' },
    { origin: 'https://evil.example' },
    { origin: 'https://pay.shop.example.evil.example' },
    { origin: 'http://pay.shop.example' },
    { origin: 'https://evil.example, https://pay.shop.example' },
    { origin: 'file://' },
  ];
  const FORMS: [step: string, form: Record<string, string>][] = [
    ['pay', { kind: 'card', total_card: '99999999' }],
    ['switch', { attempt: '0' }],
    ['cancel', { attempt: '0' }],
  ];

  for (const [step, form] of FORMS) {
    it(`a form to ${step} from another site is rejected with an error page and changes nothing`, async () => {
      const id = await create();
      const before = await stateOf(id);
      for (const headers of FOREIGN) {
        const answer = await send('POST', `/checkout/${id}/${step}`, headers, form);
        assert.deepEqual([answer.status, JSON.stringify(headers)], [403, JSON.stringify(headers)]);
        assert.match(answer.text, /That was not accepted/);
      }
      assert.equal(await stateOf(id), before);
    });
  }

  it('the demo shop and the simulated provider also reject a form from another site', async () => {
    const before = (await tillway.service.deps.store.listSessions({}, { limit: 100 })).items.length;
    for (const path of ['/demo', '/simulator/pay/x', '/simulator/pay/x/cancel'])
      assert.equal((await send('POST', path, { origin: 'https://evil.example' }, {})).status, 403, path);
    assert.equal((await tillway.service.deps.store.listSessions({}, { limit: 100 })).items.length, before);
  });

  it('a form submitted by the checkout page itself is accepted', async () => {
    const ownForms: Record<string, string>[] = [
      { 'sec-fetch-site': 'same-origin', origin: PUBLIC_URL },
      { 'sec-fetch-site': 'same-origin', origin: 'null' },
      { origin: PUBLIC_URL },
      { origin: tillway.url },
      {},
    ];
    for (const headers of ownForms) {
      const id = await create();
      const answer = await send('POST', `/checkout/${id}/pay`, headers, FORMS[0]![1]);
      assert.deepEqual([answer.status, answer.location], [303, `/checkout/${id}/continue`], JSON.stringify(headers));
    }
  });
});

test('an API without keys rejects write requests from pages of other sites', async () => {
  const id = await create();
  const before = await stateOf(id);
  const expire = `/api/gateway/sessions/${id}/expire`;
  const endpoint = '/api/gateway/webhook-endpoints/whe_x';
  const foreign: Record<string, string>[] = [
    { origin: 'https://evil.example' },
    { origin: 'null' },
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site', origin: 'http://localhost:1' },
    { 'sec-fetch-site': 'same-origin', origin: 'null' },
  ];
  for (const headers of foreign) {
    const { status, text } = await send('POST', expire, headers);
    assert.deepEqual([status, text.includes('a page of another site')], [403, true], JSON.stringify(headers));
    assert.match((await send('POST', '/api/agent/actions/checkout.get', headers)).text, /"forbidden"/);
    assert.equal((await send('DELETE', endpoint, headers)).status, 403);
    assert.equal((await send('GET', '/api/gateway/sessions', headers)).status, 200);
  }
  assert.equal(await stateOf(id), before);
  for (const headers of [{ origin: PUBLIC_URL }, { 'sec-fetch-site': 'same-origin', origin: tillway.url }])
    assert.equal((await send('DELETE', endpoint, headers)).status, 404);
  assert.equal((await send('POST', expire)).status, 200);
});

describe('reading a checkout page', () => {
  it('GET and HEAD of every checkout path have no effect', async () => {
    const [fresh, started] = [await create(), await create()];
    await send('POST', `/checkout/${started}/pay`, {}, { kind: 'card', total_card: '99999999' });
    const before = [await stateOf(fresh), await stateOf(started)];
    const paths = '/pay /switch /cancel /continue /complete /status ?preview=1 /pay?kind=card'.split(' ');
    for (const path of ['', ...paths].flatMap((step) => [`${fresh}${step}`, `${started}${step}`])) {
      for (const method of ['GET', 'HEAD']) assert.ok((await send(method, `/checkout/${path}`)).status < 400, path);
    }
    assert.deepEqual([await stateOf(fresh), await stateOf(started)], before);
  });

  it('a checkout page with an unknown id is always the same page', async () => {
    const id = await create();
    const similar = id.replace(/.$/, (last) => (last === '0' ? '1' : '0'));
    const texts = new Set<string>();
    for (const unknown of [similar, 'chk_x', 'pay_1', '%2e%2e%2fetc', "'", 'x'.repeat(9000)]) {
      const { status, text } = await send('GET', `/checkout/${unknown}`);
      texts.add(`${status} ${text}`);
    }
    assert.equal(texts.size, 1);
    assert.match([...texts][0]!, /^404 /);
  });
});

describe('a redirect of the checkout', () => {
  it('a redirect of the checkout never goes to a URL from a query parameter', async () => {
    const id = await create({ redirectUrl: 'https://shop.example/thanks' });
    const names = ['redirectUrl', 'redirect', 'return_url', 'next', 'url', 'notice'];
    const query = names.map((name) => `${name}=https://evil.example`).join('&');
    for (const step of ['', '/pay', '/complete', '/continue']) {
      const { location, text } = await send('GET', `/checkout/${id}${step}?${query}`);
      assert.ok(!`${location} ${text}`.includes('evil.example'), step);
    }
    const { location } = await send('GET', `/demo?session_id=https://evil.example`);
    assert.equal(location, '/');
  });
});

describe('the scripts and style sheets of the pages', () => {
  it('scripts and style sheets are served by this service, never inline, and have an integrity hash', async () => {
    const id = await create();
    const sources = new Set<string>();
    for (const path of ['/', '/docs', '/simulator', `/checkout/${id}`, '/checkout/unknown']) {
      const { text } = await send('GET', path);
      const inline = /<script(?![^>]*\ssrc=)[^>]*>|\son\w+=|javascript:|<iframe|<object|<embed|<style|\sstyle=/;
      assert.doesNotMatch(text, inline, path);
      for (const [tag, source = ''] of text.matchAll(/<(?:script|link)[^>]*\s(?:src|href)="([^"]+)"[^>]*>/g)) {
        if (source.startsWith('data:')) continue;
        assert.match(source, /^\/(?!\/)/, path);
        sources.add(source.replace(/-[0-9a-f]{12}\./, '.'));
        if (!/^<script|rel="stylesheet"/.test(tag)) continue;
        for (const encoding of ['identity', 'br']) {
          const answer = await fetch(tillway.url + source, { headers: { 'accept-encoding': encoding } });
          const digest = createHash('sha256').update(await answer.bytes());
          assert.equal(
            /\sintegrity="([^"]+)"/.exec(tag)?.[1],
            `sha256-${digest.digest('base64')}`,
            `${path} ${source}`,
          );
        }
      }
    }
    const ending = (end: string) => [...sources].filter((source) => source.endsWith(end));
    assert.deepEqual(ending('.js'), ['/assets/checkout.js']);
    assert.equal(ending('.css').length, 4);
  });
});
