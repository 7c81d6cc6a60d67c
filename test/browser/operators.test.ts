// @run needs=browser
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { axeFaults } from '../support/axe.ts';
import { addAuthenticator, openPage, startBrowser } from '../support/browser.ts';
import { invitePerson } from '../support/operators.ts';
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
