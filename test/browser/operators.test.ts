// @run needs=browser
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { loginByFactor } from '../../src/operations/access/operator-login.ts';
import { newPasskeyOptions } from '../../src/operations/access/passkeys.ts';
import { axeFaults } from '../support/axe.ts';
import { addAuthenticator, openPage, startBrowser } from '../support/browser.ts';
import { invitePerson, loginDepsOf } from '../support/operators.ts';
import { startTestService } from '../support/service.ts';

const browser = await startBrowser();
after(() => browser.close());

describe('the first operator of an empty service, in a browser', () => {
  it('joins by the link with a passkey, logs out and in, and confirms the factor for an action', async () => {
    await using test = await startTestService();
    const url = test.url.replace('127.0.0.1', 'localhost');
    const { secret } = await invitePerson(test, 'ada@example.com', { sandbox: 'admin', production: 'admin' });
    const { page, complaints } = await openPage(browser);
    await addAuthenticator(page);
    await page.goto(`${url}/dashboard/join#${secret}`);
    await page.getByText('You join as').waitFor();
    assert.equal(page.url(), `${url}/dashboard/join`, 'the secret must not stay in the address');
    await page.getByRole('button', { name: 'Use a new passkey' }).click();
    await page.waitForURL(`${url}/dashboard/sandbox`);
    test.clock.advance(1000);
    assert.equal((await fetch(`${test.url}/api/gateway/sessions`)).status, 401, 'the API now requires keys');

    await page.getByRole('button', { name: 'Log out' }).click();
    await page.waitForURL(`${url}/dashboard/login`);
    await page.goto(`${url}/dashboard/production/operators`);
    await page.getByRole('button', { name: 'Log in with a passkey' }).click();
    await page.waitForURL(`${url}/dashboard/production/operators`);

    test.clock.advance(6 * 60_000);
    await page.reload();
    await page.getByRole('link', { name: 'Confirm that it is you' }).click();
    await page.getByRole('button', { name: 'Log in with a passkey' }).click();
    await page.waitForURL(`${url}/dashboard/production/operators`);
    await page.getByLabel('Email address').fill('bob@example.com');
    test.clock.advance(6 * 60_000);
    await page.getByRole('button', { name: 'Create the link' }).click();
    await page.getByRole('link', { name: 'Confirm that it is you' }).click();
    await page.getByRole('button', { name: 'Log in with a passkey' }).click();
    await page.waitForURL(`${url}/dashboard/production/operators`);
    await page.getByLabel('Email address').fill('bob@example.com');
    await page.locator('form').last().getByLabel('Role in Live').selectOption('support');
    await page.getByRole('button', { name: 'Create the link' }).click();
    await page.getByText('/dashboard/join#').waitFor();

    await page.goto(`${url}/dashboard/production/security`);
    assert.deepEqual(await axeFaults(page), []);
    // The answer 403 that asks for the factor is the only complaint of the browser.
    assert.deepEqual(
      complaints.filter((complaint) => !complaint.includes('403')),
      [],
    );
  });

  it('adds and removes a further passkey, but never the last one', async () => {
    await using test = await startTestService();
    const url = test.url.replace('127.0.0.1', 'localhost');
    const { secret } = await invitePerson(test, 'ada@example.com', { production: 'admin' });
    const { page } = await openPage(browser);
    await addAuthenticator(page);
    await page.goto(`${url}/dashboard/join#${secret}`);
    await page.getByRole('button', { name: 'Use a new passkey' }).click();
    await page.waitForURL(`${url}/dashboard/production`);
    await addAuthenticator(page, 'usb');
    await page.goto(`${url}/dashboard/production/security`);
    await page.getByRole('button', { name: 'Add a passkey' }).click();
    assert.deepEqual(await axeFaults(page), []);
    // A second authenticator of the same person, because one authenticator has one passkey for each person.
    await page.getByRole('button', { name: 'Use a new passkey' }).click();
    await page.waitForURL(`${url}/dashboard/production/security`);
    assert.equal(await page.getByRole('button', { name: 'Remove' }).count(), 2);
    await page.getByRole('button', { name: 'Remove' }).first().click();
    await page.waitForURL(`${url}/dashboard/production/security`);
    await page.getByRole('button', { name: 'Remove' }).click();
    await page.getByText('This is your last passkey').waitFor();
  });

  it('logs in by a passkey only with an unused challenge that was made for a login', async () => {
    await using test = await startTestService();
    const url = test.url.replace('127.0.0.1', 'localhost');
    const site = { rpId: 'localhost', origin: url };
    const deps = loginDepsOf(test);
    const { operator, secret } = await invitePerson(test, 'ada@example.com', { sandbox: 'admin' });
    const { page } = await openPage(browser);
    await addAuthenticator(page);
    await page.goto(`${url}/dashboard/join#${secret}`);
    await page.getByRole('button', { name: 'Use a new passkey' }).click();
    await page.waitForURL(`${url}/dashboard/sandbox`);

    // Takes each answer out of the form, and lets a test replace the challenge.
    let challenge: string | undefined;
    await page.route('**/dashboard/challenge', async (route) => {
      const response = await route.fetch();
      const options = (await response.json()) as object;
      await route.fulfill({ response, json: { ...options, ...(challenge !== undefined && { challenge }) } });
    });
    await page.route('**/dashboard/login', (route) =>
      route.request().method() === 'POST' ? route.fulfill({ status: 204 }) : route.continue(),
    );
    const answer = async () => {
      await page.goto(`${url}/dashboard/login`);
      const sent = page.waitForRequest((request) => request.method() === 'POST' && request.url().endsWith('/login'));
      await page.getByRole('button', { name: 'Log in with a passkey' }).click();
      return new URLSearchParams((await sent).postData()!).get('credential')!;
    };
    const enter = (credential: string, of = site) =>
      loginByFactor(deps, '', { answer: credential }, { site: of, address: '192.0.2.1' });

    const good = await answer();
    await assert.rejects(enter(good, { ...site, origin: 'https://evil.example' }), /was not accepted/);
    await assert.rejects(enter(good), /was not accepted/, 'the first try used the challenge');
    const next = await answer();
    assert.match(await enter(next), /^[\w-]{43}$/);
    await assert.rejects(enter(next), /was not accepted/, 'a replay');
    const late = await answer();
    test.clock.advance(5 * 60_000);
    await assert.rejects(enter(late), /was not accepted/, 'after 5 minutes');
    challenge = (await newPasskeyOptions(deps, site, operator)).challenge;
    await assert.rejects(enter(await answer()), /was not accepted/, 'a challenge for a new passkey');
  });

  it('opens a further link in the same tab, before and after the first one', async () => {
    await using test = await startTestService();
    const url = `${test.url.replace('127.0.0.1', 'localhost')}/dashboard/join`;
    const { page } = await openPage(browser);
    await page.goto(url);
    for (const email of ['ada@example.com', 'bob@example.com']) {
      const { secret } = await invitePerson(test, email, { sandbox: 'viewer' });
      await page.evaluate(`location.hash = ${JSON.stringify(secret)}`);
      await page.getByText(`You join as ${email}`).waitFor();
      assert.equal(page.url(), url);
    }
  });

  it('is told at a network address to open the page at localhost', async () => {
    await using test = await startTestService({ variables: { BOOTSTRAP_API_KEYS: `sk_sandbox_${'a'.repeat(43)}` } });
    const { page } = await openPage(browser);
    await page.goto(`${test.url}/dashboard/sandbox`);
    assert.equal(await page.getByRole('button', { name: 'Log in with a passkey' }).count(), 0);
    await page.getByRole('link', { name: 'Open this page at localhost' }).click();
    await page.getByRole('button', { name: 'Log in with a passkey' }).waitFor();
    assert.match(page.url(), /^http:\/\/localhost:/);
    await page.getByRole('button', { name: 'Log in with a passkey' }).waitFor();
  });
});
