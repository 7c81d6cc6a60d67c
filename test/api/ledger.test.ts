// @run on=sqlite,postgres
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { parse } from 'csv-parse/sync';
import { GatewayError } from '../../src/domain/gateway-error.ts';
import { EXPORT_COLUMNS, exportJournal } from '../../src/operations/ledger/read-journal.ts';
import { createSession } from '../simulator/buyer.ts';
import { settingsOf } from '../support/database.ts';
import { providerSays } from '../support/money-arrives.ts';
import { type TestService, call, startTestService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { brokenInvariants } from '../support/sound.ts';

interface Entry {
  id: string;
  postingId: string;
  kind: string;
  account: string;
  debit: number;
  credit: number;
  paymentId: string;
  sessionId: string;
  created: string;
}

interface Listed {
  data: Entry[];
  hasMore: boolean;
}

interface Balances {
  at: string;
  environments: { environment: string; total: number; accounts: { account: string; balance: number }[] }[];
}

const START = '2026-03-01T12:00:00.000Z';
const API_KEY = `sk_sandbox_${'a'.repeat(43)}`;

let on: TestService;
let payments: string[];

before(async () => {
  on = await startTestService();
  payments = [];
  for (let number = 0; number < 3; number++) {
    const sessionId = await createSession(on, { amount: 100 });
    await providerSays(on, sessionId, 'paid');
    payments.push((await on.service.deps.store.checkout(sessionId))!.payments[0]!.id);
    on.clock.advance(60_000);
  }
  await call('POST', `${on.url}/api/gateway/payments/${payments[0]}/settle`, {});
  await call('POST', `${on.url}/api/gateway/payments/${payments[2]}/refunds`, { amount: 10 });
});
after(async () => {
  assert.deepEqual(await brokenInvariants(settingsOf(on.databaseUrl)), []);
  await on[Symbol.asyncDispose]();
});

function entries(query = '') {
  return call<Listed & { error: { field: string } }>('GET', `${on.url}/api/gateway/ledger/entries${query}`);
}

async function balances(query = '') {
  const { status, body } = await call<Balances>('GET', `${on.url}/api/gateway/ledger/balances${query}`);
  assert.equal(status, 200);
  return body;
}

function held({ environments }: Balances, environment = 'sandbox'): Record<string, number> {
  const { accounts } = environments.find((each) => each.environment === environment)!;
  return Object.fromEntries(accounts.map(({ account, balance }) => [account, balance]));
}

async function exported(query = ''): Promise<{ text: string; response: Response }> {
  const response = await fetch(`${on.url}/api/gateway/ledger/export${query}`);
  return { text: await response.text(), response };
}

describe('balances', () => {
  test('every account of both environments, each summing to 0', async () => {
    const body = await balances();
    assert.deepEqual(
      body.environments.map(({ environment, total, accounts }) => [environment, total, accounts.length]),
      [
        ['sandbox', 0, 5],
        ['production', 0, 5],
      ],
    );
    assert.deepEqual(Object.values(held(body, 'production')), [0, 0, 0, 0, 0]);
  });

  test('as of a time: what was booked before it, as in an export until then, and no more', async () => {
    const second = (await on.service.deps.store.payment(payments[1]!))!.created;
    const then = new Date(second).toISOString();
    const lines = async (query: string) => (await exported(query)).text.trimEnd().split('\r\n').length - 1;
    assert.deepEqual(
      [await lines(`?until=${then}`), await lines(`?until=${new Date(second + 1).toISOString()}`)],
      [4, 8],
    );
    assert.deepEqual(held(await balances(`?at=${then}&environment=sandbox`)), {
      provider_clearing: 98.1,
      provider_cost: 1.9,
      merchant_payable: -97.1,
      gateway_revenue: -2.9,
      buyer_refunds_payable: 0,
    });
    const before = await balances(`?at=${START}`);
    assert.deepEqual(Object.values(held(before)), [0, 0, 0, 0, 0]);
    assert.equal(before.at, START);
    const now = new Date(on.clock.now()).toISOString();
    assert.notDeepEqual(held(await balances(`?at=${now}`)), held(await balances()), 'booked at this very moment');
  });

  test('a time that has not come is now', async () => {
    assert.equal((await balances('?at=2030-01-01T00:00:00Z')).at, new Date(on.clock.now()).toISOString());
  });

  test('a time that is none, and an unknown parameter, are refused', async () => {
    for (const query of ['?at=yesterday', '?when=1', '?environment=both']) {
      assert.equal((await call('GET', `${on.url}/api/gateway/ledger/balances${query}`)).status, 400);
    }
  });
});

describe('the journal', () => {
  test('newest first, page by page, with one posting standing together', async () => {
    const whole = (await entries('?limit=100')).body.data;
    const found: Entry[] = [];
    for (let cursor = ''; ;) {
      const { body } = await entries(`?limit=3${cursor}`);
      found.push(...body.data);
      if (!body.hasMore) break;
      cursor = `&startingAfter=${body.data.at(-1)!.id}`;
    }
    assert.deepEqual(found, whole);
    const back = (await entries(`?limit=3&endingBefore=${whole[5]!.id}`)).body;
    assert.deepEqual(back.data, whole.slice(2, 5));
    const order = whole.map(({ postingId }) => postingId);
    assert.equal(new Set(order).size, order.filter((id, index) => order[index - 1] !== id).length);
    for (const id of new Set(order)) {
      const own = whole.filter(({ postingId }) => postingId === id);
      assert.equal(
        own.reduce((sum, { debit, credit }) => sum + Math.round(debit * 100) - Math.round(credit * 100), 0),
        0,
      );
    }
  });

  test('by account, kind, payment, session and time', async () => {
    const ids = async (query: string) => (await entries(query)).body.data.map(({ id }) => id);
    assert.deepEqual(await ids('?kind=settled&account=merchant_payable'), [`${payments[0]}:settled:0`]);
    assert.deepEqual(await ids(`?kind=paid&paymentId=${payments[1]}&account=gateway_revenue`), [
      `${payments[1]}:paid:3`,
    ]);
    const { sessionId } = (await on.service.deps.store.payment(payments[0]!))!;
    assert.equal((await ids(`?sessionId=${sessionId}`)).length, 6);
    assert.deepEqual(await ids(`?until=${START}`), []);
    assert.equal((await ids(`?from=${START}&until=2026-03-01T12:00:00.001Z`)).length, 4);
  });

  test('a cursor that is no entry is refused, and what has the wrong form', async () => {
    for (const query of ['?startingAfter=pay_gone:paid:0', '?endingBefore=x', '?account=cash', '?sessionId=pay_1']) {
      const { status } = await entries(query);
      assert.equal(status, 400, query);
    }
    assert.equal((await entries('?startingAfter=pay_gone:paid:0')).body.error.field, 'startingAfter');
  });
});

describe('the export', () => {
  test('is the journal as CSV, oldest first, to the cent', async () => {
    const { text, response } = await exported();
    assert.match(response.headers.get('content-type')!, /^text\/csv; charset=utf-8/);
    assert.equal(response.headers.get('content-disposition'), 'attachment; filename="tillway-ledger.csv"');
    assert.equal(text.split('\r\n')[0], EXPORT_COLUMNS.join(','));
    const rows = parse<Record<(typeof EXPORT_COLUMNS)[number], string>>(text, { columns: true });
    const journal = (await entries('?limit=100')).body.data.toReversed();
    assert.deepEqual(
      rows.map((row) => [row.entry_id, row.kind, row.account, Number(row.debit), Number(row.credit), row.created]),
      journal.map(({ id, kind, account, debit, credit, created }) => [id, kind, account, debit, credit, created]),
    );
    assert.ok(rows.every(({ debit, credit }) => /^\d+\.\d\d$/.test(debit + credit)));
  });

  test('takes the filters of the journal', async () => {
    const { text } = await exported('?account=provider_cost&kind=paid');
    assert.equal(text.trimEnd().split('\r\n').length, 4);
    assert.equal((await exported('?kind=other')).response.status, 400);
  });

  test('what is booked while it is read does not come in between', async () => {
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

test('a key of the sandbox sees the ledger of the sandbox only', async () => {
  await using locked = await startTestService({ variables: { BOOTSTRAP_API_KEYS: API_KEY } });
  const ask = (path: string) =>
    fetch(`${locked.url}/api/gateway/ledger/${path}`, { headers: { authorization: `Bearer ${API_KEY}` } });
  const { environments } = (await (await ask('balances')).json()) as Balances;
  assert.deepEqual(
    environments.map(({ environment }) => environment),
    ['sandbox'],
  );
  for (const path of ['balances', 'entries', 'export']) {
    assert.equal((await ask(`${path}?environment=production`)).status, 403, path);
    assert.equal((await ask(`${path}?environment=sandbox`)).status, 200, path);
  }
  assert.equal((await fetch(`${locked.url}/api/gateway/ledger/export`)).status, 401);
});

describe('reads of many entries', () => {
  test('run one after the other if requested at once, and reads of current balances wait for none', async (context) => {
    const { store } = on.service.deps;
    const { entrySums } = store;
    const gate = Promise.withResolvers<void>();
    let [reading, most] = [0, 0];
    context.mock.method(store, 'entrySums', async (...asked: Parameters<typeof entrySums>) => {
      most = Math.max(most, ++reading);
      await gate.promise;
      await turn();
      reading--;
      return entrySums(...asked);
    });
    const at = new Date(on.clock.now() - 1).toISOString();
    const asked = Array.from({ length: 8 }, () => balances(`?at=${at}`));
    await until(() => reading > 0);
    await balances();
    gate.resolve();
    const [first, ...others] = await Promise.all(asked);
    for (const other of others) assert.deepEqual(other.environments, first!.environments);
    assert.equal(most, 1);
  });

  test('an instance sends one export at a time: others get 429 until the first is sent or aborted', async (context) => {
    const { store } = on.service.deps;
    const { journal } = store;
    let gate = Promise.withResolvers<void>();
    let asked = 0;
    context.mock.method(store, 'journal', async (...query: Parameters<typeof journal>) => {
      asked++;
      await gate.promise;
      return journal(...query);
    });
    const first = exported();
    await until(() => asked === 1);
    const { response, text } = await exported();
    assert.deepEqual([response.status, Number(response.headers.get('retry-after')) > 0], [429, true]);
    assert.equal((JSON.parse(text) as { error: { code: string } }).error.code, 'rate_limited');
    gate.resolve();
    const whole = (await first).text;
    assert.equal((await first).response.status, 200);

    gate = Promise.withResolvers<void>();
    const given = new AbortController();
    const aborted = fetch(`${on.url}/api/gateway/ledger/export`, { signal: given.signal });
    await until(() => asked === 2);
    given.abort();
    await assert.rejects(aborted);
    gate.resolve();
    await until(async () => (await exported()).response.status === 200);
    assert.equal((await exported()).text, whole);

    context.mock.method(store, 'journal', () => Promise.reject(new GatewayError('unavailable', 'away')));
    assert.deepEqual([(await exported()).response.status, (await exported()).response.status], [503, 503]);
  });
});
