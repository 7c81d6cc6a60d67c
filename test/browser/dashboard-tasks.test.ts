// @run needs=browser
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { quarterHourOf } from '../../src/operations/count-sales.ts';
import { DAY, MINUTE, idOf } from '../fixtures/checkout-records.ts';
import { anEndpoint, write } from '../fixtures/store-records.ts';
import { attempt, createSession } from '../simulator/buyer.ts';
import { openPage, startBrowser } from '../support/browser.ts';
import { runSql } from '../support/database.ts';
import { joinPerson } from '../support/operators.ts';
import { startTestService } from '../support/service.ts';

// The daily tasks of an operator, each from the overview, with a limit of clicks and Enters, with and without scripts.

const test = await startTestService();
const { store } = test.service.deps;
const browser = await startBrowser();
after(async () => {
  await browser.close();
  await test[Symbol.asyncDispose]();
});
const home = `${test.url.replace('127.0.0.1', 'localhost')}/dashboard/sandbox`;

await write(store, { type: 'endpoint_saved', endpoint: anEndpoint({ id: idOf('whe', 8) }) });
const sessions = new Map<string, string>();
async function sell(buyer: string, outcome: string): Promise<void> {
  const id = await createSession(test, { customer: buyer });
  sessions.set(buyer, id);
  await attempt(test, id, 'card', outcome);
  await test.pass(0);
}
/** A buyer of their own for each task, with and without scripts. */
const buyer = (name: string, hasScript: boolean) => `${name}-${hasScript ? 'with' : 'without'}@shop.example`;
for (const hasScript of [true, false]) {
  await sell(buyer('declined', hasScript), 'declined');
  for (const name of ['full', 'part', 'event']) await sell(buyer(name, hasScript), 'paid');
}
const sold = sessions.size;
await test.pass(31 * DAY);
await sell('today@shop.example', 'paid');
await worsen('sandbox_card_acquirer');
const { cookie } = await joinPerson(test, 'ada@example.com', { sandbox: 'admin', production: 'admin' });
test.clock.advance(1000);

/** A route that fails in the last hour, and succeeded at that time of the weeks before, beside a good route. */
async function worsen(route: string): Promise<void> {
  const rows = [0, 7, 14, 21, 28].flatMap((days) => {
    const time = quarterHourOf(test.clock.now()) - days * DAY - 30 * MINUTE;
    const row = (of: string, kind: string, count: number) =>
      `('sandbox', ${time}, '${of}', '${kind}', ${count}, ${count * 1000}, 0, 0, 0)`;
    const [paid, failed] = days === 0 ? [10, 90] : [95, 5];
    const good = [row('sandbox_wallet', 'started', 100), row('sandbox_wallet', 'paid', 99)];
    return [
      ...good,
      row(route, 'started', 100),
      row(route, 'paid', paid),
      row(route, 'failed/route/timed_out', failed),
    ];
  });
  await runSql(test.databaseUrl, `INSERT INTO sales_quarter_hours VALUES ${rows.join(', ')}`);
}

/** A person at a page of the browser, whose clicks and Enters are counted. */
interface Hands {
  page: Page;
  hasScript: boolean;
  count: number;
  click(selector: string): Promise<void>;
  search(text: string): Promise<void>;
}

async function handsOn(hasScript: boolean): Promise<Hands> {
  const { page } = await openPage(browser, { javaScriptEnabled: hasScript, viewport: { width: 1280, height: 900 } });
  await page.context().addCookies([{ name: 'tillway', value: cookie.replace('tillway=', ''), url: home }]);
  await page.goto(home);
  const hands: Hands = {
    page,
    hasScript,
    count: 0,
    async click(selector) {
      hands.count++;
      await page.click(selector);
    },
    async search(text) {
      await page.fill('#search', text);
      hands.count++;
      await page.press('#search', 'Enter');
    },
  };
  return hands;
}

/** Waits for a text on the page that the last click leads to. */
const shows = ({ page }: Hands, text: RegExp, selector = 'main') =>
  page.locator(selector).filter({ hasText: text }).first().waitFor({ timeout: 10_000 });
const refundsOf = async (name: string) => {
  const { items } = await store.listRefunds({ sessionId: sessions.get(name)! }, { limit: 9 });
  return items.map(({ amount }) => amount);
};

const TASKS: [name: string, most: number, run: (hands: Hands) => Promise<void>][] = [
  [
    'which route is worse than usual',
    0,
    async (hands) => {
      await shows(hands, /Success in the last hour is \d+ % of 200 attempts; 9\d % is usual at this time/);
      assert.match((await hands.page.locator('#routes .name').first().textContent())!, /^Card/);
    },
  ],
  [
    'find a payment by address, and why it failed',
    1,
    async (hands) => {
      await hands.search(buyer('declined', hands.hasScript));
      await shows(hands, /declined.*It counts against the route/, '.why');
    },
  ],
  [
    'refund it in full',
    3,
    async (hands) => {
      const name = buyer('full', hands.hasScript);
      await hands.search(name);
      await hands.click('[id$="/refund"]');
      await hands.click('#confirm');
      await shows(hands, /refund was requested/);
      assert.deepEqual(await refundsOf(name), [4999]);
    },
  ],
  [
    'find who refunded a payment',
    1,
    async (hands) => {
      await hands.search(buyer('full', hands.hasScript));
      await shows(hands, /ada@example\.com did: create refund/);
    },
  ],
  [
    'refund it in part',
    3,
    async (hands) => {
      const name = buyer('part', hands.hasScript);
      await hands.search(name);
      await hands.click('[id$="/refund"]');
      await hands.page.fill('#amount', '10');
      await hands.click('#confirm');
      await shows(hands, /refund was requested/);
      assert.deepEqual(await refundsOf(name), [1000]);
    },
  ],
  [
    'send its last event again',
    2,
    async (hands) => {
      const name = buyer('event', hands.hasScript);
      await hands.search(name);
      await hands.click('[id^="resend-"]');
      await shows(hands, /being sent again/);
      assert.equal((await store.deliveriesOfSession(sessions.get(name)!)).at(-1)!.status, 'pending');
    },
  ],
  [
    "export last month's payments",
    3,
    async (hands) => {
      await hands.click('nav a:text-is("Payments")');
      await hands.page.fill('#from', '2026-03-01');
      await hands.page.fill('#to', '2026-03-31');
      await hands.click('button:text-is("Filter")');
      const file = hands.page.waitForEvent('download');
      await hands.click('a[download]');
      const lines = readFileSync(await (await file).path(), 'utf8')
        .trim()
        .split('\r\n');
      assert.equal(lines.length, 1 + sold);
      assert.ok(!lines.some((line) => line.includes('today@shop.example')));
    },
  ],
  [
    'test to live and back',
    2,
    async (hands) => {
      await hands.click('.mode a');
      await shows(hands, /^Live/, '.mode strong');
      await hands.click('.mode a');
      await shows(hands, /^Test mode/, '.mode strong');
    },
  ],
];

describe('the tasks of an operator', () => {
  for (const hasScript of [true, false]) {
    for (const [name, most, run] of TASKS) {
      it(`${name}: at most ${most} clicks ${hasScript ? 'with' : 'without'} script`, async () => {
        const hands = await handsOn(hasScript);
        await run(hands);
        assert.ok(hands.count <= most, `${hands.count} clicks`);
        await hands.page.context().close();
      });
    }
  }

  it('need no aim: a click anywhere on a row opens the payment, and the filter works without script', async () => {
    const { page } = await handsOn(false);
    await page.goto(`${home}/payments?status=paid`);
    const cell = (await page.locator('tbody tr:first-child td:nth-child(4)').boundingBox())!;
    await page.mouse.click(cell.x + cell.width / 2, cell.y + cell.height / 2);
    await page.waitForURL('**/payments/chk_*');
    await page.goto(`${home}/payments`);
    await page.selectOption('#status', 'failed');
    await page.click('button:text-is("Filter")');
    assert.match(page.url(), /status=failed/);
    assert.equal(await page.locator('tbody tr').count(), 2);
    await page.context().close();
  });

  it('lose no field of a filter when the page becomes current', async () => {
    const { page } = await handsOn(true);
    await page.goto(`${home}/payments`);
    const filled = { amountFrom: '40', from: '2026-03-01' };
    for (const [name, value] of Object.entries(filled)) await page.fill(`#${name}`, value);
    await page.selectOption('#status', 'failed');
    await page.focus('#amountTo');
    test.clock.advance(MINUTE);
    await page
      .locator('.as-of time')
      .filter({ hasNotText: (await page.textContent('.as-of time'))! })
      .waitFor();
    for (const [name, value] of Object.entries(filled)) assert.equal(await page.inputValue(`#${name}`), value);
    assert.equal(await page.inputValue('#status'), 'failed');
    await page.context().close();
  });

  it('lead to the login when the session ends, instead of a page that is no longer current', async () => {
    const { page } = await handsOn(true);
    const bob = await joinPerson(test, 'bob@example.com', { sandbox: 'viewer' });
    const value = bob.cookie.replace('tillway=', '');
    await page.context().addCookies([{ name: 'tillway', value, url: home }]);
    await page.goto(home);
    await write(store, { type: 'operator_sessions_ended', operatorId: bob.operator.id, at: test.clock.now() });
    await page.waitForURL('**/dashboard/login?next=*', { timeout: 20_000 });
    await page.context().close();
  });
});
