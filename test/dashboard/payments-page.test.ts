// @run on=sqlite,postgres
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parse } from 'csv-parse/sync';
import * as fc from 'fast-check';
import { ROLES } from '../../src/domain/permission.ts';
import { GatewayError } from '../../src/domain/gateway-error.ts';
import { machinePrincipal } from '../../src/domain/principal.ts';
import { startOfLocalDay, localTime } from '../../src/domain/reporting-time.ts';
import { restrictStore } from '../../src/operations/access/restrict-store.ts';
import { exportPayments, listPayments } from '../../src/operations/list-payments.ts';
import { attempt, createSession } from '../simulator/buyer.ts';
import { queryRows } from '../support/database.ts';
import { runs } from '../support/for-all.ts';
import { gatewayOf, paymentsOf } from '../support/gateway.ts';
import { joinPerson, visit } from '../support/operators.ts';
import { startTestService } from '../support/service.ts';
import { suiteService } from '../support/suite.ts';

const MINUTE = 60_000;
const EVIL = `<script>alert(1)</script>"'&=HYPERLINK("x")`;

const sessions: string[] = [];
const on = suiteService({}, async () => {
  for (const [amount, outcome] of [
    [10, 'paid'],
    [49.99, 'declined'],
    [100, 'paid'],
  ] as const) {
    const id = await createSession(on, {
      amount,
      customer: 'buyer@shop.example',
      product: `=${EVIL}`,
      metadata: { orderId: `order ${amount}` },
    });
    await attempt(on, id, 'card', outcome);
    await on.pass(MINUTE);
    sessions.push(id);
  }
  const [payment] = await paymentsOf(on, sessions[2]!);
  await gatewayOf(on).post(`payments/${payment!.id}/refunds`, { amount: 1 });
  await on.pass(0);
});

async function page(path: string): Promise<{ status: number; text: string; location: string | null }> {
  const response = await fetch(`${on.url}/dashboard/${path}`, { redirect: 'manual', headers: { accept: 'text/html' } });
  return { status: response.status, text: await response.text(), location: response.headers.get('location') };
}

/** Sessions to which the rows of a page lead, in order. */
const linked = (text: string) =>
  [...text.matchAll(/class="row-link" href="[^"]*\/payments\/(chk_\w+)"/g)].map(([, id]) => id);

interface Line {
  id: string;
  created: string;
  created_local: string;
  total: string;
  product: string;
  customer_email: string;
  metadata: string;
}

const linesOf = (text: string) => parse<Line>(text, { columns: true });

describe('the payments page', () => {
  test('lists payments with links, words and escaped text', async () => {
    const { status, text } = await page('sandbox/payments');
    assert.equal(status, 200);
    assert.deepEqual(linked(text), sessions.toReversed());
    assert.ok(!text.includes('<script>alert'), 'text of the merchant is escaped');
    for (const expected of ['Partly refunded', 'Failed', 'buyer@<wbr />shop.<wbr />example', 'order 49.99', '$100.']) {
      assert.ok(text.includes(expected), expected);
    }
  });

  test('each filter is in the address, in words, and can be cleared', async () => {
    const [ten, fifty, hundred] = sessions as [string, string, string];
    const { created } = (await paymentsOf(on, ten))[0]!;
    const day = localTime(created, 'UTC').slice(0, 10);
    const queries: [query: string, ids: string[], words: string][] = [
      ['status=paid', [hundred, ten], 'status paid'],
      ['reason=declined', [fifty], 'reason declined'],
      ['amountFrom=%2449.99', [hundred, fifty], 'amount from $49.99'],
      ['amountTo=49.99&status=paid', [ten], 'status paid, amount to 49.99'],
      ['only=refunded', [hundred], 'only refunded, wholly or in part'],
      ['only=unsettled&amountTo=10', [ten], 'only paid and not settled'],
      ['only=wrongAmount', [], 'with a wrong amount'],
      [`from=${day}&to=${day}`, [hundred, fifty, ten], `from day ${day}, to day ${day}`],
      ['to=2020-01-01', [], 'to day 2020-01-01'],
    ];
    for (const [query, ids, words] of queries) {
      const { text } = await page(`sandbox/payments?${query}`);
      assert.deepEqual(linked(text), ids, query);
      assert.ok(text.includes(words), `${query}: ${words}`);
      assert.match(text, /<a href="\/dashboard\/sandbox\/payments">Clear the filter<\/a>/);
      if (ids.length === 0) assert.ok(text.includes('No payment matches'), query);
    }
    const { customerId } = (await paymentsOf(on, ten))[0]!;
    assert.equal(linked((await page(`sandbox/payments?customer=${customerId}`)).text).length, 3);
  });

  test('an invalid filter is a page that names it', async () => {
    for (const query of [
      'from=yesterday',
      'reason=poor',
      'amountFrom=much',
      'only=x',
      'only=__proto__',
      'customer=x',
    ]) {
      assert.equal((await page(`sandbox/payments?${query}`)).status, 400, query);
    }
    for (const day of ['2026-02-30', '2026-06-31', '2027-02-29', '2026-00-10', '2026-13-01']) {
      const { status, text } = await page(`sandbox/payments?to=${day}`);
      assert.equal(status, 400, day);
      assert.ok(text.includes('To day: is no day of the calendar.'), day);
    }
  });

  test('an empty list leads to the same filter in the other environment', async () => {
    const { text } = await page('production/payments');
    assert.ok(text.includes('There are no payments yet'));
    assert.match(text, /<a href="\/dashboard\/sandbox\/payments\?">Look in Test mode<\/a>/);
    assert.ok((await page('production/payments?status=paid')).text.includes('/dashboard/sandbox/payments?status=paid'));
  });

  test('older pages follow without gaps, and lead back to the newest', async () => {
    const gateway = gatewayOf(on);
    const before = await gateway.ids('payments?limit=100');
    for (let index = 0; index < 51; index++) {
      await attempt(on, await createSession(on, { amount: 3, customer: 'many@shop.example' }), 'card', 'paid');
    }
    await on.pass(MINUTE);
    const first = await page('sandbox/payments?amountTo=3');
    const href = (text: string, label: string) =>
      new RegExp(`href="/dashboard/([^"]*)">${label}<`).exec(text)?.[1]?.replaceAll('&amp;', '&');
    assert.equal(href(first.text, 'Newest'), undefined);
    const second = await page(href(first.text, 'Older')!);
    assert.deepEqual([linked(first.text).length, linked(second.text).length], [50, 1]);
    assert.equal(href(second.text, 'Older'), undefined);
    const again = await page(href(second.text, 'Newest')!);
    assert.deepEqual(linked(again.text), linked(first.text));
    assert.ok(before.length === 3);
  });

  test('shows the amount by which the filter selects beside a total with a fee of the buyer', async () => {
    const id = await createSession(on, { amount: 70, customer: 'wallet@shop.example' });
    await attempt(on, id, 'wallet', 'paid');
    const { text } = await page('sandbox/payments?amountFrom=70&amountTo=70');
    assert.deepEqual(linked(text), [id]);
    const { fees } = (await paymentsOf(on, id))[0]!;
    assert.ok(fees.total > 7000);
    assert.match(
      text,
      new RegExp(`\\$${(fees.total / 100).toFixed(2)}\\s*<span class="hint">amount \\$70\\.00</span>`),
    );
    assert.doesNotMatch((await page('sandbox/payments?amountTo=10')).text, /class="hint"/);
  });
});

describe('the export of payments', () => {
  test('has every row of a filter, with escaped formulas, both times and the range in its name', async () => {
    const response = await fetch(`${on.url}/dashboard/sandbox/payments.csv?amountTo=100&from=2026-03-01`);
    assert.equal(response.status, 200);
    assert.match(
      response.headers.get('content-disposition')!,
      /filename="tillway-payments-sandbox-2026-03-01-to-last\.csv"/,
    );
    const text = await response.text();
    assert.ok(text.includes('\r\n'));
    const oldest = linesOf(text).at(-1)!;
    assert.equal(oldest.product, `'=${EVIL}`);
    assert.equal(oldest.customer_email, 'buyer@shop.example');
    assert.equal(oldest.metadata, '{"orderId":"order 10"}');
    assert.equal(oldest.created_local, oldest.created.replace(/\.\d+Z/, '+00:00'));
    assert.match(oldest.total, /^10\.\d\d$/);
    const entries = await queryRows(
      on.databaseUrl,
      "SELECT kind, actor_kind FROM audit_entries WHERE action = 'exportPayments'",
    );
    assert.deepEqual(
      entries.map((entry) => Object.values(entry)),
      [['read', 'machine']],
    );
    assert.deepEqual(
      on.logged.filter((line) => line.includes('"level":50')),
      [],
    );
  });

  test('an export that fails before its first part is an error page, not a download', async () => {
    const response = await fetch(`${on.url}/dashboard/sandbox/payments.csv?reason=poor`);
    assert.deepEqual([response.status, response.headers.get('content-disposition')], [400, null]);
    assert.ok((await response.text()).includes('href="/dashboard/sandbox/payments">Go back'));
    const { deps } = on.service;
    const { listSoldPayments } = deps.store;
    // The dashboard restricts the store when the service starts, so the fault is injected below it.
    deps.store.listSoldPayments = () => Promise.reject(new GatewayError('unavailable', 'The database is away.'));
    try {
      const away = await fetch(`${on.url}/dashboard/sandbox/payments.csv`);
      assert.deepEqual([away.status, away.headers.get('content-disposition')], [503, null]);
    } finally {
      deps.store.listSoldPayments = listSoldPayments;
    }
  });

  test('an export that fails later is a failed download', async () => {
    const { deps } = on.service;
    const { listSoldPayments } = deps.store;
    let batches = 0;
    deps.store.listSoldPayments = async (filter, page) => {
      if (batches++ > 0) throw new GatewayError('unavailable', 'The database is away.');
      return { ...(await listSoldPayments(filter, { ...page, limit: 2 })), hasMore: true };
    };
    try {
      const cut = await fetch(`${on.url}/dashboard/sandbox/payments.csv`);
      assert.equal(cut.status, 200);
      await assert.rejects(cut.text());
    } finally {
      deps.store.listSoldPayments = listSoldPayments;
    }
  });

  test('equals the rows of the list for random filters and batches', async () => {
    const anyFilter = fc.record(
      {
        status: fc.constantFrom('paid', 'failed', 'pending'),
        amountFrom: fc.constantFrom(0, 999, 5000),
        amountTo: fc.constantFrom(300, 4999, 10_000),
        refunded: fc.boolean(),
        unsettled: fc.boolean(),
      },
      { requiredKeys: [] },
    );
    const { deps } = on.service;
    const own = { ...deps, store: restrictStore(deps.store, 'sandbox') };
    const all = await gatewayOf(on).ids('payments?limit=100');
    await fc.assert(
      fc.asyncProperty(anyFilter, fc.integer({ min: 1, max: 60 }), async (filter, rows) => {
        let text = '';
        const of = { ...filter, environment: 'sandbox' as const };
        for await (const part of exportPayments(async () => own, of, rows)) text += part;
        const { items } = await listPayments(own, of, { limit: 1000 });
        const expected = all.filter((id) => items.some((sold) => sold.id === id));
        assert.deepEqual(
          linesOf(text).map(({ id }) => id),
          expected,
        );
      }),
      { numRuns: runs(20) },
    );
  });

  test('ends with an error if the session ends, and is refused to roles without the permission', async () => {
    const { deps } = on.service;
    let batches = 0;
    const parts = exportPayments(async () => (batches++ < 2 ? deps : undefined), { environment: 'sandbox' }, 1);
    await parts.next();
    await parts.next();
    await assert.rejects(parts.next(), { code: 'forbidden' });
    for (const role of ROLES) {
      const caller = { ...machinePrincipal('sandbox'), role };
      const exported = exportPayments(async () => ({ ...deps, caller }), { environment: 'sandbox' });
      const first = await exported.next().then(
        ({ value }) => String(value),
        (error: { code: string }) => error.code,
      );
      if (role === 'support') assert.equal(first, 'forbidden');
      else assert.equal(linesOf(first).at(-1)!.customer_email, role === 'viewer' ? 'b•••@•••' : 'buyer@shop.example');
    }
  });
});

test('the export is offered to the roles that have it', async () => {
  await using own = await startTestService();
  await attempt(own, await createSession(own), 'card', 'paid');
  for (const role of ROLES) {
    const { cookie } = await joinPerson(own, `${role}@example.com`, { sandbox: role });
    const text = await (await visit(`${own.url}/dashboard/sandbox/payments`, { cookie })).text();
    assert.equal(linked(text).length, 1);
    assert.equal(text.includes('payments.csv'), role !== 'support', role);
  }
});

describe('the search page', () => {
  test('one hit leads to the record in one request', async () => {
    const [first] = sessions;
    for (const query of ['order 10', '$10', first!, (await paymentsOf(on, first!))[0]!.id]) {
      const { status, location } = await page(`sandbox/search?${new URLSearchParams({ q: query }).toString()}`);
      assert.deepEqual([status, location], [303, `/dashboard/sandbox/payments/${first}`], query);
    }
    const { location } = await page('sandbox/search?q=many@shop.example');
    assert.match(location!, /^\/dashboard\/sandbox\/payments\?customer=cus_\w+$/);
  });

  test('the address of a buyer who has started no payment leads to the checkouts', async () => {
    const ids = [];
    for (let index = 0; index < 2; index++) ids.push(await createSession(on, { customer: 'idle@shop.example' }));
    const found = await page('sandbox/search?q=idle@shop.example');
    assert.deepEqual(linked(found.text), ids.toReversed());
    await attempt(on, ids[0]!, 'card', 'declined');
    assert.match((await page('sandbox/search?q=idle@shop.example')).location!, /customer=cus_\w+$/);
  });

  test('several hits are a table, and no hit leads to the other environment', async () => {
    const { text } = await page('sandbox/search?q=%243');
    assert.equal(linked(text).length, 5);
    assert.match(text, /five of more/);
    const there = await page(`production/search?q=${sessions[0]}`);
    assert.match(there.text, /href="\/dashboard\/sandbox\/search\?q=chk_\w+">Search in Test mode/);
    assert.ok((await page('sandbox/search?q=')).text.includes('You can search for ids'));
    const evil = await page(`sandbox/search?${new URLSearchParams({ q: EVIL }).toString()}`);
    assert.ok(!evil.text.includes('<script>alert'));
  });
});

test('a local day begins at local midnight, also where clocks change', () => {
  for (const zone of ['UTC', 'Europe/Berlin', 'America/New_York', 'Asia/Kathmandu', 'Pacific/Apia']) {
    for (const day of ['2026-01-01', '2026-03-08', '2026-03-29', '2026-03-30', '2026-10-25', '2026-11-01']) {
      assert.match(localTime(startOfLocalDay(day, zone)!, zone), new RegExp(`^${day}T00:00:00[+-]`), `${zone} ${day}`);
    }
  }
});
