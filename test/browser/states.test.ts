// @run needs=browser
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { createStage, everyState, startStage } from '../checkout/stage.ts';
import { axeFaults, sidewaysScroll } from '../support/axe.ts';
import { openPage, openStayingPage, startBrowser } from '../support/browser.ts';
import { connect } from '../support/fake-provider.ts';
import { startTestService } from '../support/service.ts';

const LONG_MERCHANT = 'Buchhandlung'.repeat(10);

const { service, fake, stage, end } = await startStage();
const states = await everyState(service, stage);
const browser = await startBrowser();
after(async () => {
  await browser.close();
  await end();
});

for (const colorScheme of ['light', 'dark'] as const) {
  test(`every checkout page passes axe, has controls of at least 44 pixels, requests no other host and obeys its content security policy (${colorScheme})`, async () => {
    const { page, requests, complaints } = await openStayingPage(browser, { colorScheme, reducedMotion: 'reduce' });
    for (const [state, url] of states) {
      await page.goto(url);
      assert.deepEqual(await axeFaults(page), [], state);
      const heights = await page
        .locator('main :is(a, button, .way):visible')
        .evaluateAll((elements) => elements.map((element) => element.getBoundingClientRect().height));
      assert.ok(
        heights.every((height) => height >= 44),
        `${state}: ${heights.join(', ')}`,
      );
    }
    const foreign = requests.filter((line) => !line.startsWith(`GET ${service.url}/`) && !line.includes(' data:'));
    assert.deepEqual(foreign, []);
    // The browser reports the status of the 404 page.
    assert.deepEqual(
      complaints.filter((text) => !/status of 404/.test(text)),
      [],
    );
    await page.context().close();
  });
}

test('the checks of this file detect an injected accessibility fault and an injected policy violation', async () => {
  const { page, complaints } = await openPage(browser);
  await page.goto(states.get('choose')!);
  await page.evaluate(`
    const script = document.createElement('script');
    script.textContent = 'document.title = "inline"';
    document.querySelector('main').append(script, document.createElement('button'));
  `);
  assert.ok((await axeFaults(page)).some((fault) => fault.startsWith('button-name')));
  assert.ok(complaints.some((text) => text.includes('Content Security Policy')));
  await page.context().close();
});

test('the checkout page follows the colour scheme of the buyer’s browser', async () => {
  const colours = new Set<unknown>();
  for (const colorScheme of ['light', 'dark'] as const) {
    const { page } = await openPage(browser, { colorScheme });
    await page.goto(states.get('choose')!);
    colours.add(await page.evaluate('getComputedStyle(document.body).backgroundColor'));
    await page.context().close();
  }
  assert.equal(colours.size, 2);
});

test('every checkout page fits a width of 320 pixels, also with forced colours and with text at 200 %', async () => {
  for (const options of [{}, { forcedColors: 'active' as const }]) {
    const { page } = await openStayingPage(browser, { viewport: { width: 320, height: 640 }, ...options });
    for (const [state, url] of states) {
      await page.goto(url);
      assert.equal(await sidewaysScroll(page), 0, state);
      // 200 % text (WCAG 1.4.4).
      await page.evaluate("document.documentElement.style.fontSize = '200%'");
      assert.equal(await sidewaysScroll(page), 0, `${state}, large text`);
    }
    await page.context().close();
  }
});

test('an amount of $9,999.99 breaks no word of the payment methods at a width of 320 pixels', async () => {
  const { page } = await openPage(browser, { viewport: { width: 320, height: 640 } });
  await page.goto(stage.url(await stage.create({ amount: 9999.99 })));
  const broken = await page.evaluate<string[]>(`
    [...document.querySelectorAll('.way :is(.name, .small)')].flatMap(({ firstChild: text }) =>
      [...text.data.matchAll(/\\S+/g)].filter(({ 0: word, index }) => {
        const range = new Range();
        range.setStart(text, index);
        range.setEnd(text, index + word.length);
        return range.getClientRects().length > 1;
      }).map(([word]) => word))`);
  assert.deepEqual(broken, []);
  await page.context().close();
});

test('a merchant name of 120 characters fits a width of 320 pixels', async () => {
  await using other = await startTestService({ variables: { MERCHANT_NAME: LONG_MERCHANT } });
  connect(other.service, fake);
  const id = await createStage(other, fake).create();
  const { page } = await openPage(browser, { viewport: { width: 320, height: 640 } });
  await page.goto(`${other.url}/checkout/${id}`);
  assert.equal(await sidewaysScroll(page), 0);
  await page.context().close();
});

test('the browser setting for reduced motion stops animations', async () => {
  for (const [reducedMotion, animation] of [
    ['no-preference', 'pulse'],
    ['reduce', 'none'],
  ] as const) {
    const { page } = await openPage(browser, { reducedMotion });
    await page.goto(states.get('waiting')!);
    const name = await page.evaluate("getComputedStyle(document.querySelector('.pulse')).animationName");
    assert.equal(name, animation);
    await page.context().close();
  }
});
