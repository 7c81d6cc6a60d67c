import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, it } from 'node:test';
import { isFormToken, newFormToken } from '../../src/dashboard/login/visitors.ts';
import { PERMISSIONS, type Permission, ROLES, can, needsStepUp } from '../../src/domain/permission.ts';
import { BOOTSTRAP } from '../support/keys.ts';
import { joinPerson, visit } from '../support/operators.ts';
import { startTestService } from '../support/service.ts';

describe('the dashboard of a service without keys', () => {
  it('is open on this machine, names the mode on every page', async () => {
    await using test = await startTestService();
    const home = await fetch(`${test.url}/dashboard`, { redirect: 'manual' });
    assert.equal(home.headers.get('location'), '/dashboard/sandbox');
    for (const [environment, mode] of [
      ['sandbox', 'Test mode'],
      ['production', 'Live'],
    ]) {
      const page = await (await fetch(`${test.url}/dashboard/${environment}`)).text();
      assert.match(page, new RegExp(`<strong>${mode}</strong>`));
      assert.match(page, /Open to everybody on this machine/);
    }
  });

  it('leads to the login once a key exists', async () => {
    await using test = await startTestService({ variables: BOOTSTRAP });
    const closed = await fetch(`${test.url}/dashboard/sandbox`, { redirect: 'manual' });
    assert.equal(closed.status, 303);
    assert.equal(closed.headers.get('location'), '/dashboard/login?next=%2Fdashboard%2Fsandbox');
    const sent = await visit(`${test.url}/dashboard/sandbox/security/factors`, { form: {} });
    assert.equal(sent.headers.get('location'), '/dashboard/login?next=%2Fdashboard%2Fsandbox%2Fsecurity');
  });

  it('answers an unknown environment and an unknown page with 404', async () => {
    await using test = await startTestService();
    for (const path of ['/dashboard/staging', '/dashboard/sandbox/nothing']) {
      assert.equal((await fetch(test.url + path, { headers: { accept: 'text/html' } })).status, 404, path);
    }
  });
});

describe('the navigation', () => {
  it('offers Operators to admins in Live, where they are managed, and My security to operators', async () => {
    await using test = await startTestService();
    const pagesOf = async (environment: string, cookie?: string) => {
      const page = await (await visit(`${test.url}/dashboard/${environment}`, { cookie })).text();
      const [nav] = /<nav class="pages"[^]*?<\/nav>/.exec(page)!;
      return [...nav.matchAll(/>([^<>\n]+)<\/a/g)].map(([, name]) => name);
    };
    const everybody = ['Overview', 'Payments', 'Audit'];
    assert.deepEqual(await pagesOf('production'), everybody, 'the open service');
    const { cookie } = await joinPerson(test, 'ada@example.com', { sandbox: 'admin', production: 'admin' });
    assert.deepEqual(await pagesOf('production', cookie), [...everybody, 'Operators', 'My security']);
    assert.deepEqual(await pagesOf('sandbox', cookie), [...everybody, 'My security']);
  });
});

describe('a form token', () => {
  it('differs in every response and is valid for its own session only', () => {
    const [first, second] = [newFormToken('one', randomBytes), newFormToken('one', randomBytes)];
    assert.notEqual(first, second);
    for (const token of [first, second]) assert.ok(isFormToken(token, 'one'));
    for (const token of [null, '', 'x', first.slice(0, -2), newFormToken('two', randomBytes)]) {
      assert.ok(!isFormToken(token, 'one'));
    }
  });
});

describe('the permissions', () => {
  it('give an admin everything, and a principal without a role nothing', () => {
    for (const permission of Object.keys(PERMISSIONS) as Permission[]) {
      assert.ok(can({ role: 'admin' }, permission), permission);
      assert.ok(!can({ role: null }, permission), permission);
    }
    assert.deepEqual(
      ROLES.map((role) => can({ role }, 'refund.create')),
      [false, true, true, true],
    );
    assert.deepEqual((Object.keys(PERMISSIONS) as Permission[]).filter(needsStepUp), ['operator.change']);
  });
});
