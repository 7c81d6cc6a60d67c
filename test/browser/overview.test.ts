// @run needs=browser
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { axeFaults, sidewaysScroll } from '../support/axe.ts';
import { openPage, startBrowser } from '../support/browser.ts';
import { gatewayOf } from '../support/gateway.ts';
import { sessionBody, startTestService } from '../support/service.ts';

const empty = await startTestService();
const busy = await startTestService();
const long = 'x'.repeat(300);
await gatewayOf(busy).post('sessions', sessionBody());
busy.service.deps.readiness.markNotReady('sandbox', `its key was revoked ${long}`);
const browser = await startBrowser();
after(async () => {
  await browser.close();
  for (const service of [empty, busy]) await service[Symbol.asyncDispose]();
});

const PAGES = [
  ['a new service', empty, '/dashboard/sandbox'],
  ['a service that needs attention', busy, '/dashboard/sandbox?days=1'],
  ['52 weeks', busy, '/dashboard/sandbox?days=365'],
] as const;

for (const colorScheme of ['light', 'dark'] as const) {
  for (const [name, { url }, path] of PAGES) {
    test(`the overview of ${name} passes axe, and fits 320 and 1280 px (${colorScheme})`, async () => {
      for (const width of [320, 1280]) {
        const { page, complaints, requests } = await openPage(browser, {
          colorScheme,
          viewport: { width, height: 800 },
        });
        await page.goto(url + path);
        await page.locator('details').evaluateAll((all) => all.forEach((one) => one.setAttribute('open', '')));
        assert.deepEqual(await axeFaults(page), []);
        assert.equal(await sidewaysScroll(page), 0);
        assert.deepEqual(complaints, []);
        assert.ok(requests.filter((line) => !line.includes(' data:')).length <= 4);
        await page.context().close();
      }
    });
  }
}
