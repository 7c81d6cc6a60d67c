// @run needs=browser
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Page } from 'playwright-core';
import { startStage } from '../checkout/stage.ts';
import { reportPayment } from '../fixtures/provider-reports.ts';
import { openPage, startBrowser } from '../support/browser.ts';

// Behaviour of the checkout script: updates without a reload, one payment for two clicks, the automatic return to the merchant.

const { service, fake, stage, end } = await startStage();
const browser = await startBrowser();
after(async () => {
  await browser.close();
  await end();
});

function heading(page: Page, name: string) {
  return page.getByRole('heading', { name, level: 1 });
}

/** Sets a global variable that a reload removes. */
async function mark(page: Page): Promise<void> {
  await page.evaluate(() => Object.assign(globalThis, { marked: true }));
}

function isMarked(page: Page): Promise<boolean> {
  return page.evaluate(() => 'marked' in globalThis);
}

async function stopClock(page: Page): Promise<void> {
  await page.clock.install({ time: 0 });
  // The installed clock runs until it is paused, so the time of the pause must be in its future.
  await page.clock.pauseAt(3_600_000);
}

test('a status change updates the page without a reload, moves the focus to the heading and is announced to screen readers', async () => {
  const id = await stage.create({ redirectUrl: undefined });
  await stage.start(id);
  const { page, complaints } = await openPage(browser);
  await page.goto(stage.url(id));
  await heading(page, 'Waiting for your payment').waitFor();
  await mark(page);

  await stage.report(id, 'failed');
  await heading(page, 'That payment did not go through').waitFor();
  const announced = page.getByRole('status');
  assert.match((await announced.textContent()) ?? '', /^That payment did not go through You have not been charged/);
  assert.equal(await page.evaluate('document.activeElement?.id'), 'heading');
  assert.match(await page.title(), /^Choose how to pay/);

  await stage.start(id);
  await heading(page, 'Waiting for your payment').waitFor();
  await stage.report(id, 'paid');
  await heading(page, 'Payment received').waitFor();
  assert.match((await announced.textContent()) ?? '', /^Payment received Thank you\. You paid \$49\.99/);
  assert.ok(await isMarked(page), 'the page was not reloaded');
  assert.deepEqual(complaints, []);
  await page.context().close();
});

test('an update keeps the page of a buyer who has come back from the provider', async () => {
  const id = await stage.create();
  await stage.start(id);
  const { page } = await openPage(browser);
  await page.goto(`${stage.url(id)}/back`);
  await heading(page, 'We are confirming with the provider').waitFor();
  const version = await page.getByRole('main').getAttribute('data-version');
  const card = { country: 'US', group: 'visa debit' };
  const report = { sessionId: id, paymentId: null, status: 'provider_pending', amount: 4999, card } as const;
  await reportPayment(service.service.deps, report);
  await page.locator(`main:not([data-version="${version}"])`).waitFor();
  assert.equal(await page.getByRole('link', { name: 'Continue at' }).count(), 0);
  await heading(page, 'We are confirming with the provider').waitFor();
  await page.context().close();
});

test('the checkout page shows a lost connection, and updates when the connection returns', async () => {
  const id = await stage.create({ redirectUrl: undefined });
  await stage.start(id);
  const { page } = await openPage(browser);
  await page.goto(stage.url(id));
  await mark(page);
  const again = page.getByRole('link', { name: 'Check again' });
  assert.equal(await again.isVisible(), false);
  await page.context().setOffline(true);
  await page.getByText('No connection').waitFor();
  assert.equal(await again.isVisible(), true);
  await stage.report(id, 'paid');
  await page.context().setOffline(false);
  await heading(page, 'Payment received').waitFor();
  assert.ok(await isMarked(page));
  await page.context().close();
});

test('the checkout page polls at growing intervals, but not while it is hidden or after the final status', async () => {
  const id = await stage.create({ redirectUrl: undefined });
  await stage.start(id);
  const { page, requests } = await openPage(browser);
  const polls = () => requests.filter((line) => line.endsWith('/status')).length;
  const setHidden = (hidden: boolean) =>
    page.evaluate(`
      Object.defineProperty(document, 'hidden', { value: ${hidden}, configurable: true });
      document.dispatchEvent(new Event('visibilitychange'));
    `);
  // `pass` awaits all requests, so they take no time on the clock of the page.
  const pass = async (seconds: number) => {
    for (let second = 0; second < seconds; second++) {
      await page.clock.runFor(1000);
      while (await page.evaluate('pendingRequests > 0'));
    }
  };
  await stopClock(page);
  await page.addInitScript(`
    const originalFetch = globalThis.fetch;
    globalThis.pendingRequests = 0;
    globalThis.fetch = async (...request) => {
      globalThis.pendingRequests++;
      try {
        const response = await originalFetch(...request);
        const text = await response.text();
        return { ok: response.ok, status: response.status, text: async () => text, json: async () => JSON.parse(text) };
      } finally {
        globalThis.pendingRequests--;
      }
    };
  `);
  await page.goto(stage.url(id));
  await pass(60);
  const first = polls();
  assert.ok(first >= 10 && first <= 20, `${first} polls in a minute`);

  await setHidden(true);
  await pass(30);
  assert.equal(polls(), first);
  await setHidden(false);
  await pass(1);
  assert.ok(polls() > first);

  await stage.report(id, 'paid');
  await pass(6);
  await heading(page, 'Payment received').waitFor();
  const last = polls();
  await pass(30);
  assert.equal(polls(), last);
  await page.context().close();
});

test('two clicks on the pay button start one payment, and the content security policy allows the redirect to the provider', async () => {
  const id = await stage.create();
  const { page, complaints } = await openPage(browser);
  await page.goto(stage.url(id));
  const handoffs = fake.handoffs.length;
  await page.evaluate(`
    const button = document.querySelector('main form .button');
    button.click();
    button.click();
  `);
  await heading(page, 'At the provider').waitFor();
  assert.equal(fake.handoffs.length, handoffs + 1);
  await page.getByRole('link', { name: 'Back' }).click();
  await heading(page, 'We are confirming with the provider').waitFor();
  // The redirect page does not redirect again when the buyer goes back.
  await page.goBack();
  await page.goBack();
  await heading(page, 'Waiting for your payment').waitFor();
  assert.deepEqual(complaints, []);
  await page.context().close();
});

test('a buyer who has stopped a slow submit can send the form again', async () => {
  const id = await stage.create();
  const { page } = await openPage(browser);
  await stopClock(page);
  await page.goto(stage.url(id));
  const pay = page.getByRole('button', { name: 'Pay $49.99' });
  // The form is not sent, as if the buyer had stopped the browser.
  await page.evaluate("document.addEventListener('submit', (event) => event.preventDefault(), { once: true })");
  await pay.click();
  assert.equal(await pay.getAttribute('aria-busy'), 'true');
  await page.clock.runFor(20_000);
  await pay.click();
  await heading(page, 'At the provider').waitFor();
  await page.context().close();
});

test('the paid page returns the buyer to the merchant after five seconds, unless the buyer stays', async () => {
  const id = await stage.create();
  await stage.start(id);
  await stage.report(id, 'paid');
  const open = async () => {
    const { page } = await openPage(browser);
    await page
      .context()
      .route('https://shop.example/**', (route) =>
        route.fulfill({ contentType: 'text/html', body: '<!doctype html><h1>Shop</h1>' }),
      );
    await stopClock(page);
    await page.goto(stage.url(id));
    return page;
  };

  const leaving = await open();
  const returning = leaving.getByRole('main');
  await returning.getByText('Taking you to shop.example in 5 seconds.').waitFor();
  await leaving.clock.runFor(2000);
  await returning.getByText('in 3 seconds.').waitFor();
  await leaving.clock.runFor(3500);
  await leaving.waitForURL(`https://shop.example/thanks?order=7&session_id=${id}&status=paid#top`);
  await leaving.context().close();

  for (const stay of [
    (page: Page) => page.getByRole('button', { name: 'Stay on this page' }).click(),
    (page: Page) => page.keyboard.press('Escape'),
  ]) {
    const staying = await open();
    await stay(staying);
    await staying.clock.runFor(20_000);
    await heading(staying, 'Payment received').waitFor();
    assert.equal(await staying.getByRole('main').getByText('Taking you').isVisible(), false);
    assert.equal(await staying.evaluate('document.activeElement?.textContent'), 'Return to Demo merchant');
    await staying.context().close();
  }
});

test('a notice on the checkout page receives the focus, and a reload removes it', async () => {
  const id = await stage.create();
  const { page } = await openPage(browser);
  await page.goto(`${stage.url(id)}?notice=fee_changed`);
  assert.equal(await page.evaluate('document.activeElement?.id'), 'notice');
  assert.equal(page.url(), stage.url(id));
  await page.reload();
  assert.equal(await page.locator('#notice').count(), 0);
  await page.context().close();
});
