// @run needs=browser
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import { Webhook } from 'standardwebhooks';
import { Stripe } from 'stripe';
import { startMerchant } from '../support/http-server.ts';
import { saveRules } from '../support/routing.ts';
import { type WatchedPage, openStayingPage, startBrowser } from '../support/browser.ts';
import { call, sessionBody, startTestService } from '../support/service.ts';

// Payments in a real browser, with the simulated provider. The merchant verifies events with third-party libraries.

const SECRET = `whsec_${Buffer.alloc(32, 3).toString('base64')}`;
const ARRIVAL_TRIES = 1200;
const SHOP = 'https://shop.example';
const RELOAD_PAUSE_MS = 200;
const TIMEOUT_MS = 120_000;

const receiver = await startMerchant();
const variables = { WEBHOOK_URL: `${receiver.url}/webhooks`, WEBHOOK_SECRET: SECRET };
const service = await startTestService({ live: true, variables });
// The router sometimes explores the other bank route, which has no fee; the tests expect the fee of the best route.
// oxlint-disable-next-line unicorn/no-thenable -- a keyword of the rule language
await saveRules(service, { id: 'no-exploration', then: { explore: false } });
const browser = await startBrowser();
after(async () => {
  await browser.close();
  await service[Symbol.asyncDispose]();
  await receiver[Symbol.asyncDispose]();
});

async function createSession(overrides: Record<string, unknown> = {}): Promise<{ id: string; url: string }> {
  const body = sessionBody({ redirectUrl: `${SHOP}/thanks?order=7`, metadata: { orderId: 'A-1' }, ...overrides });
  const answer = await call<{ id: string; checkoutUrl: string }>('POST', `${service.url}/api/gateway/sessions`, body);
  return { id: answer.body.id, url: answer.body.checkoutUrl };
}

async function open(url: string, javaScriptEnabled: boolean): Promise<WatchedPage> {
  const watched = await openStayingPage(browser, { javaScriptEnabled });
  // The browser shows this page instead of the merchant's site.
  await watched.page
    .context()
    .route(`${SHOP}/**`, (route) =>
      route.fulfill({ contentType: 'text/html', body: '<!doctype html><title>Shop</title><h1>Back at the shop</h1>' }),
    );
  await watched.page.goto(url);
  return watched;
}

async function payByTestCard(page: Page, label: string): Promise<void> {
  await page.getByRole('link', { name: label }).click();
  await page.getByRole('button', { name: /^Pay \$/ }).click();
}

/** Waits for a heading. Without JavaScript, follows the link `Check again` until the heading appears. */
async function waitForHeading(page: Page, heading: string, javaScriptEnabled: boolean): Promise<void> {
  const headingLocator = page.getByRole('heading', { name: heading, level: 1 });
  if (javaScriptEnabled) return headingLocator.waitFor();
  const again = page.getByRole('link', { name: 'Check again' });
  for (;;) {
    await headingLocator.or(again).waitFor();
    if (await headingLocator.isVisible()) return;
    await again.click();
    await page.waitForTimeout(RELOAD_PAUSE_MS);
  }
}

function statusOf(id: string): Promise<string> {
  return service.service.deps.store.session(id).then((session) => session!.status);
}

/** Events of a session in the order of arrival, verified by the libraries of Stripe and Standard Webhooks. */
async function verifiedEvents(sessionId: string, count: number): Promise<Record<string, unknown>[]> {
  const ofSession = () => receiver.received.filter(({ body }) => body.includes(sessionId));
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

/** Checks the signed events of a paid session, and that their data equals the response of the API. */
async function assertPaidEvents(id: string, kind: string): Promise<void> {
  const events = await verifiedEvents(id, 2);
  const idOf = (name: string) => [`evt_${id}_${name}`, `payment.${name}`, false];
  assert.deepEqual(
    events.map((event) => [event['id'], event['type'], event['livemode']]),
    [idOf('provider_pending'), idOf('paid')],
  );
  const data = events[1]!['data'] as Record<string, unknown>;
  const { body } = await call<Record<string, unknown>>('GET', `${service.url}/api/gateway/payments/${id}`);
  assert.equal(body['status'], 'paid');
  assert.deepEqual([data['fees'], data['metadata']], [body['fees'], { orderId: 'A-1' }]);
  assert.equal((data['route'] as { kind: string }).kind, kind);
}

function assertNoComplaints({ complaints, requests }: WatchedPage): void {
  assert.deepEqual(complaints, []);
  const foreignRequests = requests.filter((line) => !line.includes(` ${service.url}/`) && !line.includes(` ${SHOP}/`));
  assert.deepEqual(
    foreignRequests.filter((line) => !line.includes(' data:')),
    [],
  );
}

for (const javaScriptEnabled of [true, false]) {
  const mode = javaScriptEnabled ? 'with JavaScript' : 'without JavaScript';

  test(`a buyer pays by card and returns to the merchant, ${mode}`, { timeout: TIMEOUT_MS }, async () => {
    const { id, url } = await createSession();
    const watched = await open(url, javaScriptEnabled);
    const { page } = watched;
    await page.getByRole('button', { name: 'Pay $49.99' }).click();
    await payByTestCard(page, 'Paid at once');
    await waitForHeading(page, 'Payment received', javaScriptEnabled);
    await assertPaidEvents(id, 'card');
    assertNoComplaints(watched);
    await page.getByRole('link', { name: 'Return to Demo merchant' }).click();
    await page.waitForURL(`${SHOP}/thanks?order=7&session_id=${id}&status=paid`);
    await page.context().close();
  });

  test(`a declined buyer pays by another method, ${mode}`, { timeout: TIMEOUT_MS }, async () => {
    const { id, url } = await createSession();
    const watched = await open(url, javaScriptEnabled);
    const { page } = watched;
    await page.getByRole('button', { name: 'Pay $49.99' }).click();
    await payByTestCard(page, 'Always declined');
    await waitForHeading(page, 'That payment did not go through', javaScriptEnabled);
    await page.getByRole('main').getByText('You can try 2 more times').waitFor();
    await page.getByRole('radio', { name: /^Wallet/ }).check();
    await page.getByRole('button', { name: 'Pay $50.24' }).click();
    await page.getByRole('radio', { name: 'Paid at once' }).check();
    await page.getByRole('button', { name: 'Approve payment' }).click();
    await waitForHeading(page, 'Payment received', javaScriptEnabled);
    await page.getByRole('main').getByText('You paid $50.24').waitFor();
    assertNoComplaints(watched);
    await page.context().close();
    assert.equal(await statusOf(id), 'paid');
  });

  test(`a buyer abandons a payment, starts another one and cancels it, ${mode}`, { timeout: TIMEOUT_MS }, async () => {
    const { id, url } = await createSession();
    const watched = await open(url, javaScriptEnabled);
    const { page } = watched;
    await page.getByRole('radio', { name: /^Bank transfer/ }).check();
    await page.getByRole('button', { name: 'Pay $50.11' }).click();
    await page.getByRole('heading', { name: 'Send a test bank transfer' }).waitFor();
    await page.goto(url);
    await page.getByRole('link', { name: 'Continue at Simulated provider' }).waitFor();
    await page.getByRole('button', { name: 'Choose another way to pay' }).click();
    await page.getByRole('button', { name: 'Pay $49.99' }).click();
    await page.getByRole('heading', { name: 'Pay by test card' }).waitFor();
    await page.goto(url);
    const cancel = page.getByRole('button', { name: 'Cancel and close' });
    assert.equal(await cancel.isVisible(), false);
    await page.getByText('Cancel this payment').click();
    await cancel.click();
    await waitForHeading(page, 'The payment was not completed', javaScriptEnabled);
    assert.equal(await statusOf(id), 'failed');
    assertNoComplaints(watched);
    await page.getByRole('link', { name: 'Return to Demo merchant' }).click();
    await page.waitForURL(`${SHOP}/thanks?order=7&session_id=${id}&status=failed`);
    await page.context().close();
  });

  test(
    `a visitor creates a test checkout on the front page at either address, pays and sees the result, ${mode}`,
    { timeout: TIMEOUT_MS },
    async () => {
      for (const url of [service.url, service.url.replace('127.0.0.1', 'localhost')]) {
        const watched = await open(url, javaScriptEnabled);
        const { page, requests } = watched;
        assert.equal(page.url(), `${service.url}/`);
        // The first request was to the address that the visitor typed.
        requests.length = 0;
        await page.getByRole('button', { name: 'Create a test checkout' }).click();
        await page.getByRole('radio', { name: /^Bank transfer/ }).check();
        await page.getByRole('button', { name: /^Pay \$/ }).click();
        await page.getByRole('radio', { name: 'Paid at once' }).check();
        await page.getByRole('button', { name: 'I have sent it' }).click();
        await waitForHeading(page, 'Payment received', javaScriptEnabled);
        await page.getByRole('link', { name: /^Return to/ }).click();
        await page.getByRole('heading', { name: /^Payment of \$/ }).waitFor();
        await page.getByText('payment.paid').first().waitFor();
        assertNoComplaints(watched);
        await page.context().close();
      }
    },
  );
}

test('a buyer pays with the keyboard alone', async () => {
  const { id, url } = await createSession({ redirectUrl: undefined });
  const watched = await open(url, true);
  const { page } = watched;
  const { keyboard } = page;
  const tabTo = async (selector: string) => {
    for (let steps = 0; steps < 30; steps++) {
      await keyboard.press('Tab');
      if (await page.evaluate(`document.activeElement.matches('${selector}')`)) return;
    }
    assert.fail(`no Tab leads to ${selector}`);
  };
  await tabTo('[name=kind]:checked');
  await keyboard.press('ArrowDown');
  assert.equal(await page.getByRole('button').first().innerText(), 'Pay $50.24');
  await keyboard.press('ArrowUp');
  await tabTo('main form .button');
  await keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Pay by test card' }).waitFor();
  // The heading can appear before the form fields.
  await page.waitForLoadState();
  for (const [field, value] of [
    ['number', '4242424242424242'],
    ['expiry', '12/34'],
    ['cvc', '123'],
    ['name', 'Test Buyer'],
  ] as const) {
    await tabTo(`[name=${field}]`);
    await keyboard.type(value);
  }
  await keyboard.press('Enter');
  await waitForHeading(page, 'Payment received', true);
  assert.equal(await statusOf(id), 'paid');
  assertNoComplaints(watched);
  await page.context().close();
});
