// @run needs=browser
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Page } from 'playwright-core';
import { startSeveralProviders } from '../providers/several-providers.ts';
import { keepRoutes } from '../providers/stripe-service.ts';
import { createSession } from '../simulator/buyer.ts';
import { openStayingPage, startBrowser } from '../support/browser.ts';
import { paymentsOf } from '../support/gateway.ts';
import { until } from '../support/until.ts';

// A buyer with two tabs and two providers, whose pages are served by scripted Stripe and PayPal.

const TIMEOUT_MS = 120_000;

const world = await startSeveralProviders({ live: true });
const { on, stripe, paypal } = world;
keepRoutes(on, 'card_stripe_test', 'wallet_paypal_test');
const browser = await startBrowser();
after(async () => {
  await browser.close();
  await world[Symbol.asyncDispose]();
});

/** Chooses a payment method, and goes to the provider's page. */
async function payBy(page: Page, method: string, provider: string): Promise<void> {
  await page.getByRole('radio', { name: new RegExp(`^${method}`) }).check();
  await page.getByRole('button', { name: 'Pay $49.99' }).click();
  const link = page.getByRole('link', { name: `Continue to ${provider}` });
  const heading = page.getByRole('heading', { name: /49\.99 USD/ });
  await link.or(heading).first().waitFor();
  if (await link.isVisible()) await link.click();
  await heading.waitFor();
}

for (const javaScriptEnabled of [true, false]) {
  const mode = javaScriptEnabled ? 'with JavaScript' : 'without JavaScript';
  test(
    `a buyer who switches from Stripe to PayPal, and then pays in the old tab of Stripe, pays once, ${mode}`,
    {
      timeout: TIMEOUT_MS,
    },
    async () => {
      const id = await createSession(on, { customer: `tabs_${javaScriptEnabled}@example.com` });
      const checkout = `${on.url}/checkout/${id}`;
      const { page: oldTab } = await openStayingPage(browser, { javaScriptEnabled });
      await oldTab.goto(checkout);
      await payBy(oldTab, 'Card', 'Stripe');

      const tab = await oldTab.context().newPage();
      await tab.addInitScript('globalThis.setInterval = () => 0');
      await tab.goto(checkout);
      await tab.getByRole('button', { name: 'Choose another way to pay' }).click();
      await payBy(tab, 'PayPal', 'PayPal');

      await oldTab.getByRole('button', { name: 'pay', exact: true }).click();
      await oldTab.getByText('expired').waitFor();

      await tab.getByRole('button', { name: 'Pay now' }).click();
      const received = tab.getByRole('heading', { name: 'Payment received' });
      const again = tab.getByRole('link', { name: 'Check again' });
      for (;;) {
        await received.or(again).first().waitFor();
        if (javaScriptEnabled || (await received.isVisible())) break;
        await again.click();
        await tab.waitForTimeout(200);
      }
      await received.waitFor();
      const states = async () => (await paymentsOf(on, id)).map(({ route, status }) => `${route.provider} ${status}`);
      await until(async () => (await states()).includes('paypal_test paid'));
      assert.deepEqual(await states(), ['stripe_test failed', 'paypal_test paid']);
      const events = await on.service.deps.store.eventsOfSession(id);
      assert.equal(events.filter(({ type }) => type === 'payment.paid').length, 1);
      assert.equal(stripe.balance(), 0);
      const captures = [...paypal.world.captures.values()];
      assert.equal(captures.length, javaScriptEnabled ? 1 : 2);
      await oldTab.context().close();
    },
  );
}
