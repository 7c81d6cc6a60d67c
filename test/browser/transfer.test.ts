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

/** Text of the QR code on a screenshot of the element. */
async function qrTextOf(page: Page, selector: string): Promise<string | undefined> {
  const image = (await page.locator(selector).screenshot()).toString('base64');
  const { page: canvas } = await openPage(browser);
  const { width, height, pixels } = await canvas.evaluate<{ width: number; height: number; pixels: number[] }>(`
    (async () => {
      const image = new Image();
      image.src = 'data:image/png;base64,${image}';
      await image.decode();
      const canvas = Object.assign(document.createElement('canvas'), { width: image.width, height: image.height });
      const context = canvas.getContext('2d');
      context.drawImage(image, 0, 0);
      const { width, height, data } = context.getImageData(0, 0, image.width, image.height);
      return { width, height, pixels: Array.from(data) };
    })()
  `);
  await canvas.context().close();
  return jsQR.default(Uint8ClampedArray.from(pixels), width, height)?.data;
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
      assert.equal(await qrTextOf(page, 'svg.qr >> nth=0'), address);
    }
    assert.match(await page.locator('main').innerText(), /5\.00 USDC .*, send 14\.99 more/);
    assert.deepEqual(complaints, []);
    assert.ok(requests.every((line) => line.startsWith(`GET ${on.url}/`)));
    await page.context().close();
  });

  test(`every state of the page passes axe and fits a width of 320 pixels (${colorScheme})`, async () => {
    const { page, complaints } = await openPage(browser, { colorScheme, viewport: { width: 320, height: 640 } });
    for (const [state, url] of states) {
      await page.goto(url);
      await page.locator('details').evaluateAll((all) => all.forEach((each) => each.setAttribute('open', '')));
      assert.deepEqual(await axeFaults(page), [], state);
      assert.equal(await sidewaysScroll(page), 0, state);
    }
    assert.deepEqual(complaints, []);
    await page.context().close();
  });
}

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

test('the page follows the transfers without a reload: a part is seen, the rest arrives, and the payment is paid', async () => {
  const session = await usdc.begin();
  const { page, complaints } = await openPage(browser);
  await page.goto(pageOf(session));
  await usdc.send(session, 1000);
  await usdc.poll();
  await page.getByRole('heading', { name: 'Send 9.99 USDC more' }).waitFor();
  await usdc.send(session, 999);
  await usdc.poll();
  await page.getByRole('heading', { name: 'Your payment was seen' }).waitFor();
  await chain.finalize();
  await usdc.poll();
  await page.getByRole('heading', { name: /^Payment received|paid/i }).waitFor();
  assert.deepEqual(complaints, []);
  await page.context().close();
});

/** Puts a wallet (https://eips.ethereum.org/EIPS/eip-1193) into a page; returns the methods that the page has called. */
async function injectWallet(page: Page, { chainId = '0x7a69', declines = false } = {}): Promise<string[]> {
  const called: string[] = [];
  let current = chainId;
  await page.exposeFunction('askWallet', async ({ method, params }: { method: string; params?: unknown[] }) => {
    called.push(method);
    switch (method) {
      case 'eth_requestAccounts':
        return [chain.accounts[7]];
      case 'eth_chainId':
        return current;
      case 'wallet_switchEthereumChain':
        current = (params as [{ chainId: string }])[0].chainId;
        return null;
      default:
        if (declines) throw new Error('declined');
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

  const other = await openPage(browser);
  await injectWallet(other.page, { declines: true });
  await other.page.goto(pageOf(unpaid));
  await other.page.getByRole('button', { name: /with your wallet/ }).click();
  await other.page.getByRole('main').getByText('Your wallet did not send the transfer: you declined.').waitFor();
  assert.ok(await other.page.getByRole('button', { name: /with your wallet/ }).isEnabled());
  await other.page.context().close();
});
