import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { ENVIRONMENTS } from '../../src/domain/route.ts';
import { CALLS_PER_SECOND, PAYMENTS_PER_SESSION } from '../../src/http/rate-limits.ts';
import { WindowStore } from '../../src/http/window-store.ts';
import { signCallback } from '../../src/webhooks/sign.ts';
import { SECRET, start, trustSecret } from '../simulator/buyer.ts';
import { paymentsOf } from '../support/gateway.ts';
import { bearer } from '../support/keys.ts';
import type { Refusal } from '../support/refusal.ts';
import { type TestService, sessionBody, startTestService } from '../support/service.ts';
import { suiteService } from '../support/suite.ts';

const MINUTE_MS = 60_000;
const PAGES = 8;
const CALLBACKS = 7;

const tillway = suiteService({
  variables: {
    TRUSTED_PROXIES: '127.0.0.1, 10.0.0.0/8,fd00::/8',
    PAGE_RATE_LIMIT: String(PAGES),
    CALLBACK_RATE_LIMIT: String(CALLBACKS),
    PAYMENT_RATE_LIMIT: '12',
    API_RATE_LIMIT: 'standard',
    ALLOW_UNAUTHENTICATED: 'true',
  },
});

interface ReceivedResponse {
  status: number;
  headers: Headers;
  text: string;
}

let lastAddress = 0;

/** Returns a new client address. */
function newAddress(): string {
  lastAddress += 1;
  return `198.51.${lastAddress >> 8}.${lastAddress & 255}`;
}

async function send({ url }: TestService, path: string, init: RequestInit = {}): Promise<ReceivedResponse> {
  const response = await fetch(url + path, { ...init, redirect: 'manual' });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

/** Sends a request as a trusted proxy would forward it for a client at the given address. */
function ask(path: string, from: string, { headers, ...init }: RequestInit = {}): Promise<ReceivedResponse> {
  return send(tillway, path, { ...init, headers: { 'x-forwarded-for': from, ...(headers as Record<string, string>) } });
}

const jsonOf = (body: object) => ({
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(body),
});
const formOf = (fields: Record<string, string>) => ({ method: 'POST', body: new URLSearchParams(fields) });

/** Sends requests; asserts the number of responses with each status. */
async function assertStatuses(
  expected: Record<number, number>,
  request: (index: number) => Promise<ReceivedResponse>,
): Promise<void> {
  const counts: Record<number, number> = {};
  for (let left = Object.values(expected).reduce((sum, count) => sum + count), index = 0; left > 0; left--, index++) {
    const { status } = await request(index);
    counts[status] = (counts[status] ?? 0) + 1;
  }
  assert.deepEqual(counts, expected);
}

/** Asserts that the requests share one page limit: the first PAGES are accepted, the others are rejected. */
async function assertShared(request: (index: number) => Promise<ReceivedResponse>): Promise<void> {
  await assertStatuses({ 200: PAGES }, request);
  await assertStatuses({ 429: PAGES }, request);
}

async function newSession(): Promise<string> {
  const { text } = await ask('/api/gateway/sessions', newAddress(), jsonOf(sessionBody()));
  return (JSON.parse(text) as { id: string }).id;
}

describe('the rate limit of public pages', () => {
  it('an address can request PAGE_RATE_LIMIT pages; further requests get 429 in the error envelope', async () => {
    const from = newAddress();
    const first = await ask('/', from);
    assert.equal(first.headers.get('ratelimit-policy'), `"pages";q=${PAGES};w=60`);
    assert.equal(first.headers.get('ratelimit'), `"pages";r=${PAGES - 1};t=60`);
    await assertStatuses({ 200: PAGES - 1 }, () => ask('/docs', from));
    tillway.clock.advance(20_500);
    const refused = await ask('/', from);
    assert.deepEqual([refused.status, refused.headers.get('retry-after')], [429, '40']);
    assert.equal(refused.headers.get('ratelimit'), '"pages";r=0;t=40');
    const { ok, error } = JSON.parse(refused.text) as Refusal;
    assert.deepEqual([ok, error.code], [false, 'rate_limited']);
    assert.match(error.suggestion, /Wait 40 s/);
    assert.equal((await ask('/', newAddress())).status, 200);
    tillway.clock.advance(39_499);
    assert.equal((await ask('/', from)).status, 429);
    tillway.clock.advance(1);
    assert.equal((await ask('/', from)).status, 200);
  });

  it('the rate limit of pages counts unknown paths, but not the health probes', async () => {
    const from = newAddress();
    await assertStatuses({ 404: PAGES, 429: 1 }, (index) => ask(`/nothing/${index}`, from));
    await assertStatuses({ 200: 2 * PAGES }, () => ask('/healthz', from));
    assert.equal((await ask('/readyz', from)).headers.get('ratelimit'), null);
  });

  it('the rate limit of pages applies per IPv6 /64 network, and per IPv4 address in any notation', async () => {
    await assertShared((index) => ask('/', `2001:db8:7:9:${index}::${index}`));
    assert.equal((await ask('/', '2001:db8:7:9:ffff:ffff:ffff:ffff')).status, 429);
    assert.equal((await ask('/', '2001:db8:7:a::1')).status, 200);
    const from = newAddress();
    await assertShared((index) => ask('/', index < PAGES - 1 ? from : `::ffff:${from}`));
  });
});

describe('the X-Forwarded-For header', () => {
  it('X-Forwarded-For is read from the right up to the first untrusted address', async () => {
    const from = newAddress();
    await assertShared((index) => ask('/', `203.0.113.${index}, ${from}, 10.1.2.3`));
  });

  it('X-Forwarded-For identifies the same client with a port, in brackets or in quotation marks', async () => {
    const v4 = newAddress();
    const v6 = '2001:db8:5:5::1';
    for (const forms of [
      [v4, `${v4}:5555`, `"${v4}"`, `"${v4}:80"`, `${v4}, 10.1.2.3:443`, `${v4},"[fd00::7]:443"`],
      [v6, `[${v6}]`, `[${v6}]:443`, `"[${v6}]:443"`],
    ])
      await assertShared((index) => ask('/', forms[index % forms.length]!));
    assert.equal((await ask('/', `${newAddress()}:5555`)).status, 200);
  });

  it('X-Forwarded-For is ignored without trusted proxies, with one line in the log', async () => {
    await using open = await startTestService({ variables: { PAGE_RATE_LIMIT: '3' } });
    const spoofed = (index: number) =>
      send(open, '/', { headers: { 'x-forwarded-for': `198.51.100.${index}`, 'x-forwarded-proto': 'https' } });
    await assertStatuses({ 200: 3, 429: 1 }, spoofed);
    assert.equal(open.logged.filter((line) => line.includes('TRUSTED_PROXIES')).length, 1);
  });
});

describe('starting a payment', () => {
  const pay = (id: string) => ask(`/checkout/${id}/pay`, newAddress(), formOf({ kind: 'nothing' }));

  it(`a session allows ${PAYMENTS_PER_SESSION} starts of a payment per minute from all addresses, and then shows an error page`, async () => {
    const [id, other] = [await newSession(), await newSession()];
    await assertStatuses({ 400: PAYMENTS_PER_SESSION }, () => pay(id));
    tillway.clock.advance(18_000);
    const { status, headers, text } = await pay(id);
    assert.deepEqual([status, headers.get('retry-after')], [429, '42']);
    assert.match(headers.get('content-type')!, /^text\/html/);
    assert.match(text, /Please wait a moment/);
    assert.match(text, /Try again in 42 seconds/);
    assert.match(text, new RegExp(`href="/checkout/${id}"`));
    assert.match(headers.get('ratelimit')!, /"payments-by-session";r=0;t=42$/);
    assert.equal((await pay(other)).status, 400);
    assert.equal((await ask(`/checkout/${id}`, newAddress())).status, 200);
    tillway.clock.advance(42_000);
    assert.equal((await pay(id)).status, 400);
  });

  it('PAYMENT_RATE_LIMIT limits the starts of payments per address for all sessions together', async () => {
    await using strict = await startTestService({ variables: { PAYMENT_RATE_LIMIT: '12' } });
    const start = (index = 0) =>
      send(strict, `/checkout/chk_${String(index).padStart(36, '0')}/pay`, formOf({ kind: 'card', total_card: '1' }));
    await assertStatuses({ 404: 12, 429: 1 }, start);
    strict.clock.advance(MINUTE_MS - 1);
    assert.equal((await start()).status, 429);
    strict.clock.advance(1);
    assert.equal((await start()).status, 404);
  });
});

describe('provider callbacks', () => {
  const path = (provider: string) => `/api/providers/${provider}/callbacks`;
  const sendForged = (from: string, provider = 'sandbox') => ask(path(provider), from, { method: 'POST', body: '{}' });

  /** Sends a callback with a valid provider signature. */
  function sendSigned(from: string, fields: Record<string, unknown>): Promise<ReceivedResponse> {
    const body = JSON.stringify({ type: 'charge.updated', state: 'CAPTURED', currency: 'USD', ...fields });
    const signature = signCallback(SECRET, Math.floor(tillway.clock.now() / 1000), body);
    return ask(path('sandbox'), from, { method: 'POST', body, headers: { 'x-provider-signature': signature } });
  }

  before(() => trustSecret(tillway));

  it('callbacks with a forged signature get 429 after CALLBACK_RATE_LIMIT callbacks per minute and address', async () => {
    const from = newAddress();
    const first = await sendForged(from);
    assert.equal(first.headers.get('ratelimit-policy'), `"forged-callbacks";q=${CALLBACKS};w=60`);
    assert.equal(first.headers.get('ratelimit'), `"forged-callbacks";r=${CALLBACKS - 1};t=60`);
    await assertStatuses({ 401: CALLBACKS - 1 }, () => sendForged(from));
    const refused = await sendForged(from);
    assert.deepEqual([refused.status, refused.headers.get('retry-after')], [429, '60']);
    assert.equal((await sendForged(from, 'unknown')).status, 429);
    assert.equal((await sendForged(newAddress())).status, 401);
    tillway.clock.advance(MINUTE_MS);
    assert.equal((await sendForged(from)).status, 401);
  });

  it('callbacks of an unknown provider count as forged', async () => {
    const from = newAddress();
    await assertStatuses({ 404: CALLBACKS, 429: 1 }, () => sendForged(from, 'unknown'));
  });

  it('callbacks with a valid signature are applied even after many forged callbacks from the same address', async () => {
    const from = newAddress();
    const id = await newSession();
    await start(tillway, id, 'card');
    const [payment] = await paymentsOf(tillway, id);
    await assertStatuses({ 401: CALLBACKS, 429: CALLBACKS }, () => sendForged(from));
    const about = { order: id, charge: payment!.id, amount: 4999 };
    const applied = await sendSigned(from, { ...about, event: 'ev_after_forged' });
    assert.deepEqual([applied.status, applied.headers.get('ratelimit')], [200, null]);
    assert.equal((await tillway.service.deps.store.session(id))!.status, 'paid');
    await assertStatuses({ 200: CALLBACKS + 1 }, (index) => sendSigned(from, { ...about, event: `ev_${index}` }));
    assert.equal((await sendForged(from)).status, 429);
  });
});

describe('the API, with API_RATE_LIMIT=standard', () => {
  const limit = CALLS_PER_SECOND.production;

  it(`the API accepts ${limit} reads and ${limit} writes per second from one address without a key`, async () => {
    tillway.clock.advance(1000);
    const from = newAddress();
    const read = () => ask('/api/agent/routes', from);
    const write = () => ask('/api/gateway/sessions', from, jsonOf({}));
    await assertStatuses({ 200: limit }, read);
    const refused = await read();
    assert.deepEqual([refused.status, refused.headers.get('retry-after')], [429, '1']);
    assert.equal(refused.headers.get('ratelimit-policy'), `"reads";q=${limit};w=1`);
    await assertStatuses({ 400: limit, 429: 1 }, write);
    tillway.clock.advance(1000);
    assert.equal((await read()).status, 200);
    assert.equal((await write()).status, 400);
  });

  it('the API limits each key, with a lower limit in sandbox, and requests without a valid key by address', async () => {
    const keyOf = (prefix: string) => `${prefix}_${'k7Q'.repeat(15).slice(0, 43)}`;
    const keys = { sandbox: keyOf('sk_sandbox'), production: keyOf('sk_live') };
    const variables = { API_RATE_LIMIT: 'standard', BOOTSTRAP_API_KEYS: Object.values(keys).join(',') };
    await using guarded = await startTestService({ variables });
    const read = (key?: string) =>
      send(guarded, '/api/gateway/sessions', { headers: key === undefined ? {} : bearer(key) });
    for (const environment of ENVIRONMENTS)
      await assertStatuses({ 200: CALLS_PER_SECOND[environment], 429: 1 }, () => read(keys[environment]));
    await assertStatuses({ 401: limit, 429: 1 }, () => read());
    assert.equal((await read(keyOf('sk_live').replace('k7', 'zz'))).status, 429);
    guarded.clock.advance(1000);
    assert.equal((await read(keys.sandbox)).status, 200);
    assert.equal((await read()).status, 401);
  });
});

describe('the store of rate limit windows', () => {
  let now = 0;
  /** Returns a store of at most three windows of 100 ms, and a function that counts a call of a key. */
  const createCounter = () => {
    const store = new WindowStore(() => now, 3);
    const count = (key: string) => {
      let current = 0;
      store.incr(key, (_error, result) => (current = result.current), 100);
      return current;
    };
    return { store, count };
  };

  it('a full window store replaces the window that ends first', () => {
    const { store, count } = createCounter();
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

  it('a window store keeps a window for exactly its length, also if the clock is set back', () => {
    const { count } = createCounter();
    const counts = [1000, 1000, 1099, 1100, 50].map((time) => {
      now = time;
      return count('a');
    });
    assert.deepEqual(counts, [1, 2, 3, 1, 1]);
  });
});
