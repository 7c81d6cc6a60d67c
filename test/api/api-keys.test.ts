// @run on=sqlite,postgres
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ApiKey, CreatedApiKey } from '../../sdk/src/index.ts';
import { hashOfKey } from '../../src/domain/api-key.ts';
import type { AppDeps } from '../../src/http/app.ts';
import { createGate } from '../../src/operations/access/key-gate.ts';
import { contentsOf } from '../support/database.ts';
import { gatewayOf } from '../support/gateway.ts';
import { ADMIN, BOOTSTRAP, bearer } from '../support/keys.ts';
import { sendRaw } from '../support/raw-http.ts';
import { type TestService, startTestService } from '../support/service.ts';
import { idOf } from '../fixtures/checkout-records.ts';
import { refusal } from '../support/refusal.ts';
import { suiteService } from '../support/suite.ts';

const SECOND_MS = 1000;
const MINUTE_MS = 60_000;
const PATIENCE_MS = 60_000;

const service = suiteService({ variables: BOOTSTRAP });

const as = (key = ADMIN.sandbox, on: { url: string } = service) => gatewayOf(on, bearer(key));
const create = (body: object, key = ADMIN.sandbox) => as(key).post<CreatedApiKey>('keys', body);
const refuseToCreate = (expected: string, body: object, key = ADMIN.sandbox) =>
  as(key).refused(expected, 'POST keys', body);
const list = (key = ADMIN.sandbox, on?: { url: string }) => as(key, on).list<ApiKey>('keys');
const revoke = (id: string, key = ADMIN.sandbox, on?: { url: string }) => as(key, on).post<ApiKey>(`keys/${id}/revoke`);
/** `use` asserts that a key is accepted, `reject` that it is rejected. */
const use = (key: string, on?: { url: string }) => as(key, on).list('sessions');
const reject = (key: string, on?: { url: string }) => as(key, on).refused('401 unauthorized', 'GET sessions');
const REVOKED = 'This API key was revoked.';

describe('an API key', () => {
  it('an API key is shown once, and stored as a hash', async () => {
    const { key, ...made } = await create({ name: 'Shop backend', scope: 'write' });
    assert.match(key, /^sk_sandbox_[0-9A-Za-z]{43}$/);
    assert.deepEqual([made.environment, made.source, made.last4], ['sandbox', 'api', key.slice(-4)]);
    await use(key);
    assert.ok((await list()).some(({ id }) => id === made.id));
    assert.ok(!JSON.stringify(await list()).includes(key));
    const stored = await contentsOf(service.databaseUrl);
    assert.ok(!stored.includes(key.slice('sk_sandbox_'.length)));
    assert.ok(stored.includes(hashOfKey(key)));
  });

  it('an API key belongs to the environment of the admin key that created it', async () => {
    const live = await create({ name: 'Live', scope: 'read' }, ADMIN.production);
    assert.match(live.key, /^sk_live_/);
    await refuseToCreate('403 forbidden', { name: 'x', scope: 'read', environment: 'production' });
    for (const id of [live.id, idOf('key', 999)]) await as().refused('404 not_found', `POST keys/${id}/revoke`);
    assert.ok(!(await list()).some(({ id }) => id === live.id));
    assert.ok((await list(ADMIN.production)).some(({ id }) => id === live.id));
  });

  it('an API key must have a spend limit if its scope is agent, and cannot have one otherwise', async () => {
    const name = 'x';
    const scope = 'agent';
    for (const [body, expected] of [
      [{ name, scope }, 'spendPerCheckout'],
      [{ name, scope: 'write', spendPerDay: 5 }, 'spendPerDay'],
      [{ name, scope, spendPerDay: 0 }, 'spendPerDay'],
      [{ name, scope, spendPerDay: 1.001 }, 'spendPerDay'],
      [{ name, scope, spendPerCheckout: 10_000.01 }, 'spendPerCheckout'],
    ] as const)
      assert.equal((await refuseToCreate('400 invalid_input', body)).field, expected);
    for (const limits of [{ spendPerDay: 1 }, { spendPerCheckout: 1 }, { spendPerDay: 1, spendPerCheckout: 1 }])
      await create({ name, scope, ...limits });
  });

  it('an API key records its last use once a minute, without delaying the response', async (context) => {
    const made = await create({ name: 'Used', scope: 'read' });
    const { store } = service.service.deps;
    const { commit } = store;
    let disk = Promise.resolve();
    const commits: Promise<unknown>[] = [];
    context.mock.method(store, 'commit', (...args: Parameters<typeof commit>) => {
      const committed = disk.then(() => commit(...args));
      commits.push(committed);
      return committed;
    });
    const used = async () => (await list()).find(({ id }) => id === made.id)!.lastUsedAt;
    /** Uses the key while commits are blocked, then unblocks them; returns the recorded last use. */
    const usedAfter = async () => {
      const slow = Promise.withResolvers<void>();
      disk = slow.promise;
      const answered = await Promise.race([use(made.key), sleep(PATIENCE_MS, undefined, { ref: false })]);
      slow.resolve();
      assert.ok(answered, 'the response waits for the commit');
      await Promise.all(commits);
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

  it('an API key is rejected permanently once it is revoked', async () => {
    const { key, id } = await create({ name: 'Lost', scope: 'read' });
    await use(key);
    const { status, revokedAt } = await revoke(id);
    assert.equal(status, 'revoked');
    assert.equal((await reject(key)).message, REVOKED);
    service.clock.advance(MINUTE_MS);
    assert.equal((await revoke(id)).revokedAt, revokedAt);
  });

  it('an API key cannot create or revoke keys once it is revoked, even while an instance still caches it', async () => {
    const lost = await create({ name: 'Stolen', scope: 'admin' });
    const active = await create({ name: 'Active', scope: 'read' });
    await use(lost.key);
    const { store, now } = service.service.deps;
    await store.commit([{ type: 'api_key_revoked', keyId: lost.id, environment: lost.environment, at: now() }]);
    await use(lost.key);
    const before = (await list()).length;
    for (const request of ['POST keys', `POST keys/${active.id}/revoke`]) {
      const body = request === 'POST keys' ? { name: 'Successor', scope: 'admin' } : undefined;
      assert.equal((await as(lost.key).refused('401 unauthorized', request, body)).message, REVOKED);
    }
    assert.equal((await list()).length, before);
    await use(active.key);
  });

  it('an API key is rejected by another instance within a second of its revocation', async () => {
    await using other = await startTestService({ variables: BOOTSTRAP, beside: service });
    const { key, id } = await create({ name: 'Known', scope: 'read' });
    await use(key, other);
    await revoke(id);
    other.clock.advance(SECOND_MS - 1);
    await use(key, other);
    other.clock.advance(1);
    await reject(key, other);
  });
});

describe('the Authorization header', () => {
  const good = ADMIN.sandbox;
  const headers: [what: string, value: string][] = [
    ['another scheme', `Basic ${good}`],
    ['no scheme', good],
    ['no key', 'Bearer'],
    ['a space alone', 'Bearer  '],
    ['text after the key', `Bearer ${good} ${good}`],
    ['a key that is cut off', `Bearer ${good.slice(0, -1)}`],
    ['a key with an extra character', `Bearer ${good}x`],
    ['a key of another service', 'Bearer sk_test_4eC39HqLyjWDarjtT1zdp7dc'],
    ['a key that does not exist', `Bearer sk_sandbox_${'0'.repeat(43)}`],
    ['a sandbox key with the production prefix', `Bearer ${good.replace('sandbox', 'live')}`],
    ['two values in one header', `Bearer ${good}, Bearer ${good}`],
  ];
  for (const [what, authorization] of headers) {
    it(`a request is rejected if its Authorization header is invalid: ${what}`, async () => {
      const request = ['GET', as().url('sessions'), undefined, { authorization }] as const;
      const answer = await refusal([401, 'unauthorized'], ...request);
      assert.equal(answer.headers.get('www-authenticate'), 'Bearer');
      assert.ok(!JSON.stringify(answer.body).includes(good.slice(11)));
    });
  }

  it('a request with two Authorization headers is rejected', async () => {
    const twice = `authorization: Bearer ${good}\r\nAuthorization: Bearer ${good}`;
    const head = `GET /api/gateway/sessions HTTP/1.1\r\nhost: ${new URL(service.url).host}`;
    assert.equal((await sendRaw(service.url, `${head}\r\n${twice}\r\nconnection: close\r\n\r\n`)).status, 401);
  });

  it('the scheme of the Authorization header may be in upper or lower case', async () => {
    await gatewayOf(service, { authorization: `bearer ${good}` }).list('keys');
  });
});

describe('a service without keys', () => {
  it('a service without API keys is open on loopback and logs a warning, until any instance creates the first key', async () => {
    await using open = await startTestService();
    await gatewayOf(open).list('sessions');
    await reject(ADMIN.sandbox, open);
    const first = await gatewayOf(open).refused('403 forbidden', 'POST keys', { name: 'x', scope: 'admin' });
    assert.match(first.suggestion, /tillway keys create/);
    assert.ok(open.logged.some((line) => line.includes('there is no API key: the API is open to every program')));

    await using other = await startTestService({ variables: BOOTSTRAP, beside: open });
    open.clock.advance(SECOND_MS);
    await gatewayOf(open).refused('401 unauthorized', 'GET sessions');
    for (const on of [open, other]) await use(ADMIN.sandbox, on);
  });

  it('a read from before the first operator joined does not keep the service open', async () => {
    await using open = await startTestService();
    const deps = open.service.deps as AppDeps;
    const reads: PromiseWithResolvers<boolean>[] = [];
    const hasOperators = () => reads[reads.push(Promise.withResolvers()) - 1]!.promise;
    const { hasOperators: ask, forget } = createGate({ ...deps, store: { ...deps.store, hasOperators } });
    const before = [ask(), ask()];
    forget();
    reads[0]!.resolve(false);
    await before[0];
    const after = ask();
    reads[2]!.resolve(true);
    assert.equal(await after, true);
    reads[1]!.resolve(false);
    await before[1];
    assert.equal(await Promise.race([ask(), sleep(SECOND_MS, 'asks again', { ref: false })]), true);
  });

  it('a service rejects requests without a key after its last API key is revoked', async () => {
    const variables = { BOOTSTRAP_API_KEYS: ADMIN.sandbox };
    await using first = await startTestService({ variables });
    const [own] = (await list(ADMIN.sandbox, first)) as [ApiKey];
    assert.equal(own.source, 'configuration');
    await revoke(own.id, ADMIN.sandbox, first);
    first.clock.advance(MINUTE_MS);
    await gatewayOf(first).refused('401 unauthorized', 'GET sessions');
    // BOOTSTRAP_API_KEYS still names the revoked key.
    await using again = await startTestService({ variables, beside: first });
    assert.ok(again.logged.some((line) => line.includes('is revoked, and stays revoked') && line.includes(own.id)));
    await reject(ADMIN.sandbox, again);
    await gatewayOf(again).refused('401 unauthorized', 'GET sessions');
  });
});

describe('a service that is reachable from other machines', () => {
  const REACHED = { HOST: '0.0.0.0' };
  const localOf = ({ url }: TestService) => ({ url: url.replace('0.0.0.0', '127.0.0.1') });
  const refusalToStart =
    /^HOST must be a loopback address while there is no active API key: .*tillway keys create.*BOOTSTRAP_API_KEYS.*ALLOW_UNAUTHENTICATED=true/;

  it('a service that is reachable from other machines starts only if an active key exists', async () => {
    await assert.rejects(startTestService({ variables: REACHED }), { message: refusalToStart, name: 'Error' });
    await using closed = await startTestService({ variables: { ...REACHED, ...BOOTSTRAP } });
    const local = localOf(closed);
    await gatewayOf(local).refused('401 unauthorized', 'GET sessions');
    for (const admin of Object.values(ADMIN)) await revoke((await list(admin, local))[0]!.id, admin, local);
    await assert.rejects(startTestService({ variables: REACHED, beside: closed }), { message: refusalToStart });
  });

  it('a service that is reachable from other machines does not start without a key if it has a public URL or a trusted proxy', async () => {
    const url = 'https://pay.example';
    const exposing = { BASE_URL: url, CHECKOUT_URL: url, TRUSTED_PROXIES: '127.0.0.1' };
    for (const [name, value] of Object.entries(exposing)) {
      const needed = `^${name} must (?:have a loopback address|be unset) while there is no active API key: `;
      const message = new RegExp(needed);
      await assert.rejects(startTestService({ variables: { [name]: value } }), { message });
    }
    const variables = { TRUSTED_PROXIES: '127.0.0.1', ALLOW_UNAUTHENTICATED: 'true' };
    await using open = await startTestService({ variables });
    assert.ok(!open.logged.some((line) => line.includes('BASE_URL is not set')));
    assert.ok(open.logged.some((line) => line.includes('the API is open to every client that can reach it')));
    assert.ok(!(await (await fetch(open.url)).text()).includes('action="/demo"'));
    await using reached = await startTestService({ variables: { ...REACHED, ALLOW_UNAUTHENTICATED: 'true' } });
    await gatewayOf(localOf(reached)).list('sessions');
    assert.ok(reached.logged.some((line) => line.includes('BASE_URL is not set')));
  });
});
