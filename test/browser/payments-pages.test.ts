// @run needs=browser
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { attempt, createSession } from '../simulator/buyer.ts';
import { axeFaults, sidewaysScroll } from '../support/axe.ts';
import { openPage, startBrowser } from '../support/browser.ts';
import { startTestService } from '../support/service.ts';

const service = await startTestService();
for (const outcome of ['paid', 'declined']) {
  const id = await createSession(service, {
    amount: 49.99,
    customer: 'buyer@shop.example',
    metadata: { orderId: 'A-1' },
  });
  await attempt(service, id, 'card', outcome);
  await service.pass(60_000);
}
const browser = await startBrowser();
after(async () => {
  await browser.close();
  await service[Symbol.asyncDispose]();
});

const PAGES = {
  'the list of payments': 'sandbox/payments',
  'a filtered list': 'sandbox/payments?status=paid&amountFrom=10',
  'a list without a match': 'sandbox/payments?reason=abandoned',
  'an empty list': 'production/payments',
  'search hits': 'sandbox/search?q=buyer@shop.example',
  'a search without a hit': 'sandbox/search?q=nothing',
};

describe('the pages of payments and of the search', () => {
  for (const [name, path] of Object.entries(PAGES)) {
    it(`${name} has no fault of accessibility and does not scroll sideways`, async () => {
      for (const colorScheme of ['light', 'dark'] as const) {
        for (const width of [1280, 320]) {
          const { page } = await openPage(browser, { colorScheme, viewport: { width, height: 900 } });
          await page.goto(`${service.url}/dashboard/${path}`);
          assert.deepEqual(await axeFaults(page), [], `${colorScheme}, ${width} px`);
          assert.equal(await sidewaysScroll(page), 0, `${colorScheme}, ${width} px`);
          await page.context().close();
        }
      }
    });
  }

  it('a click anywhere on a row opens the payment, and the search works without JavaScript', async () => {
    const { page } = await openPage(browser, { javaScriptEnabled: false, viewport: { width: 1280, height: 900 } });
    await page.goto(`${service.url}/dashboard/sandbox/payments`);
    const cell = (await page.locator('tbody tr:first-child td:nth-child(4)').boundingBox())!;
    await page.mouse.click(cell.x + cell.width / 2, cell.y + cell.height / 2);
    await page.waitForURL('**/payments/chk_*');
    await page.goto(`${service.url}/dashboard/sandbox`);
    await page.fill('#search', 'buyer@shop.example');
    await page.press('#search', 'Enter');
    assert.equal(await page.locator('tbody tr').count(), 2);
    await page.goto(`${service.url}/dashboard/sandbox/payments`);
    await page.selectOption('#filter-status', 'failed');
    await page.click('button:text("Filter")');
    assert.match(page.url(), /status=failed/);
    assert.equal(await page.locator('tbody tr').count(), 1);
    await page.context().close();
  });
});
