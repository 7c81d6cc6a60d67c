// @run needs=browser
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { axeFaults, sidewaysScroll } from '../support/axe.ts';
import { openPage, startBrowser } from '../support/browser.ts';
import { startTestService } from '../support/service.ts';
import { anEndpoint, write } from '../fixtures/store-records.ts';
import { idOf } from '../fixtures/checkout-records.ts';
import { attempt, createSession } from '../simulator/buyer.ts';

const test = await startTestService();
const browser = await startBrowser();
after(async () => {
  await browser.close();
  await test[Symbol.asyncDispose]();
});
await write(test.service.deps.store, { type: 'endpoint_saved', endpoint: anEndpoint({ id: idOf('whe', 8) }) });

/** A session after an attempt with a test instrument of the simulator. */
async function sessionAfter(outcome: string): Promise<string> {
  const id = await createSession(test);
  await attempt(test, id, 'card', outcome);
  await test.pass(0);
  return id;
}
const urlOf = (id: string) => `${test.url}/dashboard/sandbox/payments/${id}`;

describe('the payment page in a browser', () => {
  for (const colorScheme of ['light', 'dark'] as const) {
    for (const width of [320, 1280]) {
      it(`passes axe and fits ${width} px in the ${colorScheme} scheme, as do its forms`, async () => {
        const { page, complaints } = await openPage(browser, { colorScheme, viewport: { width, height: 800 } });
        const paid = await sessionAfter('paid');
        const [payment] = (await test.service.deps.store.checkout(paid))!.payments;
        const wrong = await sessionAfter('wrong_amount');
        const [discrepancy] = (await test.service.deps.store.checkout(wrong))!.discrepancies;
        const resolve = `${test.url}/dashboard/sandbox/discrepancies/${discrepancy!.id}`;
        const forms = [`${urlOf(payment!.id)}/refund`, `${urlOf(paid)}/block`, resolve];
        for (const url of [urlOf(paid), urlOf(wrong), urlOf(await sessionAfter('declined')), ...forms]) {
          await page.goto(url);
          assert.equal(await sidewaysScroll(page), 0, url);
          assert.deepEqual(await axeFaults(page), [], url);
        }
        assert.deepEqual(complaints, []);
        await page.context().close();
      });
    }
  }

  // The search for the payment takes one more click.
  for (const javaScriptEnabled of [true, false]) {
    it(`refunds in 2 clicks, in part in 3, and sends again in 1, ${javaScriptEnabled ? 'with' : 'without'} script`, async () => {
      const { page } = await openPage(browser, { javaScriptEnabled });
      const id = await sessionAfter('paid');
      const clicks = async (...selectors: string[]) => {
        await page.goto(urlOf(id));
        for (const selector of selectors) {
          if (selector === '#continue') await page.fill('#amount', '10');
          await page.click(selector);
        }
        return page.textContent('[role=status]:not(#announcer)');
      };
      assert.match((await clicks('#resend-last'))!, /being sent again/);
      assert.match((await clicks('[id$="/refund"]', '#continue', '#confirm'))!, /refund was requested/);
      assert.match((await clicks('[id$="/refund"]', '#confirm'))!, /refund was requested/);
      const { items } = await test.service.deps.store.listRefunds({ sessionId: id }, { limit: 9 });
      assert.deepEqual(
        items.map(({ amount }) => amount).toSorted((a, b) => a - b),
        [1000, 3999],
      );
      await page.context().close();
    });
  }
});
