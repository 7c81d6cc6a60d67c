// @run needs=browser
import assert from 'node:assert/strict';
import { type IncomingHttpHeaders, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Browser, Page } from 'playwright-core';
import { Webhook } from 'standardwebhooks';
import { Stripe } from 'stripe';
import { openPage, openStayingPage, startBrowser } from '../support/browser.ts';
import { type TestService, call, sessionBody, startTestService } from '../support/service.ts';

// The main job from end to end: a program creates a session, a person pays it in a browser, and the merchant's receiver
// gets the events and verifies them with other people's libraries.

const SECRET = `whsec_${Buffer.alloc(32, 3).toString('base64')}`;
const ARRIVAL_TRIES = 1200;

interface Received {
  headers: IncomingHttpHeaders;
  body: string;
}

let browser: Browser;
let service: TestService;
const received: Received[] = [];
const receiver = createServer((request, response) => {
  void text(request)
    .then((body) => received.push({ headers: request.headers, body }))
    .finally(() => response.end());
});

before(async () => {
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  const { port } = receiver.address() as AddressInfo;
  service = await startTestService({
    live: true,
    variables: { WEBHOOK_URL: `http://127.0.0.1:${port}/webhooks`, WEBHOOK_SECRET: SECRET },
  });
  browser = await startBrowser();
});

after(async () => {
  await browser.close();
  await service[Symbol.asyncDispose]();
  receiver.close();
  receiver.closeAllConnections();
});

/** The events of a session, verified by both libraries, in the order in which they came. */
async function verifiedEvents(sessionId: string, count: number): Promise<Record<string, unknown>[]> {
  const ofSession = () => received.filter(({ body }) => body.includes(sessionId));
  for (let attempt = 0; attempt < ARRIVAL_TRIES && ofSession().length < count; attempt++) await sleep(25);
  const stripe = new Stripe('sk_test_unused');
  return ofSession().map(({ headers, body }) => {
    const byStripe = stripe.webhooks.constructEvent(body, String(headers['x-gateway-signature']), SECRET);
    const byStandard = new Webhook(SECRET).verify(body, headers as Record<string, string>);
    assert.deepEqual(byStandard, byStripe);
    assert.equal(headers['x-gateway-event'], byStripe.id);
    return byStandard as unknown as Record<string, unknown>;
  });
}

async function payWith(page: Page, kind: 'Card' | 'Wallet' | 'Bank transfer'): Promise<void> {
  await page.getByRole('radio', { name: new RegExp(`^${kind}`) }).check();
  await page.getByRole('button', { name: /^Pay \$/ }).click();
  if (kind === 'Card') {
    await page.getByRole('link', { name: 'Paid at once' }).click();
    await page.getByRole('button', { name: /^Pay \$/ }).click();
    return;
  }
  await page.getByRole('radio', { name: 'Paid at once' }).check();
  await page.getByRole('button', { name: kind === 'Wallet' ? 'Approve payment' : 'I have sent it' }).click();
}

describe('a buyer pays', () => {
  for (const kind of ['Card', 'Wallet', 'Bank transfer'] as const) {
    it(`by ${kind.toLowerCase()}, and the merchant fulfils on a signed payment.paid`, async () => {
      const created = await call<{ id: string; checkoutUrl: string }>(
        'POST',
        `${service.url}/api/gateway/sessions`,
        sessionBody({ metadata: { orderId: 'A-1' } }),
      );
      const { id, checkoutUrl } = created.body;
      const { page } = await openPage(browser);
      await page.goto(checkoutUrl);
      await payWith(page, kind);
      await page.getByRole('heading', { name: 'Payment received' }).waitFor();
      const events = await verifiedEvents(id, 2);
      assert.deepEqual(
        events.map((event) => [event['id'], event['type'], event['livemode']]),
        [
          [`evt_${id}_provider_pending`, 'payment.provider_pending', false],
          [`evt_${id}_paid`, 'payment.paid', false],
        ],
      );
      const data = events[1]!['data'] as Record<string, unknown>;
      const payment = await call<Record<string, unknown>>('GET', `${service.url}/api/gateway/payments/${id}`);
      assert.deepEqual(data['fees'], payment.body['fees']);
      assert.deepEqual(data['metadata'], { orderId: 'A-1' });
      assert.equal(payment.body['status'], 'paid');
      assert.equal(
        (data['route'] as { kind: string }).kind,
        { Card: 'card', Wallet: 'wallet', 'Bank transfer': 'local' }[kind],
      );
      await page.context().close();
    });
  }
});

describe('the front door', () => {
  for (const javaScriptEnabled of [true, false]) {
    it(`makes a test checkout with one click and shows what came of it, script ${javaScriptEnabled ? 'on' : 'off'}`, async () => {
      const { page, complaints } = await openStayingPage(browser, { javaScriptEnabled });
      await page.goto(service.url);
      await page.getByRole('button', { name: 'Create a test checkout' }).click();
      await payWith(page, 'Card');
      const done = page.getByRole('heading', { name: 'Payment received' });
      const again = page.getByRole('link', { name: 'Check again' });
      // A page that has come in part only shows neither.
      const shown = done.or(again).first();
      for (await shown.waitFor(); !javaScriptEnabled && !(await done.isVisible()); await shown.waitFor()) {
        await again.click();
        await page.waitForTimeout(100);
      }
      await done.waitFor();
      await page.getByRole('link', { name: /^Return to/ }).click();
      await page.getByRole('heading', { name: 'The session is paid' }).waitFor();
      for (const title of ['Session', 'Payment', 'Invoice', 'Webhook event']) {
        await page.getByRole('heading', { name: title, exact: true }).first().waitFor();
      }
      await page.getByText('payment.paid').first().waitFor();
      assert.deepEqual(complaints, []);
      await page.context().close();
    });
  }
});
