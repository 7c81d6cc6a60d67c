// @run on=sqlite,postgres
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { generateSync } from 'otplib';
import { NO_ROLES } from '../../src/domain/operator.ts';
import type { Principal } from '../../src/domain/principal.ts';
import { type From, joinService, loginByFactor } from '../../src/operations/access/operator-login.ts';
import { changeRoles, inviteOperator, operatorOfInvite } from '../../src/operations/access/operators.ts';
import { hashPassword, isPassword } from '../../src/operations/access/passwords.ts';
import { newTotpOffer } from '../../src/operations/access/second-factor.ts';
import { createRandomBytes } from '../../src/runtime.ts';
import {
  PASSWORD,
  SITE,
  cookieOf,
  formTokenOf,
  invitePerson,
  joinPerson,
  loginDepsOf,
  visit,
} from '../support/operators.ts';
import { type TestService, startTestService } from '../support/service.ts';
import { until } from '../support/until.ts';

const EMAIL = 'ada@example.com';
const MINUTE_MS = 60_000;
const FROM: From = { site: SITE, address: '192.0.2.1' };
const VARIABLES = { ENCRYPTION_KEY: Buffer.alloc(32, 9).toString('base64') };
const BOTH = { sandbox: 'admin', production: 'admin' } as const;

const tryLogin = ({ url }: Pick<TestService, 'url'>, form: Record<string, string>) =>
  visit(`${url}/dashboard/login`, { form });

describe('the login', () => {
  it('locks a name for 15 minutes after 5 failures, on every instance, whether the name exists or not', async () => {
    await using test = await startTestService();
    await using other = await startTestService({ beside: test });
    await joinPerson(test, EMAIL, BOTH);
    for (const email of [EMAIL, 'nobody@example.com']) {
      for (const each of [test, other, test, other, test]) {
        assert.equal((await tryLogin(each, { email, password: 'wrong' })).status, 403, email);
      }
      const locked = await tryLogin(other, { email, password: PASSWORD });
      assert.equal(locked.status, 429, email);
      assert.match(await locked.text(), /Wait 15 minutes/);
      test.clock.advance(MINUTE_MS);
    }
    test.clock.advance(15 * MINUTE_MS);
    assert.equal((await tryLogin(test, { email: EMAIL, password: PASSWORD })).status, 303);
  });

  it('takes 10 tries a minute from one address, and answers further ones with a page', async () => {
    await using test = await startTestService();
    const answers = [];
    for (let count = 0; count < 11; count++) answers.push(await tryLogin(test, { key: `guess ${count}` }));
    assert.deepEqual(
      answers.map(({ status }) => status),
      [...Array(10).fill(403), 429],
    );
    const page = answers.at(-1)!;
    assert.match(page.headers.get('content-type')!, /text\/html/);
    assert.match(await page.text(), /Too many requests/);
  });

  it('returns to own pages of the dashboard only', async () => {
    await using test = await startTestService();
    await joinPerson(test, EMAIL, BOTH);
    for (const [next, location] of [
      ['/dashboard/sandbox/security?x=1', '/dashboard/sandbox/security?x=1'],
      ['https://evil.example/dashboard/', '/dashboard'],
      ['//evil.example/dashboard/', '/dashboard'],
      ['/\\evil.example', '/dashboard'],
      ['/dashboard/..//evil.example', '/dashboard'],
    ]) {
      const answer = await tryLogin(test, { email: EMAIL, password: PASSWORD, next: next! });
      assert.equal(answer.headers.get('location'), location);
    }
  });

  it('keeps the wanted page and the address after a wrong password', async () => {
    await using test = await startTestService();
    await joinPerson(test, EMAIL, BOTH);
    const next = '/dashboard/sandbox/payments?status=failed';
    const refused = await tryLogin(test, { email: EMAIL, password: 'mistyped', next });
    assert.equal(refused.status, 403);
    const page = await refused.text();
    assert.match(page, /role="alert"/);
    assert.ok(page.includes(`name="next" value="${next}"`) && page.includes(`value="${EMAIL}"`));
    assert.ok(!page.includes('mistyped'));
  });

  it('refuses answers about passkeys that are none', async () => {
    await using test = await startTestService();
    for (const credential of ['', 'null', '{}', '{"id":{}}', '{"id":"x"}', '[1]']) {
      const answer = await tryLogin(test, { credential });
      assert.equal(answer.status, 403, credential);
      assert.match(await answer.text(), /The passkey was not accepted/);
    }
  });

  it('accepts a password of 256 characters, however many bytes they have', async () => {
    const random = createRandomBytes();
    for (const password of ['x'.repeat(256), '🐦'.repeat(128)]) {
      assert.ok(await isPassword(password, await hashPassword(password, random)));
      await assert.rejects(hashPassword(`${password}x`, random), /12 to 256/);
    }
  });

  it('does the same work for a name without a password', async () => {
    const stored = await hashPassword(PASSWORD, createRandomBytes());
    // Processor time instead of elapsed time, because other processes delay this one.
    const workFor = async (hash: string | null) => {
      const before = process.cpuUsage();
      for (let count = 0; count < 5; count++) assert.equal(await isPassword('wrong', hash), false);
      return process.cpuUsage(before).user;
    };
    const ratio = (await workFor(null)) / (await workFor(stored));
    assert.ok(ratio > 0.4 && ratio < 2.5, `ratio ${ratio}`);
    assert.ok(await isPassword(PASSWORD, stored));
    await assert.rejects(hashPassword('eleven char', createRandomBytes()), /12 to 256/);
  });

  it('is refused with a code that was used, also at the same time', async () => {
    await using test = await startTestService({ variables: VARIABLES });
    const deps = loginDepsOf(test, true);
    const { operator, secret } = await invitePerson(test, EMAIL, BOTH);
    const offer = newTotpOffer(deps, operator)!;
    const code = () => generateSync({ secret: offer.secret, epoch: test.clock.now() / 1000 });
    const factor = { password: PASSWORD, totp: offer.sealed, code: code() };
    await assert.rejects(joinService(deps, secret, { ...factor, code: '000000' }, FROM), /was not accepted/);
    await joinService(deps, secret, factor, FROM);
    const enter = (proof: string) => loginByFactor(deps, EMAIL, { password: PASSWORD, code: proof, totp: '' }, FROM);
    await assert.rejects(enter(factor.code), /was not accepted/, 'the code of the page counts once');
    test.clock.advance(MINUTE_MS);
    const proof = code();
    const settled = await Promise.allSettled([enter(proof), enter(proof), enter(proof)]);
    assert.equal(settled.filter(({ status }) => status === 'fulfilled').length, 1);
    const { store } = test.service.deps;
    const refusals = async () =>
      (await store.listAudit({ actorId: operator.id, action: 'logIn' }, { limit: 20 })).items;
    await until(async () => (await refusals()).some(({ outcome }) => outcome === 'refused'));
    // A sealed secret of another operator does not open.
    const other = await invitePerson(test, 'bob@example.com', BOTH);
    await assert.rejects(joinService(deps, other.secret, { ...factor, code: code() }, FROM), /was not accepted/);
  });

  it('accepts the codes of an app after ENCRYPTION_KEY was rotated, and the start warns of a lost key', async () => {
    await using test = await startTestService({ variables: VARIABLES });
    const { operator, secret } = await invitePerson(test, EMAIL, BOTH);
    const offer = newTotpOffer(loginDepsOf(test, true), operator)!;
    const code = () => generateSync({ secret: offer.secret, epoch: test.clock.now() / 1000 });
    const factor = { password: PASSWORD, totp: offer.sealed, code: code() };
    await joinService(loginDepsOf(test, true), secret, factor, FROM);
    const newKey = Buffer.alloc(32, 10).toString('base64');
    const startWith = (ENCRYPTION_KEY: string) => startTestService({ variables: { ENCRYPTION_KEY }, beside: test });
    await (await startWith(`${newKey},${VARIABLES.ENCRYPTION_KEY}`))[Symbol.asyncDispose]();
    test.clock.advance(MINUTE_MS);
    await using rotated = await startWith(newKey);
    const proof = { password: PASSWORD, code: code(), totp: '' };
    assert.ok(await loginByFactor(loginDepsOf(rotated, true), EMAIL, proof, FROM));
    const warnings = ({ logged }: TestService) => logged.filter((line) => line.includes('ENCRYPTION_KEY'));
    assert.deepEqual(warnings(rotated), []);
    await using lost = await startWith(Buffer.alloc(32, 11).toString('base64'));
    assert.match(warnings(lost).join(''), new RegExp(`"operator":"${operator.id}".*--recover`));
  });
});

describe('an invitation', () => {
  it('is refused once it was used, after 60 minutes, if another one replaced it, and from another service', async () => {
    await using test = await startTestService();
    await using foreign = await startTestService();
    const deps = loginDepsOf(test);
    const join = (secret: string) => visit(`${test.url}/dashboard/join`, { form: { secret, password: PASSWORD } });
    const { secret } = await invitePerson(test, EMAIL, BOTH);
    const joined = await join(secret);
    assert.equal(joined.status, 303);
    assert.ok(cookieOf(joined));
    const late = await invitePerson(test, 'late@example.com', BOTH);
    test.clock.advance(60 * MINUTE_MS);
    const replaced = await invitePerson(test, 'bob@example.com', BOTH);
    const excluded = await invitePerson(test, 'bob@example.com', BOTH);
    await changeRoles(deps, excluded.operator.id, NO_ROLES);
    const elsewhere = await invitePerson(foreign, EMAIL, BOTH);
    const operators = (await test.service.deps.store.listOperators({ limit: 9 })).items;
    for (const each of [secret, late.secret, replaced.secret, excluded.secret, elsewhere.secret, '']) {
      assert.equal((await join(each)).status, 403);
    }
    assert.deepEqual((await test.service.deps.store.listOperators({ limit: 9 })).items, operators);
    assert.ok(!test.logged.join('').includes(secret), 'the log must not contain the secret');
  });

  it('of the own page adds a factor for 5 minutes, and is refused without a recent factor', async () => {
    await using test = await startTestService();
    const { operator, cookie } = await joinPerson(test, EMAIL, BOTH);
    const page = `${test.url}/dashboard/sandbox/security/factors`;
    const add = async () => {
      const form = { token: await formTokenOf(test, cookie) };
      const answer = await visit(page, { cookie, form });
      return { status: answer.status, secret: /name="secret"\s+value="([^"]+)"/.exec(await answer.text())?.[1] ?? '' };
    };
    const { secret } = await add();
    assert.equal((await operatorOfInvite(loginDepsOf(test), secret)).id, operator.id);
    test.clock.advance(5 * MINUTE_MS);
    await assert.rejects(operatorOfInvite(loginDepsOf(test), secret), /has expired/);
    test.clock.advance(1);
    assert.deepEqual(await add(), { status: 403, secret: '' });
  });

  it('shows a refused form again with the same authenticator app, and is not used up', async () => {
    await using test = await startTestService({ variables: VARIABLES });
    const { secret } = await invitePerson(test, EMAIL, BOTH);
    const send = (form: object) => visit(`${test.url}/dashboard/join`, { form: { secret, ...form } });
    const first = await (await send({})).text();
    const [, app = ''] = /<code>(\w{32})<\/code>/.exec(first) ?? [];
    const sealedOf = (page: string) => /name="totp"\s+value="([^"]+)"/.exec(page)?.[1];
    const code = generateSync({ secret: app, epoch: test.clock.now() / 1000 });
    const mistyped = code === '123456' ? '123457' : '123456';
    const form = { password: PASSWORD, totp: sealedOf(first)!, code: mistyped };
    for (const [fault, status] of [
      [{ code: mistyped }, 403],
      [{ code, password: 'short' }, 400],
    ] as const) {
      const refused = await send({ ...form, ...fault });
      const page = await refused.text();
      assert.equal(refused.status, status);
      assert.match(page, /role="alert"/);
      assert.ok(page.includes(app) && !page.includes('short'));
      form.totp = sealedOf(page)!;
    }
    assert.equal((await send({ ...form, code })).status, 303);
  });

  it('recovers an operator: no factor and no session is left', async () => {
    await using test = await startTestService();
    const deps = loginDepsOf(test);
    const { cookie } = await joinPerson(test, EMAIL, BOTH);
    await assert.rejects(invitePerson(test, EMAIL, BOTH), /has joined already/);
    const { secret } = await inviteOperator(deps, { email: EMAIL, roles: BOTH, recover: true });
    test.clock.advance(1000);
    assert.equal((await visit(`${test.url}/dashboard/sandbox`, { cookie })).status, 303);
    assert.equal((await tryLogin(test, { email: EMAIL, password: PASSWORD })).status, 403);
    assert.equal((await operatorOfInvite(deps, secret)).roles.production, 'admin');
  });

  it('grants no role that the granter lacks', async () => {
    await using test = await startTestService();
    const { operator } = await joinPerson(test, EMAIL, { production: 'admin', sandbox: 'viewer' });
    const admin = { kind: 'operator', id: operator.id, name: EMAIL, environment: 'production', role: 'admin' } as const;
    const caller: Principal = { ...admin, key: null, provenAt: test.clock.now() };
    const deps = { ...loginDepsOf(test), caller };
    const email = 'bob@example.com';
    await assert.rejects(inviteOperator(deps, { email, roles: BOTH }), /Nobody grants a role/);
    await assert.rejects(changeRoles(deps, operator.id, BOTH), /Nobody grants a role/);
    await inviteOperator(deps, { email, roles: { production: 'admin', sandbox: 'viewer' } });
    const machine = { ...caller, kind: 'machine' as const };
    await assert.rejects(
      inviteOperator({ ...deps, caller: machine }, { email, roles: BOTH }),
      /a command invites the first one/,
    );
  });
});

describe('the form of roles', () => {
  it('of an old page does not give back a role that another admin has removed', async () => {
    await using test = await startTestService();
    const { cookie } = await joinPerson(test, EMAIL, BOTH);
    const roles = { sandbox: 'viewer', production: 'operator' } as const;
    const { operator } = await joinPerson(test, 'bob@example.com', roles);
    const page = `${test.url}/dashboard/production/operators`;
    const openForm = async (): Promise<Record<string, string>> => {
      const text = await (await visit(page, { cookie })).text();
      const [form = ''] = /<form[^>]*>/.exec(text.slice(text.indexOf(`operators/${operator.id}/roles`) - 100)) ?? [];
      const fields = text.slice(text.indexOf(form)).split('</form>')[0]!;
      const hidden = fields.matchAll(/<input\s+type="hidden"\s+name="([^"]*)"\s+value="([^"]*)"/g);
      return Object.fromEntries(Array.from(hidden, ([, name, value]) => [name!, value!]));
    };
    const send = (hidden: Record<string, string>, wanted: Record<string, string>) =>
      visit(`${page}/${operator.id}/roles`, { cookie, form: { ...hidden, ...wanted } });
    const rolesNow = async () => (await test.service.deps.store.operator(operator.id))!.roles;

    const old = await openForm();
    assert.equal((await send(await openForm(), { sandbox: 'viewer', production: '' })).status, 303);
    const stale = await send(old, { sandbox: 'support', production: 'operator' });
    assert.equal(stale.status, 409);
    assert.match(await stale.text(), /The roles of bob@example\.com have changed/);
    assert.deepEqual(await rolesNow(), { sandbox: 'viewer', production: null });
    assert.equal((await send(await openForm(), { sandbox: 'support', production: '' })).status, 303);
    assert.deepEqual(await rolesNow(), { sandbox: 'support', production: null });
  });
});

describe('the audit of access', () => {
  it('has an entry for each action on an operator, a login and a session, and for a refused login of a known name', async () => {
    await using test = await startTestService();
    const { operator: ada } = await joinPerson(test, EMAIL, BOTH);
    const { operator: bob } = await joinPerson(test, 'bob@example.com', { sandbox: 'viewer' });
    const cookie = cookieOf(await tryLogin(test, { email: EMAIL, password: PASSWORD }))!;
    for (const email of [EMAIL, 'nobody@example.com']) await tryLogin(test, { email, password: 'wrong' });
    const token = await formTokenOf(test, cookie);
    const page = '/dashboard/production';
    for (const [path, fields] of [
      [`${page}/operators`, { email: 'new@example.com', production: 'viewer' }],
      [`${page}/operators/${bob.id}/roles`, { sandbox: 'support' }],
      [`${page}/security/sessions/others/end`, {}],
      ['/dashboard/logout', {}],
    ] as const) {
      const { status } = await visit(test.url + path, { cookie, form: { token, ...fields } });
      assert.ok(status < 400, `${path}: ${status}`);
    }
    const { store } = test.service.deps;
    const entries = async () => (await store.listAudit({ actorId: ada.id }, { limit: 20 })).items;
    // The response to a failed login does not wait for its entry.
    await until(async () => (await entries()).some(({ outcome }) => outcome === 'refused'));
    const found = (await entries()).map(({ action, outcome, subjectId }) => {
      return [action, outcome, subjectId === ada.id ? 'ada' : subjectId === bob.id ? 'bob' : subjectId && 'new'].join(
        ' ',
      );
    });
    assert.deepEqual(found.toSorted(), [
      'changeRoles done bob',
      'endOwnSessions done ada',
      'inviteOperator done new',
      'joinService done ada',
      'logIn done ada',
      'logIn refused ',
      'logOut done ada',
    ]);
  });
});

describe('the last production admin', () => {
  it('stays, also if two admins are removed at the same time on two instances', async () => {
    await using test = await startTestService();
    await using other = await startTestService({ beside: test });
    const people = [];
    for (const email of [EMAIL, 'bob@example.com']) people.push(await joinPerson(test, email, BOTH));
    await invitePerson(test, 'not-joined@example.com', BOTH);
    const viewer = { sandbox: 'viewer', production: 'viewer' } as const;
    const [first, second] = people.map(({ operator }) => operator.id) as [string, string];
    const settled = await Promise.allSettled([
      changeRoles(loginDepsOf(test), first, viewer),
      changeRoles(loginDepsOf(other), second, NO_ROLES),
    ]);
    const refusals = settled.flatMap((each) => (each.status === 'rejected' ? [String(each.reason)] : []));
    assert.equal(refusals.length, 1, refusals.join('; '));
    assert.match(refusals[0]!, /last admin of Live/);
  });
});
