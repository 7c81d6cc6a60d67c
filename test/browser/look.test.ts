// @run needs=browser
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { after, describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { axeFaults, sidewaysScroll } from '../support/axe.ts';
import { openPage, startBrowser } from '../support/browser.ts';
import { call, sessionBody, startTestService } from '../support/service.ts';

const ROOT = new URL('../../', import.meta.url);
const COLOUR = /#[0-9a-f]{3,8}\b|\b(?:rgba?|hsla?|oklch|lab|light-dark)\(/i;

const service = await startTestService();
/** A service that serves only one page per minute and client address, for the error page 429. */
const limited = await startTestService({ variables: { PAGE_RATE_LIMIT: '1' } });
await (await fetch(limited.url)).text();
const created = await call<{ id: string }>('POST', `${service.url}/api/gateway/sessions`, sessionBody());
const sessionId = created.body.id;
const browser = await startBrowser();
after(async () => {
  await browser.close();
  await limited[Symbol.asyncDispose]();
  await service[Symbol.asyncDispose]();
});

const checkout = `/checkout/${sessionId}`;

/** Opens the error page for a method that the path does not support. */
async function openWrongMethod(page: Page): Promise<void> {
  await page.goto(service.url);
  await page.evaluate(`
    const form = document.createElement('form');
    form.method = 'post';
    form.action = '/docs';
    document.body.append(form);
  `);
  const loaded = page.waitForEvent('load');
  await page.evaluate("document.querySelector('form:last-child').submit()");
  await loaded;
}

/** All pages of the service apart from the checkout. */
const PAGES: [name: string, open: (page: Page) => Promise<unknown>][] = [
  ['front page', (page) => page.goto(service.url)],
  ['reference', (page) => page.goto(`${service.url}/docs`)],
  ['test outcomes', (page) => page.goto(`${service.url}/simulator`)],
  ['error 404', (page) => page.goto(`${service.url}/no-such-page`)],
  ['error 405', openWrongMethod],
  ['error 429', (page) => page.goto(limited.url)],
];

for (const colorScheme of ['light', 'dark'] as const) {
  describe(`the pages of the service in the ${colorScheme} colour scheme`, () => {
    for (const [name, open] of PAGES) {
      it(`${name}: passes axe, fits a width of 320 px, and requests neither another host nor a favicon`, async () => {
        const { page, complaints, requests } = await openPage(browser, {
          colorScheme,
          viewport: { width: 320, height: 640 },
        });
        await open(page);
        assert.equal(await sidewaysScroll(page), 0);
        assert.deepEqual(await axeFaults(page), []);
        // The browser itself reports the status of an error page.
        assert.deepEqual(
          complaints.filter((text) => !/status of 4\d\d/.test(text)),
          [],
        );
        const foreign = requests.filter((line) => !/^\w+ (?:http:\/\/127\.0\.0\.1:\d+\/|data:)/.test(line));
        assert.deepEqual(foreign, []);
        assert.ok(!requests.some((line) => line.endsWith('/favicon.ico')));
        assert.match((await page.getAttribute('link[rel="icon"]', 'href'))!, /^data:image\/svg\+xml,/);
        await page.context().close();
      });
    }

    it('the checkout page shows an unchecked radio button with a contrast of at least 3:1 (WCAG 1.4.11)', async () => {
      const { page } = await openPage(browser, { colorScheme });
      await page.goto(service.url + checkout);
      const [edge, inside, box] = await page.evaluate<string[]>(`
        const radio = document.querySelector('.way input:not(:checked)');
        const { borderColor, backgroundColor, appearance } = getComputedStyle(radio);
        if (appearance !== 'none') throw new Error('the browser draws the radio button');
        [borderColor, backgroundColor, getComputedStyle(document.querySelector('.panel')).backgroundColor];
      `);
      assert.ok(contrast(edge!, inside!) >= 3, `${edge} on ${inside}`);
      assert.ok(contrast(edge!, box!) >= 3, `${edge} on ${box}`);
      await page.context().close();
    });
  });
}

it('the commands on the front page fit the screen of a phone, and are copied without extra line breaks', async () => {
  const { page } = await openPage(browser, { viewport: { width: 360, height: 740 } });
  await page.goto(service.url);
  const hidden = await page
    .locator('pre')
    .evaluateAll((blocks) => blocks.map(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth));
  assert.ok(hidden.length > 0);
  assert.deepEqual(
    hidden.filter((pixels) => pixels > 0),
    [],
  );
  assert.ok(
    (await page.locator('pre').first().textContent())!.startsWith(`curl ${service.url}/api/gateway/sessions \\\n`),
  );
  await page.context().close();
});

it('the checkout shows a fee only for payment methods with a fee, with and without JavaScript', async () => {
  for (const javaScriptEnabled of [true, false]) {
    const { page } = await openPage(browser, { javaScriptEnabled });
    await page.goto(service.url + checkout);
    const fee = page.locator('.sums > div:visible').filter({ hasText: 'Payment fee' });
    await page.getByRole('radio', { name: /^Card/ }).check();
    assert.deepEqual(await fee.allInnerTexts(), []);
    await page.getByRole('radio', { name: /^Wallet/ }).check();
    assert.deepEqual(
      (await fee.allInnerTexts()).map((text) => text.replace(/\s+/g, ' ')),
      ['Payment fee $0.25'],
    );
    await page.context().close();
  }
});

it('one style sheet defines colours and radii; only the simulated provider has its own palette', () => {
  const sheets = globSync('src/*/assets/*.css', { cwd: ROOT });
  assert.ok(sheets.length >= 5);
  const definingSheets = sheets.filter((path) => {
    const sheet = readFileSync(new URL(path, ROOT), 'utf8');
    // The simulated provider defines other colours for the same CSS variables.
    const rules = path.endsWith('simulator.css') ? sheet.replace(/:root \{[^}]*\}/g, '') : sheet;
    return COLOUR.test(rules) || /border-radius:(?![^;]*(?:var\(|50%))/.test(rules);
  });
  assert.deepEqual(
    definingSheets.map((path) => basename(path)),
    ['theme.css'],
  );
});

/** Contrast ratio of two colours `rgb(r, g, b)`: https://www.w3.org/TR/WCAG21/#dfn-contrast-ratio. */
function contrast(one: string, other: string): number {
  const [dark, light] = [luminance(one), luminance(other)].toSorted((a, b) => a - b) as [number, number];
  return (light + 0.05) / (dark + 0.05);
}

function luminance(colour: string): number {
  const [red, green, blue] = Array.from(colour.matchAll(/\d+/g), ([part]) => {
    const share = Number(part) / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
