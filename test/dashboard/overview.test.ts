import assert from 'node:assert/strict';
import { test } from 'node:test';
import { brotliCompressSync } from 'node:zlib';
import { centsFromText, formatUsd } from '../../src/domain/money.ts';
import { machinePrincipal } from '../../src/domain/principal.ts';
import { quarterHourOf } from '../../src/operations/count-sales.ts';
import { QUARTER_HOUR_MS } from '../../src/store/tables/sales-rows.ts';
import { readOverview } from '../../src/operations/read-overview.ts';
import { readNewestSales, readSales } from '../../src/operations/sales-report.ts';
import { DAY } from '../fixtures/checkout-records.ts';
import { anEndpoint } from '../fixtures/store-records.ts';
import { attempt, createSession } from '../simulator/buyer.ts';
import { runSql } from '../support/database.ts';
import { gatewayOf, paymentsOf } from '../support/gateway.ts';
import { type TestService, sessionBody, startTestService } from '../support/service.ts';

const EVIL = `<img src=x onerror=alert(1)>`;
const MOST_BYTES = 32 * 1024;

async function pageOf({ url }: TestService, query = '', environment = 'sandbox') {
  const response = await fetch(`${url}/dashboard/${environment}${query}`, { headers: { accept: 'text/html' } });
  return { status: response.status, text: await response.text() };
}

/** Sums of many quarter-hours of the last `days` days. */
async function fill({ databaseUrl, clock, service }: TestService, days: number): Promise<void> {
  const rows: string[] = [];
  for (let day = 0; day < days; day++) {
    const time = quarterHourOf(clock.now()) - day * DAY - 4 * QUARTER_HOUR_MS;
    const row = (route: string, kind: string, count: number) =>
      `('sandbox', ${time}, '${route}', '${kind}', ${count}, ${count * (2000 + ((day * 7919) % 5000))}, 0, ${count * 60}, 0)`;
    rows.push(row('', 'created', 900 + day), row('', 'expired', 90));
    for (const route of ['sandbox_card_acquirer', EVIL, 'wallet']) {
      rows.push(row(route, 'started', 300), row(route, 'paid', 250 + ((day * 31) % 40)), row(route, 'refunded', 3));
      for (const reason of ['route/timed_out', 'issuer/declined', 'buyer/abandoned'])
        rows.push(row(route, `failed/${reason}`, 3 + (day % 7)));
    }
  }
  for (let at = 0; at < rows.length; at += 1000)
    await runSql(databaseUrl, `INSERT INTO sales_quarter_hours VALUES ${rows.slice(at, at + 1000).join(', ')}`);
  // Builds the days.
  await service.runDue();
}

test('a new service has a guide of its set-up, and no figures before its first checkout', async () => {
  await using on = await startTestService();
  const empty = await pageOf(on);
  assert.match(empty.text, /Nothing needs attention\./);
  assert.match(empty.text, /Set up this service/);
  assert.ok(!empty.text.includes('class="figures"'));

  await gatewayOf(on).post('sessions', sessionBody());
  await on.service.deps.store.commit([{ type: 'endpoint_saved', endpoint: anEndpoint() }]);
  const begun = await pageOf(on);
  assert.equal(begun.text.match(/class="status good">done/g)?.length, 2);
  assert.match(begun.text, /tillway keys create/);
  assert.ok(begun.text.includes('class="figures"'));
  assert.doesNotMatch(begun.text, /Connect a provider/);
  assert.match((await pageOf(on, '', 'production')).text, /tillway providers check<[^]*tillway checkout create/);
});

test('the figures and the numbers equal the sums, and untrusted names are text', async () => {
  await using on = await startTestService();
  await gatewayOf(on).post('sessions', sessionBody());
  await fill(on, 70);
  const { deps } = on.service;
  const sales = await readSales(deps, {
    environment: 'sandbox',
    from: on.clock.now() - 29 * DAY,
    until: on.clock.now() + 1,
    step: 'day',
  });
  assert.equal(sales.steps.length, 30);
  const paid = sales.sums.filter(({ kind }) => kind === 'paid').reduce((sum, { amount }) => sum + amount, 0);
  const { text } = await pageOf(on, '?days=30');
  assert.match(text, new RegExp(`\\$${(paid / 100).toLocaleString('en', { minimumFractionDigits: 2 })}<`));
  assert.match(text, /Last 30 days, UTC: from/);
  assert.ok(!text.includes('<img'));
  const [numbers = ''] = /id="paid-numbers"[^]*?<\/table>/.exec(text) ?? [];
  const amounts = Array.from(numbers.matchAll(/data-label="Paid"><span>\$([\d,.]+)</g), ([, amount]) =>
    centsFromText(amount!)!,
  );
  assert.equal(amounts.length, 30);
  assert.equal(
    amounts.reduce((sum, amount) => sum + amount, 0),
    paid,
  );
});

test('a payment with a fee of the buyer is paid and refunded with the same amount', async () => {
  await using on = await startTestService();
  const id = await createSession(on);
  await attempt(on, id, 'wallet', 'paid');
  await on.pass(0);
  const [payment] = await paymentsOf(on, id);
  assert.ok(payment!.fees.buyerFee > 0);
  await gatewayOf(on).post(`payments/${payment!.id}/refunds`, {});
  await on.pass(0);
  const { text } = await pageOf(on);
  const total = formatUsd(payment!.fees.total).replace('$', '\\$');
  for (const name of ['Paid', 'Refunded']) {
    assert.match(text, new RegExp(`<dt>${name}</dt>\\s*<dd class="figure">${total}<`));
  }
  assert.match(text, /<dt>Net<\/dt>\s*<dd class="figure">\$0\.00</);
  assert.match(text, new RegExp(`data-label="Paid"><span>${total}<`));
});

test('a range that does not exist is refused', async () => {
  await using on = await startTestService();
  const { status, text } = await pageOf(on, '?days=13');
  assert.equal(status, 400);
  assert.ok(text.includes('href="/dashboard/sandbox">Go back'));
});

test('support sees counts and no sums of money', async () => {
  await using on = await startTestService();
  await fill(on, 3);
  const caller = machinePrincipal('sandbox');
  const deps = { ...on.service.deps, caller };
  const newest = await readNewestSales(deps, 'sandbox');
  const seen = (await readOverview(deps, 'sandbox', 7, newest)).steps.flatMap(({ sales }) => sales);
  const support = { ...deps, caller: { ...caller, role: 'support' as const } };
  const { steps, showsMoney } = await readOverview(support, 'sandbox', 7, newest);
  const sales = steps.flatMap((step) => step.sales);
  assert.equal(showsMoney, false);
  assert.deepEqual(
    sales.map(({ count }) => count),
    seen.map(({ count }) => count),
  );
  assert.ok(seen.some(({ amount, gatewayFee }) => amount > 0 && gatewayFee > 0));
  for (const { amount, buyerFee, gatewayFee, cost } of sales) assert.equal(amount + buyerFee + gatewayFee + cost, 0);
});

test('a first visit of any range weighs at most 32 KB and takes at most 4 requests', async () => {
  await using on = await startTestService();
  await gatewayOf(on).post('sessions', sessionBody());
  await fill(on, 740);
  for (const days of [1, 7, 30, 90, 365]) {
    const { text } = await pageOf(on, `?days=${days}`);
    const assets = [...text.matchAll(/(?:href|src)="(\/assets\/[^"]+)"/g)].map(([, path]) => on.url + path!);
    assert.ok(assets.length <= 3);
    const bodies = await Promise.all(assets.map(async (asset) => (await fetch(asset)).text()));
    const bytes = [text, ...bodies].reduce((sum, body) => sum + brotliCompressSync(body).length, 0);
    assert.ok(bytes <= MOST_BYTES, `${days} days: ${bytes} bytes`);
  }
});
