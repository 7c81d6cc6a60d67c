import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { NO_ROLES, hashOfSecret } from '../../src/domain/operator.ts';
import { changeRoles } from '../../src/operations/access/operators.ts';
import { revokeApiKey } from '../../src/operations/api-keys.ts';
import { PASSWORD, cookieOf, formTokenOf, joinPerson, loginDepsOf, visit } from '../support/operators.ts';
import { createSession } from '../simulator/buyer.ts';
import { ADMIN, BOOTSTRAP } from '../support/keys.ts';
import { type TestService, startTestService } from '../support/service.ts';
import { until } from '../support/until.ts';

const MINUTE_MS = 60_000;
const LOGIN = { email: 'ada@example.com', password: PASSWORD };

/** Logs in with a password, and returns the new cookie. */
async function login(test: TestService, cookie?: string): Promise<string> {
  const response = await visit(`${test.url}/dashboard/login`, { form: LOGIN, cookie });
  assert.equal(response.status, 303, await response.text());
  return cookieOf(response)!;
}

async function statusOf(test: Pick<TestService, 'url'>, cookie: string, path = '/dashboard/sandbox'): Promise<number> {
  return (await visit(test.url + path, { cookie })).status;
}

describe('a session', () => {
  it('has a new token at every login and repeated factor, and none that the browser chose', async () => {
    await using test = await startTestService();
    await joinPerson(test, LOGIN.email, { sandbox: 'admin', production: 'admin' });
    const chosen = 'tillway=chosen-by-somebody-else';
    const first = await login(test, chosen);
    const second = await login(test, first);
    assert.equal(new Set([chosen, first, second]).size, 3);
    assert.equal(await statusOf(test, chosen), 303);
    assert.equal(await statusOf(test, first), 303, 'a login replaces the session of its browser');
    assert.equal(await statusOf(test, second), 200);
    test.clock.advance(6 * MINUTE_MS);
    assert.equal(await statusOf(test, second, '/dashboard/production/operators'), 403);
    const form = { ...LOGIN, next: '/dashboard/production/operators' };
    const confirmed = await visit(`${test.url}/dashboard/login`, { cookie: second, form });
    assert.equal(confirmed.headers.get('location'), form.next);
    const third = cookieOf(confirmed)!;
    assert.notEqual(third, second);
    assert.equal(await statusOf(test, second), 303);
    assert.equal(await statusOf(test, third, form.next), 200);
  });

  it('ends after 30 minutes without an activity, and after 12 hours in all', async () => {
    await using test = await startTestService();
    const { cookie } = await joinPerson(test, LOGIN.email, { sandbox: 'viewer' });
    const stored = async (each: string) =>
      (await test.service.deps.store.operatorSession(hashOfSecret(each.slice('tillway='.length))))!;
    for (let minutes = 0; minutes < 12 * 60 - 25; minutes += 25) {
      assert.equal(await statusOf(test, cookie), 200, `after ${minutes} minutes`);
      // The activity is stored without the request waiting for it.
      await until(async () => (await stored(cookie)).lastActiveAt === test.clock.now());
      test.clock.advance(25 * MINUTE_MS);
    }
    test.clock.advance(25 * MINUTE_MS);
    assert.equal(await statusOf(test, cookie), 303, 'after 12 hours');
    const next = await login(test);
    test.clock.advance(29 * MINUTE_MS);
    // The script that keeps a page current is no activity.
    await visit(`${test.url}/dashboard/sandbox`, {
      cookie: next,
      headers: { 'sec-fetch-dest': 'empty', 'sec-fetch-site': 'same-origin' },
    });
    test.clock.advance(MINUTE_MS);
    assert.equal(await statusOf(test, next), 303, 'after 30 minutes');
  });

  it('keeps its 12 hours at a confirmation, and begins new ones with another person', async () => {
    await using test = await startTestService();
    await joinPerson(test, LOGIN.email, { sandbox: 'admin' });
    const bob = { ...LOGIN, email: 'bob@example.com' };
    await joinPerson(test, bob.email, { sandbox: 'viewer' });
    let [cookie, shared] = [await login(test), await login(test)];
    for (let minutes = 20; minutes < 12 * 60; minutes += 20) {
      test.clock.advance(20 * MINUTE_MS);
      [cookie, shared] = [await login(test, cookie), await login(test, shared)];
    }
    assert.equal(await statusOf(test, cookie), 200);
    const other = cookieOf(await visit(`${test.url}/dashboard/login`, { form: bob, cookie: shared }))!;
    test.clock.advance(20 * MINUTE_MS);
    assert.equal(await statusOf(test, cookie), 303, 'after 12 hours');
    assert.equal(await statusOf(test, other), 200);
  });

  it('of another operator is no confirmation: it replaces the session and has the roles of that operator', async () => {
    await using test = await startTestService();
    const { cookie } = await joinPerson(test, LOGIN.email, { sandbox: 'admin', production: 'admin' });
    await joinPerson(test, 'bob@example.com', { sandbox: 'viewer', production: 'viewer' });
    test.clock.advance(6 * MINUTE_MS);
    const operators = '/dashboard/production/operators';
    const form = { ...LOGIN, email: 'bob@example.com', next: operators };
    const confirmed = cookieOf(await visit(`${test.url}/dashboard/login`, { cookie, form }))!;
    assert.equal(await statusOf(test, cookie, operators), 303, 'the session of the admin has ended');
    const page = await visit(test.url + operators, { cookie: confirmed });
    assert.equal(page.status, 403);
    assert.match(await page.text(), /bob@example\.com is viewer/);
  });

  it('ends on another instance within a second: at logout, a change and the loss of roles, and an end by its owner', async () => {
    await using test = await startTestService();
    await using other = await startTestService({ beside: test });
    const { operator, cookie: kept } = await joinPerson(test, LOGIN.email, { sandbox: 'operator' });
    const deps = loginDepsOf(test);
    const roles = { sandbox: 'viewer', production: null } as const;
    const endings: [name: string, end: (cookie: string) => Promise<unknown>][] = [
      [
        'logout',
        async (cookie) => {
          const form = { token: await formTokenOf(test, cookie) };
          const left = await visit(`${test.url}/dashboard/logout`, { cookie, form });
          assert.equal(left.headers.get('clear-site-data'), '"cache"');
          assert.match(left.headers.getSetCookie()[0]!, /^tillway=;.*(?:Max-Age=0|Expires)/);
        },
      ],
      [
        'all others',
        async () => {
          const form = { token: await formTokenOf(test, kept) };
          await visit(`${test.url}/dashboard/sandbox/security/sessions/others/end`, { cookie: kept, form });
        },
      ],
      ['roles', () => changeRoles(deps, operator.id, roles)],
      ['no role', () => changeRoles(deps, operator.id, NO_ROLES)],
    ];
    for (const [name, end] of endings) {
      test.clock.advance(MINUTE_MS);
      const cookie = await login(test);
      for (const each of [test, other]) assert.equal(await statusOf(each, cookie), 200, name);
      await end(cookie);
      test.clock.advance(1000);
      for (const each of [test, other]) assert.equal(await statusOf(each, cookie), 303, name);
    }
  });

  it('has a cookie that scripts and other sites do not get, and over https only there', async () => {
    await using test = await startTestService();
    await joinPerson(test, LOGIN.email, { sandbox: 'viewer' });
    const local = (await visit(`${test.url}/dashboard/login`, { form: LOGIN })).headers.getSetCookie()[0]!;
    assert.match(local, /^tillway=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax$/);
    const variables = { DASHBOARD_URL: 'https://127.0.0.1' };
    await using secure = await startTestService({ beside: test, variables });
    const sent = (await visit(`${secure.url}/dashboard/login`, { form: LOGIN })).headers.getSetCookie()[0]!;
    assert.match(sent, /^__Host-tillway=[\w-]{43}; Path=\/; HttpOnly; Secure; SameSite=Lax$/);
  });
});

describe('a session by API key', () => {
  const byKey = (test: TestService, key: string) => visit(`${test.url}/dashboard/login`, { form: { key } });

  it('has the role of the scope, ends with the key, and exists only until an operator has joined', async () => {
    await using test = await startTestService({ variables: BOOTSTRAP });
    const cookie = cookieOf(await byKey(test, ADMIN.sandbox))!;
    assert.equal(await statusOf(test, cookie), 200);
    assert.equal(await statusOf(test, cookie, '/dashboard/production'), 403);
    const { deps } = test.service;
    const key = (await deps.store.listApiKeys({ environment: 'sandbox' }, { limit: 1 })).items[0]!;
    await revokeApiKey(deps, key.id);
    test.clock.advance(1000);
    assert.equal(await statusOf(test, cookie), 303);
    assert.equal((await byKey(test, ADMIN.sandbox)).status, 403);

    const live = cookieOf(await byKey(test, ADMIN.production))!;
    await joinPerson(test, LOGIN.email, { sandbox: 'viewer' });
    test.clock.advance(1000);
    assert.equal(await statusOf(test, live, '/dashboard/production'), 303);
    assert.equal((await byKey(test, ADMIN.production)).status, 403);
  });
});

describe('a form', () => {
  it('changes nothing without a token, with the token of another session, and from another site', async () => {
    await using test = await startTestService();
    const { cookie } = await joinPerson(test, LOGIN.email, { sandbox: 'admin', production: 'admin' });
    const stranger = await login(test);
    const [own, foreign] = [await formTokenOf(test, cookie), await formTokenOf(test, stranger)];
    const page = '/dashboard/production';
    const paths = [`${page}/operators`, `${page}/security/sessions/others/end`, '/dashboard/logout'];
    const fields = { email: 'eve@example.com', production: 'admin' };
    for (const path of paths) {
      for (const [token, headers] of [
        [undefined, {}],
        [foreign, {}],
        [own.slice(4) + own.slice(0, 4), {}],
        [own, { 'sec-fetch-site': 'cross-site' }],
        [own, { origin: 'https://evil.example' }],
      ] as const) {
        const form = { ...fields, ...(token !== undefined && { token }) };
        const { status } = await visit(test.url + path, { cookie, form, headers });
        assert.equal(status, 403, `${path} with ${String(token)} ${JSON.stringify(headers)}`);
      }
    }
    const { store } = test.service.deps;
    assert.equal((await store.listOperators({ limit: 9 })).items.length, 1);
    for (const each of [cookie, stranger]) assert.equal(await statusOf(test, each), 200);
  });

  it('of an ended session leads, after the login, to a page that exists', async () => {
    await using test = await startTestService();
    const session = `/dashboard/sandbox/payments/${await createSession(test)}`;
    const { cookie } = await joinPerson(test, LOGIN.email, { sandbox: 'admin', production: 'admin' });
    test.clock.advance(31 * MINUTE_MS);
    const list = '/dashboard/sandbox/payments?status=paid';
    const exported = await visit(test.url + list.replace('?', '.csv?'), { cookie });
    assert.equal(exported.headers.get('location'), `/dashboard/login?next=${encodeURIComponent(list)}`);
    for (const [path, next] of [
      [`${session}/resend`, session],
      [`${session}/expire`, `${session}/expire`],
      ['/dashboard/production/operators/opr_1/roles', '/dashboard/production/operators'],
    ] as const) {
      const login = (await visit(test.url + path, { cookie, form: {} })).headers.get('location')!;
      const form = { ...LOGIN, next: new URL(login, test.url).searchParams.get('next')! };
      const entered = await visit(`${test.url}/dashboard/login`, { form });
      assert.equal(entered.headers.get('location'), next);
      assert.equal(await statusOf(test, cookieOf(entered)!, next), 200);
    }
  });
});
