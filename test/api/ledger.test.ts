// @run on=sqlite,postgres
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { parse } from 'csv-parse/sync';
import type { LedgerBalances, LedgerEntry } from '../../sdk/src/index.ts';
import { GatewayError } from '../../src/domain/gateway-error.ts';
import { EXPORT_COLUMNS, exportJournal } from '../../src/operations/ledger/read-journal.ts';
import { createSession } from '../simulator/buyer.ts';
import { gatewayOf, paymentsOf, pick } from '../support/gateway.ts';
import { providerSays } from '../support/money-arrives.ts';
import { until } from '../support/until.ts';
import { suiteService } from '../support/suite.ts';

const START = '2026-03-01T12:00:00.000Z';

const on = suiteService({ sound: true }, async () => {
  payments = [];
  for (let number = 0; number < 3; number++) {
    const sessionId = await createSession(on, { amount: 100 });
    await providerSays(on, sessionId, 'paid');
    payments.push((await paymentsOf(on, sessionId))[0]!.id);
    on.clock.advance(60_000);
  }
  await api.post(`payments/${payments[0]}/settle`, {});
  await api.post(`payments/${payments[2]}/refunds`, { amount: 10 });
});
const api = gatewayOf(on);
let payments: string[];

const entries = (query = '') => api.list<LedgerEntry>(`ledger/entries${query}`);
const balances = (query = '') => api.get<LedgerBalances>(`ledger/balances${query}`);

function balancesOf({ environments }: LedgerBalances, environment = 'sandbox'): Record<string, number> {
  const { accounts } = environments.find((each) => each.environment === environment)!;
  return Object.fromEntries(accounts.map(({ account, balance }) => [account, balance]));
}

async function exported(query = ''): Promise<{ text: string; response: Response }> {
  const response = await fetch(api.url(`ledger/export${query}`));
  return { text: await response.text(), response };
}

describe('ledger balances', () => {
  test('ledger balances list every account of both environments and sum to 0 in each environment', async () => {
    const body = await balances();
    const sums = body.environments.map(
      ({ environment, total, accounts }) => `${environment} ${total} ${accounts.length}`,
    );
    assert.deepEqual(sums, ['sandbox 0 6', 'production 0 6']);
    assert.deepEqual(Object.values(balancesOf(body, 'production')), [0, 0, 0, 0, 0, 0]);
  });

  test('ledger balances at a time contain the postings before that time, like an export until that time', async () => {
    const second = (await on.service.deps.store.payment(payments[1]!))!.created;
    const then = new Date(second).toISOString();
    const lines = async (query: string) => (await exported(query)).text.trimEnd().split('\r\n').length - 1;
    assert.equal(await lines(`?until=${then}`), 4);
    assert.equal(await lines(`?until=${new Date(second + 1).toISOString()}`), 8);
    assert.deepEqual(balancesOf(await balances(`?at=${then}&environment=sandbox`)), {
      provider_clearing: 98.1,
      provider_cost: 1.9,
      merchant_payable: -97.1,
      gateway_revenue: -2.9,
      buyer_refunds_payable: 0,
      operator_cash: 0,
    });
    const before = await balances(`?at=${START}`);
    assert.deepEqual(Object.values(balancesOf(before)), [0, 0, 0, 0, 0, 0]);
    assert.equal(before.at, START);
    const now = new Date(on.clock.now()).toISOString();
    // Balances at the current time exclude the postings of the current millisecond.
    assert.notDeepEqual(balancesOf(await balances(`?at=${now}`)), balancesOf(await balances()));
  });

  test('ledger balances at a future time are the current balances; an invalid time or parameter is rejected', async () => {
    assert.equal((await balances('?at=2030-01-01T00:00:00Z')).at, new Date(on.clock.now()).toISOString());
    for (const query of ['at=yesterday', 'when=1', 'environment=both'])
      await api.refused('400 invalid_input', `GET ledger/balances?${query}`);
  });
});

describe('the list of ledger entries', () => {
  // test/api/lists.test.ts tests the rules common to all lists.
  test('the list of ledger entries returns the entries of one posting together, and they sum to 0', async () => {
    const whole = await entries('?limit=100');
    const order = whole.map(({ postingId }) => postingId);
    const postings = Map.groupBy(whole, ({ postingId }) => postingId);
    assert.equal(postings.size, order.filter((id, index) => order[index - 1] !== id).length);
    for (const own of postings.values()) {
      const sum = own.reduce(
        (cents, { debit, credit }) => cents + Math.round(debit * 100) - Math.round(credit * 100),
        0,
      );
      assert.equal(sum, 0);
    }
    assert.deepEqual(await entries(`?limit=3&endingBefore=${whole[5]!.id}`), whole.slice(2, 5));
  });
});

describe('the ledger export', () => {
  test('the ledger export contains all ledger entries as CSV, oldest first, with amounts to the cent', async () => {
    const { text, response } = await exported();
    assert.match(response.headers.get('content-type')!, /^text\/csv; charset=utf-8/);
    assert.equal(response.headers.get('content-disposition'), 'attachment; filename="tillway-ledger.csv"');
    assert.equal(text.split('\r\n')[0], EXPORT_COLUMNS.join(','));
    const rows = parse<Record<(typeof EXPORT_COLUMNS)[number], string>>(text, { columns: true });
    assert.deepEqual(
      rows.map((row) => [row.entry_id, row.kind, row.account, Number(row.debit), Number(row.credit), row.created]),
      pick((await entries('?limit=100')).toReversed(), 'id', 'kind', 'account', 'debit', 'credit', 'created'),
    );
    assert.ok(rows.every(({ debit, credit }) => /^\d+\.\d\d$/.test(debit + credit)));
  });

  test('the ledger export accepts the filters of the entry list', async () => {
    const { text } = await exported('?account=provider_cost&kind=paid');
    assert.equal(text.trimEnd().split('\r\n').length, 4);
    assert.equal((await exported('?kind=other')).response.status, 400);
  });

  test('the ledger export does not contain entries that are posted during the export', async () => {
    const { store } = on.service.deps;
    const now = on.clock.now();
    const parts = exportJournal({ store, now: () => now }, {}, 2);
    let text = (await parts.next()).value as string;
    on.clock.advance(1000);
    const sessionId = await createSession(on);
    await providerSays(on, sessionId, 'paid');
    for await (const part of parts) text += part;
    assert.ok(!text.includes(sessionId));
    assert.equal(text, (await exported(`?until=${new Date(now + 1).toISOString()}`)).text);
  });
});

describe('large ledger reads', () => {
  test('large ledger reads run one after the other, and do not delay reads of current balances', async (context) => {
    const { store } = on.service.deps;
    const { entrySums } = store;
    const gate = Promise.withResolvers<void>();
    let [reading, most] = [0, 0];
    context.mock.method(store, 'entrySums', async (...args: Parameters<typeof entrySums>) => {
      most = Math.max(most, ++reading);
      await gate.promise;
      await turn();
      reading--;
      return entrySums(...args);
    });
    const at = new Date(on.clock.now() - 1).toISOString();
    const pending = Array.from({ length: 8 }, () => balances(`?at=${at}`));
    await until(() => reading > 0);
    await balances();
    gate.resolve();
    const [first, ...others] = await Promise.all(pending);
    for (const other of others) assert.deepEqual(other.environments, first!.environments);
    assert.equal(most, 1);
  });

  test('an instance sends one export at a time; other exports get 429 until the first is complete or aborted', async (context) => {
    const { store } = on.service.deps;
    const { journal } = store;
    let gate = Promise.withResolvers<void>();
    let pagesRead = 0;
    context.mock.method(store, 'journal', async (...query: Parameters<typeof journal>) => {
      pagesRead++;
      await gate.promise;
      return journal(...query);
    });
    const first = exported();
    await until(() => pagesRead === 1);
    const { response, text } = await exported();
    assert.deepEqual([response.status, Number(response.headers.get('retry-after')) > 0], [429, true]);
    assert.equal((JSON.parse(text) as { error: { code: string } }).error.code, 'rate_limited');
    gate.resolve();
    const whole = (await first).text;
    assert.equal((await first).response.status, 200);

    gate = Promise.withResolvers<void>();
    const abortController = new AbortController();
    const aborted = fetch(`${on.url}/api/gateway/ledger/export`, { signal: abortController.signal });
    await until(() => pagesRead === 2);
    abortController.abort();
    await assert.rejects(aborted);
    gate.resolve();
    await until(async () => (await exported()).response.status === 200);
    assert.equal((await exported()).text, whole);

    context.mock.method(store, 'journal', () => Promise.reject(new GatewayError('unavailable', 'away')));
    assert.deepEqual([(await exported()).response.status, (await exported()).response.status], [503, 503]);
  });
});
