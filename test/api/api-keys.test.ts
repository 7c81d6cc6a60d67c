// @run on=sqlite,postgres
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ApiKeyResource } from '../../src/contract/api-key-contract.ts';
import { hashOfKey } from '../../src/domain/api-key.ts';
import { contentsOf } from '../support/database.ts';
import { ADMIN, BOOTSTRAP, bearer, makeKey } from '../support/keys.ts';
import type { List } from '../support/merchant.ts';
import { sendRaw } from '../support/raw-http.ts';
import { type TestService, call, sessionBody, startTestService } from '../support/service.ts';
import { idOf } from '../fixtures/checkout-records.ts';
import { type Refusal } from '../support/refusal.ts';

type Key = ApiKeyResource & { key?: string };

const SECOND_MS = 1000;
const MINUTE_MS = 60_000;
const PATIENCE_MS = 60_000;

let service: TestService;
before(async () => {
  service = await startTestService({ variables: BOOTSTRAP });
});
after(() => service[Symbol.asyncDispose]());

const keysUrl = () => `${service.url}/api/gateway/keys`;
const ask = (key: string, url = service.url) =>
  call<Refusal>('GET', `${url}/api/gateway/sessions`, undefined, bearer(key));
const create = (body: unknown, key = ADMIN.sandbox) => call<Key & Refusal>('POST', keysUrl(), body, bearer(key));
const list = async (key = ADMIN.sandbox) => (await call<List<Key>>('GET', keysUrl(), undefined, bearer(key))).body.data;
const revoke = (id: string, key = ADMIN.sandbox, url = service.url) =>
  call<Key & Refusal>('POST', `${url}/api/gateway/keys/${id}/revoke`, undefined, bearer(key));

describe('an API key', () => {
  it('is shown once, and stored as a hash', async () => {
    const { body: made } = await create({ name: 'Shop backend', scope: 'write' });
    assert.match(made.key!, /^sk_sandbox_[0-9A-Za-z]{43}$/);
    assert.deepEqual([made.environment, made.source, made.last4], ['sandbox', 'api', made.key!.slice(-4)]);
    assert.equal((await ask(made.key!)).status, 200);
    const listed = (await list()).find(({ id }) => id === made.id)!;
    assert.ok(!('key' in listed));
    assert.ok(!JSON.stringify(await list()).includes(made.key!));
    const kept = await contentsOf(service.databaseUrl);
    assert.ok(!kept.includes(made.key!) && !kept.includes(made.key!.slice('sk_sandbox_'.length)));
    assert.ok(kept.includes(hashOfKey(made.key!)));
  });

  it('has the environment of the admin key that makes it', async () => {
    const live = await create({ name: 'Live', scope: 'read' }, ADMIN.production);
    assert.match(live.body.key!, /^sk_live_/);
    const refused = await create({ name: 'x', scope: 'read', environment: 'production' });
    assert.deepEqual([refused.status, refused.body.error.code], [403, 'forbidden']);
    assert.equal((await revoke(live.body.id)).status, 404);
    assert.ok(!(await list()).some(({ id }) => id === live.body.id));
    assert.ok((await list(ADMIN.production)).some(({ id }) => id === live.body.id));
  });

  it('has limits exactly if its scope is agent', async () => {
    const { body: without, status } = await create({ name: 'x', scope: 'agent' });
    assert.deepEqual([status, without.error.code, without.error.field], [400, 'invalid_input', 'spendPerCheckout']);
    const more = await create({ name: 'x', scope: 'write', spendPerDay: 5 });
    assert.deepEqual([more.status, more.body.error.field], [400, 'spendPerDay']);
    for (const limits of [{ spendPerDay: 1 }, { spendPerCheckout: 1 }, { spendPerDay: 1, spendPerCheckout: 1 }]) {
      assert.equal((await create({ name: 'x', scope: 'agent', ...limits })).status, 200);
    }
    for (const limits of [{ spendPerDay: 0 }, { spendPerDay: 1.001 }, { spendPerCheckout: 10_000.01 }]) {
      assert.equal((await create({ name: 'x', scope: 'agent', ...limits })).status, 400, JSON.stringify(limits));
    }
  });

  it('records its last use once a minute, without delaying the response', async (context) => {
    const { body: made } = await create({ name: 'Used', scope: 'read' });
    const { store } = service.service.deps;
    const { commit } = store;
    let disk = Promise.resolve();
    const notes: Promise<unknown>[] = [];
    context.mock.method(store, 'commit', (...asked: Parameters<typeof commit>) => {
      const note = disk.then(() => commit(...asked));
      notes.push(note);
      return note;
    });
    const used = async () => (await list()).find(({ id }) => id === made.id)!.lastUsedAt;
    /** Asks with the key while nothing can be written, and then lets everything be written. */
    const usedAfter = async () => {
      const slow = Promise.withResolvers<void>();
      disk = slow.promise;
      const answered = await Promise.race([ask(made.key!), sleep(PATIENCE_MS, undefined, { ref: false })]);
      slow.resolve();
      assert.equal(answered?.status, 200, 'the answer waits for the note');
      await Promise.all(notes);
      return used();
    };
    assert.equal(await used(), null);
    const first = new Date(service.clock.now()).toISOString();
    assert.equal(await usedAfter(), first);
    service.clock.advance(MINUTE_MS - 1);
    assert.equal(await usedAfter(), first);
    service.clock.advance(1);
    assert.equal(await usedAfter(), new Date(service.clock.now()).toISOString());
  });

  it('is rejected permanently once it is revoked', async () => {
    const { body: made } = await create({ name: 'Lost', scope: 'read' });
    assert.equal((await ask(made.key!)).status, 200);
    const revoked = await revoke(made.id);
    assert.deepEqual([revoked.status, revoked.body.status], [200, 'revoked']);
    const { status, body } = await ask(made.key!);
    assert.deepEqual([status, body.error.code, body.error.message], [401, 'unauthorized', 'This API key was revoked.']);
    service.clock.advance(MINUTE_MS);
    assert.equal((await revoke(made.id)).body.revokedAt, revoked.body.revokedAt);
    assert.equal((await revoke(idOf('key', 999))).status, 404);
  });

  it('creates and revokes no key once it is revoked, even while its cached copy is valid', async () => {
    const { body: lost } = await create({ name: 'Stolen', scope: 'admin' });
    const { body: kept } = await create({ name: 'Kept', scope: 'read' });
    assert.equal((await ask(lost.key!)).status, 200);
    const { store, now } = service.service.deps;
    await store.commit([{ type: 'api_key_revoked', keyId: lost.id, at: now() }]);
    assert.equal((await ask(lost.key!)).status, 200);
    const before = (await list()).length;
    for (const { status, body } of [
      await create({ name: 'Successor', scope: 'admin' }, lost.key),
      await revoke(kept.id, lost.key),
    ]) {
      assert.deepEqual([status, body.error.message], [401, 'This API key was revoked.']);
    }
    assert.equal((await list()).length, before);
    assert.equal((await ask(kept.key!)).status, 200);
  });

  it('is rejected by another instance within a second of its revocation', async () => {
    await using other = await startTestService({ variables: BOOTSTRAP, beside: service });
    const key = await makeKey(service.url, 'sandbox', { scope: 'read' });
    const { id } = (await list()).find(({ last4 }) => last4 === key.slice(-4))!;
    assert.equal((await ask(key, other.url)).status, 200);
    await revoke(id);
    other.clock.advance(SECOND_MS - 1);
    assert.equal((await ask(key, other.url)).status, 200);
    other.clock.advance(1);
    assert.equal((await ask(key, other.url)).status, 401);
  });
});

describe('the Authorization header', () => {
  const good = ADMIN.sandbox;
  const headers: [what: string, value: string][] = [
    ['another scheme', `Basic ${good}`],
    ['no scheme', good],
    ['no key', 'Bearer'],
    ['a space alone', 'Bearer  '],
    ['more than the key', `Bearer ${good} ${good}`],
    ['a key that is cut off', `Bearer ${good.slice(0, -1)}`],
    ['a key with more at its end', `Bearer ${good}x`],
    ['a key of another program', 'Bearer sk_test_4eC39HqLyjWDarjtT1zdp7dc'],
    ['a key that was never made', `Bearer sk_sandbox_${'0'.repeat(43)}`],
    ['that key as one of production', `Bearer ${good.replace('sandbox', 'live')}`],
    ['two in one', `Bearer ${good}, Bearer ${good}`],
  ];
  for (const [what, authorization] of headers) {
    it(`is rejected with ${what}`, async () => {
      const answer = await call<Refusal>('GET', `${service.url}/api/gateway/sessions`, undefined, { authorization });
      assert.deepEqual([answer.status, answer.body.error.code], [401, 'unauthorized']);
      assert.equal(answer.headers.get('www-authenticate'), 'Bearer');
      assert.ok(!JSON.stringify(answer.body).includes(good.slice(11)));
    });
  }

  it('is rejected if there are two of them', async () => {
    const twice = `authorization: Bearer ${good}\r\nAuthorization: Bearer ${good}`;
    const head = `GET /api/gateway/sessions HTTP/1.1\r\nhost: ${new URL(service.url).host}`;
    assert.equal((await sendRaw(service.url, `${head}\r\n${twice}\r\nconnection: close\r\n\r\n`)).status, 401);
  });

  it('may contain the scheme in any case', async () => {
    const { status } = await call('GET', keysUrl(), undefined, { authorization: `bearer ${good}` });
    assert.equal(status, 200);
  });
});

describe('a service without keys', () => {
  it('is open on loopback and logs it, until any instance has a first key', async () => {
    await using open = await startTestService();
    assert.equal((await call('GET', `${open.url}/api/gateway/sessions`)).status, 200);
    const wrong = await ask(ADMIN.sandbox, open.url);
    assert.deepEqual([wrong.status, wrong.body.error.code], [401, 'unauthorized']);
    const first = await call<Refusal>('POST', `${open.url}/api/gateway/keys`, { name: 'x', scope: 'admin' });
    assert.deepEqual([first.status, first.body.error.code], [403, 'forbidden']);
    assert.match(first.body.error.suggestion ?? '', /tillway keys create/);
    assert.ok(open.logged.some((line) => line.includes('there is no API key: the API is open to every program')));

    await using other = await startTestService({ variables: BOOTSTRAP, beside: open });
    open.clock.advance(SECOND_MS);
    assert.equal((await call('GET', `${open.url}/api/gateway/sessions`)).status, 401);
    assert.equal((await ask(ADMIN.sandbox, open.url)).status, 200);
    assert.equal((await ask(ADMIN.sandbox, other.url)).status, 200);
  });

  it('stays closed after its last key is revoked', async () => {
    const variables = { BOOTSTRAP_API_KEYS: ADMIN.sandbox };
    await using first = await startTestService({ variables });
    const [own] = (await call<List<Key>>('GET', `${first.url}/api/gateway/keys`, undefined, bearer(ADMIN.sandbox))).body
      .data;
    assert.equal(own!.source, 'configuration');
    assert.equal((await revoke(own!.id, ADMIN.sandbox, first.url)).status, 200);
    first.clock.advance(MINUTE_MS);
    assert.equal((await call('GET', `${first.url}/api/gateway/sessions`)).status, 401);
    // The setting names it still.
    await using again = await startTestService({ variables, beside: first });
    assert.ok(again.logged.some((line) => line.includes('was revoked, and stays so') && line.includes(own!.id)));
    assert.equal((await ask(ADMIN.sandbox, again.url)).status, 401);
    assert.equal((await call('GET', `${again.url}/api/gateway/sessions`)).status, 401);
  });
});

describe('a service that other machines reach', () => {
  const REACHED = { HOST: '0.0.0.0' };
  const refusal =
    /^HOST must be a loopback address while there is no active API key: .*tillway keys create.*BOOTSTRAP_API_KEYS.*ALLOW_UNAUTHENTICATED=true/;

  it('does not start without an active key, and starts with one', async () => {
    await assert.rejects(startTestService({ variables: REACHED }), { message: refusal, name: 'Error' });
    await using closed = await startTestService({ variables: { ...REACHED, ...BOOTSTRAP } });
    const local = closed.url.replace('0.0.0.0', '127.0.0.1');
    assert.equal((await fetch(`${local}/api/gateway/sessions`)).status, 401);
    assert.equal((await fetch(`${local}/api/gateway/sessions`, { headers: bearer(ADMIN.sandbox) })).status, 200);
    for (const admin of [ADMIN.sandbox, ADMIN.production]) {
      const { body } = await call<List<Key>>('GET', `${local}/api/gateway/keys`, undefined, bearer(admin));
      assert.equal((await revoke(body.data[0]!.id, admin, local)).status, 200);
    }
    await assert.rejects(startTestService({ variables: REACHED, beside: closed }), { message: refusal });
  });

  it('does not start without a key behind a public name or a trusted proxy either', async () => {
    const url = 'https://pay.example';
    const exposing = { BASE_URL: url, CHECKOUT_URL: url, TRUSTED_PROXIES: '127.0.0.1' };
    for (const [name, value] of Object.entries(exposing)) {
      const needed = `${name} must be (?:of a loopback address|left out) while there is no active API key: `;
      const message = new RegExp(`^${needed}`);
      await assert.rejects(startTestService({ variables: { [name]: value } }), { message });
    }
    const variables = { TRUSTED_PROXIES: '127.0.0.1', ALLOW_UNAUTHENTICATED: 'true' };
    await using open = await startTestService({ variables });
    assert.ok(open.logged.some((line) => line.includes('the API is open to everyone who reaches it')));
    assert.ok(!(await (await fetch(open.url)).text()).includes('action="/demo"'));
  });

  it('starts open with ALLOW_UNAUTHENTICATED, and logs to whom', async () => {
    await using open = await startTestService({ variables: { ...REACHED, ALLOW_UNAUTHENTICATED: 'true' } });
    const local = open.url.replace('0.0.0.0', '127.0.0.1');
    assert.equal((await fetch(`${local}/api/gateway/sessions`)).status, 200);
    assert.ok(open.logged.some((line) => line.includes('the API is open to everyone who reaches it')));
  });
});

describe('logs, lists and errors', () => {
  it('never contain a key', async () => {
    const { body: made } = await create({ name: 'Secret', scope: 'read' });
    const texts = [made.key!, ...Object.values(ADMIN)];
    await ask(made.key!);
    await call('POST', `${service.url}/api/gateway/sessions`, sessionBody(), bearer(made.key!));
    await ask(`${made.key!}x`);
    await call('GET', `${service.url}/api/gateway/sessions?customer=${made.key!}`, undefined, bearer(ADMIN.sandbox));
    await call('GET', `${service.url}/api/gateway/sessions/${made.key!}`, undefined, bearer(ADMIN.sandbox));
    const answers = [JSON.stringify(await list()), service.logged.join('')];
    for (const text of texts) {
      for (const answer of answers) assert.ok(!answer.includes(text.slice(-43)));
    }
    assert.ok(service.logged.length > 10);
  });
});
