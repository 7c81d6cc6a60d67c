import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { CALLS_PER_SECOND, PAYMENTS_PER_SESSION } from '../../src/http/rate-limits.ts';
import { WindowStore } from '../../src/http/window-store.ts';
import { startPayment } from '../../src/operations/start-payment.ts';
import type { Provider } from '../../src/providers/provider.ts';
import { createSandboxProvider } from '../../src/providers/sandbox.ts';
import { signCallback } from '../../src/webhooks/sign.ts';
import { sendRaw } from '../support/raw-http.ts';
import { type TestService, sessionBody, startTestService } from '../support/service.ts';

const MINUTE_MS = 60_000;
const PAGES = 8;
const CALLBACKS = 7;
const PAYMENTS = 12;

let tillway: TestService;
before(async () => {
  tillway = await startTestService({
    variables: {
      TRUSTED_PROXIES: '127.0.0.1, 10.0.0.0/8,fd00::/8',
      PAGE_RATE_LIMIT: String(PAGES),
      CALLBACK_RATE_LIMIT: String(CALLBACKS),
      PAYMENT_RATE_LIMIT: String(PAYMENTS),
      API_RATE_LIMIT: 'standard',
      ALLOW_UNAUTHENTICATED: 'true',
    },
  });
});
after(() => tillway[Symbol.asyncDispose]());

interface Asked {
  status: number;
  headers: Headers;
  text: string;
}

let lastAddress = 0;

/** Another caller, as the trusted proxy names it. */
function newAddress(): string {
  lastAddress += 1;
  return `198.51.${lastAddress >> 8}.${lastAddress & 255}`;
}

async function ask(path: string, from: string, init: RequestInit = {}): Promise<Asked> {
  const headers = { 'x-forwarded-for': from, ...(init.headers as Record<string, string>) };
  const response = await fetch(tillway.url + path, { ...init, headers, redirect: 'manual' });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

async function statuses(times: number, request: (index: number) => Promise<Asked>): Promise<Record<number, number>> {
  const counts: Record<number, number> = {};
  for (let index = 0; index < times; index++) {
    const { status } = await request(index);
    counts[status] = (counts[status] ?? 0) + 1;
  }
  return counts;
}

const pay = (id: string, from: string) =>
  ask(`/checkout/${id}/pay`, from, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: 'kind=nothing',
  });

describe('public pages', () => {
  it('are answered to one address as often as PAGE_RATE_LIMIT says, then 429 in the error envelope', async () => {
    const from = newAddress();
    const first = await ask('/', from);
    assert.equal(first.headers.get('ratelimit-policy'), `"pages";q=${PAGES};w=60`);
    assert.equal(first.headers.get('ratelimit'), `"pages";r=${PAGES - 1};t=60`);
    assert.deepEqual(await statuses(PAGES - 1, () => ask('/docs', from)), { 200: PAGES - 1 });
    tillway.clock.advance(20_500);
    const refused = await ask('/', from);
    assert.equal(refused.status, 429);
    assert.equal(refused.headers.get('retry-after'), '40');
    assert.equal(refused.headers.get('ratelimit'), '"pages";r=0;t=40');
    const { ok, error } = JSON.parse(refused.text) as { ok: boolean; error: Record<string, string> };
    assert.deepEqual([ok, error['code']], [false, 'rate_limited']);
    assert.match(error['suggestion']!, /Wait 40 s/);
    assert.equal((await ask('/', newAddress())).status, 200);
    tillway.clock.advance(39_499);
    assert.equal((await ask('/', from)).status, 429);
    tillway.clock.advance(1);
    assert.equal((await ask('/', from)).status, 200);
  });

  it('count unknown paths too, and never the health probes', async () => {
    const from = newAddress();
    assert.deepEqual(await statuses(PAGES, (index) => ask(`/nothing/${index}`, from)), { 404: PAGES });
    assert.equal((await ask('/nothing', from)).status, 429);
    assert.deepEqual(await statuses(2 * PAGES, () => ask('/healthz', from)), { 200: 2 * PAGES });
    assert.equal((await ask('/readyz', from)).headers.get('ratelimit'), null);
  });

  it('count malformed paths and foreign host names too', async () => {
    await using open = await startTestService({ variables: { PAGE_RATE_LIMIT: '3' } });
    const asked = async (path: string, host: string) =>
      (await sendRaw(open.url, `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)).status;
    const seen = [await asked('/checkout/%zz', 'localhost'), await asked('/', 'evil.example')];
    for (let index = 0; index < 3; index++) seen.push(await asked('/checkout/%zz', 'localhost'));
    assert.deepEqual([...seen, await asked('/', 'evil.example')], [404, 403, 404, 429, 429, 429]);
  });

  it('are counted for a whole IPv6 network of 64 bits, and for an IPv4 address however it is written', async () => {
    const network = (index: number) => `2001:db8:7:9:${index}::${index}`;
    assert.deepEqual(await statuses(PAGES, (index) => ask('/', network(index))), { 200: PAGES });
    assert.equal((await ask('/', '2001:db8:7:9:ffff:ffff:ffff:ffff')).status, 429);
    assert.equal((await ask('/', '2001:db8:7:a::1')).status, 200);
    const from = newAddress();
    assert.deepEqual(await statuses(PAGES, () => ask('/', from)), { 200: PAGES });
    assert.equal((await ask('/', `::ffff:${from}`)).status, 429);
  });
});

describe('X-Forwarded-For', () => {
  it('counts only as far as the proxies are ours: what a caller puts in front of it is ignored', async () => {
    const from = newAddress();
    const spoofed = (index: number) => ask('/', `203.0.113.${index}, ${from}, 10.1.2.3`);
    assert.deepEqual(await statuses(PAGES, spoofed), { 200: PAGES });
    assert.equal((await spoofed(PAGES)).status, 429);
  });

  it('names the same caller with a port, in brackets or in quotation marks, and so for a proxy of ours', async () => {
    const from = newAddress();
    const forms = [
      from,
      `${from}:5555`,
      `"${from}"`,
      `"${from}:80"`,
      `${from}, 10.1.2.3:443`,
      `${from},"[fd00::7]:443"`,
    ];
    assert.deepEqual(await statuses(PAGES, (index) => ask('/', forms[index % forms.length]!)), { 200: PAGES });
    for (const form of forms) assert.equal((await ask('/', form)).status, 429, form);
    assert.equal((await ask('/', `${newAddress()}:5555`)).status, 200);
    const v6 = ['2001:db8:5:5::1', '[2001:db8:5:5::1]', '[2001:db8:5:5::1]:443', '"[2001:db8:5:5::1]:443"'];
    assert.deepEqual(await statuses(PAGES, (index) => ask('/', v6[index % v6.length]!)), { 200: PAGES });
    for (const form of v6) assert.equal((await ask('/', form)).status, 429, form);
  });

  it('that names no address counts as the proxy itself, and the log says so once', async () => {
    const nonsense = (index: number) => ask('/', `${'x'.repeat(index * 500)}not-an-address-${index}`);
    assert.deepEqual(await statuses(PAGES, nonsense), { 200: PAGES });
    assert.equal((await nonsense(PAGES)).status, 429);
    assert.equal(tillway.logged.filter((line) => line.includes('names no address')).length, 1);
  });

  it('is ignored from everybody where no proxy is named, and the log says so once', async () => {
    await using open = await startTestService({ variables: { PAGE_RATE_LIMIT: '3' } });
    const spoofed = (index: number) =>
      fetch(open.url, { headers: { 'x-forwarded-for': `198.51.100.${index}`, 'x-forwarded-proto': 'https' } });
    const seen: number[] = [];
    for (let index = 0; index < 4; index++) seen.push((await spoofed(index)).status);
    assert.deepEqual(seen, [200, 200, 200, 429]);
    assert.equal(open.logged.filter((line) => line.includes('TRUSTED_PROXIES')).length, 1);
  });
});

describe('starting a payment', () => {
  const newSession = async () => {
    const { text } = await ask('/api/gateway/sessions', newAddress(), {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(sessionBody()),
    });
    return (JSON.parse(text) as { id: string }).id;
  };

  it(`is taken ${PAYMENTS_PER_SESSION} times a minute and session, from whatever addresses; then a page says so`, async () => {
    const [id, other] = [await newSession(), await newSession()];
    assert.deepEqual(await statuses(PAYMENTS_PER_SESSION, () => pay(id, newAddress())), { 400: PAYMENTS_PER_SESSION });
    tillway.clock.advance(18_000);
    const refused = await pay(id, newAddress());
    assert.equal(refused.status, 429);
    assert.equal(refused.headers.get('retry-after'), '42');
    assert.match(refused.headers.get('content-type')!, /^text\/html/);
    assert.match(refused.text, /Please wait a moment/);
    assert.match(refused.text, /Try again in 42 seconds/);
    assert.match(refused.text, new RegExp(`href="/checkout/${id}"`));
    assert.match(refused.headers.get('ratelimit')!, /"payments-by-session";r=0;t=42$/);
    assert.equal((await pay(other, newAddress())).status, 400);
    assert.equal((await ask(`/checkout/${id}`, newAddress())).status, 200);
    tillway.clock.advance(42_000);
    assert.equal((await pay(id, newAddress())).status, 400);
  });

  it('is taken as often a minute and address as PAYMENT_RATE_LIMIT says, over all sessions', async () => {
    await using strict = await startTestService({ variables: { PAYMENT_RATE_LIMIT: '12' } });
    const start = (index: number) =>
      fetch(`${strict.url}/checkout/chk_${String(index).padStart(36, '0')}/pay`, {
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body: 'kind=card&total_card=1',
      });
    for (let index = 0; index < PAYMENTS; index++) assert.equal((await start(index)).status, 404);
    assert.equal((await start(PAYMENTS)).status, 429);
    strict.clock.advance(MINUTE_MS - 1);
    assert.equal((await start(PAYMENTS)).status, 429);
    strict.clock.advance(1);
    assert.equal((await start(PAYMENTS)).status, 404);
  });
});

describe('callbacks', () => {
  const SECRET = 'what this provider signs with';
  const path = (provider: string) => `/api/providers/${provider}/callbacks`;
  const forged = (from: string, provider = 'sandbox') => ask(path(provider), from, { method: 'POST', body: '{}' });

  /** Sends a callback that the provider has signed. */
  function genuine(from: string, fields: Record<string, unknown>): Promise<Asked> {
    const body = JSON.stringify({ type: 'charge.updated', state: 'CAPTURED', currency: 'USD', ...fields });
    const signature = signCallback(SECRET, Math.floor(tillway.clock.now() / 1000), body);
    return ask(path('signing'), from, { method: 'POST', body, headers: { 'x-provider-signature': signature } });
  }

  before(() => {
    const own = createSandboxProvider({ url: '', apiKey: '', callbackSecret: SECRET, now: tillway.clock.now });
    (tillway.service.deps.providers as Map<string, Provider>).set('signing', own);
  });

  it('that are forged get 429 after CALLBACK_RATE_LIMIT callbacks per minute and address', async () => {
    const from = newAddress();
    const first = await forged(from);
    assert.equal(first.headers.get('ratelimit-policy'), `"forged-callbacks";q=${CALLBACKS};w=60`);
    assert.equal(first.headers.get('ratelimit'), `"forged-callbacks";r=${CALLBACKS - 1};t=60`);
    assert.deepEqual(await statuses(CALLBACKS - 1, () => forged(from)), { 401: CALLBACKS - 1 });
    const refused = await forged(from);
    assert.deepEqual([refused.status, refused.headers.get('retry-after')], [429, '60']);
    assert.equal((await forged(from, 'unknown')).status, 429);
    assert.equal((await forged(newAddress())).status, 401);
    tillway.clock.advance(MINUTE_MS);
    assert.equal((await forged(from)).status, 401);
  });

  it('for a provider that is not connected count as forged', async () => {
    const from = newAddress();
    assert.deepEqual(await statuses(CALLBACKS + 1, () => forged(from, 'unknown')), { 404: CALLBACKS, 429: 1 });
  });

  it('that are genuine are applied, however many forged ones came from the same address', async () => {
    const from = newAddress();
    const created = await ask('/api/gateway/sessions', newAddress(), {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(sessionBody()),
    });
    const { id } = JSON.parse(created.text) as { id: string };
    await startPayment(tillway.service.deps, id, { kind: 'card', acceptedTotal: 10_000_000 });
    const [payment] = (await tillway.service.deps.store.checkout(id))!.payments;
    assert.deepEqual(await statuses(2 * CALLBACKS, () => forged(from, 'signing')), { 401: CALLBACKS, 429: CALLBACKS });
    const about = { order: id, charge: payment!.id, amount: 4999 };
    const applied = await genuine(from, { ...about, event: 'ev_after_forged' });
    assert.deepEqual([applied.status, applied.headers.get('ratelimit')], [200, null]);
    assert.equal((await tillway.service.deps.store.session(id))!.status, 'paid');
    const more = (index: number) => genuine(from, { ...about, event: `ev_${index}` });
    assert.deepEqual(await statuses(CALLBACKS + 1, more), { 200: CALLBACKS + 1 });
    assert.equal((await forged(from)).status, 429);
  });
});

describe('the API, with API_RATE_LIMIT=standard', () => {
  const read = (from: string) => ask('/api/agent/routes', from);
  const write = (from: string) =>
    ask('/api/gateway/sessions', from, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{}',
    });

  it(`answers ${CALLS_PER_SECOND.production} reads and as many writes a second to one address without a key`, async () => {
    tillway.clock.advance(1000);
    const from = newAddress();
    const [reads, writes] = [CALLS_PER_SECOND.production, CALLS_PER_SECOND.production];
    assert.deepEqual(await statuses(reads, () => read(from)), { 200: reads });
    const refused = await read(from);
    assert.deepEqual([refused.status, refused.headers.get('retry-after')], [429, '1']);
    assert.equal(refused.headers.get('ratelimit-policy'), `"reads";q=${reads};w=1`);
    assert.deepEqual(await statuses(writes, () => write(from)), { 400: writes });
    assert.equal((await write(from)).status, 429);
    tillway.clock.advance(1000);
    assert.equal((await read(from)).status, 200);
    assert.equal((await write(from)).status, 400);
  });
});

describe('the API, with API_RATE_LIMIT=standard and keys', () => {
  it('counts by key: fewer calls in sandbox than in production, and by address whoever has none', async () => {
    const keyOf = (prefix: string) => `${prefix}_${'k7Q'.repeat(15).slice(0, 43)}`;
    const keys = { sandbox: keyOf('sk_sandbox'), production: keyOf('sk_live') };
    await using guarded = await startTestService({
      variables: { API_RATE_LIMIT: 'standard', BOOTSTRAP_API_KEYS: Object.values(keys).join(',') },
    });
    const read = async (key?: string) => {
      const headers = key === undefined ? {} : { authorization: `Bearer ${key}` };
      const answer = await fetch(`${guarded.url}/api/gateway/sessions`, { headers });
      await answer.arrayBuffer();
      return answer.status;
    };
    for (const environment of ['sandbox', 'production'] as const) {
      const allowed = CALLS_PER_SECOND[environment];
      for (let count = 0; count < allowed; count++) assert.equal(await read(keys[environment]), 200);
      assert.equal(await read(keys[environment]), 429);
    }
    for (let count = 0; count < CALLS_PER_SECOND.production; count++) assert.equal(await read(), 401);
    assert.equal(await read(), 429);
    assert.equal(await read(keyOf('sk_live').replace('k7', 'zz')), 429);
    guarded.clock.advance(1000);
    assert.deepEqual([await read(keys.sandbox), await read()], [200, 401]);
  });
});

describe('what the limits remember', () => {
  it('is bounded: the window that ends first makes place', () => {
    let now = 0;
    const store = new WindowStore(() => now, 3);
    const count = (key: string) => {
      let current = 0;
      store.incr(key, (_error, result) => (current = result.current), 100);
      return current;
    };
    for (const key of ['a', 'b', 'c', 'b']) {
      count(key);
      now += 1;
    }
    assert.equal(count('d'), 1);
    assert.equal(store.size, 3);
    assert.equal(count('b'), 3);
    assert.equal(count('a'), 1);
    now += 100;
    assert.equal(count('e'), 1);
    assert.equal(store.size, 1);
  });

  it('lasts as long as a window and no longer, also where the clock is put back', () => {
    let now = 1000;
    const store = new WindowStore(() => now, 3);
    const count = () => {
      let current = 0;
      store.incr('a', (_error, result) => (current = result.current), 100);
      return current;
    };
    assert.deepEqual([count(), count()], [1, 2]);
    now = 1099;
    assert.equal(count(), 3);
    now = 1100;
    assert.equal(count(), 1);
    now = 50;
    assert.equal(count(), 1);
  });
});
