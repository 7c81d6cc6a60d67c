// @run needs=browser
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import jsQR from 'jsqr';
import type { Page } from 'playwright-core';
import { axeFaults, sidewaysScroll } from '../support/axe.ts';
import { openPage, startBrowser } from '../support/browser.ts';
import { startUsdcService } from '../support/usdc-service.ts';

// The page of a payment by USDC, on a real chain. The wallet in the browser is a stand-in that passes each request to the chain.

const usdc = await startUsdcService();
const { on, chain } = usdc;
const browser = await startBrowser();
after(async () => {
  await browser.close();
  await usdc[Symbol.asyncDispose]();
});

const pageOf = (session: string) => `${on.url}/checkout/${session}`;

/** The states of the page, each with the URL of a checkout in that state. */
const states = new Map<string, string>();
const unpaid = await usdc.begin();
states.set('waiting', pageOf(unpaid));
const partial = await usdc.begin();
await usdc.send(partial, 500);
states.set('partial', pageOf(partial));
const seen = await usdc.begin(1234.56);
await usdc.send(seen);
states.set('seen', pageOf(seen));
await usdc.poll();

/** An empty page, in which screenshots are decoded. */
const { page: canvas } = await openPage(browser);

/** Text of the QR code on a screenshot of the element. */
async function qrTextOf(page: Page, selector: string): Promise<string | undefined> {
  const image = (await page.locator(selector).screenshot()).toString('base64');
  const { width, height, pixels } = await canvas.evaluate<{ width: number; height: number; pixels: string }>(`
    (async () => {
      const image = await createImageBitmap(await (await fetch('data:image/png;base64,${image}')).blob());
      const context = new OffscreenCanvas(image.width, image.height).getContext('2d');
      context.drawImage(image, 0, 0);
      const { width, height, data } = context.getImageData(0, 0, image.width, image.height);
      // A text is returned much faster than as many numbers.
      return { width, height, pixels: Array.from(data, (byte) => String.fromCharCode(byte)).join('') };
    })()
  `);
  return jsQR.default(Uint8ClampedArray.from(Buffer.from(pixels, 'latin1')), width, height)?.data;
}

for (const colorScheme of ['light', 'dark'] as const) {
  test(`the page shows address, amount, network and QR code without JavaScript (${colorScheme})`, async () => {
    const { page, complaints, requests } = await openPage(browser, { javaScriptEnabled: false, colorScheme });
    for (const [session, missing] of [
      [unpaid, '19.99'],
      [partial, '14.99'],
    ] as const) {
      const { address } = await usdc.instructions(session);
      await page.goto(pageOf(session));
      const text = await page.locator('main').innerText();
      for (const shown of [address, `${missing} USDC`, 'local chain', '59 minutes'])
        assert.ok(text.includes(shown), shown);
      assert.equal(await page.locator('svg.qr:visible').count(), 1);
      assert.equal(await qrTextOf(page, 'svg.qr >> nth=0'), address);
      await page.getByText('My wallet reads payment requests').click();
      const units = Number(missing) * 1_000_000;
      const request = `ethereum:${chain.token}@31337/transfer?address=${address}&uint256=${units}`;
      assert.equal(await qrTextOf(page, 'svg.qr >> nth=1'), request);
    }
    assert.match(await page.locator('main').innerText(), /5\.00 USDC .*, send 14\.99 more/);
    assert.deepEqual(complaints, []);
    assert.ok(requests.every((line) => line.startsWith(`GET ${on.url}/`)));
    await page.context().close();
  });

  test(`every state of the page passes axe, has controls of at least 44 pixels and fits a width of 320 pixels (${colorScheme})`, async () => {
    const { page, complaints } = await openPage(browser, { colorScheme, viewport: { width: 320, height: 640 } });
    await page.addInitScript('globalThis.ethereum = {}');
    for (const [state, url] of states) {
      await page.goto(url);
      await page.locator('details').evaluateAll((all) => all.forEach((each) => each.setAttribute('open', '')));
      assert.deepEqual(await axeFaults(page), [], state);
      const controls = page.locator('main :is(a, button, summary):visible');
      const heights = await controls.evaluateAll((all) => all.map((one) => one.getBoundingClientRect().height));
      assert.ok(Math.min(...heights) >= 44, `${state}: ${heights.join(', ')}`);
      assert.equal(await sidewaysScroll(page), 0, state);
      // 200 % text (WCAG 1.4.4).
      await page.evaluate("document.documentElement.style.fontSize = '200%'");
      assert.equal(await sidewaysScroll(page), 0, `${state}, large text`);
    }
    assert.deepEqual(complaints, []);
    await page.context().close();
  });
}

test('the page copies amount and address, and has no button for it where the browser offers no clipboard', async () => {
  const { address } = await usdc.instructions(unpaid);
  const { page, complaints } = await openPage(browser, { permissions: ['clipboard-read', 'clipboard-write'] });
  await page.goto(pageOf(unpaid));
  for (const [name, text] of [
    ['Copy the amount', '19.99'],
    ['Copy the address', address],
  ] as const) {
    await page.getByRole('button', { name }).click();
    await page.locator('#announcer').getByText('Copied').waitFor({ state: 'attached' });
    assert.equal(await page.evaluate('navigator.clipboard.readText()'), text);
  }
  await page.addInitScript("Object.defineProperty(navigator, 'clipboard', { value: undefined })");
  await page.reload();
  await page.getByText('Not confirmed yet. We keep checking.').waitFor();
  assert.equal(await page.locator('[data-copy]:visible').count(), 0);
  assert.deepEqual(complaints, []);
  await page.context().close();
});

test('the page of a seen payment says when it counts as paid and why', async () => {
  const { page } = await openPage(browser);
  await page.goto(states.get('seen')!);
  assert.match(await page.locator('main').innerText(), /You may close this page.*\n+.*when it is final on local chain/);
  const small = await usdc.begin();
  await usdc.send(small);
  await usdc.poll();
  await page.goto(pageOf(small));
  assert.match(await page.locator('main').innerText(), /counts as paid after 12 blocks on local chain/);
  await page.context().close();
});

test('the page follows the transfers without a reload: a part is seen and final, a wallet pays the rest, and the payment is paid', async () => {
  const session = await usdc.begin();
  const { page, complaints } = await openPage(browser);
  await injectWallet(page);
  await page.goto(pageOf(session));
  await page.evaluate('globalThis.marked = true');
  const main = page.getByRole('main');
  await usdc.send(session, 1000);
  await usdc.poll();
  await page.getByRole('heading', { name: 'Send 9.99 USDC more' }).waitFor();
  await main.getByText('10.00 USDC was seen').waitFor();
  await chain.finalize();
  await usdc.poll();
  await main.getByText('10.00 USDC has arrived').waitFor();
  await page.getByRole('button', { name: 'Pay 9.99 USDC with your wallet' }).click();
  await main.getByText('Sent.').waitFor();
  await usdc.poll();
  await page.getByRole('heading', { name: 'Your payment was seen' }).waitFor();
  await chain.finalize();
  await usdc.poll();
  await page.getByRole('heading', { name: /^Payment received|paid/i }).waitFor();
  assert.equal(await page.evaluate('globalThis.marked'), true);
  assert.equal((await usdc.instructions(session)).received, 19_990_000);
  assert.deepEqual(complaints, []);
  await page.context().close();
});

/** Puts a wallet (https://eips.ethereum.org/EIPS/eip-1193) into a page; returns the methods that the page has called. */
async function injectWallet(page: Page, { chainId = '0x7a69', declines = '' } = {}): Promise<string[]> {
  const called: string[] = [];
  let current = chainId;
  await page.exposeFunction('askWallet', async ({ method, params }: { method: string; params?: unknown[] }) => {
    called.push(method);
    if (method === declines) throw new Error('declined');
    switch (method) {
      case 'eth_requestAccounts':
        return [chain.accounts[7]];
      case 'eth_chainId':
        return current;
      case 'wallet_switchEthereumChain':
        current = (params as [{ chainId: string }])[0].chainId;
        return null;
      case 'eth_sendTransaction': {
        const hash: `0x${string}` = await chain.client.request({ method, params } as never);
        // The watcher polls only when the test says so, so the block must exist before.
        await chain.client.waitForTransactionReceipt({ hash });
        return hash;
      }
      default:
        return chain.client.request({ method, params } as never);
    }
  });
  await page.addInitScript(`
    globalThis.ethereum = {
      request: (call) => askWallet(call).catch(() => { throw { code: 4001, message: 'User rejected the request.' }; }),
    };
  `);
  return called;
}

test('one button pays from a wallet in the browser, which switches to the network of the payment', async () => {
  const session = await usdc.begin();
  const { page, complaints } = await openPage(browser);
  const called = await injectWallet(page, { chainId: '0x1' });
  await page.goto(pageOf(session));
  await page.getByRole('button', { name: 'Pay 19.99 USDC with your wallet' }).dblclick();
  await page.getByRole('main').getByText('Sent. It appears here as soon as the network has it.').waitFor();
  const button = page.getByRole('button', { name: 'Pay 19.99 USDC with your wallet' });
  assert.ok(await button.isDisabled());
  await button.dispatchEvent('click');
  assert.equal(called.filter((method) => method === 'eth_sendTransaction').length, 1);
  assert.ok(called.includes('wallet_switchEthereumChain'));
  await chain.finalize();
  await usdc.poll();
  await page.getByRole('heading', { name: /^Payment received|paid/i }).waitFor();
  const { status, fees } = await usdc.payment(session);
  assert.deepEqual([status, fees.total], ['paid', 1999]);
  assert.deepEqual(complaints, []);
  await page.context().close();
});

test('a buyer who declines in the wallet can try again, and no button is shown without a wallet', async () => {
  const { page } = await openPage(browser);
  await page.goto(pageOf(unpaid));
  assert.equal(await page.getByRole('button', { name: /with your wallet/ }).count(), 0);
  await page.context().close();

  for (const [declines, text] of [
    ['eth_requestAccounts', 'Your wallet did not connect: you declined.'],
    ['wallet_switchEthereumChain', 'Your wallet did not switch to local chain: you declined.'],
    ['eth_sendTransaction', 'Your wallet did not send the transfer: you declined.'],
  ] as const) {
    const other = await openPage(browser);
    await injectWallet(other.page, { declines, chainId: '0x1' });
    await other.page.goto(pageOf(unpaid));
    const button = other.page.getByRole('button', { name: /with your wallet/ });
    await button.click();
    await other.page.getByRole('main').getByText(text).waitFor();
    assert.ok(await button.isEnabled());
    await other.page.context().close();
  }
  assert.equal((await usdc.instructions(unpaid)).received, 0);
});

test('the script counts the time left down, and marks the last minutes', async () => {
  const session = await usdc.begin();
  const { page } = await openPage(browser);
  await page.clock.install();
  await page.goto(pageOf(session));
  const left = page.locator('[data-left]');
  const colour = () => page.evaluate<string>("getComputedStyle(document.querySelector('[data-left]')).color");
  const calm = await colour();
  await page.clock.fastForward('10:00');
  assert.match((await left.textContent())!, /^49:5\d$|^50:00$/);
  assert.equal(await colour(), calm);
  await page.clock.fastForward('49:50');
  assert.match((await left.textContent())!, /^0:(?:10|0\d)$/);
  assert.notEqual(await colour(), calm);
  await page.context().close();
});
