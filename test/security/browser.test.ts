// @run needs=browser
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import type { Provider } from '../../src/providers/provider.ts';
import { createSession } from '../simulator/buyer.ts';
import { openPage, startBrowser } from '../support/browser.ts';
import { startFakeProvider } from '../support/fake-provider.ts';
import { startServer } from '../support/http-server.ts';
import { call, sessionBody, startTestService } from '../support/service.ts';

// A successful attack is visible as a request, as a policy violation, or as a changed page.
const ATTACKS = [
  '<img src=/x onerror=window.hacked=1>',
  '</script><script>window.hacked=1</script>',
  '"><svg onload=window.hacked=1>',
  "' onmouseover=window.hacked=1 x='",
  '{{7*7}}${7*7}',
  '\u202egnp.exe \u{1f600}',
];
const ALL = ATTACKS.join(' ').slice(0, 118);

test('text from buyers, merchants and providers is never run as script, and a checkout page cannot be shown in a frame', async () => {
  await using tillway = await startTestService({ variables: { MERCHANT_NAME: ALL } });
  await using fake = await startFakeProvider();
  const { providers, store } = tillway.service.deps;
  // The page also shows a URL from the provider.
  (providers as Map<string, Provider>).set('sandbox', fake);
  fake.pageUrl = `${fake.pageUrl}?${encodeURIComponent(ALL)}`;
  const create = (overrides: Record<string, unknown>) => createSession(tillway, overrides);
  const metadata = Object.fromEntries(ATTACKS.map((attack, index) => [`key-${index}`, attack]));
  const customer = `"<img/src=x/onerror=window.hacked=1>"@example.com`;
  const refused = await call('POST', `${tillway.url}/api/gateway/sessions`, sessionBody({ customer }));
  assert.equal(refused.status, 400);
  const ids = [await create({ product: ALL, metadata, clientReferenceId: ALL, customer: "o'hara+b@example.com" })];
  for (const product of ATTACKS) ids.push(await create({ product }));
  const paying = await create({ product: ALL });
  await fetch(`${tillway.url}/checkout/${paying}/pay`, {
    method: 'POST',
    body: new URLSearchParams({ kind: 'card', total_card: '99999999' }),
    redirect: 'manual',
  });
  assert.equal((await store.session(paying))!.status, 'pending');
  const pages = [...ids, paying].map((id) => `/checkout/${id}`);
  pages.push(`/demo?session_id=${ids[0]}`, `/checkout/${ids[0]}?notice=${encodeURIComponent(ALL)}`, '/');

  await using owned = new AsyncDisposableStack();
  const running = owned.adopt(await startBrowser(), (each) => each.close());
  const browser = await openPage(running);
  for (const path of pages) {
    const { page, requests, complaints } = browser;
    await page.goto(tillway.url + path, { waitUntil: 'load' });
    assert.equal(await page.evaluate('window.hacked'), undefined, path);
    assert.equal(await page.locator('img, svg[onload], script:not([src])').count(), 0, path);
    assert.deepEqual(complaints, [], path);
    const foreign = requests.filter((line) => !line.includes(` ${tillway.url}/`) && !line.includes(' data:'));
    assert.deepEqual(foreign, [], path);
    assert.ok(!requests.some((line) => line.endsWith('/x')), path);
  }
  const shown = await browser.page
    .goto(`${tillway.url}/checkout/${ids[1]}`)
    .then(() => browser.page.textContent('main'));
  assert.ok(shown!.includes(ATTACKS[0]!));

  await assertUnframed(browser.page, `${tillway.url}/checkout/${ids[1]}`);
});

async function assertUnframed(page: Page, url: string): Promise<void> {
  await using framingSite = await startServer((_request, response) =>
    response.setHeader('content-type', 'text/html').end(`<iframe src="${url}"></iframe>`),
  );
  await page.goto(framingSite.url, { waitUntil: 'load' });
  const [, frame] = page.frames();
  assert.ok(frame && !(await frame.content()).includes('Choose how to pay'));
}
