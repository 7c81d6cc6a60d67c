// @run on=sqlite,postgres
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { gatewayOf } from '../support/gateway.ts';
import { suiteService } from '../support/suite.ts';
import { runIn } from '../cli/terminal.ts';
import { attempt, createSession } from '../simulator/buyer.ts';

const MINUTE = 60_000;

/** Ids of payments by what happened to them, oldest first. */
const paid: string[] = [];
let declined = '';

const on = suiteService({}, async () => {
  for (const amount of [10, 49.99, 100]) {
    await attempt(on, await createSession(on, { amount }), 'card', 'paid');
    await on.pass(MINUTE);
    paid.push((await api.ids('payments?limit=1'))[0]!);
  }
  await attempt(on, await createSession(on, { amount: 10 }), 'card', 'declined');
  await on.pass(MINUTE);
  [declined] = (await api.ids('payments?limit=1')) as [string];
});
const api = gatewayOf(on);

describe('filters of the payments list in the API', () => {
  test('amount, failure code, route and time select payments', async () => {
    const [ten, fifty, hundred] = paid as [string, string, string];
    const all = await api.list<{ id: string; route: { id: string }; created: string }>('payments');
    const { route, created } = all.find(({ id }) => id === fifty)!;
    const ofRoute = all.filter(({ route: { id } }) => id === route.id).map(({ id }) => id);
    const queries: [query: string, ids: string[]][] = [
      ['amountFrom=49.99', [hundred, fifty]],
      ['amountTo=49.98', [declined, ten]],
      ['amountFrom=49.99&amountTo=49.99', [fifty]],
      ['reason=declined', [declined]],
      ['reason=expired_card', []],
      ['reason=declined&status=paid', []],
      [`route=${route.id}`, ofRoute],
      [`route=${route.id.slice(0, -1)}`, []],
      [`from=${created}`, [declined, hundred, fifty]],
      [`until=${created}`, [ten]],
      [`from=${created}&until=${created}`, []],
    ];
    for (const [query, ids] of queries) assert.deepEqual(await api.ids(`payments?${query}`), ids, query);
  });

  test('an invalid filter is refused with its name', async () => {
    for (const [query, field] of [
      ['amountFrom=1.005', 'amountFrom'],
      ['amountTo=-1', 'amountTo'],
      ['reason=poor', 'reason'],
      ['from=yesterday', 'from'],
    ] as const) {
      assert.equal((await api.refused('400 invalid_input', `GET payments?${query}`)).field, field);
    }
  });

  test('the command line has the same filters', async () => {
    const run = await runIn(on, 'payments list --amount-to 10 --reason declined --json');
    assert.deepEqual(
      (JSON.parse(run.stdout) as { data: { id: string }[] }).data.map(({ id }) => id),
      [declined],
    );
  });
});
